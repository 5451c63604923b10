"""Semantic entropy, against numbers computed with jlko/semantic_uncertainty and lm-polygraph."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uq.scores import SampleScore, Unavailable
from uq.semantic_entropy import group_shares, likelihood_entropy, log_masses, semantic_entropy

Groups = tuple[tuple[int, ...], ...]


def of_sizes(*sizes: int) -> Groups:
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return tuple(tuple(range(start, start + size)) for start, size in zip(starts, sizes, strict=True))


def raw(score: SampleScore | Unavailable) -> float:
    assert isinstance(score, SampleScore)
    assert score.value == pytest.approx(score.raw / math.log(score.n))
    return score.raw


@pytest.mark.parametrize(
    ("sizes", "nats"),
    [
        ((5,), 0),
        ((4, 1), 0.500402424),
        ((3, 2), 0.673011667),
        ((3, 1, 1), 0.950270539),
        ((2, 2, 1), 1.054920168),
        ((2, 1, 1, 1), 1.332179040),
        ((1, 1, 1, 1, 1), 1.609437912),
        ((5, 1), 0.450561209),
        ((2, 1), 0.636514168),
    ],
)
def test_counted(sizes: tuple[int, ...], nats: float) -> None:
    assert raw(semantic_entropy(of_sizes(*sizes))) == pytest.approx(nats, abs=1e-9)


def test_weighed_by_likelihood() -> None:
    groups, logprobs = ((0, 1), (2, 3), (4,)), [-0.3, -0.5, -0.7, -1.2, -1.5]
    shares = group_shares(groups, logprobs)
    assert not isinstance(shares, Unavailable)
    expected = [-0.564016029, -1.088077914, -2.362154899]
    assert [math.log(share) for share in shares] == pytest.approx(expected, abs=1e-9)
    assert raw(likelihood_entropy(groups, logprobs)) == pytest.approx(0.909968480, abs=1e-9)
    assert raw(likelihood_entropy(((0, 1), (2,)), [-0.2, -1.0, -2.0])) == pytest.approx(0.330272094, abs=1e-9)


def test_masses_of_groups_are_those_of_lm_polygraph() -> None:
    first, second = log_masses(((0, 1), (2,)), [-1.0, -2.0, -3.0])
    assert -(2 * first + second) / 3 == pytest.approx(1.457825541, abs=1e-9)
    assert -(2 * math.exp(first) * first + math.exp(second) * second) == pytest.approx(0.840514874, abs=1e-7)


def test_an_answer_drawn_twice_never_makes_an_entropy_negative() -> None:
    drawn = [math.log(p) for p in (0.6, 0.6, 0.6, 0.3, 0.1)]
    first, second = log_masses(((0, 1, 2, 3), (4,)), drawn)
    assert -(4 * first + second) / 5 == pytest.approx(-0.133032860, abs=1e-8), "what goes wrong elsewhere"
    assert raw(likelihood_entropy(((0, 1, 2, 3), (4,)), drawn)) > 0
    first, second = log_masses(((0, 1), (2,)), [drawn[0], drawn[3], drawn[4]])
    assert -(4 * first + second) / 5 == pytest.approx(0.544805434, abs=1e-8)


def test_improbable_answers_do_not_underflow_into_certainty() -> None:
    apart = likelihood_entropy(of_sizes(1, 1, 1, 1, 1), [-800.0] * 5)
    assert raw(apart) == pytest.approx(math.log(5))
    mixed = likelihood_entropy(of_sizes(1, 1), [-800.0, -801.0])
    assert raw(mixed) == pytest.approx(0.582203108889)


@pytest.mark.parametrize(
    ("groups", "logprobs", "reason"),
    [
        ((), [], "no_samples"),
        (((0,),), [-0.1], "one_sample"),
        (((0,), (1,)), [-0.1, None], "no_logprobs"),
        (((0,), (1,)), [-0.1, math.nan], "no_logprobs"),
        (((0,), (1,)), [-math.inf, -math.inf], "impossible"),
    ],
)
def test_what_cannot_be_measured_is_not_zero(groups: Groups, logprobs: list[float | None], reason: str) -> None:
    score = likelihood_entropy(groups, logprobs)
    assert isinstance(score, Unavailable)
    assert score.reason == reason


@pytest.mark.parametrize(("groups", "reason"), [((), "no_samples"), (((0,),), "one_sample")])
def test_too_few_answers_have_no_entropy(groups: Groups, reason: str) -> None:
    score = semantic_entropy(groups)
    assert isinstance(score, Unavailable)
    assert score.reason == reason


def test_an_impossible_answer_adds_nothing() -> None:
    assert raw(likelihood_entropy(((0,), (1,)), [-0.1, -math.inf])) == 0


@given(st.lists(st.floats(-2000, 0), min_size=2, max_size=8), st.integers(1, 7))
def test_never_below_nothing_nor_above_the_logarithm_of_the_answers(logprobs: list[float], cut: int) -> None:
    n = len(logprobs)
    groups = (tuple(range(min(cut, n))), *((number,) for number in range(cut, n)))
    score = likelihood_entropy(groups, logprobs)
    assert isinstance(score, SampleScore)
    assert 0 <= score.raw <= math.log(n) + 1e-9
    assert 0 <= score.value <= 1
