"""A console that goes away, is full, missing or lacks characters ends no command and changes no exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from calibration.labels import Group, Response
from calibration.store import open_store

PROJECT = Path(__file__).parent.parent
PROGRAM = "main.py\n```python\nprint('hello')\n```"


def run(command: str, *, stdout: int | None = None, stderr: int | None = None, **variables: str) -> int:
    return subprocess.run(
        ["sh", "-c", command, "sh", sys.executable],
        cwd=PROJECT,
        stdout=stdout,
        stderr=stderr,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **variables},
        check=False,
    ).returncode


def nobody_reads() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def company_at_work(folder: Path) -> str:
    script = folder / "script.json"
    replies = [{"match": "Write the complete", "text": PROGRAM}, {"match": ".", "text": "none"}]
    script.write_text(json.dumps(replies))
    flags = f"--task Greet --name Greeting --retrieval off --uq off --warehouse '{folder}'"
    return f'"$1" run.py --model scripted:"{script}" {flags}'


def how_it_ended(warehouse: Path) -> str:
    (journal,) = warehouse.glob("Greeting*/journal.jsonl")
    return str(json.loads(journal.read_text("utf-8").splitlines()[-1])["type"])


def test_a_run_goes_on_when_nobody_reads_its_progress_any_more(tmp_path: Path) -> None:
    pipe = nobody_reads()
    assert run(company_at_work(tmp_path), stdout=pipe, stderr=pipe) == 0
    assert how_it_ended(tmp_path) == "RunEnded"


def test_a_run_whose_output_finds_no_room_ends_as_its_product_does_and_says_so(tmp_path: Path) -> None:
    told = tmp_path / "told"
    assert run(f"{company_at_work(tmp_path)} >/dev/full 2>'{told}'") == 0
    assert how_it_ended(tmp_path) == "RunEnded"
    assert told.read_text().count("Some of the output is lost: No space left on device.") == 1
    assert "Stopped" not in told.read_text()


def test_a_run_needs_no_console(tmp_path: Path) -> None:
    assert run(f"{company_at_work(tmp_path)} <&- >&- 2>&-") == 0
    assert how_it_ended(tmp_path) == "RunEnded"


@pytest.mark.parametrize("console", [nobody_reads, full_disk])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ('"$1" -m uq "$FOLDER/saved.json"', 0),
        ('"$1" -m sandbox "$FOLDER"', 0),
        ('"$1" -m chatdev validate CompanyConfig', 0),
        ('"$1" -m calibration drift --store "$FOLDER/store.sqlite"', 0),
        ('"$1" -m evaluation.behaviour "$FOLDER" --task hangman', 0),
        ('"$1" -m retrieval "" --source docs', 1),
    ],
)
def test_the_exit_code_of_a_command_tells_the_truth_whatever_becomes_of_its_output(
    tmp_path: Path, command: str, code: int, console: Callable[[], int]
) -> None:
    (tmp_path / "saved.json").write_text("[-0.1]\n" * 3000)
    (tmp_path / "main.py").write_text("print('hello')")
    group = Group("Coding", "scripted", "raw", "content-v1", "token-uncertainty")
    with open_store(tmp_path / "store.sqlite", create=True) as store:
        store.learn([Response("run", 0, "task", "1", group, 0.1, "correct")], "conformal", 0.1)
    lost = console()
    assert run(command, stdout=lost, stderr=lost, FOLDER=str(tmp_path)) == code


def test_a_console_without_the_characters_of_a_program_shows_others(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print('\\u00e9')")
    ascii_only = {"PYTHONIOENCODING": "ascii", "FOLDER": str(tmp_path)}
    assert run('"$1" -m sandbox "$FOLDER"', stdout=subprocess.DEVNULL, **ascii_only) == 0
