"""Thresholds that come with the project, so that the gate works before a user has runs of their own.

Beside them lies what they were learnt from: scores and labels of observed runs, no texts. Runs of several
sittings add up; each adds to the history, and the thresholds are learnt anew from all of it.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from calibration import CalibrationError
from calibration.fit import fit
from calibration.labels import LABEL_SOURCE, Group, Response
from calibration.snapshot import Snapshot, from_json, save

FOLDER = Path(__file__).with_name("shipped")
NUMBER = 0
"""Of the shipped snapshot; those of a store count from 1."""

_HISTORY, _SNAPSHOT = "history.csv", "snapshot.json"
_HEAD = ("run", "position", "task", "began", *Group._fields, "u", "outcome")


def shipped(folder: Path | None = None) -> Snapshot | None:
    """The snapshot in `folder`, by default the project's own; None where none is shipped.

    Raises CalibrationError where it cannot be used.
    """
    path = (folder or FOLDER) / _SNAPSHOT
    return replace(from_json(path.read_bytes(), str(path)), number=NUMBER) if path.is_file() else None


def shipped_for(model: str) -> Snapshot | None:
    """The shipped snapshot where it knows `model`, else None."""
    snapshot = shipped()
    return snapshot if snapshot and not snapshot.lacks(model) else None


def ship(responses: Iterable[Response], method: str, alpha: float, folder: Path) -> Snapshot:
    """Add `responses` to the history in `folder` and learn the snapshot there anew; a run counts once.

    Raises CalibrationError; the folder is then as it was.
    """
    history = {(one.run, one.position): one for one in [*read_history(folder / _HISTORY), *responses]}
    answers = sorted(history.values(), key=lambda one: (one.began, one.run, one.position))
    moment = datetime.now(timezone.utc).isoformat(timespec="seconds")
    snapshot = Snapshot(NUMBER, None, moment, method, alpha, LABEL_SOURCE, fit(answers, method, alpha))
    folder.mkdir(parents=True, exist_ok=True)
    _write_history(answers, folder / _HISTORY)
    save(snapshot, folder / _SNAPSHOT)
    return snapshot


def read_history(path: Path) -> list[Response]:
    """The responses in `path`; none where it is not there. Raises CalibrationError."""
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        if tuple(head) != _HEAD:
            raise ValueError(f"its columns are {','.join(head)}")
        return [_response(*row) for row in rows]
    except (ValueError, TypeError, csv.Error) as error:
        raise CalibrationError(f"{path} is not a history of this version ({error}).") from error


def _response(run: str, position: str, task: str, began: str, *rest: str) -> Response:
    *group, u, outcome = rest
    return Response(run, int(position), task, began, Group(*group), float(u), outcome)  # type: ignore[arg-type]


def _write_history(answers: Sequence[Response], path: Path) -> None:
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEAD)
        writer.writerows((r.run, r.position, r.task, r.began, *r.group, repr(r.u), r.outcome) for r in answers)
    os.replace(part, path)
