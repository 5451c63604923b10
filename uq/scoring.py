"""Scoring prompts from Python, outside any agent framework: what `uq.score_code` and `uq.score_text` share.

One answer to each prompt and several samples beside it are drawn, or taken as they are given, and it is measured
how far they agree. Prompts are worked on side by side. A signal that cannot be measured stands in the result as
`Unavailable` with its reason; it never stops the others, and neither does a model that raises.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uq.evidence import Evidence, Sampler, TokenEvidence
from uq.scores import Measurement, Unavailable
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
        columns: dict[str, list[Any]] = {
            "prompts": [row.prompt for row in self.rows],
            "responses": [row.response for row in self.rows],
            "sampled_responses": [list(row.sampled_responses) for row in self.rows],
        }
        for name in dict.fromkeys(name for row in self.rows for name in row.scores):
            columns[name] = [_value(row.scores.get(name)) for row in self.rows]
        return columns

    def to_pandas(self) -> pandas.DataFrame:
        """Return `to_dict` as a table. Raises ImportError where pandas is not installed."""
        import pandas

        return pandas.DataFrame(self.to_dict())


def _value(score: Measurement | None) -> float | None:
    return None if score is None or isinstance(score, Unavailable) else score.value


@dataclass(frozen=True, kw_only=True)
class Scorer(ABC):
    """Draws answers from `sampler` and measures them; `at_once` prompts are worked on side by side.

    The answer under test is drawn at temperature 0, `num_responses` samples beside it at `temperature`.
    `signals` names those wanted, all where it is empty; nothing is asked or run for the others. Raises
    ValueError for one that is not in `needs`.
    """

    sampler: Sampler
    num_responses: int = 5
    temperature: float = 1.0
    at_once: int = 4
    signals: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if unknown := set(self.signals) - set(self.needs()):
            there = "; ".join(f"{name} (needs {', '.join(needed)})" for name, needed in self.needs().items())
            raise ValueError(f"no signal {', '.join(sorted(unknown))}; there are {there}")

    @staticmethod
    @abstractmethod
    def needs() -> Mapping[str, tuple[str, ...]]:
        """Return each signal by name with what it needs: `tokens`, `samples`, a `judge`, an `executor`, ..."""

    @abstractmethod
    def assess(self, prompt: str, answers: Sequence[Evidence], wanted: Sequence[str]) -> tuple[Scores, str]:
        """Return the signals `wanted` for the answers to `prompt`, the one under test first, and a difference."""

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
        wanted = self.signals or tuple(self.needs())
        try:
            drawn = self._drawn(prompt) if given is None else given
        except Exception as error:
            return Scored(prompt, "", (), dict.fromkeys(wanted, _failed(error)))
        answers = [GivenText(answer) if isinstance(answer, str) else answer for answer in drawn]
        if not answers:
            unasked = Unavailable("no_answer", "The prompt cannot be put to the model.")
            return Scored(prompt, "", (), dict.fromkeys(wanted, unasked))
        found: Scores
        try:
            found, difference = self.assess(prompt, answers, wanted)
        except Exception as error:
            found, difference = dict.fromkeys(wanted, _failed(error)), ""
        scores = {**found, NAME: token_uncertainty(answers[0])}
        texts = [answer.text for answer in answers]
        kept = {name: scores[name] for name in wanted}
        return Scored(prompt, texts[0], tuple(texts[1:]), kept, difference)

    def _drawn(self, prompt: str) -> Sequence[Evidence]:
        first = self.sampler.sample(prompt, 1, 0.0)
        return (*first, *self.sampler.sample(prompt, self.num_responses, self.temperature)) if first else ()


def _failed(error: Exception) -> Unavailable:
    """What stands for the signals of a prompt where a model, judge or embedder, which may be anything, raised."""
    return Unavailable("error", f"{type(error).__name__}: {error}")


async def score_with(
    scorer: Scorer,
    prompts: Sequence[str],
    responses: Sequence[Evidence | str] | None,
    sampled_responses: Sequence[Sequence[Evidence | str]],
) -> ScoreResult:
    """Measure answers that are given, or drawn where `responses` is None."""
    if responses is None:
        return await scorer.generate_and_score(prompts)
    return await scorer.score(prompts, responses, sampled_responses)
