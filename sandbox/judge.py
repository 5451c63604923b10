"""Does this program run? The honest answer, from its exit status, its words and its syntax."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.confinement import Unavailable
from sandbox.execution import DEFAULT_LIMITS, Execution, Limits, available, run
from sandbox.scratch import IGNORED, scratch_copy

Status = Literal["runs", "fails", "not_verifiable"]

_TRACEBACK = "Traceback (most recent call last)"
_NO_DISPLAY = re.compile(
    r"no display name and no \$DISPLAY|could(n't| not) connect to display|cannot open display"
    r"|can't connect to display|no available video device|KeyError: 'DISPLAY'",
    re.IGNORECASE,
)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_NO_NUMBER = re.compile(r"ValueError: (invalid literal for int|could not convert string to float)")
_NO_INPUT = re.compile(r"^EOFError$|EOF when reading a line")
_USAGE = re.compile(r"\busage\b", re.IGNORECASE)
_EMPTY_LINES = "\n" * 200
_ONES = "1\n" * 200

# Done in the sandbox too: a hostile source can exhaust the compiler.
_COMPILE_ALL = """
import pathlib, sys, traceback
for path in sorted(pathlib.Path(".").rglob("*.py")):
    if path.is_file():
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except Exception as error:
            print(f"{path} does not compile: {type(error).__name__}: {error}")
            traceback.print_exc(limit=0)
            sys.exit(1)
"""


@dataclass(frozen=True)
class Verdict:
    """Whether a program runs, why that is said in one sentence, and the execution it was read from.

    `not_verifiable` means that this machine cannot tell; `execution` is None where nothing was executed.
    """

    status: Status
    reason: str
    execution: Execution | None = None


def run_program(
    directory: Path,
    entry: str = "main.py",
    arguments: Sequence[str] = (),
    limits: Limits = DEFAULT_LIMITS,
    *,
    isolated: bool = True,
    ignore: Sequence[str] = IGNORED,
    compiles: bool = True,
) -> Verdict:
    """Judge the Python program `entry` of the product in `directory`, always run in a scratch copy.

    `ignore` is left out of the copy, as `scratch_copy` understands it. With `compiles`, a Python file that
    does not compile is a failure, whether it is used or not.

    Its input is closed and, should the program ask, empty lines are typed (ones where it insists on a number).
    A program alive at the deadline runs, unless it printed
    a traceback: it is a loop, a server or a window. So does one that asks for the arguments it was not
    given, or for more input. May take several runs, each within `limits`.
    """
    if not (directory / entry).is_file():
        return Verdict("fails", f"There is no {entry} to start.")
    if isolated and (missing := available()):
        return Verdict("not_verifiable", missing.reason)
    if compiles:
        with scratch_copy(directory, ignore) as copy:
            compiled = run(copy, ["python", "-c", _COMPILE_ALL], limits, isolated=isolated)
        if isinstance(compiled, Unavailable):
            return Verdict("not_verifiable", compiled.reason)
        if compiled.exit_code != 0:
            return Verdict("fails", compiled.stdout.strip() or "Compiling its files took too much.", compiled)
    execution = _converse(directory, ["python", entry, *arguments], limits, isolated, ignore)
    if isinstance(execution, Unavailable):
        return Verdict("not_verifiable", execution.reason)
    status, reason = _judge(execution, directory, asked_for_nothing=not arguments)
    return Verdict(status, reason, execution)


def _converse(
    directory: Path, command: list[str], limits: Limits, isolated: bool, ignore: Sequence[str]
) -> Execution | Unavailable:
    """Run again with what the program turned out to need, a display or input; the last run counts."""
    typed, display = "", False
    while True:
        with scratch_copy(directory, ignore) as copy:
            execution = run(copy, command, limits, stdin=typed, isolated=isolated, display=display)
        if isinstance(execution, Unavailable):
            return execution
        if not display and shutil.which("Xvfb") and _lacks_display(execution):
            display = True
        elif not typed and _wants_input(execution):
            typed = _EMPTY_LINES
        elif typed is _EMPTY_LINES and execution.exit_code and _NO_NUMBER.search(_last_line(execution.stderr)):
            typed = _ONES
        else:
            return execution


def _judge(execution: Execution, directory: Path, asked_for_nothing: bool) -> tuple[Status, str]:
    last = _last_line(execution.stderr) or _last_line(execution.stdout)
    crashed = _TRACEBACK in execution.stderr
    if execution.timed_out and crashed:
        return "fails", f"It was still running at the deadline, but had printed a traceback: {last}"
    if execution.timed_out:
        return "runs", "It was still running at the deadline and had printed no error."
    if execution.exit_code == 0:
        return "runs", "It ended with exit code 0."
    if _wants_input(execution):
        return "runs", "It waits for more input."
    if _lacks_display(execution):
        return "not_verifiable", f"It shows a window, and there is no display here: {last}"
    if missing := _NO_MODULE.search(_last_line(execution.stderr)):
        return _judge_missing_module(missing[1].partition(".")[0], directory)
    if execution.signal is not None:
        return "fails", f"It was killed by signal {execution.signal} ({signal.strsignal(execution.signal)})."
    usage = _USAGE.search(execution.stdout + execution.stderr)
    if asked_for_nothing and execution.exit_code in (1, 2) and usage and not crashed:
        return "runs", "It asks for the arguments it was not given."
    return "fails", f"It ended with exit code {execution.exit_code}: {last or 'it said nothing'}"


def _judge_missing_module(module: str, directory: Path) -> tuple[Status, str]:
    if module in ("tkinter", "_tkinter"):
        return "not_verifiable", "It shows a window with tkinter, which this Python lacks."
    if (directory / module).is_dir() or any(directory.rglob(f"{module}.py")):
        return "fails", f"It cannot import its own module {module} from where it stands."
    return "fails", f"It needs the module {module}, which is not installed."


def _wants_input(execution: Execution) -> bool:
    streams = (execution.stderr, execution.stdout)
    return bool(execution.exit_code) and any(_NO_INPUT.search(_last_line(stream)) for stream in streams)


def _lacks_display(execution: Execution) -> bool:
    return execution.exit_code != 0 and bool(_NO_DISPLAY.search(execution.stderr + execution.stdout))


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2].strip()
