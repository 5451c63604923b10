"""What one finished product cost and what it is worth: its journal read, its program run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import sandbox
from chatdev.workspace import Workspace
from evaluation.behaviour import Task, TaskResult, run_task
from journal import read
from journal.events import Answered, Executed
from journal.journal import FILE_NAME
from sandbox.completeness import syntax_errors, undefined_local_imports, unimplemented


@dataclass(frozen=True)
class Job:
    """A task to be built: a name that a folder can have, the text, and its checks where there are any."""

    name: str
    text: str
    behaviour: Task | None = None


@dataclass(frozen=True)
class Row:
    """One task in one arm (`chain` or `single`). Times are in seconds.

    `runs` is the sandbox's word: `runs`, `fails` or `not_verifiable`; `complete` means that no file is
    broken and nothing is left unimplemented. `seconds` is wall time from the RunStarted event to the last
    one; `load_seconds` is what went before, mostly loading the engine, or None for a run of an earlier
    session. `engine_seconds` is the time spent waiting for answers, `sandbox_seconds` the time in which
    the product was being executed. `passed` of `checks` is None where the task has no checks.
    """

    task: str
    arm: str
    exit_code: int
    runs: str
    complete: bool
    files: int
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    load_seconds: float | None
    seconds: float
    engine_seconds: float
    sandbox_seconds: float
    passed: int | None
    checks: int | None
    folder: str

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def measure(
    job: Job, arm: str, folder: Path, exit_code: int, load_seconds: float | None, *, isolated: bool
) -> Row:
    """The row of the product in `folder`. Raises JournalError where it holds no journal."""
    events = read(folder / FILE_NAME)
    answers = [event for event in events if isinstance(event, Answered)]
    began, ended = span(folder)
    files = Workspace(folder).files()
    checked = run_task(job.behaviour, folder, isolated=isolated) if job.behaviour else None
    runs = sandbox.run_program(folder, isolated=isolated).status
    if job.behaviour and checked and _ended_well(job.behaviour, checked):
        runs = "runs"  # without its arguments a good program may well end with an error
    return Row(
        task=job.name,
        arm=arm,
        exit_code=exit_code,
        runs=runs,
        complete=not (*syntax_errors(files), *undefined_local_imports(files), *unimplemented(files)),
        files=len(files),
        calls=len(answers),
        prompt_tokens=sum(answer.usage["prompt_tokens"] for answer in answers),
        cached_tokens=sum(answer.usage["cached_tokens"] for answer in answers),
        completion_tokens=sum(answer.usage["completion_tokens"] for answer in answers),
        load_seconds=load_seconds,
        seconds=(ended - began).total_seconds(),
        engine_seconds=sum(answer.seconds for answer in answers),
        sandbox_seconds=sum(event.seconds for event in events if isinstance(event, Executed)),
        passed=checked.passed if checked else None,
        checks=len(checked.results) if checked else None,
        folder=str(folder),
    )


def _ended_well(task: Task, result: TaskResult) -> bool:
    """Whether a check was passed in which the program had to end with exit code 0."""
    pairs = zip(task.checks, result.results, strict=True)
    return any(checked.passed and any(step.exit == 0 for step in check.steps) for check, checked in pairs)


def span(folder: Path) -> tuple[datetime, datetime]:
    """When the journal's first and last events were written."""
    lines = (folder / FILE_NAME).read_bytes().split(b"\n")[:-1]
    first, last = (datetime.fromisoformat(json.loads(line)["time"]) for line in (lines[0], lines[-1]))
    return first, last


def engine_share(rows: Sequence[Row]) -> float | None:
    """The engine's part of the wall time apart from the sandbox: sum of `engine_seconds` divided by the
    sum of `seconds - sandbox_seconds`. None where nothing took any time. Start-up is in neither."""
    apart = sum(row.seconds - row.sandbox_seconds for row in rows)
    return sum(row.engine_seconds for row in rows) / apart if apart > 0 else None


def mean_score(rows: Sequence[Row]) -> float | None:
    """The mean of passed / checks over the tasks that have checks; None where none has."""
    scores = [row.passed / row.checks for row in rows if row.passed is not None and row.checks]
    return sum(scores) / len(scores) if scores else None
