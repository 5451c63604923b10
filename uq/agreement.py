"""How far programs agree in what they do: minimum Bayes risk over behaviour.

Sampled programs that err mostly err in their own ways, and programs that are right show the same; so the
one that shows what most others show is the one to hand on. After Shi et al. (2022), "Natural Language to
Code Translation with Execution" (MBR-EXEC), with one more voter: whoever wrote down beforehand what should be
seen votes for the programs that show it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Behaviour:
    """What one candidate showed on each input, None where it showed nothing to compare (a crash, a hang),
    and on which inputs it showed what was written down beforehand. One that could not be run has no inputs."""

    shown: tuple[Hashable | None, ...]
    endorsed: tuple[bool, ...]


def agreement(candidates: Sequence[Behaviour]) -> list[float]:
    """For each candidate the mean share, from 0 to 1, of the other voters that agree with it on an input.

    The voters are the other candidates and the writer of what should be seen. What shows nothing agrees
    with nothing, and without inputs nobody agrees: 0.
    """
    return [_mean_share(place, candidates) for place in range(len(candidates))]


def _mean_share(place: int, candidates: Sequence[Behaviour]) -> float:
    own = candidates[place]
    others = [*candidates[:place], *candidates[place + 1 :]]
    votes = 0
    for at, shown in enumerate(own.shown):
        if shown is not None:
            votes += own.endorsed[at] + sum(other.shown[at : at + 1] == (shown,) for other in others)
    return votes / (len(candidates) * len(own.shown)) if own.shown else 0.0
