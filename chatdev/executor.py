"""The executor that `uq` asks for, over the sandbox."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sandbox
from uq.scores import Unavailable

_OUTPUT_BYTES = 2**20


@dataclass(frozen=True)
class SandboxExecutor:
    """Runs programs in the sandbox, or, where `isolated` is false, beside it."""

    isolated: bool = True

    def run(self, files: Mapping[str, str], command: Sequence[str], seconds: float) -> str | Unavailable:
        """Put `files` into an empty directory, run `command` there, and return what it printed."""
        limits = sandbox.Limits(seconds, math.ceil(seconds), output_bytes=2 * _OUTPUT_BYTES)
        with tempfile.TemporaryDirectory(prefix="candidate-") as folder:
            for path, text in files.items():
                place = Path(folder, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8", errors="replace")
            ended = sandbox.run(Path(folder), command, limits, isolated=self.isolated)
        return Unavailable("no_sandbox", ended.reason) if isinstance(ended, sandbox.Unavailable) else ended.stdout
