"""Reads and writes words."""

from __future__ import annotations

import os

ENCODING = "utf-8"


def load(path: str) -> list[str]:
    """The words in the file, or none where there is no file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding=ENCODING) as file:
        return file.read().split()


def save(path: str, words: list[str]) -> None:
    with open(path, "w", encoding=ENCODING) as file:
        file.write("\n".join(words))
