"""Semantic density: how close together the meanings of several answers lie, from 0 to 1.

Three forms, which differ numerically and so never share a name:

`semantic-density`           D = 1/N^2 sum_ij K(v_i, v_j) over embeddings of unit length, the pairs (i, i) and
                             both orders included, so D >= 1/N (HASSUM, arXiv:2608.14707, equation 2).
`mean-cosine-density`        the mean cosine of all pairs, below 0 clamped to 0 (what HASSUM's program does).
`response-semantic-density`  SD(y) = sum_i w_i K(y, y_i) / sum_i w_i over the other answers, each text once,
                             w_i = exp(mean log-prob of y_i) (Qiu and Miikkulainen, arXiv:2405.13845, equation 4).

K is the Epanechnikov kernel without the constant that depends on the dimension: K = 1 - d^2/h^2 for d <= h, else
0. The bandwidth h is 1 unless said: two embeddings with a cosine below one half then share nothing. For the
response-wise form d^2 = P(contradiction) + P(neutral)/2, which is at most 1.

A score's `raw` is the density and its `value` 1 - density. Embeddings say nothing about code: functions that do
the same may lie further apart than functions that do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from uq.scores import SampleScore, Unavailable
from uq.semantic_entropy import log_sum, too_few

KERNEL, COSINE, RESPONSE = "semantic-density", "mean-cosine-density", "response-semantic-density"
Vector = Sequence[float]


def epanechnikov(squared_distance: float, bandwidth: float = 1.0) -> float:
    """Return 1 - d^2/h^2 within the bandwidth h, else 0."""
    return max(0.0, 1.0 - squared_distance / bandwidth**2)


def semantic_density(vectors: Sequence[Vector], bandwidth: float = 1.0) -> SampleScore | Unavailable:
    """Return the kernel density of equation 2. Vectors of any length will do; directions are compared."""
    cosines = _cosines(vectors)
    if isinstance(cosines, Unavailable):
        return cosines
    n = len(vectors)
    pairs = math.fsum(epanechnikov(2 - 2 * cosine, bandwidth) for cosine in cosines)
    return _score(KERNEL, (n + 2 * pairs) / n**2, n)


def mean_cosine_density(vectors: Sequence[Vector]) -> SampleScore | Unavailable:
    """Return the mean cosine of all pairs, at least 0."""
    cosines = _cosines(vectors)
    if isinstance(cosines, Unavailable):
        return cosines
    return _score(COSINE, math.fsum(cosines) / len(cosines), len(vectors))


def response_density(squared_distances: Sequence[float], logprobs: Sequence[float]) -> SampleScore | Unavailable:
    """Return the density around one answer; both lists are about the other answers, each text once.

    Distances are `P(contradiction) + P(neutral)/2`, log-probs means over the tokens of an answer.
    """
    if not squared_distances:
        return Unavailable("no_samples", "There is no other answer.")
    if any(map(math.isnan, (*squared_distances, *logprobs))):
        return Unavailable("nan", "A distance or a log-prob is not a number.")
    whole = log_sum(logprobs)
    if whole == -math.inf:
        return Unavailable("impossible", "Every other answer is reported to have the probability zero.")
    pairs = zip(squared_distances, logprobs, strict=True)
    raw = math.fsum(epanechnikov(squared) * math.exp(logprob - whole) for squared, logprob in pairs)
    return _score(RESPONSE, raw, len(squared_distances))


def _cosines(vectors: Sequence[Vector]) -> list[float] | Unavailable:
    """The cosine of each pair."""
    if problem := too_few(len(vectors)):
        return problem
    lengths = [math.hypot(*vector) for vector in vectors]
    if not all(length > 0 and math.isfinite(length) for length in lengths):
        return Unavailable("no_direction", "An embedding is zero or not finite.")
    units = [[x / length for x in vector] for vector, length in zip(vectors, lengths, strict=True)]
    return [math.fsum(x * y for x, y in zip(a, b, strict=True)) for a, b in combinations(units, 2)]


def _score(signal: str, density: float, n: int) -> SampleScore:
    raw = min(1.0, max(0.0, density))
    return SampleScore(signal=signal, value=1.0 - raw, raw=raw, n=n)
