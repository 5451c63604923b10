"""What past products of a warehouse taught: written down at the end of a run, shown to those who build the like.

A lesson is what a tester, a reviewer or a person said that led to a change which was kept, with lines of that
change; or why a product failed in the end. The store is one JSON object a run, one a line. Tasks are alike by
the cosine of their words, each weighted by log(runs / runs that have it).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from journal import Event
from journal.events import FilesChanged, RolledBack, RunEnded, RunStarted, SubtaskEnded, Typed

STORE = "memory.jsonl"
_SAID_BY = ("CodeReviewComment", "TestErrorSummary")
_MOST_RUNS, _MOST_LESSONS, _MOST_LINES = 3, 3, 5
_LONGEST = 300  # characters of what was said
_ALIKE = 0.15
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True)
class Memory:
    """What one run leaves to later ones."""

    product: str
    task: str
    lessons: tuple[str, ...]


def remember(store: Path, events: Sequence[Event]) -> None:
    """Append what the run of `events` taught, where it taught anything. Raises OSError."""
    started = events[0]
    lessons = tuple(dict.fromkeys(_lessons(events)))[:_MOST_LESSONS]
    if isinstance(started, RunStarted) and lessons:
        line = json.dumps(asdict(Memory(started.product, started.task, lessons)), ensure_ascii=False)
        with store.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"{line}\n")


def recall(store: Path, task: str) -> str:
    """The lessons of the runs whose tasks are most like `task`, as a text for prompts; empty where none is."""
    memories = _read(store)
    words = [_words(memory.task) for memory in memories]
    runs = Counter(word for found in words for word in found)
    weights = {word: math.log(1 + len(memories) / count) for word, count in runs.items()}
    wanted = _words(task)
    alike = [(_cosine(wanted, found, weights), memory) for found, memory in zip(words, memories, strict=True)]
    best = sorted((pair for pair in alike if pair[0] >= _ALIKE), key=lambda pair: -pair[0])[:_MOST_RUNS]
    lines = [f"- {lesson}" for _, memory in best for lesson in memory.lessons]
    return "\n".join(["What went wrong in similar programs before:", *dict.fromkeys(lines)]) if lines else ""


def _lessons(events: Sequence[Event]) -> Iterator[str]:
    said, change = "", ""
    for event in events:
        if isinstance(event, Typed):
            said = event.text
        elif isinstance(event, FilesChanged) and said and event.diffs:
            change = _added(event.diffs)
        elif isinstance(event, RolledBack):
            said = change = ""
        elif isinstance(event, SubtaskEnded):
            if said and change:
                yield f"{_short(said)} The change that was kept:\n{change}"
            said, change = event.conclusion if event.subtask in _SAID_BY else "", ""
        elif isinstance(event, RunEnded) and event.verdict and not event.verdict["works"]:
            yield f"It failed in the end: {_short(event.verdict['reason'])}"


def _added(diffs: dict[str, str]) -> str:
    lines = (line for diff in diffs.values() for line in diff.splitlines() if line.startswith("+"))
    added = [line[1:] for line in lines if not line.startswith("+++") and line[1:].strip()]
    return "\n".join(f"  {line}" for line in added[:_MOST_LINES])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _read(store: Path) -> list[Memory]:
    """What the store holds; a line that somebody damaged is passed over."""
    memories = []
    for line in store.read_text("utf-8", errors="replace").split("\n") if store.is_file() else ():
        try:
            entry = json.loads(line)
            memories.append(Memory(str(entry["product"]), str(entry["task"]), tuple(map(str, entry["lessons"]))))
        except (ValueError, KeyError, TypeError):
            continue
    return memories


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower().removesuffix("s") for word in _WORD.findall(text))


def _cosine(one: frozenset[str], other: frozenset[str], weights: dict[str, float]) -> float:
    unknown = max(weights.values(), default=1.0)

    def length(words: frozenset[str]) -> float:
        return math.sqrt(sum(weights.get(word, unknown) ** 2 for word in words))

    shared = sum(weights[word] ** 2 for word in one & other)
    return shared / (length(one) * length(other)) if shared else 0.0
