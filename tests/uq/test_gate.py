from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from camel.messages import Answer, Message, Token
from uq.decision import Decision
from uq.gate import GateOutcome, GateRecord, GateStopped, Remedied, UncertaintyGate
from uq.policy import Policy
from uq.remedies import AnswerT, Attempt, Case, Remedy, Reprompt, Retrieve
from uq.scores import Unavailable, to_json
from uq.threshold import FixedThresholds


def said(text: str, surprise: float, **changes: str) -> Answer:
    plain = Answer(text, (Token(text, -surprise),) if text else (), logprob_kind="raw", model="m")
    return replace(plain, **changes)  # type: ignore[arg-type]


@dataclass
class Conversation:
    """A handoff whose role gives the scripted answers in turn."""

    answer: Answer
    script: list[Answer | Unavailable] = field(default_factory=list)
    subtask: str = "Coding"
    messages: tuple[Message, ...] = ()
    questions: list[tuple[str, str]] = field(default_factory=list)

    def ask_again(self, extra: str, after: Answer) -> Answer | Unavailable:
        self.questions.append((extra, after.text))
        return self.script[len(self.questions) - 1]

    def usable(self, answer: Answer) -> bool:
        return answer.text != "prose"


def hand_on(conversation: Conversation, policy: Policy | None = None) -> tuple[Answer, list[GateRecord]]:
    records: list[GateRecord] = []
    answer = UncertaintyGate(policy or Policy(), records.append)(conversation)
    for record in records:
        json.dumps(to_json(record), allow_nan=False)
    return answer, records


def outcome(records: list[GateRecord]) -> GateOutcome:
    assert isinstance(records[-1], GateOutcome)
    return records[-1]


def remedied(records: list[GateRecord]) -> list[Remedied]:
    return [record for record in records if isinstance(record, Remedied)]


def test_at_the_threshold_nothing_is_asked() -> None:
    conversation = Conversation(said("first", 0.5))
    answer, records = hand_on(conversation)
    assert answer is conversation.answer
    assert conversation.questions == []
    assert outcome(records) == GateOutcome("Coding", 0.5, 0.5, False, False, False, ())


def test_above_it_the_role_is_asked_and_the_better_answer_handed_on() -> None:
    conversation = Conversation(said("first", 0.6), [said("second", 0.2)])
    answer, records = hand_on(conversation)
    assert answer.text == "second"
    assert outcome(records) == GateOutcome("Coding", 0.6, 0.2, True, False, True, ("reprompt",))
    (tried,) = remedied(records)
    assert not tried.refusal and (tried.text_before, tried.text_after) == ("first", "second")
    assert (tried.before.u, tried.after.u) == (0.6, 0.2)
    assert tried.question == conversation.questions[0][0]


def test_the_decision_is_reported_before_anything_is_asked() -> None:
    seen: list[tuple[type[GateRecord], int]] = []
    conversation = Conversation(said("first", 0.6), [said("second", 0.2)])
    UncertaintyGate(Policy(), lambda record: seen.append((type(record), len(conversation.questions))))(
        conversation
    )
    assert seen == [(Decision, 0), (Remedied, 1), (GateOutcome, 1)]


def test_a_worse_answer_is_reported_and_dropped_and_the_flag_stays() -> None:
    conversation = Conversation(
        said("first", 0.6), [said("worse", 0.9), said("also worse", 0.7), said("never", 0)]
    )
    answer, records = hand_on(conversation)
    assert answer is conversation.answer
    assert len(conversation.questions) == 2
    assert all(tried.refusal for tried in remedied(records))
    assert [tried.text_after for tried in remedied(records)] == ["worse", "also worse"]
    assert outcome(records) == GateOutcome("Coding", 0.6, 0.6, True, True, False, ("reprompt",) * 2)


def test_the_second_question_is_about_the_best_answer_so_far() -> None:
    conversation = Conversation(said("first", 0.9), [said("better", 0.6), said("worse", 0.8)])
    answer, records = hand_on(conversation)
    assert answer.text == "better"
    assert [after for _, after in conversation.questions] == ["first", "better"]
    assert outcome(records).flagged and outcome(records).u_post == 0.6


