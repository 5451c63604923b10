"""A picture of how often answers of a given certainty are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from calibration import CalibrationError
from calibration.labels import Group
from calibration.separation import Bin


def write_plot(bins: Mapping[Group, Sequence[Bin]], path: Path) -> None:
    """Write a PNG with one panel a group. Raises CalibrationError without groups or without matplotlib."""
    if not bins:
        raise CalibrationError("There is nothing to plot: no answer is known to be right or wrong.")
    try:
        figure = import_module("matplotlib.figure").Figure(figsize=(4, 3.5 * len(bins)), layout="constrained")
    except ImportError as error:
        raise CalibrationError("A plot needs matplotlib: pip install -r requirements-evaluation.txt") from error
    for panel, (group, points) in zip(figure.subplots(len(bins), squeeze=False)[:, 0], bins.items(), strict=True):
        panel.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--")
        panel.plot([point.probability for point in points], [point.correct for point in points], marker="o")
        panel.set(
            xlim=(0, 1.02),
            ylim=(-0.02, 1.02),
            title=f"{group.subtask}\n{group.model}, {sum(point.size for point in points)} answers",
            xlabel="mean token probability exp(−u)",
            ylabel="share of correct answers",
        )
    figure.savefig(path, format="png", dpi=120)
