"""Who speaks when, what each role sees, and when a talk is settled."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from camel.messages import Answer, Message
from camel.roleplay import Outcome, Scene, concludes, conclusion_of, role_play

CTO, CEO = "Chief Technology Officer", "Chief Executive Officer"


class Talk:
    """Says `lines` in order, whoever is asked, and remembers who was asked with what."""

    def __init__(self, *lines: str) -> None:
        self.lines = iter(lines)
        self.asked: list[tuple[str, list[tuple[str, str]]]] = []

    def __call__(self, role: str, messages: Sequence[Message]) -> Answer:
        self.asked.append((role, [(message.role, message.content) for message in messages]))
        return Answer(next(self.lines))

    def play(self, turns: int) -> Outcome:
        return role_play(Scene(CTO, CEO, "you are the CTO", "you are the CEO", "Which language?", turns), self)


def test_one_turn_is_one_call_of_the_assistant_role() -> None:
    talk = Talk("Python, I think.")
    outcome = talk.play(1)
    assert talk.asked == [(CTO, [("system", "you are the CTO"), ("user", "Which language?")])]
    assert (outcome.answer.text, outcome.role, outcome.concluded) == ("Python, I think.", CTO, False)


def test_the_roles_take_turns_and_each_sees_the_talk_from_its_own_side() -> None:
    talk = Talk("Rust?", "Too hard.", "Python?", "Why?")
    outcome = talk.play(2)
    assert [role for role, _ in talk.asked] == [CTO, CEO, CTO, CEO]
    assert talk.asked[2][1] == [
        ("system", "you are the CTO"),
        ("user", "Which language?"),
        ("assistant", "Rust?"),
        ("user", "Too hard."),
    ]
    assert talk.asked[3][1] == [
        ("system", "you are the CEO"),
        ("assistant", "Which language?"),
        ("user", "Rust?"),
        ("assistant", "Too hard."),
        ("user", "Python?"),
    ]
    assert outcome.transcript == (
        (CEO, "Which language?"),
        (CTO, "Rust?"),
        (CEO, "Too hard."),
        (CTO, "Python?"),
        (CEO, "Why?"),
    )


def test_a_talk_that_settles_nothing_ends_with_the_assistants_last_word() -> None:
    outcome = Talk("Rust?", "No.", "Python?", "Hm.").play(2)
    assert (outcome.answer.text, outcome.role, outcome.concluded) == ("Python?", CTO, False)
    assert outcome.messages[-1] == Message("user", "No."), "the messages are those the answer was given to"


@pytest.mark.parametrize("turns", [2, 3, 10])
def test_turns_cost_at_most_two_calls_each(turns: int) -> None:
    talk = Talk(*["so"] * 100)
    talk.play(turns)
    assert len(talk.asked) == 2 * turns


def test_a_conclusion_of_the_assistant_ends_the_talk_at_once() -> None:
    talk = Talk("Rust?", "No.", "Agreed.\n<INFO> Python")
    outcome = talk.play(10)
    assert len(talk.asked) == 3
    assert (outcome.concluded, outcome.role) == (True, CTO)
    assert conclusion_of(outcome.answer.text) == "Python"


def test_a_conclusion_of_the_user_role_counts_as_well() -> None:
    talk = Talk("Rust?", "<INFO> Python")
    outcome = talk.play(10)
    assert len(talk.asked) == 2
    assert (outcome.concluded, outcome.role, outcome.answer.text) == (True, CEO, "<INFO> Python")
    assert outcome.messages[0].content == "you are the CEO", "a remedy would go on in the CEO's own talk"
    assert outcome.transcript[-1] == (CEO, "<INFO> Python")


@pytest.mark.parametrize(
    "text",
    [
        "<INFO> Python",
        "<INFO> Python\n",
        "<INFO> Python\n\n  \n",
        "I agree.\n<INFO> Python",
        "  <INFO> Python",
        "**<INFO>** Python",
        "**<INFO> Python**",
        "> <INFO> Python",
        "`<INFO> Python`",
        "<info> Python",
        "<INFO>Python",
        "<INFO> *Python*",
    ],
)
def test_decoration_around_a_conclusion_is_forgiven(text: str) -> None:
    assert concludes(text)
    assert conclusion_of(text) == "Python"


@pytest.mark.parametrize(
    "text", ["", "  \n", "Python", "<INFO> Python\nWhat do you think?", "end with <INFO>", "INFO x"]
)
def test_other_texts_settle_nothing(text: str) -> None:
    assert not concludes(text)


def test_the_last_marker_counts_and_without_one_the_whole_text() -> None:
    assert conclusion_of("<INFO> Java\nno:\n<INFO> Python") == "Python"
    assert conclusion_of("  Python it is. ") == "Python it is."
    assert conclusion_of("<INFO>") == ""
