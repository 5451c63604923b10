"""Waiting, but not for ever, and for several things at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Deadline:
    """A moment of the monotonic clock, in seconds."""

    moment: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds left, never less than 0."""
        return max(0.0, self.moment - time.monotonic())

    def within(self, seconds: float) -> Deadline:
        """This moment, or that in `seconds` where it is earlier."""
        return min(self, Deadline.after(seconds), key=lambda deadline: deadline.moment)


def side_by_side(tasks: Sequence[Callable[[], T]], deadline: Deadline, late: T) -> list[T]:
    """The results of all `tasks` in their order, `late` for those not done in time.

    The threads are daemons: a name server or a page that never ends holds up neither us nor our end.
    Exceptions of a task are raised here.
    """
    done: SimpleQueue[tuple[int, T | BaseException]] = SimpleQueue()

    def work(place: int, task: Callable[[], T]) -> None:
        try:
            done.put((place, task()))
        except BaseException as error:  # handed to the caller, who raises it
            done.put((place, error))

    for place, task in enumerate(tasks):
        Thread(target=work, args=(place, task), daemon=True).start()
    results = [late] * len(tasks)
    for _ in tasks:
        try:
            place, result = done.get(timeout=deadline.left)
        except Empty:
            break
        if isinstance(result, BaseException):
            raise result
        results[place] = result
    return results
