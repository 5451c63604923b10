"""Reading an answer that was to be one word. Whatever is more than that word is no answer.

Looking for a word inside a sentence is how "they aren't equivalent" comes to mean that they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

_DECORATION = re.compile(r"[\s*_`\"'.:!<>\[\]()#]+")


def one_of(choices: Mapping[str, T], text: str) -> T | None:
    """Return what `choices` has for the word that `text` consists of, None where it is none of them.

    Case, white space, hyphens and Markdown do not matter; the words of `choices` are lower-case.
    """
    words = _DECORATION.sub(" ", text).strip().lower()
    return choices.get(words, choices.get(words.replace("-", " ")))
