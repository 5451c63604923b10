"""Acceptance runs: how the finished program is used, written down from the task before there is a program.

They are a terminal session. A line beginning with `$ ` is a run, the lines under it are what must be seen:

    $ python main.py notes.txt add "two words"
    $ python main.py notes.txt count
    words: 2
    $ printf 'add 2 3\\nquit\\n' | python main.py
    5
    $ python main.py notes.txt fly
    error

Lines are taken apart with `shlex`; no shell ever sees them. The runs of a session share one folder.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sandbox
from camel.messages import Token
from chatdev.workspace import normal_path, refusal

LIMITS = sandbox.Limits(wall_seconds=5, cpu_seconds=5)
MOST_RUNS = 14
_SURE_P = 0.8
_FENCE = re.compile(r"^\s*(```|~~~)")
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}
# What only printf itself could work out.
_FORMATTED = re.compile(r"%|\\[^nt\\]")
# `ERROR: 3` is a count that a program prints.
_EXPECTED_ERROR = re.compile(r"^\W*(error|usage)\b(?!\W*\d+$)", re.IGNORECASE)
_NOT_PRINTED = re.compile(r"\.\.\.$|…$|<INFO>|# ")
TRACEBACK = "Traceback (most recent call last)"
_SHELL_WORDS = frozenset(["&&", "||", ";", "&", ">", ">>", "<<", "<<<", ">&"])
_LONGEST_LINE = 2000
_SHOWN_CHARACTERS = 300
_REFUSED = "\0refused"  # nothing that a program could print


@dataclass(frozen=True)
class AcceptanceRun:
    """One run: arguments after `python main.py`, standard input, files to write first, what must be seen."""

    line: str
    arguments: tuple[str, ...]
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict)
    expected: tuple[str, ...] = ()

    @property
    def expects_error(self) -> bool:
        return bool(self.expected) and not self.stdin and bool(_EXPECTED_ERROR.match(self.expected[0]))


@dataclass(frozen=True)
class RunResult:
    """What a run did. `points` of 2: one for ending as it should, one for showing what must be seen.

    `fault` says what is wrong for certain (a traceback, waiting for input, a hang), `difference` what
    is not as it was written down; both are empty where all is well. `shown` is what can be compared with
    another program's run: the lines printed, or that it refused; None where there was a fault.
    """

    line: str
    points: int
    fault: str = ""
    difference: str = ""
    shown: str | None = None


def parse_session(text: str, tokens: Sequence[Token] = ()) -> tuple[AcceptanceRun, ...]:
    """The runs of a session, at most 14, each once; lines that are no run of `main.py` are left out.

    With the `tokens` of `text`, what must be seen is held against a program only where its writer was sure
    of it: an expected line with a token of p < 0.8 is left out.
    """
    runs: dict[str, AcceptanceRun] = {}
    files: dict[str, str] = {}
    made_before: dict[str, str] = {}
    for line, expected in _commands(text, _unsure_lines(text, tokens)):
        if len(line) > _LONGEST_LINE or "\0" in line:
            continue
        try:
            stages = _stages(line)
        except ValueError:
            continue
        made = _file_made(stages)
        if made:
            files.update([made])
        elif (run := _program_run(line, stages, expected, files, made_before)) and line not in runs:
            runs[line] = run
            made_before |= files
            files = {}
    return tuple(runs.values())[:MOST_RUNS]


def shown(runs: Iterable[AcceptanceRun]) -> str:
    """The runs as a session again."""
    return "\n".join(line for run in runs for line in (f"$ {run.line}", *run.expected))


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
    shown = _REFUSED if refused else "\n".join(map(_plain, stdout.strip().splitlines()))
    if run.expects_error:
        difference = "" if refused else f"must end with an error message and exit code 1, but: {seen}"
        return RunResult(run.line, 2 if refused else 0, difference=difference, shown=shown)
    if refused:
        return RunResult(run.line, 0, difference=f"must work, but: {seen}", shown=shown)
    missing = _missing(run.expected, stdout)
    if missing is None:
        return RunResult(run.line, 2, shown=shown)
    return RunResult(run.line, 1, difference=f"must print {missing!r}, but: {seen}", shown=shown)


def _unsure_lines(text: str, tokens: Sequence[Token]) -> set[int]:
    """Numbers of the lines of `text` that hold a token of p < 0.8, where the tokens begin with the text."""
    if not "".join(token.text for token in tokens).strip().startswith(text.strip()):
        return set()
    unsure, number = set(), 0
    for token in tokens:
        number += token.text[: len(token.text) - len(token.text.lstrip("\n"))].count("\n")
        if token.logprob < math.log(_SURE_P) and token.text.strip():
            unsure.add(number)
        number += token.text.lstrip("\n").count("\n")
    return unsure


def _commands(text: str, unsure: Collection[int] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    command: str | None = None
    expected: list[str] = []
    for number, line in enumerate(text.split("\n")):
        if _FENCE.match(line):
            if command is not None:
                yield command, tuple(expected)
            command, expected = None, []
        elif line.lstrip().startswith("$ "):
            if command is not None:
                yield command, tuple(expected)
            command, expected = line.lstrip()[2:].strip(), []
        elif line.strip() and number not in unsure and not _NOT_PRINTED.match(line.strip()):
            expected.append(line.strip())
    if command is not None:
        yield command, tuple(expected)


def _stages(line: str) -> list[list[str]]:
    """The words of `line`, cut at pipes; redirections stay words. Raises ValueError for open quotes."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>;&")
    lexer.whitespace_split = True
    lexer.commenters = ""  # `#ff8000` is a colour
    stages: list[list[str]] = [[]]
    for word in lexer:
        if word == "#":
            break
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages


