"""What was asked of the web and what came back, on disk, so that it can be had again without the web.

An entry's name is the digest of the question, its content JSON: nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from retrieval.records import Hit, Page, Unavailable

Mode = Literal["live", "record", "replay", "off"]
MODES: tuple[Mode, ...] = get_args(Mode)
FRESH_SECONDS = 86_400.0

T = TypeVar("T")


class CacheMiss(Exception):
    """A replay asked for what was never recorded."""


@dataclass(frozen=True)
class Cache:
    """`live`: what was got within a day is taken from here, the rest from the web and kept. `record`: all is
    asked anew and kept, failures too. `replay`: nothing is asked; what is not here raises CacheMiss.
    `off`: nothing is read or kept.
    """

    folder: Path
    mode: Mode = "live"

    def hits(
        self, question: Sequence[str], ask: Callable[[], tuple[Hit, ...] | Unavailable]
    ) -> tuple[Hit, ...] | Unavailable:
        """The hits of a search."""

        def read(values: Any) -> tuple[Hit, ...]:
            return tuple(Hit(**value) for value in values)

        return self._through(question, ask, read, lambda hits: [asdict(hit) for hit in hits])

    def page(self, question: Sequence[str], ask: Callable[[], Page | Unavailable]) -> Page | Unavailable:
        """A page."""
        return self._through(question, ask, lambda values: Page(**values), asdict)

    def _through(
        self,
        question: Sequence[str],
        ask: Callable[[], T | Unavailable],
        read: Callable[[Any], T],
        write: Callable[[T], Any],
    ) -> T | Unavailable:
        name = hashlib.sha256(json.dumps(question).encode()).hexdigest()
        path = self.folder / f"{name}.json"
        entry = self._entry(path)
        if "found" in entry:
            return read(entry["found"])
        if self.mode == "replay":
            if "unavailable" in entry:
                return Unavailable(**entry["unavailable"])
            raise CacheMiss(f"{self.folder} holds no answer to {question}; record it first")
        answer = ask()
        if self.mode == "record" or (self.mode == "live" and not isinstance(answer, Unavailable)):
            kept = {"unavailable": asdict(answer)} if isinstance(answer, Unavailable) else {"found": write(answer)}
            self.folder.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}.partial")
            partial.write_text(json.dumps({"question": question, **kept}, ensure_ascii=True), encoding="utf-8")
            partial.replace(path)
        return answer

    def _entry(self, path: Path) -> dict[str, Any]:
        """What `path` holds and this mode may use: nothing, too, where a crash has left half a file."""
        try:
            fresh = self.mode == "live" and time.time() - path.stat().st_mtime < FRESH_SECONDS
            return dict(json.loads(path.read_text("utf-8"))) if fresh or self.mode == "replay" else {}
        except (FileNotFoundError, ValueError, TypeError):
            return {}
