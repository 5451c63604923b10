"""Code that was there before the company: copied whole, kept beside its changed self, judged by what it was.

An incremental run delivers every file of the folder it was given: what no phase changes stays byte for byte.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from chatdev.workspace import Workspace, is_product, is_text, refusal
from sandbox.completeness import Finding, syntax_errors, undefined_local_imports, unimplemented
from sandbox.names import undefined_names

BASE, _OTHER_BASE = "base", "base_before"
_NOT_WRITTEN_BY_HAND = frozenset(
    (".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache")
)


@dataclass(frozen=True)
class Given:
    """The text files by path as they were given, the name of the folder that keeps them, and what was wrong.

    `findings` are path, name and reason of what was unfinished or broken then: nobody asked for it to be mended.
    """

    files: Mapping[str, str]
    base: str = BASE
    findings: frozenset[tuple[str, str, str]] = frozenset()

    def new(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Those of `findings` that the given code did not have."""
        return tuple(finding for finding in findings if _key(finding) not in self.findings)

    def unchanged(self, files: Mapping[str, str]) -> bool:
        """Whether a product with these `files` is the given code still."""
        return files == self.files


def holds_code(source: Path) -> bool:
    """Whether there is anything below `source` to work on."""
    return any(not why and is_text(source / path) for path, why in _tree(source))


def keep_copy(source: Path, folder: Path) -> tuple[str, ...]:
    """Copy the tree `source` into the base folder of the product `folder`; returns what was left out, and why.

    Left out are links, what may not be read, what tools put there, the company's own records, the warehouse
    and, where this is what was given, the product itself.
    Raises OSError.
    """
    base = folder / (_OTHER_BASE if (source / BASE).exists() and _kept_by_a_company(source) != BASE else BASE)
    left_out: dict[str, str] = {}
    for path, why in _tree(source, (folder.parent.resolve(), folder.resolve())):
        if why:
            left_out[path] = why
        else:
            target = base / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / path, target)
    base.mkdir(exist_ok=True)
    return tuple(f"{path}: {why}" for path, why in left_out.items())


def base_of(product: Path) -> str:
    """The name of the folder in which `product` keeps the code that it was made from, if it was."""
    return _OTHER_BASE if (product / _OTHER_BASE).is_dir() else BASE


def take_over(folder: Path, workspace: Workspace) -> Given:
    """Put the kept copy into the product, where it is worked on; its text files become the workspace's own.

    Hidden files stay out of the talk: they hold settings and secrets. What nobody is shown, nobody changes.
    """
    base = base_of(folder)
    files = (file for file in (folder / base).rglob("*") if file.is_file())
    paths = sorted(file.relative_to(folder / base).as_posix() for file in files)
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # it may be one that cannot be written
        shutil.copy(folder / base / path, target)
    hidden = {path for path in paths if any(part.startswith(".") for part in path.split("/"))}
    shown = [path for path in paths if path not in hidden and is_text(folder / path)]
    workspace.adopt(shown)
    workspace.closed = {base, *paths} - set(shown)
    texts = workspace.files()
    found = (syntax_errors, undefined_local_imports, unimplemented, undefined_names)
    findings = [finding for find in found for finding in find(texts)]
    return Given(texts, base, frozenset(map(_key, findings)))


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.path, finding.name, finding.why


def _kept_by_a_company(source: Path) -> str:
    """The folder of `source` that is no part of it, where it is what a company made."""
    return base_of(source) if is_product(source) else ""


def _tree(source: Path, made: Collection[Path] = ()) -> Iterator[tuple[str, str]]:
    """Each file below `source` by its path, with the reason where it is to be left out: `made` by a company, …"""
    kept_before = _kept_by_a_company(source)
    for folder, folders, names in os.walk(source):
        here = Path(folder).relative_to(source)
        kept = []
        for name in sorted(folders):
            place, path = Path(folder, name), (here / name).as_posix()
            if place.is_symlink():
                yield path, "a link"
            elif name in _NOT_WRITTEN_BY_HAND or (place / "pyvenv.cfg").exists():
                yield path, "made by a tool"
            elif place.resolve() in made or path == kept_before:
                yield path, "made by a company"
            elif not os.access(place, os.R_OK | os.X_OK):
                yield path, "not to be read"
            else:
                kept.append(name)
        folders[:] = kept
        for name in sorted(names):
            place, path = Path(folder, name), (here / name).as_posix()
            if place.is_symlink() or not place.is_file():
                yield path, "a link or no file"
            elif not os.access(place, os.R_OK):
                yield path, "not to be read"
            else:
                yield path, refusal(path) or ""
