"""Tasks x arms -> one product folder each, several at a time, on this machine or on a cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from typing import Any

from evaluation.srdd import EvaluationError, result
from evaluation.srdd.job import RETRIED, Job, last_words, run_job
from evaluation.srdd.result import Result

Workers = Callable[[Sequence[Job]], Generator[Result | None, None, None]]
"""Runs jobs and gives their results as they come."""

_HOPELESS = 3  # failures in a row that say nothing of the task, after which nothing better is to be expected


class Stopped(EvaluationError):
    """The evaluation ended early; what was done stays done, and the same command goes on."""


def pending(jobs: Sequence[Job]) -> list[Job]:
    """The jobs that have not ended yet. Raises EvaluationError where one did with other settings."""
    waiting = []
    for job in jobs:
        known = result.read(job.folder)
        if known and (known.text, known.settings) != (job.task.text.strip(), job.settings()):
            wanted = {"text": job.task.text.strip(), **job.settings()}
            there = {"text": known.text, **known.settings}
            name = next(key for key in wanted | there if wanted.get(key) != there.get(key))
            raise EvaluationError(
                f"{job.folder} was made with other settings ({name} was {there.get(name)!r}, is "
                f"{wanted.get(name)!r}); choose another --out, or the settings of then."
            )
        if known is None or known.failure in RETRIED:
            waiting.append(job)
    return waiting


def generate(jobs: Sequence[Job], workers: Workers, at_once: int, say: Callable[[str], None]) -> list[Result]:
    """Run `jobs`, telling of each with an estimate of the time left; `at_once` are running at a time.

    Raises Stopped where nothing better is to be expected.
    """
    began, ended, hopeless = time.monotonic(), list[Result](), 0
    with closing(workers(jobs)) as results:
        for one in results:
            if one is None:
                continue
            ended.append(one)
            left = (time.monotonic() - began) / len(ended) * (len(jobs) - len(ended))
            say(f"[{len(ended)}/{len(jobs)}] {_told(one)}; {_about(left)} left")
            hopeless = hopeless + 1 if one.failure in RETRIED else 0
            if hopeless == max(_HOPELESS, at_once):
                said = last_words(folder_of(jobs, one))
                raise Stopped(f"{hopeless} runs in a row failed with {one.failure}: {said}")
    return ended


def in_threads(at_once: int) -> Workers:
    """Runs `at_once` jobs at a time on this machine; what runs when it is left is stopped."""

    def workers(jobs: Sequence[Job]) -> Generator[Result | None, None, None]:
        stop = threading.Event()
        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(run_job, job, stop) for job in jobs]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)

    return workers


def on_cluster(address: str) -> Workers:
    """Hands jobs to the Dask cluster whose scheduler is at `address`. Raises Stopped when it goes away."""
    try:
        import distributed
    except ImportError as error:
        raise EvaluationError("--scheduler needs pip install -r requirements-evaluation.txt") from error

    def connected() -> Any:
        try:
            return distributed.Client(address, timeout="30s")
        except ValueError as error:
            raise EvaluationError(f"--scheduler {address}: {error}.") from error

    def workers(jobs: Sequence[Job]) -> Generator[Result | None, None, None]:
        try:
            with connected() as client:
                futures = client.map(run_job, jobs, pure=False, retries=0)
                for future in distributed.as_completed(futures):
                    yield future.result()
        except (OSError, TimeoutError, distributed.CancelledError, distributed.KilledWorker) as error:
            raise Stopped(
                f"The scheduler at {address} cannot be reached any more ({error or type(error).__name__})"
            ) from error

    return workers


def _told(one: Result) -> str:
    return f"{one.arm} {one.task}: {one.failure or f'exit code {one.exit_code}'}, {one.seconds:.0f} s"


def _about(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"about {minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"about {minutes} min"


def folder_of(jobs: Sequence[Job], one: Result) -> Path:
    """The folder of the job that ended with the result `one`."""
    return next(job.folder for job in jobs if (job.arm.name, job.task.id) == (one.arm, one.task))
