"""`python -m retrieval`."""

from __future__ import annotations

import json
import subprocess
import sys
from io import TextIOWrapper
from pathlib import Path

import pytest

from camel.models.fetch import cache_directory
from retrieval.__main__ import default_cache, main


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Arguments for a search in one document, without the standard library's."""
    monkeypatch.setattr("retrieval.documentation.standard_library", lambda: iter(()))
    monkeypatch.setattr("retrieval.documentation.distributions", lambda: iter(()))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ovals.md").write_text("# Ovals\n\ncreate_oval(x0, y0, x1, y1) draws one.")
    return ["--source", "docs", "--docs", str(tmp_path / "docs"), "--cache", str(tmp_path / "cache")]


def test_a_person_sees_the_passages_and_their_source(small: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["create_oval", *small]) == 0
    shown = capsys.readouterr()
    assert "== ovals.md Ovals\n   file:docs/ovals.md" in shown.out
    assert "create_oval(x0, y0, x1, y1)" in shown.out
    assert shown.err == "docs: found\n"


def test_a_program_gets_all_of_it(small: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["create_oval", "--json", *small]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["source"], told["outcome"]) == ("docs", "found")
    assert told["passages"][0]["url"] == "file:docs/ovals.md"


def test_nothing_found_is_exit_code_1(small: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["qwzxv", *small]) == 1
    assert "docs: empty (the documentation on this machine has none of these words)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--source", "bing"], "'bing' is not one of"),
        (["--docs", "/nowhere/at/all"], "no such folder"),
        (["--cache-mode", "replay", "--source", "duckduckgo"], "record it first"),
    ],
)
def test_bad_arguments_are_exit_code_2(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["query", "--cache", str(tmp_path), *arguments])
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_what_a_terminal_cannot_show_harms_nobody(
    small: list[str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs" / "ovals.md").write_text("create_oval \x1b]0;owned\x07 draws 画布", encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(sys.stdout.buffer, "ascii"))
    assert main(["create_oval \udcff", *small]) == 0
    sys.stdout.flush()
    shown = capsysbinary.readouterr().out
    assert b"create_oval ]0;owned draws ??" in shown and b"\x1b" not in shown


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere caches have other places")
@pytest.mark.parametrize("variables", [{}, {"XDG_CACHE_HOME": "/x"}, {"UA_CHATDEV_CACHE": "~/c"}])
def test_runs_and_people_share_a_cache(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "UA_CHATDEV_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_cache() == cache_directory() / "retrieval"


def test_help_needs_nothing() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "retrieval", "--help"], capture_output=True, text=True, check=True
    )
    assert "--source" in shown.stdout
