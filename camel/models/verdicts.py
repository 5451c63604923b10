"""What `python -m chatdev doctor` found a server's log-probs to be: one JSON file in the cache directory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import get_args

from camel.messages import LogprobKind
from camel.models.fetch import cache_directory


def recall(url: str, model: str) -> LogprobKind:
    """Return the kind of log-probs of `model` at `url`, `unknown` where that was never found out."""
    kind = _verdicts().get(_server(url), {}).get(model, "unknown")
    return kind if kind in get_args(LogprobKind) else "unknown"


def remember(url: str, model: str, kind: LogprobKind) -> None:
    """Keep `kind` for later runs. Raises OSError where the cache directory cannot be written."""
    verdicts = _verdicts()
    verdicts.setdefault(_server(url), {})[model] = kind
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(verdicts, indent=1), encoding="utf-8")
    os.replace(partial, path)


def _path() -> Path:
    return cache_directory() / "logprob_kinds.json"


def _server(url: str) -> str:
    return url.rstrip("/")


def _verdicts() -> dict[str, dict[str, LogprobKind]]:
    """Read all verdicts; a file that is missing or damaged holds none, and is written anew by the next."""
    try:
        verdicts = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(verdicts, dict) and all(isinstance(models, dict) for models in verdicts.values())
    return verdicts if whole else {}