@pytest.mark.parametrize("cap", [0, 1, 2, 3])
def test_the_cap_holds(cap: int) -> None:
    conversation = Conversation(said("first", 0.9), [said("same", 0.9)] * 4)
    _, records = hand_on(conversation, Policy(cap=cap))
    assert len(conversation.questions) == len(outcome(records).remedies) == cap
    assert outcome(records).flagged


def test_without_remedies_a_trigger_only_flags() -> None:
    _, records = hand_on(Conversation(said("first", 0.9)), Policy(remedies=()))
    assert outcome(records).flagged


def test_observing_measures_the_same_and_never_asks() -> None:
    conversation = Conversation(said("first", 0.9))
    answer, records = hand_on(conversation, Policy(mode="observe", on_unavailable="stop"))
    assert answer is conversation.answer
    assert conversation.questions == []
    assert isinstance(records[0], Decision) and records[0].action == "trigger"
    assert outcome(records) == GateOutcome("Coding", 0.9, 0.9, True, True, False, ())


def test_observing_does_not_stop_either() -> None:
    _, records = hand_on(Conversation(said("", 0)), Policy(mode="observe", on_unavailable="stop"))
    assert outcome(records).u_pre is None


def test_what_cannot_be_measured_is_handed_on_with_the_reason() -> None:
    conversation = Conversation(said("first", math.nan))
    answer, records = hand_on(conversation)
    assert answer is conversation.answer
    assert isinstance(records[0], Decision) and records[0].action == "unavailable"
    assert "not a number" in records[0].reason
    assert (outcome(records).u_pre, outcome(records).triggered) == (None, False)


def test_what_cannot_be_measured_stops_the_run_on_request() -> None:
    with pytest.raises(GateStopped, match=r"Coding.*no_logprobs.*raw log-probs"):
        hand_on(Conversation(said("x", 0.1, logprob_kind="none")), Policy(on_unavailable="stop"))


@pytest.mark.parametrize(
    ("second", "refusal"),
    [
        (said("", 0.0), "empty"),
        (said("second", 0.1, logprob_kind="none"), "cannot be measured"),
        (said("second", math.nan), "cannot be measured"),
        (said("second", 0.1, finish_reason="length"), "cut short"),
        (said("second", 0.1, model="other"), "cannot be compared"),
        (said("prose", 0.1), "form"),
        (said("second", 0.9), "not more certain"),
        (Unavailable("too_long", "The question does not fit."), "no second answer"),
    ],
)
def test_a_doubtful_second_answer_never_replaces_the_first(second: Answer | Unavailable, refusal: str) -> None:
    answer, records = hand_on(Conversation(said("first", 0.9), [second]), Policy(cap=1))
    assert answer.text == "first"
    assert refusal in remedied(records)[0].refusal
    assert outcome(records).flagged and outcome(records).u_post == 0.9


def test_an_impossible_answer_triggers_and_its_infinity_is_kept() -> None:
    answer, records = hand_on(Conversation(said("first", math.inf), [said("second", 0.1)]))
    assert answer.text == "second"
    assert to_json(outcome(records))["u_pre"] == "inf"


@dataclass(frozen=True)
class Ask:
    name: str

    def apply(self, case: Case[AnswerT]) -> Attempt[AnswerT]:
        return Attempt(self.name, case.handoff.ask_again(self.name, case.answer))


def test_remedies_are_tried_in_order() -> None:
    ladder: tuple[Remedy, ...] = (Ask("look up"), Ask("ask another"))
    conversation = Conversation(said("first", 0.9), [said("same", 0.9)] * 3)
    _, records = hand_on(conversation, Policy(remedies=ladder, cap=3))
    assert outcome(records).remedies == ("look up", "ask another", "ask another")


def test_thresholds_and_selections_are_looked_up_by_subtask() -> None:
    tokens = (Token("Yes", -0.3), Token(" indeed", -5.0))
    conversation = Conversation(Answer("Yes indeed", tokens, logprob_kind="raw"), subtask="Choose")
    policy = Policy(
        mode="observe", selections={"Choose": "decision-v1"}, thresholds=FixedThresholds({"Choose": 0.2})
    )
    _, records = hand_on(conversation, policy)
    assert outcome(records).u_pre == 0.3 and outcome(records).triggered


