"""The closing table of a run, from its events: one row a subtask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from journal import Event
from journal.events import Deliberated, Gated, Measured, RunEnded, Sampled, SubtaskEnded, SubtaskStarted

_HEAD = ("subtask", "u", "threshold", "decision", "calls", "prompt", "cached", "completion", "seconds")


@dataclass
class _Row:
    subtask: str
    u: str = "-"
    threshold: str = "-"
    decision: str = "not measured"
    costs: tuple[str, ...] = ()

    def cells(self) -> tuple[str, ...]:
        return (self.subtask, self.u, self.threshold, self.decision, *self.costs)


def summary(events: Sequence[Event], folder: Path) -> str:
    """The table, the totals, the verdict on the product, and where it is."""
    rows: list[_Row] = []
    for event in events:
        if isinstance(event, SubtaskStarted):
            rows.append(_Row(event.subtask + (f" #{event.cycle}" if event.cycle else "")))
        elif isinstance(event, Measured):
            rows[-1].threshold = f"{float(event.threshold['tau']):.3f} {event.threshold['source']}"
            refused = event.action == "unavailable"
            rows[-1].decision = f"unavailable: {event.reason}" if refused else event.action
        elif isinstance(event, Gated):
            rows[-1].u = "-" if event.u_post is None else f"{float(event.u_post):.3f}"
            rows[-1].decision = _decision(rows[-1].decision, event)
        elif isinstance(event, Sampled):
            rows[-1].decision += f"; {event.kept} kept"
        elif isinstance(event, Deliberated):
            doubt = ", still doubtful" if event.flagged else ""
            rows[-1].decision = f"hassum: {event.decision} after round {event.number}{doubt}"
        elif isinstance(event, SubtaskEnded):
            rows[-1].costs = _costs(event.calls, event.usage, event.seconds)
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    totals = ended.totals
    total = ("total", "", "", "", *_costs(totals["calls"], totals, totals["seconds"]))
    lines = _table([_HEAD, *(row.cells() for row in rows), total])
    return "\n".join([*lines, "", *_verdict(ended), f"The product is in {folder}"])


def _decision(decision: str, gated: Gated) -> str:
    if not gated.triggered:
        return decision
    remedies = ", ".join(gated.remedies) or "observed only"
    kept = "new answer kept" if gated.replaced else "first answer kept"
    flag = ", still doubtful" if gated.flagged else ""
    return f"doubtful ({remedies}: {kept}{flag})" if gated.remedies else f"doubtful ({remedies})"


def _costs(calls: int, usage: dict[str, int], seconds: float) -> tuple[str, ...]:
    names = ("prompt_tokens", "cached_tokens", "completion_tokens")
    return (str(calls), *(str(usage[name]) for name in names), f"{seconds:.1f}")


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(len(_HEAD))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if column < 4 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join(cells).rstrip())
    rule = "  ".join("-" * width for width in widths)
    return [lines[0], rule, *lines[1:-1], rule, lines[-1]]


def _verdict(ended: RunEnded) -> list[str]:
    verdict = ended.verdict
    if not verdict:
        return ["The product was never checked: no subtask wrote code."]
    lines = [f"The product {verdict['status'].replace('_', ' ')}: {verdict['reason']}"]
    for finding in (*verdict["broken"], *verdict["missing"]):
        place = f"{finding['path']}:{finding['line']}: " if finding["path"] else ""
        lines.append(f"  {place}{finding['why']}")
    results = verdict["results"]
    if results:
        good = sum(result["points"] == 2 for result in results)
        lines.append(f"Acceptance runs as written down beforehand: {good} of {len(results)}.")
        for result in results:
            if result["points"] < 2:
                fault = result["fault"].strip().splitlines()
                lines.append(f"  $ {result['line']}: {fault[-1] if fault else result['difference']}")
    return lines
