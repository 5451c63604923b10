"""What is going on, live: one line a subtask on a terminal or in a log."""

from __future__ import annotations

import threading
import time
from typing import TextIO

from journal import Event
from journal.events import (
    Answered,
    Checked,
    Gated,
    Noted,
    Remedied,
    Retrieved,
    RolledBack,
    RunStarted,
    Sampled,
    SubtaskEnded,
    SubtaskStarted,
)


class Progress:
    """A journal listener that tells a person what happens; on a terminal a clock shows that it still does."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._clock: _Clock | None = None
        self._notes: list[str] = []

    def __call__(self, event: Event, replayed: bool) -> None:
        if isinstance(event, RunStarted):
            self._line(f"{event.product}: {event.organization} works on it with {event.model}.")
        elif isinstance(event, SubtaskStarted):
            self._notes = []
            cycle = f" #{event.cycle}" if event.cycle else ""
            self._begin(f"{event.subtask}{cycle}")
        elif isinstance(event, SubtaskEnded):
            tokens = f"{event.calls} calls, {event.usage['completion_tokens']} tokens, {event.seconds:.0f} s"
            again = ["replayed"] if replayed else []
            self._end(", ".join([tokens, *self._notes, *again]))
        elif isinstance(event, Gated) and event.u_pre is not None:
            doubt = " doubtful" if event.triggered else ""
            self._notes.append(f"u {float(event.u_pre):.3f}{doubt}")
        elif isinstance(event, Retrieved):
            self._notes.append(f"looked up in {event.source}" if event.passages else f"looked up: {event.outcome}")
        elif isinstance(event, Remedied):
            self._notes.append(f"{event.remedy}: {event.refusal or 'new answer kept'}")
        elif isinstance(event, Sampled):
            self._notes.append(f"{event.kept} kept, {event.reason}")
        elif isinstance(event, Checked):
            self._notes.append(_verdict(event))
        elif isinstance(event, RolledBack):
            self._notes.append(f"taken back, {event.reason}")
        elif isinstance(event, Noted):
            self._line(f"note: {event.note}")
        elif isinstance(event, Answered) and self._clock is not None:
            self._clock.calls += 1

    def close(self) -> None:
        """Stop the clock; harmless when there is none."""
        if self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _begin(self, subtask: str) -> None:
        self.close()
        if self._stream.isatty():
            self._clock = _Clock(self._stream, subtask)
            self._clock.start()
        else:
            print(f"{subtask} …", file=self._stream, flush=True)
        self._subtask = subtask

    def _end(self, text: str) -> None:
        self.close()
        self._line(f"{self._subtask}: {text}")

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class _Clock(threading.Thread):
    """Rewrites one terminal line each second until stopped."""

    def __init__(self, stream: TextIO, subtask: str) -> None:
        super().__init__(daemon=True)
        self._terminal, self._subtask = stream, subtask
        self._ended = threading.Event()
        self.calls = 0

    def run(self) -> None:
        began = time.monotonic()
        while not self._ended.wait(1.0):
            text = f"{self._subtask} … {time.monotonic() - began:.0f} s, {self.calls} answers"
            self._terminal.write(f"\r{text}\x1b[K")
            self._terminal.flush()

    def stop(self) -> None:
        self._ended.set()
        self.join()
        self._terminal.write("\r\x1b[K")
        self._terminal.flush()


def _verdict(event: Checked) -> str:
    verdict = event.verdict
    accepted = f", {verdict['points']} of {2 * len(verdict['results'])} points" if verdict["results"] else ""
    return f"{verdict['status'].replace('_', ' ')}{accepted}"
