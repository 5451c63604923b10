"""The API for use outside ChatDev: prompts in, a table of uncertainties out."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

import uq
from camel.models.sampler import ModelSampler
from camel.models.scripted import Reply, ScriptedModel
from uq.entailment import Relation
from uq.execution import Run
from uq.scores import SampleScore, Unavailable

GOOD, SAME, WRONG = (
    "```python\ndef double(n):\n    return 2 * n\n```",
    "def double(n): return n + n",
    "def double(n):\n    return n ** 2",
)
TASK = 'Complete it:\ndef double(n):\n    """double(2) gives 4"""'


@dataclass
class Runner:
    """An executor that knows what each program does on each call, by evaluating it here."""

    runs: list[str] = field(default_factory=list)

    def run(self, files: Any, command: Sequence[str], seconds: float) -> str:
        source = files.get("candidate/candidate.py") or files["candidate/main.py"]
        self.runs.append(source)
        order = json.loads(files["order.json"])
        if not order["function"]:
            return json.dumps([["returned", source + str(item["argv"])] for item in order["inputs"]])
        namespace: dict[str, Any] = {}
        exec(source, namespace)
        function = namespace[order["function"]]
        return json.dumps([["returned", str(function(int(item["arguments"])))] for item in order["inputs"]])


class NoRunner:
    def run(self, files: Any, command: Sequence[str], seconds: float) -> Unavailable:
        return Unavailable("no_sandbox", "bwrap is missing")


def scripted(*replies: str | Reply) -> ModelSampler:
    return ModelSampler(ScriptedModel(replies))


def test_code_is_drawn_and_compared_by_running_it() -> None:
    runner = Runner()
    result = asyncio.run(
        uq.score_code([TASK], sampler=scripted(GOOD, SAME, SAME, WRONG), executor=runner, num_responses=3)
    )
    (row,) = result.rows
    assert (row.response, row.sampled_responses) == (GOOD, (SAME, SAME, WRONG))
    score = row.scores["functional-equivalence-rate"]
    assert isinstance(score, SampleScore)
    assert (score.raw, score.decided, score.abstained) == (pytest.approx(2 / 3), 3, 0)
    assert score.inputs > 10
    assert row.difference == "double(1): the answer returned 2, sample 3 returned 1"
    assert sorted(runner.runs[:3]) == sorted(["def double(n):\n    return 2 * n\n", SAME + "\n", WRONG + "\n"])


def test_answers_that_are_there_already_are_measured_without_a_model() -> None:
    result = asyncio.run(
        uq.score_code([TASK, TASK], [GOOD, WRONG], [[SAME], [SAME]], sampler=scripted(), executor=Runner())
    )
    table = result.to_dict()
    assert table["functional-equivalence-rate"] == [0, 1]
    assert table["functional-sets-confidence"] == [0, 1]
    agreement = table["functional-agreement"]
    assert agreement[0] == 0 < agreement[1], "n ** 2 and n + n agree on 2"
    assert table["token-uncertainty"] == [None, None]
    reason = result.rows[0].scores["token-uncertainty"]
    assert isinstance(reason, Unavailable)
    assert reason.reason == "no_logprobs"
    with pytest.raises(ValueError, match="zip"):
        asyncio.run(uq.score_code([TASK], [GOOD], [], sampler=scripted()))


def test_code_is_compared_by_a_judge_that_never_sees_the_users_system_prompt() -> None:
    asked: list[Any] = []

    def judge(messages: Any, _: Any) -> str:
        asked.append(messages)
        return "Equivalent"

    drawing = ModelSampler(ScriptedModel([GOOD, SAME]), system="You write code.")
    result = asyncio.run(
        uq.score_code([TASK], sampler=drawing, judge=ModelSampler(ScriptedModel(judge)), num_responses=1)
    )
    assert result.to_dict()["functional-equivalence-rate"] == [0]
    assert len(asked) == 2, "one pair, both orders"
    assert [message.role for message in asked[0]] == ["user"]
    assert "double(2) gives 4" in asked[0][0].content


@pytest.mark.parametrize(
    ("prompt", "executor", "reason"),
    [(TASK, NoRunner(), "no_sandbox"), ("Double it.", Runner(), "no_inputs")],
)
def test_programs_that_cannot_be_compared_have_no_figure(prompt: str, executor: Any, reason: str) -> None:
    result = asyncio.run(uq.score_code([prompt], [SAME], [[WRONG]], sampler=scripted(), executor=executor))
    score = result.rows[0].scores["functional-negentropy"]
    assert isinstance(score, Unavailable)
    assert score.reason == reason


@pytest.mark.parametrize("executor", [None, Runner()])
def test_answers_without_code_agree_in_nothing(executor: Any) -> None:
    result = asyncio.run(uq.score_code([TASK], [""], [["", ""]], sampler=scripted(), executor=executor))
    score = result.rows[0].scores["functional-equivalence-rate"]
    assert isinstance(score, Unavailable) and score.reason == "no_code"


@pytest.mark.parametrize("executor", [None, Runner()])
def test_refusals_are_no_code(executor: Any) -> None:
    no = "I am sorry, I cannot do that."
    result = asyncio.run(uq.score_code([TASK], [no], [[no, no]], sampler=scripted(), executor=executor))
    score = result.rows[0].scores["functional-equivalence-rate"]
    assert isinstance(score, Unavailable) and score.reason == "no_code"


def test_programs_that_do_nothing_are_not_sure_of_it_however_many_they_are() -> None:
    class Crashes:
        def run(self, files: Any, command: Sequence[str], seconds: float) -> str:
            return json.dumps([["crashed", "1"]] * len(json.loads(files["order.json"])["inputs"]))

    result = asyncio.run(uq.score_code([TASK], [SAME], [[SAME] * 5], sampler=scripted(), executor=Crashes()))
    table = result.to_dict()
    for name in ("functional-equivalence-rate", "functional-negentropy", "functional-sets-confidence"):
        assert table[name] == [None]
        reason = result.rows[0].scores[name]
        assert isinstance(reason, Unavailable) and reason.reason == "abstained"


def test_a_function_that_takes_nothing_is_called_with_nothing() -> None:
    orders: list[Any] = []

    class Called:
        def run(self, files: Any, command: Sequence[str], seconds: float) -> str:
            orders.append(json.loads(files["order.json"])["inputs"])
            return json.dumps([["returned", "1"]])

    code = "def answer():\n    return 42"
    result = asyncio.run(uq.score_code(["Write it."], [code], [[code]], sampler=scripted(), executor=Called()))
    assert result.to_dict()["functional-equivalence-rate"] == [0]
    assert orders == [[{"arguments": ""}]]


class Fails:
    def sample(self, prompt: str, n: int, temperature: float) -> list[Any]:
        raise ConnectionError("the server is gone")


def test_a_judge_that_raises_costs_its_own_prompt_and_no_other() -> None:
    scored = uq.score_code([TASK, TASK], [GOOD, SAME], [[SAME], [SAME]], sampler=scripted(), judge=Fails())
    first, second = asyncio.run(scored).rows
    failed = first.scores["functional-equivalence-rate"]
    assert failed == Unavailable("error", "ConnectionError: the server is gone")
    assert isinstance(second.scores["functional-equivalence-rate"], SampleScore)
    (row,) = asyncio.run(uq.score_text(["?"], sampler=Fails())).rows
    assert (row.response, row.scores["token-uncertainty"]) == ("", failed)


def test_whole_programs_are_run_as_they_are_called() -> None:
    result = asyncio.run(
        uq.score_code(
            ["p"], ["print(1)"], [["print(2)"]], sampler=scripted(), executor=Runner(), runs=(Run(("a",)),)
        )
    )
    score = result.rows[0].scores["functional-equivalence-rate"]
    assert isinstance(score, SampleScore)
    assert (score.value, score.inputs) == (1, 1)
    assert result.rows[0].difference.startswith("main.py a: the answer returned")


class Embedder:
    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "Paris" in text else [0.0, 1.0] for text in texts]


def test_prose_is_measured_by_meaning() -> None:
    def answer(messages: Any, sampling: Any) -> Reply | str:
        prompt = messages[-1].content
        if prompt == "Capital?":
            return Reply("Paris" if sampling.temperature == 0 else "It is Paris", u=0.1)
        return "Entailment"

    result = asyncio.run(
        uq.score_text(
            ["Capital?"], sampler=ModelSampler(ScriptedModel(answer)), embedder=Embedder(), num_responses=2
        )
    )
    table = result.to_dict()
    for name in ("semantic-entropy", "likelihood-semantic-entropy", "semantic-density", "mean-cosine-density"):
        assert table[name] == [pytest.approx(0)]
    assert table["response-semantic-density"] == [pytest.approx(0)]
    assert table["token-uncertainty"] == [pytest.approx(0.1)]


def test_a_missing_embedding_model_leaves_the_other_signals() -> None:
    class Missing:
        def embed(self, texts: Sequence[str]) -> Unavailable:
            return Unavailable("no_embedding_model")

    def unrelated(premise: str, hypothesis: str) -> Relation | None:
        return None if hypothesis == "c" else Relation(0, 1, 0)

    result = asyncio.run(
        uq.score_text(["?"], ["a"], [["b", "c"]], sampler=scripted(), embedder=Missing(), entailment=unrelated)
    )
    scores = result.rows[0].scores
    entropy = scores["semantic-entropy"]
    assert isinstance(entropy, Unavailable)
    assert entropy.detail == "The judge had no opinion on 2 of 3 pairs."
    reasons = {name: score.reason for name, score in scores.items() if isinstance(score, Unavailable)}
    assert reasons == {
        "token-uncertainty": "no_logprobs",
        "semantic-entropy": "abstained",
        "likelihood-semantic-entropy": "no_logprobs",
        "semantic-density": "no_embedding_model",
        "mean-cosine-density": "no_embedding_model",
        "response-semantic-density": "no_logprobs",
    }


def test_empty_answers_agree_in_nothing() -> None:
    for answers in (["", ""], ["a", ""]):
        scored = uq.score_text(["?"], answers[:1], [answers[1:]], sampler=scripted(), embedder=Embedder())
        scores = asyncio.run(scored).rows[0].scores
        for name in ("semantic-entropy", "semantic-density"):
            reason = scores[name]
            assert isinstance(reason, Unavailable) and reason.reason == "empty"


def test_a_classifier_that_is_not_there_leaves_the_densities() -> None:
    missing = Unavailable("no_nli_model", "install it")
    scored = uq.score_text(
        ["?"], ["Paris"], [["Paris."]], sampler=scripted(), entailment=missing, embedder=Embedder()
    )
    scores = asyncio.run(scored).rows[0].scores
    assert scores["semantic-entropy"] == scores["response-semantic-density"] == missing
    assert isinstance(scores["semantic-density"], SampleScore)


def test_no_samples_and_no_answer_are_no_measurement() -> None:
    alone = asyncio.run(uq.score_code([TASK], [GOOD], [[]], sampler=scripted(), executor=Runner()))
    reason = alone.rows[0].scores["functional-equivalence-rate"]
    assert isinstance(reason, Unavailable) and reason.reason == "one_sample"

    class Silent:
        def sample(self, prompt: str, n: int, temperature: float) -> list[Any]:
            return []

    unasked = asyncio.run(uq.score_code([TASK], sampler=Silent(), executor=Runner()))
    reason = unasked.rows[0].scores["functional-equivalence-rate"]
    assert isinstance(reason, Unavailable) and reason.reason == "no_answer"


def test_only_what_is_wanted_is_asked_for() -> None:
    asked: list[Any] = []

    def judge(messages: Any, _: Any) -> str:
        asked.append(messages)
        return "Different"

    judging = ModelSampler(ScriptedModel(judge))
    samples = ["def f(): return 1", "def f(): return 2", "def f(): return 3"]
    scored = uq.score_code(
        [TASK], ["def f(): ..."], [samples], sampler=judging, signals=("functional-equivalence-rate",)
    )
    assert asyncio.run(scored).to_dict()["functional-equivalence-rate"] == [1]
    assert len(asked) == 3, "the rate needs no pair of samples"
    table = asyncio.run(
        uq.score_text(["?"], ["a"], [["b"]], sampler=judging, signals=("token-uncertainty",))
    ).to_dict()
    assert list(table) == ["prompts", "responses", "sampled_responses", "token-uncertainty"]
    assert len(asked) == 3
    with pytest.raises(ValueError, match=r"no signal vibes; there are .*functional-agreement \(needs samples"):
        uq.CodeScorer(sampler=judging, signals=("vibes",))


def test_the_table_for_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: ("table", columns)))
    result = asyncio.run(uq.score_code([TASK], [GOOD], [[SAME]], sampler=scripted(), executor=Runner()))
    assert result.to_pandas() == ("table", result.to_dict())
