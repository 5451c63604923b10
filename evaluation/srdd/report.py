"""Arms side by side: what their products are worth, with intervals, and what they cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.bootstrap import Estimate, estimate
from evaluation.srdd import EvaluationError
from evaluation.srdd.scoring import Measures, Score
from evaluation.table import render

Cell = str | int | float | Estimate | None
Arms = dict[str, list[Score]]
Values = tuple[float, ...] | None

_SRDD_TASKS = 1200
COSTS = ("tokens", "calls", "seconds", "triggers", "retrievals")


@dataclass(frozen=True)
class Quantity:
    """A number of an arm: `combine` of the means of what `values` gives for each of its tasks.

    Tasks for which `values` is None do not count.
    """

    title: str
    values: Callable[[Score], Values]
    combine: Callable[..., float] = float


@dataclass(frozen=True)
class Table:
    """A table of the report; a cell is None where nothing was measured."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Report:
    """All tables, and notes without which they would be misread."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...]

    def to_text(self, *, markdown: bool = False) -> str:
        title, bullet = ("### ", "- ") if markdown else ("", "")
        parts = [
            f"{title}{table.title}\n\n"
            + render(table.head, [list(map(_shown, row)) for row in table.rows], markdown=markdown)
            for table in self.tables
        ]
        return "\n\n".join([*parts, "\n".join(f"{bullet}{note}" for note in self.notes)])

    def to_json(self) -> dict[str, Any]:
        tables = {
            table.title: [dict(zip(table.head, map(_plain, row), strict=True)) for row in table.rows]
            for table in self.tables
        }
        return {"tables": tables, "notes": list(self.notes)}


def make_report(scores: Sequence[Score], baseline: str = "") -> Report:
    """The report of `scores`. `baseline` is the arm that the others are compared with, by default the first.

    Raises EvaluationError where there is no such arm, or a task twice in one.
    """
    arms = by_arm(scores)
    baseline = baseline or next(iter(arms))
    if baseline not in arms:
        raise EvaluationError(f"--baseline {baseline}: there is no such arm; there are {', '.join(arms)}.")
    tables: list[Table] = []
    for mode in ("strict", "official"):
        quantities = quantities_of(mode, scores)
        if any(estimated(some, quantities[0]) for some in arms.values()):
            tables += [_side_by_side(mode, quantities, arms), *_differences(mode, quantities, arms, baseline)]
    if any(score.checks for score in scores):
        mode, quantities = "behaviour", [REQUIREMENTS, WHOLE]
        tables += [_side_by_side(mode, quantities, arms), *_differences(mode, quantities, arms, baseline)]
    return Report((*tables, _costs(arms), _failures(arms), _whole(arms)), tuple(_notes(arms)))


def by_arm(scores: Sequence[Score]) -> Arms:
    """The scores of each arm, in the order of their first appearance. Raises EvaluationError."""
    arms: Arms = {}
    for score in scores:
        arms.setdefault(score.arm, []).append(score)
    if not arms:
        raise EvaluationError("There are no scores.")
    for arm, some in arms.items():
        task, times = Counter(score.task for score in some).most_common(1)[0]
        if times > 1:
            raise EvaluationError(f"{task} is there {times} times in the arm {arm}; report one evaluation alone.")
    return arms


def quantities_of(mode: str, scores: Sequence[Score]) -> list[Quantity]:
    """What is reported of a mode. K and Q stand once for each embedder: theirs are different scales."""

    def of(read: Callable[[Measures], tuple[float, ...]], embedder: str = "") -> Callable[[Score], Values]:
        def values(score: Score) -> Values:
            measures: Measures | None = getattr(score, mode)
            return None if measures is None or embedder not in ("", score.embedder) else read(measures)

        return values

    quantities = [
        Quantity("C", of(lambda one: (one.completeness,))),
        Quantity("E", of(lambda one: (one.executability,))),
    ]
    for embedder in sorted({score.embedder for score in scores if score.embedder}):
        short = embedder.rpartition("/")[2]
        three = of(lambda one: (one.completeness, one.executability, one.consistency or 0.0), embedder)
        product = of(lambda one: (one.completeness * one.executability * (one.consistency or 0.0),), embedder)
        quantities += [
            Quantity(f"K {short}", of(lambda one: (one.consistency or 0.0,), embedder)),
            Quantity("its floor", of(lambda one: (one.floor or 0.0,), embedder)),
            Quantity(f"Q of means {short}", three, lambda *means: math.prod(means)),
            Quantity(f"Q mean {short}", product),
        ]
    return quantities


def _met(score: Score) -> Values:
    return (score.passed / score.checks,) if score.checks and score.passed is not None else None


def _all_met(score: Score) -> Values:
    return (float(score.passed == score.checks),) if score.checks else None


REQUIREMENTS = Quantity("requirements met", _met)
WHOLE = Quantity("all met", _all_met)


def estimated(scores: Sequence[Score], quantity: Quantity) -> Estimate | None:
    """`quantity` over `scores`; None where no task counts."""
    rows = [values for score in scores if (values := quantity.values(score)) is not None]
    return _over(rows, quantity.combine)


def difference(arm: Sequence[Score], baseline: Sequence[Score], quantity: Quantity) -> Estimate | None:
    """`quantity` of `arm` less that of `baseline`, over the tasks that count in both, drawn in pairs."""
    other = {score.task: quantity.values(score) for score in baseline}
    pairs = [(quantity.values(score), other.get(score.task)) for score in arm]
    rows = [(*mine, *theirs) for mine, theirs in pairs if mine is not None and theirs is not None]

    def change(*means: float) -> float:
        half = len(means) // 2
        return quantity.combine(*means[:half]) - quantity.combine(*means[half:])

    return _over(rows, change)


def _over(rows: Sequence[tuple[float, ...]], combine: Callable[..., float]) -> Estimate | None:
    """`combine` of the means of the columns of `rows`, one a task."""
    columns = list(zip(*rows, strict=True))

    def combined(drawn: Sequence[int]) -> float:
        return combine(*(sum(map(column.__getitem__, drawn)) / len(rows) for column in columns))

    return estimate(len(rows), combined)


def _side_by_side(mode: str, quantities: Sequence[Quantity], arms: Arms) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (arm, _counted(some, quantities[0]), *(estimated(some, quantity) for quantity in quantities))
        for arm, some in arms.items()
    ]
    return Table(mode, ("arm", "tasks", *(quantity.title for quantity in quantities)), tuple(rows))


def _differences(mode: str, quantities: Sequence[Quantity], arms: Arms, baseline: str) -> Iterator[Table]:
    quantities = [quantity for quantity in quantities if quantity.title != "its floor"]
    rows: list[tuple[Cell, ...]] = []
    for arm, some in arms.items():
        if arm != baseline:
            shared = {score.task for score in arms[baseline]}
            common = [score for score in some if score.task in shared]
            changes = (difference(some, arms[baseline], quantity) for quantity in quantities)
            rows.append((arm, _counted(common, quantities[0]), *changes))
    if rows:
        head = ("arm", "tasks", *(quantity.title for quantity in quantities))
        yield Table(f"{mode}: difference to {baseline}", head, tuple(rows))


def _counted(scores: Sequence[Score], quantity: Quantity) -> int:
    return sum(quantity.values(score) is not None for score in scores)


def mean_cost(scores: Sequence[Score], name: str) -> float | None:
    """The mean of one of `COSTS` over the products of which it is known."""
    known = [score.cost[name] for score in scores if score.cost and name in score.cost]
    return sum(known) / len(known) if known else None


def _costs(arms: Arms) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (arm, len(some), *(mean_cost(some, name) for name in COSTS)) for arm, some in arms.items()
    ]
    return Table("cost of a task", ("arm", "tasks", *COSTS), tuple(rows))


def _whole(arms: Arms) -> Table:
    def at_this_cost(scores: Sequence[Score], name: str, unit: float) -> float | None:
        mean = mean_cost(scores, name)
        return None if mean is None else mean * _SRDD_TASKS / unit

    rows: list[tuple[Cell, ...]] = [
        (arm, at_this_cost(some, "tokens", 1e6), at_this_cost(some, "seconds", 3600)) for arm, some in arms.items()
    ]
    head = ("arm", "million tokens", "hours of runs, one after the other")
    return Table(f"all {_SRDD_TASKS:,} tasks of SRDD at this cost", head, tuple(rows))


def _failures(arms: Arms) -> Table:
    counts = {arm: Counter(score.failure or "none" for score in some) for arm, some in arms.items()}
    classes = ["none", *sorted({failure for some in counts.values() for failure in some} - {"none"})]
    rows: list[tuple[Cell, ...]] = [
        (arm, len(arms[arm]), *(some[name] for name in classes)) for arm, some in counts.items()
    ]
    return Table("failures", ("arm", "tasks", *classes), tuple(rows))


def _notes(arms: Arms) -> Iterator[str]:
    scores = [score for some in arms.values() for score in some]
    yield "Brackets hold 95 % bootstrap intervals over tasks; differences are paired by task."
    if any(score.embedder for score in scores):
        yield (
            "Q of means is C x E x K of the row, as papers print it; Q mean is the mean of each task's product. "
            "The floor is K of the same code with another product's task: only what is above it says anything."
        )
    elif any(score.strict for score in scores):
        yield "K and Q were not measured: there was no embedder."
    if len({frozenset(score.task for score in some) for some in arms.values()}) > 1:
        yield "The arms do not have the same tasks: compare them by the differences, which have."
    yield from _unscored(scores)
    unseen = sum(score.failure == "not_verifiable" for score in scores)
    if unseen:
        yield f"{unseen} products cannot be run on this machine (no display or no tkinter) and count as failing."


def _unscored(scores: Sequence[Score]) -> Iterator[str]:
    """Of each mode, how many scores were made without it and so are in none of its tables."""
    # Not every task has checks; which have is known from the scores that were made with them.
    checked = {score.task for score in scores if score.checks}
    missing = {
        "strict": [score.strict is None for score in scores],
        "official": [score.official is None for score in scores],
        "behaviour": [score.checks is None for score in scores if score.task in checked],
    }
    for mode, lacking in missing.items():
        if any(lacking):
            yield (
                f"Left out of {mode}: {sum(lacking)} of {len(lacking)} scores, which were made without it. "
                "python -m evaluation.srdd score OUT, without --mode, scores in every mode."
            )


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:,.1f}" if isinstance(cell, float) else str(cell)


def _plain(cell: Cell) -> Any:
    return asdict(cell) if isinstance(cell, Estimate) else cell