def test_the_reprompt_quotes_the_doubts_and_asks_for_the_whole_answer() -> None:
    tokens = (
        Token("x = ", -0.01),
        Token("{", -1.5),
        Token("a} + ", -0.01),
        Token("json", -2.0, (("pickle", -0.5),)),
        Token(".load(f)", -0.01),
    )
    first = Answer("x = {a} + json.load(f)", tokens, logprob_kind="raw", model="m")
    conversation = Conversation(first, [said("second", 0.1), said("third", 0.1)])
    question = Reprompt(places=1).apply(Case(conversation, first, decision_on(first))).question
    assert "- `json` (or `pickle`?) in `x = {a} + json.load(f)`\n" in question
    assert "complete answer again" in question
    assert "- `{`" not in question
    again = Reprompt(places=1).apply(Case(conversation, first, decision_on(first), ("reprompt",))).question
    assert "- `{`" in again and again != question


def test_the_reprompt_has_something_to_say_of_an_evenly_doubtful_answer() -> None:
    first = said("word", 0.6)
    conversation = Conversation(first, [said("second", 0.1)])
    assert "- all of it" in Reprompt().apply(Case(conversation, first, decision_on(first))).question


def decision_on(answer: Answer) -> Decision:
    records: list[GateRecord] = []
    UncertaintyGate(Policy(mode="observe"), records.append)(Conversation(answer))
    assert isinstance(records[0], Decision)
    return records[0]


@dataclass
class Shelf:
    """A library that remembers what it was asked."""

    found: str | Unavailable
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def look_up(self, subtask: str, names: Sequence[str]) -> str | Unavailable:
        self.asked.append((subtask, list(names)))
        return self.found


def unsure_of_a_call(u: float = 0.9) -> Answer:
    words = ["```python\n", "canvas.", "create_oval", "(1)\n", "```"]
    return Answer("".join(words), tuple(Token(word, -u) for word in words), logprob_kind="raw", model="m")


def test_doubtful_names_are_looked_up_and_the_answer_given_again_with_what_was_found() -> None:
    shelf = Shelf("[REFERENCE] takes {corners} [/REFERENCE]")
    conversation = Conversation(unsure_of_a_call(), [said("second", 0.1)])
    answer, records = hand_on(conversation, Policy(remedies=(Retrieve(shelf), Reprompt())))
    assert answer.text == "second"
    assert shelf.asked == [("Coding", ["canvas.create_oval"])]
    ((question, _),) = conversation.questions
    assert "- `canvas.create_oval`" in question and "[REFERENCE] takes {corners} [/REFERENCE]" in question
    assert outcome(records).remedies == ("retrieve",)


def test_what_still_is_doubtful_is_then_asked_again() -> None:
    conversation = Conversation(unsure_of_a_call(), [said("second", 0.7), said("third", 0.1)])
    answer, records = hand_on(conversation, Policy(remedies=(Retrieve(Shelf("found")), Reprompt())))
    assert answer.text == "third"
    assert outcome(records).remedies == ("retrieve", "reprompt")


@pytest.mark.parametrize(
    ("answer", "found", "why"),
    [
        (unsure_of_a_call(), Unavailable("empty", "nothing is known"), "nothing is known"),
        (said("prose of a kind", 0.9), "found", "hold no name"),
    ],
)
def test_a_look_up_that_yields_nothing_costs_no_question(
    answer: Answer, found: str | Unavailable, why: str
) -> None:
    conversation = Conversation(answer, [said("second", 0.9), said("third", 0.9)])
    _, records = hand_on(conversation, Policy(remedies=(Retrieve(Shelf(found)), Reprompt()), cap=2))
    assert outcome(records).remedies == ("retrieve", "reprompt", "reprompt")
    assert why in remedied(records)[0].refusal
    assert len(conversation.questions) == 2


def test_it_is_looked_up_once_for_each_answer() -> None:
    shelf = Shelf("found")
    conversation = Conversation(unsure_of_a_call(), [unsure_of_a_call(0.8)])
    _, records = hand_on(conversation, Policy(remedies=(Retrieve(shelf),), cap=3))
    assert len(shelf.asked) == len(conversation.questions) == 1
    assert "looked up already" in remedied(records)[1].refusal
