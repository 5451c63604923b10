"""Scoring code: `await score_code(prompts, sampler=..., executor=...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uq.clustering import Judge, Verdicts, leader_clusters, with_evidence
from uq.code_text import code_in
from uq.evidence import Evidence, Sampler
from uq.execution import Call, ExecutionJudge, Executor, Run, Trials, run_candidates
from uq.functional_equivalence import (
    AGREEMENT,
    NEGENTROPY,
    RATE,
    SETS,
    functional_agreement,
    functional_equivalence_rate,
    functional_scores,
)
from uq.inputs import function_trials
from uq.one_word import asked
from uq.scores import Measurement, Unavailable
from uq.scoring import Scorer, ScoreResult, Scores, score_with
from uq.shrinking import shrunk
from uq.token_uncertainty import NAME

_VERDICTS = {
    "equivalent": True,
    "different": False,
    "not equivalent": False,
    "inequivalent": False,
    "non equivalent": False,
    "nonequivalent": False,
}


def code_judge(sampler: Sampler, task: str) -> Judge:
    """Return a judge who asks `sampler` whether two programs for `task` do the same."""

    def judge(first: str, second: str) -> bool | None:
        return asked(sampler, "judge_code.txt", _VERDICTS, task=task.strip(), first=first, second=second)

    return judge


@dataclass(frozen=True, kw_only=True)
class CodeScorer(Scorer):
    """Measures code: token uncertainty and the figures of functional equivalence.

    With an `executor` candidates are judged by what they do: on `inputs` calls made from the task and the
    types of the function it asks for, on ten more that the model names with `ask_for_inputs`, or, for
    whole programs, on `runs`. Without one, `judge` (or else `sampler`) says what is equivalent.
    """

    executor: Executor | None = None
    judge: Sampler | None = None
    inputs: int = 20
    ask_for_inputs: bool = False
    runs: tuple[Run, ...] = ()

    @staticmethod
    def needs() -> Mapping[str, tuple[str, ...]]:
        """Return the signals with their needs."""
        compared = dict.fromkeys((RATE, NEGENTROPY, SETS), ("samples", "an executor or a judge"))
        return {NAME: ("tokens",), **compared, AGREEMENT: ("samples", "an executor")}

    def assess(self, prompt: str, answers: Sequence[Evidence], wanted: Sequence[str]) -> tuple[Scores, str]:
        """Return the figures; a difference where candidates were run."""
        if set(wanted) <= {NAME}:
            return {}, ""
        codes = [code_in(answer.text) for answer in answers]
        if not codes[0].strip():
            nothing = Unavailable(
                "no_code", "The answer holds no code; that others hold none either is no agreement."
            )
            return {name: nothing for name in self.needs() if name != NAME}, ""
        if self.executor is None:
            verdicts = Verdicts(code_judge(self.judge or self.sampler, prompt))
            unrun = Unavailable("no_executor", "Nothing was run; hand in an executor.")
            compared = _compared(codes, verdicts, wanted) if set(wanted) - {NAME, AGREEMENT} else {}
            return {**compared, AGREEMENT: unrun}, ""
        judge = self._run(prompt, codes, self.executor)
        if isinstance(judge, Unavailable):
            return dict.fromkeys(self.needs(), judge), ""
        verdicts = Verdicts(judge, both_orders=False, strict=True)
        clustering = leader_clusters(codes, verdicts, inputs=len(judge.counting))
        agreement = functional_agreement([judge.agreement(codes[0], code) for code in codes[1:]])
        scores = {**functional_scores(clustering), AGREEMENT: with_evidence(agreement, clustering)}
        return scores, _difference(codes, clustering.anchored, judge, self.executor)

    def _run(self, prompt: str, codes: Sequence[str], executor: Executor) -> ExecutionJudge | Unavailable:
        if self.runs:
            trials: Trials | Unavailable = Trials(self.runs, given=len(self.runs))
        else:
            trials = function_trials(prompt, codes, self.inputs, self.sampler if self.ask_for_inputs else None)
        if isinstance(trials, Unavailable):
            return trials
        return run_candidates({code: {trials.place: code} for code in codes}, trials, executor)


def _compared(codes: Sequence[str], verdicts: Verdicts, wanted: Sequence[str]) -> dict[str, Measurement]:
    """The figures by a judge who must be asked; for the rate alone, about the answer's own pairs only."""
    if not {NEGENTROPY, SETS} & set(wanted):
        return {RATE: functional_equivalence_rate([verdicts.same(codes[0], code) for code in codes[1:]])}
    return dict(functional_scores(leader_clusters(codes, verdicts)))


def _difference(
    codes: Sequence[str], anchored: Sequence[bool | None], judge: ExecutionJudge, executor: Executor
) -> str:
    """What tells the answer from the first sample that does otherwise, "" where none does."""
    number = next((place for place, same in enumerate(anchored, 1) if same is False), None)
    found = judge.difference(codes[0], codes[number]) if number else None
    if number is None or found is None:
        return ""
    call, one, other = found
    if isinstance(call, Call):
        pair = {code: {judge.trials.place: code} for code in (codes[0], codes[number])}
        call, one, other = shrunk((call, one, other), pair, judge.trials, executor)
        shown = f"{judge.trials.function}({call.arguments})"
    else:
        shown = " ".join(("main.py", *call.argv))
    return f"{shown}: the answer {one.kind} {one.seen}, sample {number} {other.kind} {other.seen}"


async def score_code(
    prompts: Sequence[str],
    responses: Sequence[Evidence | str] | None = None,
    sampled_responses: Sequence[Sequence[Evidence | str]] = (),
    **settings: Any,
) -> ScoreResult:
    """Measure code that is given, or drawn where `responses` is None. `settings` are those of `CodeScorer`."""
    return await score_with(CodeScorer(**settings), prompts, responses, sampled_responses)
