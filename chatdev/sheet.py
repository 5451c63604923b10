"""A company file as a sheet of typed look-ups that note what is wrong, with file, line and key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from chatdev.positions import Document, join

T = TypeVar("T", str, int, list[Any], dict[str, Any])
_KINDS = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_FLAG_WORDS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, order=True)
class Problem:
    """What is wrong where. Line 0 stands for the file or folder as a whole, an empty key for no key."""

    file: Path
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else f"{self.file}"
        return ": ".join(part for part in (place, self.key, self.message) if part)


@dataclass
class Sheet:
    """One company file being read; `problems` and `warnings` are shared by the files of a company.

    A look-up takes the object it looks in, the path of that object and the name of the key. What is
    wrong is noted and a stand-in returned, so that all that is wrong is found in one reading.
    """

    path: Path
    problems: list[Problem]
    warnings: list[Problem]
    document: Document = field(default_factory=lambda: Document({}, {}, ()))
    table: dict[str, Any] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)

    def hold(self, document: Document) -> None:
        self.document = document
        self.table = self.typed(document.value, "", {})
        for key in document.repeated:
            self.warn(key, "stands twice; the last one counts")

    def wrong(self, key: str, message: str) -> None:
        """Note a problem, unless it only follows from one already noted for this key or one around it."""
        if not any(key[: end.start()] in self.told for end in re.finditer(r"[.\[]|$", key)):
            self.told.add(key)
            self.problems.append(Problem(self.path, self.document.line(key), key, message))

    def warn(self, key: str, message: str) -> None:
        self.warnings.append(Problem(self.path, self.document.line(key), key, message))

    def warn_unknown(self, table: Mapping[str, Any], path: str, known: Sequence[str]) -> None:
        for name in table:
            message = f"unknown key {name!r}, ignored"
            if name not in known and not any(warning.message == message for warning in self.warnings):
                self.warn(join(path, name), message)

    def typed(self, value: Any, key: str, default: T) -> T:
        """`value` if it has exactly the type of `default`: true and false are no whole numbers."""
        if type(value) is type(default):
            return value
        self.wrong(key, f"must be {_KINDS[type(default)]}, not {_KINDS[type(value)]}")
        return default

    def get(self, table: Mapping[str, Any], path: str, name: str, default: T) -> T:
        return self.typed(table.get(name, default), join(path, name), default)

    def require(self, table: Mapping[str, Any], path: str, name: str, default: T) -> T:
        if name not in table:
            self.wrong(join(path, name), "is missing")
        elif table[name] in ("", []):
            self.wrong(join(path, name), "is empty")
        return self.get(table, path, name, default)

    def flag(self, table: Mapping[str, Any], path: str, name: str, default: bool) -> bool:
        value = table.get(name, default)
        word = str(value).strip().lower()
        if isinstance(value, str | int) and word in _FLAG_WORDS:
            return _FLAG_WORDS[word]
        self.wrong(join(path, name), "must be true or false, as such or as a string, or 1 or 0")
        return default

    def strings(self, values: Sequence[Any], key: str) -> tuple[str, ...]:
        return tuple(self.typed(value, f"{key}[{index}]", "") for index, value in enumerate(values))

    def prompt(self, values: Sequence[Any], key: str) -> tuple[str, ...]:
        lines = self.strings(values, key)
        for index, line in enumerate(lines):
            if "{}" in line:
                self.warn(f"{key}[{index}]", "{} names nothing to fill in and is sent as it stands")
        return lines
