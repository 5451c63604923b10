"""Whether one answer follows from another: as a model says, or a classifier trained for that (NLI).

Two answers mean the same when each follows from the other (Kuhn et al., arXiv:2302.09664): give `entails` to
`Verdicts` with both orders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

from uq.clustering import Judge
from uq.evidence import Sampler
from uq.one_word import asked
from uq.scores import Unavailable

NLI_MODEL = "microsoft/deberta-large-mnli"


class Relation(NamedTuple):
    """The probabilities that a hypothesis contradicts a premise, is neutral to it, and follows from it."""

    contradiction: float
    neutral: float
    entailment: float

    @property
    def follows(self) -> bool:
        """Whether the hypothesis most probably follows."""
        return self.entailment > max(self.contradiction, self.neutral)

    @property
    def squared_distance(self) -> float:
        """P(contradiction) + P(neutral)/2, as the response-wise density wants it."""
        return self.contradiction + self.neutral / 2


Entailment = Callable[[str, str], Relation | None]
"""Says how a hypothesis (second) stands to a premise (first); None where it has no opinion."""

_RELATIONS = {
    "contradiction": Relation(1, 0, 0),
    "neutral": Relation(0, 1, 0),
    "entailment": Relation(0, 0, 1),
}


def remembered(entailment: Entailment) -> Entailment:
    """Return the same, put to the model once for each pair that it has an opinion on, and not for equal texts."""
    known: dict[tuple[str, str], Relation] = {}

    def relate(premise: str, hypothesis: str) -> Relation | None:
        if premise.strip() == hypothesis.strip():
            return _RELATIONS["entailment"]
        if (premise, hypothesis) not in known:
            relation = entailment(premise, hypothesis)
            if relation is None:
                return None
            known[premise, hypothesis] = relation
        return known[premise, hypothesis]

    return relate


def entails(entailment: Entailment) -> Judge:
    """Return the judge who says whether the second text follows from the first."""

    def judge(premise: str, hypothesis: str) -> bool | None:
        relation = entailment(premise, hypothesis)
        return None if relation is None else relation.follows

    return judge


def model_entailment(sampler: Sampler, question: str) -> Entailment:
    """Return what `sampler` says when it is asked, with the question that both texts answer."""

    def relate(premise: str, hypothesis: str) -> Relation | None:
        texts = {"question": question.strip(), "premise": premise, "hypothesis": hypothesis}
        return asked(sampler, "judge_entailment.txt", _RELATIONS, **texts)

    return relate


@dataclass(frozen=True)
class NliEntailment:
    """Asks a sequence classifier of transformers; an `Entailment`. `window` is its longest input in tokens."""

    tokenizer: Any
    model: Any
    window: int = 512

    def __call__(self, premise: str, hypothesis: str) -> Relation | None:
        """Return the probabilities, None for texts that are too long: half a text may mean the opposite."""
        encoded = self.tokenizer(premise, hypothesis, return_tensors="pt")
        if encoded["input_ids"].shape[-1] > self.window:
            return None
        row = self.model(**encoded).logits[0].softmax(-1).tolist()
        named = {name.lower(): row[number] for number, name in self.model.config.id2label.items()}
        return Relation(named["contradiction"], named["neutral"], named["entailment"])


def open_nli(name: str = NLI_MODEL) -> NliEntailment | Unavailable:
    """Load a classifier by its name or folder; needs requirements-hf.txt."""
    if find_spec("transformers") is None or find_spec("torch") is None:
        return Unavailable("no_nli_model", "Run pip install -r requirements-hf.txt.")
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForSequenceClassification.from_pretrained(name)
    except (OSError, ValueError) as error:
        return Unavailable("no_nli_model", f"{name} cannot be loaded: {error}")
    labels = {str(label).lower() for label in model.config.id2label.values()}
    if labels != _RELATIONS.keys():
        return Unavailable("no_nli_model", f"{name} tells {', '.join(sorted(labels))} apart, not entailment.")
    return NliEntailment(tokenizer, model.eval())
