"""What lies in a product folder. It may be anything, so it is looked at with bounds."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from sandbox import IGNORED

PROMPT_FILE = "prompt"
"""Holds the task of a product that a command of the user's made."""

LARGEST_PRODUCT = 20_000_000  # bytes; more is no source, and copying it for each run takes too long
_MOST_FILES = 5_000
_LARGEST_SOURCE = 1_000_000  # bytes; a larger file is data
_TASK_IN_META = re.compile(r"^Task:\n(.*?)\n\nConfig:", re.DOTALL)


def too_large(folder: Path) -> bool:
    """Whether there is more than `LARGEST_PRODUCT` bytes or 5,000 files, records of the run aside."""
    total = 0
    for count, file in enumerate(_files(folder), 1):
        total += file.lstat().st_size
        if total > LARGEST_PRODUCT or count > _MOST_FILES:
            return True
    return False


def sources(folder: Path) -> dict[str, str]:
    """The Python files by path, main.py first, then by name; larger ones than 1 MB are left out."""
    found = {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8", errors="replace")
        for file in _files(folder)
        if file.suffix.lower() in (".py", ".pyw") and file.is_file() and file.lstat().st_size <= _LARGEST_SOURCE
    }
    return {path: found[path] for path in sorted(found, key=lambda path: (path != "main.py", path))}


def task_of(folder: Path) -> str | None:
    """What was asked for: NAME.prompt, else the task in meta.txt, else a file `prompt`; None without any."""
    for path in (*sorted(folder.glob("*.prompt")), folder / PROMPT_FILE):
        if path.is_file():
            return path.read_text(encoding="utf-8", errors="replace").strip()
    meta = folder / "meta.txt"
    found = _TASK_IN_META.match(meta.read_text(encoding="utf-8", errors="replace")) if meta.is_file() else None
    return found[1].strip() if found else None


def program_folder(folder: Path) -> Path:
    """Where main.py lies: nearest to the top, then first by name; `folder` itself where there is none."""
    entries = [file.parent for file in _files(folder) if file.name == "main.py"]
    return min(entries, key=lambda path: (len(path.parts), path), default=folder)


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _ignored(name)]
        for name in names:
            path = Path(parent, name)
            if not _ignored(name) and not path.is_symlink():
                yield path


def _ignored(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in IGNORED)
