"""Consistency: what is compared with what, which embedder it was, and the floor."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evaluation.srdd import consistency
from evaluation.srdd.consistency import (
    DEFAULT_EMBEDDER,
    Consistency,
    cosine,
    embedder_named,
    shuffled,
)
from uq.embedding import PACKAGED, Embedder, NoEmbedder, SentenceEmbedder
from uq.scores import Unavailable


def test_cosine() -> None:
    assert cosine([3, 4], [6, 8]) == pytest.approx(1)
    assert cosine([1, 0], [0, 5]) == 0
    assert cosine([1, 0], [-2, 0]) == -1
    assert cosine([0, 0], [1, 0]) == 0


def test_the_floor_pairs_each_task_with_another_and_uses_each_once() -> None:
    texts = {f"t{number}": f"text {number}" for number in range(30)}
    others = shuffled(texts, 1)
    assert sorted(others.values()) == sorted(texts.values())
    assert all(others[name] != texts[name] for name in texts)
    assert others == shuffled(texts, 1) != shuffled(texts, 2)
    assert shuffled({"one": "text"}, 1) == {}


class Letters:
    """A text's vector says how often it has an `a`; a text with a `z` is too long."""

    name = "letters"

    def embed(self, texts: Sequence[str]) -> list[list[float]] | Unavailable:
        if any("z" in text for text in texts):
            return Unavailable("too_long", "A text is too long.")
        return [[float(text.count("a")), 1.0] for text in texts]


def test_an_empty_text_is_like_nothing_and_one_that_cannot_be_embedded_is_an_error() -> None:
    compared = Consistency(Letters(), {"task": "a"})
    assert compared.of("a", "a", "task") == (pytest.approx(1), pytest.approx(1))
    assert compared.of("a", "a", "other") == (pytest.approx(1), None)
    assert compared.of(" ", "a", "task") == (0, pytest.approx(1))
    assert compared.of("a", "\n", "task") == (0, 0)
    assert compared.of("a" + " " * 100_000 + "z", "a", "task")[0] == pytest.approx(1), "its end does not count"
    with pytest.raises(ValueError, match="A text is too long"):
        compared.of("z", "a", "task")


def test_where_the_default_cannot_be_had_the_packaged_one_stands_in_under_its_own_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {PACKAGED}

    def opened(name: str = PACKAGED, *, in_windows: bool) -> Embedder:
        assert in_windows
        if name in there:
            return SentenceEmbedder(name, None, None, in_windows)
        return NoEmbedder(name, Unavailable("no_embedding_model", f"{name} cannot be loaded."))

    monkeypatch.setattr(consistency, "open_embedder", opened)
    assert embedder_named(DEFAULT_EMBEDDER).name == PACKAGED
    assert isinstance(embedder_named("another"), NoEmbedder), "one that was asked for by name is never replaced"
    there.clear()
    missing = embedder_named(DEFAULT_EMBEDDER)
    assert isinstance(missing, NoEmbedder)
    assert missing.reason.detail.startswith(f"{DEFAULT_EMBEDDER} cannot be loaded. ")
    assert "requirements-evaluation.txt" in missing.reason.detail
    there.add(DEFAULT_EMBEDDER)
    assert embedder_named(DEFAULT_EMBEDDER).name == DEFAULT_EMBEDDER


def test_the_default_is_codebert() -> None:
    assert DEFAULT_EMBEDDER == "microsoft/codebert-base"
