"""Figures with 95 % intervals: tasks are drawn anew, with replacement, and all is computed again.

The percentile bootstrap (Efron, Annals of Statistics 7 (1979) 1). Of as many tasks the same ones are drawn for
each figure, and a difference is a figure too: what is said of one task stays together, so differences are paired.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A value and the interval in which it lies with 95 % confidence."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def estimate(n: int, figure: Callable[[Sequence[int]], float | None], *, seed: int = 0) -> Estimate | None:
    """`figure` of the numbers of `n` tasks; None where these have no figure. Draws that have none are left out."""
    everything = range(n)
    value = figure(everything) if n else None
    if value is None:
        return None
    generator = random.Random(seed)
    draws = (figure(generator.choices(everything, k=n)) for _ in range(RESAMPLES))
    drawn = sorted(draw for draw in draws if draw is not None)
    outside = len(drawn) // 40
    return Estimate(value, drawn[outside], drawn[-1 - outside])
