"""Nothing that becomes of its console ends a command."""

from __future__ import annotations

import errno
import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any


class _Output(FileIO):
    """Where somebody may have stopped reading: what is said then is lost, and nothing else."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):
                raise
            return len(data)


def forgive() -> None:
    """Let no command end because its console lacks a character, has one too many, goes away or was never there."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")
    elif isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    sys.stdout = _forgiving(sys.stdout, its_own=sys.stdout is sys.__stdout__)
    sys.stderr = _forgiving(sys.stderr, its_own=sys.stderr is sys.__stderr__)


def _forgiving(stream: Any, *, its_own: bool) -> Any:
    if stream is None:
        # Opened at once, it takes the number of the stream that is closed: no journal gets it.
        return open(os.devnull, "w", encoding="utf-8")
    if its_own:
        console = BufferedWriter(_Output(stream.fileno(), "w", closefd=False))
        return TextIOWrapper(
            console, encoding=stream.encoding, errors="replace", line_buffering=stream.line_buffering
        )
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="replace")
    return stream
