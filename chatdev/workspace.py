"""The product's files on disk: written whole, atomically, and only inside the product folder.

Names come from a model and are not to be trusted; `refusal` is the one place that says which are allowed.
"""

from __future__ import annotations

import difflib
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

DRAFTS = ".*.tmp"
"""Half-written files; a killed run may leave one behind."""

_RECORDS = ("meta.txt", "journal.jsonl", "*.prompt")
# What the company itself writes at the top of the product folder.
_RESERVED = (
    "journal.jsonl",
    "meta.txt",
    "manual.md",
    "chatchainconfig.json",
    "phaseconfig.json",
    "phaseconfig.py",
    "roleconfig.json",
    "uncertaintyconfig.json",
    "*.prompt",
    "*.log",
    DRAFTS,
)
_WINDOWS_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_NOT_PORTABLE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\ud800-\udfff]')
_LONGEST_NAME = 200  # bytes; file systems take 255 and some of that goes to suffixes of backups
_LONGEST_PATH = 1000  # bytes
_LARGEST_TEXT = 1_000_000  # bytes; a larger file found in the folder is data, not source


@dataclass(frozen=True)
class Change:
    """What a call did: a unified diff for each path written, and refused names with reasons."""

    diffs: dict[str, str]
    refused: dict[str, str]


def normal_path(path: str) -> str:
    """`path` with forward slashes and without `.` and empty parts; what makes it unsafe stays visible."""
    slashed = path.strip().replace("\\", "/")
    parts = [part for part in slashed.split("/") if part not in ("", ".")]
    return ("/" if slashed.startswith("/") else "") + "/".join(parts)


def refusal(path: str, *, allow: Collection[str] = ()) -> str | None:
    """Why no file of the product may have this name; None when it may.

    `path` is as `normal_path` gives it. `allow` lists reserved names that are permitted all the same.
    """
    parts = path.split("/")
    if not path:
        return "the name is empty"
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        return "the name is absolute"
    if ".." in parts:
        return "the name leads out of the product folder"
    if _NOT_PORTABLE.search(path):
        return "the name has a character that not every system allows"
    if _size(path) > _LONGEST_PATH or any(_size(part) > _LONGEST_NAME for part in parts):
        return "the name is too long"
    if any(_WINDOWS_DEVICE.fullmatch(part) or part.endswith((".", " ")) for part in parts):
        return "the name is reserved by Windows"
    if ".git" in map(str.lower, parts):
        return "the name is reserved for version control"
    if path not in allow and len(parts) == 1 and any(fnmatch(path.lower(), name) for name in _RESERVED):
        return "the name is reserved for the company's own records"
    return None


def is_product(folder: Path) -> bool:
    """Whether `folder` is what a company made, or began to make."""
    return any(any(folder.glob(name)) for name in _RECORDS)


def _size(text: str) -> int:
    return len(text.encode("utf-8"))


