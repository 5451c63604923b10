"""A product that is too large for a prompt: a map of its files, and those that matter in full."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

from chatdev.reply import render_files
from sandbox.completeness import definitions, python_tree

_WORD = re.compile(r"[^\W\d_]{3,}")
_NAMED, _MAIN = 1000.0, 1.0
_MOST_NAMES = 8
_HEAD = "All of the program is too long to be shown. Its files, with what they define:\n"
_PARTS = "\nThose that matter most:\n\n"
_CUT = "\n(cut here)\n"


def excerpt(files: Mapping[str, str], room: int | None, concern: str) -> str:
    """All `files` as agents see them, or what fits into `room` characters; None is room for everything.

    `concern` is what is being talked about: files it names come first, then those that share its rare words.
    """
    whole = render_files(files)
    if room is None or len(whole) <= room:
        return whole
    overview = _HEAD + _map(files, room // 2 - len(_HEAD)) + _PARTS
    left = room - len(overview)
    shown: list[str] = []
    ranked = _ranked(files, concern)
    for path in ranked:
        text = render_files({path: files[path]}) + "\n"
        if len(text) <= left:
            shown.append(text)
            left -= len(text)
    if ranked and not shown:
        start = render_files({ranked[0]: files[ranked[0]]})[: max(0, left - len(_CUT))]
        shown.append(start.rpartition("\n")[0] + _CUT)
    return (overview + "".join(shown))[:room]


def _map(files: Mapping[str, str], room: int) -> str:
    """One line a file: its path, length and definitions; without these, or cut, where there is little room."""
    for describe in (_with_definitions, _with_length):
        lines = [describe(path, text) for path, text in files.items()]
        if sum(map(len, lines)) <= room:
            return "".join(lines)
    kept: list[str] = []
    while lines and len(lines[0]) < room:
        room -= len(lines[0])
        kept.append(lines.pop(0))
    return "".join(kept) + f"… and {len(lines)} more\n"


def _with_length(path: str, text: str) -> str:
    return f"- {path} ({len(text.splitlines())} lines)\n"


def _with_definitions(path: str, text: str) -> str:
    tree = python_tree(text) if path.endswith(".py") else None
    names = sorted(definitions(tree))[:_MOST_NAMES] if tree else []
    return _with_length(path, text).rstrip("\n") + (f": {', '.join(names)}\n" if names else "\n")


def _ranked(files: Mapping[str, str], concern: str) -> list[str]:
    words = {path: _words(f"{path} {text}") for path, text in files.items()}
    frequency = Counter(word for found in words.values() for word in found)
    wanted = _words(concern)

    def weight(path: str) -> float:
        shared = sum(math.log(1 + len(files) / frequency[word]) for word in words[path] & wanted)
        return shared + _NAMED * (path in concern) + _MAIN * (path == "main.py")

    return sorted(files, key=weight, reverse=True)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
