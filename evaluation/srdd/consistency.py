"""Does the code speak of what the task speaks of? The cosine between their embeddings."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from uq.embedding import Embedder, NoEmbedder, open_embedder
from uq.scores import Unavailable

DEFAULT_EMBEDDER = "microsoft/codebert-base"
_LONGEST = 100_000  # characters; what comes later adds time, not meaning


@dataclass(frozen=True)
class Consistency:
    """Compares code with tasks; `others` gives for each task another one, for the floor."""

    embedder: Embedder
    others: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.embedder.name

    def of(self, text: str, code: str, task: str) -> tuple[float, float | None]:
        """The cosine of `code` with `text`, and with the text that was drawn for `task` instead (or None).

        Of each the first 100,000 characters count. Raises ValueError where one cannot be embedded.
        """
        other = self.others.get(task)
        vector = self._vector(code)
        floor = None if other is None else cosine(vector, self._vector(other))
        return cosine(vector, self._vector(text)), floor

    def _vector(self, text: str) -> Sequence[float]:
        if not text.strip():
            return ()
        vectors = self.embedder.embed([text[:_LONGEST]])
        if isinstance(vectors, Unavailable):
            raise ValueError(vectors.detail)
        return vectors[0]


def shuffled(texts: Mapping[str, str], seed: int) -> dict[str, str]:
    """For each task the text of another, all of them used once; {} where there are not two."""
    names = sorted(texts)
    random.Random(seed).shuffle(names)
    following = names[1:] + names[:1]
    return {name: texts[other] for name, other in zip(names, following, strict=True) if len(names) > 1}


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """From -1 to 1; 0 where one of the two has no length: nothing is like nothing."""
    lengths = math.hypot(*first) * math.hypot(*second)
    return sum(a * b for a, b in zip(first, second, strict=True)) / lengths if lengths else 0.0


def embedder_named(name: str) -> Embedder:
    """The transformers model `name` (of the hub, or a folder), which reads long texts in windows.

    Where the default's weights cannot be had, the packaged all-MiniLM-L6-v2 stands in under its own name.
    """
    wanted = open_embedder(name, in_windows=True)
    if not isinstance(wanted, NoEmbedder) or name != DEFAULT_EMBEDDER:
        return wanted
    packaged = open_embedder(in_windows=True)
    if not isinstance(packaged, NoEmbedder):
        return packaged
    other = "pip install -r requirements-evaluation.txt brings another."
    return replace(wanted, reason=replace(wanted.reason, detail=f"{wanted.reason.detail} {other}"))
