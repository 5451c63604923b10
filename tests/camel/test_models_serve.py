"""An embedded model as a server for several runs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from camel.models import serve, verdicts
from camel.models.model import ModelUnusable

opened: list[Engine] = []


class Engine:
    """Stands in for llama.cpp."""

    url = "http://127.0.0.1:4242/v1"

    def __init__(self, path: Path, *, name: str | None = None, window: int, slots: int) -> None:
        if not path.exists():
            raise ModelUnusable(f"Cannot read {path}", "Correct the path.")
        self.name, self.window, self.slots, self.closed = name or path.stem, window, slots, False
        opened.append(self)

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened.clear()
    monkeypatch.setenv("UA_CHATDEV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(serve, "LlamaCppModel", Engine)
    monkeypatch.setattr("sys.stdin", io.StringIO())


def test_it_says_where_it_is_and_ends_with_its_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.gguf").touch()
    assert serve.main([str(tmp_path / "tiny.gguf"), "--slots", "3"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "tiny", "url": Engine.url}
    assert (opened[0].slots, opened[0].window, opened[0].closed) == (3, 3 * 8192, True)
    # Runs that talk to it may trust its log-probs.
    assert verdicts.recall(Engine.url, "tiny") == "raw"


def test_a_model_of_the_catalog_has_room_for_each_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(entry: Any) -> Path:
        return tmp_path

    monkeypatch.setattr(serve, "fetch", fetch)
    for slots, window in ((1, 16384), (4, 32768)):
        assert serve.main(["qwen2.5-coder-1.5b", f"--slots={slots}"]) == 0
        assert opened[-1].window == window


def test_one_that_cannot_be_opened_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main(["/no/model.gguf"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Cannot read /no/model.gguf" in captured.err
