"""What can be done about an uncertain answer, and what a remedy needs to do it.

A remedy returns a second answer; whether that replaces the first is for the gate to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from uq.decision import Decision
from uq.doubtful_names import doubtful_names
from uq.doubtful_spans import doubtful_spans, quoted
from uq.evidence import Evidence
from uq.scores import Unavailable

AnswerT = TypeVar("AnswerT", bound=Evidence)

_PROMPTS = Path(__file__).parent / "prompts"


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
        spans = doubtful_spans(case.answer, self.places * (case.tried.count(self.name) + 1))
        doubts = "\n".join(f"- {quoted(span)}" for span in spans) or "- all of it"
        question = _prompt("reprompt").format(doubts=doubts)
        return Attempt(question, case.handoff.ask_again(question, case.answer))


class Library(Protocol):
    """Where things can be looked up."""

    def look_up(self, subtask: str, names: Sequence[str]) -> str | Unavailable:
        """What is known about the doubtful `names` of an answer, ready to be quoted in a prompt: marked as data,
        and short enough."""
        ...


@dataclass(frozen=True)
class Retrieve:
    """Looks up the most doubtful names of the answer, once for each answer, and asks the same role again with
    what was found."""

    library: Library | None = None
    name: str = "retrieve"
    names: int = 4

    def apply(self, case: Case[AnswerT]) -> Attempt[AnswerT]:
        """Return the question and the role's new answer to it, or that there was nothing to ask with."""
        if self.name in case.tried:
            return Attempt("", Unavailable("budget", "it was looked up already"))
        names = doubtful_names(case.answer, self.names)
        if not names:
            return Attempt("", Unavailable("no_names", "the doubtful places hold no name to look up"))
        if self.library is None:
            return Attempt("", Unavailable("off", "there is nothing to look it up in"))
        found = self.library.look_up(case.handoff.subtask, names)
        if isinstance(found, Unavailable):
            return Attempt("", found)
        doubts = "\n".join(f"- `{name}`" for name in names)
        question = _prompt("retrieve").format(doubts=doubts, found=found)
        return Attempt(question, case.handoff.ask_again(question, case.answer))


def _prompt(name: str) -> str:
    return (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()
