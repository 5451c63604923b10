"""Policy HASSUM in the chain: who is asked what, what is handed on, and what the journal says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from camel.models.scripted import Reply
from chatdev.deliberation import hassum_hook
from chatdev.handoff import Hook
from journal import Journal
from journal.events import Answered, Deliberated, Measured, Remedied
from uq.scores import Unavailable

Play = Any  # the fixture of conftest.py
MANUALS = [f"# Manual {letter}" for letter in "abcde"]


class Letters:
    """Places a text by its last letter."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(text.strip()[-1] == letter) for letter in "abcdef"] for text in texts]


class Nowhere:
    def embed(self, texts: Sequence[str]) -> Unavailable:
        return Unavailable("no_embedding_model", "not installed")


def judge(prompt: str) -> str:
    first, second = re.findall(r"# Manual (\w)", prompt.partition("Answer A:")[2])
    return "Entailment" if first == second else "Neutral"


def policy(embedder: Any = None, **settings: Any) -> Callable[[Journal], Hook]:
    return lambda journal: hassum_hook({"hassum": settings}, journal, embedder=embedder or Letters())


def test_through_all_actions_to_the_cap(play: Play) -> None:
    script = {
        "Manual": [
            *MANUALS,
            *MANUALS,
            *MANUALS,
            "# Manual a",
            "# Manual a",
            "# Manual b",
            "# Manual c",
            "# Manual d",
        ],
        "Judge": judge,
        "Executive": ["ask again", "another worker", "several workers"],
    }
    played = play(["Manual"], script, hook=policy())
    records = played.events(Deliberated)
    assert [record.decision for record in records] == ["ask again", "another worker", "several workers", "cap"]
    assert [record.said for record in records] == ["ask again", "another worker", "several workers", ""]
    assert [record.roles[0] for record in records] == [
        "Chief Product Officer",
        "Chief Product Officer",
        "Chief Technology Officer",
        "Chief Product Officer",
    ]
    assert records[3].roles == ["Chief Product Officer", "Programmer", "Code Reviewer"]
    assert [record.samples for record in records] == [5, 5, 5, 5]
    assert records[0].groups == [[0], [1], [2], [3], [4]]
    assert records[3].groups == [[0, 1], [2], [3], [4]]
    assert records[0].backends == {"entropy": "ok", "density": "ok"}
    assert records[0].settings["temperature"] == 0.85
    assert (records[3].flagged, records[3].kept) == (True, "# Manual a")
    assert played.environment.manual == "# Manual a\n"

    asked = played.events(Answered)
    samples = [event for event in asked if event.purpose == "sample"]
    assert len(samples) == 4 + 5 + 5 + 5
    assert {event.sampling["temperature"] for event in samples} == {0.85}
    assert samples[9].messages[0]["content"] == "You are the Chief Technology Officer."
    assert samples[9].messages[1] == samples[0].messages[1], "the question stays the same"
    assert "do not mean the same" in samples[4].messages[-1]["content"]
    judged = [event for event in asked if event.purpose == "judge"]
    # Ten pairs, one call each where the first order says no; equal texts need none.
    assert len(judged) == 10 + 10 + 10 + 6
    decided = [event for event in asked if event.purpose == "decision"]
    assert [event.role for event in decided] == ["Chief Executive Officer"] * 3
    order = [type(event).__name__ for event in played.events() if isinstance(event, (Deliberated, Answered))]
    assert order[-1] == "Deliberated", "each decision is written before it is carried out"


def test_agreement_is_handed_on_without_asking_the_executive(play: Play) -> None:
    played = play(["Manual"], {"Manual": "# Manual a"}, hook=policy())
    (record,) = played.events(Deliberated)
    assert (record.decision, record.flagged) == ("accept", False)
    assert played.events(Measured)[0].measurement["signal"] == "token-uncertainty"
    assert len(played.events(Answered)) == 5


def test_code_goes_through_the_gate(play: Play) -> None:
    code = Reply("main.py\n```python\nprint(1)\n```\n", u=0.9)
    played = play(["Coding"], {"Coding": code}, hook=policy())
    assert played.events(Deliberated) == []
    assert [event.remedy for event in played.events(Remedied)] == ["reprompt", "reprompt"]


def test_without_its_embedding_model_the_answer_is_handed_on_flagged(play: Play) -> None:
    played = play(["Manual"], {"Manual": "# Manual a"}, hook=policy(Nowhere()))
    (record,) = played.events(Deliberated)
    assert (record.decision, record.flagged) == ("unavailable", True)
    assert record.density == {"reason": "no_embedding_model", "detail": "not installed"}


def test_a_judge_that_talks_nonsense_is_not_believed(play: Play) -> None:
    played = play(["Manual"], {"Manual": MANUALS, "Judge": "Da."}, hook=policy(density=None))
    (record,) = played.events(Deliberated)
    assert (record.decision, record.flagged) == ("unavailable", True)
    assert record.backends["entropy"].startswith("abstained: The judge had no opinion on 10 of 10 pairs")
    assert record.backends["density"] == "off"
