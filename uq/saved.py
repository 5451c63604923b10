"""Answers that another framework has saved: chat completions with log-probs, or bare lists of log-probs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class NotReadable(Exception):
    """A file holds nothing that could be scored; the message says where and why."""


@dataclass(frozen=True)
class SavedToken:
    """See uq.evidence.TokenEvidence."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class SavedAnswer:
    """See uq.evidence.Evidence; `place` says where it was found."""

    place: str
    text: str
    tokens: tuple[SavedToken, ...]
    logprob_kind: str
    finish_reason: str = "stop"
    model: str = ""


def saved_answers(path: Path, logprob_kind: str) -> list[SavedAnswer]:
    """Return the answers in `path`, one JSON document or one on each line.

    A document is a chat completion, each of whose choices is an answer, or a list of log-probs, whose
    tokens go by their numbers (`#1` is the first), or a list of such documents. What the log-probs are is
    not in the file: `logprob_kind` says it. Raises NotReadable and OSError.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        documents = _documents(text, str(path))
        found = [answer for place, document in documents for answer in _answers(document, place, logprob_kind)]
    except UnicodeDecodeError as error:
        raise NotReadable(f"{path} is not text in UTF-8") from error
    except RecursionError as error:
        raise NotReadable(f"{path} is nested too deeply") from error
    if not found:
        raise NotReadable(f"{path} holds no answer")
    return found


def _documents(text: str, place: str) -> Iterator[tuple[str, Any]]:
    try:
        yield place, json.loads(text)
        return
    except ValueError as error:
        whole = error
    # JSON may hold characters at which splitlines would break it.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, line in lines:
        try:
            yield f"{place}:{number}", json.loads(line)
        except ValueError as error:
            if number == lines[0][0]:  # no JSON a line either: the whole was meant to be one
                raise NotReadable(f"{place} is not JSON ({whole})") from error
            raise NotReadable(f"{place}:{number} is not JSON ({error})") from error


def _answers(document: Any, place: str, kind: str) -> Iterator[SavedAnswer]:
    if isinstance(document, list) and document and all(isinstance(item, (dict, list)) for item in document):
        for number, item in enumerate(document, 1):
            yield from _answers(item, f"{place} no. {number}", kind)
        return
    try:
        if isinstance(document, list):
            yield _from_logprobs(document, place, kind)
            return
        choices = document["choices"]
        for number, choice in enumerate(choices, 1):
            where = place if len(choices) == 1 else f"{place} choice {number}"
            yield _from_choice(choice, str(document.get("model", "")), where, kind)
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise NotReadable(f"{place} is neither a chat completion nor a list of log-probs ({error!r})") from error


def _from_logprobs(logprobs: list[Any], place: str, kind: str) -> SavedAnswer:
    tokens = tuple(SavedToken(f"#{number}\n", _nats(value)) for number, value in enumerate(logprobs, 1))
    return SavedAnswer(place, "".join(token.text for token in tokens), tokens, kind)


def _from_choice(choice: dict[str, Any], model: str, place: str, kind: str) -> SavedAnswer:
    records = (choice.get("logprobs") or {}).get("content") or ()
    tokens = tuple(
        SavedToken(
            text=str(record["token"]),
            logprob=_nats(record["logprob"]),
            alternatives=tuple(
                (str(other["token"]), _nats(other["logprob"])) for other in record.get("top_logprobs") or ()
            ),
        )
        for record in records
    )
    text = str(choice["message"].get("content") or "")
    return SavedAnswer(place, text, tokens, kind, choice.get("finish_reason") or "stop", model)


def _nats(value: Any) -> float:
    """A log-prob; null, which some servers write for what JSON cannot hold, is not a number."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is no log-prob")
    return float(value)
