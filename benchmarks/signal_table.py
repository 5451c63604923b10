"""Signals side by side: how well they tell wrong from right, what they cost, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from calibration.labels import Response
from calibration.separation import aurc, auroc, prr
from evaluation.bootstrap import RESAMPLES, Estimate, estimate
from evaluation.table import render

METRICS: Mapping[str, Callable[[Iterable[Response]], float | None]] = {"AUROC": auroc, "AURC": aurc, "PRR": prr}


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


def report(signals: Sequence[Signal]) -> list[str]:
    """Return the lines of the table in Markdown, and below it each AUROC against the last signal's."""
    answers, last = signals[0].answers, signals[-1]
    right = sum(answer.outcome == "correct" for answer in answers)
    head = ["signal", "not measured", *METRICS, "calls", "tokens", "seconds"]
    rows = [
        [
            signal.name,
            str(signal.unavailable),
            *(str(estimated(signal, metric) or "-") for metric in METRICS),
            f"{signal.cost.calls:.1f}",
            f"{signal.cost.tokens:,.0f}",
            f"{signal.cost.seconds:.1f}",
        ]
        for signal in signals
    ]
    return [
        f"{len(answers)} problems, {right} solved; 95 % intervals from {RESAMPLES} draws of problems.",
        "",
        render(head, rows, markdown=True),
        "",
        *(f"AUROC of {last.name} minus {one.name}: {difference(last, one) or '-'}" for one in signals[:-1]),
    ]


def estimated(signal: Signal, metric: str) -> Estimate | None:
    """The figure of a signal by the name of its metric; None where all answers are right or all wrong."""
    return estimate(len(signal.answers), lambda drawn: METRICS[metric]([signal.answers[n] for n in drawn]))


def difference(one: Signal, other: Signal) -> Estimate | None:
    """The AUROC of `one` less that of `other`, whose answers are to the same problems."""

    def change(drawn: Sequence[int]) -> float | None:
        first, second = (auroc([signal.answers[n] for n in drawn]) for signal in (one, other))
        return None if first is None or second is None else first - second

    return estimate(len(one.answers), change)


def write_plot(signals: Sequence[Signal], path: Path) -> None:
    """Write a PNG: a point and its interval for each signal's AUROC. Raises ImportError without matplotlib."""
    figure = import_module("matplotlib.figure").Figure(figsize=(6, 0.5 * len(signals) + 1), layout="constrained")
    panel = figure.subplots()
    for place, signal in enumerate(reversed(signals)):
        if found := estimated(signal, "AUROC"):
            arms = [[found.value - found.low], [found.high - found.value]]
            panel.errorbar(found.value, place, xerr=arms, marker="o", color="black", capsize=3)
    panel.axvline(0.5, color="grey", linewidth=0.8, linestyle="--")
    panel.set_yticks(range(len(signals)), [signal.name for signal in reversed(signals)])
    panel.set(xlim=(0, 1), xlabel="AUROC: wrong answers above right ones, 95 % interval")
    figure.savefig(path, format="png", dpi=120)
