"""The product's files on disk: written whole, inside the folder, and brought back on request."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatdev.workspace import Workspace, normal_path, refusal, texts_below


def on_disk(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_files_are_written_with_their_folders_and_told_as_diffs(tmp_path: Path) -> None:
    change = Workspace(tmp_path / "product").apply({"src/board.py": "SIZE = 3\n", "main.py": "é = 1\r\n"})
    assert list(change.diffs) == ["src/board.py", "main.py"]
    assert (tmp_path / "product/src/board.py").read_bytes() == b"SIZE = 3\n"
    assert (tmp_path / "product/main.py").read_bytes() == "é = 1\n".encode()
    assert change.diffs["src/board.py"].splitlines() == [
        "--- /dev/null",
        "+++ b/src/board.py",
        "@@ -0,0 +1 @@",
        "+SIZE = 3",
    ]


def test_a_second_change_shows_only_what_differs(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.apply({"main.py": "a = 1\nb = 2\n", "other.py": "x = 1\n"})
    change = workspace.apply({"main.py": "a = 1\nb = 3\n", "other.py": "x = 1\n"})
    assert list(change.diffs) == ["main.py"]
    assert [line for line in change.diffs["main.py"].splitlines() if line[0] in "+-"] == [
        "--- a/main.py",
        "+++ b/main.py",
        "-b = 2",
        "+b = 3",
    ]


def test_files_come_main_first_then_in_order_of_arrival(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.apply({"z.py": "", "a.py": "1\n", "main.py": "2\n", "notes.txt": "n\n"})
    workspace.apply({"a.py": "3\n"})
    assert list(workspace.files().items()) == [
        ("main.py", "2\n"),
        ("z.py", ""),
        ("a.py", "3\n"),
        ("notes.txt", "n\n"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "", "  ", ".", "/", "../x.py", "src/../../x.py", "a/..", "..\\x.py", "/etc/x", "\\\\host\\x", "~/x",
        "C:\\x",
        "c:x.py", "nul\x00.py", "a\nb.py", "what?.py", "a:b", "\ud800.py", "x" * 300 + ".py", "a/" * 600 + "b.py",
        "CON", "con.py", "src/Aux.txt", "lpt1", "COM1.log.py", "trailing.", "folder /x.py", ".git", ".git/config",
        "sub/.GIT/hooks/x", "journal.jsonl", "./journal.jsonl", "META.txt", "Gomoku.prompt", "manual.md",
        "ChatChainConfig.json", "PhaseConfig.json", "RoleConfig.json", "UncertaintyConfig.json", "run.log",
    ],
)  # fmt: skip
def test_unsafe_names_are_refused(tmp_path: Path, name: str) -> None:
    root = tmp_path / "outer" / "product"
    change = Workspace(root).apply({name: "x = 1\n", "main.py": "y = 1\n"})
    assert list(change.refused) == [name]
    assert change.refused[name].startswith("the name ")
    assert list(change.diffs) == ["main.py"]
    assert on_disk(tmp_path) == {"outer/product/main.py"}


@pytest.mark.parametrize(
    "name", ["meta/meta.txt", "my file.py", "console.py", ".gitignore", "docs/manual.md", "a..b.py"]
)
def test_names_that_only_look_unsafe_are_written(tmp_path: Path, name: str) -> None:
    assert Workspace(tmp_path).apply({name: "x\n"}).refused == {}
    assert on_disk(tmp_path) == {name}


def test_a_reserved_name_is_written_when_the_company_allows_it(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.apply({"manual.md": "# Manual\n"}, allow={"manual.md"}).diffs.keys() == {"manual.md"}
    assert workspace.files() == {}
    assert (tmp_path / "manual.md").read_text() == "# Manual\n"
    assert workspace.apply({"../manual.md": ""}, allow={"../manual.md"}).refused


def test_names_are_brought_to_one_form() -> None:
    assert normal_path(" ./src\\\\game//./board.py ") == "src/game/board.py"
    assert refusal(normal_path("//etc/x")) == "the name is absolute"


def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim.py").write_text("safe\n")
    workspace = Workspace(tmp_path / "product")
    (tmp_path / "product/link").symlink_to(outside)
    (tmp_path / "product/main.py").symlink_to(outside / "victim.py")
    change = workspace.apply({"link/evil.py": "x\n", "link/deep/evil.py": "x\n", "main.py": "x\n"})
    assert set(change.refused.values()) == {"the path leads through a symbolic link"}
    assert on_disk(outside) == {"victim.py"}
    assert (outside / "victim.py").read_text() == "safe\n"


def test_files_and_folders_do_not_take_each_others_place(tmp_path: Path) -> None:
    change = Workspace(tmp_path).apply({"a/b.py": "1\n", "a": "2\n", "a/b.py/c.py": "3\n"})
    assert change.refused == {
        "a": "a folder has this name",
        "a/b.py/c.py": "a file has the name of one of its folders",
    }
    assert on_disk(tmp_path) == {"a/b.py"}


def test_text_that_utf8_cannot_store_is_refused_by_name(tmp_path: Path) -> None:
    change = Workspace(tmp_path).apply({"main.py": "x = '\ud83d'\n"})
    assert change.refused == {"main.py": "the text holds U+D83D, which UTF-8 cannot store"}
    assert on_disk(tmp_path) == set()


def test_a_failing_disk_leaves_the_old_file_and_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(tmp_path)
    workspace.apply({"main.py": "old\n"})

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        workspace.apply({"main.py": "new\n"})
    assert on_disk(tmp_path) == {"main.py"}
    assert workspace.files() == {"main.py": "old\n"}


def test_restoring_a_snapshot_brings_back_texts_and_removes_later_files(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.apply({"main.py": "good\n", "board.py": "b\n"})
    good = workspace.files()
    workspace.apply({"main.py": "bad\n", "extra/more.py": "m\n"})
    (tmp_path / "scores.json").write_text("{}")
    undone = workspace.restore(good)
    assert workspace.files() == {"main.py": "good\n", "board.py": "b\n"}
    assert undone.keys() == {"main.py", "extra/more.py"}
    assert undone["extra/more.py"].splitlines()[1] == "+++ /dev/null"
    assert on_disk(tmp_path) == {"main.py", "board.py", "scores.json"}
    assert workspace.restore(good) == {}


def test_adopted_files_belong_to_the_product_and_are_never_lost(tmp_path: Path) -> None:
    for name, data in {
        "main.py": b"m\r\n",
        "pkg/a.py": b"a\n",
        "logo.png": b"\x89PNG\xff",
        "meta.txt": b"Task:\n",
        "g.prompt": b"t",
        ".git/config": b"c",
        "pkg/__pycache__/a.pyc": b"\x00\xff",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    before = on_disk(tmp_path)
    workspace = Workspace(tmp_path)
    workspace.adopt(texts_below(tmp_path))
    assert workspace.files() == {"main.py": "m\n", "pkg/a.py": "a\n"}
    workspace.restore({})
    assert on_disk(tmp_path) == before


def test_without_adoption_only_what_was_applied_belongs_to_the_product(tmp_path: Path) -> None:
    Workspace(tmp_path).apply({"main.py": "1\n", "later.py": "2\n"})
    replayed = Workspace(tmp_path)
    assert replayed.files() == {}
    replayed.apply({"main.py": "1\n"})
    assert replayed.files() == {"main.py": "1\n"}


def test_a_file_somebody_edited_is_seen_as_it_is(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.apply({"main.py": "1\n", "a.py": "2\n"})
    (tmp_path / "main.py").write_text("edited\n")
    (tmp_path / "a.py").unlink()
    assert workspace.files() == {"main.py": "edited\n"}
