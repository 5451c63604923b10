"""Runs made from the notation of a task, and the shapes of output that the task itself shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from camel.messages import Answer
from chatdev.acceptance import AcceptanceRun, judge
from chatdev.command_line import read_command_line
from chatdev.drafts import POLICIES, Drafting, drafting_hook
from chatdev.environment import Environment
from chatdev.probes import MOST_PROBES, probes
from chatdev.shapes import shapes
from chatdev.workshop import Workshop
from chatdev.workspace import Workspace
from journal import Journal
from journal.events import Checked, Sampled

Play = Any  # the fixture of conftest.py

STOCK = (
    "A stock keeper. `python main.py` reads commands from standard input. `add NAME QUANTITY PRICE` creates one. "
    "`show NAME` prints a line like `bolt: 40 at 0.25` (two decimals), at most one. `value` prints the sum, like "
    "`value: 12.50`."
)
SHEET = (
    "A time sheet. `python main.py add DATE PROJECT DURATION` adds an entry; durations look like `1h30m`. `sum` "
    "prints each project's time, as `website: 3h05m` or `shop: 0h45m`, then `total: ...`. `best` prints "
    "`1. DATE - PROJECT`. An unknown command gives a message."
)


def patterns(task: str) -> dict[str, list[str]]:
    line = read_command_line(task)
    assert line is not None
    found: dict[str, list[str]] = {}
    for shape in shapes(task, line):
        found.setdefault(shape.command.word, []).append(shape.pattern)
    return found


@pytest.mark.parametrize(
    ("task", "command", "number", "fits", "does_not"),
    [
        (STOCK, "show", 0, "big-nut: 3 at 12.50", "nut: 3 at 12.5"),
        (STOCK, "value", 0, "value: 0.75", "total: 0.75"),
        (SHEET, "sum", 0, "garden: 12h00m", "garden: 75m"),
        (SHEET, "sum", 1, "total: 12h00m", "12h00m"),
        (SHEET, "best", 0, "2. 2024-03-05 - my shop", "2024-03-05 my shop"),
    ],
)
def test_numbers_and_names_may_differ_but_not_what_the_task_says_in_words(
    task: str, command: str, number: int, fits: str, does_not: str
) -> None:
    pattern = patterns(task)[command][number]
    assert re.fullmatch(pattern, fits)
    assert not re.fullmatch(pattern, does_not)


def test_snippets_that_nothing_prints_are_no_shapes() -> None:
    assert set(patterns(SHEET)) == {"sum", "best"}, "`1h30m` is what goes in"
    marked = "Run `python main.py COMMAND ...`. `add TEXT` adds a task. `list` prints all tasks, marked `[ ]`."
    assert patterns(marked) == {}


def test_what_is_put_in_comes_before_what_shows_it() -> None:
    assert [run.line for run in probes(SHEET)] == [
        "python main.py add 2024-03-05 alpha 1h30m",
        "python main.py add 2024-03-06 beta 1h30m",
        "python main.py sum",
        "python main.py best",
    ]
    assert [run.stdin for run in probes(STOCK)] == [
        "add alpha 2 0.5\nadd beta 3 12.5\nshow alpha\n",
        "add alpha 2 0.5\nadd beta 3 12.5\nvalue\n",
    ]


def test_a_task_without_notation_or_without_a_shown_line_has_no_probes() -> None:
    assert probes("A to-do list with a window.") == ()
    assert probes("Run `python main.py COMMAND ...`. `add TEXT` adds a note. `list` prints all notes.") == ()


def test_no_more_are_made_than_are_worth_their_seconds() -> None:
    commands = " ".join(f"`show-{letter} N` prints `{letter}: 5`." for letter in "abcdefghijkl")
    assert len(probes(f"Run `python main.py COMMAND ...`. `add N` adds. {commands}")) == MOST_PROBES


def test_a_file_that_must_be_there_is_made_where_the_task_shows_its_lines() -> None:
    task = (
        "Entries look like `10:30 hello`. `python main.py count FILE` prints `entries: N`. `last FILE` prints "
        "`last: N`. A missing file is an error: message."
    )
    first, second = probes(task)
    assert (first.files, second.files) == ({"alpha.txt": "10:30 hello\n"}, {})
    unknown = task.replace("Entries look like `10:30 hello`. ", "")
    assert probes(unknown) == (), "nothing is known of what lies in the file"


@pytest.mark.parametrize(
    ("printed", "points", "nearness"), [("a: 1\nb: 2", 2, 1.0), ("x\nB: 2 ", 1, 0.5), ("a 1", 1, 0.0)]
)
def test_a_run_is_as_near_as_the_share_of_its_shapes_that_it_shows(
    printed: str, points: int, nearness: float
) -> None:
    run = AcceptanceRun("python main.py", (), "", {}, ("a: 7", "b: 8"), (r"a:\s+\d+", r"b:\s+\d+"))
    result = judge(run, {"timed_out": False, "stdout": printed, "stderr": "", "exit_code": 0})
    assert (result.points, result.nearness) == (points, nearness)
    if points < 2:
        assert result.difference.startswith("must print a line like '")


def stock(shown: str, value: str = "print(f'value: {sum(q * p for q, p in state.values()):.2f}')") -> str:
    return (
        "main.py\n```python\ndef do_add(state, name, quantity, price):\n"
        "    state[name] = (int(quantity), float(price))\n\n"
        f"def do_show(state, name):\n    {shown}\n\ndef do_value(state):\n    {value}\n```\n"
    )


LOOSE = "print(f'{name}: {state[name][0]} at {state[name][1]}')"
PLAIN = "print(name)"
RIGHT = "print(f'{name}: {state[name][0]} at {state[name][1]:.2f}')"
NOTHING_SEEN = "```\n$ printf 'value\\n' | python main.py\nerror\n```"


def test_of_drafts_that_acceptance_cannot_tell_apart_the_one_that_shows_what_the_task_shows_is_handed_on(
    play: Play,
) -> None:
    drafts = [stock(LOOSE, "print(0)"), stock(LOOSE, "print(1)"), stock(RIGHT, "print(2)")]
    result = play(
        ["AcceptanceRuns", "Coding"],
        {"AcceptanceRuns": NOTHING_SEEN, "Coding": drafts},
        task=STOCK,
        hook=lambda journal: drafting_hook(journal, POLICIES["cascade"], Drafting(more=2)),
    )
    assert result.events(Sampled)[0].chosen == 2
    assert ":.2f" in result.files["main.py"]


def test_the_function_that_shows_a_wrong_line_gives_way_to_that_of_another_draft(play: Play) -> None:
    drafts = [stock(LOOSE), stock(RIGHT, "print(2)")]
    result = play(
        ["AcceptanceRuns", "Coding"],
        {"AcceptanceRuns": NOTHING_SEEN, "Coding": drafts},
        task=STOCK,
        hook=lambda journal: drafting_hook(journal, POLICIES["cascade"], Drafting(more=1)),
    )
    assert list(result.events(Sampled)[0].grafts) in (["do_show"], ["do_value"])
    probed = result.events(Checked)[-1].verdict["probes"]
    assert [probe["points"] for probe in probed] == [2, 2]


def test_cascade_draws_where_nothing_but_a_probe_shows_that_the_first_draft_is_wrong(play: Play) -> None:
    result = play(
        ["AcceptanceRuns", "Coding"],
        {"AcceptanceRuns": "I cannot think of any.", "Coding": [stock(PLAIN), stock(RIGHT)]},
        task=STOCK,
        hook=lambda journal: drafting_hook(journal, POLICIES["cascade"], Drafting(more=1)),
    )
    reason = result.events(Sampled)[0].reason
    assert reason.startswith(
        "no acceptance run shows what the first draft does, and a probe must print a line like '"
    )


def test_a_probe_alone_never_fails_a_product(tmp_path: Path) -> None:
    workshop = Workshop(Environment(STOCK, Workspace(tmp_path / "product")), Journal(tmp_path / "journal.jsonl"))
    verdict = workshop.trial(Answer(stock("print('none')", "raise RuntimeError")))
    assert [probe.points for probe in verdict.probes] == [1, 0]
    assert verdict.passed and "RuntimeError" not in verdict.report(), "what it was given is only guessed"
