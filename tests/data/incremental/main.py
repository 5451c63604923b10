"""Prints words, one a line."""

from __future__ import annotations

from words.store.files import load


def show(words: list[str]) -> None:
    for word in words:
        print(word)


if __name__ == "__main__":
    show(load("words.txt"))
