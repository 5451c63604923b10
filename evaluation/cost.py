"""What a run cost, read from its journal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from journal import read
from journal.events import Answered, Executed, Gated, Remedied
from journal.journal import FILE_NAME, JournalError


@dataclass(frozen=True)
class Cost:
    """Model calls, tokens, and times in seconds.

    `seconds` is wall time from the RunStarted event to the last one, `engine_seconds` the time spent waiting
    for answers, `sandbox_seconds` the time in which the product was being executed. `triggers` are answers
    found doubtful, `retrievals` those looked up.
    """

    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float
    engine_seconds: float
    sandbox_seconds: float
    triggers: int
    retrievals: int

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def cost(folder: Path) -> Cost:
    """What the run in the product folder `folder` cost. Raises JournalError where it holds no journal."""
    events = read(folder / FILE_NAME)
    answers = [event for event in events if isinstance(event, Answered)]
    began, ended = span(folder)

    def tokens(kind: str) -> int:
        return sum(answer.usage.get(kind, 0) for answer in answers)

    return Cost(
        calls=len(answers),
        prompt_tokens=tokens("prompt_tokens"),
        cached_tokens=tokens("cached_tokens"),
        completion_tokens=tokens("completion_tokens"),
        seconds=(ended - began).total_seconds(),
        engine_seconds=sum(answer.seconds for answer in answers),
        sandbox_seconds=sum(event.seconds for event in events if isinstance(event, Executed)),
        triggers=sum(event.triggered for event in events if isinstance(event, Gated)),
        retrievals=sum(event.remedy == "retrieve" for event in events if isinstance(event, Remedied)),
    )


def span(folder: Path) -> tuple[datetime, datetime]:
    """When the journal's first and last events were written. Raises JournalError where one does not say so."""
    path = folder / FILE_NAME
    lines = path.read_bytes().split(b"\n")[:-1]
    return _time(path, 1, lines[0]), _time(path, len(lines), lines[-1])


def _time(path: Path, number: int, line: bytes) -> datetime:
    try:
        return datetime.fromisoformat(json.loads(line)["time"])
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(f"{path}:{number}: does not say when; the journal was changed by hand") from error
