"""A private copy of a product to run in, so that runs never dirty the product."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

IGNORED = ("*.log", "journal.jsonl", ".git", "__pycache__")


@contextmanager
def scratch_copy(directory: Path, ignore: Sequence[str] = IGNORED) -> Iterator[Path]:
    """Yield the path of a copy of `directory`, removed afterwards.

    `ignore` holds name patterns to leave out; one that begins with a slash holds at the top only. Links stay
    links; pipes and sockets are left out. Raises OSError where the copy cannot be written.
    """

    def left_out(folder: str, names: list[str]) -> list[str]:
        top = os.path.samefile(folder, directory)
        return [
            name
            for name in names
            if any(fnmatch(name, pattern) or (top and fnmatch(f"/{name}", pattern)) for pattern in ignore)
            or _is_special(os.path.join(folder, name))
        ]

    parent = tempfile.mkdtemp(prefix="sandbox-")
    try:
        copy = Path(parent) / "program"
        shutil.copytree(directory, copy, symlinks=True, ignore=left_out)
        yield copy
    finally:
        # A program can nest directories deeper than Python's own remover can go.
        subprocess.run(["rm", "-rf", "--", parent], check=True)


def _is_special(path: str) -> bool:
    return not (os.path.islink(path) or os.path.isfile(path) or os.path.isdir(path))
