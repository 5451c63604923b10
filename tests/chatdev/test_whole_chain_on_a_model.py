"""The whole chain on the small real model: nothing scripted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chatdev.cli import main
from journal import read
from journal.events import Answered, Executed, Gated, Measured, RunEnded, Sampled, SubtaskEnded

TASK = (
    "Write a command-line adder, Python standard library only. `python main.py add A B` prints the sum of two "
    "whole numbers, `python main.py double A` prints twice the number. Anything else is an error: message, "
    "no traceback, non-zero exit code."
)


@pytest.mark.model
@pytest.mark.timeout(900)
@pytest.mark.parametrize("policy", ["on", "functional"])
def test_a_company_builds_a_program_and_measures_every_handoff(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--task", TASK, "--name", "Adder", "--org", "Test", "--model", "qwen2.5-coder-0.5b"]
    code = main([*arguments, "--uq", policy, "--warehouse", str(tmp_path)])
    shown = capsys.readouterr().out
    (folder,) = tmp_path.iterdir()
    events = read(folder / "journal.jsonl")

    assert re.fullmatch(r"Adder_Test_\d{14}", folder.name)
    made = {path.name for path in folder.iterdir()}
    assert {"main.py", "manual.md", "meta.txt", "Adder.prompt", "requirements.txt", "journal.jsonl"} <= made
    assert any(isinstance(event, Executed) for event in events)

    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert code == ended.exit_code == (0 if ended.verdict["works"] else 4)

    answers = [event for event in events if isinstance(event, Answered)]
    assert all(answer.logprob_kind == "raw" for answer in answers)
    assert all(float(logprob) <= 0 for answer in answers for _, logprob, _ in answer.tokens)
    assert sum(answer.usage["cached_tokens"] for answer in answers) > 0

    subtasks = [event for event in events if isinstance(event, SubtaskEnded)]
    measured = [event for event in events if isinstance(event, Measured)]
    assert len(measured) == len(subtasks) == sum(isinstance(event, Gated) for event in events)
    assert all(event.action in ("proceed", "trigger") for event in measured)
    assert all(f"\n{event.subtask}" in shown for event in subtasks)
    drafts = [event.works for event in events if isinstance(event, Sampled)]
    assert len(drafts) == (policy == "functional")
    assert all(f"of {len(works)} kept" in shown for works in drafts)
    assert ended.totals["calls"] == len(answers) == sum(event.calls for event in subtasks)
    assert str(folder) in shown
