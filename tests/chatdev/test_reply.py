"""What the parser makes of replies as models write them."""

from __future__ import annotations

import time

import pytest

from chatdev.reply import parse_reply

CODE = "print('hello')\n"


def fenced(body: str, info: str = "python") -> str:
    return f"```{info}\n{body}```\n"


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("main.py\n", "main.py"),
        ("### **main.py**\n\n", "main.py"),
        ("**Main.py**\n\n", "main.py"),
        ("### main.py (needs Python 3.9)\n", "main.py"),
        ("src/utils/helpers.py\n", "src/utils/helpers.py"),
        ("./src/utils/helpers.py\n", "src/utils/helpers.py"),
        ("src\\board.py\n", "src/board.py"),
        ("GameBoard.py\n", "GameBoard.py"),
        ("my-app.py\n", "my-app.py"),
        ("`app.py`:\n", "app.py"),
        ("[board.py]\n", "board.py"),
        ("board.py]\n", "board.py"),
        ("(board.py):\n", "board.py"),
        ("board.py):\n", "board.py"),
        ("File: board.py\n", "board.py"),
        ("**File name:** `board.py`\n", "board.py"),
        ("1. `board.py`\n", "board.py"),
        ("文件：board.py\n", "board.py"),
        ("主程序（board.py）：\n", "board.py"),
        ("Here is the updated `board.py`:\n", "board.py"),
        ("I changed board.py as you asked.\n\n", "board.py"),
        ("### board.py\n\nIt holds the rules.\n\n", "board.py"),
        ("### 2. The board (`board.py`)\n\nIt holds the rules, e.g. who wins.\n\n", "board.py"),
        ("__init__.py\n", "__init__.py"),
    ],
)
def test_the_name_above_a_fence(header: str, path: str) -> None:
    assert parse_reply(header + fenced(CODE)).files == {path: CODE}


@pytest.mark.parametrize(
    ("header", "info", "path"),
    [
        ("index.min.js\n", "javascript", "index.min.js"),
        ("`App.js`\n", "js", "App.js"),
        ("Dockerfile\n", "dockerfile", "Dockerfile"),
        ("Makefile\n", "", "Makefile"),
        ("data/levels.json\n", "json", "data/levels.json"),
        ("requirements.txt\n", "text", "requirements.txt"),
        ("The `requirements.txt` file:\n", "", "requirements.txt"),
        ("run.sh\n", "bash", "run.sh"),
        ("questions.quiz\n", "", "questions.quiz"),
        ("templates/index.html\n", "html", "templates/index.html"),
        ("", "json config.json", "config.json"),
    ],
)
def test_files_that_are_not_python(header: str, info: str, path: str) -> None:
    reply = parse_reply(header + fenced("anything at all\n", info))
    assert reply.files == {path: "anything at all\n"}


@pytest.mark.parametrize(
    "info",
    ["python main.py", "python:main.py", 'python title="main.py"', "main.py", "{.python file=main.py}"],
)
def test_the_name_in_the_info_string(info: str) -> None:
    assert parse_reply(fenced(CODE, info)).files == {"main.py": CODE}


@pytest.mark.parametrize(
    ("first", "path"),
    [
        ("# game.py\n", "game.py"),
        ("#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# game.py\n", "game.py"),
        ("# File: src/game.py\n", "src/game.py"),
        ("# game.py - the rules\n", "game.py"),
        ('"""game.py: the rules."""\n', "game.py"),
        ('"""\ngame.py\n\nThe rules.\n"""\n', "game.py"),
        ("# See game.py for the rules\n", "main.py"),
        ("# reads levels.json\n", "main.py"),
    ],
)
def test_the_name_in_the_first_comment_or_docstring(first: str, path: str) -> None:
    assert parse_reply("Here you are:\n\n" + fenced(first + CODE)).files == {path: first + CODE}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "We need several files, e.g.this\n",
        "This file, i.e. the entry point:\n",
        "It runs on version 2.1 and Python 3.9\n",
        "Using Node.js is not needed:\n",
    ],
)
def test_prose_with_dots_names_no_file(header: str) -> None:
    body = "def add(a, b):\n    return a + b\n"
    assert parse_reply(header + fenced(body)).files == {"main.py": body}
    assert parse_reply(header + fenced("class A(B):\n    x = 1\n")).files == {
        "main.py": "class A(B):\n    x = 1\n"
    }


def test_a_lone_block_without_a_name_is_the_only_known_file() -> None:
    assert parse_reply(fenced(CODE), known_files=["README.md", "game.py"]).files == {"game.py": CODE}


def test_a_lone_block_that_could_be_any_of_several_files_stays_without_a_name() -> None:
    assert parse_reply(fenced(CODE), known_files=["main.py", "board.py"]).files == {}


def test_a_lone_block_in_another_language() -> None:
    body = "int main() { return 0; }\n"
    assert parse_reply(fenced(body, "cpp"), language="C++").files == {"main.cpp": body}