def _printed(words: Sequence[str]) -> str | None:
    """What `printf TEXT` or `echo TEXT` prints, or None for another command and where printf computes it."""
    if len(words) < 2 or words[0] not in ("printf", "echo"):
        return None
    text = " ".join(word for word in words[1:] if word not in ("-e", "-n"))
    if words[0] == "printf" and _FORMATTED.search(text):
        return None
    text = re.sub(r"\\[nt\\]", lambda match: _ESCAPES[match[0]], text)
    return text + "\n" if words[0] == "echo" and "-n" not in words else text


def _file_made(stages: list[list[str]]) -> tuple[str, str] | None:
    words = stages[0]
    if len(stages) == 1 and ">" in words and words.index(">") == len(words) - 2:
        text, path = _printed(words[:-2]), normal_path(words[-1])
        return None if text is None or refusal(path) or path == "main.py" else (path, text)
    return None


def _program_run(
    line: str,
    stages: list[list[str]],
    expected: tuple[str, ...],
    files: dict[str, str],
    made_before: dict[str, str],
) -> AcceptanceRun | None:
    words = stages[-1]
    if words[:1] not in (["python"], ["python3"]) or words[1:2] != ["main.py"] or _SHELL_WORDS & set(words):
        return None
    stdin = _printed(stages[0]) if len(stages) == 2 else None
    if len(stages) > 2 or (len(stages) == 2 and stdin is None):
        return None
    arguments = words[2:]
    if "<" in arguments:
        at = arguments.index("<")
        stdin = (made_before | files).get(normal_path("".join(arguments[at + 1 : at + 2])))
        del arguments[at : at + 2]
        if stdin is None:
            return None
    return AcceptanceRun(line, tuple(arguments), stdin or "", dict(files), expected)


def _missing(expected: Sequence[str], stdout: str) -> str | None:
    """The first expected line that does not appear, in order, among the lines printed."""
    printed = iter([_plain(line) for line in stdout.splitlines()])
    for line in expected:
        if not any(_plain(line) == candidate for candidate in printed):
            return line
    return None


def _plain(line: str) -> str:
    return " ".join(line.split()).lower()


def _seen(stdout: str, stderr: str) -> str:
    text = (stdout.strip() + "\n" + stderr.strip()).strip()
    return repr(text[:_SHOWN_CHARACTERS]) if text else "prints nothing"
