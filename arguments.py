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


def between(low: float, high: float) -> Callable[[str], float]:
    """The type of an argument: a number above `low` and below `high`."""

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = low
        if not low < value < high:
            raise ArgumentTypeError(f"must lie between {low:g} and {high:g}, not {text!r}")
        return value

    return number
