"""Runs the checks of a task against a product, in the sandbox."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sandbox
from evaluation.behaviour.suite import Check, Step, Task
from sandbox.confinement import INSIDE_DIRECTORY

_OUTPUT_BYTES = 200_000
_SHOWN_CHARACTERS = 160
_TRACEBACK = "Traceback (most recent call last)"


class NotMeasurable(Exception):
    """The sandbox cannot start, so nothing can be said about a product; the message says why."""


@dataclass(frozen=True)
class CheckResult:
    """`why` says what was wrong in the first step that failed; None for a check that passed."""

    title: str
    why: str | None

    @property
    def passed(self) -> bool:
        return self.why is None


@dataclass(frozen=True)
class TaskResult:
    """The checks of one task, in the order of the suite."""

    name: str
    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def score(self) -> float:
        """Passed checks / checks, from 0 to 1."""
        return self.passed / len(self.results)

    @property
    def whole(self) -> bool:
        return self.passed == len(self.results)


def score(results: Sequence[TaskResult]) -> float:
    """The mean of the tasks' scores, from 0 to 1."""
    return sum(result.score for result in results) / len(results)


def run_task(task: Task, product: Path, *, isolated: bool = True) -> TaskResult:
    """Run the checks of `task` against `product`, which is never changed.

    A product without main.py passes none. Raises NotMeasurable where the sandbox cannot start, OSError
    where the product cannot be copied.
    """
    if not (product / "main.py").is_file():
        return TaskResult(task.name, tuple(CheckResult(check.title, "no main.py") for check in task.checks))
    results = (CheckResult(check.title, _run_check(check, product, isolated)) for check in task.checks)
    return TaskResult(task.name, tuple(results))


def _run_check(check: Check, product: Path, isolated: bool) -> str | None:
    """Why the check fails, or None."""
    with sandbox.scratch_copy(product) as copy:
        for number, step in enumerate(check.steps, 1):
            if why := _run_step(step, copy, isolated):
                return f"step {number}: {why}"
    return None


def _run_step(step: Step, copy: Path, isolated: bool) -> str | None:
    for path, text in step.files.items():
        if why := _write(copy, path, text):
            return f"cannot write {path}: {why}"
    execution = sandbox.run(
        copy,
        ["python", "main.py", *step.args],
        # Twice the bytes, for the sandbox keeps both ends of a stream; the wall clock ends a run first.
        sandbox.Limits(
            wall_seconds=step.timeout,
            cpu_seconds=math.ceil(step.timeout) + 1,
            output_bytes=2 * _OUTPUT_BYTES,
        ),
        stdin=step.stdin,
        # What a program keeps in its home must be there in the next step.
        environment={"HOME": INSIDE_DIRECTORY if isolated else str(copy)},
        isolated=isolated,
    )
    if isinstance(execution, sandbox.Unavailable):
        raise NotMeasurable(execution.reason)
    return _wrong_ending(step, execution) or _wrong_output(step, execution) or _wrong_file(step, copy)


def _write(copy: Path, path: str, text: str) -> str | None:
    target = _usable(copy, path)
    if target is None:
        return "the program put something else in its place"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except (FileExistsError, NotADirectoryError):
        return "the program made a file where its folder should be"
    return None


def _wrong_ending(step: Step, execution: sandbox.Execution) -> str | None:
    if execution.timed_out:
        return "did not end in time"
    code = execution.exit_code if execution.signal is None else -execution.signal
    if (code == 0) if step.exit == "nonzero" else (code != step.exit):
        return f"exit {code}, wanted {step.exit}: {_last_line(execution.stderr)}"
    return None


def _wrong_output(step: Step, execution: sandbox.Execution) -> str | None:
    stdout, stderr = _beginning(execution.stdout), _beginning(execution.stderr)
    shown = repr(stdout[:_SHOWN_CHARACTERS])
    for pattern in step.stdout:
        if not pattern.search(stdout):
            return f"stdout lacks /{pattern.pattern}/: {shown}"
    for pattern in step.not_stdout:
        if pattern.search(stdout):
            return f"stdout has /{pattern.pattern}/: {shown}"
    if step.either and not step.either.search(f"{stdout}\n{stderr}"):
        return f"neither stream has /{step.either.pattern}/: {shown}, {_last_line(stderr)!r}"
    if _TRACEBACK in stderr:
        return f"traceback: {_last_line(stderr)}"
    return None


def _wrong_file(step: Step, copy: Path) -> str | None:
    for path, pattern in step.file.items():
        target = _usable(copy, path)
        if target is None or not target.exists():
            return f"no file {path}"
        if not pattern.search(target.read_text(encoding="utf-8", errors="replace")):
            return f"file {path} lacks /{pattern.pattern}/"
    return None


def _usable(copy: Path, path: str) -> Path | None:
    """Where `path` really is: a regular file of the copy or a free place in it, else None.

    A program may have left a link to a file of the host there, or a pipe that would be waited on for ever.
    """
    target = Path(os.path.realpath(copy / path))
    inside = target.is_relative_to(os.path.realpath(copy))
    return target if inside and (target.is_file() or not os.path.lexists(target)) else None


def _beginning(text: str) -> str:
    return text.encode()[:_OUTPUT_BYTES].decode(errors="replace")


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][:_SHOWN_CHARACTERS]