def test_the_first_block_without_a_header_is_the_main_file() -> None:
    reply = parse_reply(fenced("import board\n") + "\nboard.py\n" + fenced("SIZE = 3\n"))
    assert reply.files == {"main.py": "import board\n", "board.py": "SIZE = 3\n"}


def test_a_second_block_without_a_header_takes_the_name_it_is_imported_by() -> None:
    main = "from game.board import Board\n"
    board = "class Board:\n    pass\n"
    assert parse_reply("main.py\n" + fenced(main) + "\n" + fenced(board)).files == {
        "main.py": main,
        "game/board.py": board,
    }


def test_a_second_block_nobody_imports_is_no_file() -> None:
    reply = parse_reply("main.py\n" + fenced(CODE) + "\nUse it so:\n" + fenced("def spare():\n    return 1\n"))
    assert reply.files == {"main.py": CODE}


def test_two_files_with_a_main_guard_are_two_files() -> None:
    guarded = 'import sys\nif __name__ == "__main__":\n    print(1)\n'
    reply = parse_reply("game.py\n" + fenced(guarded) + "\nmain.py\n" + fenced("import game\n" + guarded))
    assert reply.files == {"game.py": guarded, "main.py": "import game\n" + guarded}


def test_code_that_speaks_of_codes_is_kept() -> None:
    assert parse_reply("main.py\n" + fenced("ERROR_CODE = 3\n")).files == {"main.py": "ERROR_CODE = 3\n"}


def test_blank_lines_stay() -> None:
    body = '\n\ntext = """a\n\n\n  b\n"""\n\n'
    assert parse_reply("main.py\n" + fenced(body)).files == {"main.py": body}


def test_a_fence_inside_a_docstring_does_not_end_the_file() -> None:
    body = 'def show():\n    """Example:\n\n```\nshow()\n```\n\n```python\nshow()\n```\n    """\n    return 1\n'
    reply = parse_reply("main.py\n" + fenced(body) + "\nboard.py\n" + fenced(CODE))
    assert reply.files == {"main.py": body, "board.py": CODE}


def test_a_reply_shown_inside_a_string_does_not_end_the_file() -> None:
    body = 'PROMPT = """\nboard.py\n```python\nx = 1\n```\n"""\n'
    assert parse_reply("main.py\n" + fenced(body)).files == {"main.py": body}


def test_a_python_file_with_an_error_ends_at_its_own_fence() -> None:
    reply = parse_reply("main.py\n" + fenced("def f(:\n") + "\nboard.py\n" + fenced(CODE))
    assert reply.files == {"main.py": "def f(:\n", "board.py": CODE}


@pytest.mark.parametrize(
    "inner", ["```bash\npython main.py\n```", "```\ngame/\n  main.py\n```", "```\nmain.py\n```"]
)
def test_a_readme_keeps_its_own_fences(inner: str) -> None:
    body = f"# Game\n\n{inner}\n\nHave fun.\n"
    reply = parse_reply("README.md\n" + fenced(body, "markdown") + "\nmain.py\n" + fenced(CODE))
    assert reply.files == {"README.md": body, "main.py": CODE}


def test_a_readme_followed_by_a_command_ends_at_its_own_fence() -> None:
    reply = parse_reply(
        "README.md\n" + fenced("# Game\n", "md") + "\nThen run\n" + fenced("python main.py\n", "sh")
    )
    assert reply.files == {"README.md": "# Game\n"}


def test_fences_of_other_kinds() -> None:
    assert parse_reply(f"main.py\n~~~python\n{CODE}~~~\n").files == {"main.py": CODE}
    longer = "```\nnot the end\n```\n"
    assert parse_reply(f"notes.txt\n````\n{longer}````\n").files == {"notes.txt": longer}
    assert parse_reply(f"~~~python\n{CODE}~~~").files == {"main.py": CODE}


def test_an_indented_fence_in_a_list_item() -> None:
    reply = parse_reply(
        "2. **Calculator Class (`calculator.py`)**:\n"
        "   ```python\n"
        "   def add(a, b):\n"
        "\n"
        "       return a + b\n"
        "   ```\n"
        "3. **Main (`main.py`)**:\n"
        "\n"
        "\t```python\n"
        "\timport calculator\n"
        "\t```\n"
        "4. `board.py`\n"
        "   ```python\n"
        "def f():\n"
        "    return 1\n"
        "   ```\n"
    )
    assert reply.files == {
        "calculator.py": "def add(a, b):\n\n    return a + b\n",
        "main.py": "import calculator\n",
        "board.py": "def f():\n    return 1\n",
    }


def test_a_fence_that_is_itself_a_list_item() -> None:
    assert parse_reply("main.py\n- ```python\n  x = 1\n  ```\n").files == {"main.py": "x = 1\n"}


