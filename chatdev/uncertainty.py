"""The uncertainty gate as a hook of the chat chain: what it reports becomes events of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calibration.snapshot import Snapshot
from calibration.thresholds import StoreThresholds
from camel.messages import Answer
from chatdev.handoff import Handoff, Hook
from journal import Event, Journal
from journal.events import Gated, Measured, Remedied
from uq.decision import Decision
from uq.gate import GateOutcome, GateRecord, UncertaintyGate
from uq.policy import Policy, policy_from
from uq.remedies import Library, Remedy, Retrieve
from uq.scores import to_json


def uncertainty_hook(
    settings: Mapping[str, Any],
    mode: str,
    journal: Journal,
    snapshot: Snapshot | None = None,
    library: Library | None = None,
) -> Hook:
    """The gate that `settings` (an UncertaintyConfig.json) describes, in `mode` `act` or `observe`.

    Thresholds that `settings` does not set are those of `snapshot`; the remedy `retrieve` looks things up in
    `library` and is left out where there is none.

    Raises uq.policy.PolicyError naming the key at fault.
    """
    policy = _with_library(policy_from({**settings, "mode": mode}), library)
    if snapshot:
        policy = replace(policy, thresholds=StoreThresholds(snapshot, by_hand=policy.thresholds))

    def hook(handoff: Handoff) -> Answer:
        gate = UncertaintyGate(policy, lambda record: journal.append(_event(handoff.subtask, record)))
        return gate(handoff)

    return hook


def _with_library(policy: Policy, library: Library | None) -> Policy:
    remedies: list[Remedy] = []
    for remedy in policy.remedies:
        if not isinstance(remedy, Retrieve):
            remedies.append(remedy)
        elif library is not None:
            remedies.append(replace(remedy, library=library))
    return replace(policy, remedies=tuple(remedies))


def _event(subtask: str, record: GateRecord) -> Event:
    fields: dict[str, Any] = {"subtask": subtask, **to_json(record)}
    if isinstance(record, GateOutcome):
        return Gated(**fields)
    return Measured(**fields) if isinstance(record, Decision) else Remedied(**fields)
