"""Which of several answers to hand on. A pure decision."""

from __future__ import annotations

import math
from collections.abc import Sequence

from uq.clustering import Groups


def most_agreed(groups: Groups, u: Sequence[float | None]) -> int:
    """Return the number of the answer of least risk: one of the largest group, ties broken by least u.

    The risk of an answer is the share of the others that disagree with it (minimum Bayes risk with a loss of 0
    within a group and 1 across). `u` holds the token uncertainty of each answer in nats, None where it is
    not known, which counts as most uncertain. Raises ValueError where there is no answer.
    """

    def doubt(member: int) -> float:
        value = u[member]
        return math.inf if value is None or math.isnan(value) else value

    if not any(groups):
        raise ValueError("there is no answer to choose from")
    largest = max(map(len, groups))
    candidates = [member for group in groups if len(group) == largest for member in group]
    return min(candidates, key=lambda member: (doubt(member), member))
