"""What counts as missing, and what only looks like it."""

from __future__ import annotations

import pytest

from sandbox.completeness import (
    Finding,
    syntax_errors,
    undefined_local_imports,
    unimplemented,
)


@pytest.mark.parametrize(
    "code",
    [
        "compass = 1\n",
        "x = 1  # bypass cache\n",
        "try:\n    x = 1\nexcept ValueError: pass\n",
        "class TodoList:\n    items = ()\n",
        "class Error(Exception):\n    pass\n",
        "class Error(Exception):\n    '''Wrong move.'''\n",
        "def check(password):\n    return bool(password)\n",
        "text = 'TODO: your code here'  # shown to the user\n",
        "def todo(passenger): return passenger\n",
        "# A TODO list with items\nx = 1\n",
        "# adds a todo to the list\nx = 1\n",
        "# the rest of the game is drawn by the board\nx = 1\n",
        "from typing import Protocol\nclass P(Protocol):\n    def f(self) -> int: ...\n",
        "import typing\nclass P(typing.Protocol[int]):\n    def f(self) -> int: ...\n",
        "from abc import ABC\nclass A(ABC):\n    def f(self):\n        pass\n",
        "import abc\nclass A(metaclass=abc.ABCMeta):\n    def f(self):\n        raise NotImplementedError\n",
        "import abc\nclass A:\n    @abc.abstractmethod\n    def f(self): ...\n",
        "from typing import overload\n@overload\ndef f(x: int) -> int: ...\ndef f(x): return x\n",
        "class A:\n    def f(self):\n        raise NotImplementedError\n"
        "class B(A):\n    def f(self):\n        return 1\n",
        "while True:\n    pass\n",
        "def f():\n    try:\n        return 1\n    except OSError:\n        pass\n",
        "def f():\n    raise ValueError\n",
    ],
)
def test_finished_code_raises_no_alarm(code: str) -> None:
    assert unimplemented({"todo_utils.py": code}) == ()


@pytest.mark.parametrize(
    ("code", "line", "name"),
    [
        ("def f(): ...\n", 1, "f"),
        ("def f():\n    raise NotImplementedError\n", 1, "f"),
        ("def f():\n    raise NotImplementedError('later')\n", 1, "f"),
        ("def f(password): pass\n", 1, "f"),
        ("def check_password(): pass\n", 1, "check_password"),
        ("x = 1\ndef f():\n    '''Plays.'''\n", 2, "f"),
        ("def f():\n    '''Plays.'''\n    pass\n", 1, "f"),
        ("async def f():\n    pass\n", 1, "f"),
        ("class Board:\n    size = 3\n    def place(self):\n        pass\n", 3, "Board.place"),
        ("def outer():\n    def inner():\n        pass\n    return inner\n", 2, "outer.inner"),
        ("if True:\n    def f():\n        pass\n", 2, "f"),
        ("x = 1\n# TODO: win\n", 2, "# TODO: win"),
        ("x = 1\n# todo: win\n", 2, "# todo: win"),
        ("x = 1  # FIXME\n", 1, "# FIXME"),
        ("def f(x):\n    # Your code here\n    return x\n", 2, "# Your code here"),
        ("def f(x):\n    # implement the rules here\n    return x\n", 2, "# implement the rules here"),
        ("def f(x):\n    # not yet implemented\n    return x\n", 2, "# not yet implemented"),
        ("x = 1\n# ... rest of the code stays the same\n", 2, "# ... rest of the code stays the same"),
    ],
)
def test_unfinished_code_is_found_with_its_place(code: str, line: int, name: str) -> None:
    found = unimplemented({"main.py": code})
    assert [(finding.path, finding.line, finding.name) for finding in found] == [("main.py", line, name)]


def test_empty_files_are_found_but_not_package_markers() -> None:
    files = {
        "main.py": "",
        "doc.py": "'''Only words.'''\n",
        "style.css": "\n",
        "pkg/__init__.py": "",
        ".gitkeep": "",
    }
    assert unimplemented(files) == (
        Finding("main.py", 0, "main.py", "the file is empty"),
        Finding("doc.py", 0, "doc.py", "the file holds no code"),
        Finding("style.css", 0, "style.css", "the file is empty"),
    )


