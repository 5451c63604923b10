"""What a benchmark cannot measure it refuses with a sentence; none of these ever starts an engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import generation, main_job, measuring_overhead, scoring, signals_humaneval

Command = Callable[[list[str]], object]
NOBODY = ["--model", "openai:nobody", "--base-url", "http://127.0.0.1:1/v1"]
SCRIPTED = ["--model", "scripted:nowhere"]


def refused(command: Command, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said where the arguments are refused."""
    with pytest.raises(SystemExit) as ending:
        command(arguments)
    told = capsys.readouterr()
    assert (ending.value.code, told.out) == (2, "")
    return told.err


@pytest.mark.parametrize(
    ("command", "arguments", "option", "least"),
    [
        (main_job.main, ["--behaviour", *SCRIPTED], "--limit", 1),
        (main_job.main, ["--behaviour", *SCRIPTED], "--seed", 0),
        (generation.main, NOBODY, "--limit", 1),
        (generation.main, NOBODY, "--workers", 1),
        (scoring.main, [], "--products", 4),
        (scoring.main, ["--products", "4"], "--workers", 1),
        (measuring_overhead.main, ["llama.cpp", *SCRIPTED], "--pairs", 1),
        (measuring_overhead.main, ["llama.cpp", *SCRIPTED], "--tokens", 1),
        (signals_humaneval.main, ["none.jsonl", "--records", "none", *SCRIPTED], "--limit", 1),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    command: Command, arguments: list[str], option: str, least: int, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(command, [*arguments, option, str(least - 1)], capsys)
    assert f"{option}: must be a whole number of at least {least}, not '{least - 1}'" in told


def test_the_main_job_says_where_nothing_can_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    command = ["--task", "Print 1.", *SCRIPTED]
    out = str(tmp_path / "file" / "out")
    told = refused(main_job.main, [*command, "--out", out], capsys)
    assert f"--out {out} cannot be used (Not a directory); name another place" in told
    told = refused(main_job.main, [*command, "--json", str(tmp_path)], capsys)
    assert f"--json {tmp_path}: is a folder; name a file in it" in told


def test_the_main_job_needs_a_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert "The task is empty; say with --task what is to be built." in refused(
        main_job.main, ["--task", "", *SCRIPTED], capsys
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "/no/tasks.csv"], "/no/tasks.csv cannot be read"),
        (["--tasks", "/no/suite.json"], "/no/suite.json: cannot be read"),
        (["--arm", "nope"], "--arm nope: there is no such arm"),
        (["--limit", "1"], "The model answered nothing: run.py: "),
    ],
)
def test_where_nothing_is_answered_there_is_no_rate(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(generation.main, [*NOBODY, *arguments], capsys)


def test_only_an_embedded_model_can_be_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text("[]")
    for model, message in (
        ("nope", "There is no model 'nope'"),
        (f"scripted:{script}", "is no embedded model. Give one of the catalog, or a .gguf file."),
    ):
        assert message in refused(measuring_overhead.main, ["llama.cpp", "--model", model], capsys)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read (FileNotFoundError"),
        ("", "holds no problem; give HumanEval's, one a line"),
        ("x\n", "cannot be read (JSONDecodeError"),
        ("{}\n", "cannot be read (KeyError('task_id'))"),
    ],
)
def test_a_file_without_problems_is_refused(
    tmp_path: Path, text: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "problems.jsonl"
    if text is not None:
        data.write_text(text)
    told = refused(signals_humaneval.main, [str(data), "--records", str(tmp_path / "records"), *SCRIPTED], capsys)
    assert f"{data} {message}" in told
