"""What a run was asked to do: the command line's values, kept in the journal for `--resume`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

DEFAULT_MODEL = "qwen2.5-coder-1.5b"
DEFAULT_TASK = "Develop a basic Gomoku game."
UNCERTAINTY_MODES = ("cascade", "functional", "on", "observe", "hassum", "off")
RETRIEVAL_OFF = "off"
RetrievalCache = Literal["live", "record", "replay", "off"]


@dataclass(frozen=True)
class Settings:
    """`uq` is `cascade` or `functional` (the gate measures and acts, and drafts of code are compared by what
    they do), `on` (the gate alone), `observe` (it only measures), `hassum` (prose is sampled and deliberated on,
    code goes through the gate) or `off`. `store` is the file of learnt thresholds, empty where there is none.
    Past `budget` tokens no more drafts are drawn. `quantize` holds the weights of an `hf:` model in 4 bits.
    `retrieval` is `off` or a source of `retrieval.open_retriever`, `docs` are folders of documentation and
    `retrieval_cache` is a mode of `retrieval.Cache`. `image_url` is an image server, empty where there is
    none."""

    task: str = DEFAULT_TASK
    name: str = "Gomoku"
    organization: str = "DefaultOrganization"
    config: str = "Default"
    model: str = DEFAULT_MODEL
    base_url: str | None = None
    quantize: bool = False
    image_url: str = ""
    path: str = ""
    uq: str = "cascade"
    store: str = ""
    retrieval: str = "auto"
    retrieval_cache: RetrievalCache = "live"
    docs: list[str] = field(default_factory=list)
    seed: int = 1
    budget: int = 12_000
    allow_unsandboxed: bool = False
