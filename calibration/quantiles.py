"""How uncertain correct answers are: the quantile that a share alpha of them exceeds, in two conventions.

`conformal`: the k-th smallest value, k = ceil((n + 1)(1 - alpha)) in exact arithmetic. If the correct answers
of past and future tasks are exchangeable, a future one exceeds it with probability alpha at most (split
conformal prediction). `linear`: the plain percentile, as numpy computes it; it is exceeded more often, at
n = 50 and alpha = 0.1 by 11.5 % of correct answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

RANGE = 0.9
"""How sure it is that the true rate of triggers on correct answers lies in the range given for it."""


@dataclass(frozen=True)
class Quantile:
    """`tau` lies at `rank` (from 1) of `n` sorted values. It is +inf, with the reason, where nothing learnt
    from so few values could ever be exceeded."""

    tau: float
    rank: float
    n: int
    reason: str = ""

    @property
    def trigger_range(self) -> tuple[float, float]:
        """Where the true share of correct answers above `tau` lies, with probability RANGE.

        The share below the k-th of n values has the distribution Beta(k, n + 1 - k).
        """
        if self.rank > self.n:
            return 0.0, 0.0
        tail = (1 - RANGE) / 2
        highest = coverage_quantile(1 - tail, math.ceil(self.rank), self.n)
        return 1 - highest, 1 - coverage_quantile(tail, math.floor(self.rank), self.n)


def conformal(values: Sequence[float], alpha: float) -> Quantile:
    """Return the conformal quantile of `values` (nats). Raises ValueError for NaN, no values, a bad alpha."""
    ordered, share = _checked(values, alpha)
    n = len(ordered)
    k = math.ceil((n + 1) * (1 - share))
    if k > n:
        needed = math.ceil(1 / share) - 1
        return Quantile(math.inf, k, n, f"{n} values are too few for alpha {alpha:g}, which needs {needed}")
    return Quantile(ordered[k - 1], k, n, _endless(ordered[k - 1]))


def linear(values: Sequence[float], alpha: float) -> Quantile:
    """Return the percentile of `values` (nats), interpolated. Raises ValueError like `conformal`."""
    ordered, share = _checked(values, alpha)
    place = (len(ordered) - 1) * (1 - share)
    below = math.floor(place)
    tau, part = ordered[below], float(place - below)
    if part and ordered[below + 1] != tau:
        tau += part * (ordered[below + 1] - tau)
    return Quantile(tau, float(place) + 1, len(ordered), _endless(tau))


METHODS: Mapping[str, Callable[[Sequence[float], float], Quantile]] = {
    "conformal": conformal,
    "linear": linear,
}


def coverage_quantile(probability: float, k: int, n: int) -> float:
    """Return the quantile of Beta(k, n + 1 - k), the share of a population below the k-th of n values."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_least(k, n, middle) < probability else (low, middle)
    return (low + high) / 2


def _at_least(k: int, n: int, p: float) -> float:
    """P(X >= k) of a binomial X, which is the distribution function of Beta(k, n + 1 - k) at p."""
    if k <= n * p:
        return 1 - _at_least(n + 1 - k, n, 1 - p)
    log_choices = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    term = math.exp(log_choices + k * math.log(p) + (n - k) * math.log1p(-p)) if p else 0.0
    total = 0.0
    # Above the mode the terms shrink, so that a few times sqrt(n) of them are all there is.
    while term > total * 1e-15:
        total += term
        term *= (n - k) / (k + 1) * p / (1 - p)
        k += 1
    return total


def _checked(values: Sequence[float], alpha: float) -> tuple[list[float], Fraction]:
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}, but must lie between 0 and 1")
    if not values or any(math.isnan(value) for value in values):
        raise ValueError("a quantile needs values, and none may be NaN")
    return sorted(values), Fraction(repr(alpha))


def _endless(tau: float) -> str:
    return "too many of the values are infinite" if math.isinf(tau) else ""
