"""The plain prompt from the command line: what it cannot do it refuses, as run.py does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatdev.single import main


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"match": ".", "text": "```python\nprint(1)\n```"}]))
    return ["--model", f"scripted:{script}", "--allow-unsandboxed", "--warehouse", str(tmp_path / "warehouse")]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--task", " "], "single: The task is empty; say with --task what is to be built."),
        (["--resume", "somewhere"], "single: --resume: there is nothing to go on with"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_made(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main([*arguments, *more]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "warehouse").exists()


def test_a_warehouse_that_cannot_be_made_is_refused(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "warehouse").write_text("a file")
    assert main([*arguments, "--task", "Print 1."]) == 2
    assert f"single: No product folder can be made in {tmp_path / 'warehouse'}: " in capsys.readouterr().err


def test_only_what_can_be_quantized_is(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--task", "Print 1.", "--quantize"]) == 3
    assert "Only hf: models are quantized on loading" in capsys.readouterr().err
