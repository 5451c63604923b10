"""HumanEval problems: the question put to a model, the program made from its answer, and whether that is right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from uq.code_text import code_in
from uq.execution import Executor
from uq.scores import Unavailable

_QUESTION = """\
Complete this Python function. Answer with one code block that holds the whole function and the imports it
needs, and nothing else.

```python
{prompt}```
"""
_PASSED = "every test of the problem passed"
_SECONDS = 10.0


class NoProblems(Exception):
    """The data set cannot be had; the message says why and what to give."""


@dataclass(frozen=True)
class Problem:
    """One line of the data set."""

    task_id: str
    prompt: str
    entry_point: str
    test: str

    @property
    def question(self) -> str:
        """What the model is asked."""
        return _QUESTION.format(prompt=self.prompt)

    def program(self, answer: str) -> str:
        """Return the answer's code after what the problem defines before the function."""
        code = code_in(answer)
        if f"def {self.entry_point}(" not in code:
            return self.prompt + code
        return self.prompt[: self.prompt.rindex(f"def {self.entry_point}(")] + code

    def solved(self, answer: str, executor: Executor) -> bool | Unavailable:
        """Whether the answer passes the problem's tests, run by `executor`."""
        checked = f"{self.program(answer)}\n{self.test}\ncheck({self.entry_point})\nprint({_PASSED!r})\n"
        printed = executor.run({"main.py": checked}, ["python", "main.py"], _SECONDS)
        return printed if isinstance(printed, Unavailable) else printed.rstrip().endswith(_PASSED)


def problems(path: Path) -> list[Problem]:
    """Read the data set, one JSON object a line. Raises NoProblems."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        found = [Problem(row["task_id"], row["prompt"], row["entry_point"], row["test"]) for row in rows]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise NoProblems(f"{path} cannot be read ({error!r}); give HumanEval's problems, one a line") from error
    if not found:
        raise NoProblems(f"{path} holds no problem; give HumanEval's, one a line")
    return found
