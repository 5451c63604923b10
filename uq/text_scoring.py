"""Scoring prose: `await score_text(prompts, sampler=...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from uq.clustering import Verdicts, leader_clusters, with_evidence
from uq.embedding import Embedder, open_embedder
from uq.entailment import Entailment, entails, model_entailment, remembered
from uq.evidence import Evidence
from uq.scores import Measurement, TokenScore, Unavailable
from uq.scoring import Scorer, ScoreResult, Scores, score_with
from uq.semantic_density import COSINE, KERNEL, RESPONSE, mean_cosine_density, response_density, semantic_density
from uq.semantic_entropy import COUNTED, WEIGHED, likelihood_entropy, semantic_entropy
from uq.token_uncertainty import NAME, token_uncertainty


@dataclass(frozen=True, kw_only=True)
class TextScorer(Scorer):
    """Measures prose: token uncertainty, semantic entropy in both forms and semantic density in three.

    `entailment` says what follows from what, by default `sampler` itself; `embedder` places the texts, by
    default all-MiniLM-L6-v2 where it is installed. All signals but the response-wise density, which is
    about the answer under test, are over all answers, that one included.
    """

    entailment: Entailment | Unavailable | None = None
    embedder: Embedder | None = None

    @staticmethod
    def needs() -> Mapping[str, tuple[str, ...]]:
        """Return the signals with their needs."""
        return {
            NAME: ("tokens",),
            COUNTED: ("samples", "entailment"),
            WEIGHED: ("samples", "entailment", "tokens"),
            KERNEL: ("samples", "an embedder"),
            COSINE: ("samples", "an embedder"),
            RESPONSE: ("samples", "entailment", "tokens"),
        }

    def assess(self, prompt: str, answers: Sequence[Evidence], wanted: Sequence[str]) -> tuple[Scores, str]:
        """Return the signals and no difference."""
        texts, logprobs = [answer.text for answer in answers], [mean_logprob(answer) for answer in answers]
        empty = sum(not text.strip() for text in texts)
        if empty:
            nothing = Unavailable("empty", f"{empty} of {len(texts)} answers are empty; those agree in nothing.")
            return dict.fromkeys(self.needs(), nothing), ""
        if isinstance(self.entailment, Unavailable):
            unjudged = dict.fromkeys((COUNTED, WEIGHED, RESPONSE), self.entailment)
            return {**self._placed(texts, wanted), **unjudged}, ""
        relate = remembered(self.entailment or model_entailment(self.sampler, prompt))
        scores = self._placed(texts, wanted)
        if {COUNTED, WEIGHED} & set(wanted):
            clustering = leader_clusters(texts, Verdicts(entails(relate)))
            scores[COUNTED] = with_evidence(semantic_entropy(clustering.groups), clustering)
            scores[WEIGHED] = with_evidence(likelihood_entropy(clustering.groups, logprobs), clustering)
        if RESPONSE in wanted:
            scores[RESPONSE] = _around_the_first(texts, logprobs, relate)
        return scores, ""

    @cached_property
    def _embedder(self) -> Embedder:
        return self.embedder or open_embedder()

    def _placed(self, texts: Sequence[str], wanted: Sequence[str]) -> dict[str, Measurement]:
        """The densities of the vectors of the texts."""
        if not {KERNEL, COSINE} & set(wanted):
            return {}
        vectors = self._embedder.embed(texts)
        if isinstance(vectors, Unavailable):
            return {KERNEL: vectors, COSINE: vectors}
        return {KERNEL: semantic_density(vectors), COSINE: mean_cosine_density(vectors)}


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


async def score_text(
    prompts: Sequence[str],
    responses: Sequence[Evidence | str] | None = None,
    sampled_responses: Sequence[Sequence[Evidence | str]] = (),
    **settings: Any,
) -> ScoreResult:
    """Measure prose that is given, or drawn where `responses` is None. `settings` are those of `TextScorer`."""
    return await score_with(TextScorer(**settings), prompts, responses, sampled_responses)
