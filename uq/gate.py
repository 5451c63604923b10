"""The hook between two subtasks: measures the answer handed on and, where it is too uncertain, acts.

The gate never makes an uncertain answer look certain. What cannot be measured is never better than what
was; an answer that stays above its threshold is handed on flagged; and u as it was before any remedy
stays in the outcome, since thresholds learnt from repaired answers alone would collapse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from uq.decision import Decision, decide
from uq.evidence import Evidence
from uq.policy import Policy
from uq.remedies import AnswerT, Attempt, Case, Handoff, Remedy
from uq.scores import Unavailable


@dataclass(frozen=True)
class Remedied:
    """One remedy tried: what was asked, both answers with their decisions, and which one is kept.

    `refusal` says why the second answer was not kept; it is empty where it was.
    """

    remedy: str
    question: str
    before: Decision
    after: Decision
    text_before: str
    text_after: str
    refusal: str


@dataclass(frozen=True)
class GateOutcome:
    """How a handoff ended.

    `u_pre` is u of the first answer and `u_post` that of the answer handed on, None where it could not
    be measured. `triggered` is about the first answer, `flagged` about the one handed on: it is still
    above its threshold. `replaced` says whether they differ; `remedies` lists those tried.
    """

    subtask: str
    u_pre: float | None
    u_post: float | None
    triggered: bool
    flagged: bool
    replaced: bool
    remedies: tuple[str, ...]


GateRecord = Decision | Remedied | GateOutcome


class GateStopped(Exception):
    """An answer could not be measured and the policy is to stop then."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(
            f"The uncertainty of {decision.threshold.subtask} cannot be measured ({decision.reason}). "
            "Use an engine that reports raw log-probs, or set on_unavailable to proceed."
        )
        self.decision = decision


@dataclass(frozen=True)
class UncertaintyGate:
    """Call it with a handoff to get the answer to hand on.

    `report` receives every record before its effect is used: the first Decision, a Remedied for each
    remedy tried, and the GateOutcome.
    """

    policy: Policy
    report: Callable[[GateRecord], None]

    def __call__(self, handoff: Handoff[AnswerT]) -> AnswerT:
        """Return the answer to hand on. Raises GateStopped where the policy says so."""
        first = self._judge(handoff.subtask, handoff.answer)
        self.report(first)
        case = Case(handoff, handoff.answer, first)
        if self.policy.mode == "act":
            if first.action == "unavailable" and self.policy.on_unavailable == "stop":
                raise GateStopped(first)
            left = self.policy.cap
            for remedy in self._ladder():
                if case.decision.action != "trigger" or not left:
                    break
                attempt = remedy.apply(case)
                left -= 0 if isinstance(attempt.answer, Unavailable) else 1
                case = self._weigh(case, remedy.name, attempt)
        self.report(
            GateOutcome(
                subtask=handoff.subtask,
                u_pre=first.u,
                u_post=case.decision.u,
                triggered=first.action == "trigger",
                flagged=case.decision.action == "trigger",
                replaced=case.answer is not handoff.answer,
                remedies=case.tried,
            )
        )
        return case.answer

    def _judge(self, subtask: str, answer: Evidence) -> Decision:
        selection = self.policy.selection(subtask)
        threshold = self.policy.thresholds.lookup(subtask, answer.model, answer.logprob_kind, selection)
        return decide(self.policy.signal(answer, selection), threshold)

    def _ladder(self) -> tuple[Remedy, ...]:
        return self.policy.remedies[:-1] + self.policy.remedies[-1:] * self.policy.cap

    def _weigh(self, case: Case[AnswerT], remedy: str, attempt: Attempt[AnswerT]) -> Case[AnswerT]:
        answer = attempt.answer
        if isinstance(answer, Unavailable):
            after = decide(answer, case.decision.threshold)
            refusal = f"there is no second answer: {answer.detail or answer.reason}"
        else:
            after = self._judge(case.handoff.subtask, answer)
            refusal = _refusal(answer, after, case)
        self.report(
            Remedied(
                remedy=remedy,
                question=attempt.question,
                before=case.decision,
                after=after,
                text_before=case.answer.text,
                text_after="" if isinstance(answer, Unavailable) else answer.text,
                refusal=refusal,
            )
        )
        tried = (*case.tried, remedy)
        if isinstance(answer, Unavailable) or refusal:
            return replace(case, tried=tried)
        return replace(case, answer=answer, decision=after, tried=tried)


def _refusal(answer: AnswerT, after: Decision, case: Case[AnswerT]) -> str:
    new, old = after.measurement, case.decision.measurement
    if not answer.text.strip():
        return "it is empty"
    if answer.finish_reason == "length" != case.answer.finish_reason:
        return "it is cut short"
    if not case.handoff.usable(answer):
        return "it does not have the form asked for"
    if isinstance(new, Unavailable) or isinstance(old, Unavailable):
        return "it cannot be measured"
    if new.basis != old.basis:
        return "its uncertainty is of another kind and cannot be compared"
    return "" if new.value < old.value else "it is not more certain"