@pytest.mark.parametrize("files", [{}, {"README.md": "# Game\n", "requirements.txt": "pygame\n"}])
def test_a_product_without_source_is_not_complete(files: dict[str, str]) -> None:
    assert unimplemented(files) == (Finding("", 0, "", "the product has no source file"),)


def test_a_product_in_another_language_is_complete() -> None:
    assert unimplemented({"index.html": "<p>pass</p>\n", "app.js": "run();\n"}) == ()


def test_findings_of_a_file_come_in_order_of_lines() -> None:
    code = "# TODO: a\ndef f(): pass\n# TODO: b\n"
    assert [finding.line for finding in unimplemented({"main.py": code})] == [1, 2, 3]


def test_syntax_errors_tell_file_line_and_message() -> None:
    files = {"main.py": "x = 1\ndef f(:\n    pass\n", "ok.py": "x = 1\n", "notes.txt": "def (\n"}
    (found,) = syntax_errors(files)
    assert (found.path, found.line, found.name) == ("main.py", 2, "def f(:")
    assert "invalid syntax" in found.why


@pytest.mark.parametrize(
    "code", ["return 1\n", "def f():\n  x = 1\n y = 2\n", "x = '\0'\n", "(" * 5000, "x = '\ud800'\n"]
)
def test_everything_the_compiler_refuses_is_an_error(code: str) -> None:
    assert [finding.path for finding in syntax_errors({"main.py": code})] == ["main.py"]


def test_bad_escapes_are_no_errors(recwarn: pytest.WarningsRecorder) -> None:
    assert syntax_errors({"main.py": "x = '\\d'\n"}) == ()
    assert not recwarn.list


def missing(files: dict[str, str]) -> list[tuple[str, int, str]]:
    return [(finding.path, finding.line, finding.name) for finding in undefined_local_imports(files)]


def test_a_module_nobody_wrote_is_found() -> None:
    assert missing({"main.py": "import os\nfrom board import Board\nimport rules.core\n"}) == [
        ("main.py", 2, "board"),
        ("main.py", 3, "rules.core"),
    ]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"main.py": "from pkg.a import x\n", "pkg/a.py": "x = 1\n"}, []),
        ({"main.py": "import pkg\n", "pkg/__init__.py": ""}, []),
        ({"main.py": "from pkg.b import x\n", "pkg/a.py": "x = 1\n"}, ["pkg.b"]),
        ({"pkg/a.py": "from .b import x\n", "pkg/b.py": "x = 1\n"}, []),
        ({"pkg/a.py": "from .c import x\n", "pkg/b.py": "x = 1\n"}, ["pkg.c"]),
        ({"pkg/a.py": "from . import b, c\n", "pkg/b.py": "x = 1\n"}, ["pkg.c"]),
        ({"pkg/a.py": "from . import x\n", "pkg/__init__.py": "x = 1\n"}, []),
        ({"pkg/a/b.py": "from ..c import x\n", "pkg/c.py": "x = 1\n"}, []),
        ({"src/main.py": "import board\n", "src/board.py": "x = 1\n"}, []),
        ({"main.py": "from .board import x\n", "board.py": "x = 1\n"}, [".board"]),
        ({"main.py": "import random\n", "random.py": "x = 1\n"}, []),
        ({"main.py": "from __future__ import annotations\nimport os.path\nimport tkinter as tk\n"}, []),
        ({"main.py": "def f():\n    import board\n"}, ["board"]),
        ({"main.py": "try:\n    import board\nexcept ImportError:\n    board = None\n"}, []),
        ({"main.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import board\n"}, []),
        ({"main.py": "import oddlib\n", "requirements.txt": "# needs\nOddLib>=2\n"}, []),
        ({"main.py": "import (\n"}, []),
    ],
)
def test_which_imports_resolve(files: dict[str, str], names: list[str]) -> None:
    assert [name for _, _, name in missing(files)] == names


def test_packages_to_install_are_not_missing() -> None:
    files = {
        "main.py": "import pygame.locals\nfrom PIL import Image\nimport board\nimport odd_lib\nimport json\n",
        "requirements.txt": "pygame\nodd-lib==1\n",
    }
    assert missing(files) == [("main.py", 3, "board")]
