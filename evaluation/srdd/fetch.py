"""Getting the full SRDD data set, which is not ours to ship."""

from __future__ import annotations

import os
import urllib.request
from http.client import HTTPException
from pathlib import Path

from evaluation.srdd import EvaluationError
from evaluation.srdd.tasks import read_tasks

SOURCE = "https://raw.githubusercontent.com/OpenBMB/ChatDev/chatdev1.0/SRDD/data/data_attribute_format.csv"
LICENCE = """\
SRDD, the Software Requirement Description Dataset, 1,200 tasks, by the authors of ChatDev
(Qian et al., Communicative Agents for Software Development, arXiv:2307.07924).
Licence: CC BY-NC 4.0, https://creativecommons.org/licenses/by-nc/4.0/
You may use and share it with attribution, and not for commercial purposes."""

_PATIENCE = 30.0  # seconds
_LARGEST = 10_000_000  # bytes


def fetch(url: str, file: Path) -> int:
    """Get the tasks at `url` into `file`. Returns how many. Raises EvaluationError; `file` is then as it was."""
    if file.is_dir():
        raise EvaluationError(f"{file} is a folder; name a file in it.")
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as response:
            data = response.read(_LARGEST + 1)
            promised = int(response.headers.get("Content-Length", len(data)))
        if len(data) > _LARGEST:
            raise ValueError("it is larger than 10 MB")
        if len(data) < promised:
            raise ValueError(f"only {len(data)} of {promised} bytes came")
    except (OSError, ValueError, HTTPException) as error:
        raise EvaluationError(f"{url} cannot be had ({error}). Get it another way, for --tasks.") from error
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    try:
        part.write_bytes(data)
        count = len(read_tasks(str(part)))
        os.replace(part, file)
    except EvaluationError as error:
        raise EvaluationError(str(error).replace(str(part), url)) from error
    finally:
        part.unlink(missing_ok=True)
    return count
