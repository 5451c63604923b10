"""A person who is asked what should be different: lines, then a line `end`; a line `exit` leaves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

HOW = "Say what should be different, in as many lines as you like. A line `end` sends it, a line `exit` leaves."


@dataclass(frozen=True)
class Said:
    """What a person typed. One who `leaves` wants nothing more, or is not there."""

    text: str
    leaves: bool = False


Person = Callable[[str], Said]
"""Asked a question in words, gives what was said."""


def at_the_terminal(question: str) -> Said:
    """Ask on the error stream, so that output can be redirected, and listen to standard input."""
    return listen(question, sys.stdin, sys.stderr)


def listen(question: str, source: TextIO | None, out: TextIO) -> Said:
    """Read one comment from `source`, which may be a terminal, a pipe, closed, or not there at all.

    The end of the input sends what was typed before it; where nothing was, nobody is there.
    """
    print(f"{question}\n{HOW}", file=out, flush=True)
    lines: list[str] = []
    while source is not None and not source.closed and (line := source.readline()):
        word = line.strip().lower()
        if word == "exit":
            return Said("", leaves=True)
        if word == "end":
            break
        lines.append(line.rstrip("\r\n"))
    else:
        if not "".join(lines).strip():
            print("Nobody answers; the review by a person ends here.", file=out, flush=True)
            return Said("", leaves=True)
    return Said("\n".join(lines).strip())
