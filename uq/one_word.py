"""Reading an answer that was to be one word. A line that is more than that word is no answer.

Looking for a word inside a sentence is how "they aren't equivalent" comes to mean that they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

_DECORATION = re.compile(r"[\s*_`\"'.:!<>\[\]()#]+")


def one_of(choices: Mapping[str, T], text: str) -> T | None:
    """Return what `choices` has for the first line of `text`, None where that is none of its words.

    Case, white space, hyphens and Markdown do not matter; the words of `choices` are lower-case.
    """
    words = _DECORATION.sub(" ", text.strip().partition("\n")[0]).strip().lower()
    return choices.get(words, choices.get(words.replace("-", " ")))
