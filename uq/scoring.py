"""Scoring prompts from Python: `await score_code(prompts, ...)` and `await score_text(prompts, ...)`.

Both draw one answer to each prompt and several samples beside it, or take those they are given, and measure how
far they agree. Prompts are worked on side by side. A signal that cannot be measured stands in the result as
`Unavailable` with its reason; it never stops the others.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uq.clustering import Clustering, Verdicts, leader_clusters, with_evidence
from uq.code_judge import ModelCodeJudge
from uq.code_text import code_in
from uq.embedding import Embedder, open_embedder
from uq.entailment import Entailment, ModelEntailment, entails, remembered
from uq.evidence import Evidence, Sampler, TokenEvidence
from uq.execution import Call, ExecutionJudge, Executor, Run, Trials, run_candidates
from uq.functional_equivalence import AGREEMENT, NEGENTROPY, RATE, SETS, functional_agreement, functional_scores
from uq.inputs import function_trials
from uq.scores import Measurement, TokenScore, Unavailable
from uq.semantic_density import COSINE, KERNEL, RESPONSE, mean_cosine_density, response_density, semantic_density
from uq.semantic_entropy import COUNTED, WEIGHED, likelihood_entropy, semantic_entropy
from uq.shrinking import shrunk
from uq.token_uncertainty import NAME, token_uncertainty

if TYPE_CHECKING:
    import pandas

Scores = Mapping[str, Measurement]


@dataclass(frozen=True)
class GivenText:
    """An answer of which only the text is known."""

    text: str
    tokens: tuple[TokenEvidence, ...] = ()
    logprob_kind: str = "none"
    finish_reason: str = ""
    model: str = ""


@dataclass(frozen=True)
class Scored:
    """One prompt: the answer under test, the samples beside it, and what each signal says of them.

    `difference` is the smallest call found on which the answer and a sample differ, with what each did.
    """

    prompt: str
    response: str
    sampled_responses: tuple[str, ...]
    scores: Scores
    difference: str = ""


@dataclass(frozen=True)
class ScoreResult:
    """All prompts, in order."""

    rows: tuple[Scored, ...]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns: prompts, responses, sampled_responses, and one of uncertainties for each signal.

        An uncertainty that could not be measured is None; its reason is in `rows`.
        """
        names = dict.fromkeys(name for row in self.rows for name in row.scores)
        columns: dict[str, list[Any]] = {
            "prompts": [row.prompt for row in self.rows],
            "responses": [row.response for row in self.rows],
            "sampled_responses": [list(row.sampled_responses) for row in self.rows],
        }
        for name in names:
            found = [row.scores.get(name) for row in self.rows]
            columns[name] = [
                None if score is None or isinstance(score, Unavailable) else score.value for score in found
            ]
        return columns

    def to_pandas(self) -> pandas.DataFrame:
        """Return `to_dict` as a table. Raises ImportError where pandas is not installed."""
        import pandas

        return pandas.DataFrame(self.to_dict())


