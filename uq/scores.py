"""The outcome of a measurement: a `Score`, or `Unavailable`; never a number standing for "unknown"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True)
class Score:
    """How uncertain a signal found an answer; larger is more uncertain, +inf is a valid extreme.

    `n` is the number of observations behind `value`.
    """

    signal: str
    value: float
    n: int
    unit: str = "nats"
    selection: str = ""
    logprob_kind: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            raise ValueError("a score is never NaN; return Unavailable with the reason instead")

    @property
    def basis(self) -> tuple[str, ...]:
        """What the value rests on: only scores of one basis may be compared."""
        return (self.signal, self.unit, self.selection, self.logprob_kind, self.model)


@dataclass(frozen=True, kw_only=True)
class TokenScore(Score):
    """u of an answer (nats, in `value`) and what u cannot show.

    `smallest_p` is the least token probability, `worst_tenth` the mean surprise (nats) of the least
    likely tenth of the tokens (at least one), `mean_surprise` that of all of them. `nonfinite` counts
    tokens of probability zero, `censored` those a server gave a floor value for. `truncated` means the
    token limit cut the answer. `yes_share` is p(yes) / (p(yes) + p(no)) at the one token that counts,
    where the evidence shows both.
    """

    smallest_p: float
    worst_tenth: float
    mean_surprise: float
    nonfinite: int = 0
    censored: int = 0
    truncated: bool = False
    yes_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class SampleScore(Score):
    """What several answers to one question say. `value` is between 0 (sure) and 1 (unsure) for each signal.

    `raw` is the figure as its paper defines it, such as an entropy in nats or a share that agrees. `groups`
    are the answers (by number) found to mean or do the same. `decided` counts the pairs a judge had an
    opinion on and `abstained` the others; `lowest` and `highest` are `raw` if every abstention had been a
    no, or a yes. `inputs` says on how many inputs programs were compared, 0 where none were run.
    """

    raw: float
    unit: str = "share"
    groups: tuple[tuple[int, ...], ...] = ()
    decided: int = 0
    abstained: int = 0
    lowest: float | None = None
    highest: float | None = None
    inputs: int = 0


@dataclass(frozen=True)
class Unavailable:
    """No measurement. `reason` is one stable word for programs, `detail` a sentence for people."""

    reason: str
    detail: str = ""


Measurement = Score | Unavailable


def to_json(record: DataclassInstance) -> dict[str, object]:
    """Return a record of this package as plain values that any JSON writer takes.

    JSON has no infinity, so an infinite number becomes the string "inf" ("-inf"); `float()` reads both
    that and a number, and null keeps its one meaning, "not measured".
    """
    return {name: _plain(value) for name, value in asdict(record).items()}


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
