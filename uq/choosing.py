"""Which of several answers to hand on, and whether it pays to draw several. Pure decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Purchase:
    """Whether samples are drawn, and why."""

    buy: bool
    reason: str


@dataclass(frozen=True)
class Offer:
    """What samples would cost and bring, in tokens: `gain` is the later work that they are expected to save,
    `budget` what may still be spent."""

    cost: float
    gain: float
    budget: float = math.inf


def worth_sampling(u: float | None, tau: float, band: float, offer: Offer) -> Purchase:
    """Say whether to draw samples of an answer of token uncertainty `u` (nats, None where it is not known).

    Within `band` of the threshold `tau` u decides little, so samples may decide; further off it decides
    alone. What the budget does not hold, or brings no more than it costs, is not bought.
    """
    if u is not None and abs(u - tau) > band:
        return Purchase(
            False, f"u = {u:.4g} is {'above' if u > tau else 'below'} {tau:.4g} by more than {band:.4g}"
        )
    if offer.cost > offer.budget:
        return Purchase(False, f"{offer.cost:.0f} tokens are more than the {offer.budget:.0f} that are left")
    if offer.gain <= offer.cost:
        return Purchase(False, f"{offer.cost:.0f} tokens would save {offer.gain:.0f}")
    near = "u is not known" if u is None else f"u = {u:.4g} is within {band:.4g} of {tau:.4g}"
    return Purchase(True, f"{near}, and {offer.cost:.0f} tokens would save {offer.gain:.0f}")
