"""The product's history in a repository of its own: one commit for each subtask that changed it.

The repository lies in the product folder; one that encloses the warehouse is never looked at nor touched.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from journal import Event
from journal.events import RunEnded, SubtaskEnded, SubtaskStarted

# What the original says of a commit, by the subtask that ends with it; others say "Finish" and their name.
_MESSAGES = {
    "ArtIntegration": "Finish Art Integration",
    "CodeComplete": "Code Complete #{cycle} Finished",
    "CodeReviewModification": "Review #{cycle} Finished",
    "CodeReviewHuman": "Human Review #{cycle} Finished",
    "TestModification": "Test #{cycle} Finished",
}
_NOT_TRACKED = ("journal.jsonl", "*.log", ".*.tmp", "__pycache__/")
_SETTINGS = ("user.name=UA-ChatDev", "user.email=ua-chatdev@localhost", f"core.hooksPath={os.devnull}")


class History:
    """A journal listener that commits what each subtask changed in the product `folder`, outside folders `kept`.

    What a resumed run walks through again is in the repository already. Where git fails, `out` is told why
    and the run goes on.
    """

    def __init__(self, folder: Path, kept: Sequence[str], out: TextIO) -> None:
        self._folder, self._out = folder, out
        self._not_tracked = (*_NOT_TRACKED, *(f"/{name}/" for name in kept))
        self._cycle: int | None = None

    def __call__(self, event: Event, replayed: bool) -> None:
        if isinstance(event, SubtaskStarted):
            self._cycle = event.cycle
        elif isinstance(event, SubtaskEnded) and not replayed:
            message = _MESSAGES.get(event.subtask, f"Finish {event.subtask}")
            self._commit(message.replace("{cycle}", str(self._cycle or 1)))
        elif isinstance(event, RunEnded):
            self._commit("Final Version")

    def _commit(self, message: str) -> None:
        try:
            if not (self._folder / ".git").exists():
                self._git("init", "--quiet", "--template=")
                exclude = self._folder / ".git" / "info" / "exclude"
                exclude.parent.mkdir(exist_ok=True)
                exclude.write_text("".join(f"{name}\n" for name in self._not_tracked), encoding="utf-8")
            self._git("add", "--all")
            if self._git("status", "--porcelain"):
                version = float(self._git("rev-list", "--all", "--count")) + 1
                self._git("commit", "--quiet", "--message", f"v{version} {message}")
        except (OSError, subprocess.CalledProcessError) as error:
            said = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
            print(f"git: {said.strip()}", file=self._out, flush=True)

    def _git(self, *arguments: str) -> str:
        """Run git on the product's own repository, whatever encloses it and whatever the user has set."""
        place = [f"--git-dir={self._folder / '.git'}", f"--work-tree={self._folder}"]
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(
            ["git", *place, *settings, *arguments],
            cwd=self._folder,
            env={**inherited, **plain},
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=True,
        ).stdout.strip()
