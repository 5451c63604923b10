"""What one finished product cost and what it is worth: its journal read, its program run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sandbox
from chatdev.workspace import Workspace, texts_below
from evaluation.behaviour import Task, run_task
from evaluation.cost import Cost, cost
from evaluation.srdd.strict import ended_well, is_complete


@dataclass(frozen=True, kw_only=True)
class Row(Cost):
    """What one task in one arm (`chain` or `single`) cost, and what came of it.

    `runs` is the sandbox's word: `runs`, `fails` or `not_verifiable`; `complete` means that no file is
    broken and nothing is left unimplemented. `load_seconds` is what went before the run's first event, mostly
    loading the engine, or None for a run of an earlier session. `passed` of `checks` is None where the task has
    no checks.
    """

    task: str
    arm: str
    exit_code: int
    runs: str
    complete: bool
    files: int
    load_seconds: float | None
    passed: int | None
    checks: int | None
    folder: str


def measure(
    task: str,
    arm: str,
    folder: Path,
    exit_code: int,
    load_seconds: float | None,
    *,
    checks: Task | None,
    isolated: bool,
) -> Row:
    """The row of the product in `folder`. Raises JournalError where it holds no journal."""
    workspace = Workspace(folder)
    workspace.adopt(texts_below(folder))
    files = workspace.files()
    checked = run_task(checks, folder, isolated=isolated) if checks else None
    runs = sandbox.run_program(folder, isolated=isolated).status
    if checks and checked and ended_well(checks, checked):
        runs = "runs"  # without its arguments a good program may well end with an error
    return Row(
        **asdict(cost(folder)),
        task=task,
        arm=arm,
        exit_code=exit_code,
        runs=runs,
        complete=is_complete(files),
        files=len(files),
        load_seconds=load_seconds,
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
