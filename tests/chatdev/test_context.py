"""A window that is too small: a map and the files that matter instead of everything, and the run goes on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from camel.messages import Message, Sampling
from camel.models.model import ContextOverflow
from camel.models.scripted import ScriptedModel
from chatdev.asking import Asker
from chatdev.excerpt import excerpt
from chatdev.reply import render_files
from journal.events import Answered, Noted

Play = Any  # the fixtures of conftest.py
Tools = Any
LARGE = {
    "main.py": "print(1)\n",
    **{f"parts/unit{number}.py": f"def part{number}():\n    return {number}\n" * 40 for number in range(30)},
    "parts/invoice.py": "def tax(amount):\n    return amount * 0.19\n",
}


def test_what_fits_is_shown_whole() -> None:
    whole = render_files(LARGE)
    assert excerpt(LARGE, None, "") == excerpt(LARGE, len(whole), "") == whole


@pytest.mark.parametrize("room", [0, 10, 200, 1000, 4000, 20000])
def test_an_excerpt_never_takes_more_room_than_there_is(room: int) -> None:
    assert len(excerpt(LARGE, room, "the tax is wrong")) <= room


def test_an_excerpt_names_every_file_and_shows_those_that_are_spoken_of() -> None:
    shown = excerpt(LARGE, 6000, "The tax is wrong. See parts/unit7.py")
    for path in LARGE:
        assert f"- {path} (" in shown
    assert "- parts/invoice.py (2 lines): tax\n" in shown
    assert "parts/unit7.py\n```python\n" in shown and "parts/invoice.py\n```python\n" in shown
    assert len(re.findall(r"^```python", shown, re.MULTILINE)) < 10


def test_of_one_file_that_is_too_long_by_itself_the_beginning_is_shown() -> None:
    shown = excerpt({"main.py": "x = 1\n" * 5000}, 2000, "")
    assert "main.py\n```python\nx = 1\n" in shown and shown.endswith("\n(cut here)\n")


class Narrow(ScriptedModel):
    """A model that refuses prompts of more than `most` characters, as servers do; some name their window."""

    def __init__(self, answer: Any, most: int, named: int | None) -> None:
        super().__init__(answer)
        self.most, self.named, self.refused = most, named, 0

    def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Any]:
        if sum(len(message.content) for message in messages) > self.most:
            self.refused += 1
            raise ContextOverflow("context length exceeded", self.named)
        return super().answer(messages, sampling)


def narrowed(
    monkeypatch: pytest.MonkeyPatch, most: int, named: int | None, known: int | None = None
) -> list[Narrow]:
    """Give the chain's asker such a model in place of the scripted one."""
    made: list[Narrow] = []
    begun = Asker.__post_init__

    def begin(asker: Asker) -> None:
        assert isinstance(asker.model, ScriptedModel)
        model = Narrow(asker.model._function, most, named)
        model.window = known
        made.append(model)
        asker.model = model
        begun(asker)

    monkeypatch.setattr(Asker, "__post_init__", begin)
    return made


REVIEW = {
    "CodeReviewComment": ["the tax in parts/invoice.py is wrong", "<INFO> Finished"],
    "CodeReviewModification": "parts/invoice.py\n```python\ndef tax(amount):\n    return amount * 0.2\n```\n",
}


@pytest.mark.parametrize("named", [None, 4000])
def test_a_product_that_does_not_fit_is_shown_in_part_and_the_right_file_is_changed(
    play: Play, tools: Tools, monkeypatch: pytest.MonkeyPatch, named: int | None
) -> None:
    made = narrowed(monkeypatch, 9000, named)
    played = play([tools.REVIEW], REVIEW, files=LARGE)
    assert played.files["parts/invoice.py"] == "def tax(amount):\n    return amount * 0.2\n"
    assert played.files["parts/unit3.py"] == LARGE["parts/unit3.py"]
    assert any("too long to be shown whole" in event.note for event in played.events(Noted))
    # What was learnt once is kept.
    assert 1 <= made[0].refused <= 4
    overflowed = [event for event in played.events(Answered) if event.finish_reason == "overflow"]
    assert [event.window for event in overflowed] == [named] * len(overflowed)


def test_where_the_window_is_known_nothing_that_does_not_fit_is_sent(
    play: Play, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = narrowed(monkeypatch, 17000, None, known=6000)
    played = play([tools.REVIEW], REVIEW, files=LARGE)
    assert made[0].refused == 0
    assert "0.2" in played.files["parts/invoice.py"]


def test_a_talk_that_grew_too_long_goes_on_without_its_middle(
    play: Play, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrowed(monkeypatch, 700, None)
    script = {"Slogan": ["word " * 50, "word " * 40, "word " * 30, "word " * 20, "<INFO> Lists for all"]}
    played = play([tools.simple("Slogan", turns=5)], script)
    assert played.environment.conclusions["Slogan"] == "Lists for all"
    assert any(event.finish_reason == "overflow" for event in played.events(Answered))


def test_a_task_that_no_window_holds_does_not_end_the_run_nor_go_round_in_circles(
    play: Play, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = narrowed(monkeypatch, 50, 10)
    script = dict.fromkeys(
        ["DemandAnalysis", "LanguageChoose", "Coding", "EnvironmentDoc", "Manual"], "never said"
    )
    played = play(tools.WHOLE_CHAIN, {**script, **REVIEW}, task="long " * 100)
    assert made[0].refused < 40
    assert not played.environment.verdict.works
