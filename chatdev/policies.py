"""What stands between two subtasks under each policy: the hooks of the chain."""

from __future__ import annotations

from calibration.snapshot import Snapshot
from chatdev.asking import Asker
from chatdev.company import Company
from chatdev.deliberation import hassum_hook
from chatdev.drafts import POLICIES, drafting_hook
from chatdev.handoff import Hook
from chatdev.looking_up import Library
from chatdev.settings import Settings
from chatdev.uncertainty import uncertainty_hook


def hooks_of(
    settings: Settings, company: Company, asker: Asker, snapshot: Snapshot | None, library: Library | None
) -> list[Hook]:
    """The hooks of the policy that `settings` names."""
    journal, policy = asker.journal, settings.uq
    if policy == "off":
        return []
    if policy == "hassum":
        return [hassum_hook(company.uncertainty, journal, snapshot)]
    # The command line's `on` leaves it to the company, which may ask to be observed only.
    mode = "observe" if policy == "observe" else str(company.uncertainty.get("mode", "act"))
    gate = uncertainty_hook(company.uncertainty, mode, journal, snapshot, library)
    if policy not in POLICIES:
        return [gate]

    def left() -> int:
        return max(0, settings.budget - asker.usage.total_tokens)

    return [gate, drafting_hook(journal, POLICIES[policy], left=left)]
