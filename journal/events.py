"""Event types. Each is a frozen dataclass of plain JSON values; its class name is its `type` on disk.

An event that records an effect (a model call, an execution, a line a person typed) carries `key`, a digest
of what was asked: a resumed run gives the recorded result back when the same thing is asked again.
Numbers that JSON cannot hold are written as the strings "inf", "-inf" and "nan"; `float()` reads them back.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1


@dataclass(frozen=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True)
class RunStarted(Event):
    """Everything that `--resume` needs to start the same run again.

    `thresholds_snapshot` is the number of the snapshot of learnt thresholds that the run is pinned to.
    """

    product: str
    organization: str
    stamp: str
    task: str
    settings: dict[str, Any]
    model: str
    schema: int = SCHEMA
    thresholds_snapshot: int | None = None


@dataclass(frozen=True)
class SubtaskStarted(Event):
    subtask: str
    cycle: int | None = None


@dataclass(frozen=True)
class Answered(Event):
    """One model call. `tokens` is a list of [text, logprob in nats, [[alternative, logprob], ...]].

    `window` is the model's, in tokens, where the prompt did not fit into it and the server said so.
    """

    key: str
    subtask: str
    role: str
    purpose: str
    messages: list[dict[str, str]]
    sampling: dict[str, Any]
    text: str
    tokens: list[list[Any]]
    usage: dict[str, int]
    finish_reason: str
    logprob_kind: str
    seconds: float
    model: str
    window: int | None = None


@dataclass(frozen=True)
class Measured(Event):
    """The uncertainty of an answer before any remedy, the threshold, and what was decided."""

    subtask: str
    action: str
    reason: str
    measurement: dict[str, Any]
    threshold: dict[str, Any]


@dataclass(frozen=True)
class Retrieved(Event):
    """One look-up: the query, who was asked with what outcome, and what was found.

    `source` is who answered; `steps` holds every search engine and page asked. `nonce` marks the passages
    in the prompt.
    """

    key: str
    subtask: str
    query: str
    source: str
    outcome: str
    steps: list[dict[str, Any]]
    hits: list[dict[str, Any]]
    passages: list[dict[str, Any]]
    nonce: str
    seconds: float


@dataclass(frozen=True)
class Remedied(Event):
    """What was done about a doubtful answer: the question, both answers' decisions, and which was kept."""

    subtask: str
    remedy: str
    question: str
    before: dict[str, Any]
    after: dict[str, Any]
    text_before: str
    text_after: str
    refusal: str


@dataclass(frozen=True)
class Gated(Event):
    """How a handoff ended: u before and after, whether it triggered, and whether it stays flagged."""

    subtask: str
    u_pre: float | str | None
    u_post: float | str | None
    triggered: bool
    flagged: bool
    replaced: bool
    remedies: list[str]


@dataclass(frozen=True)
class Sampled(Event):
    """Drafts compared by what they do on `inputs` inputs: why, how far each agrees with the others (0 to 1),
    which of them work, their points in the acceptance runs, and which was handed on; the first answer is
    draft 0. `grafts` are functions of it that gave way to those of another draft, each with its number."""

    subtask: str
    reason: str
    agreements: list[float]
    works: list[bool]
    inputs: int
    chosen: int
    points: list[int] = field(default_factory=list)
    grafts: dict[str, int] = field(default_factory=dict)

    @property
    def kept(self) -> str:
        """Which draft was handed on, counted from 1, and what of it came from others."""
        grafts = ", ".join(f"{function} of draft {number + 1}" for function, number in self.grafts.items())
        return f"draft {self.chosen + 1} of {len(self.works)}{f' with {grafts}' if grafts else ''}"


@dataclass(frozen=True)
class Deliberated(Event):
    """What policy HASSUM decided after a round of answers, and why; the fields are those of
    uq.hassum.Deliberation, with scores as objects."""

    subtask: str
    number: int
    action: str
    roles: list[str]
    samples: int
    groups: list[list[int]]
    entropy: dict[str, Any] | None
    density: dict[str, Any] | None
    settings: dict[str, Any]
    concerns: list[str]
    backends: dict[str, str]
    decision: str
    reason: str
    said: str
    flagged: bool
    kept: str
    kept_number: int = 0


@dataclass(frozen=True)
class FilesChanged(Event):
    """Unified diffs by path, and what was refused with the reason."""

    subtask: str
    diffs: dict[str, str]
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Executed(Event):
    """One run of a program in the sandbox."""

    key: str
    purpose: str
    command: list[str]
    result: dict[str, Any]
    seconds: float = 0.0


@dataclass(frozen=True)
class Typed(Event):
    """What a person said when asked, empty where that was nothing; `leaves` where nothing more will come."""

    key: str
    subtask: str
    text: str
    leaves: bool


@dataclass(frozen=True)
class Drawn(Event):
    """A picture put into the product, in base64; `placeholder` says why it is only one, where a server failed."""

    key: str
    subtask: str
    path: str
    description: str
    png: str
    placeholder: str = ""


@dataclass(frozen=True)
class Learnt(Event):
    """What similar products taught, as it was before the run began."""

    key: str
    text: str


@dataclass(frozen=True)
class Checked(Event):
    """The verdict on the product after a subtask that changed it."""

    subtask: str
    passed: bool
    verdict: dict[str, Any]


@dataclass(frozen=True)
class RolledBack(Event):
    """A change that made the product worse was taken back."""

    subtask: str
    reason: str
    diffs: dict[str, str]


@dataclass(frozen=True)
class Noted(Event):
    """Something a reader of the run should know: a refusal, a repair, a warning."""

    subtask: str
    note: str


@dataclass(frozen=True)
class SubtaskEnded(Event):
    """One handoff: its conclusion, and what it cost in calls, tokens and seconds of the engine."""

    subtask: str
    conclusion: str
    calls: int
    usage: dict[str, int]
    seconds: float


@dataclass(frozen=True)
class Interrupted(Event):
    reason: str


@dataclass(frozen=True)
class Resumed(Event):
    """A later process went on from here. Of the events before this one only the first `kept` count."""

    kept: int


@dataclass(frozen=True)
class RunEnded(Event):
    exit_code: int
    verdict: dict[str, Any]
    totals: dict[str, Any]


TYPES: dict[str, type[Event]] = {cls.__name__: cls for cls in Event.__subclasses__()}


def digest(*parts: Any) -> str:
    """SHA-256 of the JSON of `parts`: the key under which an effect is recalled."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
