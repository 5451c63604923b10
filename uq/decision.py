"""From a measurement and a threshold to what should happen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uq.scores import Measurement, Score, Unavailable
from uq.threshold import Threshold

Action = Literal["proceed", "trigger", "unavailable"]


@dataclass(frozen=True)
class Decision:
    """What the gate thinks of an answer, with everything it thought it from."""

    action: Action
    reason: str
    measurement: Measurement
    threshold: Threshold

    @property
    def u(self) -> float | None:
        """The score's value, or None where there is none."""
        return self.measurement.value if isinstance(self.measurement, Score) else None


def decide(measurement: Measurement, threshold: Threshold) -> Decision:
    """Trigger when the score is strictly above the threshold; no score, or one that the threshold was
    not learnt for, is `unavailable` and neither a pass nor a trigger."""
    if isinstance(measurement, Unavailable):
        return Decision("unavailable", f"{measurement.reason}: {measurement.detail}", measurement, threshold)
    if mismatch := threshold.mismatch(measurement):
        return Decision("unavailable", f"threshold does not fit: {mismatch}", measurement, threshold)
    above = measurement.value > threshold.tau
    comparison = f"{measurement.value:.4g} {'>' if above else '<='} {threshold.tau:.4g} ({threshold.source})"
    return Decision("trigger" if above else "proceed", comparison, measurement, threshold)
