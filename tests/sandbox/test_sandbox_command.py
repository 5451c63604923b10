"""`python -m sandbox` and the scratch copy, as a person meets them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sandbox

ROOT = Path(sandbox.__file__).parents[1]

isolated_only = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m sandbox` with `arguments`."""
    return subprocess.run(
        [sys.executable, "-m", "sandbox", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "long"])
def test_senseless_seconds_are_bad_arguments(tmp_path: Path, seconds: str) -> None:
    ended = command(str(tmp_path), f"--seconds={seconds}")
    assert ended.returncode == 2 and "argument --seconds" in ended.stderr


@isolated_only
def test_verdict_and_exit_code(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(int(sys.argv[1]))")
    good = command(str(tmp_path), "--", "0", "--verbose")
    assert good.returncode == 0 and good.stdout.startswith("runs: ")
    assert "['0', '--verbose']" in good.stdout
    bad = command(str(tmp_path), "--", "4")
    assert bad.returncode == 1 and bad.stdout.startswith("fails: It ended with exit code 4")


def test_unsandboxed_warns(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print('hello')")
    result = command(str(tmp_path), "--allow-unsandboxed")
    assert result.returncode == 0 and "hello" in result.stdout
    assert "without isolation" in result.stderr


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    result = command(str(tmp_path / "nowhere"))
    assert result.returncode == 2 and "is not a directory" in result.stderr


def test_scratch_copy_leaves_the_product_alone(tmp_path: Path) -> None:
    for name in ("main.py", "run.log", "journal.jsonl"):
        (tmp_path / name).write_text(name)
    for name in (".git", "__pycache__", "assets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "link").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe")
    with sandbox.scratch_copy(tmp_path) as copy:
        assert sorted(path.name for path in copy.iterdir()) == ["assets", "link", "main.py"]
        assert (copy / "link").is_symlink()
        (copy / "main.py").write_text("changed")
    assert (tmp_path / "main.py").read_text() == "main.py"
    assert not copy.parent.exists()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="thousands of directories need a memory disk")
def test_scratch_copy_is_removed_whatever_the_program_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/dev/shm")
    with sandbox.scratch_copy(tmp_path) as copy:
        (copy / "link").symlink_to(tmp_path)
        (copy / "closed").mkdir(mode=0)
        descriptor = os.open(copy, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=descriptor)
            deeper = os.open("d", os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        os.close(descriptor)
    assert not copy.parent.exists()
    assert tmp_path.exists()
