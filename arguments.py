"""What commands take from their users."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """The type of an argument: a whole number, `least` or more."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
        return value

    return number
