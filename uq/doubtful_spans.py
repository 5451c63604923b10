"""Where in an answer the model was unsure, as pieces a reader can recognise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from uq.evidence import Evidence, TokenEvidence
from uq.token_selection import content

DOUBTFUL_P = 0.5
PLAUSIBLE_P = 0.05
CONTEXT_CHARACTERS = 60


@dataclass(frozen=True)
class Span:
    """A doubtful piece of an answer.

    `text` consists of whole words, `p` is the probability of its least likely token, `alternatives` is
    what the text up to that token might have read instead, likeliest first, and `context` the line it
    stands in (of a long line, the part around it).
    """

    text: str
    p: float
    alternatives: tuple[str, ...]
    context: str


def doubtful_spans(evidence: Evidence, limit: int) -> list[Span]:
    """Return at most `limit` spans holding a token of p < 0.5, the most doubtful first, no text twice.

    White space and Markdown fences are left out: doubt about them is not doubt about the matter.
    """
    tokens = content(evidence.tokens)
    spans = [_span(tokens, start, end) for start, end in _doubtful_runs(tokens)]
    first_of_its_text: dict[str, Span] = {}
    for span in sorted(spans, key=lambda span: span.p):
        if span.text and not span.context.startswith("```"):
            first_of_its_text.setdefault(span.text, span)
    return list(first_of_its_text.values())[:limit]


def quoted(span: Span) -> str:
    """Return `span` in words: its text, what it might have read instead, and the line it stands in."""
    instead = f" (or `{'` or `'.join(span.alternatives[:2])}`?)" if span.alternatives else ""
    where = "" if span.context == span.text else f" in `{span.context}`"
    return f"`{span.text}`{instead}{where}"


def _doubtful_runs(tokens: Sequence[TokenEvidence]) -> Iterator[tuple[int, int]]:
    begin: int | None = None
    for start, end in _words(tokens):
        doubtful = any(token.logprob < math.log(DOUBTFUL_P) for token in tokens[start:end])
        if begin is not None and not doubtful:
            yield begin, start
            begin = None
        if doubtful:
            begin = start if begin is None else begin
            if "\n" in tokens[end - 1].text:
                yield begin, end
                begin = None
    if begin is not None:
        yield begin, len(tokens)


def _words(tokens: Sequence[TokenEvidence]) -> Iterator[tuple[int, int]]:
    start = 0
    for position in range(1, len(tokens) + 1):
        if position == len(tokens) or not _continues(tokens[position - 1].text, tokens[position].text):
            yield start, position
            start = position


def _continues(before: str, after: str) -> bool:
    return _in_word(before[-1:]) and _in_word(after[:1])


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _span(tokens: Sequence[TokenEvidence], start: int, end: int) -> Span:
    before, inside, after = (
        "".join(token.text for token in part) for part in (tokens[:start], tokens[start:end], tokens[end:])
    )
    worst = min(range(start, end), key=lambda position: tokens[position].logprob)
    line_before = before.rpartition("\n")[2][-CONTEXT_CHARACTERS:]
    line_after = "" if inside.endswith("\n") else after.partition("\n")[0][:CONTEXT_CHARACTERS]
    return Span(
        text=inside.strip(),
        p=math.exp(tokens[worst].logprob),
        alternatives=_alternatives(tokens[worst], "".join(token.text for token in tokens[start:worst])),
        context=(line_before + inside + line_after).strip(),
    )


def _alternatives(token: TokenEvidence, before: str) -> tuple[str, ...]:
    ranked = sorted(token.alternatives, key=lambda alternative: -alternative[1])
    readings = [
        (before + text).strip()
        for text, logprob in ranked
        if text != token.text and text.strip() and logprob >= math.log(PLAUSIBLE_P)
    ]
    return tuple(dict.fromkeys(readings))
