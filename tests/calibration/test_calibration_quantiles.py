"""Ranks, percentiles and the range of the true rate, against tables computed elsewhere."""

from __future__ import annotations

import math
import random

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.quantiles import METHODS, conformal, coverage_quantile, linear

FIFTY = [number / 100 for number in range(1, 51)]

# n, the conformal rank, the rank of the linear percentile, 5 % and 95 % of the coverage at the conformal rank
TABLE = [
    (9, 9, 8.2, 0.717, 0.994),
    (19, 18, 17.2, 0.774, 0.981),
    (49, 45, 44.2, 0.823, 0.959),
    (50, 46, 45.1, 0.826, 0.960),
    (100, 91, 90.1, 0.848, 0.945),
    (500, 451, 450.1, 0.877, 0.921),
    (1000, 901, 900.1, 0.884, 0.915),
]


@pytest.mark.parametrize(("n", "k", "place", "low", "high"), TABLE)
def test_ranks_and_the_range_of_the_true_rate(n: int, k: int, place: float, low: float, high: float) -> None:
    values = [float(number) for number in range(1, n + 1)]
    quantile = conformal(values, 0.1)
    assert (quantile.tau, quantile.rank) == (k, k)
    assert quantile.trigger_range == pytest.approx((1 - high, 1 - low), abs=6e-4)
    assert linear(values, 0.1).tau == pytest.approx(place)
    level = math.ceil((n + 1) * 0.9) / n
    assert float(numpy.quantile(values, level, method="inverted_cdf")) == k


@pytest.mark.parametrize(("n", "k"), [(50, 49), (59, 58), (100, 96), (200, 188), (500, 462)])
def test_ranks_that_cover_nine_tenths_with_95_percent(n: int, k: int) -> None:
    assert coverage_quantile(0.05, k, n) >= 0.9 > coverage_quantile(0.05, k - 1, n)


@pytest.mark.parametrize(("n", "place"), [(5, 4.6), (8, 7.3)])
def test_too_few_values_never_trigger_and_say_how_many_are_needed(n: int, place: float) -> None:
    assert linear([float(number) for number in range(1, n + 1)], 0.1).tau == pytest.approx(place)
    quantile = conformal([0.1] * n, 0.1)
    assert (quantile.tau, quantile.trigger_range) == (math.inf, (0.0, 0.0))
    assert quantile.reason == f"{n} values are too few for alpha 0.1, which needs 9"


def test_the_example_of_one_to_fifty_hundredths() -> None:
    assert conformal(FIFTY, 0.1).tau == 0.46
    assert linear(FIFTY, 0.1).tau == pytest.approx(0.451)


@pytest.mark.parametrize(("n", "alpha", "k"), [(9, 0.3, 7), (59, 0.05, 57), (99, 0.01, 99), (19, 0.2, 16)])
def test_the_rank_is_exact_where_floats_round(n: int, alpha: float, k: int) -> None:
    assert conformal(list(range(1, n + 1)), alpha).rank == k


@pytest.mark.parametrize("method", METHODS.values())
@pytest.mark.parametrize(
    ("values", "alpha"), [([0.1, math.nan], 0.1), ([], 0.1), ([0.1], 0.0), ([0.1], 1.0), ([0.1], math.nan)]
)
def test_nan_and_nonsense_are_refused(method: object, values: list[float], alpha: float) -> None:
    with pytest.raises(ValueError, match="NaN|alpha"):
        method(values, alpha)  # type: ignore[operator]


@pytest.mark.parametrize("method", METHODS.values())
def test_infinite_values_are_values_but_no_threshold(method: object) -> None:
    few, many = [0.1] * 48 + [math.inf] * 2, [0.1] * 20 + [math.inf] * 30
    assert method(few, 0.1).tau == 0.1  # type: ignore[operator]
    quantile = method(many, 0.1)  # type: ignore[operator]
    assert (quantile.tau, quantile.reason) == (math.inf, "too many of the values are infinite")


@given(st.lists(st.floats(0, 10), min_size=10, max_size=80), st.sampled_from([0.05, 0.1, 0.2, 0.5]), st.randoms())
def test_order_does_not_matter_and_linear_is_numpys(
    values: list[float], alpha: float, chance: random.Random
) -> None:
    shuffled = values.copy()
    chance.shuffle(shuffled)
    assert conformal(values, alpha) == conformal(shuffled, alpha)
    assert linear(shuffled, alpha).tau == pytest.approx(float(numpy.quantile(values, 1 - alpha)), abs=1e-9)


def test_the_coverage_quantile_is_that_of_the_beta_distribution() -> None:
    chance = random.Random(1)
    draws = sorted(chance.betavariate(46, 5) for _ in range(40_000))
    for probability in (0.05, 0.5, 0.95):
        empirical = draws[round(probability * len(draws))]
        assert coverage_quantile(probability, 46, 50) == pytest.approx(empirical, abs=0.003)
    assert coverage_quantile(0.5, 90_000, 100_000) == pytest.approx(0.9, abs=1e-4)


def test_conformal_holds_its_rate_at_fifty_and_linear_does_not() -> None:
    chance = random.Random(2)
    rates = dict.fromkeys(METHODS, 0.0)
    for _ in range(4000):
        values = [chance.random() for _ in range(50)]
        for name, method in METHODS.items():
            rates[name] += (1 - method(values, 0.1).tau) / 4000
    assert rates["conformal"] == pytest.approx(0.098, abs=0.003)
    assert rates["linear"] == pytest.approx(0.1157, abs=0.003)