@dataclass(frozen=True, kw_only=True)
class Scorer(ABC):
    """Draws answers from `sampler` and measures them; `at_once` prompts are worked on side by side.

    The answer under test is drawn at temperature 0, `num_responses` samples beside it at `temperature`.
    """

    sampler: Sampler
    num_responses: int = 5
    temperature: float = 1.0
    at_once: int = 4

    @abstractmethod
    def assess(self, prompt: str, answers: Sequence[Evidence]) -> tuple[Scores, str]:
        """Return the signals for the answers to `prompt`, the one under test first, and a difference or ""."""

    async def generate_and_score(self, prompts: Sequence[str]) -> ScoreResult:
        """Draw answers to each prompt and measure them."""
        return await self._side_by_side([(prompt, None) for prompt in prompts])

    async def score(
        self,
        prompts: Sequence[str],
        responses: Sequence[Evidence | str],
        sampled_responses: Sequence[Sequence[Evidence | str]],
    ) -> ScoreResult:
        """Measure answers that are there already. Raises ValueError where the three differ in length."""
        rows = zip(prompts, responses, sampled_responses, strict=True)
        return await self._side_by_side([(prompt, (first, *others)) for prompt, first, others in rows])

    async def _side_by_side(self, rows: Sequence[tuple[str, Sequence[Evidence | str] | None]]) -> ScoreResult:
        places = asyncio.Semaphore(self.at_once)

        async def one(prompt: str, answers: Sequence[Evidence | str] | None) -> Scored:
            async with places:
                return await asyncio.to_thread(self._scored, prompt, answers)

        return ScoreResult(tuple(await asyncio.gather(*(one(*row) for row in rows))))

    def _scored(self, prompt: str, given: Sequence[Evidence | str] | None) -> Scored:
        if given is None:
            first = self.sampler.sample(prompt, 1, 0.0)
            given = (*first, *self.sampler.sample(prompt, self.num_responses, self.temperature)) if first else ()
        answers = [GivenText(answer) if isinstance(answer, str) else answer for answer in given]
        if not answers:
            return Scored(
                prompt, "", (), {NAME: Unavailable("no_answer", "The prompt cannot be put to the model.")}
            )
        scores, difference = self.assess(prompt, answers)
        texts = [answer.text for answer in answers]
        return Scored(
            prompt, texts[0], tuple(texts[1:]), {NAME: token_uncertainty(answers[0]), **scores}, difference
        )


@dataclass(frozen=True, kw_only=True)
class CodeScorer(Scorer):
    """Measures code: token uncertainty and the three figures of functional equivalence.

    With an `executor` candidates are judged by what they do: on `inputs` calls made from the task and the
    types of the function it asks for, on ten more that the model names with `ask_for_inputs`, or, for
    whole programs, on `runs`. Without one, `judge` (or else `sampler`) says what is equivalent.
    """

    executor: Executor | None = None
    judge: Sampler | None = None
    inputs: int = 20
    ask_for_inputs: bool = False
    runs: tuple[Run, ...] = ()

    def assess(self, prompt: str, answers: Sequence[Evidence]) -> tuple[Scores, str]:
        """Return the figures; a difference where candidates were run."""
        codes = [code_in(answer.text) for answer in answers]
        if self.executor is None:
            verdicts = Verdicts(ModelCodeJudge(self.judge or self.sampler, prompt))
            return functional_scores(leader_clusters(codes, verdicts)), ""
        trials = self._trials(prompt, codes)
        name = "main.py" if self.runs else "candidate.py"
        candidates = {code: {name: code} for code in codes}
        judge = trials if isinstance(trials, Unavailable) else run_candidates(candidates, trials, self.executor)
        if isinstance(judge, Unavailable):
            return dict.fromkeys((RATE, NEGENTROPY, SETS, AGREEMENT), judge), ""
        clustering = leader_clusters(codes, Verdicts(judge, both_orders=False), inputs=len(judge.counting))
        agreement = functional_agreement([judge.agreement(codes[0], code) for code in codes[1:]])
        scores = {**functional_scores(clustering), AGREEMENT: with_evidence(agreement, clustering)}
        return scores, self._difference(codes, clustering, judge, self.executor)

    def _trials(self, prompt: str, codes: Sequence[str]) -> Trials | Unavailable:
        if self.runs:
            return Trials(self.runs, given=len(self.runs))
        return function_trials(prompt, codes, self.inputs, self.sampler if self.ask_for_inputs else None)

    def _difference(
        self, codes: Sequence[str], clustering: Clustering, judge: ExecutionJudge, executor: Executor
    ) -> str:
        if False not in clustering.anchored:
            return ""
        number = clustering.anchored.index(False) + 1
        found = judge.difference(codes[0], codes[number])
        assert found is not None, "a verdict of different rests on an input"
        call, one, other = found
        if isinstance(call, Call):
            pair = {code: {"candidate.py": code} for code in (codes[0], codes[number])}
            call, one, other = shrunk((call, one, other), pair, judge.trials, executor)
            shown = f"{judge.trials.function}({call.arguments})"
        else:
            shown = f"main.py {' '.join(call.argv)}"
        return f"{shown}: the answer {one.kind} {one.seen}, sample {number} {other.kind} {other.seen}"


