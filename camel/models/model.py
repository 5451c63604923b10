"""The one thing every engine does, and the ways it can fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from camel.messages import Answer, Message, Sampling


class Model(Protocol):
    """An engine that answers a conversation.

    `name` identifies the model in journals and thresholds; `window` is its context length in tokens,
    or None where only the server knows.
    """

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int | None: ...

    def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
        """Return `sampling.n` answers to `messages`.

        Raises ModelUnusable when no call can succeed and ContextOverflow when the prompt is too long.
        """
        ...

    def close(self) -> None:
        """End what the engine started (servers, connections). Safe to call twice."""
        ...


class ModelUnusable(Exception):
    """The model cannot be used at all; the message says why and what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}. {remedy}")
        self.reason = reason
        self.remedy = remedy


class ContextOverflow(Exception):
    """The prompt is longer than the model's window (`window` tokens where it is known)."""

    def __init__(self, message: str, window: int | None = None) -> None:
        super().__init__(message)
        self.window = window
