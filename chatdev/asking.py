"""Asking the model on behalf of a role: recorded, continued when cut off, cut when it goes in circles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from camel.messages import OVERFLOW, Answer, Message, Sampling, Token, Usage
from camel.models.model import ContextOverflow, Model
from camel.models.scripted import ScriptedModel
from journal import Journal
from journal.events import Answered, Noted, digest

CONTINUE = (
    "Your answer was cut off. Go on exactly where it stopped: "
    "repeat nothing, explain nothing, and close the code block at its end."
)
_CIRCLE_LINES, _CIRCLE_ROUNDS = 12, 3
_LONGEST_OVERLAP = 400
_FIRST_FENCE = re.compile(r"\A\s*(?:[\w./-]+\s*\n)?\s*(?:```|~~~)([\w+-]*)[ \t]*\n")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)([\w+-]*)", re.MULTILINE)


@dataclass
class Asker:
    """Puts questions to the model and writes each answer to the journal before anybody uses it.

    The calls of a subtask have seeds counted up from `seed`: a resumed run asks exactly what the first one would
    have asked, and so does one in which an earlier subtask took more calls, where its question is the same.
    `window` is the model's in tokens, as far as it is known or was learnt by overflowing.
    """

    model: Model
    journal: Journal
    seed: int = 0
    calls: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    window: int | None = None
    _asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.window = self.model.window

    def ask(
        self,
        subtask: str,
        role: str,
        messages: Sequence[Message],
        *,
        sampling: Sampling,
        purpose: str = "answer",
        continuations: int = 0,
    ) -> Answer:
        """One answer to `messages`; cut by the token limit it is continued at most `continuations` times.

        Raises ModelUnusable. A conversation that is too long for the window is asked once more without its
        middle; a prompt that is too long by itself gives an empty answer and a note.
        """
        (answer,) = self.sample(subtask, role, messages, purpose=purpose, sampling=sampling)
        if answer.finish_reason == OVERFLOW and len(messages) > 4:
            messages = [*messages[:2], *messages[-2:]]
            (answer,) = self.sample(subtask, role, messages, purpose=purpose, sampling=sampling)
        for _ in range(continuations):
            if answer.finish_reason != "length" or not answer.text.strip():
                break
            more = [*messages, Message("assistant", answer.text), Message("user", CONTINUE)]
            (rest,) = self.sample(subtask, role, more, purpose="continuation", sampling=sampling)
            answer = joined(answer, rest)
        return answer

    def sample(
        self, subtask: str, role: str, messages: Sequence[Message], *, purpose: str, sampling: Sampling
    ) -> list[Answer]:
        """`sampling.n` answers to `messages`, with seeds counted up. Raises ModelUnusable.

        Those of the past are recalled, the others are one request.
        """
        asked = [asdict(message) for message in messages]
        fresh: list[Answer] = []
        answers: list[Answer] = []
        for place in range(sampling.n):
            one = replace(sampling, seed=self.seed + self._asked[subtask], n=1)
            key = digest(role, asked, asdict(one))
            past = None if fresh else self.journal.recall(Answered, key)
            if past is not None:
                answer = _from_event(past)
                self.window = past.window or self.window
                if isinstance(self.model, ScriptedModel):
                    self.model.fast_forward(messages, one)
            else:
                left = sampling.n - place
                fresh = fresh or self._live(messages, replace(one, n=left))
                answer = fresh[-left]
                event = _to_event(key, subtask, role, purpose, asked, one, answer)
                overflowed = answer.finish_reason == OVERFLOW
                self.journal.append(replace(event, window=self.window) if overflowed else event)
            if answer.finish_reason == OVERFLOW:
                self.journal.append(Noted(subtask, "the prompt is too long for the model's window; no answer"))
            self.calls += 1
            self._asked[subtask] += 1
            self.usage += answer.usage
            self.seconds += answer.seconds
            answers.append(_without_circles(answer))
        return answers

    def _live(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
        try:
            return [_storable(answer) for answer in self.model.answer(messages, sampling)]
        except ContextOverflow as error:
            self.window = error.window or self.window
            return [Answer("", finish_reason=OVERFLOW, model=self.model.name)] * sampling.n


def _storable(answer: Answer) -> Answer:
    """The answer without halves of characters, which JSON can bring and no file takes."""

    def whole(text: str) -> str:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    tokens = (
        Token(whole(token.text), token.logprob, tuple((whole(word), p) for word, p in token.alternatives))
        for token in answer.tokens
    )
    return replace(answer, text=whole(answer.text), tokens=tuple(tokens))


def joined(first: Answer, rest: Answer) -> Answer:
    """`first` continued by `rest`: a reopened fence and repeated text at the seam are left out."""
    text = rest.text
    if first.text.count("```") % 2:
        text = text[_reopened(text) :]
        if _FENCE.match(text) and not first.text.endswith("\n"):
            text = f"\n{text}"
    overlap = next(
        (size for size in range(min(_LONGEST_OVERLAP, len(text)), 7, -1) if first.text.endswith(text[:size])),
        0,
    )
    text = text[overlap:]
    return replace(
        first,
        text=first.text + text,
        tokens=first.tokens + _last_characters(rest.tokens, len(text)),
        usage=first.usage + rest.usage,
        finish_reason=rest.finish_reason,
        seconds=first.seconds + rest.seconds,
    )


def _reopened(text: str) -> int:
    """Where the code goes on if `text` opens the cut block once more; 0 where its first fence closes it."""
    fence = _FIRST_FENCE.match(text)
    following = _FENCE.search(text, fence.end()) if fence else None
    closed_later = following is not None and not following[1]
    return fence.end() if fence and (fence[1] or closed_later) else 0


def _without_circles(answer: Answer) -> Answer:
    """An answer whose end is the same lines over and over, cut after the first round of them."""
    if answer.finish_reason != "length":
        return answer
    lines = answer.text.splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if line.strip()]
    said = [lines[place].strip() for place in places[:-1]]  # the last one was cut
    for period in range(1, len(said) // _CIRCLE_ROUNDS + 1):
        rounds = max(_CIRCLE_ROUNDS, -(-_CIRCLE_LINES // period))
        if said[-period * rounds :] == said[-period:] * rounds:
            break
    else:
        return answer
    first = len(said) - period
    while first and said[first - 1] == said[first - 1 + period]:
        first -= 1
    text = "".join(lines[: places[first + period - 1] + 1])
    return replace(answer, text=text, tokens=_first_characters(answer.tokens, len(text)), finish_reason="circles")


def _first_characters(tokens: Sequence[Token], size: int) -> tuple[Token, ...]:
    kept: list[Token] = []
    for token in tokens:
        if size <= 0:
            break
        kept.append(token)
        size -= len(token.text)
    return tuple(kept)


def _last_characters(tokens: Sequence[Token], size: int) -> tuple[Token, ...]:
    return _first_characters(tokens[::-1], size)[::-1]


def _to_event(
    key: str,
    subtask: str,
    role: str,
    purpose: str,
    asked: list[dict[str, str]],
    sampling: Sampling,
    answer: Answer,
) -> Answered:
    return Answered(
        key=key,
        subtask=subtask,
        role=role,
        purpose=purpose,
        messages=asked,
        sampling=asdict(sampling),
        text=answer.text,
        tokens=[
            [token.text, token.logprob, [list(pair) for pair in token.alternatives]] for token in answer.tokens
        ],
        usage=asdict(answer.usage),
        finish_reason=answer.finish_reason,
        logprob_kind=answer.logprob_kind,
        seconds=round(answer.seconds, 3),
        model=answer.model,
    )


def _from_event(event: Answered) -> Answer:
    return Answer(
        text=event.text,
        tokens=tuple(_token(*item) for item in event.tokens),
        usage=Usage(**event.usage),
        finish_reason=event.finish_reason,
        logprob_kind=event.logprob_kind,  # type: ignore[arg-type]
        seconds=event.seconds,
        model=event.model,
    )


def _token(text: str, logprob: Any, alternatives: list[list[Any]]) -> Token:
    return Token(text, float(logprob), tuple((str(word), float(value)) for word, value in alternatives))
