"""Asking for one word, and reading it. A paragraph that is more than that word is no answer.

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
_DECORATION = re.compile(r"[\s*_`\"'.:!<>\[\]()#-]+")
_BREAK = re.compile(r"\n\s*\n")


def asked(sampler: Sampler, prompt: str, choices: Mapping[str, T], **texts: str) -> T | None:
    """Return what `choices` has for the likeliest answer to the prompt file `prompt`, filled in with `texts`."""
    question = (_PROMPTS / prompt).read_text(encoding="utf-8").format(**texts)
    answers = sampler.sample(question, 1, 0.0)
    return one_of(choices, answers[0].text) if answers else None


def one_of(choices: Mapping[str, T], text: str) -> T | None:
    """Return what `choices` has for the first paragraph of `text`, None where that is none of its words.

    Case, white space, hyphens and Markdown do not matter; the words of `choices` are lower-case. Where the first
    ends in a colon, or another word of `choices` follows, either may be meant: None.
    """
    paragraphs = _BREAK.split(text.strip())
    first, *others = map(_word, paragraphs)
    if paragraphs[0].strip().endswith(":") or any(other in choices and other != first for other in others):
        return None
    return choices.get(first)


def _word(paragraph: str) -> str:
    """The paragraph without decoration, "" where it has several lines."""
    line = paragraph.strip()
    return "" if "\n" in line else _DECORATION.sub(" ", line).strip().lower()
