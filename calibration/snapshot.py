"""A snapshot: the thresholds that were learnt at one moment, with all that says where they came from."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from calibration import CalibrationError
from calibration.labels import LABEL_SOURCE, Group
from calibration.quantiles import METHODS
from uq.threshold import Threshold, fallback

SCHEMA = 1
REFIT = "Learn the thresholds again: python -m calibration fit WAREHOUSE --store NEW_FILE"


@dataclass(frozen=True)
class GroupThreshold:
    """What was learnt of one group. `tau` is in nats; `reason` says why it is the fallback, if it is.

    `n_correct` is the number of distinct tasks with a correct answer, one of which counts; the other
    numbers are answers. `rank` is the place of `tau` among the `n_correct`, `rates` the
    range in which the true share of triggers on correct answers lies, `auroc` how well u tells wrong
    answers from right ones. The window is that of the runs' starts.
    """

    group: Group
    tau: float
    reason: str
    n_correct: int
    n_incorrect: int
    n_unknown: int
    rank: float | None
    rates: tuple[float, float] | None
    auroc: float | None
    window_start: str
    window_end: str
    history_digest: str


@dataclass(frozen=True)
class Snapshot:
    """Immutable. `number` is its place in the store, `parent` the snapshot before it there."""

    number: int
    parent: int | None
    created_at: str
    method: str
    alpha: float
    label_source: str
    thresholds: tuple[GroupThreshold, ...]

    def lookup(self, group: Group) -> Threshold:
        """Return the threshold of exactly this group; the fallback where none was learnt."""
        found = next((item for item in self.thresholds if item.group == group), None)
        if found is None:
            return fallback(group.subtask)
        if found.reason:
            return replace(fallback(group.subtask), n_correct=found.n_correct, reason=found.reason)
        return Threshold(
            tau=found.tau,
            source=f"calibrated #{self.number}",
            subtask=group.subtask,
            n_correct=found.n_correct,
            method=self.method,
            alpha=self.alpha,
            model=group.model,
            logprob_kind=group.logprob_kind,
            selection=group.selection,
        )

    def lacks(self, model: str) -> str:
        """Say that nothing was learnt of `model`, and what to do about it; "" where something was."""
        learnt = {item.group.model for item in self.thresholds if not item.reason}
        if model in learnt:
            return ""
        return (
            f"Snapshot #{self.number} has thresholds of {', '.join(sorted(learnt)) or 'no model'}, not of "
            f"{model}: the fallback is used. Make runs with --model {model} --uq observe and learn from them: "
            "python -m calibration fit WAREHOUSE"
        )


def to_json(snapshot: Snapshot) -> str:
    """Return the snapshot as JSON, without NaN and infinities."""
    record = {"schema": SCHEMA, **asdict(snapshot)}
    record["thresholds"] = [{**item, "group": item["group"]._asdict()} for item in record["thresholds"]]
    return json.dumps(record, allow_nan=False, indent=1)


def save(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot to the file `path`, whole or not at all. Raises CalibrationError and OSError."""
    if path.is_dir():
        raise CalibrationError(f"{path} is a folder; name a file in it.")
    part = path.with_name(f"{path.name}.part")
    with open(part, "w", encoding="utf-8") as file:
        file.write(to_json(snapshot) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def from_json(text: str | bytes, origin: str) -> Snapshot:
    """Read what `to_json` wrote, from `origin`. Raises CalibrationError for what cannot have been learnt."""
    try:
        record = json.loads(text)
        schema = record.pop("schema")
        if schema != SCHEMA:
            raise CalibrationError(f"{origin} has schema {schema}, but this version reads {SCHEMA}. {REFIT}")
        thresholds = tuple(map(_group_threshold, record.pop("thresholds")))
        snapshot = Snapshot(**record, thresholds=thresholds)
        _check(snapshot)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise CalibrationError(f"{origin} holds no usable thresholds ({error}). {REFIT}") from error
    return snapshot


def _group_threshold(item: dict[str, Any]) -> GroupThreshold:
    rates = item["rates"] and tuple(item["rates"])
    return GroupThreshold(**{**item, "group": Group(**item["group"]), "rates": rates})


def _check(snapshot: Snapshot) -> None:
    if snapshot.method not in METHODS or not 0 < snapshot.alpha < 1:
        raise ValueError(f"method {snapshot.method!r}, alpha {snapshot.alpha!r}")
    if snapshot.label_source != LABEL_SOURCE:
        raise ValueError(f"labels by {snapshot.label_source!r} instead of {LABEL_SOURCE!r}")
    if not isinstance(snapshot.created_at, str):
        raise TypeError(f"created_at {snapshot.created_at!r}")
    for item in snapshot.thresholds:
        if not (isinstance(item.tau, (int, float)) and 0 <= item.tau <= sys.float_info.max):
            raise ValueError(f"a threshold of {item.group.subtask} is {item.tau!r}")
        if not _is_sound(item):
            raise ValueError(f"nobody can have learnt {item}")


def _is_sound(item: GroupThreshold) -> bool:
    """Whether all that is said of a threshold has the type and the bounds it should have; NaN has none."""
    texts = (*item.group, item.reason, item.window_start, item.window_end, item.history_digest)
    counts = (item.n_correct, item.n_incorrect, item.n_unknown)
    shares = (*(item.rates or (0, 1)), 0 if item.auroc is None else item.auroc)
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(count, int) and count >= 0 for count in counts)
        and (item.rank is None or 1 <= item.rank <= item.n_correct)
        and len(shares) == 3
        and all(0 <= share <= 1 for share in shares)
    )
