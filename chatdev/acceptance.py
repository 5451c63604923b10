"""Acceptance runs: how the finished program is used, written down from the task before there is a program.

They are executed one after the other in one folder, and judged by what was written down.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import sandbox

LIMITS = sandbox.Limits(wall_seconds=5, cpu_seconds=5)
# `ERROR: 3` is a count that a program prints.
_EXPECTED_ERROR = re.compile(r"^\W*(error|usage)\b(?!\W*\d+$)", re.IGNORECASE)
TRACEBACK = "Traceback (most recent call last)"
LONGEST_LINE = 2000
_SHOWN_CHARACTERS = 300
REFUSED = "\0refused"  # nothing that a program could print


@dataclass(frozen=True)
class AcceptanceRun:
    """One run: arguments after `python main.py`, standard input, files to write first, what must be seen.

    With `shapes`, regular expressions for the lines in `expected`, any line of that shape will do.
    """

    line: str
    arguments: tuple[str, ...]
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict)
    expected: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()

    @property
    def expects_error(self) -> bool:
        return bool(self.expected) and not self.stdin and bool(_EXPECTED_ERROR.match(self.expected[0]))


@dataclass(frozen=True)
class RunResult:
    """What a run did. `points` of 2: one for ending as it should, one for showing what must be seen.

    `fault` says what is wrong for certain (a traceback, waiting for input, a hang), `difference` what
    is not as it was written down; both are empty where all is well. `shown` is what can be compared with
    another program's run: the lines printed, or that it refused; None where there was a fault. `nearness`, from 0
    to 1, is how much of what must be seen is seen, letter by letter.
    """

    line: str
    points: int
    fault: str = ""
    difference: str = ""
    shown: str | None = None
    nearness: float = 0.0


def execute_session(
    product: Path, runs: Sequence[AcceptanceRun], *, isolated: bool, ignore: Sequence[str] = sandbox.IGNORED
) -> list[dict[str, Any]]:
    """Run the session in a private copy of `product` without `ignore`; one JSON-able outcome a run, in order."""
    outcomes: list[dict[str, Any]] = []
    with sandbox.scratch_copy(product, ignore) as scratch:
        for run in runs:
            for name, content in run.files.items():
                # Where the program has put a folder or a link in its place, the file is not made.
                with suppress(OSError, RuntimeError):
                    target = (scratch / name).resolve()
                    if target.is_relative_to(scratch.resolve()):
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_text(content, encoding="utf-8", errors="replace")
            command = ["python", "main.py", *run.arguments]
            execution = sandbox.run(scratch, command, LIMITS, stdin=run.stdin, isolated=isolated)
            if isinstance(execution, sandbox.Unavailable):
                break
            outcomes.append(
                {
                    "exit_code": execution.exit_code,
                    "timed_out": execution.timed_out,
                    "stdout": execution.stdout,
                    "stderr": execution.stderr,
                }
            )
    return outcomes


def judge(run: AcceptanceRun, outcome: dict[str, Any]) -> RunResult:
    """Compare what a run did with what was written down."""
    stdout, stderr = str(outcome["stdout"]), str(outcome["stderr"])
    if outcome["timed_out"]:
        return RunResult(run.line, 0, fault="did not end")
    if TRACEBACK in stderr:
        last = stderr.strip().splitlines()[-1]
        waits = "EOFError" in last
        return RunResult(run.line, 0, fault="asks with input(), which nobody answers" if waits else stderr.strip())
    seen, refused = _seen(stdout, stderr), outcome["exit_code"] != 0
    shown = REFUSED if refused else "\n".join(map(_plain, stdout.strip().splitlines()))
    if run.expects_error:
        difference = "" if refused else f"must end with an error message and exit code 1, but: {seen}"
        return RunResult(run.line, 2 * refused, difference=difference, shown=shown, nearness=float(refused))
    if refused:
        return RunResult(run.line, 0, difference=f"must work, but: {seen}", shown=shown)
    if run.shapes:
        lacking = _not_of_shape(run, stdout)
        like, nearness = "a line like ", 1 - len(lacking) / len(run.shapes)
    else:
        lacking = _missing(run.expected, stdout)
        like, nearness = "", _nearness(run.expected, stdout) if lacking else 1.0
    difference = f"must print {like}{lacking[0]!r}, but: {seen}" if lacking else ""
    return RunResult(run.line, 1 if lacking else 2, difference=difference, shown=shown, nearness=nearness)


def _missing(expected: Sequence[str], stdout: str) -> list[str]:
    """The first expected line that does not appear, in order, among the lines printed; none where all do."""
    printed = iter([_plain(line) for line in stdout.splitlines()])
    return [line for line in expected if not any(_plain(line) == candidate for candidate in printed)][:1]


def _not_of_shape(run: AcceptanceRun, stdout: str) -> list[str]:
    """Those of the expected lines to whose shape no line printed conforms; one that is endless never does."""
    printed = [" ".join(line.split()) for line in stdout.splitlines() if len(line) <= LONGEST_LINE]
    pairs = zip(run.expected, run.shapes, strict=True)
    return [line for line, shape in pairs if not any(re.fullmatch(shape, one, re.IGNORECASE) for one in printed)]


def _nearness(expected: Sequence[str], stdout: str) -> float:
    wanted, printed = "\n".join(map(_plain, expected)), "\n".join(map(_plain, stdout.strip().splitlines()))
    return round(SequenceMatcher(None, wanted, printed[: 2 * LONGEST_LINE], autojunk=False).ratio(), 4)


def _plain(line: str) -> str:
    return " ".join(line.split()).lower()


def _seen(stdout: str, stderr: str) -> str:
    text = (stdout.strip() + "\n" + stderr.strip()).strip()
    return repr(text[:_SHOWN_CHARACTERS]) if text else "prints nothing"