@dataclass(frozen=True, kw_only=True)
class TextScorer(Scorer):
    """Measures prose: token uncertainty, semantic entropy in both forms and semantic density in three.

    `entailment` says what follows from what, by default `sampler` itself; `embedder` places the texts, by
    default all-MiniLM-L6-v2 where it is installed.
    """

    entailment: Entailment | None = None
    embedder: Embedder | None = None

    def assess(self, prompt: str, answers: Sequence[Evidence]) -> tuple[Scores, str]:
        """Return the signals over all answers, that under test included; around it for the response-wise one."""
        texts = [answer.text for answer in answers]
        relate = remembered(self.entailment or ModelEntailment(self.sampler, prompt))
        clustering = leader_clusters(texts, Verdicts(entails(relate)))
        logprobs = [mean_logprob(answer) for answer in answers]
        vectors = (self.embedder or open_embedder()).embed(texts)
        scores: dict[str, Measurement] = {
            COUNTED: with_evidence(semantic_entropy(clustering.groups), clustering),
            WEIGHED: with_evidence(likelihood_entropy(clustering.groups, logprobs), clustering),
            KERNEL: vectors if isinstance(vectors, Unavailable) else semantic_density(vectors),
            COSINE: vectors if isinstance(vectors, Unavailable) else mean_cosine_density(vectors),
            RESPONSE: _around_the_first(texts, logprobs, relate),
        }
        return scores, ""


def mean_logprob(answer: Evidence) -> float | None:
    """Return the mean log-prob (nats) of the tokens of an answer, None where it cannot be measured."""
    score = token_uncertainty(answer)
    return -score.mean_surprise if isinstance(score, TokenScore) else None


def _around_the_first(texts: Sequence[str], logprobs: Sequence[float | None], relate: Entailment) -> Measurement:
    """The response-wise density, both directions averaged, each other text once."""
    others = dict(zip(texts[1:], logprobs[1:], strict=True))
    distances, weights = [], []
    for text, logprob in others.items():
        if logprob is None:
            return Unavailable("no_logprobs", "Not every answer has log-probs.")
        there, back = relate(texts[0], text), relate(text, texts[0])
        if there is None or back is None:
            return Unavailable("abstained", "Of some answer nobody says how it stands to the first.")
        distances.append((there.squared_distance + back.squared_distance) / 2)
        weights.append(logprob)
    return response_density(distances, weights)


async def score_code(
    prompts: Sequence[str],
    responses: Sequence[Evidence | str] | None = None,
    sampled_responses: Sequence[Sequence[Evidence | str]] = (),
    **settings: Any,
) -> ScoreResult:
    """Measure code that is given, or drawn where `responses` is None. `settings` are those of `CodeScorer`."""
    return await _score(CodeScorer(**settings), prompts, responses, sampled_responses)


async def score_text(
    prompts: Sequence[str],
    responses: Sequence[Evidence | str] | None = None,
    sampled_responses: Sequence[Sequence[Evidence | str]] = (),
    **settings: Any,
) -> ScoreResult:
    """Measure prose that is given, or drawn where `responses` is None. `settings` are those of `TextScorer`."""
    return await _score(TextScorer(**settings), prompts, responses, sampled_responses)


async def _score(
    scorer: Scorer,
    prompts: Sequence[str],
    responses: Sequence[Evidence | str] | None,
    sampled_responses: Sequence[Sequence[Evidence | str]],
) -> ScoreResult:
    if responses is None:
        return await scorer.generate_and_score(prompts)
    return await scorer.score(prompts, responses, sampled_responses)
