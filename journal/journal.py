"""Writing, reading and replaying a journal.

Every event is flushed and fsynced before its effect is used, so a killed process loses at most the call
it was waiting for. A resumed run walks through its own past: each event that the run would write again is
taken from the recorded ones, in order; the first that differs ends the replay and the run goes on live.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import math
import os
from collections import deque
from collections.abc import Callable
from datetime import datetime, timezone
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from journal.events import SCHEMA, TYPES, Event, Resumed, RunStarted

E = TypeVar("E", bound=Event)
Listener = Callable[[Event, bool], None]
"""Called with each event and whether it was replayed."""

FILE_NAME = "journal.jsonl"


class JournalError(Exception):
    """A journal that cannot be read or is being written; the message names file, line and remedy."""


class Journal:
    """An append-only journal that replays its past first.

    `path` is the file; `past` are the recorded events still to be walked through. Listeners see every
    event, replayed or new. Raises JournalError where another process writes it.
    """

    def __init__(self, path: Path, past: list[Event] | None = None) -> None:
        self.path = path
        self.listeners: list[Listener] = []
        self._past = deque(past or [])
        self._kept = 0
        self._resuming = past is not None
        # Unbuffered: what a full disk refused must not wait in memory and come out with a later line.
        self._file: FileIO = open(path, "ab", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise JournalError(f"{path}: its run still goes on in another process; let that end first") from None

    @classmethod
    def resume(cls, path: Path) -> Journal:
        """Open a stopped run's journal. A half-written last line is cut off. Raises JournalError."""
        journal = cls(path, read(path))
        data = path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            os.truncate(path, end)
        return journal

    @property
    def replaying(self) -> bool:
        return bool(self._past)

    def append(self, event: Event) -> None:
        """Write `event`, or recognise it as the next recorded one. Raises OSError when the disk is full."""
        if self._past:
            if _same(self._past[0], event):
                self._replay()
                return
            self._past.clear()
        self._write(event)
        self._announce(event, replayed=False)

    def recall(self, kind: type[E], key: str) -> E | None:
        """The recorded effect of type `kind` with this `key`, when it is the next event of the past."""
        if not self._past:
            return None
        event = self._past[0]
        if isinstance(event, kind) and getattr(event, "key", None) == key:
            self._replay()
            return event
        self._past.clear()
        return None

    def close(self) -> None:
        self._file.close()

    def _replay(self) -> None:
        event = self._past.popleft()
        self._kept += 1
        self._announce(event, replayed=True)

    def _write(self, event: Event) -> None:
        if self._resuming and not isinstance(event, Resumed):
            self._write(Resumed(kept=self._kept))
            self._resuming = False
        moment = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        record = {"time": moment, **to_json(event)}
        line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        start = self._file.seek(0, os.SEEK_END)
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except BaseException:
            # Whatever comes between, a full disk or Ctrl-C, leaves no half line.
            self._file.truncate(start)
            raise

    def _announce(self, event: Event, replayed: bool) -> None:
        for listener in self.listeners:
            listener(event, replayed)


def read(path: Path) -> list[Event]:
    """The events that count, in order: what a later process resumed from and discarded is left out.

    A half-written last line is ignored. Raises JournalError for anything else that is not a journal.
    """
    events: list[Event] = []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror}); give a folder that a run made") from error
    for number, line in enumerate(lines[:-1], 1):
        event = _parse(path, number, line)
        if isinstance(event, Resumed):
            del events[event.kept :]
        elif event is not None:
            events.append(event)
    if not events or not isinstance(events[0], RunStarted):
        raise JournalError(f"{path}:1: does not begin with a RunStarted event; it is not a journal of a run")
    if events[0].schema != SCHEMA:
        raise JournalError(f"{path}:1: has schema {events[0].schema}, this version reads {SCHEMA}")
    return events


def to_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object with its type first; non-finite numbers become strings."""
    fields = {f.name: _finite(getattr(event, f.name)) for f in dataclasses.fields(event)}
    return {"type": type(event).__name__, **fields}


def _same(recorded: Event, event: Event) -> bool:
    """Whether a run that would write `event` now wrote `recorded` then: times and paths may differ."""
    return type(recorded) is type(event) and getattr(recorded, "subtask", "") == getattr(event, "subtask", "")


def _parse(path: Path, number: int, line: bytes) -> Event | None:
    try:
        value = json.loads(line)
        kind = TYPES.get(value.pop("type"))
        if kind is None:
            return None
        names = {f.name for f in dataclasses.fields(kind)}
        return kind(**{name: item for name, item in value.items() if name in names})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise JournalError(
            f"{path}:{number}: is not an event ({error}); the journal was changed by hand"
        ) from error


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
