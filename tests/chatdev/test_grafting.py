"""One program out of several drafts: what a function takes along from another draft, and where that stops."""

from __future__ import annotations

import pytest

from chatdev.checkpoint import Verdict
from chatdev.grafting import combined, grafted

FRAME = 'def run():\n    {run}\n\n\nif __name__ == "__main__":\n    run()\n'
PROGRAM = "def do_a():\n    return 1\n\n\n" + FRAME.format(run="do_a()")
DONOR = (
    "import math\n\nLETTERS, DIGITS = 'ab', '12'\nOTHER = 0\n\n\n"
    "def inner():\n    return LETTERS\n\n\ndef helper():\n    return inner() + DIGITS\n\n\n"
    "def unused():\n    return OTHER\n\n\ndef do_a():\n    return helper(), math.pi\n\n\n"
    + FRAME.format(run="other()")
)


def test_a_function_brings_along_what_it_needs_and_nothing_else() -> None:
    program = grafted(PROGRAM, DONOR, "do_a")
    namespace: dict[str, object] = {"__name__": "product"}
    exec(compile(program, "main.py", "exec"), namespace)
    assert namespace["do_a"]() == ("ab12", 3.141592653589793)  # type: ignore[operator]
    assert "unused" not in namespace and "OTHER" not in namespace
    assert program.count("LETTERS, DIGITS =") == 1
    assert "other()" not in program, "how the program runs stays as it is"


@pytest.mark.parametrize(
    "needed",
    [
        "KNOWN: dict[str, int] = {}",
        "KNOWN = {}\nKNOWN['first'] = 0\ndel KNOWN['first']",
        "from types import MappingProxyType as KNOWN",
    ],
)
def test_what_a_function_needs_is_known_by_the_statement_that_gives_it_a_meaning(needed: str) -> None:
    program = grafted(PROGRAM, f"{needed}\n\n\ndef do_a():\n    return KNOWN\n", "do_a")
    namespace: dict[str, object] = {"__name__": "product"}
    exec(compile(program, "main.py", "exec"), namespace)
    assert namespace["do_a"]() is namespace["KNOWN"]  # type: ignore[operator]


def test_a_statement_that_begins_within_another_line_ends_no_run() -> None:
    donor = 'DOC = """a\nb"""; LIMIT = 1\n\n\ndef do_a():\n    return LIMIT\n'
    assert "do_a" in grafted(PROGRAM, donor, "do_a")


def test_without_such_a_function_or_a_program_that_parses_nothing_is_taken() -> None:
    assert grafted(PROGRAM, DONOR, "do_b") == PROGRAM
    assert grafted(PROGRAM, "def do_a(:\n", "do_a") == PROGRAM


def test_no_more_is_tried_than_is_sensible() -> None:
    drafts = [PROGRAM.replace("1", str(number)) for number in range(60)]
    tried: list[str] = []

    def trial(source: str) -> Verdict:
        tried.append(source)
        return Verdict((), (), "fails", "")

    assert combined(drafts, 0, trial, lambda source, verdict: ["do_a"]) == (drafts[0], {})
    assert len(tried) == len(set(tried)) <= 31
