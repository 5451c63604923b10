"""The smallest call on which two programs differ, found from a larger one by running smaller ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from uq.example_calls import positional
from uq.execution import Call, Executor, Outcome, Trials, run_candidates
from uq.scores import Unavailable

Difference = tuple[Call, Outcome, Outcome]

_ROUNDS = 8
_AT_ONCE = 40


def shrunk(
    found: Difference, pair: Mapping[str, Mapping[str, str]], trials: Trials, executor: Executor
) -> Difference:
    """Return a difference of the two candidates in `pair` on a call no larger than that of `found`.

    One start of the sandbox a candidate and round; a call that both refuse shows nothing.
    """
    for _ in range(_ROUNDS):
        smaller = tuple(map(Call, dict.fromkeys(smaller_calls(found[0].arguments))))[:_AT_ONCE]
        if not smaller:
            break
        judge = run_candidates(pair, replace(trials, inputs=smaller, given=len(smaller)), executor)
        difference = None if isinstance(judge, Unavailable) else judge.difference(*pair)
        if difference is None or not isinstance(difference[0], Call):
            break
        if all(outcome.kind != "returned" for outcome in difference[1:]):
            break
        found = (difference[0], difference[1], difference[2])
    return found


def smaller_calls(arguments: str) -> Iterator[str]:
    """Yield argument lists like `arguments` with one argument made smaller; none where one is named."""
    values = positional(arguments) or ()
    for place, value in enumerate(values):
        for smaller in _smaller(value):
            yield ", ".join(map(repr, [*values[:place], smaller, *values[place + 1 :]]))


def _smaller(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, str)) and value:
        yield value[: len(value) // 2]
        yield value[len(value) // 2 :]
        for place in range(len(value)):
            left = [*value[:place], *value[place + 1 :]]
            yield "".join(left) if isinstance(value, str) else type(value)(left)
    elif isinstance(value, (int, float)) and abs(value) > 1:
        yield type(value)(value // 2)
        yield value - 1 if value > 0 else value + 1
