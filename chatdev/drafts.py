"""Policies that draw several drafts of code and hand on the best by what they do when they are run.

`functional` draws them wherever runs or probes show what programs do, and hands on the one that most agree with.
`cascade` draws them only where there is a reason to doubt the first draft, and where the budget allows it; it
hands on the one that shows most of what was written down beforehand, then the one that most agree with. Log-probs
are blind to a confident mistake; what programs do is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from camel.messages import Answer
from chatdev.checkpoint import Verdict
from chatdev.handoff import Handoff, Hook
from journal import Journal
from journal.events import Noted, Sampled
from uq.agreement import agreement
from uq.scores import Unavailable
from uq.token_selection import CONTENT
from uq.token_uncertainty import token_uncertainty

Doubt = Callable[[Handoff, Verdict], str]
"""Why more drafts are worth their tokens; empty where they are not."""

Merit = Callable[[Verdict, float], tuple[float, ...]]
"""How good a working draft is, larger is better: by its verdict, and by how far the others agree with it."""


@dataclass(frozen=True)
class Drafting:
    """How many drafts of which subtasks are drawn besides the first answer, and at what temperature."""

    more: int = 4
    temperature: float = 0.6
    subtasks: frozenset[str] = frozenset({"Coding"})


def always(handoff: Handoff, verdict: Verdict) -> str:
    """The policy `functional`: agreement is worth having for every draft, where there is something to agree in."""
    if not verdict.works:
        return f"the first draft does not work: {verdict.reason}"
    return "drafts are compared by what they do" if verdict.behaviour.shown else ""


def where_it_fails(handoff: Handoff, verdict: Verdict) -> str:
    """The policy `cascade`: a first draft that shows all that was written down beforehand is good enough.

    Where that is nothing, what the task itself shows decides.
    """
    if not verdict.works:
        return f"the first draft does not work: {verdict.reason}"
    wrong = sum(result.points < 2 for result in verdict.results)
    if wrong:
        return f"the first draft differs in {wrong} of {len(verdict.results)} acceptance runs"
    if verdict.flaws:
        return f"the first draft reads wrong: {verdict.flaws[0].why}"
    failing = [probe for probe in verdict.probes if probe.points < 2]
    if failing and not verdict.seen:
        why = failing[0].difference or "must end well"
        return f"no acceptance run shows what the first draft does, and a probe {why}"
    return ""


def most_agreed(verdict: Verdict, agreement: float) -> tuple[float, ...]:
    """Programs that are right do the same, programs that are wrong err each in its own way."""
    return (agreement,)


def most_shown(verdict: Verdict, agreement: float) -> tuple[float, ...]:
    """Whoever wrote down beforehand what must be seen knew no draft: where these differ, that comes first."""
    return (*verdict.shown, agreement)


@dataclass(frozen=True)
class DraftPolicy:
    """When more drafts are drawn, what makes one of them better than another, and whether functions of the others
    replace its own where the program then shows more."""

    doubt: Doubt
    merit: Merit
    combines: bool = False


POLICIES: Mapping[str, DraftPolicy] = {
    "functional": DraftPolicy(always, most_agreed),
    "cascade": DraftPolicy(where_it_fails, most_shown, combines=True),
}


def drafting_hook(
    journal: Journal,
    policy: DraftPolicy,
    drafting: Drafting = Drafting(),
    left: Callable[[], float] = lambda: math.inf,
) -> Hook:
    """A hook that draws drafts where `policy` has a doubt, and hands on the one of most merit.

    Where the tokens that are `left` do not hold all of them, fewer are drawn, and a note says so.
    """

    def hook(handoff: Handoff) -> Answer:
        if handoff.trial is None or handoff.subtask not in drafting.subtasks:
            return handoff.answer
        reason = policy.doubt(handoff, handoff.trial(handoff.answer))
        if not reason:
            return handoff.answer
        usage = handoff.answer.usage
        # A server need not tell the tokens, but how many they were.
        prompt, length = usage.prompt_tokens, max(usage.completion_tokens, len(handoff.answer.tokens))
        more = int(min(drafting.more, (left() - prompt) / max(1, length)))
        if more < drafting.more:
            note = f"{reason}; the budget has {left():.0f} tokens left, enough for {max(0, more)} more drafts"
            journal.append(Noted(handoff.subtask, note))
        if more < 1:
            return handoff.answer
        drafts = [handoff.answer, *filter(handoff.usable, _more(handoff, replace(drafting, more=more)))]
        verdicts = [handoff.trial(draft) for draft in drafts]
        agreements = agreement([verdict.behaviour for verdict in verdicts])
        # Drafts can agree in being unfinished.
        rank = [
            (handoff.usable(draft), verdict.works, *policy.merit(verdict, share), -_u(draft))
            for draft, share, verdict in zip(drafts, agreements, verdicts, strict=True)
        ]
        chosen = rank.index(max(rank))
        best, grafts = drafts[chosen], dict[str, int]()
        if handoff.combine is not None and policy.combines:
            best, grafts = handoff.combine(drafts, chosen)
        journal.append(
            Sampled(
                subtask=handoff.subtask,
                reason=reason,
                agreements=[round(share, 4) for share in agreements],
                works=[verdict.works for verdict in verdicts],
                points=[verdict.points for verdict in verdicts],
                inputs=max(len(verdict.results) for verdict in verdicts),
                chosen=chosen,
                grafts=grafts,
            )
        )
        return best

    return hook


def _more(handoff: Handoff, drafting: Drafting) -> list[Answer]:
    return handoff.sample(handoff.role, drafting.more, drafting.temperature, "", handoff.answer)


def _u(answer: Answer) -> float:
    measured = token_uncertainty(answer, CONTENT)
    return math.inf if isinstance(measured, Unavailable) else measured.value
