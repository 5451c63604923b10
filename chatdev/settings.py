"""What a run was asked to do: the command line's values, kept in the journal for `--resume`."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_MODEL = "qwen2.5-coder-1.5b"
DEFAULT_TASK = "Develop a basic Gomoku game."
UNCERTAINTY_MODES = ("on", "observe", "off")


@dataclass(frozen=True)
class Settings:
    """`uq` is `on` (the gate measures and acts), `observe` (it only measures) or `off`. `store` is the file of
    learnt thresholds, `image_url` an image server, each empty where there is none."""

    task: str = DEFAULT_TASK
    name: str = "Gomoku"
    organization: str = "DefaultOrganization"
    config: str = "Default"
    model: str = DEFAULT_MODEL
    base_url: str | None = None
    image_url: str = ""
    path: str = ""
    uq: str = "on"
    store: str = ""
    seed: int = 1
    allow_unsandboxed: bool = False
