"""Which names of a doubtful answer are worth looking up."""

from __future__ import annotations

import math
import re

import pytest

from camel.messages import Answer, Token
from uq.doubtful_names import doubtful_names


def answer(text: str, *doubtful: str) -> Answer:
    """An answer of which the words in `doubtful` have p = 0.1, the first of them least, and all else p = 0.9."""
    tokens = []
    for word in re.findall(r"\s*\w+|\s*[^\w\s]|\s+$", text):
        rank = doubtful.index(word.strip()) if word.strip() in doubtful else None
        tokens.append(Token(word, math.log(0.9 if rank is None else 0.1 + rank / 100)))
    return Answer(text, tuple(tokens), logprob_kind="raw")


def code(*lines: str) -> str:
    return "\n".join(["main.py", "```python", *lines, "```"])


def test_the_doubtful_call_is_named_with_what_it_is_called_on() -> None:
    text = code("def draw(canvas):", "    canvas.create_oval(1, 2)", "    canvas.delete(3)")
    assert doubtful_names(answer(text, "create_oval"), 4) == ["canvas.create_oval"]


def test_calls_come_first_and_then_the_most_doubtful() -> None:
    text = code("x = shlex.quote", "y = shlex.split(x)", "z = textwrap.fill(y)")
    assert doubtful_names(answer(text, "quote", "split", "fill"), 4) == [
        "shlex.split",
        "textwrap.fill",
        "shlex.quote",
    ]
    assert len(doubtful_names(answer(text, "quote", "split", "fill"), 2)) == 2


@pytest.mark.parametrize(
    "line",
    [
        "total = 1",
        "def total(x): return x",
        "class total: pass",
        "for total in range(3): pass",
        "def f(a, total): pass",
        "self.total = 3",
        "print(total)",
        "return total",
        "total.total_of = 4",
    ],
)
def test_what_the_answer_defines_nobody_else_knows(line: str) -> None:
    assert doubtful_names(answer(code("total = 0", line), "total"), 4) == []


@pytest.mark.parametrize("word", ["print", "len", "return", "str", "self", "if"])
def test_what_everybody_knows_is_not_looked_up(word: str) -> None:
    assert doubtful_names(answer(code(f"x = {word} (y)"), word), 4) == []


def test_a_module_goes_by_its_own_name() -> None:
    text = code("import tkinter as tk", "root = tk.Toplevel()", "self.canvas.itemconfigure(4)")
    names = doubtful_names(answer(text, "Toplevel", "itemconfigure"), 4)
    assert names == ["tkinter.Toplevel", "canvas.itemconfigure"]


def test_words_of_strings_and_comments_are_no_names() -> None:
    text = code('open("todo.json")', 'print("Enter the number (1)")', "# see the manual (page)", "x = other")
    assert doubtful_names(answer(text, "json", "number", "manual", "other"), 4) == []


def test_code_in_a_sentence_counts() -> None:
    assert doubtful_names(answer("The call `json.loads(file)` should be load.", "loads"), 4) == ["json.loads"]


def test_prose_has_no_names() -> None:
    assert doubtful_names(answer("The program will draw ovals on its canvas.", "draw", "ovals"), 4) == []


def test_a_certain_answer_has_none() -> None:
    assert doubtful_names(answer(code("canvas.create_oval(1)")), 4) == []
