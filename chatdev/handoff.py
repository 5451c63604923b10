"""An answer on its way from one subtask to the next, and the hooks that may look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from camel.messages import Answer, Message


@dataclass(frozen=True)
class Handoff:
    """What a hook sees. `ask` and `fits` belong to the chain; a hook acts through the methods alone."""

    subtask: str
    messages: tuple[Message, ...]
    answer: Answer
    ask: Callable[[tuple[Message, ...]], Answer]
    fits: Callable[[Answer], bool]

    def ask_again(self, extra: str, after: Answer) -> Answer:
        """Ask the same role `extra`, in the conversation that ends with `after`."""
        return self.ask((*self.messages, Message("assistant", after.text), Message("user", extra)))

    def usable(self, answer: Answer) -> bool:
        """Whether the next subtask can work with `answer`."""
        return self.fits(answer)


Hook = Callable[[Handoff], Answer]
"""Called between two subtasks; returns the answer to hand on."""
