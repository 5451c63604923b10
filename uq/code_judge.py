"""A model as the judge of whether two programs do the same. It has a prompt of its own and sees the task."""

from __future__ import annotations

from dataclasses import dataclass

from uq.evidence import Sampler
from uq.one_word import asked

_VERDICTS = {
    "equivalent": True,
    "different": False,
    "not equivalent": False,
    "inequivalent": False,
    "non equivalent": False,
    "nonequivalent": False,
}


@dataclass(frozen=True)
class ModelCodeJudge:
    """Asks `sampler` whether two programs for `task` do the same; a `Judge`."""

    sampler: Sampler
    task: str

    def __call__(self, first: str, second: str) -> bool | None:
        """Return the verdict, None where the model gave none."""
        texts = {"task": self.task.strip(), "first": first, "second": second}
        return asked(self.sampler, "judge_code.txt", _VERDICTS, **texts)
