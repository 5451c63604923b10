"""The original's three rules, row by row, its defects included."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sandbox
from evaluation.srdd import official

Make = Callable[..., Path]

isolated_only = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")

HANDLED = "import time, traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\n"
FLOOD = "import sys, time\nsys.stdout.write('word' * 50_000)\nsys.stdout.flush()\n1 / 0\n"
LOUD = FLOOD.replace("stdout", "stderr").replace("1 / 0", "time.sleep(60)")
USAGE = "import argparse\np = argparse.ArgumentParser()\np.add_argument('x')\np.parse_args()\n"
PATIENT = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(3.5)\n"
SEGFAULT = "import os\nos.kill(os.getpid(), 11)\n"

# What the original says of a program, most of it wrong.
VERDICTS: dict[str, tuple[dict[str, str], float]] = {
    "prints 1": ({"main.py": "print(1)\n"}, 1),
    "syntax error in main.py": ({"main.py": "def (:\n"}, 1),
    "syntax error in an imported file": ({"main.py": "import other\n", "other.py": "def (:\n"}, 0),
    "no main.py": ({"game.py": "1 / 0\n"}, 1),
    "no Python at all": ({"index.html": "<p>"}, 0),
    "exit code 3": ({"main.py": "import sys\nsys.exit(3)\n"}, 1),
    "usage error": ({"main.py": USAGE}, 1),
    "crash at once": ({"main.py": "1 / 0\n"}, 0),
    "input at the end of standard input": ({"main.py": "input()\n"}, 0),
    "endless loop": ({"main.py": "import time\ntime.sleep(60)\n"}, 1),
    "crash after the window": ({"main.py": "import time\ntime.sleep(4)\n1 / 0\n"}, 1),
    "crash after filling the pipe": ({"main.py": FLOOD}, 1),
    "filled standard error, then a hang": ({"main.py": LOUD}, 1),
    "segmentation fault": ({"main.py": SEGFAULT}, 1),
    "ignores the signal": ({"main.py": PATIENT}, 1),
    "handled error printed": ({"main.py": HANDLED}, 0),
    "says there is no traceback": ({"main.py": "import sys\nprint('no traceback today', file=sys.stderr)\n"}, 0),
    "traceback, then a hang": ({"main.py": HANDLED + "time.sleep(60)\n"}, 0),
    "missing module": ({"main.py": "import surely_not_installed\n"}, 0),
    "crash beside __pycache__": ({"main.py": "1 / 0\n", "__pycache__/main.cpython-311.pyc": ""}, 1),
    "crash beside base/": ({"main.py": "1 / 0\n", "base/old.py": "print(1)\n"}, 1),
}  # fmt: skip


@isolated_only
def test_executability_of_every_kind_of_program(product: Make) -> None:
    folders = [product(files, name=f"p{number}") for number, (files, _) in enumerate(VERDICTS.values())]
    began = time.monotonic()
    with ThreadPoolExecutor(len(folders)) as pool:
        found = dict(zip(VERDICTS, pool.map(official.executability, folders), strict=True))
    assert found == {name: verdict for name, (_, verdict) in VERDICTS.items()}
    assert time.monotonic() - began >= official.WINDOW


def test_a_space_in_the_folder_hides_every_crash(product: Make) -> None:
    assert official.executability(product({"main.py": "1 / 0\n"}, name="my product")) == 1


@pytest.mark.parametrize(
    ("files", "complete"),
    [
        ({"main.py": "print(1)\n"}, 1),
        ({"main.py": "compass = 1\n"}, 0),
        ({"main.py": "x = 1  # bypass cache\n"}, 0),
        ({"main.py": "try:\n    x = 1\nexcept OSError: pass\n"}, 0),
        ({"main.py": "class TodoList:\n    x = 1\n"}, 0),
        ({"main.py": "x = 1\n", "todo_utils.py": "x = 1\n"}, 0),
        ({"main.py": "def f(): ...\n"}, 1),
        ({"main.py": "def f():\n    raise NotImplementedError\n"}, 1),
        ({"main.py": ""}, 1),
        ({"index.html": "<p>"}, 1),
        ({"main.py": "def f(password): pass\n"}, 1),
        ({"main.py": "passenger = passed = 1\n"}, 1),
        ({"main.py": "def f():\n    PASS\n"}, 0),
    ],
)
def test_completeness_is_a_search_for_two_words(product: Make, files: dict[str, str], complete: float) -> None:
    assert official.completeness(product(files)) == complete


def test_of_two_files_with_one_name_only_the_later_is_seen(product: Make) -> None:
    folder = product({"tool.py": "def f(): pass\n", "deep/tool.py": "print(1)\n"})
    assert official.completeness(folder) == 1


def test_the_task_is_whatever_text_file_comes_first(product: Make) -> None:
    assert official.task_text(product({"main.py": "", "requirements.txt": "numpy\n"}, name="one")) == "numpy\n"
    assert official.task_text(product({"main.py": ""}, name="two")) is None


def test_code_loses_comment_lines_and_what_docstrings_hold(product: Make) -> None:
    folder = product({"main.py": '# start\n\ndef f():\n    """add"""\n    return "add", 1  # sum\n'})
    # The word goes wherever it stands, and the headers stay.
    assert official.code_text(folder) == 'main.py\n```Python\ndef f():\n    """"""\n    return "", 1  # sum\n```'


def test_a_docstring_of_one_newline_takes_all_newlines(product: Make) -> None:
    folder = product({"main.py": 'a = 1\nb = """\n"""\nc = 2\n'})
    assert official.code_text(folder) == 'main.py```Pythona = 1b = """"""c = 2```'


def test_a_text_that_cannot_be_read_is_where_the_script_dies(product: Make) -> None:
    folder = product({"main.py": ""})
    (folder / "a.txt").symlink_to("nowhere")
    assert official.task_text(folder) is None
    (folder / "a.txt").unlink()
    os.mkfifo(folder / "a.txt")
    assert official.task_text(folder) is None
