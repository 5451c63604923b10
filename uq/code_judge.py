"""A model as the judge of whether two programs do the same. It has a prompt of its own and sees the task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from uq.evidence import Sampler
from uq.one_word import one_of

_PROMPT = Path(__file__).parent / "prompts" / "judge_code.txt"
_VERDICTS = {
    "equivalent": True,
    "different": False,
    "not equivalent": False,
    "inequivalent": False,
    "non equivalent": False,
    "nonequivalent": False,
}


def verdict_in(text: str) -> bool | None:
    """Return what a judge said, None for everything but the words asked for."""
    return one_of(_VERDICTS, text)


@dataclass(frozen=True)
class ModelCodeJudge:
    """Asks `sampler` whether two programs for `task` do the same; a `Judge`."""

    sampler: Sampler
    task: str

    def __call__(self, first: str, second: str) -> bool | None:
        """Return the verdict, None where the model gave none."""
        template = _PROMPT.read_text(encoding="utf-8")
        prompt = template.format(task=self.task.strip(), first=first, second=second)
        answers = self.sampler.sample(prompt, 1, 0.0)
        return verdict_in(answers[0].text) if answers else None
