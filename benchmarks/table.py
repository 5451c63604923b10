"""The rows as a table, for a terminal or for a README."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measurement import Row, engine_share, mean_score
from evaluation.table import render

_HEAD = (
    "task", "arm", "exit", "runs", "complete", "files", "calls", "prompt", "cached", "completion", "tokens",
    "load s", "seconds", "sandbox s", "engine", "checks",
)  # fmt: skip


def table(rows: Sequence[Row], *, markdown: bool) -> str:
    """A line a row, rows of a task together, then the totals and the means of each arm."""
    tasks = list(dict.fromkeys(row.task for row in rows))
    lines = [_cells(row) for row in sorted(rows, key=lambda row: tasks.index(row.task))]
    closing = [line for arm in _arms(rows) for line in (_total(arm), _mean(arm))]
    return render(_HEAD, lines, closing, text_columns=2, markdown=markdown)


def conclusions(rows: Sequence[Row]) -> list[str]:
    """A sentence an arm: what a reader compares."""
    return [_conclusion(arm) for arm in _arms(rows)]


def _arms(rows: Sequence[Row]) -> list[list[Row]]:
    return [[row for row in rows if row.arm == arm] for arm in dict.fromkeys(row.arm for row in rows)]


def _conclusion(rows: Sequence[Row]) -> str:
    score, share = mean_score(rows), engine_share(rows)
    loads = [row.load_seconds for row in rows if row.load_seconds is not None]
    parts = [
        f"{sum(row.tokens for row in rows) / len(rows):,.0f} tokens a task",
        f"{sum(row.complete and row.runs == 'runs' for row in rows)} of {len(rows)} complete and running",
    ]
    if score is not None:
        parts.append(f"mean score {score:.3f}")
    if share is not None:
        parts.append(f"engine {share:.1%} of the wall time apart from the sandbox")
    if loads:
        parts.append(f"{sum(loads):.1f} s of start-up not counted")
    return f"{rows[0].arm}: {', '.join(parts)}"


def _cells(row: Row) -> list[str]:
    return [
        row.task,
        row.arm,
        str(row.exit_code),
        row.runs.replace("_", " "),
        "yes" if row.complete else "no",
        *(f"{number:,}" for number in _counts(row)),
        "-" if row.load_seconds is None else f"{row.load_seconds:.1f}",
        f"{row.seconds:.1f}",
        f"{row.sandbox_seconds:.1f}",
        _percent(engine_share([row])),
        "-" if row.checks is None else f"{row.passed}/{row.checks}",
    ]


def _counts(row: Row) -> tuple[int, ...]:
    return (
        row.files,
        row.calls,
        row.prompt_tokens,
        row.cached_tokens,
        row.completion_tokens,
        row.tokens,
    )


def _total(rows: Sequence[Row]) -> list[str]:
    good = (
        (row.exit_code == 0 for row in rows),
        (row.runs == "runs" for row in rows),
        (row.complete for row in rows),
    )
    checks = sum(row.checks or 0 for row in rows)
    return [
        "total",
        rows[0].arm,
        *(f"{sum(column)}/{len(rows)}" for column in good),
        *(f"{sum(column):,}" for column in zip(*map(_counts, rows), strict=True)),
        *(f"{sum(column):.1f}" for column in _times(rows)),
        _percent(engine_share(rows)),
        f"{sum(row.passed or 0 for row in rows)}/{checks}" if checks else "-",
    ]


def _mean(rows: Sequence[Row]) -> list[str]:
    score = mean_score(rows)
    return [
        "mean",
        rows[0].arm,
        *[""] * 3,
        *(f"{sum(column) / len(rows):,.1f}" for column in zip(*map(_counts, rows), strict=True)),
        *(f"{sum(column) / len(column):.1f}" if column else "-" for column in _times(rows)),
        "",
        "-" if score is None else f"{score:.3f}",
    ]


def _times(rows: Sequence[Row]) -> tuple[list[float], ...]:
    return (
        [row.load_seconds for row in rows if row.load_seconds is not None],
        [row.seconds for row in rows],
        [row.sandbox_seconds for row in rows],
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
