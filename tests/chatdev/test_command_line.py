"""How a task says that its program is called, and the frame of code that comes of it, by running the frame."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from chatdev.command_line import read_command_line
from chatdev.frame import frame

TASKS = Path(__file__).parents[3] / "shared" / "data" / "behaviour" / "dev.json"

LIST = (
    "Run it as `python main.py FILE COMMAND ...`. `add TEXT [PRIORITY]` adds a task (normal if left out). "
    "`list` prints lines marked `x`. `list all` prints all, `sum BASE NUMBER ...` adds. "
    "It prints `done`, like `total N`."
)


def called(
    task: str, *args: str, stdin: str = "", monkeypatch: pytest.MonkeyPatch | None = None
) -> dict[str, Any]:
    """What the frame hands to the code that is to be written, by name, of all calls; `()` is the last function."""
    line = read_command_line(task)
    assert line is not None
    seen: dict[str, Any] = {}

    def see(given: dict[str, Any]) -> None:
        seen.update({name.rstrip("_"): value for name, value in given.items()})
        seen["()"] = sys._getframe(1).f_code.co_name.removeprefix("do_")

    source = "\n".join(
        text.replace("...", "SEE(dict(locals()))") if text.strip() == "..." else text
        for text in frame(line).splitlines()
    )
    namespace: dict[str, Any] = {"__name__": "product", "SEE": see}
    exec(compile(source, "main.py", "exec"), namespace)
    if monkeypatch:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    namespace["run"](list(args))
    return seen


def run_script(task: str, *args: str, monkeypatch: pytest.MonkeyPatch) -> int:
    line = read_command_line(task)
    assert line is not None
    monkeypatch.setattr(sys, "argv", ["main.py", *args])
    try:
        exec(compile(frame(line), "main.py", "exec"), {"__name__": "__main__"})
    except SystemExit as ending:
        return int(ending.code or 0)
    return 0


def test_usage_has_a_line_for_each_command_as_the_task_writes_it() -> None:
    line = read_command_line(LIST)
    assert line is not None
    assert line.usage().splitlines() == [
        "python main.py FILE add TEXT [PRIORITY]",
        "python main.py FILE list / list all",
        "python main.py FILE sum BASE NUMBER ...",
    ]


def test_arguments_are_unpacked_in_the_order_of_the_task() -> None:
    seen = called(LIST, "jobs.json", "add", "Buy milk", "high")
    assert seen == {"file": "jobs.json", "text": "Buy milk", "priority": "high", "()": "add"}


def test_what_is_left_out_is_what_the_task_says_it_is_then() -> None:
    assert called(LIST, "jobs.json", "add", "Buy milk")["priority"] == "normal"


def test_a_word_that_is_there_or_not_is_true_or_false() -> None:
    assert called(LIST, "jobs.json", "list")["with_all"] is False
    assert called(LIST, "jobs.json", "list", "all")["with_all"] is True


def test_dots_stand_for_more_of_the_same() -> None:
    seen = called(LIST, "f", "sum", "16", "ff", "1", "a")
    assert (seen["base"], seen["numbers"]) == ("16", ["ff", "1", "a"])
    twice = called("`python main.py sum BASE NUMBER NUMBER ...` adds.", "sum", "2", "1", "10")
    assert (twice["base"], twice["numbers"]) == ("2", ["1", "10"])


@pytest.mark.parametrize("args", [(), ("f",), ("f", "fly"), ("f", "add"), ("f", "sum")])
def test_wrong_calls_end_with_a_message_and_exit_code_1(
    args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script(LIST, *args, monkeypatch=monkeypatch) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_a_right_call_of_the_bare_frame_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_script(LIST, "f", "add", "x", monkeypatch=monkeypatch) == 0


@pytest.mark.parametrize(
    ("task", "arguments", "stdin", "shown"),
    [
        ("`python main.py add TEXT` adds. `list` prints all.", ["list"], "", "7\n"),
        ("`python main.py add TEXT` adds. `list` prints all.", ["add", "x"], "", ""),
        ("`python main.py A B` prints the sum.", ["1", "2"], "", "7\n"),
        (
            "`python main.py` reads lines from standard input. `add A` adds. `list` prints.",
            [],
            "list\nadd 1\n",
            "7\n",
        ),
    ],
)
def test_what_a_function_of_the_frame_returns_is_printed(
    task: str,
    arguments: list[str],
    stdin: str,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = read_command_line(task)
    assert line is not None
    source = frame(line)
    for stub in ("def do_list", "def program"):
        at = source.find(stub)
        source = source[:at] + source[at:].replace("...", "return 7", 1) if at >= 0 else source
    namespace: dict[str, Any] = {"__name__": "product"}
    exec(compile(source, "main.py", "exec"), namespace)
    monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    namespace["run"](arguments)
    assert capsys.readouterr().out == shown


def test_which_commands_print_is_read_from_the_sentence_that_speaks_of_them_alone() -> None:
    line = read_command_line(
        "`python main.py add TEXT` adds a task and prints its number. `list` prints all, `done N` completes one. "
        "`move N` moves one; it prints nothing. `sum N` and `most N` print numbers."
    )
    assert line is not None
    assert [command.word for command in line.commands if command.prints] == ["add", "list"]


@pytest.mark.parametrize(
    ("task", "known", "unknown"),
    [
        ("`python main.py WORD [LIVES]` plays.", ["apple", "apple 5"], ["", "hangman apple 5"]),
        (
            "`python main.py add A B` adds. `list` lists.",
            ["add 1 2", "list"],
            ["add 1", "add 1 2 3", "list 1", "", "fly"],
        ),
        (
            LIST,
            ["f list", "f list all", "f add x", "f add x high", "f sum 2 1 1 1"],
            ["f count", "f sum 2", "list", "f"],
        ),
        (
            "`python main.py show FILE` prints it. `--level LEVEL`, `--all` too.",
            ["show f --level 1 --all"],
            ["show"],
        ),
        ("`python main.py` reads lines from standard input. `add A` adds.", [""], ["add 1"]),
    ],
)
def test_only_calls_that_the_notation_allows_are_known(task: str, known: list[str], unknown: list[str]) -> None:
    line = read_command_line(task)
    assert line is not None
    assert [call for call in known + unknown if line.knows(call.split())] == known


def test_what_is_typed_are_the_commands_of_a_program_that_reads_lines_but_for_those_that_end_it() -> None:
    line = read_command_line("`python main.py` reads commands from standard input until `quit`. `add A` adds.")
    assert line is not None
    assert line.typed == {"add"}
    called_with_arguments = read_command_line(LIST)
    assert called_with_arguments is not None
    assert called_with_arguments.typed == frozenset()


@pytest.mark.parametrize(
    ("said", "needs"),
    [
        ("A missing file, an unknown command or N below 1 is an error.", True),
        ("A missing file gives a message.", True),
        ("A missing file means none.", False),
        ("The file is created if missing. Blank text is an error.", False),
    ],
)
def test_whether_a_missing_file_is_an_error_is_read_from_the_task(said: str, needs: bool) -> None:
    line = read_command_line(f"`python main.py count FILE` prints a number. {said}")
    assert line is not None
    assert line.needs_file is needs


def test_without_commands_the_arguments_stand_alone() -> None:
    task = "`python main.py WORD [LIVES]` gets the word and the lives (default 6); it prints `won`."
    seen = called(task, "banana")
    assert (seen["word"], seen["lives"]) == ("banana", "6")
    assert called(task, "banana", "9")["lives"] == "9"


def test_the_first_command_may_stand_in_the_call_itself() -> None:
    task = "`python main.py convert AMOUNT FROM TO` prints a line like `1 EUR`. `list` lists."
    seen = called(task, "convert", "1", "EUR", "USD")
    assert (seen["amount"], seen["from"], seen["to"]) == ("1", "EUR", "USD")
    assert called(task, "list")["()"] == "list"


def test_options_are_taken_out_wherever_they_stand() -> None:
    task = (
        'Run `python main.py show FILE`; `--level LEVEL`, `--since "DATE TIME"` and `--brief` make it show less.'
    )
    seen = called(task, "--since", "2024 1", "show", "--brief", "a.log", "--level", "high")
    assert (seen["file"], seen["since"], seen["level"], seen["brief"]) == ("a.log", "2024 1", "high", True)
    bare = called(task, "show", "a.log")
    assert (bare["since"], bare["level"], bare["brief"]) == (None, None, False)


def test_an_option_without_its_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    task = "Run `python main.py show FILE`; `--level LEVEL` filters."
    assert run_script(task, "show", "f", "--level", monkeypatch=monkeypatch) == 1


def test_commands_on_standard_input_are_read_line_by_line_and_errors_do_not_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = "`python main.py` reads commands from standard input. `add NAME PRICE` adds, `low LIMIT` prints."
    seen = called(task, stdin="fly\n\nadd bolt\nadd bolt 2\nlow 3\n", monkeypatch=monkeypatch)
    assert (seen["name"], seen["price"], seen["limit"]) == ("bolt", "2", "3")
    assert capsys.readouterr().out.splitlines() == [
        "error: unknown command: fly",
        "error: list index out of range",
    ]
    line = read_command_line(task)
    assert line is not None
    assert line.usage() == "add NAME PRICE\nlow LIMIT"


@pytest.mark.parametrize(
    "name",
    ["FILE", "REST", "ARGS", "FROM", "CLASS", "LEN", "SYS", "JSON", "LINE", "WORDS", "A-B", "N1", "STATE", "RUN"],
)
def test_a_placeholder_may_be_named_like_a_word_of_the_frame(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = called(f"`python main.py go FIRST {name} [LAST]`; `go` goes.", "go", "1", "2", "3")
    assert (seen["first"], seen["last"]) == ("1", "3")
    assert "2" in seen.values()
    leading = called(f"`python main.py {name} COMMAND`; `go [LAST]` goes.", "2", "go", "3")
    assert leading["last"] == "3"
    from_input = f"`python main.py` reads standard input: `go {name} [LAST]`."
    assert called(from_input, stdin="go 2\ngo 2 3", monkeypatch=monkeypatch)["last"] == "3"


def test_a_name_may_stand_for_two_things() -> None:
    task = "`python main.py FILE COMMAND`: `copy FILE` copies, `log LEVEL` logs; `--level LEVEL` filters."
    assert list(called(task, "a", "copy", "b").values())[:2] == ["a", "b"]
    assert list(called(task, "a", "log", "high", "--level", "low").values())[:3] == ["a", "high", "low"]


@pytest.mark.parametrize(
    "task",
    [
        "",
        "Develop a basic Gomoku game.",
        "A list with `add TEXT` and `list`.",
        "It prints `x` for a cross, ` ` for an empty cell and `` for nothing.",
        "See `python other.py FILE`.",
    ],
)
def test_a_task_that_does_not_say_how_it_is_called_gives_no_command_line(task: str) -> None:
    assert read_command_line(task) is None


def test_blank_snippets_in_a_task_do_no_harm() -> None:
    assert called("`python main.py CELL` prints ` ` for an empty cell and `\t` for none.", "a1")["cell"] == "a1"


@pytest.mark.skipif(not TASKS.is_file(), reason="the behaviour tasks are not here")
def test_every_behaviour_task_gives_a_frame_that_compiles_and_names_what_is_in_its_call() -> None:
    tasks = json.loads(TASKS.read_text("utf-8"))
    for task in tasks:
        line = read_command_line(task["task"])
        assert line is not None, task["name"]
        compile(frame(line), task["name"], "exec")
        assert "..." in frame(line)
        words = {command.word for command in line.commands}
        used = {
            argument
            for check in task["checks"]
            for step in check["steps"]
            if step.get("exit") != "nonzero"
            for argument in step.get("args", [])[:2]
        }
        if words and not line.from_lines:
            assert used & words, f"{task['name']}: {words} are not what the checks call"


@pytest.mark.parametrize(
    "task",
    [
        "Write a Flask web app. The entry is `main.py`; routes are `index` and `login`, `bcrypt` is used.",
        "A snake game: start it with `python main.py`, move with `w`, `a`, `s` and `d`, `q` quits.",
        "A tkinter calculator. `python main.py` opens a window titled `calculator` with a button `clear`.",
        "A server: `python main.py --port 8080` shows a page at `/`.",
        "A service started with `python main.py`; endpoints `list`, `add` and `delete`.",
        "Run as `python main.py <input> <output>`.",
        "`python main.py input.txt output.txt` copies.",
        '`python main.py add "Buy milk"` adds and prints `1`. `python main.py list` lists.',
        "`python main.py 3 + 4` prints `7`.",
        "`python main.py FILE --level=LEVEL` filters; `--sort=name|date` sorts.",
        "`python main.py FILE` prints it, with --reverse from its end.",
        "`python main.py FILE` prints it, `-n N` only N lines.",
        "`python main.py [--brief] FILE`; `--brief` says less.",
        "`python main.py encode|decode TEXT`",
        "`python main.py FILE add TEXT` adds, `python main.py FILE list` lists.",
        "`python main.py FILE` prints, `python main.py FILE OUT` writes.",
        "`python main.py [FILE] COMMAND ...`. `add X` adds.",
        "`python main.py copy SRC ... DEST` copies.",
        "`python main.py 1ST 2ND`",
        "`python main.py COMMAND`, where the usual commands are there.",
        "`python main.py add TEXT`. Statuses: `open`, `closed`.",
        "写一个程序 `python main.py 文件 命令`。`add 文本` 添加。",
    ],
)
def test_what_is_not_understood_to_the_last_word_gives_no_command_line(task: str) -> None:
    assert read_command_line(task) is None


def test_words_that_are_shown_are_no_commands_and_words_in_a_row_are() -> None:
    task = (
        "`python main.py COMMAND`: `start` prints `running`, `stop` shows `stopped` or `failed`. "
        "`pause` and `resume` wait. Use `random`; `go N` steps."
    )
    line = read_command_line(task)
    assert line is not None
    assert [command.word for command in line.commands] == ["start", "stop", "pause", "resume", "go"]


def test_examples_of_calls_do_no_harm() -> None:
    task = (
        "`python main.py convert AMOUNT FROM TO` converts: `python main.py convert 100 EUR USD` prints `125.00`."
    )
    assert called(task, "convert", "1", "EUR", "USD")["amount"] == "1"
    assert called("`python main.py WORD [LIVES]`; `python main.py banana 3` is hard.", "a", "2")["lives"] == "2"


def test_arguments_are_not_read_from_input_because_a_command_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    task = "`python main.py count FILE` counts. `total` reads numbers from standard input."
    assert called(task, "count", "a.txt", monkeypatch=monkeypatch)["file"] == "a.txt"


def test_a_remark_in_brackets_is_no_default() -> None:
    task = "`python main.py add TEXT [PRIORITY]` adds a task (optional)."
    assert called(task, "add", "x")["priority"] == ""
    assert called(task.replace("optional", "5 by default"), "add", "x")["priority"] == "5"
