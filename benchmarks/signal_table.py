"""Signals side by side: how well they tell wrong from right, what they cost, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.bootstrap import DRAWS, METRICS, estimates
from calibration.labels import Response


@dataclass(frozen=True)
class Cost:
    """What a signal took beyond the answer itself, on average over the problems; seconds are wall time."""

    calls: float
    tokens: float
    seconds: float


@dataclass(frozen=True)
class Signal:
    """A signal's value for each problem, labelled; `unavailable` of them could not be measured."""

    name: str
    answers: tuple[Response, ...]
    unavailable: int
    cost: Cost


def report(signals: Sequence[Signal], draws: int = DRAWS) -> list[str]:
    """Return the lines of the table in Markdown, and below it each AUROC against the last signal's."""
    answers = {signal.name: signal.answers for signal in signals}
    found = {metric: estimates(answers, metric, draws) for metric in METRICS}
    right = sum(answer.outcome == "correct" for answer in signals[0].answers)
    head = ["signal", "not measured", *METRICS, "calls", "tokens", "seconds"]
    rows = [
        [
            signal.name,
            str(signal.unavailable),
            *(str(found[metric][0][signal.name]) for metric in METRICS),
            f"{signal.cost.calls:.1f}",
            f"{signal.cost.tokens:,.0f}",
            f"{signal.cost.seconds:.1f}",
        ]
        for signal in signals
    ]
    last = signals[-1].name
    return [
        f"{len(signals[0].answers)} problems, {right} solved; 95 % intervals from {draws} draws of problems.",
        "",
        _line(head),
        _line(["---", "---:", *["---"] * len(METRICS), "---:", "---:", "---:"]),
        *map(_line, rows),
        "",
        *(f"AUROC of {last} minus {name}: {given}" for name, given in found["AUROC"][1][last].items()),
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write_plot(signals: Sequence[Signal], path: Path, draws: int = DRAWS) -> None:
    """Write a PNG: a point and its interval for each signal's AUROC. Raises ImportError without matplotlib."""
    found, _ = estimates({signal.name: signal.answers for signal in signals}, "AUROC", draws)
    figure = import_module("matplotlib.figure").Figure(figsize=(6, 0.5 * len(signals) + 1), layout="constrained")
    panel = figure.subplots()
    for place, signal in enumerate(reversed(signals)):
        value, low, high = found[signal.name]
        if value is not None and low is not None and high is not None:
            panel.errorbar(
                value, place, xerr=[[value - low], [high - value]], marker="o", color="black", capsize=3
            )
    panel.axvline(0.5, color="grey", linewidth=0.8, linestyle="--")
    panel.set_yticks(range(len(signals)), [signal.name for signal in reversed(signals)])
    panel.set(xlim=(0, 1), xlabel="AUROC: wrong answers above right ones, 95 % interval")
    figure.savefig(path, format="png", dpi=120)
