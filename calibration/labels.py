"""From the journals of past runs to labelled responses: how uncertain an answer was, and whether it was right.

An answer is right when the code downstream of it passed the next subtask's checkpoint, that is, when the
next verdict on the product says that it is complete and runs:

    correct     the next checkpoint found the product complete and running
    incorrect   the next checkpoint found it broken, incomplete or failing
    unknown     no checkpoint came after the answer, or the product cannot be run here, or what runs is older
                code, since the step that was checked changed nothing
    censored    the answer was replaced after a trigger, or another draft was handed on, or several answers
                were deliberated on: nobody saw what would have become of it

Unknown is not incorrect. No code comes after a manual or a list of packages, so they stay unknown. u is
always that of the first answer, before any remedy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from calibration import CalibrationError
from journal import Event, JournalError, read
from journal.events import (
    Checked,
    Deliberated,
    FilesChanged,
    Gated,
    Measured,
    RunEnded,
    RunStarted,
    Sampled,
    digest,
)
from journal.journal import FILE_NAME

LABEL_SOURCE = "next-checkpoint-v1"
"""Names the rule above; thresholds learnt under another rule are not comparable."""

Outcome = Literal["correct", "incorrect", "unknown", "censored"]


class Group(NamedTuple):
    """What answers must have in common to share a threshold."""

    subtask: str
    model: str
    logprob_kind: str
    selection: str
    signal: str


@dataclass(frozen=True, slots=True)
class Response:
    """One measured answer: the `position`-th of its run. `u` is in nats, `began` the run's start as digits,
    `run` and `task` are digests."""

    run: str
    position: int
    task: str
    began: str
    group: Group
    u: float
    outcome: Outcome

    def __post_init__(self) -> None:
        if not (isinstance(self.u, (int, float)) and self.u >= 0):
            raise CalibrationError(
                f"An answer of {self.group.subtask} has the uncertainty {self.u}, but no run writes anything "
                "but numbers of 0 or more: the record was changed by hand. Remove it."
            )


@dataclass(frozen=True)
class Past:
    """What was read: the responses of `runs` runs, and why each of the other folders was left out."""

    responses: list[Response]
    runs: int
    skipped: dict[Path, str]


def read_runs(warehouses: Iterable[Path], *, observed_only: bool = False) -> Past:
    """Label every measured answer of the runs in `warehouses` (folders of product folders).

    A run found twice counts once. Truncated and foreign journals, with `observed_only` the runs that acted on
    doubtful answers, and warehouses without a journal beside others with some are named in `skipped`. Raises
    CalibrationError where a warehouse is not there, where none holds a journal, and where one holds an
    uncertainty that is not a number.
    """
    found = {warehouse: _journals(warehouse) for warehouse in warehouses}
    if not any(found.values()):
        raise CalibrationError(f"{next(iter(found))} holds no runs; give the folder in which product folders lie.")
    runs: dict[str, list[Response]] = {}
    skipped = {warehouse: "it holds no runs" for warehouse, paths in found.items() if not paths}
    for path in chain.from_iterable(found.values()):
        try:
            events = read(path)
            reason = _unusable(events, observed_only)
            if not reason:
                runs[_identity(events)] = responses(events)
        except JournalError as error:
            reason = str(error)
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            reason = f"{path}: an event lacks what it should hold ({error!r})"
        except CalibrationError as error:
            raise CalibrationError(f"{path}: {error}") from error
        if reason:
            skipped[path.parent] = reason
    return Past([response for run in runs.values() for response in run], len(runs), skipped)


def responses(events: Sequence[Event]) -> list[Response]:
    """Label the measured answers of one run, in order; an answer that could not be measured is none."""
    started = events[0]
    assert isinstance(started, RunStarted)
    run, task, began = _identity(events), digest(started.task), _text(started.stamp)
    labelled: list[Response] = []
    open_from = 0
    measured = changed = False
    for event in events:
        if isinstance(event, Measured):
            measured = "value" in event.measurement
            if measured:
                group, u = _group(event.subtask, event.measurement), float(event.measurement["value"])
                labelled.append(Response(run, len(labelled), task, began, group, u, "unknown"))
        elif measured and _replaced(event):
            labelled[-1] = replace(labelled[-1], outcome="censored")
        elif isinstance(event, FilesChanged):
            changed = bool(event.diffs)
        elif isinstance(event, Checked) and event.subtask:
            label = _label(event.verdict, changed)
            for place in range(open_from, len(labelled)):
                if labelled[place].outcome == "unknown":
                    labelled[place] = replace(labelled[place], outcome=label)
            open_from, changed = len(labelled), False
    return labelled


def by_group(answers: Iterable[Response]) -> dict[Group, list[Response]]:
    """The answers of each group, the groups in the order of their names."""
    groups: defaultdict[Group, list[Response]] = defaultdict(list)
    for answer in answers:
        groups[answer.group].append(answer)
    return dict(sorted(groups.items()))


def _journals(warehouse: Path) -> list[Path]:
    if not warehouse.is_dir():
        raise CalibrationError(f"There is no folder {warehouse}; give the one in which product folders lie.")
    return sorted(warehouse.glob(f"*/{FILE_NAME}"))


def _unusable(events: Sequence[Event], observed_only: bool) -> str:
    started = events[0]
    assert isinstance(started, RunStarted)
    if not isinstance(events[-1], RunEnded):
        return "the run has not ended; go on with it: python run.py --resume FOLDER"
    if observed_only and started.settings.get("uq") != "observe":
        return "the run was not made with --uq observe"
    return ""


def _identity(events: Sequence[Event]) -> str:
    return digest(asdict(events[0]))


def _group(subtask: str, measurement: dict[str, Any]) -> Group:
    names = ("model", "logprob_kind", "selection", "signal")
    return Group(_text(subtask), *(_text(measurement[name]) for name in names))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    value.encode()  # half a character is a ValueError, and no database takes it
    return value


def _replaced(event: Event) -> bool:
    """Whether the answer measured last may not be the one that was handed on."""
    if isinstance(event, Gated):
        return event.replaced
    if isinstance(event, Sampled):
        return event.chosen != 0 or bool(event.grafts)
    return isinstance(event, Deliberated)


def _label(verdict: dict[str, Any], changed: bool) -> Outcome:
    if not verdict["works"]:
        return "incorrect"
    return "correct" if changed and verdict["status"] != "not_verifiable" else "unknown"
