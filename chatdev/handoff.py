"""An answer on its way from one subtask to the next, and the hooks that may look at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from camel.messages import Answer, Message, Sampling
from chatdev.checkpoint import Verdict

EXECUTIVE, COUNSELOR = "Chief Executive Officer", "Counselor"
_DECISION = Sampling(temperature=0.0, max_tokens=16)


class Draw(Protocol):
    """Asks the model in the name of a role for several answers, drawn side by side."""

    def __call__(
        self, role: str, messages: Sequence[Message], *, purpose: str, sampling: Sampling
    ) -> list[Answer]: ...


@dataclass(frozen=True)
class Handoff:
    """What a hook sees. `ask`, `fits` and `draw` belong to the chain; a hook acts through the methods alone.

    `role` gave the answer, which may have `max_tokens`; `prose` says that it is to be read and not run.
    `prompts` are the system messages of all roles of the company.
    `trial` gives the verdict on the product as it would be with an answer, `combine` one of several answers with
    functions of the others where that shows more, and which; both are None where no code is written.
    """

    subtask: str
    messages: tuple[Message, ...]
    answer: Answer
    ask: Callable[[tuple[Message, ...]], Answer]
    fits: Callable[[Answer], bool]
    role: str
    prose: bool
    prompts: Mapping[str, str]
    max_tokens: int
    draw: Draw
    trial: Callable[[Answer], Verdict] | None = None
    combine: Callable[[Sequence[Answer], int], tuple[Answer, dict[str, int]]] | None = None

    def ask_again(self, extra: str, after: Answer) -> Answer:
        """Ask the same role `extra`, in the conversation that ends with `after`."""
        return self.ask(self._after(self.messages, extra, after))

    def usable(self, answer: Answer) -> bool:
        """Whether the next subtask can work with `answer`."""
        return self.fits(answer)

    @property
    def workers(self) -> tuple[str, ...]:
        """The other roles that could give the answer."""
        return tuple(role for role in self.prompts if role not in (self.role, EXECUTIVE, COUNSELOR))

    def sample(self, role: str, n: int, temperature: float, extra: str, after: Answer) -> list[Answer]:
        """Ask `role` the same question `n` times, or `extra` in the conversation that ends with `after`."""
        messages = self.messages
        if role != self.role:
            messages = (Message("system", self.prompts[role]), *messages[1:])
        if extra:
            messages = self._after(messages, extra, after)
        sampling = Sampling(temperature=temperature, max_tokens=self.max_tokens, n=n)
        return self.draw(role, messages, purpose="sample", sampling=sampling)

    def executive(self, question: str) -> str:
        """Ask the chief executive, who answers with a few words."""
        prompt = self.prompts.get(EXECUTIVE)
        system = (Message("system", prompt),) if prompt else ()
        messages = (*system, Message("user", question))
        (answer,) = self.draw(EXECUTIVE, messages, purpose="decision", sampling=_DECISION)
        return answer.text

    @staticmethod
    def _after(messages: tuple[Message, ...], extra: str, after: Answer) -> tuple[Message, ...]:
        return (*messages, Message("assistant", after.text), Message("user", extra))


Hook = Callable[[Handoff], Answer]
"""Called between two subtasks; returns the answer to hand on."""
