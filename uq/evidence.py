"""What a signal reads of an answer. Any class with these attributes will do; nothing need inherit.

Log-probs are natural logarithms (nats), of the model's full distribution at temperature 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TokenEvidence(Protocol):
    """One emitted token. `alternatives` are the likeliest (text, log-prob) pairs at its place."""

    @property
    def text(self) -> str: ...

    @property
    def logprob(self) -> float: ...

    @property
    def alternatives(self) -> Sequence[tuple[str, float]]: ...


class Evidence(Protocol):
    """One answer.

    `logprob_kind` is `raw`, `processed` (after temperature or truncation), `unknown` or `none`;
    `finish_reason` is `length` where the token limit cut the answer. `model` is here because neither
    thresholds nor two answers' uncertainties may be compared across models.
    """

    @property
    def text(self) -> str: ...

    @property
    def tokens(self) -> Sequence[TokenEvidence]: ...

    @property
    def logprob_kind(self) -> str: ...

    @property
    def finish_reason(self) -> str: ...

    @property
    def model(self) -> str: ...


class Sampler(Protocol):
    """A model to put questions to: the one under test, or one that judges."""

    def sample(self, prompt: str, n: int, temperature: float) -> Sequence[Evidence]:
        """Return `n` answers to `prompt`, and nothing else in the conversation; none where it cannot be put."""
        ...
