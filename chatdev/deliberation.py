"""Policy HASSUM as a hook of the chat chain: prose is sampled and deliberated on, code goes through the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibration.snapshot import Snapshot
from camel.messages import Answer, Message, Sampling
from chatdev.handoff import Handoff, Hook
from chatdev.uncertainty import uncertainty_hook
from journal import Journal
from journal.events import Deliberated
from uq.clustering import Verdicts, leader_clusters, with_evidence
from uq.embedding import Embedder, open_embedder
from uq.entailment import entails, model_entailment
from uq.hassum import Deliberation, Hassum, HassumSettings, Reading
from uq.policy import policy_from
from uq.scores import to_json
from uq.semantic_density import semantic_density
from uq.semantic_entropy import semantic_entropy

_JUDGE, _JUDGE_TOKENS = "Judge", 8


def hassum_hook(
    settings: Mapping[str, Any],
    journal: Journal,
    snapshot: Snapshot | None = None,
    embedder: Embedder | None = None,
) -> Hook:
    """The policy with the settings under `hassum` in `settings`, an UncertaintyConfig.json.

    Prose is measured by the gate as well, which then only observes. Entailment is judged by the model of the
    run. `embedder` is all-MiniLM-L6-v2 where none is given. Raises uq.policy.PolicyError.
    """
    policy = policy_from(settings).hassum
    if embedder is None and policy.density is not None:
        embedder = open_embedder()
    observed, gated = (uncertainty_hook(settings, mode, journal, snapshot) for mode in ("observe", "act"))

    def hook(handoff: Handoff) -> Answer:
        if not handoff.prose:
            return gated(handoff)
        observed(handoff)
        measure = _Measure(policy, handoff, embedder)
        return Hassum(policy, measure, lambda record: journal.append(_event(record)))(handoff)

    return hook


@dataclass(frozen=True)
class _Measure:
    """Semantic entropy and density of the answers of a handoff; None for one that is switched off."""

    settings: HassumSettings
    handoff: Handoff
    embedder: Embedder | None

    def __call__(self, answers: Sequence[Answer]) -> tuple[Reading, Reading]:
        texts = [answer.text for answer in answers]
        return (
            None if self.settings.entropy is None else self._entropy(texts),
            None if self.settings.density is None or self.embedder is None else _density(texts, self.embedder),
        )

    def _entropy(self, texts: Sequence[str]) -> Reading:
        judge = model_entailment(self, self.handoff.messages[-1].content)
        clustering = leader_clusters(texts, Verdicts(entails(judge)))
        return with_evidence(semantic_entropy(clustering.groups), clustering)

    def sample(self, prompt: str, n: int, temperature: float) -> list[Answer]:
        """Put a question to the model as the judge."""
        messages = (Message("user", prompt),)
        sampling = Sampling(temperature=temperature, max_tokens=_JUDGE_TOKENS, n=n)
        return self.handoff.draw(_JUDGE, messages, purpose="judge", sampling=sampling)


def _density(texts: Sequence[str], embedder: Embedder) -> Reading:
    vectors = embedder.embed(texts)
    return semantic_density(vectors) if isinstance(vectors, list) else vectors


def _event(record: Deliberation) -> Deliberated:
    return Deliberated(**to_json(record))  # type: ignore[arg-type]
