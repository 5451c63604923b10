"""A person in the chain: what the lines typed become, and what happens where nobody types any."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatdev.cli import main
from chatdev.company import PROJECT
from chatdev.person import Said, listen
from journal import read
from journal.events import SubtaskStarted, Typed

Play = Any  # the fixtures of conftest.py
Tools = Any
GOOD, BETTER = (f"main.py\n```python\nprint({number})\n```\n" for number in (1, 2))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("print 2\nend\nmore\n", Said("print 2")),
        ("print 2\n\n  and 3\r\n END \n", Said("print 2\n\n  and 3")),
        ("the end\nend\n", Said("the end")),
        ("end\n", Said("")),
        ("exit\n", Said("", leaves=True)),
        ("print 2\nExit\nend\n", Said("", leaves=True)),
        ("print 2", Said("print 2")),
        ("", Said("", leaves=True)),
        (" \n", Said("", leaves=True)),
    ],
)
def test_lines_are_sent_by_end_or_the_end_of_the_input_and_exit_leaves(typed: str, said: Said) -> None:
    assert listen("?", io.StringIO(typed), io.StringIO()) == said


def test_a_closed_or_absent_input_is_nobody(tmp_path: Path) -> None:
    closed = io.StringIO("print 2\nend\n")
    closed.close()
    out = io.StringIO()
    assert listen("The program is in X.", closed, out) == listen("", None, io.StringIO()) == Said("", leaves=True)
    assert out.getvalue().startswith("The program is in X.\nSay what should be different")
    assert "Nobody answers" in out.getvalue()


def persons(*said: Said) -> Callable[[str], Said]:
    answers = iter(said)
    return lambda question: next(answers)


def human(tools: Tools) -> list[Any]:
    return ["Coding", tools.composed("HumanAgentInteraction", 5, "CodeReviewHuman")]


def test_what_the_person_says_is_done_until_the_person_leaves(play: Play, tools: Tools) -> None:
    script = {"Coding": GOOD, "CodeReviewHuman": BETTER}
    played = play(human(tools), script, person=persons(Said("print 2"), Said("", leaves=True)))
    assert played.talker.prompts[1:] == ["[CodeReviewHuman] person: print 2"]
    assert played.files["main.py"] == "print(2)\n"


def test_an_empty_comment_costs_no_call_and_the_person_is_asked_again(play: Play, tools: Tools) -> None:
    script = {"Coding": GOOD, "CodeReviewHuman": BETTER}
    played = play(human(tools), script, person=persons(Said(""), Said("print 2"), *[Said("")] * 3))
    assert played.talker.phases == ["Coding", "CodeReviewHuman"]
    assert len(played.events(Typed)) == 5


SCRIPT = {
    "DemandAnalysis": "<INFO> Application",
    "LanguageChoose": "<INFO> Python",
    "Coding": GOOD,
    "CodeReviewComment": "<INFO> Finished",
    "CodeReviewHuman": BETTER,
    "EnvironmentDoc": "```\n```",
    "Manual": "# Manual",
}


@pytest.fixture
def arguments(tmp_path: Path, tools: Tools) -> list[str]:
    company = tools.write_company(tmp_path / "company", human(tools))
    model = tools.script_file(tmp_path / "script.json", SCRIPT)
    return ["--config", str(company), "--model", model, "--warehouse", str(tmp_path / "warehouse")]


@pytest.mark.parametrize(
    ("typed", "program", "calls"),
    [
        (b"print 2\xc3\xa9\xff\nend\nexit\n", "print(2)\n", 2),
        (b"print 2", "print(2)\n", 2),
        (b"", "print(1)\n", 1),
    ],
)
def test_a_run_without_a_terminal_reads_a_pipe_or_goes_on_alone(
    tmp_path: Path, arguments: list[str], typed: bytes, program: str, calls: int
) -> None:
    command = [sys.executable, str(PROJECT / "run.py"), *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    ended = subprocess.run(command, input=typed, capture_output=True, timeout=60, env=environment)
    assert ended.returncode == 0, ended.stderr
    (product,) = (tmp_path / "warehouse").iterdir()
    assert (product / "main.py").read_text() == program
    started = [event for event in read(product / "journal.jsonl") if isinstance(event, SubtaskStarted)]
    assert len(started) == calls
    log = (product / f"{product.name}.log").read_text("utf-8")
    assert ("**[Human Comments]**" in log) == (calls == 2)


def test_a_resumed_run_does_not_ask_the_person_again(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("print 2\nend\nexit\n"))
    assert main(arguments) == 0
    (product,) = (tmp_path / "warehouse").iterdir()
    journal = product / "journal.jsonl"
    whole = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(whole[:-1]))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["--resume", str(product)]) == 0
    assert [event.text for event in read(journal) if isinstance(event, Typed)] == ["print 2", ""]
    assert (product / "main.py").read_text() == "print(2)\n"
