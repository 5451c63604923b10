"""The text log read as ChatDev 1.x's replay page reads it: records, who says what to whom, and the numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from chatdev.cli import main
from chatdev.statistics import software_info
from journal.events import RunStarted

Tools = Any  # the fixture of conftest.py
SCRIPT = {
    "DemandAnalysis": "Let us think about an operating System [maybe].",
    "Reflection": "<INFO> Application",
    "Coding": "main.py\n```python\nprint(1)\n\nprint([2])\n```\n",
    "Manual": "# Manual\n\nRun it.",
    "EnvironmentDoc": "```\npygame\n```\n<INFO> done",
}
NUMBERS = re.findall(
    r"\w+",
    """cost version_updates num_code_files num_png_files num_doc_files code_lines env_lines manual_lines duration
    num_utterances num_self_reflections num_prompt_tokens num_completion_tokens num_total_tokens""",
)


def records(log: str) -> list[str]:
    """A record begins with a time and a level in brackets, and ends before the next one."""
    begins = list(re.finditer(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \w+\] ", log, re.MULTILINE))
    ends = [begin.start() for begin in begins[1:]] + [len(log)]
    return [log[begin.end() : end] for begin, end in zip(begins, ends, strict=True)]


def spoken(record: str) -> tuple[str, str] | None:
    """Who speaks and what, where the page finds a speaker, one of its two marks, and a closing bracket."""
    if "System" in record or not re.match(r"[\w ]+:.*(?:<->|\[Start Chat\])", record):
        return None
    mark = re.search(r"<->|\[Start Chat\]", record)
    assert mark
    return record.partition(":")[0], record[mark.end() :].partition("]")[2].strip()


@pytest.fixture
def log(tmp_path: Path, tools: Tools) -> str:
    chain = [tools.simple("DemandAnalysis", turns=1, reflect=True), "Coding", "EnvironmentDoc", "Manual"]
    company = tools.write_company(tmp_path / "company", chain)
    file = company / "RoleConfig.json"
    file.write_text(file.read_text().replace("You are the Programmer.", "You are a System [Programmer]: {task}"))
    arguments = ["--config", str(company), "--model", tools.script_file(tmp_path / "script.json", SCRIPT)]
    arguments += ["--task", "a list\nwith [brackets]", "--uq", "off", "--warehouse", str(tmp_path / "warehouse")]
    assert main(arguments) == 0
    (product,) = (tmp_path / "warehouse").iterdir()
    return (product / f"{product.name}.log").read_text("utf-8")


def test_every_word_that_is_spoken_is_replayed_with_its_speaker(log: str) -> None:
    said = [talk for record in records(log) if (talk := spoken(record))]
    assert [speaker for speaker, _ in said] == [
        *("Chief Executive Officer", "Chief Product Officer"),
        *("Counselor", "Chief Executive Officer"),
        *("Chief Technology Officer", "Programmer"),
        *("Chief Technology Officer", "Programmer"),
        *("Chief Executive Officer", "Chief Product Officer"),
    ]
    assert said[0][1] == "[DemandAnalysis] a list\nwith [brackets]"
    assert said[1][1].replace("\N{WORD JOINER}", "") == SCRIPT["DemandAnalysis"]
    assert said[5][1] == SCRIPT["Coding"].strip()


def test_beginning_task_and_end_are_found(log: str) -> None:
    first, last = records(log)[0], records(log)[-1]
    assert re.search(r"ChatDev Starts\D*\d{14}", first)
    assert re.search(r"task_prompt.*: ?(.*)", first)[1].strip() == "a list"  # type: ignore[index]
    assert "ChatDev Ends" in last


def test_the_numbers_have_the_originals_names_and_are_right(log: str) -> None:
    info = records(log)[-1].partition("Software Info")[2]
    found = {name: re.search(rf"\b{name}\D*?=(\S+)", info) for name in NUMBERS}
    numbers = {name: match[1] for name, match in found.items() if match}
    assert numbers.keys() == set(NUMBERS)
    assert re.fullmatch(r"\d+\.\d\ds", numbers.pop("duration"))
    assert int(numbers["num_prompt_tokens"]) + int(numbers["num_completion_tokens"]) == int(
        numbers["num_total_tokens"]
    )
    for name, value in {
        "cost": "$0.000000",
        "num_code_files": "1",
        "num_png_files": "0",
        "num_doc_files": "3",
        "code_lines": "2",
        "env_lines": "1",
        "manual_lines": "2",
        "num_utterances": "9",
        "num_self_reflections": "1",
        "version_updates": "4",
    }.items():
        assert numbers[name] == value, name
    assert "**calls**=5" in info and "**cached_tokens**=0" in info


def test_what_a_server_charges_and_files_that_are_not_there_are_unknown(tmp_path: Path) -> None:
    started = RunStarted("P", "O", "1", "task", {"model": "openai:some"}, "some")
    info = software_info([started], tmp_path, 1.0)
    for line in ("**cost**=$-1.000000", "**env_lines**=-1", "**manual_lines**=-1", "**num_utterances**=0"):
        assert line in info
