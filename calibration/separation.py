"""Does u tell wrong answers from right ones at all, and has it moved?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from calibration.labels import Response

_Z = 1.959964  # 95 % of a normal distribution lie within so many standard deviations


class Bin(NamedTuple):
    """Answers of about the same mean token probability exp(-u), and the share of them that was correct."""

    size: int
    probability: float
    correct: float


def auroc(answers: Iterable[Response]) -> float | None:
    """Return the probability that a wrong answer has a larger u than a right one (ties count half).

    None where there is not one of each.
    """
    labelled = _labelled(answers)
    n_wrong = sum(not right for _, right in labelled)
    n_right = len(labelled) - n_wrong
    if not n_wrong or not n_right:
        return None
    wins, below = 0.0, 0
    for _, ties in groupby(labelled, key=lambda pair: pair[0]):
        rights = [right for _, right in ties]
        right_here = sum(rights)
        wins += (len(rights) - right_here) * (below + right_here / 2)
        below += right_here
    return wins / (n_wrong * n_right)


def auroc_interval(value: float, n_wrong: int, n_right: int) -> tuple[float, float]:
    """Return the 95 % interval of an AUROC (Newcombe, Statistics in Medicine 25 (2006) 559, method 5).

    Unlike `value` plus or minus two standard errors it is honest for few answers and at 0 and 1. Give
    the numbers of distinct tasks: answers to one task are no independent evidence.
    """

    def deviation(theta: float) -> float:
        spread = 1 + ((n_wrong + n_right) / 2 - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return _Z * math.sqrt(theta * (1 - theta) * spread / (n_wrong * n_right))

    def end(outside: float) -> float:
        inside = value
        for _ in range(50):
            middle = (inside + outside) / 2
            if abs(value - middle) <= deviation(middle):
                inside = middle
            else:
                outside = middle
        return inside

    return end(0.0), end(1.0)


def aurc(answers: Iterable[Response]) -> float:
    """Return the share of wrong answers among the m least uncertain, averaged over all m (0 is best)."""
    return 1 - _mean_kept_quality([right for _, right in _tied(answers)])


def prr(answers: Iterable[Response]) -> float | None:
    """Return how far u orders answers towards the perfect order: 1 is perfect, 0 chance, below 0 misleading
    (the prediction-rejection ratio). None where all are right or all wrong."""
    qualities = [right for _, right in _tied(answers)]
    chance = sum(qualities) / len(qualities)
    if chance in (0.0, 1.0):
        return None
    best = _mean_kept_quality(sorted((float(right) for _, right in _labelled(answers)), reverse=True))
    return (_mean_kept_quality(qualities) - chance) / (best - chance)


def reliability(answers: Iterable[Response], bins: int = 10) -> list[Bin]:
    """Return up to `bins` bins of equal size, from the most uncertain answers to the least."""
    labelled = _labelled(answers)[::-1]
    edges = [len(labelled) * number // bins for number in range(bins + 1)]
    parts = (labelled[start:end] for start, end in pairwise(edges) if end > start)
    return [
        Bin(
            size=len(part),
            probability=sum(math.exp(-u) for u, _ in part) / len(part),
            correct=sum(right for _, right in part) / len(part),
        )
        for part in parts
    ]


def kolmogorov_smirnov(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the largest distance between two samples' distributions, and the probability of such a one
    where both are of one population (asymptotic, with Stephens' correction; ties make it cautious)."""
    if not first or not second:
        raise ValueError("two samples are needed")
    merged = sorted([(value, 1 / len(first)) for value in first] + [(value, -1 / len(second)) for value in second])
    distance = total = 0.0
    for _, ties in groupby(merged, key=lambda pair: pair[0]):
        total += sum(step for _, step in ties)
        distance = max(distance, abs(total))
    root = math.sqrt(len(first) * len(second) / (len(first) + len(second)))
    scaled = (root + 0.12 + 0.11 / root) * distance
    if scaled < 0.2:  # where the series no longer converges the probability is 1 to twelve places
        return distance, 1.0
    series = sum((-1) ** (j - 1) * math.exp(-2 * (j * scaled) ** 2) for j in range(1, 101))
    return distance, min(1.0, 2 * series)


def _labelled(answers: Iterable[Response]) -> list[tuple[float, bool]]:
    """u and whether it was right, of the answers of which that is known, by u."""
    known = {"correct": True, "incorrect": False}
    return sorted((answer.u, known[answer.outcome]) for answer in answers if answer.outcome in known)


def _tied(answers: Iterable[Response]) -> list[tuple[float, float]]:
    """The same with the share of right answers among equals, so that their order does not matter."""
    result: list[tuple[float, float]] = []
    for u, ties in groupby(_labelled(answers), key=lambda pair: pair[0]):
        rights = [right for _, right in ties]
        result += [(u, sum(rights) / len(rights))] * len(rights)
    return result


def _mean_kept_quality(qualities: Sequence[float]) -> float:
    total = mean = 0.0
    for count, quality in enumerate(qualities, 1):
        total += quality
        mean += total / count
    return mean / len(qualities)
