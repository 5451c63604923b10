"""Token uncertainty: u = -log of the mean probability of the emitted tokens (UA-ChatDev, arXiv:2607.02186).

Computed as `log n - logsumexp(logprobs)`, in nats: 0 when every token was certain, +inf when every one
was impossible, |log p| for a single token, and never above the mean surprise. One bad token among many
hardly moves u, hence its companions in `TokenScore`.

    evidence                                        outcome
    no token, or none that counts                   Unavailable "empty"
    no log-probs                                    Unavailable "no_logprobs"
    log-probs after temperature or truncation       Unavailable "processed"
    NaN                                             Unavailable "nan"
    above 0 by more than rounding                   Unavailable "invalid"; rounding is clamped to 0
    too many exact zeros                            Unavailable "zeros"
    -inf                                            probability 0, counted in `nonfinite`
    a server's floor value, -9999                   as it stands, counted in `censored`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from uq.evidence import Evidence, TokenEvidence
from uq.scores import Measurement, TokenScore, Unavailable
from uq.token_selection import CONTENT, select, yes_share

Signal = Callable[[Evidence, str], Measurement]
"""A signal: takes an answer and the name of a token selection; larger scores are more uncertain."""

NAME = "token-uncertainty"
ROUNDING = 1e-6
FLOOR = -9999.0

ZERO_CHECK_FROM = 20
# A log-prob of exactly 0 is honest where float32 cannot tell p from 1. Qwen2.5-Coder-1.5B on llama.cpp has
# none in 200 tokens of code; surer models have many, so the bound leaves them room. Near all are zero only
# where a server renormalised over the emitted token, or never filled the number in.
ZERO_SHARE = 0.9
# Speculative decoding in llama.cpp reports drafted tokens as certain and without alternatives, while the
# others have them. An honest zero keeps its alternatives, so a few such tokens are enough.
BARE_ZERO_SHARE = 0.1


def token_uncertainty(evidence: Evidence, selection: str = CONTENT) -> TokenScore | Unavailable:
    """Return u of the tokens of `evidence` that count under `selection`, or why there is none.

    Log-probs of kind `unknown` are measured; the kind stands in the score, so that they are never
    compared with raw ones. An engine whose processed values equal raw ones (temperature 1, nothing cut
    off, no penalty) should call them raw. Raises ValueError for an unknown selection.
    """
    tokens = select(selection, evidence.tokens)
    logprobs = [token.logprob for token in tokens]
    problem = _problem_of_kind(evidence) or _problem_of_values(logprobs, selection) or _zeros(evidence.tokens)
    if problem:
        return problem
    surprises = sorted((-min(logprob, 0.0) for logprob in logprobs), reverse=True)
    tenth = surprises[: math.ceil(len(surprises) / 10)]
    return TokenScore(
        signal=NAME,
        value=mean_probability_surprise(logprobs),
        n=len(logprobs),
        selection=selection,
        logprob_kind=evidence.logprob_kind,
        model=evidence.model,
        smallest_p=math.exp(-surprises[0]),
        worst_tenth=math.fsum(tenth) / len(tenth),
        mean_surprise=math.fsum(surprises) / len(surprises),
        nonfinite=sum(math.isinf(surprise) for surprise in surprises),
        censored=sum(FLOOR >= logprob > -math.inf for logprob in logprobs),
        truncated=evidence.finish_reason == "length",
        yes_share=yes_share(tokens[0]) if len(tokens) == 1 else None,
    )


def mean_probability_surprise(logprobs: Sequence[float]) -> float:
    """Return -log(mean(exp(logprobs))) in nats, at least 0; the order of `logprobs` does not matter.

    In log space, since exp(-800) is 0. `logprobs` must be non-empty and hold no NaN.
    """
    clamped = [min(logprob, 0.0) for logprob in logprobs]
    largest = max(clamped)
    if largest == -math.inf:
        return math.inf
    scaled = math.fsum(math.exp(logprob - largest) for logprob in clamped)
    u = math.log(len(clamped)) - math.log(scaled) - largest
    return u if u >= 1e-12 else 0.0


def _problem_of_kind(evidence: Evidence) -> Unavailable | None:
    if not evidence.tokens and not evidence.text.strip():
        return Unavailable("empty", "The answer is empty.")
    if not evidence.tokens or evidence.logprob_kind == "none":
        return Unavailable("no_logprobs", "The engine gave no log-probs; ask it for them, or use one that can.")
    if evidence.logprob_kind == "processed":
        return Unavailable(
            "processed",
            "The log-probs were taken after temperature or truncation, so they say how the answer was "
            "drawn and not how sure the model was. Have the server report raw ones.",
        )
    return None


def _problem_of_values(logprobs: Sequence[float], selection: str) -> Unavailable | None:
    if not logprobs:
        return Unavailable("empty", f"No token of the answer counts under {selection}.")
    if any(math.isnan(logprob) for logprob in logprobs):
        return Unavailable("nan", "A log-prob is not a number.")
    if max(logprobs) > ROUNDING:
        return Unavailable("invalid", f"A log-prob is {max(logprobs):g}; none can be above 0.")
    return None


def _zeros(tokens: Sequence[TokenEvidence]) -> Unavailable | None:
    if len(tokens) < ZERO_CHECK_FROM:
        return None
    zeros = [token for token in tokens if token.logprob >= 0.0]
    bare = sum(not token.alternatives for token in zeros) if any(token.alternatives for token in tokens) else 0
    if len(zeros) <= ZERO_SHARE * len(tokens) and bare <= BARE_ZERO_SHARE * len(tokens):
        return None
    return Unavailable(
        "zeros",
        f"{len(zeros)} of {len(tokens)} tokens are reported as certain, {bare} of them without the "
        "alternatives that others have. Switch off speculative decoding, and top_p where a server "
        "renormalises over it.",
    )
