"""One task in one arm: built in a folder of its own, and how that ended written down."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.srdd import result
from evaluation.srdd.alone import alone
from evaluation.srdd.arms import Arm, Setting, command_of, environment_of
from evaluation.srdd.product import PROMPT_FILE
from evaluation.srdd.result import Result
from evaluation.srdd.supervision import Spent, Watched, watch
from evaluation.srdd.tasks import Task
from journal.journal import FILE_NAME as JOURNAL

LOG = "output.log"
RETRIED = ("bad_arguments", "model_unusable")
"""Failures that say nothing of the task: it is tried again when the evaluation is started again."""

_WORKSPACE = "product"
_PRODUCT_MADE = (0, 4)  # exit codes of run.py: complete, or incomplete
_REFUSALS = {2: "bad_arguments", 3: "model_unusable"}
_INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Job:
    """Can be handed to another machine that sees the same output folder."""

    out: Path
    arm: Arm
    task: Task
    setting: Setting

    @property
    def folder(self) -> Path:
        return self.out / self.arm.name / self.task.id

    def settings(self) -> dict[str, Any]:
        """What the outcome depends on; where the server stands is none of it."""
        setting = self.setting
        return {
            "words": list(self.arm.words),
            "model": setting.model,
            "seed": setting.seed,
            "seconds": setting.seconds,
            "tokens": setting.tokens,
        }


def run_job(job: Job, stop: threading.Event | None = None) -> Result | None:
    """Build the task, or go on where an earlier try was stopped; None where `stop` was set meanwhile."""
    # On a cluster a worker may still be at it for an evaluation that was given up.
    with alone(job.folder / "run", wait=True) as lock:
        known = result.read(job.folder)
        return known if known and known.failure not in RETRIED else _run(job, stop, lock)


def last_words(folder: Path) -> str:
    """The last line that the command said whose job has this folder."""
    lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), f"it said nothing; see {folder}")


def _run(job: Job, stop: threading.Event | None, lock: int) -> Result | None:
    folder = job.folder
    before = _product(job)
    if before and not job.arm.resumable:
        shutil.rmtree(before)
        before = None
    watched = _build(job, before, stop, lock)
    if before and _REFUSALS.get(watched.exit_code) == "bad_arguments":  # its journal is of no use
        shutil.rmtree(before)
        watched = _build(job, None, stop, lock)
    if watched.stopped == _INTERRUPTED:
        return None
    product = _product(job) if job.arm.own else folder / _WORKSPACE
    ended = Result(
        arm=job.arm.name,
        task=job.task.id,
        category=job.task.category,
        text=job.task.text.strip(),
        failure=watched.stopped or _failure(job, watched.exit_code, product),
        exit_code=None if watched.stopped else watched.exit_code,
        product=product.name if product else "",
        seconds=round(watched.seconds, 3),
        settings=job.settings(),
    )
    result.write(ended, folder)
    return ended


def _build(job: Job, stopped: Path | None, stop: threading.Event | None, lock: int) -> Watched:
    folder, setting = job.folder, job.setting
    spent = Spent(folder)

    def reason_to_stop(seconds: float) -> str:
        if stop is not None and stop.is_set():
            return _INTERRUPTED
        if setting.seconds is not None and seconds > setting.seconds:
            return "time_budget"
        return "token_budget" if setting.tokens is not None and spent() > setting.tokens else ""

    workspace = folder
    if not job.arm.own:
        workspace = folder / _WORKSPACE
        shutil.rmtree(workspace, ignore_errors=True)
        workspace.mkdir()
        (workspace / PROMPT_FILE).write_text(job.task.text, encoding="utf-8")
    return watch(
        command_of(job.arm, job.task, setting, workspace, stopped),
        directory=Path.cwd() if job.arm.own else workspace,
        environment=environment_of(setting.base_url),
        log=folder / LOG,
        reason_to_stop=reason_to_stop,
        lock=lock,
    )


def _product(job: Job) -> Path | None:
    """The newest product of a run of the project's own that wrote a journal."""
    journals = sorted(job.folder.glob(f"*/{JOURNAL}"), key=lambda path: path.stat().st_mtime)
    return journals[-1].parent if job.arm.own and journals else None


def _failure(job: Job, code: int, product: Path | None) -> str:
    if job.arm.own:
        if code in _PRODUCT_MADE:
            return "" if product else "no_product"
        return _REFUSALS.get(code, "command_failed")
    if code:
        return "command_failed"
    made = product and any(path.name != PROMPT_FILE for path in product.iterdir())
    return "" if made else "no_product"
