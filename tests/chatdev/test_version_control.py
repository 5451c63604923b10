"""git_management: the product has a history of its own, and nobody else's repository is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chatdev.cli import main
from chatdev.version_control import History
from journal.events import SubtaskEnded

Tools = Any  # the fixture of conftest.py
GOOD, CRASHES = ("main.py\n```python\n" + code + "\n```\n" for code in ("print(2)", "raise SystemExit('no')"))
SCRIPT = {"Coding": CRASHES, "TestErrorSummary": "it exits", "TestModification": GOOD, "Manual": "# Manual"}


def git(folder: Path, *arguments: str) -> list[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ended = subprocess.run(["git", *arguments], cwd=folder, env=plain, capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


@pytest.fixture
def arguments(tmp_path: Path, tools: Tools) -> list[str]:
    """A warehouse inside somebody's repository, with a change that is not committed, and a file in the index."""
    git(tmp_path, "init", "-q")
    (tmp_path / "mine.txt").write_text("mine")
    git(tmp_path, "add", "mine.txt")
    company = tools.write_company(tmp_path / "company", ["Coding", tools.TEST, "Manual"])
    chain = company / "ChatChainConfig.json"
    chain.write_text(json.dumps({**json.loads(chain.read_text()), "git_management": "True"}))
    model = tools.script_file(tmp_path / "script.json", SCRIPT)
    given = ["--name", "My Todo", "--config", str(company), "--model", model]
    return [*given, "--uq", "off", "--warehouse", str(tmp_path / "ware house")]


def product_of(tmp_path: Path) -> Path:
    (product,) = (tmp_path / "ware house").iterdir()
    return product


def test_a_folder_base_of_ones_own_has_a_history_and_the_kept_copy_has_none(tmp_path: Path) -> None:
    for path in ("base/unit.py", "base_before/base/unit.py"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("ONE = 1\n")
    History(tmp_path, ["base_before"], sys.stderr)(SubtaskEnded("CodeComplete", "", 1, {}, 0.1), False)
    assert git(tmp_path, "ls-files") == ["base/unit.py"]
    assert git(tmp_path, "log", "--format=%s") == ["v1.0 Code Complete #1 Finished"]


def test_the_warehouse_may_be_given_from_where_one_stands(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--warehouse", "here"]) == 0
    (product,) = (tmp_path / "here").iterdir()
    assert git(product, "show", "HEAD:main.py") == ["print(2)"]


def test_a_package_called_base_is_tracked_where_no_code_was_given(
    tmp_path: Path, arguments: list[str], tools: Tools
) -> None:
    coding = "main.py\n```python\nimport base.unit\n```\nbase/unit.py\n```python\nONE = 1\n```\n"
    tools.script_file(tmp_path / "base.json", {**SCRIPT, "Coding": coding})
    main([*arguments, "--model", f"scripted:{tmp_path / 'base.json'}"])
    assert "base/unit.py" in git(product_of(tmp_path), "ls-files")


def test_each_change_is_a_commit_and_the_enclosing_repository_is_left_alone(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a hook of the enclosing repository.
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    before = {path: path.read_bytes() for path in (tmp_path / ".git").rglob("*") if path.is_file()}
    assert main(arguments) == 0
    product = product_of(tmp_path)
    assert git(product, "log", "--format=%s", "--reverse") == [
        "v1.0 Finish Coding",
        "v2.0 Test #1 Finished",
        "v3.0 Finish Manual",
        "v4.0 Final Version",
    ]
    assert git(product, "show", "HEAD:main.py") == ["print(2)"]
    assert git(product, "status", "--porcelain") == []
    tracked = git(product, "ls-files")
    assert "meta.txt" in tracked and "journal.jsonl" not in tracked
    assert {path: path.read_bytes() for path in (tmp_path / ".git").rglob("*") if path.is_file()} == before
    assert not (tmp_path / ".gitmodules").exists()


def test_a_resumed_run_goes_on_with_the_history(tmp_path: Path, arguments: list[str]) -> None:
    main(arguments)
    product = product_of(tmp_path)
    lines = (product / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (product / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    before = git(product, "log", "--format=%s")
    assert main(["--resume", str(product)]) == 0
    assert git(product, "log", "--format=%s") == before
    assert git(product, "status", "--porcelain") == []


def test_without_git_the_run_goes_on_and_says_so(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(subprocess, "run", refuse_git(subprocess.run))
    assert main(arguments) == 0
    assert "git: No such file or directory" in capsys.readouterr().err
    assert not (product_of(tmp_path) / ".git").exists()


def refuse_git(run: Any) -> Any:
    def without_git(command: list[str], *more: Any, **options: Any) -> Any:
        if command[0] == "git":
            raise FileNotFoundError("No such file or directory")
        return run(command, *more, **options)

    return without_git
