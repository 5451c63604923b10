"""What the gate should do: which signal, thresholds and remedies, and how far it may go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, get_args

from uq.hassum import HassumSettings
from uq.remedies import Remedy, Reprompt, Retrieve
from uq.threshold import FixedThresholds, Thresholds
from uq.token_selection import CONTENT, SELECTIONS
from uq.token_uncertainty import NAME, Signal, token_uncertainty

Mode = Literal["act", "observe"]
OnUnavailable = Literal["proceed", "stop"]

SIGNALS: Mapping[str, Signal] = {NAME: token_uncertainty}
REMEDIES: Mapping[str, Remedy] = {"retrieve": Retrieve(), "reprompt": Reprompt()}

T = TypeVar("T")


class PolicyError(ValueError):
    """A policy cannot be used; the message names the key, what it holds and what it may hold."""

    def __init__(self, key: str, complaint: str) -> None:
        super().__init__(f"{key}: {complaint}")
        self.key = key
        self.complaint = complaint


@dataclass(frozen=True)
class Policy:
    """The gate's orders.

    In mode `observe` all is measured and nothing done. `selections` names the token selection by
    subtask, `content-v1` for the rest. On a trigger the `remedies` are tried in order, the last one
    again and again, at most `cap` questions in all for each answer. `on_unavailable` says what an answer that
    cannot be measured does to the run. `hassum` is for those who run the policy of that name.
    """

    mode: Mode = "act"
    signal: Signal = token_uncertainty
    selections: Mapping[str, str] = field(default_factory=dict)
    remedies: tuple[Remedy, ...] = (REMEDIES["reprompt"],)
    cap: int = 2
    on_unavailable: OnUnavailable = "proceed"
    thresholds: Thresholds = field(default_factory=FixedThresholds)
    hassum: HassumSettings = HassumSettings()

    def selection(self, subtask: str) -> str:
        """Return the name of the token selection for answers of `subtask`."""
        return self.selections.get(subtask, CONTENT)


def policy_from(data: Mapping[str, object]) -> Policy:
    """Return the policy that `data`, the content of an UncertaintyConfig.json, describes.

    Every key is optional: `mode`, `signal`, `selections` (subtask to name), `remedies` (names), `cap`,
    `on_unavailable`, `thresholds` (subtask to tau in nats), `hassum` (its `density`, `entropy`, `samples`,
    `temperature` and `cap`). Raises PolicyError naming the key at fault.
    """
    for key in data:
        if key not in _READERS:
            raise PolicyError(key, f"there is no such key; there are {', '.join(_READERS)}")
    return Policy(**{key: _READERS[key](key, value) for key, value in data.items()})


def _choice(options: Mapping[str, T]) -> Callable[[str, object], T]:
    def read(key: str, value: object) -> T:
        if not isinstance(value, str) or value not in options:
            raise PolicyError(key, f"{value!r} is not one of {', '.join(options)}")
        return options[value]

    return read


def _by_subtask(read_item: Callable[[str, object], T]) -> Callable[[str, object], Mapping[str, T]]:
    def read(key: str, value: object) -> Mapping[str, T]:
        if not isinstance(value, Mapping):
            raise PolicyError(key, f"{value!r} is not an object with subtasks as keys")
        return {subtask: read_item(f"{key}.{subtask}", item) for subtask, item in value.items()}

    return read


def _remedies(key: str, value: object) -> tuple[Remedy, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise PolicyError(key, f"{value!r} is not a list of names")
    return tuple(_choice(REMEDIES)(f"{key}[{place}]", name) for place, name in enumerate(value))


def _cap(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise PolicyError(key, f"{value!r} is not a whole number of 0 or more")
    return value


def _tau(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= sys.float_info.max:
        raise PolicyError(key, f"{value!r} is not a finite number of 0 or more")
    return float(value)


def _hassum(key: str, value: object) -> HassumSettings:
    known = [field.name for field in fields(HassumSettings)]
    if not isinstance(value, Mapping) or not set(value) <= set(known):
        raise PolicyError(key, f"{value!r} is not an object with keys of {', '.join(known)}")
    for name, number in value.items():
        off = number is None and name in ("density", "entropy")
        whole = isinstance(number, int) or name not in ("samples", "cap")
        if not off and not (isinstance(number, (int, float)) and not isinstance(number, bool) and whole):
            raise PolicyError(f"{key}.{name}", f"{number!r} is not a number that it can be")
    try:
        return HassumSettings(**value)
    except ValueError as error:
        raise PolicyError(key, str(error)) from error


def _names(names: Iterable[str]) -> Callable[[str, object], str]:
    return _choice({name: name for name in names})


_READERS: Mapping[str, Callable[[str, object], Any]] = {
    "mode": _names(get_args(Mode)),
    "signal": _choice(SIGNALS),
    "selections": _by_subtask(_names(SELECTIONS)),
    "remedies": _remedies,
    "cap": _cap,
    "on_unavailable": _names(get_args(OnUnavailable)),
    "thresholds": lambda key, value: FixedThresholds(_by_subtask(_tau)(key, value)),
    "hassum": _hassum,
}
