"""The tasks of an evaluation: SRDD's format, or a suite of behaviour checks."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.behaviour import SHIPPED, load_suite
from evaluation.srdd import EvaluationError

OWN = Path(__file__).with_name("tasks.csv")
"""Ten tasks of the project's own, in SRDD's format."""

BEHAVIOUR = "behaviour"
"""Names the shipped suite, and the category of tasks from suites."""

_COLUMNS = ("Name", "Description", "Category")
_LONGEST_SLUG = 40  # characters
_NO_TEXT = re.compile(r"[\x00\ud800-\udfff]")
"""Characters that no command line takes: NUL, and halves of others, which JSON may hold."""


@dataclass(frozen=True)
class Task:
    """What is to be built. `id` is the task's file, row and name: names repeat in SRDD."""

    id: str
    name: str
    category: str
    text: str


@dataclass(frozen=True)
class Selection:
    """Which tasks of a file are taken: of `categories` (all where empty), `per_category` drawn by `seed`,
    and of those the first `limit`, in the order of the file."""

    categories: Collection[str] = ()
    per_category: int | None = None
    limit: int | None = None
    seed: int = 1


def read_tasks(source: str) -> list[Task]:
    """The tasks in `source`: a CSV file with SRDD's columns, a suite in JSON, or `behaviour`.

    Raises EvaluationError or SuiteError, naming file and row.
    """
    path = SHIPPED if source == BEHAVIOUR else Path(source)
    if path.suffix == ".json":
        rows = [(task.name, task.task, BEHAVIOUR) for task in load_suite(path)]
    else:
        rows = _rows(path)
    for number, row in enumerate(rows, 1):
        if found := _NO_TEXT.search("".join(row)):
            raise EvaluationError(f"{path}, task {number}: it holds the character {found[0]!r}; remove that.")
    stem = BEHAVIOUR if source == BEHAVIOUR else _slug(path.stem)
    return [
        Task(f"{stem}-{number:04d}-{_slug(name)}", name, category, text)
        for number, (name, text, category) in enumerate(rows, 1)
    ]


def select(tasks: Sequence[Task], selection: Selection) -> list[Task]:
    """The tasks taken. Raises EvaluationError for a category that no task has."""
    known = {task.category for task in tasks}
    if unknown := set(selection.categories) - known:
        raise EvaluationError(f"No task has the category {min(unknown)}; there are {', '.join(sorted(known))}.")
    taken = [task for task in tasks if not selection.categories or task.category in selection.categories]
    if selection.per_category is not None:
        shuffled = random.Random(selection.seed).sample(taken, len(taken))
        drawn: dict[str, list[Task]] = {}
        for task in shuffled:
            drawn.setdefault(task.category, []).append(task)
        kept = {task.id for some in drawn.values() for task in some[: selection.per_category]}
        taken = [task for task in taken if task.id in kept]
    return taken[: selection.limit]


def _rows(path: Path) -> list[tuple[str, str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise EvaluationError(f"{path} has no column {missing[0]}; wanted are {','.join(_COLUMNS)}.")
            rows = [tuple((row[column] or "").strip() for column in _COLUMNS) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EvaluationError(f"{path} cannot be read ({error}); give a CSV file in SRDD's format.") from error
    if not rows:
        raise EvaluationError(f"{path} holds no task, only the names of the columns.")
    for number, (name, text, _) in enumerate(rows, 1):
        if not text:
            raise EvaluationError(f"{path}, task {number} ({name}): the description is empty.")
    return [(name, text, category) for name, text, category in rows]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_LONGEST_SLUG].strip("_") or "task"
