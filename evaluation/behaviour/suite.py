"""Reading a suite of behaviour checks.

A suite is a JSON list of tasks, each an object with `name`, `task` (what the company is asked for) and
`checks`; a check has a `title` and `steps`; a step is one run of `python main.py` and may have

    args         list of arguments
    stdin        the text of standard input (default: empty)
    files        object path -> text, written before the run
    timeout      seconds the run may take (default: 10)
    exit         the exit code it must end with, or "nonzero" (default: 0)
    stdout       list of regular expressions that must be found in standard output
    not_stdout   list of regular expressions that must not be found there
    either       a regular expression that must be found in one of the two streams
    file         object path -> regular expression that must be found in that file afterwards

Expressions are multi-line and ignore case. Paths are relative to the product.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

SHIPPED = Path(__file__).with_name("suite.json")

T = TypeVar("T")


class SuiteError(Exception):
    """A suite that cannot be used; the message names the file, the key and what is wrong there."""


@dataclass(frozen=True)
class Step:
    """One run of the program and what must come of it; the fields are the keys of the file."""

    args: tuple[str, ...] = ()
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict)
    timeout: float = 10
    exit: int | Literal["nonzero"] = 0
    stdout: tuple[re.Pattern[str], ...] = ()
    not_stdout: tuple[re.Pattern[str], ...] = ()
    either: re.Pattern[str] | None = None
    file: dict[str, re.Pattern[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """Steps that share one copy of the product; passed when each of them is."""

    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Task:
    """What is asked for, and how it is checked."""

    name: str
    task: str
    checks: tuple[Check, ...]


def load_suite(path: Path = SHIPPED) -> tuple[Task, ...]:
    """The tasks of the suite in `path`, in its order. Raises SuiteError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SuiteError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise SuiteError(f"{path}: is not JSON ({error})") from error
    tasks: dict[str, Task] = {}
    for node in _Node(value, f"{path}: ").some():
        task = _task(node)
        if task.name in tasks:
            raise node.wrong(f"a second task is called {task.name!r}")
        tasks[task.name] = task
    return tuple(tasks.values())


@dataclass(frozen=True)
class _Node:
    """A value of the file and its place: the file's path, then the keys that lead to the value."""

    value: Any
    place: str

    def wrong(self, what: str) -> SuiteError:
        return SuiteError(f"{self.place.rstrip(': ')}: {what}")

    def of(self, kind: type[T] | tuple[type[T], ...], name: str) -> T:
        # JSON's true and false are numbers to Python.
        if not isinstance(self.value, kind) or isinstance(self.value, bool):
            raise self.wrong(f"must be {name}")
        return self.value

    def text(self) -> str:
        return self.of(str, "a text")

    def items(self) -> list[_Node]:
        return [_Node(item, f"{self.place}[{i}]") for i, item in enumerate(self.of(list, "a list"))]

    def some(self) -> list[_Node]:
        """Items that must not be none: where nothing is checked, everything would count as passed."""
        if found := self.items():
            return found
        raise self.wrong("must not be empty")

    def members(self) -> dict[str, _Node]:
        return {key: _Node(item, f"{self.place}.{key}") for key, item in self.of(dict, "an object").items()}

    def keys(self, known: Collection[str], required: Collection[str] = ()) -> dict[str, _Node]:
        members = self.members()
        for key, member in members.items():
            if key not in known:
                raise member.wrong(f"is not a known key; known are {', '.join(known)}")
        for key in required:
            if key not in members:
                raise self.wrong(f"lacks {key!r}")
        return members

    def pattern(self) -> re.Pattern[str]:
        try:
            return re.compile(self.text(), re.MULTILINE | re.IGNORECASE)
        except re.error as error:
            raise self.wrong(f"is no regular expression ({error})") from error

    def paths(self) -> dict[str, _Node]:
        members = self.members()
        for path, member in members.items():
            if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                raise member.wrong("must be named by a path inside the product")
        return members


def _task(node: _Node) -> Task:
    required = ("name", "task", "checks")
    members = node.keys(required, required)
    checks = tuple(_check(check) for check in members["checks"].some())
    return Task(members["name"].text(), members["task"].text(), checks)


def _check(node: _Node) -> Check:
    required = ("title", "steps")
    members = node.keys(required, required)
    return Check(members["title"].text(), tuple(_step(step) for step in members["steps"].some()))


def _seconds(node: _Node) -> float:
    seconds: float = node.of((int, float), "a number of seconds")
    if seconds <= 0:
        raise node.wrong("must be above 0")
    return seconds


def _exit(node: _Node) -> int | str:
    return "nonzero" if node.value == "nonzero" else node.of(int, 'a number or "nonzero"')


def _patterns(node: _Node) -> tuple[re.Pattern[str], ...]:
    return tuple(item.pattern() for item in node.items())


_READERS: dict[str, Callable[[_Node], Any]] = {
    "args": lambda node: tuple(item.text() for item in node.items()),
    "stdin": _Node.text,
    "files": lambda node: {path: text.text() for path, text in node.paths().items()},
    "timeout": _seconds,
    "exit": _exit,
    "stdout": _patterns,
    "not_stdout": _patterns,
    "either": _Node.pattern,
    "file": lambda node: {path: pattern.pattern() for path, pattern in node.paths().items()},
}


def _step(node: _Node) -> Step:
    return Step(**{key: _READERS[key](member) for key, member in node.keys(_READERS).items()})
