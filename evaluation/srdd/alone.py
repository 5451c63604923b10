"""One process at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluation.srdd import EvaluationError


@contextmanager
def alone(path: Path, *, shared: bool = False, wait: bool = False) -> Iterator[int]:
    """Hold PATH.lock against other processes; with `shared` only against those that want it for themselves.

    The system lets go of it when the process dies, and with it every child that was given the file descriptor
    that comes back. Raises EvaluationError where another holds it, unless told to `wait` for that.
    """
    lock = path.with_name(f"{path.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise EvaluationError(
                f"Another evaluation is at work on {path}; wait for it, or choose another place."
            ) from None
        yield file.fileno()
