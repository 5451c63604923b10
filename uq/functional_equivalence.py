"""How far several programs for one task do the same (functional entropy, arXiv:2605.28500), from 0 to 1.

With m samples beside the answer under test, N = m + 1 and k groups of programs that do the same:

`functional-equivalence-rate`  FER = share of the samples that do what the answer does
`functional-negentropy`        NFN = 1 - H / ln N, H the entropy of the groups in nats
`functional-sets-confidence`   FSC = (N - k) / m

`functional-agreement`         the mean over samples of the share of inputs on which answer and sample agree: FER
                               in finer steps, where programs were run (no paper's figure)

FER is about the answer; the other two are about the question: where all samples agree and the answer does not,
FER is 0, but NFN and FSC are high. So a decision about an answer rests on FER. A score's `raw` is the figure
and its `value` 1 - figure. Of pairs that a judge had no opinion on, FER's `raw` leaves them out, and its
`value` takes them for different: fail towards uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from uq.clustering import Clustering, Groups, with_evidence
from uq.scores import SampleScore, Unavailable
from uq.semantic_entropy import entropy, group_shares, too_few

RATE, NEGENTROPY, SETS, AGREEMENT = (
    "functional-equivalence-rate",
    "functional-negentropy",
    "functional-sets-confidence",
    "functional-agreement",
)


def functional_scores(clustering: Clustering) -> dict[str, SampleScore | Unavailable]:
    """Return all three by name, with the pairs that were decided and the inputs that decided them."""
    found = {
        RATE: functional_equivalence_rate(clustering.anchored),
        NEGENTROPY: functional_negentropy(clustering.groups),
        SETS: functional_sets_confidence(clustering.groups),
    }
    return {name: with_evidence(score, clustering) for name, score in found.items()}


def functional_equivalence_rate(anchored: Sequence[bool | None]) -> SampleScore | Unavailable:
    """Return the rate, from the verdicts on the answer and each of its samples."""
    if problem := too_few(len(anchored) + 1):
        return problem
    m, yes, unknown = len(anchored), anchored.count(True), anchored.count(None)
    if unknown > m - unknown:
        return Unavailable("abstained", f"The judge had no opinion on {unknown} of {m} pairs.")
    lowest = yes / m
    return SampleScore(
        signal=RATE,
        value=1.0 - lowest,
        raw=yes / (m - unknown),
        n=m + 1,
        decided=m - unknown,
        abstained=unknown,
        lowest=lowest,
        highest=(yes + unknown) / m,
    )


def functional_agreement(shares: Sequence[float | None]) -> SampleScore | Unavailable:
    """Return the mean of the shares of inputs on which the answer and each sample agree.

    A sample that cannot be compared (None) agrees nowhere in `value`, and is left out of `raw`.
    """
    known = [share for share in shares if share is not None]
    if not known:
        return too_few(len(shares) + 1) or Unavailable("abstained", "No sample could be compared on any input.")
    lowest = math.fsum(known) / len(shares)
    return SampleScore(
        signal=AGREEMENT,
        value=1.0 - lowest,
        raw=math.fsum(known) / len(known),
        n=len(shares) + 1,
        decided=len(known),
        abstained=len(shares) - len(known),
        lowest=lowest,
        highest=lowest + (len(shares) - len(known)) / len(shares),
    )


def functional_negentropy(
    groups: Groups, logprobs: Sequence[float | None] | None = None
) -> SampleScore | Unavailable:
    """Return 1 - H / ln N; with the programs' mean log-probs, groups weigh as much as they are probable."""
    n = sum(map(len, groups))
    if problem := too_few(n):
        return problem
    shares = [len(group) / n for group in groups] if logprobs is None else group_shares(groups, logprobs)
    if isinstance(shares, Unavailable):
        return shares
    return _score(NEGENTROPY, 1.0 - entropy(shares) / math.log(n), groups)


def functional_sets_confidence(groups: Groups) -> SampleScore | Unavailable:
    """Return 1 where all programs do the same, 0 where each does something else."""
    n = sum(map(len, groups))
    return too_few(n) or _score(SETS, (n - len(groups)) / (n - 1), groups)


def _score(signal: str, confidence: float, groups: Groups) -> SampleScore:
    raw = min(1.0, max(0.0, confidence))
    return SampleScore(signal=signal, value=1.0 - raw, raw=raw, n=sum(map(len, groups)), groups=groups)
