"""Probes of tasks that are written in an unusual way: they stay quick, sensible and fair."""

from __future__ import annotations

import random
import re
import time

import pytest

from chatdev.acceptance import AcceptanceRun, judge
from chatdev.command_line import read_command_line, sentences
from chatdev.probes import probes
from chatdev.shapes import shapes

STOCK = "Called as `python main.py COMMAND ...`. `add NAME PRICE QUANTITY` adds an item. "
PIECES = [*"1-:,|(\\x_%é²٣", "NAME", "PRICE", "...", "item", "0.25", "2024-01-01", "007", " ", "日本"]


def judged(run: AcceptanceRun, printed: str) -> int:
    return judge(run, {"timed_out": False, "stdout": printed, "stderr": "", "exit_code": 0}).points


def texts_and_patterns(task: str) -> list[tuple[str, str]]:
    line = read_command_line(task)
    return [(shape.text, shape.pattern) for shape in shapes(task, line)] if line else []


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("NAME PRICE QUANTITY 0.25", "nut" + " " * 5000 + "!"),
        ("NAME, PRICE, QUANTITY, NAME, PRICE: 5", ", ," * 600),
        ("... ... ... ... ... 5", " x" * 900),
        ("a-b-c-d-e-f-g: 5", "-" * 1900),
        ("a1-b2-c3-d4-e5-f6", "11-" * 600),
        ("1NAME 2NAME 3NAME 4NAME: 5", "1111111111111111 " * 100),
        ("total: 5", "a" * 60_000 + "!"),
    ],
)
def test_no_line_that_a_program_prints_takes_long(shown: str, printed: str) -> None:
    run = probes(STOCK + f"`list` prints lines like `{shown}`.")[-1]
    began = time.monotonic()
    assert judged(run, printed) == 1
    assert time.monotonic() - began < 2


def test_what_is_shown_has_its_own_shape_and_is_quick_to_tell_apart_whatever_it_is() -> None:
    chance = random.Random(6)
    began = time.monotonic()
    for _ in range(300):
        shown = "".join(chance.choices(PIECES, k=chance.randint(1, 14)))
        for text, pattern in texts_and_patterns(STOCK + f"`list` prints `x {shown} y`."):
            assert re.fullmatch(pattern, " ".join(text.split())), (text, pattern)
            for line in ("1-" * 300, "x " * 300, "-" * 600, f"{shown} " * 40):
                re.fullmatch(pattern, " ".join(line.split()))
    assert time.monotonic() - began < 15


def test_columns_are_wide_as_the_program_likes() -> None:
    run = probes(STOCK + "`list` prints lines like `NAME PRICE 3`.")[-1]
    assert judged(run, "  big-nut      12.50   14\n") == 2


def test_either_of_two_lines_will_do_also_where_one_is_a_word_and_only_of_one_command() -> None:
    task = STOCK + "`list` prints `total: 3`. `check NAME` prints `fine` or `lacking: 2`. "
    runs = probes(task + "`sum` prints `sum: 3` or `nothing`.")
    shown = {run.arguments[0]: run for run in runs}
    assert shown["list"].expected == ("total: 3",)
    assert [judged(shown["check"], printed) for printed in ("fine", "lacking: 9", "all is fine")] == [2, 2, 1]
    assert [judged(shown["sum"], printed) for printed in ("sum: 9", "nothing", "none at all")] == [2, 2, 1]


@pytest.mark.parametrize(
    ("said", "argument", "value"),
    [
        ("Dates look like `YYYY-MM-DD`.", "DATE", "2024-03-05"),
        ("A time is written like `HH:MM`.", "TIME", "09:30"),
        ("A time is written like `9h`.", "TIME", "9h"),
        ("", "MESSAGE", "alpha"),
        ("", "DATABASE", "alpha"),
        ("", "PHOTO", "alpha"),
        ("", "ITEM_ID", "2"),
    ],
)
def test_what_is_put_in_is_what_the_name_says(said: str, argument: str, value: str) -> None:
    task = f"Called as `python main.py COMMAND ...`. `add {argument}` adds one. {said} `list` prints `sum: 3`."
    assert probes(task)[0].arguments == ("add", value)


def test_a_sentence_ends_outside_snippets() -> None:
    assert sentences("It is. `a. B` is. `c`. No") == ["It is.", "`a. B` is.", "`c`.", "No"]
    assert sentences("An `open mark. It is. So") == ["An `open mark.", "It is.", "So"]


@pytest.mark.parametrize(
    "odd",
    [
        "Some Sentence here. " * 5000,
        "json " * 10_000,
        "missing file " * 5000,
        "`a.json` looks like " + "[" * 100_000,
    ],
    ids=["sentences", "json", "missing file", "brackets"],
)
def test_a_very_long_task_is_read_at_once(odd: str) -> None:
    began = time.monotonic()
    assert isinstance(probes(STOCK + "`list` prints `sum: 3`. " + odd), tuple)
    assert time.monotonic() - began < 5
