"""What `generate` leaves in each of its folders OUT/ARM/ID/: result.json."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evaluation.srdd import EvaluationError

FILE_NAME = "result.json"


@dataclass(frozen=True)
class Result:
    """How the run on one task in one arm ended.

    `failure` is "" where there is a product to be scored, else why there is none: `time_budget`,
    `token_budget`, `command_failed`, `no_product`, `model_unusable` or `bad_arguments`. `product` is its
    folder, relative to that of the result; `seconds` is wall time, `settings` all that the outcome depends on.
    """

    arm: str
    task: str
    category: str
    text: str
    failure: str
    exit_code: int | None
    product: str
    seconds: float
    settings: dict[str, Any]


def write(result: Result, folder: Path) -> None:
    """Write `result` to its folder, whole or not at all."""
    part = folder / f"{FILE_NAME}.part"
    part.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, folder / FILE_NAME)


def read(folder: Path) -> Result | None:
    """The result in `folder`; None where there is none yet. Raises EvaluationError where it is something else."""
    path = folder / FILE_NAME
    try:
        return Result(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError) as error:
        raise EvaluationError(
            f"{path} is not what an evaluation wrote ({error}). Move {folder} away; its task is run again then."
        ) from error


def read_all(out: Path) -> Iterator[tuple[Path, Result]]:
    """Every result below the output folder `out` with its folder, by arm and task."""
    for path in sorted(out.glob(f"*/*/{FILE_NAME}")):
        if found := read(path.parent):
            yield path.parent, found
