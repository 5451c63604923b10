"""An answer on its way from one subtask to the next, and the hooks that may look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from camel.messages import Answer, Message
from chatdev.checkpoint import Verdict


@dataclass(frozen=True)
class Handoff:
    """What a hook sees. The callables belong to the chain; a hook acts through the methods alone.

    `draw(n, temperature)` draws more answers to the same question. `trial` gives the verdict on the product
    as it would be with an answer; None where the subtask writes no code.
    """

    subtask: str
    messages: tuple[Message, ...]
    answer: Answer
    ask: Callable[[tuple[Message, ...]], Answer]
    fits: Callable[[Answer], bool]
    draw: Callable[[int, float], list[Answer]]
    trial: Callable[[Answer], Verdict] | None = None

    def ask_again(self, extra: str, after: Answer) -> Answer:
        """Ask the same role `extra`, in the conversation that ends with `after`."""
        return self.ask((*self.messages, Message("assistant", after.text), Message("user", extra)))

    def usable(self, answer: Answer) -> bool:
        """Whether the next subtask can work with `answer`."""
        return self.fits(answer)


Hook = Callable[[Handoff], Answer]
"""Called between two subtasks; returns the answer to hand on."""
