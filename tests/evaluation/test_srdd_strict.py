"""Strict scores: what a user would say of a product."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sandbox
from evaluation.srdd.product import program_folder, sources, task_of, too_large
from evaluation.srdd.strict import failure_to_run, is_complete, without_comments

Make = Callable[..., Path]

isolated_only = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")

USAGE = "import argparse\np = argparse.ArgumentParser()\np.add_argument('x')\np.parse_args()\n"
HANDLED = "import time, traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\n"

ENDINGS: dict[str, tuple[dict[str, str], str]] = {
    "prints": ({"main.py": "print(1)\n"}, ""),
    "exit code 3": ({"main.py": "import sys\nsys.exit(3)\n"}, "crash"),
    "asks for its arguments": ({"main.py": USAGE}, ""),
    "syntax error": ({"main.py": "def (:\n"}, "syntax"),
    "syntax error in a file that nothing imports": ({"main.py": "print(1)\n", "other.py": "def (:\n"}, "syntax"),
    "segmentation fault": ({"main.py": "import os\nos.kill(os.getpid(), 11)\n"}, "killed"),
    "crash at once": ({"main.py": "1 / 0\n"}, "crash"),
    "asks": ({"main.py": "print(int(input()) + 1)\n"}, ""),
    "handled error printed": ({"main.py": HANDLED}, ""),
    "endless": ({"main.py": "import time\ntime.sleep(60)\n"}, ""),
    "traceback, then endless": ({"main.py": HANDLED + "time.sleep(60)\n"}, "timeout"),
    "no main.py": ({"game.py": "print(1)\n"}, "no_entry_point"),
    "missing module": ({"main.py": "import surely_not_installed\n"}, "missing_module"),
}


@isolated_only
def test_every_kind_of_ending_has_its_class(product: Make) -> None:
    def failure(name: str) -> str:
        folder = product(ENDINGS[name][0], name=f"product: {name}")
        return failure_to_run(folder, sources(folder), seconds=2 if "endless" in name else 8)

    with ThreadPoolExecutor(8) as pool:
        found = dict(zip(ENDINGS, pool.map(failure, ENDINGS), strict=True))
    assert found == {name: expected for name, (_, expected) in ENDINGS.items()}


@pytest.mark.parametrize(
    ("source", "complete"),
    [
        ("compass = 1  # bypass\nclass TodoList:\n    x = 1\n", True),
        ("try:\n    x = 1\nexcept OSError:\n    pass\n", True),
        ("def f(password): pass\n", False),
        ("def f(): ...\n", False),
        ("def f():\n    raise NotImplementedError\n", False),
        ("x = 1  # TODO: more\n", False),
        ("import board\n", False),
        ("def (:\n", False),
        ("", False),
    ],
)
def test_completeness_reads_the_syntax_tree(source: str, complete: bool) -> None:
    assert is_complete({"main.py": source}) is complete


def test_a_product_without_python_is_not_complete() -> None:
    assert not is_complete({})


def test_comments_and_docstrings_are_not_code() -> None:
    source = '"""Adds."""\ndef f():\n    """Sum."""\n    return "#1"  # one\ndef g():\n    """Nothing."""\n'
    assert without_comments(source) == "def f():\n    return '#1'\n\ndef g():\n    pass"
    assert without_comments("# one\nprint 1\n") == "print 1"
    deep = "x = " + "-" * 5000 + "1  # deep"
    assert without_comments(f"# start\n{deep}") == deep


def test_the_task_is_read_from_the_original_s_records(product: Make, tmp_path: Path) -> None:
    assert task_of(product({"main.py": ""}, task="Count.\n")) == "Count."
    (tmp_path / "meta.txt").write_text("Task:\nTwo\n\nlines\n\nConfig:\nx\n\nRoster:\ny\n")
    assert task_of(tmp_path) == "Two\n\nlines"
    (tmp_path / "meta.txt").unlink()
    assert task_of(tmp_path) is None


def test_fifty_megabytes_are_too_much_but_records_of_the_run_are_not(product: Make) -> None:
    folder = product({"main.py": "print(1)\n", "journal.jsonl": b"x" * 30_000_000})
    assert not too_large(folder)
    with (folder / "data.bin").open("wb") as file:
        file.truncate(50_000_000)
    assert too_large(folder)


def test_the_program_is_found_where_a_tool_put_it(product: Make) -> None:
    folder = product({"shop/shop/main.py": "", "shop/shop/deep/main.py": "", "notes.py": ""})
    assert program_folder(folder) == folder / "shop" / "shop"
    assert list(sources(program_folder(folder))) == ["main.py", "deep/main.py"]
