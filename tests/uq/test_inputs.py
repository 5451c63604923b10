"""Inputs for functions: the calls that a task shows, changed ones, and values of declared types."""

from __future__ import annotations

import ast

import pytest

from camel.messages import Answer
from uq.code_text import code_in, function_named_in
from uq.execution import Call, Trials
from uq.generated_calls import generated_calls
from uq.inputs import function_trials
from uq.scores import Unavailable
from uq.shrinking import smaller_calls


def trials(task: str, *codes: str, count: int = 8) -> Trials:
    found = function_trials(task, codes, count)
    assert isinstance(found, Trials), found
    return found


def shown(task: str) -> list[str]:
    found = trials(task)
    return [call.arguments for call in found.inputs[: found.given] if isinstance(call, Call)]


@pytest.mark.parametrize(
    ("docstring", "calls"),
    [
        (">>> f([1, 2], 3)\n    7\n    >>> f([], k=4)\n    0", ["[1, 2], 3", "[], k=4"]),
        ("f(')', \"(\") ➞ True, and for f('a', 'b') == 'c'", ["')', '('", "'a', 'b'"]),
        ("Input: a = [-3, 5], k = 3.\n    Then a = [4], k = 2 gives 4", ["[-3, 5], 3", "[4], 2"]),
        ("f(x, y) and f(n) are not calls of anything, but f(1, 1) is, once: f(1, 1)", ["1, 1"]),
    ],
)
def test_calls_in_a_task(docstring: str, calls: list[str]) -> None:
    assert shown(f'def f(a, k):\n    """{docstring}\n    """\n') == calls


def test_a_single_parameter_in_prose() -> None:
    assert shown('def f(num):\n    """For num = "AB" the result is 1, for num = 12, the result is 2."""') == [
        "'AB'",
        "12",
    ]
    assert shown('def f(arr):\n    """Input: [4, 2]\n    Output: [2]"""') == ["[4, 2]"]


def test_nothing_of_a_task_is_executed() -> None:
    task = 'def f(a):\n    """f(__import__("os").abort()) f(2)"""'
    assert shown(task) == ["2"]


def test_made_calls_are_repeatable_new_sorted_by_size_and_like_the_examples() -> None:
    examples = ("[3, 14, 7], 'abba', (1, 2)", "[5], 'ab', (2, 3)")
    made = generated_calls(examples, None, 30)
    assert made == generated_calls(examples, None, 30) != generated_calls(examples, None, 30, seed=2)
    assert len(made) == len(set(made) - set(examples)) == 30
    assert sorted(made, key=len) == list(made)
    for text in made:
        numbers, word, pair = ast.literal_eval(text)
        assert numbers
        assert all(isinstance(number, int) and number >= 1 for number in numbers)
        assert word
        assert set(word) <= {"a", "b"}
        assert len(pair) == 2


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("int", int),
        ("List[float]", list),
        ("typing.Dict[str, int]", dict),
        ("tuple[int, str]", tuple),
        ("set[int]", set),
        ("str", str),
        ("bool", bool),
        ("list", list),
    ],
)
def test_declared_types_where_there_is_no_example(annotation: str, kind: type) -> None:
    found = trials("Write it.", f"def g(x: {annotation}):\n    pass\n", count=2)
    values = [ast.literal_eval(call.arguments) for call in found.inputs if isinstance(call, Call)]
    assert {type(value) for value in values} == {kind}
    assert found.given == 0


def test_optional_values_are_sometimes_missing() -> None:
    found = trials("Write it.", "def g(x: Optional[int], y: int | None):\n    pass\n", count=40)
    values = [ast.literal_eval(call.arguments) for call in found.inputs if isinstance(call, Call)]
    assert any(x is None for x, _ in values)
    assert any(y is None for _, y in values)
    assert any(isinstance(x, int) for x, _ in values)


@pytest.mark.parametrize(
    ("task", "code", "reason"),
    [
        ("Write it.", "def g(x):\n    pass", "no_inputs"),
        ("Write it.", "def g(x: Widget):\n    pass", "no_inputs"),
        ("Write it.", "print(1)", "no_function"),
    ],
)
def test_what_nothing_is_known_of_gets_no_inputs(task: str, code: str, reason: str) -> None:
    found = function_trials(task, [code])
    assert isinstance(found, Unavailable)
    assert found.reason == reason


def test_a_model_may_be_asked_for_calls() -> None:
    class Model:
        def sample(self, prompt: str, n: int, temperature: float) -> list[Answer]:
            assert "named g" in prompt
            return [Answer("Sure:\ng(1)\ng(open('x'))\n- g([2, 3])")]

    found = function_trials("Write it.", ["def g(x):\n    pass"], ask=Model())
    assert isinstance(found, Trials)
    assert [call.arguments for call in found.inputs if isinstance(call, Call)] == ["1", "[2, 3]"]


def test_code_in_answers() -> None:
    assert (
        code_in("Here:\n```python\nimport os\n```\nand\n```\ndef f():\n    pass\n```\nDone.")
        == "def f():\n    pass\n"
    )
    assert code_in("```python\ndef cut(") == "def cut(\n"
    assert code_in("def f(): pass") == "def f(): pass\n"
    assert code_in("    return a + b") == "    return a + b\n", "the rest of a function"
    for talk in ("I cannot do that.", "Sorry", "no - never", ""):
        assert code_in(talk) == "\n"
    assert function_named_in("def f(a):\n    ...\n\ndef g(a):", "def other(): pass") == "g"


def test_smaller_calls() -> None:
    assert "[1], 2" in smaller_calls("[1, 5], 2")
    assert "[1, 5], 1" in smaller_calls("[1, 5], 2")
    assert "'b', 3" in smaller_calls("'ab', 3")
    assert list(smaller_calls("x=1")) == []
