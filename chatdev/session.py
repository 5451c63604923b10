"""Acceptance runs as a terminal session, read and written.

A line beginning with `$ ` is a run, the lines under it are what must be seen:

    $ python main.py notes.txt add "two words"
    $ python main.py notes.txt count
    words: 2
    $ printf 'add 2 3\\nquit\\n' | python main.py
    5
    $ python main.py notes.txt fly
    error

Where the program reads its commands from standard input, `$ add 2 3` types one of them. Lines are taken apart
with `shlex`; no shell ever sees them.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from camel.messages import Token
from chatdev.acceptance import LONGEST_LINE, AcceptanceRun
from chatdev.command_line import LEAVING
from chatdev.workspace import normal_path, refusal

MOST_RUNS = 14
_SURE_P = 0.8
# In a code block some leave the prompt out.
_COMMAND = {
    False: re.compile(r"\s*\$\s"),
    True: re.compile(r"\s*(?:\$\s|(?=python3? main\.py\b))"),
}
_FENCE = re.compile(r"^\s*(```|~~~)")
_FILE = re.compile(r"[\w./-]*\w\.[A-Za-z]\w{0,4}")
_LINE_LOOKS_LIKE = re.compile(r"\b(?:lines|entries) look like `([^`\n]+)`", re.IGNORECASE)
# "`rates.json` in the current directory looks like {...}", up to the next file
_LOOKS_LIKE = re.compile(r"`([\w./-]+\.json)`[^`.]*? looks? like `?([\[{][^\n]*)")
_NEWLINE = "\\n"  # as printf is told
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}
# What only printf itself could work out.
_FORMATTED = re.compile(r"%|\\[^nt\\]")
_NOT_PRINTED = re.compile(r"\.\.\.$|…$|<INFO>|# ")
_SHELL_WORDS = frozenset(["&&", "||", ";", "&", ">", ">>", "<<", "<<<", ">&"])


def parse_session(
    text: str, tokens: Sequence[Token] = (), typed: Collection[str] = ()
) -> tuple[AcceptanceRun, ...]:
    """The runs of a session, at most 14, each once; lines that are no run of `main.py` are left out.

    With the `tokens` of `text`, what must be seen is held against a program only where its writer was sure
    of it: an expected line with a token of p < 0.8 is left out. Lines that begin with one of the words in
    `typed` are typed into the program: each of them that must show something is a run, with those before it. In
    a code block they need no `$`: who forgot it did not mean that the program prints them.
    """
    runs: dict[str, AcceptanceRun] = {}
    files: dict[str, str] = {}
    made_before: dict[str, str] = {}
    dialogue: list[str] = []
    for line, expected in _commands(text, _unsure_lines(text, tokens), typed):
        if len(line) > LONGEST_LINE or "\0" in line:
            continue
        if line.split()[:1] and line.split()[0] in typed:
            dialogue.append(line)
            line = f"printf {shlex.quote(''.join(f'{said}{_NEWLINE}' for said in dialogue))} | python main.py"
            if not expected:
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


def on_files_there_are(runs: Iterable[AcceptanceRun], task: str) -> tuple[AcceptanceRun, ...]:
    """`runs` of a program for which a missing file is an error, where they name a file that nobody made.

    Where the task shows what a line of such a file looks like, it is made of that line, and nothing is expected
    but that the run ends well; otherwise the run must end with an error.
    """
    sample = _LINE_LOOKS_LIKE.search(task)
    made: set[str] = set()
    checked = []
    for run in runs:
        made.update(run.files)
        named = [normal_path(word) for word in run.arguments if _FILE.fullmatch(word)]
        if named and named[0] not in made and not run.expects_error:
            if sample and _may_be_made(named[0]):
                kept = run.expected if run.shapes else ()
                run = replace(run, files={**run.files, named[0]: sample[1] + "\n"}, expected=kept)
                made.add(named[0])
            else:
                run = replace(run, expected=("error",), shapes=(), stdin="")
        made.update(named[1:])  # the program may have written these
        checked.append(run)
    return tuple(checked)


def with_files_of_the_task(runs: Sequence[AcceptanceRun], task: str) -> tuple[AcceptanceRun, ...]:
    """`runs`, before the first of which those files lie in the folder that the task says look like some JSON."""
    given: dict[str, str] = {}
    for name, after in _LOOKS_LIKE.findall(task):
        with suppress(ValueError, RecursionError):
            _, end = json.JSONDecoder().raw_decode(after)
            given[normal_path(name)] = after[:end] + "\n"
    usable = {name: text for name, text in given.items() if _may_be_made(name)}
    return (*(replace(run, files={**usable, **run.files}) for run in runs[:1]), *runs[1:])


def shown(runs: Iterable[AcceptanceRun]) -> str:
    """The runs as a session again."""
    return "\n".join(line for run in runs for line in (f"$ {run.line}", *run.expected))


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


def _commands(text: str, unsure: Collection[int], typed: Collection[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    bare = {*typed, *LEAVING} if typed else set()
    command: str | None = None
    expected: list[str] = []
    fenced = False
    for number, line in enumerate(text.split("\n")):
        if _FENCE.match(line):
            fenced = not fenced
            if command is not None:
                yield command, tuple(expected)
            command, expected = None, []
        elif (begun := _COMMAND[fenced].match(line)) or (fenced and line.split()[:1] and line.split()[0] in bare):
            if command is not None:
                yield command, tuple(expected)
            command, expected = line[begun.end() if begun else 0 :].strip(), []
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


def _may_be_made(path: str) -> bool:
    """Whether a session may write a file there: within its folder, and not the program itself."""
    return not refusal(path) and path != "main.py"


def _file_made(stages: list[list[str]]) -> tuple[str, str] | None:
    words = stages[0]
    if len(stages) == 1 and ">" in words and words.index(">") == len(words) - 2:
        text, path = _printed(words[:-2]), normal_path(words[-1])
        return (path, text) if text is not None and _may_be_made(path) else None
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
