"""Judges of code and prose: what they are asked, and that nonsense is an abstention and never agreement."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from camel.messages import Answer
from uq.clustering import Verdicts, leader_clusters
from uq.code_scoring import code_judge
from uq.entailment import NliEntailment, Relation, entails, model_entailment, open_nli
from uq.scores import Unavailable


@dataclass
class Says:
    """Gives its answers in order, the last one for ever."""

    answers: Sequence[str]
    prompts: list[str] = field(default_factory=list)

    def sample(self, prompt: str, n: int, temperature: float) -> list[Answer]:
        self.prompts.append(prompt)
        if not self.answers:
            return []
        return [Answer(self.answers[min(len(self.prompts), len(self.answers)) - 1])] * n


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Equivalent", True),
        ("**Equivalent.**\n", True),
        ("Equivalent\n\nBoth add two numbers.", True),
        ("Different", False),
        ("Not Equivalent", False),
        ("not-equivalent", False),
        ("inequivalent", False),
        ("Non-equivalent", False),
        ("nonequivalent", False),
        ("Not functionally equivalent", None),
        ("They aren't equivalent", None),
        ("isn't equivalent", None),
        ("Equivalent? No.", None),
        ("Equivalent:\nNo.", None),
        ("Equivalent:\n\nNo.", None),
        ("Equivalent\nActually no, they differ.", None),
        ("Equivalent\n\nDifferent", None),
        ("Equivalent\n\n**Equivalent**", True),
        ("They are not identical", None),
        ("not the same", None),
        ("They are different", None),
        ("yes", None),
        ("no", None),
        ("", None),
        ("```\nEquivalent", None),
        ("Äquivalent", None),
        ("等价", None),
        ("Equivalent or Different", None),
    ],
)
def test_only_the_words_asked_for_are_a_verdict(said: str, verdict: bool | None) -> None:
    assert code_judge(Says([said]), "task")("a", "b") is verdict


def test_the_judge_sees_the_task_and_both_programs_and_nothing_is_replaced_in_them() -> None:
    model = Says(["Equivalent"])
    assert code_judge(model, "Add {two} numbers.")("a = {first}", "b = {task}") is True
    (prompt,) = model.prompts
    assert "Add {two} numbers." in prompt
    assert "a = {first}" in prompt
    assert "b = {task}" in prompt


def test_a_judge_that_talks_another_language_leaves_every_program_alone() -> None:
    model = Says(["Да"])
    verdicts = Verdicts(code_judge(model, "task"))
    clustering = leader_clusters(["x", "y", "z"], verdicts)
    assert (clustering.groups, clustering.abstained, clustering.decided) == (((0,), (1,), (2,)), 3, 0)
    assert verdicts.calls == len(model.prompts) == 6, "each of three pairs is tried twice"


def test_a_judge_that_cannot_be_asked_abstains() -> None:
    assert code_judge(Says([]), "task")("x", "y") is None
    assert model_entailment(Says([]), "question")("x", "y") is None


def test_two_answers_mean_the_same_when_each_follows_from_the_other() -> None:
    one_way = Says(["Entailment", "Neutral"])
    assert Verdicts(entails(model_entailment(one_way, "Where?"))).same("In Paris.", "In France.") is False
    assert "Question:\nWhere?" in one_way.prompts[0]
    both_ways = Says(["entailment"])
    assert Verdicts(entails(model_entailment(both_ways, "Where?"))).same("In Paris.", "Paris.") is True
    assert len(both_ways.prompts) == 2
    assert entails(model_entailment(Says(["I think entailment"]), "Where?"))("a", "b") is None


class Row(list[float]):
    def softmax(self, _: int) -> Row:
        return self

    def tolist(self) -> list[float]:
        return list(self)


class Classifier:
    """A transformers classifier as far as it is used: its labels stand in an order of their own."""

    config = SimpleNamespace(id2label={0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"})

    def __call__(self, **_: object) -> Classifier:
        self.logits = [Row([0.7, 0.2, 0.1])]
        return self


def tokenize(premise: str, hypothesis: str, return_tensors: str) -> dict[str, object]:
    class Ids:
        shape = (1, len((premise + hypothesis).split()))

    return {"input_ids": Ids}


def test_a_classifier_is_read_by_its_labels_and_never_given_half_a_text() -> None:
    nli = NliEntailment(tokenize, Classifier(), window=4)
    relation = nli("a b", "c")
    assert relation == Relation(0.1, 0.2, 0.7)
    assert relation.follows
    assert relation.squared_distance == pytest.approx(0.2)
    assert nli("a b c", "d e f") is None


def test_a_classifier_of_something_else_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = SimpleNamespace(config=SimpleNamespace(id2label={0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}))
    classes = SimpleNamespace(from_pretrained=lambda name: loaded)
    transformers = SimpleNamespace(AutoModelForSequenceClassification=classes, AutoTokenizer=classes)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    monkeypatch.setattr("uq.entailment.find_spec", lambda name: object())
    nli = open_nli("some/model")
    assert isinstance(nli, Unavailable)
    assert nli.detail == "some/model tells label_0, label_1, label_2 apart, not entailment."


def test_a_classifier_that_is_not_there_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uq.entailment.find_spec", lambda name: None)
    nli = open_nli()
    assert isinstance(nli, Unavailable)
    assert nli.reason == "no_nli_model"
