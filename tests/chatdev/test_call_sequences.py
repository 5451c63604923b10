"""Who is asked what, in which order, in each shipped company: plain runs, and a model that answers in form."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chatdev.cli import main
from chatdev.company import PROJECT
from journal import read
from journal.events import Answered, Executed

GIVEN = PROJECT / "tests" / "data" / "incremental"
CEO, CPO, CTO, PROGRAMMER, REVIEWER = (
    "Chief Executive Officer",
    "Chief Product Officer",
    "Chief Technology Officer",
    "Programmer",
    "Code Reviewer",
)
# What the shipped prompt of each phase is known by, and an answer to it that is in form.
IN_FORM = {
    "What kind of product": "<INFO> Application",
    "Which programming language": "<INFO> Python",
    "example runs of the finished program": "```\n$ python main.py add 1 2\n3\n```",
    "Write the complete program": "main.py\n```python\nprint(3)\n```\n",
    "Which pictures": "sun.png: a yellow sun",
    "pictures lie beside main.py": "main.py\n```python\nprint(3)  # sun.png\n```\n",
    "Now make this change": "words.txt\n```\nkiwi\n```\n",
    "The person it is written for": "main.py\n```python\nprint(4 - 1)\n```\n",
    "Compare the program with the task": "<INFO> Finished",
    "Which packages": "```\n```",
    "Write the user manual": "# Manual\n\nRun it.",
}
BEGIN = [("DemandAnalysis", CPO), ("LanguageChoose", CTO)]
END = [("EnvironmentDoc", PROGRAMMER), ("Manual", CPO)]
REVIEW = [("CodeReviewComment", REVIEWER)]
CODING = [("Coding", PROGRAMMER)]
SEQUENCES = {
    # The original makes twelve calls: six of them for three reviews of which the first has nothing to say.
    "Default": [*BEGIN, *CODING, *REVIEW, *END],
    "Art": [*BEGIN, *CODING, ("ArtDesign", PROGRAMMER), ("ArtIntegration", PROGRAMMER), *REVIEW, *END],
    "Draft": [*BEGIN, *CODING],
    "Human": [*BEGIN, *CODING, *REVIEW, ("CodeReviewHuman", PROGRAMMER), *END],
    "Incremental": [*BEGIN, ("CodeChange", PROGRAMMER), *REVIEW, *END],
}
Run = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    def run_company(config: str, task: str = "A program that prints 3", code: int = 0, **changed: str) -> Path:
        replies = [{"match": match, "text": changed.get(match, text)} for match, text in IN_FORM.items()]
        (tmp_path / "script.json").write_text(json.dumps(replies))
        monkeypatch.setattr(sys, "stdin", io.StringIO("Count from 4.\nend\nexit\n"))
        arguments = ["--config", config, "--task", task, "--uq", "off", "--warehouse", str(tmp_path / config)]
        arguments += ["--model", f"scripted:{tmp_path / 'script.json'}"]
        arguments += ["--path", str(GIVEN)] if config == "Incremental" else []
        assert main(arguments) == code
        (product,) = (tmp_path / config).iterdir()
        return product

    return run_company


def calls(product: Path) -> list[tuple[str, str]]:
    answers = [event for event in read(product / "journal.jsonl") if isinstance(event, Answered)]
    assert {event.purpose for event in answers} == {"answer"}
    return [(event.subtask, event.role) for event in answers]


def test_there_is_a_sequence_for_each_shipped_company() -> None:
    assert {folder.name for folder in (PROJECT / "CompanyConfig").iterdir()} == set(SEQUENCES)


@pytest.mark.parametrize("config", SEQUENCES)
def test_the_calls_of_a_company_are_exactly_these(run: Run, config: str) -> None:
    assert calls(run(config)) == SEQUENCES[config]


def test_a_task_that_says_how_it_is_called_costs_one_call_more(run: Run) -> None:
    product = run("Default", task="An adder: `python main.py add A B` prints the sum.")
    assert calls(product)[2] == ("AcceptanceRuns", "Software Test Engineer")
    assert len(calls(product)) == len(SEQUENCES["Default"]) + 1


def test_a_program_is_executed_once_for_each_state_it_is_in(run: Run) -> None:
    product = run("Human")
    starts = [event for event in read(product / "journal.jsonl") if isinstance(event, Executed)]
    # The draft, what the person had changed, and the same with its list of packages.
    assert len(starts) <= 3
    assert len({event.key for event in starts}) == len(starts)
