"""The shapes of lines that a task shows of what a program prints.

    `show NAME` prints a line like `bolt: 40 at 0.25`

Whatever is shown, a line of it is a word, a colon, a whole number, `at` and a number with two decimals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from chatdev.command_line import SNIPPET, Command, CommandLine, sentences, without_program

_PRINTS = re.compile(r"\b(?:print|show|output|display)(?:s|ing)?\b", re.IGNORECASE)
# A date, a decimal number, a whole number, dots for more, a word, space, and anything else.
_PART = re.compile(r"\d{4}-\d\d-\d\d|\d+\.\d+|\d+|\.\.\.|(?:[^\W\d]|_)+|\s+|.")
_SOMETHING = re.compile(r"\d|[A-Z]{2}|\bN\b|:")
_OR = re.compile(r"\s*,?\s*or\s*")
# Pieces of a regular expression that may be long, and those of them that may hold anything.
_WORD, _WILD = r"[\w-]+", (".+", ".*")
_NUMBER = r"\d+(?!\d)"


@dataclass(frozen=True)
class Shape:
    """What the task shows of what `command` prints, and the regular expression of such lines."""

    command: Command
    text: str
    pattern: str


def shapes(task: str, line: CommandLine) -> tuple[Shape, ...]:
    """The shapes of what the commands of `line` print, as far as `task` shows them; each once a command."""
    whole = Command("", line.leading, "", is_all=True)
    words = {command.word: command for command in line.commands}
    command = None if words else whole
    prose = set(re.findall(r"[a-z]+", SNIPPET.sub(" ", task).lower())) | words.keys()
    names = {argument.name for one in (*line.commands, whole) for argument in one.arguments}
    found: dict[tuple[str, str], Shape] = {}
    for sentence in sentences(task):
        since = ended = 0
        before: Shape | None = None
        for snippet in SNIPPET.finditer(sentence):
            text = without_program(snippet[1].strip())
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
