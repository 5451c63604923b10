"""Arms: the ways in which tasks are built, each a command line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.srdd import EvaluationError
from evaluation.srdd.tasks import Task

PROJECT = Path(__file__).resolve().parents[2]

BUILT_IN: Mapping[str, tuple[str, ...]] = {
    "chatdev": ("run.py", "--uq", "off"),
    "observe": ("run.py", "--uq", "observe"),
    "ua-chatdev": ("run.py", "--uq", "on"),
    "cascade": ("run.py", "--uq", "cascade"),
    "single": ("-m", "chatdev.single"),
}
_NAME = re.compile(r"[\w.-]+")
_COMMON = ("--task", "--name", "--org", "--model", "--base-url", "--seed", "--warehouse", "--resume")
"""Flags of run.py that the evaluation gives itself, after those of the arm."""


@dataclass(frozen=True)
class Arm:
    """`words` are arguments of Python where it is one of the project's `own`, else a whole command line.

    In the latter {task}, {workspace}, {name}, {model}, {base_url} and {seed} are filled in.
    """

    name: str
    words: tuple[str, ...]
    own: bool

    @property
    def resumable(self) -> bool:
        return self.own and self.words[0] == "run.py"


@dataclass(frozen=True)
class Setting:
    """What all runs have in common. Budgets are for a task; `base_url` is "" where there is no server.

    `served_as` is what the model is called there, where that is something else.
    """

    model: str
    base_url: str = ""
    seed: int = 1
    seconds: float | None = None
    tokens: int | None = None
    allow_unsandboxed: bool = False
    served_as: str = ""


def arm_of(text: str) -> Arm:
    """The arm that `text` says: a built-in name, NAME=FLAGS of run.py, or NAME=COMMAND.

    Raises EvaluationError.
    """
    name, equals, rest = text.partition("=")
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise EvaluationError(f"--arm {text}: {name!r} cannot be the name of a folder.")
    if not equals:
        if name not in BUILT_IN:
            raise EvaluationError(
                f"--arm {name}: there is no such arm; built in are {', '.join(BUILT_IN)}. Others are given as "
                "NAME='--config Mine --uq on' or NAME='command {task} {workspace}'."
            )
        return Arm(name, BUILT_IN[name], own=True)
    try:
        words = tuple(shlex.split(rest))
    except ValueError as error:
        raise EvaluationError(f"--arm {text}: {error}.") from error
    if not words:
        raise EvaluationError(f"--arm {text}: what is to be run?")
    if words[0].startswith("--"):
        for word in words:
            if word.startswith("--") and any(flag.startswith(word.partition("=")[0]) for flag in _COMMON):
                raise EvaluationError(
                    f"--arm {name}: {word} is the same for all arms; leave it out. --model, --base-url and --seed "
                    "are told to generate."
                )
        return Arm(name, ("run.py", *words), own=True)
    if not any("{workspace}" in word for word in words):
        raise EvaluationError(f"--arm {name}: the command must say where the product goes, with {{workspace}}.")
    if not shutil.which(words[0]):
        raise EvaluationError(f"--arm {name}: there is no command {words[0]!r} here.")
    # It is started in the workspace, where a relative path leads nowhere.
    program = os.path.abspath(words[0]) if os.sep in words[0] else words[0]
    return Arm(name, (program, *words[1:]), own=False)


def command_of(arm: Arm, task: Task, setting: Setting, workspace: Path, resume: Path | None) -> list[str]:
    """The command line that builds `task` in `workspace`, or goes on with the stopped run in `resume`."""
    model = setting.served_as or setting.model
    if not arm.own:
        values = {
            "task": task.text,
            "workspace": str(workspace),
            "name": task.id,
            "model": model.removeprefix("openai:"),
            "base_url": setting.base_url,
            "seed": str(setting.seed),
        }
        return [re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), word) for word in arm.words]
    first, *rest = arm.words
    start = [sys.executable, str(PROJECT / first)] if resume or first == "run.py" else [sys.executable, first]
    server = [f"--base-url={setting.base_url}"] if setting.base_url else []
    server += ["--allow-unsandboxed"] * setting.allow_unsandboxed
    if resume:
        return [*start, f"--resume={resume}", *server]
    flags = {
        "task": task.text,
        "name": task.name or task.id,
        "org": f"SRDD_{task.category or 'None'}",
        "model": model,
        "seed": setting.seed,
        "warehouse": workspace,
    }
    return [*start, *rest, *(f"--{name}={value}" for name, value in flags.items()), *server]


def environment_of(base_url: str = "") -> dict[str, str]:
    """The environment of a command: it finds this project, and the server under the names that tools look for."""
    variables = dict(os.environ)
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PROJECT), variables.get("PYTHONPATH")]))
    if base_url:
        variables |= dict.fromkeys(("BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"), base_url)
        variables.setdefault("OPENAI_API_KEY", "none")
    return variables
