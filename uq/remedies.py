"""What can be done about an uncertain answer, and what a remedy needs to do it.

A remedy returns a second answer; whether that replaces the first is for the gate to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from uq.decision import Decision
from uq.doubtful_spans import doubtful_spans, quoted
from uq.evidence import Evidence
from uq.scores import Unavailable

AnswerT = TypeVar("AnswerT", bound=Evidence)

_REPROMPT = Path(__file__).parent / "prompts" / "reprompt.txt"


class Handoff(Protocol[AnswerT]):
    """An answer on its way from `subtask` to the next, and the ways to improve on it."""

    @property
    def subtask(self) -> str: ...

    @property
    def answer(self) -> AnswerT: ...

    def ask_again(self, extra: str, after: AnswerT) -> AnswerT | Unavailable:
        """Ask the same role `extra`, in the conversation that ends with `after`.

        Returns Unavailable where the question cannot be put, for one because it is too long.
        """
        ...

    def usable(self, answer: AnswerT) -> bool:
        """Whether the next subtask can work with `answer`: it has the form that was asked for."""
        ...


@dataclass(frozen=True)
class Case(Generic[AnswerT]):
    """An answer to be improved: the best so far, why it is in doubt, and the remedies tried so far."""

    handoff: Handoff[AnswerT]
    answer: AnswerT
    decision: Decision
    tried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attempt(Generic[AnswerT]):
    """What a remedy asked, and what came back."""

    question: str
    answer: AnswerT | Unavailable


class Remedy(Protocol):
    """One way to a better answer."""

    @property
    def name(self) -> str: ...

    def apply(self, case: Case[AnswerT]) -> Attempt[AnswerT]:
        """Ask for a better answer than `case.answer`."""
        ...


@dataclass(frozen=True)
class Reprompt:
    """Asks the same role again, quoting the `places` most doubtful places of its answer.

    Each further try quotes as many more, so that it does not put the same question twice.
    """

    name: str = "reprompt"
    places: int = 3

    def apply(self, case: Case[AnswerT]) -> Attempt[AnswerT]:
        """Return the question and the role's new answer to it."""
        spans = doubtful_spans(case.answer, self.places * (len(case.tried) + 1))
        doubts = "\n".join(f"- {quoted(span)}" for span in spans) or "- all of it"
        question = _REPROMPT.read_text(encoding="utf-8").strip().format(doubts=doubts)
        return Attempt(question, case.handoff.ask_again(question, case.answer))
