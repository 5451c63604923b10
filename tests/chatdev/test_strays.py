"""A file of a reply that is named after the function it holds changes the program and is no file of its own."""

from __future__ import annotations

from chatdev.strays import at_home

MAIN = """def add(text):
    return 1


def remove(text):
    return 2


if __name__ == '__main__':
    add('')
"""
ADD = "def add(text):\n    return 3\n"


def test_a_file_named_after_the_function_it_holds_is_a_part_of_the_program() -> None:
    assert at_home({"add.py": ADD}, {"main.py": MAIN}) == {"main.py": ADD}


def test_several_of_them_are_one_change() -> None:
    remove = "def remove(text):\n    return 4\n"
    assert at_home({"add.py": ADD, "remove.py": remove}, {"main.py": MAIN}) == {"main.py": f"{ADD}\n\n{remove}"}


def test_a_file_that_is_imported_is_a_file() -> None:
    main = f"from add import add\n{MAIN}"
    assert at_home({"add.py": ADD}, {"main.py": main}) == {"add.py": ADD}
    assert at_home({"add.py": ADD, "main.py": main}, {"main.py": MAIN}) == {"add.py": ADD, "main.py": main}


def test_a_file_with_something_of_its_own_is_a_file() -> None:
    tests = "from main import add\n\n\ndef test_add():\n    assert add('') == 3\n"
    for text in (tests, f"{ADD}\n\ndef more():\n    return 5\n", "add a task\n", "def broken(:\n"):
        assert at_home({"new.py": text}, {"main.py": MAIN}) == {"new.py": text}


def test_where_two_files_could_be_meant_nothing_is_guessed() -> None:
    known = {"main.py": MAIN, "other.py": MAIN}
    assert at_home({"add.py": ADD}, known) == {"add.py": ADD}


def test_a_first_draft_stays_as_it_is() -> None:
    assert at_home({"add.py": ADD, "main.py": MAIN}, {}) == {"add.py": ADD, "main.py": MAIN}
