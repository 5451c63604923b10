"""Acceptance runs: what is read out of a session, how it is run without a shell, and how it is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chatdev.acceptance import AcceptanceRun, execute_session, judge
from chatdev.session import MOST_RUNS, on_files_there_are, parse_session, shown, with_files_of_the_task

ECHO = "import sys\nprint(sys.argv[1:], repr(sys.stdin.read()))\n"


def only(session: str) -> AcceptanceRun:
    (run,) = parse_session(session)
    return run


def test_a_session_becomes_runs_with_what_must_be_seen() -> None:
    first, second, third = parse_session(
        'Here they are:\n```\n$ python main.py notes.txt add "two words"\n'
        "$ python main.py notes.txt count\nwords: 2\n\nlines: 1\n```\n"
        "And:\n```\n$ python3 main.py notes.txt fly\nerror\n```\n"
        "These are all."
    )
    assert first.arguments == ("notes.txt", "add", "two words")
    assert first.expected == ()
    assert second.expected == ("words: 2", "lines: 1")
    assert third.arguments == ("notes.txt", "fly")
    assert third.expected == ("error",), "the talk after the fence belongs to no run"
    assert [run.expects_error for run in (first, second, third)] == [False, False, True]


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("python main.py", ()),
        ("python main.py ''", ("",)),
        ("python main.py 'a b' c\\ d \"e'f\"", ("a b", "c d", "e'f")),
        ('python main.py "a | b > c" "x; y" "p && q"', ("a | b > c", "x; y", "p && q")),
        ("python main.py *.txt $HOME `id` $(id)", ("*.txt", "$HOME", "`id`", "$(id)")),
        ("python main.py list  # shows all", ("list",)),
    ],
)
def test_words_are_taken_apart_but_nothing_is_expanded(line: str, arguments: tuple[str, ...]) -> None:
    assert only(f"$ {line}").arguments == arguments


def test_in_a_code_block_the_prompt_may_be_missing_but_talk_about_the_program_is_no_run() -> None:
    first, second = parse_session(
        "python main.py is how it starts.\n```bash\n# Example run 1: an error\npython main.py add ''\nerror\n\n"
        "python3 main.py list\n# Output:\n1. milk\n```\n"
    )
    assert (first.arguments, first.expected) == (("add", ""), ("error",))
    assert (second.arguments, second.expected) == (("list",), ("1. milk",))


def test_what_is_typed_into_the_program_is_a_run_wherever_something_must_be_seen() -> None:
    session = "```\n$ add bolt 40\n$ show bolt\nbolt: 40\n$ quit\n$ sell bolt 1\n$ list\nbolt: 39\nnut: 1\n```"
    first, second = parse_session(session, typed={"add", "show", "sell", "list"})
    assert (first.arguments, first.stdin, first.expected) == ((), "add bolt 40\nshow bolt\n", ("bolt: 40",))
    assert second.stdin == "add bolt 40\nshow bolt\nsell bolt 1\nlist\n"
    assert second.expected == ("bolt: 39", "nut: 1")
    assert parse_session(session) == (), "a program that is called with arguments reads no commands"


def test_in_a_code_block_what_is_typed_needs_no_prompt_and_is_not_taken_for_output() -> None:
    session = "```\n$ python main.py\nadd bolt 40\nadd nut 2\nshow bolt\nbolt: 40\nquit\n```"
    bare, shows = parse_session(session, typed={"add", "show"})
    assert (bare.arguments, bare.expected) == ((), ())
    assert (shows.stdin, shows.expected) == ("add bolt 40\nadd nut 2\nshow bolt\n", ("bolt: 40",))
    talk = "$ python main.py\nadd something first\n"
    assert parse_session(talk, typed={"add"})[0].expected == ("add something first",)


ON_FILES = (
    "$ printf 'a\\n' > in.txt\n$ python main.py count in.txt\n1\n$ python main.py copy in.txt out.txt\n"
    "$ python main.py count out.txt\n1\n$ python main.py count no.txt\n7\n$ python main.py half 0.5\n1\n"
)


def test_where_a_missing_file_is_an_error_a_run_on_a_file_that_nobody_made_must_end_so() -> None:
    runs = on_files_there_are(
        parse_session(ON_FILES), "`count FILE` prints the lines. A missing file is an error."
    )
    assert [run.expected for run in runs] == [("1",), (), ("1",), ("error",), ("1",)]


def test_where_the_task_shows_a_line_of_a_file_one_that_nobody_made_has_that_line() -> None:
    runs = on_files_there_are(parse_session(ON_FILES), "Entries look like `12:00 x`. A missing file is an error.")
    assert [run.expected for run in runs] == [("1",), (), ("1",), (), ("1",)]
    assert [run.files for run in runs if run.files] == [{"in.txt": "a\n"}, {"no.txt": "12:00 x\n"}]


@pytest.mark.parametrize(
    ("line", "stdin"),
    [
        ("printf 'add 2 3\\nquit\\n' | python main.py", "add 2 3\nquit\n"),
        ('printf "a\\tb" | python main.py', "a\tb"),
        ("printf 'a\\\\nb' | python main.py", "a\\nb"),
        ("echo 'add 2 3' | python main.py", "add 2 3\n"),
        ('echo -e "a\\nb" | python3 main.py', "a\nb\n"),
        ("echo 'a | b' | python main.py", "a | b\n"),
    ],
)
def test_what_is_piped_in_is_the_programs_input(line: str, stdin: str) -> None:
    assert only(f"$ {line}\n5") == AcceptanceRun(line, (), stdin, {}, ("5",))


def test_files_are_made_for_the_next_run_and_may_be_its_input() -> None:
    first, second = parse_session(
        "$ printf 'x,1\\ny,2\\n' > data/table.csv\n$ echo hi > ./note.txt\n$ python main.py data/table.csv\n"
        "$ echo 7 > in.txt\n$ python main.py < in.txt\n7"
    )
    assert first.files == {"data/table.csv": "x,1\ny,2\n", "note.txt": "hi\n"}
    assert (second.files, second.stdin, second.arguments) == ({"in.txt": "7\n"}, "7\n", ())


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf /",
        "cat notes.txt",
        "python other.py",
        "python -c 'import os'",
        "python main.py list > out.txt",
        "python main.py list >> out.txt",
        "python main.py a && python main.py b",
        "python main.py a || true",
        "python main.py a ; rm x",
        "python main.py list | grep x",
        "cat f | python main.py",
        "printf a | python main.py | sort",
        "python main.py 'open quote",
        "printf 'x' > /etc/passwd",
        "printf 'x' > ../up.txt",
        "printf 'x' > .",
        "",
    ],
)
def test_lines_that_are_no_run_are_left_out(line: str) -> None:
    runs = parse_session(f"$ {line}\nnoise\n$ python main.py ok\nfine")
    assert runs == (AcceptanceRun("python main.py ok", ("ok",), expected=("fine",)),)


def test_a_session_is_short_and_repeats_nothing() -> None:
    many = "\n".join(f"$ python main.py {number % 50}" for number in range(200))
    runs = parse_session(many)
    assert [run.arguments for run in runs] == [(str(number),) for number in range(MOST_RUNS)]


@pytest.mark.parametrize("text", ["", "no session at all", "```\nadd 2 3\n```", "$", "$ "])
def test_a_text_without_runs_gives_none(text: str) -> None:
    assert parse_session(text) == ()


def test_runs_are_shown_as_the_session_they_came_from() -> None:
    session = "$ python main.py add 2 3\n5\n$ python main.py fly\nerror"
    assert shown(parse_session(session)) == session
    assert parse_session(shown(parse_session(session))) == parse_session(session)


@pytest.fixture
def product(tmp_path: Path) -> Path:
    (tmp_path / "main.py").write_text(ECHO)
    return tmp_path


def execute(product: Path, session: str) -> list[dict[str, Any]]:
    return execute_session(product, parse_session(session), isolated=True)


def test_no_shell_ever_sees_a_line(product: Path) -> None:
    outcome = execute(product, "$ echo '$(id)' | python main.py '$(touch pwned)' '*' '; touch pwned'")[0]
    assert outcome["stdout"] == "['$(touch pwned)', '*', '; touch pwned'] '$(id)\\n'\n"
    assert sorted(path.name for path in product.iterdir()) == ["main.py"]


def test_runs_share_a_folder_which_is_not_the_product(product: Path) -> None:
    (product / "main.py").write_text(
        "import sys\nopen('log', 'a').write(sys.argv[1])\nprint(open('log').read())\n"
    )
    outcomes = execute(product, "$ python main.py a\n$ printf x > log\n$ python main.py b\n$ python main.py c")
    assert [outcome["stdout"] for outcome in outcomes] == ["a\n", "xb\n", "xbc\n"]
    assert not (product / "log").exists()


def test_a_program_cannot_lead_a_prepared_file_out_of_the_sandbox(product: Path, tmp_path_factory: Any) -> None:
    victim = tmp_path_factory.mktemp("victim") / "file"
    (product / "main.py").write_text(
        f"import os\nos.path.lexists('d') or os.symlink({str(victim)!r}, 'd')\n"
        "os.path.lexists('e') or os.symlink('e', 'e')\nos.makedirs('f', exist_ok=True)\n"
    )
    session = "$ python main.py 1\n" + "".join(f"$ printf x > {name}\n" for name in ("d", "e", "f", "f/g"))
    outcomes = execute(product, f"{session}$ python main.py 2")
    assert [outcome["exit_code"] for outcome in outcomes] == [0, 0]
    assert not victim.exists()


def outcome(
    stdout: str = "", stderr: str = "", exit_code: int | None = 0, timed_out: bool = False
) -> dict[str, Any]:
    return {"stdout": stdout, "stderr": stderr, "exit_code": exit_code, "timed_out": timed_out}


RUN = AcceptanceRun("python main.py sum", ("sum",), expected=("sum: 5",))
ERROR_RUN = AcceptanceRun("python main.py fly", ("fly",), expected=("error",))


@pytest.mark.parametrize(
    ("run", "seen", "points", "fault", "difference"),
    [
        (RUN, outcome("sum: 5\n"), 2, "", ""),
        (RUN, outcome("hello\n  SUM:   5 \nbye\n"), 2, "", ""),
        (RUN, outcome("sum: 6\n"), 1, "", "must print 'sum: 5', but: 'sum: 6'"),
        (RUN, outcome(""), 1, "", "must print 'sum: 5', but: prints nothing"),
        (RUN, outcome("sum: 5\n", "no", 1), 0, "", "must work, but: 'sum: 5\\nno'"),
        (RUN, outcome(exit_code=None), 0, "", "must work, but: prints nothing"),
        (RUN, outcome("sum: 5", exit_code=None, timed_out=True), 0, "did not end", ""),
        (ERROR_RUN, outcome(stderr="error: no such command", exit_code=1), 2, "", ""),
        (ERROR_RUN, outcome("flying"), 0, "", "must end with an error message and exit code 1, but: 'flying'"),
    ],
)
def test_a_run_is_judged_by_how_it_ends_and_what_it_shows(
    run: AcceptanceRun, seen: dict[str, Any], points: int, fault: str, difference: str
) -> None:
    result = judge(run, seen)
    assert (result.points, result.fault, result.difference) == (points, fault, difference)


def test_a_traceback_is_a_fault_even_where_an_error_is_expected() -> None:
    crash = "Traceback (most recent call last):\n  File \"main.py\", line 1\nKeyError: 'fly'\n"
    result = judge(ERROR_RUN, outcome(stderr=crash, exit_code=1))
    assert (result.points, result.fault) == (0, crash.strip())


def test_a_program_that_asks_questions_nobody_answers_is_told_so() -> None:
    crash = "Traceback (most recent call last):\nEOFError: EOF when reading a line\n"
    assert judge(RUN, outcome(stderr=crash, exit_code=1)).fault == "asks with input(), which nobody answers"


def test_lines_must_appear_in_the_order_they_were_written_down() -> None:
    run = AcceptanceRun("python main.py list", ("list",), expected=("b", "a"))
    assert judge(run, outcome("b\nx\na\n")).points == 2
    assert judge(run, outcome("a\nb\n")).difference == "must print 'a', but: 'a\\nb'"


@pytest.mark.parametrize(
    ("task", "files"),
    [
        (
            'A converter. `rates.json` looks like {"base": "EUR", "rates": {"USD": 1.2}}: so.',
            {"rates.json": '{"base": "EUR", "rates": {"USD": 1.2}}\n'},
        ),
        ("A quiz. `quiz.json` looks like `[1, 2]`.", {"quiz.json": "[1, 2]\n"}),
        ("A list. `list.json` looks like {anything}.", {}),
        ("A list in `list.json`. A line looks like [ ] milk.", {}),
        ("`../rates.json` looks like [1].", {}),
    ],
)
def test_a_file_whose_content_the_task_shows_lies_there_before_the_first_run(
    task: str, files: dict[str, str]
) -> None:
    runs = parse_session("$ python main.py list\n$ python main.py add 1\n")
    first, second = with_files_of_the_task(runs, task)
    assert (first.files, second.files) == (files, {})
    assert with_files_of_the_task((), task) == ()


def test_what_comes_near_to_what_must_be_seen_is_nearer_than_what_does_not() -> None:
    run = only("$ python main.py list\n1. [ ] high two words\n")
    near, far = (judge(run, outcome(stdout=text)) for text in ("1 [ ] high two words\n", "{'id': 1}\n"))
    assert (near.points, far.points) == (1, 1)
    assert 0.9 < near.nearness < 1 and far.nearness < 0.5
    assert judge(run, outcome(stdout="Tasks:\n1. [ ] High two words\n")).nearness == 1


def test_a_line_the_program_must_print_about_an_error_is_no_failed_run() -> None:
    run = only("$ printf 'fly\\nadd 1 1\\n' | python main.py\nerror\n2")
    assert not run.expects_error, "a program that reads lines goes on after a wrong one"


@pytest.mark.parametrize(
    "line",
    [
        "python main.py add x; rm -r data",
        "python main.py serve&",
        "python main.py < missing.txt",
        "printf '%s\\n' a b | python main.py",
        "printf '\\x41' | python main.py",
        "python main.py a\0b",
        f"python main.py {'x' * 200_000}",
    ],
)
def test_what_would_be_run_otherwise_than_written_is_left_out(line: str) -> None:
    assert parse_session(f"$ {line}\n1") == ()


def test_a_file_stays_for_the_runs_after_the_first() -> None:
    lines = [
        "echo -n hi > in.txt",
        "python main.py in.txt",
        "python main.py -v < in.txt",
        "python main.py < in.txt -q",
    ]
    first, second, third = parse_session("\n".join(f"$ {line}" for line in lines))
    assert first.files == {"in.txt": "hi"} and second.files == {}
    assert (second.arguments, second.stdin) == (("-v",), "hi")
    assert (third.arguments, third.stdin) == (("-q",), "hi")


def test_the_program_itself_is_not_written_by_a_session() -> None:
    assert only("$ echo hi > main.py\n$ python main.py").files == {}


def test_a_colour_is_an_argument_and_a_remark_is_none() -> None:
    assert only("$ python main.py mix #ff8000 # don't look").arguments == ("mix", "#ff8000")


def test_what_a_writer_leaves_out_or_remarks_need_not_be_printed() -> None:
    run = only("$ python main.py list\n1. milk\n...\n# and so on\n<INFO> done")
    assert run.expected == ("1. milk",)


@pytest.mark.parametrize(
    ("seen", "refused"),
    [("error", True), ("Error: no such task 3", True), ("(usage: main.py FILE)", True), ("ERROR: 3", False)],
)
def test_an_error_is_told_from_a_count_of_errors(seen: str, refused: bool) -> None:
    assert only(f"$ python main.py summary a.log\n{seen}").expects_error is refused
