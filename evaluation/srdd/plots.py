"""The report as pictures, each as PNG and as SVG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from calibration.labels import Response, responses
from calibration.separation import auroc
from evaluation.bootstrap import Estimate
from evaluation.srdd import EvaluationError
from evaluation.srdd.report import REQUIREMENTS, Arms, Quantity, by_arm, estimated, mean_cost, quantities_of
from evaluation.srdd.scoring import Score
from journal import JournalError, read
from journal.journal import FILE_NAME

_OUTCOMES = {"correct": "tab:green", "incorrect": "tab:red"}


def draw(scores: Sequence[Score], folder: Path) -> list[Path]:
    """Draw what there is to draw of `scores` into `folder`. Raises EvaluationError without matplotlib."""
    try:
        new_figure = import_module("matplotlib.figure").Figure
    except ImportError as error:
        raise EvaluationError("Plots need matplotlib: pip install -r requirements-evaluation.txt") from error
    arms = by_arm(scores)
    quantities = [one for one in [*quantities_of("strict", scores), REQUIREMENTS] if one.title != "its floor"]
    figures = {
        "quality_by_arm": _by_arm(new_figure, arms, quantities),
        "quality_against_tokens": _against_tokens(new_figure, arms, quantities),
        "score_by_subtask": _by_subtask(new_figure, measured(scores)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for name, figure in figures.items() if figure for kind in ("png", "svg")]
    for path in paths:
        figures[path.stem].savefig(path, dpi=120)
    return paths


def measured(scores: Sequence[Score]) -> dict[str, list[Response]]:
    """The answers known to be right or wrong in the journals of the scored products, by subtask."""
    found: defaultdict[str, list[Response]] = defaultdict(list)
    for score in scores:
        try:
            events = read(Path(score.product) / FILE_NAME)
        except JournalError:
            continue  # a product that was not made by a run of this project
        for answer in responses(events):
            if answer.outcome in _OUTCOMES:
                found[answer.group.subtask].append(answer)
    return dict(found)


def _by_arm(new_figure: Any, arms: Arms, quantities: Sequence[Quantity]) -> Any:
    figure = new_figure(figsize=(7, 0.5 + 0.45 * len(arms) * len(quantities)), layout="constrained")
    panels = figure.subplots(len(quantities), squeeze=False, sharex=True)[:, 0]
    for panel, quantity in zip(panels, quantities, strict=True):
        for place, some in enumerate(arms.values()):
            if point := estimated(some, quantity):
                panel.errorbar(point.value, place, xerr=_arms_of(point), fmt="o", capsize=3, color=f"C{place}")
        panel.set(
            yticks=range(len(arms)), yticklabels=list(arms), ylim=(len(arms) - 0.5, -0.5), xlim=(-0.02, 1.02)
        )
        panel.set_title(quantity.title, fontsize="medium", loc="left")
    return figure


def _against_tokens(new_figure: Any, arms: Arms, quantities: Sequence[Quantity]) -> Any:
    """One panel for each quality, Q and the requirements met; None where neither was measured."""
    wanted = [one for one in quantities if one.title.startswith("Q mean") or one is REQUIREMENTS]
    wanted = [one for one in wanted if any(estimated(some, one) for some in arms.values())]
    tokens = {arm: mean_cost(some, "tokens") for arm, some in arms.items()}
    if not wanted or not any(tokens.values()):
        return None
    figure = new_figure(figsize=(6, 4 * len(wanted)), layout="constrained")
    for panel, quantity in zip(figure.subplots(len(wanted), squeeze=False)[:, 0], wanted, strict=True):
        for arm, some in arms.items():
            if tokens[arm] and (point := estimated(some, quantity)):
                panel.errorbar(tokens[arm], point.value, yerr=_arms_of(point), fmt="o", capsize=3, label=arm)
        panel.set(xlabel="tokens a task", ylabel=quantity.title, ylim=(-0.02, 1.02))
        panel.set_xlim(left=0)
        panel.legend()
    return figure


def _by_subtask(new_figure: Any, answers: Mapping[str, Sequence[Response]]) -> Any:
    """u of each answer, right ones above wrong ones; None where no answer is known to be either."""
    if not answers:
        return None
    figure = new_figure(figsize=(7, 0.8 + 0.9 * len(answers)), layout="constrained")
    panels = figure.subplots(len(answers), squeeze=False, sharex=True)[:, 0]
    for panel, (subtask, some) in zip(panels, answers.items(), strict=True):
        for place, (outcome, colour) in enumerate(_OUTCOMES.items()):
            scores = [answer.u for answer in some if answer.outcome == outcome]
            panel.plot(scores, [place] * len(scores), "|", color=colour, markersize=12)
        separation = auroc(some)
        said = "" if separation is None else f", AUROC {separation:.2f}"
        panel.set(yticks=range(len(_OUTCOMES)), yticklabels=list(_OUTCOMES), ylim=(1.6, -0.6))
        panel.set_title(f"{subtask}: {len(some)} answers{said}", fontsize="medium", loc="left")
    panels[-1].set_xlabel("uncertainty u of the answer (nats)")
    return figure


def _arms_of(point: Estimate) -> list[list[float]]:
    """The error bar's two arms; an interval need not hold its value, a bar's arm must not be negative."""
    return [[max(0.0, point.value - point.low)], [max(0.0, point.high - point.value)]]
