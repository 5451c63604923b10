"""What to run a function on: calls that its task shows, changed ones, and calls that a model thinks of."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from uq.code_text import function_named_in, signature
from uq.evidence import Sampler
from uq.example_calls import example_calls
from uq.execution import Call, Trials
from uq.generated_calls import generated_calls
from uq.scores import Unavailable

_PROMPT = Path(__file__).parent / "prompts" / "inputs.txt"
_ASKED = 10


def function_trials(
    task: str, codes: Sequence[str], count: int = 20, ask: Sampler | None = None
) -> Trials | Unavailable:
    """Return the calls for the function that `task`, or else the first of `codes`, defines last.

    `count` calls are made from those in the task, or from the types of the parameters. `ask` is asked for
    ten more. The task's own calls count in any case; see `Trials`.
    """
    function = function_named_in(task, *codes)
    if not function:
        return Unavailable("no_function", "Neither the task nor the answers define a function.")
    parameters = signature(function, task, *codes)
    if parameters and not ast.unparse(parameters):
        return Trials((Call(""),), function, given=1)
    names = [name.arg for name in parameters.args] if parameters else []
    examples = example_calls(task, function, names)
    generated = generated_calls(examples, parameters, count)
    asked = _asked(task, function, ask) if ask else ()
    calls = tuple(dict.fromkeys((*examples, *generated, *asked)))
    if not calls:
        return Unavailable("no_inputs", f"The task shows no call of {function}, and nothing says what it takes.")
    return Trials(tuple(map(Call, calls)), function, given=len(examples))


def _asked(task: str, function: str, model: Sampler) -> tuple[str, ...]:
    prompt = _PROMPT.read_text(encoding="utf-8").format(function=function, n=_ASKED, task=task.strip())
    return tuple(call for answer in model.sample(prompt, 1, 0.0) for call in example_calls(answer.text, function))
