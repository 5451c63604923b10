"""Nothing that becomes of its console ends a command."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any

_NOBODY_READS = (errno.EPIPE, errno.EIO)
_STDERR = 2


class _Output(FileIO):
    """Where somebody may have stopped reading, or a disk be full: what is said then is lost, and nothing else."""

    _told = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno not in _NOBODY_READS:
                self._tell(error)
            return len(data)

    def _tell(self, error: OSError) -> None:
        """Say once that something is missing: whoever keeps the output in a file finds a part of it there."""
        if not self._told:
            self._told = True
            sentence = f"Some of the output is lost: {error.strerror}. The exit code holds all the same.\n"
            # Past sys.stderr, which may be this very stream and in the middle of writing.
            with suppress(OSError):
                os.write(_STDERR, sentence.encode())


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
