"""Asking for one word, and reading it. A line that is more than that word is no answer.

Looking for a word inside a sentence is how "they aren't equivalent" comes to mean that they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from uq.evidence import Sampler

T = TypeVar("T")

_PROMPTS = Path(__file__).parent / "prompts"
_DECORATION = re.compile(r"[\s*_`\"'.:!<>\[\]()#]+")


def asked(sampler: Sampler, prompt: str, choices: Mapping[str, T], **texts: str) -> T | None:
    """Return what `choices` has for the likeliest answer to the prompt file `prompt`, filled in with `texts`."""
    question = (_PROMPTS / prompt).read_text(encoding="utf-8").format(**texts)
    answers = sampler.sample(question, 1, 0.0)
    return one_of(choices, answers[0].text) if answers else None


def one_of(choices: Mapping[str, T], text: str) -> T | None:
    """Return what `choices` has for the first line of `text`, None where that is none of its words.

    Case, white space, hyphens and Markdown do not matter; the words of `choices` are lower-case.
    """
    words = _DECORATION.sub(" ", text.strip().partition("\n")[0]).strip().lower()
    return choices.get(words, choices.get(words.replace("-", " ")))
