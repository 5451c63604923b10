"""JSON that remembers on which line each of its keys stands.

Company files are written by hand, so what is wrong with one is told by line and key. A key is written
as its path from the top: `chain[3].Composition[0].max_turn_step`; the document itself is the empty path.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")


def _whole_number(digits: str) -> float:
    # Python refuses to read very long integers; as infinity they meet the check for numbers too large.
    return int(digits) if len(digits) < 300 else math.inf


_DECODER = json.JSONDecoder(parse_int=_whole_number)


class Malformed(ValueError):
    """A text that is not JSON in UTF-8: what is wrong, on which line, and the last key seen before it."""

    def __init__(self, message: str, line: int, key: str) -> None:
        super().__init__(message)
        self.line = line
        self.key = key


@dataclass(frozen=True)
class Document:
    """A JSON value, the line (from 1) of every key and list item in it, and the keys that stand twice."""

    value: Any
    lines: Mapping[str, int]
    repeated: tuple[str, ...]

    def line(self, key: str) -> int:
        """The line of `key`; of the object it is missing from, where it is not there."""
        return self.lines.get(key) or self.lines.get(key.rpartition(".")[0], 1)


def join(path: str, name: str) -> str:
    """The path of the key `name` in the object at `path`."""
    return f"{path}.{name}" if path else name


def parse_json(data: bytes) -> Document:
    """Read JSON in UTF-8, with or without a byte order mark.

    Of a key that stands twice the last value counts, as in the standard library. NaN, infinities and
    half surrogate pairs are refused, since they cannot be written again as JSON in UTF-8.
    Raises `Malformed`.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise Malformed(f"not UTF-8: byte 0x{error.object[error.start]:02x}", line, "") from error
    reader = _Reader(text)
    try:
        value, end = reader.value(reader.skip(0), "")
        if (end := reader.skip(end)) < len(text):
            raise json.JSONDecodeError("text after the end", text, end)
    except json.JSONDecodeError as error:
        message = f"not JSON, column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
        raise Malformed(message, error.lineno, reader.last_key) from error
    except RecursionError as error:
        raise Malformed("nested too deeply", reader.lines.get(reader.last_key, 1), "") from error
    return Document(value, reader.lines, tuple(reader.repeated))


class _Reader:
    """Walks objects and lists itself, to note the lines, and leaves all else to the standard library."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: dict[str, int] = {}
        self.repeated: list[str] = []
        self.last_key = ""
        self._line_ends = [match.start() for match in re.finditer("\n", text)]

    def skip(self, place: int) -> int:
        match = _SPACE.match(self.text, place)
        return match.end() if match else place

    def value(self, place: int, path: str) -> tuple[Any, int]:
        """The value that starts at `place`, and the place after it."""
        self.last_key = path
        opening = self.text[place : place + 1]
        if opening == "{":
            return self._object(place, path)
        if opening == "[":
            return self._list(place, path)
        return self._scalar(place)

    def _scalar(self, place: int) -> tuple[Any, int]:
        value, end = _DECODER.raw_decode(self.text, place)
        if isinstance(value, float) and not math.isfinite(value):
            raise json.JSONDecodeError("not a number JSON can hold", self.text, place)
        if isinstance(value, str) and _HALF_OF_A_PAIR.search(value):
            raise json.JSONDecodeError("half a surrogate pair", self.text, place)
        return value, end

    def _object(self, place: int, path: str) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        place = self.skip(place + 1)
        while not self._at("}", place):
            if not self._at('"', place):
                raise json.JSONDecodeError("expected a key in double quotes", self.text, place)
            name, end = self._scalar(place)
            key = join(path, name)
            if name in members:
                self.repeated.append(key)
            self.lines[key] = self._line(place)
            place = self.skip(end)
            if not self._at(":", place):
                raise json.JSONDecodeError("expected ':' after the key", self.text, place)
            members[name], place = self.value(self.skip(place + 1), key)
            place = self._next(place, "}")
        return members, place + 1

    def _list(self, place: int, path: str) -> tuple[list[Any], int]:
        items: list[Any] = []
        place = self.skip(place + 1)
        while not self._at("]", place):
            key = f"{path}[{len(items)}]"
            self.lines[key] = self._line(place)
            item, place = self.value(place, key)
            items.append(item)
            place = self._next(place, "]")
        return items, place + 1

    def _next(self, place: int, closing: str) -> int:
        """The place of the next member, or of the closing bracket."""
        place = self.skip(place)
        if self._at(closing, place):
            return place
        if not self._at(",", place):
            raise json.JSONDecodeError(f"expected ',' or '{closing}'", self.text, place)
        after = self.skip(place + 1)
        if self._at(closing, after):
            raise json.JSONDecodeError(f"a comma before '{closing}'", self.text, place)
        return after

    def _at(self, mark: str, place: int) -> bool:
        return self.text.startswith(mark, place)

    def _line(self, place: int) -> int:
        return bisect_left(self._line_ends, place) + 1
