"""Embedding: means over tokens and windows, on a tiny model made here; what is not there says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from uq.embedding import PACKAGED, SentenceEmbedder, open_embedder
from uq.scores import Unavailable

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *"abcdefgh"]


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


def opened(folder: Path, in_windows: bool = False) -> SentenceEmbedder:
    embedder = open_embedder(folder, in_windows=in_windows)
    assert isinstance(embedder, SentenceEmbedder) and embedder.name == str(folder)
    return embedder


def states(embedder: SentenceEmbedder, text: str) -> Any:
    return embedder.model(**embedder.tokenizer(text, return_tensors="pt")).last_hidden_state[0].detach()


def test_a_short_text_is_the_mean_of_its_tokens(tiny: Path) -> None:
    embedder = opened(tiny)
    vectors = embedder.embed(["a b c", "d e"])
    assert vectors == [
        pytest.approx(states(embedder, text).mean(0).tolist(), abs=1e-5) for text in ("a b c", "d e")
    ]


def test_a_long_text_is_the_mean_over_all_windows_weighted_by_their_tokens(tiny: Path) -> None:
    embedder = opened(tiny, in_windows=True)
    windows = ["a b c d e f", "g h a b c d", "e"]
    wanted = sum(states(embedder, window).sum(0) for window in windows) / (8 + 8 + 3)
    assert embedder.embed([" ".join(windows)]) == [pytest.approx(wanted.tolist(), abs=1e-5)]


def test_more_windows_than_are_read_at_once(tiny: Path) -> None:
    once, many = opened(tiny, in_windows=True).embed(["a b c d e f", " ".join(["a b c d e f"] * 20)])
    assert many == pytest.approx(once, abs=1e-5)


def test_without_windows_a_long_text_is_refused_and_not_cut(tiny: Path) -> None:
    refused = opened(tiny).embed(["a b c d e f", "a b c d e f g"])
    assert refused == Unavailable("too_long", "A text has more than the 8 tokens that can be embedded.")


def test_what_is_not_there_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uq.embedding.find_spec", lambda name: None)
    for missing, name in (
        (open_embedder(), PACKAGED),
        (open_embedder(PACKAGED), PACKAGED),
        (open_embedder(tmp_path / "none"), str(tmp_path / "none")),
    ):
        found = missing.embed(["a", "b"])
        assert isinstance(found, Unavailable) and missing.name == name
        assert (found.reason, "requirements-evaluation.txt" in found.detail) == ("no_embedding_model", True)
