"""Judging programs by what they do: candidates are run on the same inputs and compared.

Two candidates do the same when outputs, exceptions and the files they leave agree on every input that counts. What
is random, or was not tried since the candidate had been too slow before, does not count; where nothing
counts, or neither delivers anything on any input, there is no opinion: two programs that do not start have
nothing in common. No model is asked.

uq runs nothing itself: an `Executor` is handed in, and gets `uq/trial.py` to run once for each candidate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from uq.scores import Unavailable

_TRIAL = Path(__file__).parent / "trial.py"
_AT_ONCE = 4


class Executor(Protocol):
    """Runs a program nobody trusts."""

    def run(self, files: Mapping[str, str], command: Sequence[str], seconds: float) -> str | Unavailable:
        """Put `files` (text by path) into an empty directory and run `command` there for at most `seconds`.

        Returns its standard output, whole where it is below a megabyte, or why nothing can be run.
        """
        ...


@dataclass(frozen=True)
class Call:
    """A call of a function: its arguments as Python would read them."""

    arguments: str

    def to_json(self) -> dict[str, object]:
        """Return it as the trial reads it."""
        return {"arguments": self.arguments}


@dataclass(frozen=True)
class Run:
    """A run of a whole program, `main.py`: the words after its name, and what it can read."""

    argv: tuple[str, ...] = ()
    stdin: str = ""

    def to_json(self) -> dict[str, object]:
        """Return it as the trial reads it."""
        return {"argv": list(self.argv), "stdin": self.stdin}


@dataclass(frozen=True)
class Trials:
    """What candidates are run on. `function` is the name of one, or empty for whole programs.

    The first `given` inputs come from the task and always count. Of the others those count that at most half
    of the candidates refuse: the task probably does not allow them. Each input may take `cpu_seconds` of
    processor time (so that a busy machine condemns nobody) and `wall_seconds` in all.
    """

    inputs: tuple[Call | Run, ...]
    function: str = ""
    given: int = 0
    cpu_seconds: int = 1
    wall_seconds: float = 5.0

    @property
    def place(self) -> str:
        """Where a candidate of one file stands."""
        return "candidate.py" if self.function else "main.py"

    @property
    def longest(self) -> float:
        """The seconds after which a candidate is ended as a whole."""
        return 10.0 + 4 * self.wall_seconds + 0.5 * len(self.inputs)


@dataclass(frozen=True)
class Outcome:
    """What an input led to: `returned`, `raised`, `crashed`, `timeout`, `random` or `skipped`; and what was
    seen of it."""

    kind: str
    seen: str = ""

    @property
    def known(self) -> bool:
        """Whether it can be compared with another."""
        return self.kind not in ("random", "skipped")


@dataclass(frozen=True)
class ExecutionJudge:
    """A `Judge` over candidates that have been run. `counting` are the numbers of the inputs that count."""

    trials: Trials
    outcomes: Mapping[str, tuple[Outcome, ...]]
    counting: tuple[int, ...]

    def __call__(self, first: str, second: str) -> bool | None:
        """Whether both did the same; None where that cannot be said."""
        pairs = self._pairs(first, second)
        if any(one != other for _, one, other in pairs):
            return False
        return True if any(one.kind == "returned" for _, one, _ in pairs) else None

    def agreement(self, first: str, second: str) -> float | None:
        """Return the share of inputs on which both delivered the same; None where none can be compared."""
        pairs = self._pairs(first, second)
        agreed = sum(one == other and one.kind == "returned" for _, one, other in pairs)
        return agreed / len(pairs) if pairs else None

    def difference(self, first: str, second: str) -> tuple[Call | Run, Outcome, Outcome] | None:
        """Return the shortest input on which the two differ with what each did, None where they do not."""
        found = [
            (self.trials.inputs[n], one, other) for n, one, other in self._pairs(first, second) if one != other
        ]
        return min(found, key=lambda item: len(str(item[0])), default=None)

    def _pairs(self, first: str, second: str) -> list[tuple[int, Outcome, Outcome]]:
        one, other = self.outcomes[first.strip()], self.outcomes[second.strip()]
        return [(n, one[n], other[n]) for n in self.counting if one[n].known and other[n].known]


def run_candidates(
    candidates: Mapping[str, Mapping[str, str]], trials: Trials, executor: Executor
) -> ExecutionJudge | Unavailable:
    """Run each candidate on all inputs, one start of the sandbox each, several side by side.

    `candidates` has the files (text by path) of each by the text it is known by to `Verdicts`. A function
    stands in `candidate.py`, a program begins in `main.py`.
    """
    if not trials.inputs:
        return Unavailable("no_inputs", "There is no input to run the candidates on.")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda files: _outcomes(files, trials, executor), candidates.values()))
    outcomes: dict[str, tuple[Outcome, ...]] = {}
    for text, seen in zip(candidates, found, strict=True):
        if isinstance(seen, Unavailable):
            return seen
        outcomes[text.strip()] = seen
    counting = tuple(number for number in range(len(trials.inputs)) if _counts(number, trials, outcomes))
    return ExecutionJudge(trials, outcomes, counting)


def _counts(number: int, trials: Trials, outcomes: Mapping[str, tuple[Outcome, ...]]) -> bool:
    tried = [found[number] for found in outcomes.values() if found[number].known]
    refused = sum(outcome.kind != "returned" for outcome in tried)
    return bool(tried) and (number < trials.given or 2 * refused <= len(tried))


def _outcomes(files: Mapping[str, str], trials: Trials, executor: Executor) -> tuple[Outcome, ...] | Unavailable:
    order = {
        "function": trials.function,
        "inputs": [item.to_json() for item in trials.inputs],
        "cpu_seconds": trials.cpu_seconds,
        "wall_seconds": trials.wall_seconds,
    }
    placed = {f"candidate/{path}": text for path, text in files.items()}
    placed |= {"trial.py": _TRIAL.read_text(encoding="utf-8"), "order.json": json.dumps(order)}
    printed = executor.run(placed, ["python", "trial.py"], trials.longest)
    if isinstance(printed, Unavailable):
        return printed
    try:
        found = tuple(Outcome(str(kind), str(seen)) for kind, seen in json.loads(printed))
    except (ValueError, TypeError):
        found = ()
    # A candidate that ended the trial itself left nothing to compare.
    return found if len(found) == len(trials.inputs) else (Outcome("crashed"),) * len(trials.inputs)
