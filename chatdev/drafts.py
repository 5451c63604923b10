"""Policies that draw several drafts of code and hand on the one that most agree with when they are run.

`functional` always draws them; `cascade` only where there is a reason to doubt the first draft, and where the
budget allows it. Log-probs are blind to a confident mistake; what programs do is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from camel.messages import Answer
from chatdev.checkpoint import Verdict
from chatdev.handoff import Handoff, Hook
from journal import Journal
from journal.events import Sampled
from uq.agreement import agreement
from uq.scores import Unavailable
from uq.token_selection import CONTENT
from uq.token_uncertainty import token_uncertainty

Doubt = Callable[[Handoff, Verdict], str]
"""Why more drafts are worth their tokens; empty where they are not."""


@dataclass(frozen=True)
class Drafting:
    """How many drafts of which subtasks are drawn besides the first answer, and at what temperature."""

    more: int = 3
    temperature: float = 0.8
    subtasks: frozenset[str] = frozenset({"Coding"})


def always(handoff: Handoff, verdict: Verdict) -> str:
    """The policy `functional`: agreement is worth having for every draft."""
    return "drafts are compared by what they do"


def where_it_fails(handoff: Handoff, verdict: Verdict) -> str:
    """The policy `cascade`: a first draft that shows all that was written down beforehand is good enough."""
    if not verdict.works:
        return f"the first draft does not work: {verdict.reason}"
    wrong = sum(result.points < 2 for result in verdict.results)
    return f"the first draft differs in {wrong} of {len(verdict.results)} acceptance runs" if wrong else ""


DOUBTS: Mapping[str, Doubt] = {"functional": always, "cascade": where_it_fails}


def within(budget: int, spent: Callable[[], int], doubt: Doubt, drafting: Drafting = Drafting()) -> Doubt:
    """`doubt`, unless the drafts would cost more tokens than `budget` leaves."""

    def affordable(handoff: Handoff, verdict: Verdict) -> str:
        cost = drafting.more * len(handoff.answer.tokens)
        return doubt(handoff, verdict) if spent() + cost <= budget else ""

    return affordable


def drafting_hook(journal: Journal, doubt: Doubt, drafting: Drafting = Drafting()) -> Hook:
    """A hook that draws drafts where `doubt` gives a reason, and hands on the one with the most agreement."""

    def hook(handoff: Handoff) -> Answer:
        if handoff.trial is None or handoff.subtask not in drafting.subtasks:
            return handoff.answer
        reason = doubt(handoff, handoff.trial(handoff.answer))
        if not reason:
            return handoff.answer
        drafts = [handoff.answer, *filter(handoff.usable, _more(handoff, drafting))]
        verdicts = [handoff.trial(draft) for draft in drafts]
        agreements = agreement([verdict.behaviour for verdict in verdicts])
        # Drafts can agree in being unfinished.
        rank = [
            (handoff.usable(draft), verdict.works, share, -_u(draft))
            for draft, share, verdict in zip(drafts, agreements, verdicts, strict=True)
        ]
        chosen = rank.index(max(rank))
        journal.append(
            Sampled(
                subtask=handoff.subtask,
                reason=reason,
                agreements=[round(share, 4) for share in agreements],
                works=[verdict.works for verdict in verdicts],
                inputs=max(len(verdict.results) for verdict in verdicts),
                chosen=chosen,
            )
        )
        return drafts[chosen]

    return hook


def _more(handoff: Handoff, drafting: Drafting) -> list[Answer]:
    return handoff.sample(handoff.role, drafting.more, drafting.temperature, "", handoff.answer)


def _u(answer: Answer) -> float:
    measured = token_uncertainty(answer, CONTENT)
    return math.inf if isinstance(measured, Unavailable) else measured.value
