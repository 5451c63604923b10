"""Metrics of how well u orders answers, against vectors computed elsewhere."""

from __future__ import annotations

import math
import random

import pytest

from calibration.labels import Group, Outcome, Response
from calibration.separation import aurc, auroc, auroc_interval, kolmogorov_smirnov, prr, reliability

GROUP = Group("Coding", "m", "raw", "content-v1", "token-uncertainty")


def answers(*pairs: tuple[float, Outcome]) -> list[Response]:
    return [Response("r", place, f"t{place}", "1", GROUP, u, outcome) for place, (u, outcome) in enumerate(pairs)]


OUTCOMES: list[Outcome] = ["correct", "correct", "incorrect", "correct", "incorrect", "incorrect"]
ORACLE = answers(*((number / 10, outcome) for number, outcome in enumerate(OUTCOMES, 1)))


def test_vectors() -> None:
    assert auroc(ORACLE) == pytest.approx(0.888888889)
    assert aurc(ORACLE) == pytest.approx(0.247222222)
    # Their random order has the exact mean quality 0.5, not that of one thousand shuffles.
    assert prr(ORACLE) == pytest.approx((0.752777778 - 0.5) / (0.808333333 - 0.5))


def test_unknown_answers_say_nothing_and_infinite_ones_count() -> None:
    assert auroc([*ORACLE, *answers((9.0, "unknown"), (0.0, "censored"))]) == auroc(ORACLE)
    assert auroc(answers((0.1, "correct"), (math.inf, "incorrect"))) == 1.0


def test_equals_are_worth_half_in_whatever_order() -> None:
    level = answers((0.1, "correct"), (0.1, "incorrect"), (0.1, "correct"), (0.1, "incorrect"))
    assert (auroc(level), aurc(level), prr(level)) == (0.5, 0.5, 0.0)
    assert aurc(level[::-1]) == aurc(level)


def test_without_right_and_wrong_answers_there_is_no_separation() -> None:
    right = answers((0.1, "correct"), (0.2, "correct"))
    assert (auroc(right), prr(right)) == (None, None)


def test_the_interval_is_honest_for_few_answers() -> None:
    low, high = auroc_interval(1.0, 3, 50)
    assert high == 1.0
    assert 0.3 < low < 0.9, "three wrong answers prove little"
    low, high = auroc_interval(0.7, 500, 500)
    assert (low, high) == pytest.approx((0.667, 0.731), abs=0.003)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    chance = random.Random(3)
    held = 0
    for _ in range(400):
        wrong = [(chance.gauss(0.5, 1) + 10, "incorrect") for _ in range(12)]
        right = [(chance.gauss(0, 1) + 10, "correct") for _ in range(40)]
        value = auroc(answers(*wrong, *right))  # type: ignore[arg-type]
        assert value is not None
        low, high = auroc_interval(value, 12, 40)
        held += low <= 0.63816 <= high
    assert 0.92 <= held / 400 <= 0.99


def test_reliability_bins_are_of_equal_size_from_doubtful_to_certain() -> None:
    right = answers(*((-math.log(0.9), "correct") for _ in range(50)))
    wrong = answers(*((-math.log(0.2), "incorrect") for _ in range(50)))
    bins = reliability([*right, *wrong])
    assert [part.size for part in bins] == [10] * 10
    assert bins[0][1:] == pytest.approx((0.2, 0.0))
    assert bins[-1][1:] == pytest.approx((0.9, 1.0))


def test_scores_that_moved_are_told_from_scores_that_did_not() -> None:
    chance = random.Random(4)
    older, same = ([chance.expovariate(5) for _ in range(count)] for count in (400, 100))
    moved = [chance.expovariate(2) for _ in range(100)]
    assert kolmogorov_smirnov(same, older)[1] > 0.05
    assert kolmogorov_smirnov(moved, older)[1] < 0.001
    distance, p = kolmogorov_smirnov([1, 2, 3, 4, 5], [3.5, 4.5, 5.5, 6.5, 7.5])
    assert distance == pytest.approx(0.6)
    assert 0.1 < p < 0.4, "exactly it would be 0.357"
    assert kolmogorov_smirnov([1.0, 2.0], [1.0, 2.0]) == (0.0, 1.0)