class Workspace:
    """The product in the folder `root`, which is made when needed.

    Only what `apply` writes and what is adopted belongs to it, so that a replayed run sees the files it saw the
    first time, whatever an interrupted run left behind. What is `closed`, files by their path and folders at the
    top by their name, stays as it is.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.closed: Collection[str] = ()
        root.mkdir(parents=True, exist_ok=True)
        self._adopted: frozenset[str] = frozenset()
        self._paths: dict[str, None] = {}  # a dict for its order
        self._applied: set[str] = set()

    def files(self) -> dict[str, str]:
        """The product's text files as they are on disk: main.py first, then in order of arrival."""
        order = sorted(self._paths, key=lambda path: path != "main.py")
        texts = ((path, _read(self.root / path)) for path in order)
        return {path: text for path, text in texts if text is not None}

    def apply(self, changes: Mapping[str, str], *, allow: Collection[str] = ()) -> Change:
        """Write each file of `changes` that differs from what is on disk, and refuse names that are not safe.

        Text is stored as UTF-8 with "\\n". `allow` names reserved files (such as manual.md) that the company
        writes itself; they do not count among the product's `files`. Raises OSError when the disk refuses.
        """
        diffs: dict[str, str] = {}
        refused: dict[str, str] = {}
        for name, text in changes.items():
            path = normal_path(name)
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            why = self.refuses(path, allow=allow) or _unstorable(text)
            if why:
                refused[name] = why
                continue
            before = _read(self.root / path) if path in self._applied else None
            self._applied.add(path)
            if text != before:
                self._write(path, text)
                diffs[path] = _diff(path, before, text)
            if refusal(path) is None:
                self._paths.setdefault(path)
        return Change(diffs, refused)

    def adopt(self, paths: Iterable[str]) -> None:
        """Let text files that lie in the folder belong to the product; they may be changed, never deleted."""
        added = dict.fromkeys(paths)
        self._adopted |= added.keys()
        self._paths.update(added)
        self._applied.update(added)

    def restore(self, files: Mapping[str, str]) -> dict[str, str]:
        """Bring back what `files` were and delete those written since; adopted files stay. Returns the diffs."""
        diffs: dict[str, str] = {}
        for path, text in self.files().items():
            if path not in files and path not in self._adopted:
                diffs[path] = _diff(path, text, None)
                (self.root / path).unlink()
                del self._paths[path]
        return diffs | self.apply(files).diffs

    def refuses(self, name: str, *, allow: Collection[str] = ()) -> str | None:
        """Why no file of this name can be written; None where it can be."""
        path = normal_path(name)
        return refusal(path, allow=allow) or self._obstacle(path)

    def holds(self, name: str) -> bool:
        """Whether there is a file of this name, text or not."""
        path = normal_path(name)
        return refusal(path) is None and (self.root / path).is_file()

    def _obstacle(self, path: str) -> str | None:
        """Why the disk as it is leaves no room for `path`."""
        target = self.root / path
        if path in self.closed or path.partition("/")[0] in self.closed:
            return "it is kept as it was given"
        inside = [target, *target.parents[: len(PurePosixPath(path).parts) - 1]]
        if any(step.is_symlink() for step in inside):
            return "the path leads through a symbolic link"
        if target.is_dir():
            return "a folder has this name"
        if any(step.exists() and not step.is_dir() for step in inside[1:]):
            return "a file has the name of one of its folders"
        return None

    def place(self, name: str, data: bytes) -> None:
        """Write a file that is no text, such as a picture, under a `name` that is not refused."""
        self._put(normal_path(name), data)

    def _write(self, path: str, text: str) -> None:
        target = self.root / path
        keeps = target.is_file() and b"\r\n" in target.read_bytes()
        self._put(path, (text.replace("\n", "\r\n") if keeps else text).encode("utf-8"))

    def _put(self, path: str, data: bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = self.root / f".{secrets.token_hex(8)}.tmp"
        try:
            with draft.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


def _unstorable(text: str) -> str | None:
    lone = re.search(r"[\ud800-\udfff]", text)
    return f"the text holds U+{ord(lone.group()):04X}, which UTF-8 cannot store" if lone else None


def _read(path: Path) -> str | None:
    """The text of a file, or None where there is no text file."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, UnicodeDecodeError):
        return None


def is_text(path: Path) -> bool:
    """Whether a file is text in UTF-8, and small enough to be somebody's writing."""
    return path.stat().st_size <= _LARGEST_TEXT and _read(path) is not None


def texts_below(root: Path) -> list[str]:
    """Paths of the text files below `root` that may belong to a product."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        for name in names:
            file = Path(folder, name)
            path = file.relative_to(root).as_posix()
            plain = file.is_file() and not file.is_symlink()
            if plain and refusal(path) is None and is_text(file):
                found.append(path)
    return found


def _diff(path: str, before: str | None, after: str | None) -> str:
    """A unified diff; None stands for a file that is not there."""
    old, new = (
        f"{side}/{path}" if text is not None else "/dev/null" for side, text in (("a", before), ("b", after))
    )
    lines = difflib.unified_diff((before or "").splitlines(), (after or "").splitlines(), old, new, lineterm="")
    return "\n".join(lines)
