"""Probes: runs made from the notation of the task, which must show lines of the shapes that the task itself shows.

Probes ask no model: they cost no token, and nobody has invented what must be seen. What they are given is guessed,
so one that fails proves nothing by itself; of two programs the one that shows more of the shapes is the likelier.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from chatdev.acceptance import AcceptanceRun
from chatdev.command_line import LEAVING, Argument, Command, read_command_line
from chatdev.session import on_files_there_are, with_files_of_the_task
from chatdev.shapes import shapes

MOST_PROBES = 8
# Of dates and times, how they are written is shown as often as one of them.
_PLACEHOLDER = re.compile(r"([A-Z])\1")
# Written as no program would that pads decimals: who prints it as it came in is found out.
_WORDS, _NUMBERS, _DECIMALS = ("alpha", "beta"), ("2", "3"), ("0.5", "12.5")
_BY_NAME: Mapping[str, tuple[str, str]] = {
    r"DATE$|DAY$": ("2024-03-05", "2024-03-06"),
    r"(?<![A-Z])TIME$": ("09:30", "10:45"),
    r"E?MAIL$": ("alpha@example.org", "beta@example.org"),
    r"FILE$|^IN$": ("alpha.txt", "beta.txt"),
    r"PHONE$": ("5550100", "5550101"),
    r"PRICE$|RATE$|AMOUNT$|COST$": _DECIMALS,
    r"NUMBER$|QUANTITY$|LIMIT$|POSITION$|INDEX$|LIVES$": _NUMBERS,
    # A MESSAGE is no age.
    r"(?<![A-Z])(?:N|COUNT|ID|AGE|SIZE|BASE|FROM|TO)$": _NUMBERS,
}


@cache
def probes(task: str) -> tuple[AcceptanceRun, ...]:
    """The probes for a program with a command line, in the order of one session; at most eight.

    A first command that shows nothing is called before the others, twice: what it puts in, they show.
    """
    line = read_command_line(task)
    found = shapes(task, line) if line else ()
    if line is None or not found:
        return ()
    showing = list(dict.fromkeys(shape.command for shape in found))
    first = [command for command in line.commands if command.word not in LEAVING][:1]
    filling = [_call(task, command, turn) for command in first if command not in showing for turn in (0, 1)]
    leading = [_value(task, argument, 0) for argument in line.leading] if line.commands else []
    runs = [] if line.from_lines else [_called([*leading, *call]) for call in filling]
    for command in showing:
        call = _call(task, command, 0)
        run = _typed([*filling, call]) if line.from_lines else _called([*leading, *call])
        shown = [shape for shape in found if shape.command == command]
        texts, patterns = (tuple(getattr(shape, name) for shape in shown) for name in ("text", "pattern"))
        runs.append(replace(run, expected=texts, shapes=patterns))
    made = with_files_of_the_task(runs[:MOST_PROBES], task)
    made = on_files_there_are(made, task) if line.needs_file else made
    return made if any(run.shapes for run in made) else ()


def _call(task: str, command: Command, turn: int) -> list[str]:
    word = [] if command.is_all else [command.word]
    return word + [_value(task, argument, turn) for argument in command.arguments if not argument.literal]


def _value(task: str, argument: Argument, turn: int) -> str:
    shown = re.search(
        rf"\b{re.escape(argument.name)}s?\b (?:is|are|looks?)\b[^.`]{{0,40}}\blike `([^`\s]+)`",
        task,
        re.IGNORECASE,
    )
    if shown and not _PLACEHOLDER.search(shown[1]):
        return shown[1]
    values = (pair for pattern, pair in _BY_NAME.items() if re.search(pattern, argument.name))
    return next(values, _WORDS)[turn]


def _typed(calls: Sequence[Sequence[str]]) -> AcceptanceRun:
    lines = [" ".join(call) for call in calls]
    return AcceptanceRun(f"python main.py, then: {', '.join(lines)}", (), "".join(f"{said}\n" for said in lines))


def _called(arguments: Sequence[str]) -> AcceptanceRun:
    return AcceptanceRun(shlex.join(["python", "main.py", *arguments]), tuple(arguments))
