"""How uncertain is too uncertain, and how that was found out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from uq.scores import Score

FALLBACK_TAU = 0.5


@dataclass(frozen=True)
class Threshold:
    """A score strictly above `tau` triggers.

    `source` says where `tau` came from. A learnt threshold holds for the `model`, `logprob_kind` and
    `selection` it was learnt from; an empty one of these means any. `n_correct` correct answers,
    `method` and `alpha` (the share of correct answers that may trigger) say how. `tau` may be +inf,
    which never triggers; `reason` must then say why. Raises ValueError for any other tau below 0 or
    not a number.
    """

    tau: float
    source: str
    subtask: str
    n_correct: int = 0
    method: str = ""
    alpha: float | None = None
    model: str = ""
    logprob_kind: str = ""
    selection: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.tau) or self.tau < 0:
            raise ValueError(f"threshold of {self.subtask}: tau is {self.tau}, but must be 0 or more")
        if math.isinf(self.tau) and not self.reason:
            raise ValueError(f"threshold of {self.subtask}: tau is infinite and no reason is given")

    def mismatch(self, score: Score) -> str:
        """Return what `score` rests on that this threshold was not learnt for, or "" if it fits."""
        for name in ("model", "logprob_kind", "selection"):
            learnt, measured = getattr(self, name), getattr(score, name)
            if learnt and learnt != measured:
                return f"{name} {measured!r} instead of {learnt!r}"
        return ""


def fallback(subtask: str) -> Threshold:
    """Return the threshold of a subtask too little is known of: a mean token probability of 0.61.

    Code is usually far more certain than that, so in practice it fires on short or single-token answers.
    """
    return Threshold(FALLBACK_TAU, "fallback", subtask, reason="too few correct answers are known")


class Thresholds(Protocol):
    """Where the gate looks thresholds up."""

    def lookup(self, subtask: str, model: str, logprob_kind: str, selection: str) -> Threshold:
        """Return the threshold for answers of this kind; where none was learnt, the fallback."""
        ...


@dataclass(frozen=True)
class FixedThresholds:
    """Thresholds set by hand, as `tau` by subtask; the fallback for every other subtask."""

    by_subtask: Mapping[str, float] = field(default_factory=dict)

    def lookup(self, subtask: str, model: str, logprob_kind: str, selection: str) -> Threshold:
        """Return the threshold of `subtask`, whatever the model, kind and selection."""
        if subtask in self.by_subtask:
            return Threshold(self.by_subtask[subtask], "policy", subtask)
        return fallback(subtask)
