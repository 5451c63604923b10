"""What a function of the frame leaves undone."""

from __future__ import annotations

import pytest

from chatdev.command_line import read_command_line
from chatdev.neglect import neglected

LINE = read_command_line(
    "A shelf. Run it as `python main.py FILE COMMAND ...`; FILE is the JSON file that keeps the books, created if "
    "missing. `add TITLE` adds a book. `list` prints the books. Each command takes `--quiet`."
)


def reasons(body: str, function: str = "add", parameters: str = "file, title, quiet") -> list[str]:
    source = f"def do_{function}({parameters}):\n    {body}\n"
    return [finding.why for finding in neglected(LINE, source)]


def test_an_argument_that_is_never_read_is_found_with_its_function() -> None:
    source = "def do_list(file, quiet):\n    print(load('books.json', []))\n"
    (finding,) = neglected(LINE, source)
    assert (finding.name, finding.line, finding.why) == ("do_list", 1, "`file` is never used")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("for title in load(file, []): print(title)", ["`title` is overwritten before it is read"]),
        ("number, title = file.split(); print(title == title)", ["`title` is overwritten before it is read"]),
        ("print([title for title in load(file, []) if title == title])", ["`title` is never used"]),
        ("title = title.strip(); print(file, title)", []),
        ("title: str = title.strip(); print(file, title)", []),
        ("title += '!'; print(file, title)", []),
        ("print([one for one in load(file, []) if one == title])", []),
        ("print([title for title in load(file, title)])", []),
        ("title = '-' if not title else title; print(file, title)", []),
        ("with open(file) as file: print(file.read(), title)", []),
    ],
)
def test_an_argument_that_is_lost_before_it_is_read_is_found(body: str, why: list[str]) -> None:
    assert reasons(body) == why


@pytest.mark.parametrize(
    ("branches", "why"),
    [
        ("if file:\n        title = '-'\n    print(title)", []),
        ("if not title:\n        title = file\n    print(title)", []),
        (
            "if file:\n        title = '-'\n    else:\n        title = '+'\n    print(title)",
            ["`title` is overwritten before it is read"],
        ),
    ],
)
def test_an_argument_that_one_branch_keeps_is_not_lost(branches: str, why: list[str]) -> None:
    assert reasons(branches) == why


def test_an_option_may_not_concern_a_command() -> None:
    assert reasons("print(file, title)") == []


@pytest.mark.parametrize(
    "change", ["books.append(title)", "books[0]['title'] = title", "del books[0]", "books['all'].append(title)"]
)
def test_a_change_that_is_never_saved_is_found(change: str) -> None:
    kept = f"books = load(file, []); title; {change}"
    assert reasons(kept) == ["what it changes is never saved"]
    assert reasons(f"{kept}; save(file, books)") == []


def test_sorting_or_reading_what_was_loaded_is_no_change() -> None:
    assert reasons("books = load(file, []); books.sort(); print(books[0], title)") == []


@pytest.mark.parametrize(
    ("body", "prints"),
    [
        ("load(file, [])", False),
        ("books = load(file, []); return", False),
        ("print(load(file, []))", True),
        ("return load(file, [])", True),
        ("show(file)", True),
        ("sys.stdout.write(file)", True),
    ],
)
def test_a_command_that_prints_nothing_although_the_task_says_it_prints_is_found(body: str, prints: bool) -> None:
    source = f"def show(file):\n    print(load(file, []))\n\ndef do_list(file, quiet):\n    {body}\n"
    assert [finding.why for finding in neglected(LINE, source)] == ["prints nothing"] * (not prints)


def test_a_command_of_which_the_task_does_not_say_that_it_prints_may_be_silent() -> None:
    assert reasons("save(file, title)") == []


def test_what_is_no_part_of_the_frame_is_left_alone() -> None:
    assert neglected(None, "def do_list(file):\n    pass\n") == ()
    assert neglected(LINE, "def other(file):\n    pass\n") == ()
    assert neglected(LINE, "def broken(:\n") == ()
