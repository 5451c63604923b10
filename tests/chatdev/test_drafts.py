"""Several drafts of a program: when they are drawn, and which one is handed on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from camel.messages import Answer, Sampling, Usage
from camel.models.scripted import Reply
from chatdev.checkpoint import Verdict
from chatdev.drafts import POLICIES, Drafting, drafting_hook
from chatdev.environment import Environment
from chatdev.handoff import Handoff, Hook
from chatdev.workshop import Workshop
from chatdev.workspace import Workspace
from journal import Journal
from journal.events import Answered, Checked, Executed, Noted, Sampled

Play = Any  # the fixture of conftest.py

TASK = "An adder. `python main.py A B` prints the sum of A and B."
SESSION = "```\n$ python main.py 2 3\n5\n$ python main.py 1 1\n2\n```"


def adds(operator: str) -> str:
    return f"main.py\n```python\nimport sys\na, b = map(int, sys.argv[1:])\nprint(a {operator} b)\n```\n"


def drafting(policy: str = "functional", more: int = 3) -> Callable[[Journal], Hook]:
    return lambda journal: drafting_hook(journal, POLICIES[policy], Drafting(more=more))


def played(play: Play, drafts: list[Any], hook: Any, session: str = SESSION) -> Any:
    script = {"AcceptanceRuns": session, "Coding": drafts}
    return play(["AcceptanceRuns", "Coding"], script, task=TASK, hook=hook)


def test_a_draft_is_tried_beside_the_files_that_are_no_text(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "product")
    (workspace.root / "data.bin").write_bytes(b"\xff")
    workshop = Workshop(Environment("a task", workspace), Journal(tmp_path / "journal.jsonl"))
    draft = "main.py\n```python\nprint(open('data.bin', 'rb').read())\n```\n"
    assert workshop.trial(Answer(draft)).works
    assert [path.name for path in workspace.root.iterdir()] == ["data.bin"]


def test_the_draft_that_most_agree_with_is_handed_on(play: Play) -> None:
    unsure = "```\n$ python main.py 2 3\n$ python main.py 1 1\n```"
    result = played(play, [adds("-"), adds("+"), adds("*"), adds("+")], drafting(), session=unsure)
    assert "a + b" in result.files["main.py"]
    (sampled,) = result.events(Sampled)
    assert (sampled.subtask, sampled.inputs, sampled.chosen, sampled.works) == ("Coding", 2, 1, [True] * 4)
    assert sampled.agreements[1] > sampled.agreements[0]


def test_drafts_are_samples_of_the_same_question(play: Play) -> None:
    result = played(play, [adds("+")], drafting())
    answered = [event for event in result.events(Answered) if event.subtask == "Coding"]
    assert [event.purpose for event in answered] == ["answer", "sample", "sample", "sample"]
    assert all(event.messages == answered[0].messages for event in answered)
    assert [event.sampling["temperature"] for event in answered[1:]] == [0.6] * 3


def test_among_drafts_that_do_the_same_the_most_certain_is_handed_on(play: Play) -> None:
    result = played(play, [Reply(adds("+"), u=0.3), Reply(adds("+").replace("a + b", "b + a"), u=0.1)], drafting())
    assert "b + a" in result.files["main.py"]


def test_equal_drafts_are_run_once(play: Play) -> None:
    result = played(play, [adds("+")], drafting())
    assert [event.purpose for event in result.events(Executed)] == ["start", "acceptance"]


def test_a_draft_that_does_not_work_is_never_preferred(play: Play) -> None:
    broken = "main.py\n```python\nimport sys\nprint(\n```\n"
    result = played(play, [broken, broken, adds("-"), broken], drafting())
    assert "a - b" in result.files["main.py"]


def test_a_draft_without_a_program_does_not_count(play: Play) -> None:
    result = played(play, [adds("+"), "I cannot.", "", "Sorry."], drafting())
    assert "a + b" in result.files["main.py"]
    assert result.events(Sampled)[0].works == [True]


def test_a_first_draft_without_a_program_stays_draft_0_and_is_not_preferred(play: Play) -> None:
    broken = "main.py\n```python\nprint(\n```\n"
    result = played(play, ["I cannot.", "I still cannot.", broken], drafting(more=1))
    (sampled,) = result.events(Sampled)
    assert (sampled.works, sampled.chosen) == ([False, False], 1)
    assert "print(" in result.files["main.py"]


def test_cascade_draws_nothing_where_the_first_draft_shows_what_it_should(play: Play) -> None:
    result = played(play, [adds("+"), adds("-")], drafting("cascade"))
    assert result.events(Sampled) == []
    assert len([event for event in result.events(Answered) if event.subtask == "Coding"]) == 1


def test_cascade_draws_where_the_first_draft_differs_and_says_so(play: Play) -> None:
    result = played(play, [adds("-"), adds("+")], drafting("cascade"))
    assert result.events(Sampled)[0].reason == "the first draft differs in 2 of 2 acceptance runs"
    assert "a + b" in result.files["main.py"]


def test_cascade_hands_on_what_shows_most_of_what_was_written_down_although_most_agree_in_something_else(
    play: Play,
) -> None:
    drafts = [adds("-"), adds("-"), adds("+"), adds("-")]
    result = played(play, drafts, drafting("cascade"))
    (sampled,) = result.events(Sampled)
    assert (sampled.points, sampled.chosen) == ([2, 2, 4, 2], 2)
    assert "a + b" in result.files["main.py"]


def test_of_drafts_that_show_the_same_cascade_hands_on_one_that_reads_no_name_without_a_value(play: Play) -> None:
    lost = adds("-").replace("print", "if a < b < 1:\n    print(total)\nprint")
    result = played(play, [lost, lost, lost, adds("-")], drafting("cascade"))
    assert "total" not in result.files["main.py"]


@pytest.mark.parametrize(("left", "drawn"), [(10_000, [5]), (30, [2]), (10, [])])
def test_no_more_is_drawn_than_the_budget_holds_and_a_note_says_so(
    play: Play, left: int, drawn: list[int]
) -> None:
    def hook(journal: Journal) -> Hook:
        return drafting_hook(journal, POLICIES["cascade"], left=lambda: left)

    result = played(play, [adds("-"), adds("*"), adds("/"), adds("+")], hook)
    assert [len(event.works) for event in result.events(Sampled)] == drawn
    notes = [event.note for event in result.events(Noted)]
    enough = [f"the budget has {left} tokens left, enough for {(drawn or [1])[0] - 1} more drafts"]
    assert [note.partition("; ")[2] for note in notes] == (enough if drawn != [5] else [])


def test_the_budget_holds_on_a_server_that_tells_no_tokens_but_how_many_they_were(tmp_path: Path) -> None:
    drawn: list[int] = []

    def draw(*_: Any, sampling: Sampling, **__: Any) -> list[Answer]:
        drawn.append(sampling.n)
        return []

    first = Answer(adds("-"), usage=Usage(prompt_tokens=10, completion_tokens=40))
    handoff = Handoff(
        subtask="Coding",
        messages=(),
        answer=first,
        ask=lambda _: first,
        fits=lambda _: True,
        role="Programmer",
        prose=False,
        prompts={},
        max_tokens=100,
        draw=draw,
        trial=lambda _: Verdict((), (), "fails", "It crashes."),
    )
    drafting_hook(Journal(tmp_path / "journal.jsonl"), POLICIES["functional"], left=lambda: 100)(handoff)
    assert drawn == [2]


COUNTER = (
    "A counter. Run it as `python main.py FILE COMMAND ...`; FILE is the JSON file that keeps numbers, created "
    "if missing. `add NUMBER` adds a number. `sum` prints their sum. `most` prints the largest."
)
COUNTED = (
    "```\n$ python main.py n.json add 2\n$ python main.py n.json add 5\n$ python main.py n.json sum\n7\n"
    "$ python main.py n.json most\n5\n```"
)


def counter(add: str, total: str, most: str) -> str:
    return (
        "main.py\n```python\n"
        f"def do_add(file, number):\n    {add}\n\n"
        f"def do_sum(file):\n    print({total})\n\n"
        f"def do_most(file):\n    print({most})\n```\n"
    )


ADDS = "numbers = load(file, []); numbers.append(int(number)); save(file, numbers)"


def test_cascade_puts_together_what_each_of_the_drafts_got_right(play: Play) -> None:
    drafts = [
        counter(ADDS, "len(load(file, []))", "max(load(file, []))"),
        counter(ADDS, "_total(file)", "load(file, [])[0]").replace(
            "def do_sum", "def _total(file):\n    return sum(load(file, []))\n\ndef do_sum"
        ),
        counter("print(number)", "0", "0"),
    ]
    script = {"AcceptanceRuns": COUNTED, "Coding": drafts}
    result = play(["AcceptanceRuns", "Coding"], script, task=COUNTER, hook=drafting("cascade", more=2))
    (sampled,) = result.events(Sampled)
    assert (sampled.chosen, sampled.grafts) == (0, {"do_sum": 1})
    assert sampled.kept == "draft 1 of 3 with do_sum of draft 2"
    checked = result.events(Checked)[-1]
    assert checked.passed, "the sum of the second draft, with what it calls, and the largest of the first"


def test_drafts_without_a_main_file_are_not_put_together(play: Play) -> None:
    page = "index.html\n```html\n<p>{}</p>\n```\n"
    script = {"AcceptanceRuns": "```\n$ python main.py\nyes\n```", "Coding": [page.format(1), page.format(2)]}
    result = play(["AcceptanceRuns", "Coding"], script, task=TASK, hook=drafting("cascade", more=1))
    assert result.events(Sampled)[0].grafts == {}
    assert list(result.files) == ["index.html"]


def test_functional_hands_on_a_draft_as_it_is(play: Play) -> None:
    drafts = [counter(ADDS, "0", "max(load(file, []))"), counter(ADDS, "sum(load(file, []))", "0")]
    script = {"AcceptanceRuns": COUNTED, "Coding": drafts}
    result = play(["AcceptanceRuns", "Coding"], script, task=COUNTER, hook=drafting("functional", more=1))
    assert result.events(Sampled)[0].grafts == {}
    assert not result.events(Checked)[-1].passed


def test_cascade_draws_where_the_first_draft_reads_as_if_it_went_wrong(play: Play) -> None:
    lost = adds("+").replace("print", "if a > 100:\n    print(total)\nprint")
    result = played(play, [lost, adds("+")], drafting("cascade", more=1))
    assert result.events(Sampled)[0].reason.startswith("the first draft reads wrong: ")
    assert "total" not in result.files["main.py"]


def test_functional_draws_nothing_where_nothing_shows_what_a_program_does(play: Play) -> None:
    works = "main.py\n```python\nprint(1)\n```\n"
    result = play(["Coding"], {"Coding": [works]}, task="An adder.", hook=drafting())
    assert result.events(Sampled) == []


def test_functional_draws_where_the_first_draft_does_not_work(play: Play) -> None:
    broken, works = (f"main.py\n```python\nprint({rest}\n```\n" for rest in ("", "2)"))
    result = play(["Coding"], {"Coding": [broken, works]}, task="An adder.", hook=drafting())
    assert "print(2)" in result.files["main.py"]


def test_without_acceptance_runs_functional_compares_what_probes_show(play: Play) -> None:
    def prints(text: str) -> str:
        return f"main.py\n```python\nimport sys\nprint({text!r} if sys.argv[1:] else 'usage')\n```\n"

    task = "A counter. `python main.py COMMAND`: `count FILE` prints a line like `words: 2`."
    script = {"Coding": [prints("words 3"), prints("words: 5"), prints("words: 5")]}
    result = play(["Coding"], script, task=task, hook=drafting(more=2))
    (sampled,) = result.events(Sampled)
    assert (sampled.chosen, sampled.agreements[0]) == (1, 0)


def test_subtasks_without_code_are_left_alone(play: Play) -> None:
    result = play(["Manual"], {"Manual": "# Manual"}, hook=drafting())
    assert result.talker.phases == ["Manual"]
