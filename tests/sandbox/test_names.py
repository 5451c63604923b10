"""Names that are read and were never given a value."""

from __future__ import annotations

import pytest

from sandbox.names import undefined_names

LOST = """def undo():
    if not entries:
        return
    del entries[-1]


def add():
    return len(entires)
"""


def test_each_name_is_found_once_in_each_function() -> None:
    found = [(finding.line, finding.name, finding.why) for finding in undefined_names({"main.py": LOST})]
    assert found == [
        (2, "undo", "`entries` is read and was never given a value"),
        (8, "add", "`entires` is read and was never given a value"),
    ]


def test_a_local_that_is_read_where_it_is_first_assigned_is_found() -> None:
    source = "def total():\n    rows = [row.split() for row in rows]\n    return rows\n"
    assert [finding.name for finding in undefined_names({"main.py": source})] == ["total"]


@pytest.mark.parametrize(
    "source",
    [
        "import os\nprint(os.name, __name__, __file__)\n",
        "def main():\n    helper()\n\n\ndef helper():\n    print(LATER)\n\n\nLATER = 1\nmain()\n",
        "from tkinter import *\nroot = Tk()\n",
        "try:\n    unicode\nexcept NameError:\n    unicode = str\n",
        "class Game:\n    size = 3\n    cells = [0] * size\n\n    def play(self) -> 'Game': ...\n",
        "def broken(:\n",
    ],
)
def test_what_has_a_value_when_it_is_read_is_no_finding(source: str) -> None:
    assert undefined_names({"main.py": source}) == ()


def test_only_python_is_read() -> None:
    assert undefined_names({"notes.txt": "total"}) == ()
