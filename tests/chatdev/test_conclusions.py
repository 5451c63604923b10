"""What becomes of a conclusion, from the tidy one to what small models really say."""

from __future__ import annotations

import sys

import pytest

from camel.messages import Answer
from chatdev import conclusions
from chatdev.phase import Phase, loop_named, phase_named

STANDARD = frozenset(sys.stdlib_module_names)


@pytest.mark.parametrize(
    ("text", "reason", "wanted"),
    [
        ("one\ntwo", "stop", "one\ntwo"),
        ("one\ntw", "length", "one\n"),
        ("one", "length", "one"),
        ("\none", "length", "\none"),
    ],
)
def test_a_cut_answer_is_used_up_to_its_last_whole_line(text: str, reason: str, wanted: str) -> None:
    assert conclusions.whole(Answer(text, finish_reason=reason)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<INFO> Python", "Python"),
        ("We agree.\n<INFO> **Python**.", "Python"),
        ("`Python`", "Python"),
        ("<INFO> Python\n\n", "Python"),
        ("Application", "Application"),
        ('"C++"', "C++"),
        ("", ""),
        ("  \n", ""),
        ("Python is the language that I would choose for this work of ours", "Python is the language"),
    ],
)
def test_a_decision_is_a_word_or_two(text: str, wanted: str) -> None:
    assert conclusions.decision(text) == wanted


@pytest.mark.parametrize(
    "text", ["<INFO> Finished", "Finished.", "All good.\n<INFO> Finished", "**Finish**", "finished"]
)
def test_a_reviewer_who_is_satisfied_ends_the_review(text: str) -> None:
    assert conclusions.review_finished(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The add function forgets to save.",
        "Finish the add function.",
        "It is not finished.",
        "The list isn't finished yet.",
        "remove() is unfinished.",
        "The program is finished only when every command saves its file; add does not, and neither does remove.",
        "Two things are wrong:\nadd does not save\nthen it is finished",
    ],
)
def test_a_reviewer_who_wants_something_does_not(text: str) -> None:
    assert not conclusions.review_finished(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("```\npygame\n```\n<INFO> done", "pygame\n"),
        ("requirements.txt\n```text\nnumpy==1.26.4\npandas>=2,<3\nrich[jupyter]~=13.0\n```", None),
        ("```\n- numpy\n* `pandas`\nnumpy\n```", "numpy\npandas\n"),
        ("```\n```\n<INFO> done", ""),
        ("<INFO> done", ""),
        ("No packages are needed.\n<INFO> done", ""),
        ("None.", ""),
        ("<INFO> None", ""),
        ("N/A", ""),
        ("", ""),
        ("```\nos\nsys\njson\ntkinter\npython\n```", ""),
        ("```\n# nothing to install\nYou need numpy for this.\n```", ""),
        ("<INFO> pygame", "pygame\n"),
        ("numpy\npygame", "numpy\npygame\n"),
        ("Here:\n```\nnumpy\n```\nand for tests:\n```\npytest\n```", "numpy\npytest\n"),
    ],
)
def test_requirements_are_packages_and_no_chatter(text: str, wanted: str | None) -> None:
    expected = "numpy==1.26.4\npandas>=2,<3\nrich[jupyter]~=13.0\n" if wanted is None else wanted
    assert conclusions.packages(text, STANDARD) == expected


MANUAL = "# Todo\n\nStart it:\n```\npython main.py\n```\nThat is all."


@pytest.mark.parametrize(
    "text",
    [
        MANUAL,
        f"Sure! Here is the manual:\n\n{MANUAL}",
        f"```markdown\n{MANUAL}\n```",
        f"Here it is:\n```md\n{MANUAL}\n```\n",
        f"{MANUAL}\n<INFO> Finished",
        f"<INFO> {MANUAL}",
        f"\n\n{MANUAL}\n\n",
    ],
)
def test_a_manual_is_all_of_the_manual_and_nothing_else(text: str) -> None:
    assert conclusions.manual(Answer(text)) == MANUAL + "\n"


def test_a_manual_without_headings_is_kept_as_it_is() -> None:
    assert conclusions.manual(Answer("Run it.\n")) == "Run it.\n"


def test_code_must_hold_files_a_session_runs_and_all_else_a_word() -> None:
    def usable(phase: Phase, text: str) -> bool:
        return conclusions.usable(phase, text, {"main.py": "print(2)\n"}, "Python")

    assert usable(phase_named("Coding"), "main.py\n```python\nprint(1)\n```")
    assert not usable(phase_named("Coding"), "I would write a class.")
    assert not usable(phase_named("Coding"), "main.py\n```python\n```")
    assert usable(phase_named("CodeChange"), "main.py\n```python\nprint(1)\n```")
    assert not usable(phase_named("CodeChange"), "main.py\n```python\nprint(2)\n```")
    assert usable(phase_named("AcceptanceRuns"), "$ python main.py\n1")
    assert not usable(phase_named("AcceptanceRuns"), "python main.py")
    assert usable(phase_named("Manual"), "x")
    assert not usable(phase_named("Manual"), " \n")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("# Todo\n\nIt keeps tasks.\n\n## Commands\n\n- `add`: adds\n- `li", "# Todo\n\nIt keeps tasks.\n"),
        ("# Todo\n\nStart:\n\n```\npython main.py\n\npython", "# Todo\n\nStart:\n"),
        (
            "# Todo\n\nRun it.\n\n```\npython main.py\n```\n\nThat i",
            "# Todo\n\nRun it.\n\n```\npython main.py\n```\n",
        ),
        ("# Todo in one paragr", "# Todo in one paragr\n"),
    ],
)
def test_a_manual_that_was_cut_ends_with_its_last_whole_paragraph(text: str, kept: str) -> None:
    assert conclusions.manual(Answer(text, finish_reason="length")) == kept


def test_a_phase_or_loop_that_nobody_knows_is_a_general_one() -> None:
    assert (phase_named("Slogan").prepare, phase_named("Slogan").writes) == ("", "conclusion")
    assert loop_named("Meeting").ends == ""