def test_windows_line_ends_are_normalised() -> None:
    assert parse_reply("main.py\r\n```python\r\nx = 1\r\ny = 2\r\n```\r\n").files == {"main.py": "x = 1\ny = 2\n"}


def test_a_reply_cut_in_its_last_block() -> None:
    reply = parse_reply("main.py\n" + fenced(CODE) + "\nboard.py\n```python\nclass Board:\n    def pla")
    assert reply.files == {"main.py": CODE, "board.py": "class Board:\n    def pla\n"}


def test_a_forgotten_closing_fence_does_not_swallow_the_next_file() -> None:
    reply = parse_reply("main.py\n```python\nimport board\n\nboard.py\n" + fenced(CODE))
    assert reply.files == {"main.py": "import board\n\n", "board.py": CODE}


def test_a_stray_fence_does_not_swallow_the_next_file() -> None:
    reply = parse_reply("main.py\n" + fenced(CODE) + "```\n\nboard.py\n" + fenced(CODE))
    assert reply.files == {"main.py": CODE, "board.py": CODE}


def test_thinking_is_no_part_of_the_reply() -> None:
    draft = "<think>\ndraft.py\n" + fenced("draft = 1\n") + "</think>\n\n"
    assert parse_reply(draft + "main.py\n" + fenced(CODE)).files == {"main.py": CODE}
    assert parse_reply("<think>\nmain.py\n" + fenced(CODE)).files == {}, "it was cut while thinking"


@pytest.mark.parametrize(
    ("header", "info", "body"),
    [
        ("It needs version 2.1\n", "bash", "pip install pygame\n"),
        ("Run `main.py` with:\n", "bash", "python main.py\n"),
        ("main.py\n", "console", "$ python main.py\n"),
        ("Output of main.py:\n", "text", "Hello\n"),
        ("Running `main.py` prints:\n", "", "Hello, you won.\n"),
        ("main.py reads this:\n", "json", '{"a": 1}\n'),
        ("The layout:\n", "", "game/\n  main.py\n  board.py\n"),
    ],
)
def test_what_is_only_shown_is_no_file(header: str, info: str, body: str) -> None:
    reply = parse_reply("main.py\n" + fenced(CODE) + "\n" + header + fenced(body, info))
    assert reply == parse_reply("main.py\n" + fenced(CODE))


def test_a_reply_without_a_block_holds_nothing() -> None:
    reply = parse_reply("I have looked at main.py and found nothing to change.\n<INFO> Finished")
    assert (reply.files, reply.problems) == ({}, ())


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/evil.py",
        "../x",
        "/etc/x",
        "/etc/cron.d/x",
        "C:\\x",
        "C:\\temp\\x.py",
        "~/x.py",
        ".git/hook.py",
    ],
)
def test_names_that_lead_outside_are_reported(name: str) -> None:
    reply = parse_reply(f"{name}\n" + fenced(CODE) + "\nmain.py\n" + fenced(CODE))
    assert reply.files == {"main.py": CODE}
    assert len(reply.problems) == 1
    assert reply.problems[0].startswith(f"{name}: the name ")


FULL = "class Board:\n" + "".join(f"    def move_{n}(self):\n        return {n}\n" for n in range(9))


@pytest.mark.parametrize(
    ("later", "kept"),
    [
        (FULL.replace("return 3", "return 33"), "later"),
        ("class Board:\n    moves = 3\n", "later"),
        ("board = Board()\nboard.move_1()\n", "earlier"),
        ("    def move_3(self):\n        return 33\n", "earlier"),
        (FULL + "def broken(:\n", "earlier"),
    ],
)
def test_two_blocks_for_one_file(later: str, kept: str) -> None:
    reply = parse_reply("board.py\n" + fenced(FULL) + "\nboard.py\n" + fenced(later))
    assert reply.files == {"board.py": {"later": later, "earlier": FULL}[kept]}


def test_a_broken_block_gives_way_to_any_later_one() -> None:
    assert parse_reply("a.py\n" + fenced("def f(:\n" * 9) + "a.py\n" + fenced(CODE)).files == {"a.py": CODE}


def test_known_files_give_the_spelling() -> None:
    reply = parse_reply("gameboard.py\n" + fenced(CODE), known_files=["main.py", "GameBoard.py"])
    assert reply.files == {"GameBoard.py": CODE}


def test_a_model_in_a_loop_is_read_in_reasonable_time() -> None:
    started = time.process_time()
    assert parse_reply("main.py\n" + fenced("def f(:\n") * 300).files == {"main.py": "def f(:\n"}
    assert time.process_time() - started < 5


@pytest.mark.parametrize("text", ["```python\nmain.py\n```", "main.py\n```python\nmain.py\n```"])
def test_a_name_where_the_code_should_stand_is_no_file(text: str) -> None:
    assert parse_reply(text, known_files=["main.py"]).files == {}
    assert parse_reply(f"{text}\n```python\nprint(1)\n```", known_files=["main.py"]).files == {
        "main.py": "print(1)\n"
    }
