"""Which passages fit a query: words as programmers write them, BM25, and a limit on the tokens of a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from retrieval.records import Passage

if TYPE_CHECKING:
    import bm25s

TITLE_WEIGHT = 3
LENGTH_WEIGHT = 0.4  # BM25's b: a long docstring is less of a fault than a long page
BYTES_A_TOKEN = 3  # of code, in the vocabularies of today's models; few texts have fewer
MOST_PASSAGES = 5
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]")


def words(text: str) -> list[str]:
    """The words of `text` in lower case: identifiers whole and in their parts, other scripts by characters."""
    return list(chain.from_iterable(map(_variants, _WORD.findall(text))))


@lru_cache(maxsize=1 << 17)
def _variants(word: str) -> tuple[str, ...]:
    parts = [_singular(part.lower()) for part in _PART.findall(word)]
    whole = _singular(word.lower().strip("_"))
    return tuple(dict.fromkeys([whole, *parts])) if whole else ()


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def document(title: str, text: str) -> list[str]:
    """The words by which a passage is found; those of its title count TITLE_WEIGHT times.

    The name at the title's end counts once more as a whole: `sub` means `re.sub` before `re.SubPattern`.
    """
    return words(title) * TITLE_WEIGHT + words(text) + _names(title)[-1:]


def _names(text: str) -> list[str]:
    return [f".{word.lower()}" for word in _WORD.findall(text)]


def indexed(documents: Iterable[list[str]]) -> bm25s.BM25:
    """The BM25 index of at least one document given in words."""
    import bm25s

    index = bm25s.BM25(b=LENGTH_WEIGHT)
    index.index(list(documents), show_progress=False)
    return index


def best(index: bm25s.BM25, query: str, count: int) -> list[tuple[int, float]]:
    """Place and score of the `count` best documents for `query`, those without any of its words left out."""
    tokens = list(dict.fromkeys(words(query) + _names(query)))
    # Without one known word bm25s would score them all alike.
    if not any(token in index.vocab_dict for token in tokens):
        return []
    count = min(count, index.scores["num_docs"])
    places, scores = index.retrieve([tokens], corpus=None, k=count, show_progress=False)
    pairs = zip(places[0].tolist(), scores[0].tolist(), strict=True)
    return [(place, score) for place, score in pairs if score > 0]


def ranked(query: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages that share a word with `query`, the best first."""
    documents = [document(passage.title, passage.text) for passage in passages]
    if not any(documents):
        return []
    found = best(indexed(documents), query, len(passages))
    return [replace(passages[place], score=score) for place, score in found]


def fitted(passages: Iterable[Passage], budget: int) -> tuple[Passage, ...]:
    """The first passages that together have at most `budget` tokens (estimated); the last one may be cut."""
    left = budget * BYTES_A_TOKEN
    kept: list[Passage] = []
    seen: set[str] = set()
    for passage in passages:
        if left <= 0 or len(kept) == MOST_PASSAGES:
            break
        if passage.text not in seen:
            seen.add(passage.text)
            text = passage.text.encode("utf-8", "replace")[:left].decode("utf-8", "ignore")
            kept.append(replace(passage, text=text))
            left -= len(text.encode("utf-8"))
    return tuple(kept)
