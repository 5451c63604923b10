"""Means with 95 % intervals: tasks are drawn anew, with replacement, and all is computed again.

The percentile bootstrap (Efron, Annals of Statistics 7 (1979) 1). Columns are drawn together, so that what is
said of one task stays together: differences between arms are paired.
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


def itself(mean: float) -> float:
    return mean


def estimate(
    columns: Sequence[Sequence[float]], combine: Callable[..., float] = itself, *, seed: int = 0
) -> Estimate | None:
    """`combine` of the means of `columns`, one row a task; None where there are no rows."""
    n = len(columns[0])
    if not n:
        return None

    def combined(rows: Sequence[int]) -> float:
        return combine(*(sum(map(column.__getitem__, rows)) / n for column in columns))

    generator = random.Random(seed)
    places = range(n)
    drawn = sorted(combined(generator.choices(places, k=n)) for _ in range(RESAMPLES))
    outside = RESAMPLES // 40
    return Estimate(combined(places), drawn[outside], drawn[-1 - outside])
