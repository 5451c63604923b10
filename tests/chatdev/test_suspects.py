"""Which function is to blame for a run that does not show what was written down."""

from __future__ import annotations

import pytest

from chatdev.acceptance import RunResult
from chatdev.checkpoint import Verdict
from chatdev.command_line import read_command_line
from chatdev.session import parse_session
from chatdev.workshop import suspects
from sandbox.completeness import Finding

LINE = read_command_line("Call it with `python main.py FILE COMMAND ...`. `add-one TEXT` adds. `list` prints all.")
SOURCE = "def do_add_one(file, text):\n    pass\n\ndef do_list(file):\n    pass\n"
RUNS = parse_session(
    "$ python main.py f add-one x\n1\n$ python main.py f list\nx\n$ python main.py f add-one y\n2\n"
)


def verdict(*points: int, broken: tuple[Finding, ...] = ()) -> Verdict:
    results = tuple(RunResult(run.line, point) for run, point in zip(RUNS, points, strict=True))
    return Verdict(broken, (), "runs", "", results)


def test_the_function_of_each_failing_command_is_named_with_its_runs() -> None:
    assert suspects(LINE, SOURCE, RUNS, verdict(1, 2, 0)) == {
        "do_add_one": ["python main.py f add-one x", "python main.py f add-one y"]
    }
    assert list(suspects(LINE, SOURCE, RUNS, verdict(2, 1, 0))) == ["do_list", "do_add_one"]
    assert suspects(LINE, SOURCE, RUNS, verdict(2, 2, 2)) == {}


@pytest.mark.parametrize("source", ["print(1)", "def do_list(:"])
def test_nobody_is_blamed_where_the_program_is_written_otherwise_or_does_not_parse(source: str) -> None:
    assert suspects(LINE, source, RUNS, verdict(0, 0, 0)) == {}


def test_nobody_is_blamed_where_the_whole_program_is_broken_or_has_no_commands() -> None:
    broken = (Finding("a.py", 1, "", "does not compile"),)
    assert suspects(LINE, SOURCE, RUNS, verdict(0, 0, 0, broken=broken)) == {}
    assert suspects(None, SOURCE, RUNS, verdict(0, 0, 0)) == {}
