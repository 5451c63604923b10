"""Semantic entropy: how many meanings several answers have (Farquhar et al., Nature 630 (2024) 625; Kuhn et
al., arXiv:2302.09664), in nats.

`semantic_entropy` counts: H = -sum (n_c / N) ln (n_c / N) over groups c of answers that mean the same.
`likelihood_entropy` weighs (the Rao-Blackwellised form): ln P(c) = logsumexp of l_i over c - logsumexp of all
l_i, where l_i is the mean log-prob of the tokens of answer i; sums instead of means would make every longer
answer impossible. All in log space, since exp(-800) is 0.

Both are 0 for one meaning and at most ln N, so a bound on H that is not below ln N can never be crossed. The
score's `value` is H / ln N, which can be compared across numbers of samples; `raw` is H.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from uq.clustering import Groups
from uq.scores import SampleScore, Unavailable

COUNTED, WEIGHED = "semantic-entropy", "likelihood-semantic-entropy"


def semantic_entropy(groups: Groups) -> SampleScore | Unavailable:
    """Return the entropy of the shares that the groups have of the answers."""
    n = sum(map(len, groups))
    return _score(COUNTED, groups, [len(group) / n for group in groups])


def likelihood_entropy(groups: Groups, logprobs: Sequence[float | None]) -> SampleScore | Unavailable:
    """Return the entropy of the probabilities of the groups; `logprobs` are the answers' mean log-probs.

    An answer that was drawn twice counts twice, as in the authors' program.
    """
    shares = too_few(len(logprobs)) or group_shares(groups, logprobs)
    return shares if isinstance(shares, Unavailable) else _score(WEIGHED, groups, shares)


def group_shares(groups: Groups, logprobs: Sequence[float | None]) -> list[float] | Unavailable:
    """Return the probability of each group, from the mean log-probs of its answers; they sum to 1."""
    known = [logprob for logprob in logprobs if logprob is not None and not math.isnan(logprob)]
    if len(known) < len(logprobs):
        return Unavailable("no_logprobs", "Not every answer has log-probs; the counting form needs none.")
    masses = log_masses(groups, known)
    whole = log_sum(masses)
    if whole == -math.inf:
        return Unavailable("impossible", "Every answer is reported to have the probability zero.")
    return [math.exp(mass - whole) for mass in masses]


def log_masses(groups: Groups, logprobs: Sequence[float]) -> list[float]:
    """Return the logarithm of the summed probability of each group, not normalised."""
    return [log_sum(logprobs[member] for member in group) for group in groups]


def log_sum(logarithms: Iterable[float]) -> float:
    """Return ln(sum(exp(x))); -inf for nothing."""
    values = list(logarithms)
    largest = max(values, default=-math.inf)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(value - largest) for value in values))


def entropy(shares: Iterable[float]) -> float:
    """Return -sum p ln p in nats, at least 0; p = 0 adds nothing."""
    return max(0.0, -math.fsum(share * math.log(share) for share in shares if share > 0))


def too_few(n: int) -> Unavailable | None:
    """Why `n` answers cannot be compared with each other, or None where they can."""
    if n == 0:
        return Unavailable("no_samples", "There is no answer.")
    return Unavailable("one_sample", "One answer agrees with itself; draw more.") if n == 1 else None


def _score(signal: str, groups: Groups, shares: Iterable[float]) -> SampleScore | Unavailable:
    n = sum(map(len, groups))
    if problem := too_few(n):
        return problem
    raw = entropy(shares)
    return SampleScore(signal=signal, value=min(1.0, raw / math.log(n)), raw=raw, n=n, groups=groups)
