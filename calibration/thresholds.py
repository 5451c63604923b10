"""Learnt thresholds, as the gate looks them up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calibration.labels import Group
from calibration.snapshot import Snapshot
from uq.threshold import Threshold, Thresholds
from uq.token_uncertainty import NAME


@dataclass(frozen=True)
class StoreThresholds:
    """Thresholds of one snapshot, to which a run stays pinned; those set `by_hand` come first."""

    snapshot: Snapshot
    by_hand: Thresholds
    signal: str = NAME

    def lookup(self, subtask: str, model: str, logprob_kind: str, selection: str) -> Threshold:
        """Return the threshold set by hand, else the one learnt of exactly such answers, else the fallback."""
        threshold = self.by_hand.lookup(subtask, model, logprob_kind, selection)
        if threshold.source != "fallback":
            return threshold
        return self.snapshot.lookup(Group(subtask, model, logprob_kind, selection, self.signal))


def default_store(warehouse: Path) -> Path:
    """Where the thresholds learnt from the runs in `warehouse` lie unless told otherwise."""
    return warehouse.absolute().parent / "calibration" / "store.sqlite"
