"""Thresholds from labelled responses."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from calibration import CalibrationError
from calibration.labels import Group, Response, by_group
from calibration.quantiles import METHODS
from calibration.separation import auroc
from calibration.snapshot import GroupThreshold
from uq.threshold import FALLBACK_TAU

MINIMUM = 50
"""Correct answers, of distinct tasks, from which on a threshold is learnt. With as few, the true rate of
triggers on correct answers lies anywhere between 4 and 17 % where 10 % were asked for."""


def fit(history: Iterable[Response], method: str, alpha: float) -> tuple[GroupThreshold, ...]:
    """Learn a threshold for each group of `history`, in the order of the groups' names.

    Raises CalibrationError where the history is censored, where it is empty, and where a threshold could
    never be exceeded.
    """
    if not 0 < alpha < 1:
        raise CalibrationError(f"alpha is {alpha:g}, but must lie between 0 and 1.")
    groups = by_group(history)
    if not groups:
        raise CalibrationError("No answer was measured. Make runs with --uq observe and give their WareHouse.")
    _refuse_censored(groups)
    return tuple(_learn(group, answers, method, alpha) for group, answers in groups.items())


def _learn(group: Group, answers: Sequence[Response], method: str, alpha: float) -> GroupThreshold:
    answers = sorted(answers, key=lambda answer: (answer.run, answer.position))
    counts = Counter(answer.outcome for answer in answers)
    values = [answer.u for answer in _one_a_task(answers)]
    quantile = None
    reason = "" if len(values) >= MINIMUM else f"lacks {MINIMUM - len(values)} of {MINIMUM} correct answers"
    if not reason:
        quantile = METHODS[method](values, alpha)
        if quantile.reason:
            raise CalibrationError(
                f"Nothing could ever exceed the threshold of {group.subtask} ({quantile.reason}). "
                "Choose a larger --alpha or give more runs."
            )
    return GroupThreshold(
        group=group,
        tau=quantile.tau if quantile else FALLBACK_TAU,
        reason=reason,
        n_correct=len(values),
        n_incorrect=counts["incorrect"],
        n_unknown=counts["unknown"],
        rank=quantile.rank if quantile else None,
        rates=quantile.trigger_range if quantile else None,
        auroc=auroc(answers),
        window_start=min(answer.began for answer in answers),
        window_end=max(answer.began for answer in answers),
        history_digest=_digest(answers),
    )


def _one_a_task(answers: Iterable[Response]) -> list[Response]:
    """Of each task one correct answer, drawn by digest: answers to one task are no independent evidence,
    and the first of a task is not like the later ones."""
    drawn: dict[str, tuple[bytes, Response]] = {}
    for answer in answers:
        if answer.outcome == "correct":
            lot = hashlib.sha256(f"{answer.run}/{answer.position}".encode()).digest()
            if answer.task not in drawn or lot < drawn[answer.task][0]:
                drawn[answer.task] = (lot, answer)
    return [answer for _, answer in drawn.values()]


def _digest(answers: Iterable[Response]) -> str:
    total = hashlib.sha256()
    for answer in answers:
        total.update(f"{answer.run}/{answer.position} {answer.task} {answer.u!r} {answer.outcome}\n".encode())
    return total.hexdigest()[:32]


def _refuse_censored(groups: dict[Group, list[Response]]) -> None:
    answers = (answer for some in groups.values() for answer in some)
    censored = Counter(answer.group.subtask for answer in answers if answer.outcome == "censored")
    if censored:
        counts = ", ".join(f"{subtask} {count}" for subtask, count in sorted(censored.items()))
        raise CalibrationError(
            f"Answers that were replaced have no label ({counts}). Learnt from the others alone, "
            "thresholds would sink round by round. Learn from runs made with --uq observe; --observed-only "
            "leaves out all others."
        )
