"""Probes: runs made from the notation of the task, for which the task itself shows what a line printed looks like.

    `show NAME` prints a line like `bolt: 40 at 0.25`

Whatever is shown, a line of it has that shape, two decimals included. Probes ask no model: they cost no token, and
nobody has invented what must be seen. What they are given is guessed, so one that fails proves nothing by itself;
of two programs the one that shows more of the shapes is the likelier one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from chatdev.acceptance import AcceptanceRun, on_files_there_are, with_files_of_the_task
from chatdev.command_line import LEAVING, SNIPPET, Argument, Command, CommandLine, read_command_line, sentences

MOST_PROBES = 8
_PRINTS = re.compile(r"\b(?:print|show|output|display)(?:s|ing)?\b", re.IGNORECASE)
# A date, a decimal number, a whole number, dots for more, a word, space, and anything else.
_PART = re.compile(r"\d{4}-\d\d-\d\d|\d+\.\d+|\d+|\.\.\.|(?:[^\W\d]|_)+|\s+|.")
_SOMETHING = re.compile(r"\d|[A-Z]{2}|\bN\b|:")
_OR = re.compile(r"\s*,?\s*or\s*")
_CALL = re.compile(r"^(?:python3? )?main\.py\s*")
# Of dates and times, how they are written is shown as often as one of them.
_PLACEHOLDER = re.compile(r"([A-Z])\1")
# Pieces of a regular expression that may be long, and those of them that may hold anything.
_WORD, _WILD = r"[\w-]+", (".+", ".*")
_NUMBER = r"\d+(?!\d)"
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


@dataclass(frozen=True)
class Shape:
    """What the task shows of what `command` prints, and the regular expression of such lines."""

    command: Command
    text: str
    pattern: str


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


def shapes(task: str, line: CommandLine) -> tuple[Shape, ...]:
    """The shapes of what the commands of `line` print, as far as `task` shows them; each once a command."""
    words = {command.word: command for command in line.commands}
    command = None if words else Command("", line.leading, "", is_all=True)
    prose = set(re.findall(r"[a-z]+", SNIPPET.sub(" ", task).lower())) | words.keys()
    names = {
        argument.name for one in (*line.commands, Command("", line.leading, "")) for argument in one.arguments
    }
    found: dict[tuple[str, str], Shape] = {}
    for sentence in sentences(task):
        since = ended = 0
        before: Shape | None = None
        for snippet in SNIPPET.finditer(sentence):
            text = _CALL.sub("", snippet[1].strip())
            called = words.get(next(iter(text.split()), ""))
            if called:
                command, since, before = called, snippet.end(), None
            elif command and _PRINTS.search(sentence[since : snippet.start()]):
                pattern = _pattern(text, prose, names)
                if before and _OR.fullmatch(sentence[ended : snippet.start()]):
                    found.pop((command.word, before.pattern), None)
                    pattern = before.pattern if pattern == before.pattern else f"{before.pattern}|{pattern}"
                    text = before.text if _SOMETHING.search(before.text) else text
                before = Shape(command, text, pattern)
                if _SOMETHING.search(text):
                    found.setdefault((command.word, pattern), before)
            ended = snippet.end()
    return tuple(found.values())


def _pattern(text: str, prose: set[str], names: set[str]) -> str:
    """The regular expression of lines like `text`: numbers and names may differ, words of the prose may not.

    All that may be long, but for the last that may hold anything, ends at the first of what comes after it: there
    is one way to try a line, and none takes long.
    """
    parts = list(_PART.findall(text))
    pieces: list[str] = []
    for place, part in enumerate(parts):
        before, after = "".join(parts[:place])[-1:], "".join(parts[place + 1 :])[:1]
        piece = _part_pattern(part, prose, names, labels=after == ":", unit=before.isdecimal())
        if pieces and {piece, pieces[-1]} <= {_WORD, *_WILD}:
            pieces[-1] = ".+"
        else:
            pieces.append(piece)
    pieces += [".*"] * text.endswith(":")
    last = max((place for place, piece in enumerate(pieces) if piece in _WILD), default=-1)
    ended = [_ended(*pair) for pair in pairwise([*pieces, ""])]
    return "".join(pieces[place] if place == last else piece for place, piece in enumerate(ended))


def _ended(piece: str, following: str) -> str:
    """`piece`, where it may be long without the first character of `following`."""
    stop = following[:2] if following.startswith("\\") else following[:1]
    if piece not in (_WORD, *_WILD) or not stop:
        return piece
    return f"(?:(?!{stop}){piece[:-1]}){piece[-1]}"


def _part_pattern(part: str, prose: set[str], names: set[str], labels: bool, unit: bool) -> str:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", part):
        return r"\d{4}-\d\d-\d\d"
    if re.fullmatch(r"\d+\.\d+", part):
        return rf"\d+\.\d{{{len(part.partition('.')[2])}}}(?!\d)"
    if part.isdecimal():
        return rf"\d{{{len(part)},}}(?!\d)" if part.startswith("0") and len(part) > 1 else _NUMBER
    if part.isspace():
        return r"\s+"
    if part == "...":
        return ".*"
    if not re.fullmatch(r"\w+", part):
        return re.escape(part)
    if part == "N":
        return _NUMBER
    if part in names:
        return ".+"
    known = part.lower() in prose if part.islower() else labels
    return re.escape(part) if known or unit else _WORD


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
