"""Asking the model: what is recorded, what is continued and joined, and what a resumed run asks again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from camel.messages import Answer, Message, Sampling, Token, Usage
from camel.models.model import ContextOverflow, ModelUnusable
from camel.models.scripted import Reply, ScriptedModel
from chatdev.asking import CONTINUE, Asker, joined
from journal import Journal, read
from journal.events import Answered, Noted, RunStarted

STARTED = RunStarted("P", "O", "1", "t", {}, "scripted")
ASKED = (Message("system", "you are the Programmer"), Message("user", "write it"))
Function = Callable[[Sequence[Message], Sampling], Reply | str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def asker_of(path: Path, *replies: Reply | str, function: Function | None = None, resume: bool = False) -> Asker:
    journal = Journal.resume(path) if resume else Journal(path)
    journal.append(STARTED)
    return Asker(ScriptedModel(function or replies), journal, seed=7)


def ask(asker: Asker, continuations: int = 2, **options: Any) -> Answer:
    return asker.ask("Coding", "Programmer", ASKED, sampling=Sampling(**options), continuations=continuations)


def answers(path: Path) -> list[Answered]:
    return [event for event in read(path) if isinstance(event, Answered)]


def cut(text: str) -> Reply:
    return Reply(text, finish_reason="length")


def test_an_answer_is_in_the_journal_with_all_that_was_asked(path: Path) -> None:
    answer = ask(asker_of(path, Reply("a b", logprobs=(-0.5, -9999))), temperature=0.5, max_tokens=9)
    (event,) = answers(path)
    assert (event.subtask, event.role, event.purpose, event.text) == ("Coding", "Programmer", "answer", "a b")
    assert event.messages == [{"role": message.role, "content": message.content} for message in ASKED]
    assert (event.sampling["seed"], event.sampling["temperature"], event.sampling["max_tokens"]) == (7, 0.5, 9)
    assert [token[0] for token in event.tokens] == ["a", " b"]
    assert answer.text == "a b"


def test_each_call_has_a_seed_of_its_own(path: Path) -> None:
    asker = asker_of(path, "a", "b", "c")
    for _ in range(3):
        ask(asker)
    assert [event.sampling["seed"] for event in answers(path)] == [7, 8, 9]
    assert asker.calls == 3
    assert asker.usage.completion_tokens == 3


def test_more_calls_of_one_subtask_change_no_seed_of_another(path: Path) -> None:
    asker = asker_of(path, "a", "b", "c")
    for subtask in ("DemandAnalysis", "DemandAnalysis", "Coding"):
        asker.ask(subtask, "Programmer", ASKED, sampling=Sampling())
    assert [event.sampling["seed"] for event in answers(path)] == [7, 8, 7]


def test_a_cut_answer_is_continued_where_it_stopped(path: Path) -> None:
    seen: list[Sequence[Message]] = []

    def say(messages: Sequence[Message], sampling: Sampling) -> Reply | str:
        seen.append(messages)
        return cut("main.py\n```python\nprint(") if len(seen) == 1 else "1)\n```\n"

    answer = ask(asker_of(path, function=say))
    assert answer.text == "main.py\n```python\nprint(1)\n```\n"
    assert answer.finish_reason == "stop"
    assert [message.content for message in seen[1][2:]] == ["main.py\n```python\nprint(", CONTINUE]
    assert [event.purpose for event in answers(path)] == ["answer", "continuation"]
    assert "".join(token.text for token in answer.tokens) == answer.text
    assert answer.usage == answers_usage(path)


def answers_usage(path: Path) -> Usage:
    total = Usage()
    for event in answers(path):
        total += Usage(**event.usage)
    return total


def test_continuing_ends_where_it_is_allowed_to(path: Path) -> None:
    answer = ask(asker_of(path, cut("one "), cut("two "), cut("three "), "four"))
    assert (answer.text, answer.finish_reason) == ("one two three ", "length")
    assert len(answers(path)) == 3


@pytest.mark.parametrize("reply", ["whole", cut(""), cut(" \n")])
def test_nothing_else_is_continued(path: Path, reply: Reply | str) -> None:
    ask(asker_of(path, reply, "never"))
    assert len(answers(path)) == 1


def test_where_it_is_not_allowed_a_cut_answer_stays_cut(path: Path) -> None:
    answer = ask(asker_of(path, cut("a"), "b"), continuations=0)
    assert (answer.text, answer.finish_reason) == ("a", "length")


OPEN = "main.py\n```python\nimport sys\nx = 1\n"


@pytest.mark.parametrize(
    ("first", "rest", "whole"),
    [
        (OPEN, "y = 2\n```\n", f"{OPEN}y = 2\n```\n"),
        (OPEN, "```python\ny = 2\n```\n", f"{OPEN}y = 2\n```\n"),
        (OPEN, "main.py\n```python\ny = 2\n```\n", f"{OPEN}y = 2\n```\n"),
        (OPEN, "\n```py\ny = 2\n```", f"{OPEN}y = 2\n```"),
        (OPEN, "```\ny = 2\n```\n", f"{OPEN}y = 2\n```\n"),
        (OPEN, "```python\nimport sys\nx = 1\ny = 2\n```\n", f"{OPEN}y = 2\n```\n"),
        (OPEN, "```\nThat is all.\n", f"{OPEN}```\nThat is all.\n"),
        (OPEN, "```", f"{OPEN}```"),
        (OPEN, "```\n\nutil.py\n```python\nz = 3\n```\n", f"{OPEN}```\n\nutil.py\n```python\nz = 3\n```\n"),
        (OPEN.rstrip(), "```\n", f"{OPEN}```\n"),
        (f"{OPEN}```\n", "```python\nz = 3\n```\n", f"{OPEN}```\n```python\nz = 3\n```\n"),
        (
            "def total(values):\n    return su",
            "    return sum(values)\n",
            "def total(values):\n    return sum(values)\n",
        ),
        ("total = a + b", "\nprint(a + b)", "total = a + b\nprint(a + b)"),
        ("abc", "c", "abcc"),
    ],
)
def test_the_seam_of_a_continued_answer_is_clean(first: str, rest: str, whole: str) -> None:
    one = Answer(first, (Token(first, -0.1),), finish_reason="length")
    two = Answer(rest, tuple(Token(letter, -0.2) for letter in rest))
    result = joined(one, two)
    assert result.text == whole
    assert result.finish_reason == "stop"
    assert "".join(token.text for token in result.tokens).replace("\n", "") == whole.replace("\n", "")


@pytest.mark.parametrize(
    "circle",
    [["x = 1"], ["def f():", "    pass"], ["a", "", "b", "c"], [f"line {number}" for number in range(25)]],
)
def test_an_answer_that_goes_in_circles_is_cut_after_the_first_round(path: Path, circle: list[str]) -> None:
    start = "main.py\n```python\nimport sys\n"
    endless = start + "".join(f"{line}\n" for line in circle * 40)
    answer = ask(asker_of(path, cut(endless), "never"))
    assert answer.text.startswith(start + circle[0] + "\n")
    assert len(answer.text.splitlines()) <= len(start.splitlines()) + len(circle)
    assert answer.finish_reason == "circles"
    assert "".join(token.text for token in answer.tokens).startswith(answer.text.rstrip())
    assert len(answers(path)) == 1, "what goes in circles is not continued"
    assert answers(path)[0].text == endless, "the journal keeps what was said"


def test_a_continuation_that_goes_in_circles_ends_the_answer(path: Path) -> None:
    answer = ask(asker_of(path, cut("start\n"), cut("again\n" * 50), "never"))
    assert (answer.text, answer.finish_reason) == ("start\nagain\n", "circles")


def test_a_long_cut_answer_in_which_lines_come_back_is_no_circle(path: Path) -> None:
    program = "".join(f"def f{number}():\n    return 1\n\n" for number in range(40))
    answer = ask(asker_of(path, cut(program), "print(1)"), continuations=1)
    assert answer.text == program + "print(1)"


def test_lines_that_repeat_in_a_whole_answer_stay(path: Path) -> None:
    board = "0 0 0\n" * 30
    assert ask(asker_of(path, board)).text == board


def too_long(messages: Sequence[Message], sampling: Sampling) -> str:
    raise ContextOverflow("5000 tokens", 4096)


def test_a_prompt_that_is_too_long_is_an_empty_answer_and_a_note(path: Path) -> None:
    answer = ask(asker_of(path, function=too_long))
    assert answer.text == ""
    (note,) = [event for event in read(path) if isinstance(event, Noted)]
    assert note.subtask == "Coding"
    assert "too long" in note.note


class Overflowing(ScriptedModel):
    """Has no room for its second prompt, and counts how often it was really asked."""

    asked = 0

    def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
        self.asked += 1
        if sampling.seed == 8:
            raise ContextOverflow("5000 tokens", 4096)
        return super().answer(messages, sampling)


def test_a_run_in_which_a_prompt_was_too_long_is_replayed_like_any_other(path: Path) -> None:
    first = Asker(Overflowing(lambda messages, sampling: "a"), asker_of(path).journal, seed=7)
    said = [ask(first).text for _ in range(3)]
    first.journal.close()
    before = path.read_bytes()
    again = Asker(Overflowing(lambda messages, sampling: "a"), asker_of(path, resume=True).journal, seed=7)
    assert [ask(again).text for _ in range(3)] == said == ["a", "", "a"]
    assert again.model.asked == 0  # type: ignore[attr-defined]
    assert path.read_bytes() == before


def test_recorded_answers_come_back_whole_and_then_the_script_goes_on(path: Path) -> None:
    script = [Reply("one", logprobs=(-0.25,)), cut("two "), "three", "four"]
    first = asker_of(path, *script)
    said = [ask(first), ask(first)]
    first.journal.close()
    again = asker_of(path, *script, resume=True)
    assert [ask(again), ask(again)] == said
    assert (again.calls, again.usage) == (first.calls, first.usage)
    assert not again.journal.replaying
    assert ask(again).text == "four"
    assert [event.text for event in answers(path)] == ["one", "two ", "three", "four"]


def sampled(asker: Asker, n: int) -> list[str]:
    sampling = Sampling(temperature=0.85, max_tokens=50, n=n)
    drawn = asker.sample("Manual", "Writer", ASKED, purpose="sample", sampling=sampling)
    return [answer.text for answer in drawn]


def test_samples_are_one_request_with_a_seed_each(path: Path) -> None:
    requests: list[tuple[int, int | None]] = []

    class Counting(ScriptedModel):
        def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
            requests.append((sampling.n, sampling.seed))
            return super().answer(messages, sampling)

    asker = Asker(Counting(["a", "b", "c"]), asker_of(path).journal, seed=7)
    assert sampled(asker, 3) == ["a", "b", "c"]
    assert requests == [(3, 7)]
    assert [(event.text, event.sampling["seed"], event.sampling["n"]) for event in answers(path)] == [
        ("a", 7, 1),
        ("b", 8, 1),
        ("c", 9, 1),
    ]
    assert asker.calls == 3


def test_of_samples_half_written_only_the_rest_is_asked_again(path: Path) -> None:
    script = ["a", "b", "c", "d"]
    first = asker_of(path, *script)
    sampled(first, 3)
    first.journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    again = asker_of(path, *script, resume=True)
    assert sampled(again, 3) == ["a", "b", "c"]
    assert sampled(again, 1) == ["d"]
    assert [event.sampling["seed"] for event in answers(path)] == [7, 8, 9, 10]


def test_samples_of_a_prompt_that_is_too_long_are_empty(path: Path) -> None:
    class Full(ScriptedModel):
        def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
            raise ContextOverflow("too long")

    assert sampled(Asker(Full([]), asker_of(path).journal), 2) == ["", ""]


def test_another_question_is_asked_anew(path: Path) -> None:
    first = asker_of(path, "old")
    ask(first)
    first.journal.close()
    again = asker_of(path, "new", resume=True)
    answer = again.ask("Coding", "Programmer", [*ASKED, Message("user", "and more")], sampling=Sampling())
    assert answer.text == "new"
    assert [event.text for event in answers(path)] == ["new"]


def test_a_model_that_cannot_be_used_stops_the_run(path: Path) -> None:
    with pytest.raises(ModelUnusable, match="no reply left"):
        ask(asker_of(path))
    assert answers(path) == []


def test_half_a_character_of_an_answer_does_not_end_the_run(path: Path) -> None:
    answer = ask(asker_of(path, "a \ud83d b \ud83d\ude00"))
    assert answer.text == "a \N{REPLACEMENT CHARACTER} b \N{GRINNING FACE}"
    assert "".join(token.text for token in answer.tokens) == answer.text
    assert answers(path)[0].text.encode() == answer.text.encode()
