"""What one finished product cost and what it is worth: its journal read, its program run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sandbox
from chatdev.workspace import Workspace
from evaluation.behaviour import Task, run_task
from evaluation.cost import cost
from evaluation.srdd.strict import ended_well, is_complete


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
    spent = cost(folder)
    files = Workspace(folder).files()
    checked = run_task(job.behaviour, folder, isolated=isolated) if job.behaviour else None
    runs = sandbox.run_program(folder, isolated=isolated).status
    if job.behaviour and checked and ended_well(job.behaviour, checked):
        runs = "runs"  # without its arguments a good program may well end with an error
    return Row(
        task=job.name,
        arm=arm,
        exit_code=exit_code,
        runs=runs,
        complete=is_complete(files),
        files=len(files),
        calls=spent.calls,
        prompt_tokens=spent.prompt_tokens,
        cached_tokens=spent.cached_tokens,
        completion_tokens=spent.completion_tokens,
        load_seconds=load_seconds,
        seconds=spent.seconds,
        engine_seconds=spent.engine_seconds,
        sandbox_seconds=spent.sandbox_seconds,
        passed=checked.passed if checked else None,
        checks=len(checked.results) if checked else None,
        folder=str(folder),
    )


def engine_share(rows: Sequence[Row]) -> float | None:
    """The engine's part of the wall time apart from the sandbox: sum of `engine_seconds` divided by the
    sum of `seconds - sandbox_seconds`. None where nothing took any time. Start-up is in neither."""
    apart = sum(row.seconds - row.sandbox_seconds for row in rows)
    return sum(row.engine_seconds for row in rows) / apart if apart > 0 else None


def mean_score(rows: Sequence[Row]) -> float | None:
    """The mean of passed / checks over the tasks that have checks; None where none has."""
    scores = [row.passed / row.checks for row in rows if row.passed is not None and row.checks]
    return sum(scores) / len(scores) if scores else None
