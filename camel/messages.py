"""What agents say to each other, and the evidence an answer carries.

An answer is text plus one record a token. Log-probs are natural logarithms (nats); `logprob_kind`
says what they mean: `raw` is the model's own distribution at temperature 1, `processed` is what was
left after temperature and truncation, `unknown` was never probed, `none` means the engine gave none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]
OVERFLOW = "overflow"
"""The finish reason of an answer that was never given: the prompt did not fit into the model's window."""

LogprobKind = Literal["raw", "processed", "unknown", "none"]


@dataclass(frozen=True)
class Message:
    """One message of a conversation, in the roles every chat API knows."""

    role: Role
    content: str


@dataclass(frozen=True)
class Token:
    """One emitted token: its text, its log-prob in nats, and the top alternatives at its place."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Usage:
    """Tokens one or more calls cost. `cached_tokens` is the part of the prompt the engine reused."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens - other.prompt_tokens,
            self.completion_tokens - other.completion_tokens,
            self.cached_tokens - other.cached_tokens,
        )


@dataclass(frozen=True)
class Sampling:
    """How to draw an answer. `max_tokens=None` leaves the length to the engine's window."""

    temperature: float = 0.2
    top_p: float = 1.0
    max_tokens: int | None = None
    seed: int | None = None
    n: int = 1


@dataclass(frozen=True)
class Answer:
    """What a model said, with the evidence for how sure it was.

    `finish_reason` is the engine's word: `stop`, or `length` when the token limit cut the reply.
    `seconds` is the time spent waiting for the engine.
    """

    text: str
    tokens: tuple[Token, ...] = ()
    usage: Usage = Usage()
    finish_reason: str = "stop"
    logprob_kind: LogprobKind = "none"
    seconds: float = 0.0
    model: str = ""
