"""The uncertainty gate between two subtasks: what it asks, what it keeps, and what is in the journal of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from camel.models.scripted import Reply
from chatdev.handoff import Hook
from chatdev.uncertainty import uncertainty_hook
from journal import Journal
from journal.events import Answered, Gated, Measured, Remedied, SubtaskEnded
from uq.gate import GateStopped
from uq.policy import PolicyError

Play = Any  # the fixture of conftest.py


def gate(mode: str = "act", **settings: Any) -> Callable[[Journal], Hook]:
    return lambda journal: uncertainty_hook(settings, mode, journal)


def python(body: str, u: float) -> Reply:
    return Reply(f"main.py\n```python\n{body}\n```\n", u=u)


def names(played: Any) -> list[str]:
    wanted = (Answered, Measured, Remedied, Gated, SubtaskEnded)
    return [type(event).__name__ for event in played.events() if isinstance(event, wanted)]


def test_a_certain_answer_is_measured_and_handed_on(play: Play) -> None:
    played = play(["Manual"], {"Manual": Reply("# Manual", u=0.1)}, hook=gate())
    assert names(played) == ["Answered", "Measured", "Gated", "SubtaskEnded"]
    (measured,) = played.events(Measured)
    assert (measured.subtask, measured.action) == ("Manual", "proceed")
    assert measured.measurement["value"] == pytest.approx(0.1)
    assert (measured.threshold["tau"], measured.threshold["source"]) == (0.5, "fallback")
    (gated,) = played.events(Gated)
    assert (gated.u_pre, gated.u_post) == (pytest.approx(0.1), pytest.approx(0.1))
    assert (gated.triggered, gated.flagged, gated.remedies) == (False, False, [])


def test_a_doubtful_answer_is_asked_for_again_and_a_surer_one_replaces_it(play: Play) -> None:
    script = {"Coding": [python("print(1)", 0.9), python("print(2)", 0.2), python("print(3)", 0.1)]}
    played = play(["Coding"], script, hook=gate())
    assert names(played) == ["Answered", "Measured", "Answered", "Remedied", "Gated", "SubtaskEnded"]
    (remedied,) = played.events(Remedied)
    assert remedied.text_before == played.events(Answered)[0].text
    assert remedied.text_after == played.events(Answered)[1].text
    assert (remedied.remedy, remedied.refusal) == ("reprompt", "")
    assert remedied.question == played.talker.prompts[1]
    assert "print(1)" in remedied.question, "the doubtful places are quoted"
    assert played.files["main.py"] == "print(2)\n"
    (gated,) = played.events(Gated)
    assert (gated.u_pre, gated.u_post) == (pytest.approx(0.9), pytest.approx(0.2))
    assert (gated.triggered, gated.flagged, gated.replaced) == (True, False, True)


def test_it_is_asked_for_at_most_twice_and_the_best_of_all_is_kept(play: Play) -> None:
    script = {"Coding": [python(f"print({number})", u) for number, u in enumerate((0.9, 0.7, 0.8, 0.01))]}
    played = play(["Coding"], script, hook=gate())
    assert played.talker.phases == ["Coding"] * 3
    assert [event.refusal for event in played.events(Remedied)] == ["", "it is not more certain"]
    assert played.files["main.py"] == "print(1)\n"
    (gated,) = played.events(Gated)
    assert gated.u_post == pytest.approx(0.7)
    assert (gated.triggered, gated.flagged, gated.remedies) == (True, True, ["reprompt"] * 2)


def test_a_surer_answer_that_cannot_be_used_does_not_replace_one_that_can(play: Play) -> None:
    script = {"Coding": [python("print(1)", 0.9), Reply("I am sure.", u=0.01)]}
    played = play(["Coding"], script, hook=gate())
    assert {event.refusal for event in played.events(Remedied)} == {"it does not have the form asked for"}
    assert played.files["main.py"] == "print(1)\n"


def test_each_subtask_has_remedies_of_its_own(play: Play) -> None:
    played = play(["Slogan", "Manual"], {"Slogan": Reply("a", u=0.9), "Manual": Reply("b", u=0.9)}, hook=gate())
    assert played.talker.phases == ["Slogan"] * 3 + ["Manual"] * 3
    assert [event.calls for event in played.events(SubtaskEnded)] == [3, 3]


def test_who_only_observes_never_asks(play: Play) -> None:
    played = play(["Coding"], {"Coding": [python("print(1)", 0.9), python("print(2)", 0.1)]}, hook=gate("observe"))
    assert names(played) == ["Answered", "Measured", "Gated", "SubtaskEnded"]
    (gated,) = played.events(Gated)
    assert (gated.triggered, gated.flagged, gated.replaced) == (True, True, False)
    assert played.files["main.py"] == "print(1)\n"


def test_without_the_gate_nothing_is_measured(play: Play) -> None:
    assert names(play(["Manual"], {"Manual": Reply("# M", u=0.9)})) == ["Answered", "SubtaskEnded"]


def test_the_threshold_and_the_cap_are_the_companys(play: Play) -> None:
    hook = gate(thresholds={"Manual": 0.2}, cap=1)
    played = play(["Manual", "Slogan"], {"Manual": Reply("# M", u=0.3), "Slogan": Reply("x", u=0.3)}, hook=hook)
    assert [event.triggered for event in played.events(Gated)] == [True, False]
    assert len(played.events(Remedied)) == 1


NOT_A_NUMBER = Reply("# Manual", logprobs=(None, -0.1))


def test_an_answer_that_cannot_be_measured_goes_on_unless_the_company_says_stop(play: Play) -> None:
    played = play(["Manual", "Slogan"], {"Manual": NOT_A_NUMBER, "Slogan": "x"}, hook=gate())
    assert played.talker.phases == ["Manual", "Slogan"]
    measured = played.events(Measured)[0]
    assert measured.action == "unavailable"
    assert measured.reason.startswith("nan: ")
    gated = played.events(Gated)[0]
    assert (gated.u_pre, gated.u_post, gated.triggered) == (None, None, False)


def test_a_company_that_wants_measured_answers_only_is_stopped(play: Play, tmp_path: Path) -> None:
    with pytest.raises(GateStopped, match="uncertainty of Manual cannot be measured"):
        play(["Manual", "Slogan"], {"Manual": NOT_A_NUMBER}, hook=gate(on_unavailable="stop"))
    records = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [record["type"] for record in records][-2:] == ["Answered", "Measured"]
    assert "# Manual" in records[-2]["text"], "nothing is lost"


def test_observing_never_stops_a_run(play: Play) -> None:
    played = play(["Manual"], {"Manual": NOT_A_NUMBER}, hook=gate("observe", on_unavailable="stop"))
    assert (played.folder / "product" / "manual.md").read_text() == "# Manual\n"


def test_a_token_of_probability_zero_is_infinite_doubt_in_valid_json(play: Play) -> None:
    hopeless = Reply("# Manual", logprobs=(-9999, -9999))
    played = play(["Manual"], {"Manual": [hopeless, Reply("# Better", u=0.1)]}, hook=gate())
    (gated,) = played.events(Gated)
    assert (float(gated.u_pre), gated.replaced) == (float("inf"), True)
    assert "Infinity" not in (played.folder / "journal.jsonl").read_text()


def test_a_policy_that_makes_no_sense_names_its_key(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cap: -1 is not a whole number"):
        uncertainty_hook({"cap": -1}, "act", Journal(tmp_path / "journal.jsonl"))
