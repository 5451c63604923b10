"""The product folder and the records that ChatDev 1.x keeps in it."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from chatdev.company import Company, Flags
from chatdev.environment import Environment
from chatdev.images import mentioned
from chatdev.user_phases import COPY, phases_file
from chatdev.workspace import DRAFTS

_UNSAFE = re.compile(r"[^\w.+-]+")
_LONGEST_NAME = 80  # bytes; a folder's name holds two, a log's a suffix too, and file systems take 255
_META_FLAGS = ("with_memory", "clear_structure", "git_management", "gui_design", "incremental_develop")


def safe_name(name: str, otherwise: str) -> str:
    """`name` as a part of a folder's name: what no file system or shell could trip over becomes `_`."""
    encoding = sys.getfilesystemencoding()  # ASCII in some locales
    plain = _UNSAFE.sub("_", name.strip()).strip("._").encode(encoding, "ignore")[:_LONGEST_NAME]
    return plain.decode(encoding, "ignore") or otherwise


def create_folder(warehouse: Path, name: str, organization: str) -> tuple[Path, str]:
    """Make `<name>_<organization>_<YYYYmmddHHMMSS>` and return it with its stamp.

    Where a run of the same second was faster, the next second's name is taken. Raises OSError.
    """
    warehouse.mkdir(parents=True, exist_ok=True)
    moment = time.time()
    while True:
        stamp = time.strftime("%Y%m%d%H%M%S", time.localtime(moment))
        folder = warehouse / f"{name}_{organization}_{stamp}"
        try:
            folder.mkdir()
        except FileExistsError:
            moment += 1
        else:
            return folder, stamp


def copy_company(company: Company, folder: Path) -> None:
    """Keep the company files the run was made with beside its product."""
    for file_name, path in company.sources.items():
        if path.resolve() != (folder / file_name).resolve():
            shutil.copyfile(path, folder / file_name)
    if phases := phases_file(company.folder):
        shutil.copyfile(phases, folder / COPY)


def write_meta(folder: Path, company: Company, environment: Environment, version: float) -> None:
    """Write meta.txt in the original's labels and order, and after them whether the product works."""
    flags = {flag.name: getattr(company.flags, flag.name) for flag in fields(Flags)}
    config = [f"ChatEnvConfig.{name}: {flags[name]}" for name in _META_FLAGS]
    config.append(f"ChatEnvConfig.background_prompt: {company.background_prompt}")
    shown = mentioned(environment.workspace.files().values())
    sections = {
        "Task": environment.task,
        "Config": "\n".join(config),
        "Roster": ", ".join(company.recruitments),
        "Modality": environment.modality,
        "Ideas": environment.ideas,
        "Language": environment.language,
        "Code_Version": str(version),
        "Proposed_images": str(len(environment.images)),
        "Incorporated_images": str(len(environment.images.keys() & shown)),
        "Status": environment.status(),
    }
    text = "".join(f"{label}:\n{value}\n\n" for label, value in sections.items())
    (folder / "meta.txt").write_text(text, encoding="utf-8", newline="\n")


def remove_written(folder: Path, paths: Sequence[str]) -> None:
    """Delete the product files a stopped run wrote, so that its replay starts from an empty folder."""
    for draft in folder.glob(DRAFTS):
        draft.unlink()
    for path in paths:
        target = folder / path
        if target.is_file() and not target.is_symlink() and target.resolve().is_relative_to(folder.resolve()):
            target.unlink()
