"""Does the evaluation keep the engine busy? Its tokens a second, and those of bare streams in the same run.

    python benchmarks/generation.py --limit 8 --workers 4

Builds tasks with the evaluation's workers on one engine. Then the very requests that the journals hold are sent
to the same engine again by as many bare streams, which do nothing else. Prompt tokens that the engine evaluated
and tokens that it wrote count, cached ones do not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from arguments import at_least
from camel.messages import Message, Sampling, Usage
from camel.models.openai_api import Endpoint, OpenAIModel
from evaluation.behaviour import SuiteError
from evaluation.srdd import EvaluationError
from evaluation.srdd.arms import Arm, Setting, arm_of
from evaluation.srdd.generate import folder_of, generate, in_threads
from evaluation.srdd.job import Job, last_words
from evaluation.srdd.server import Server, served
from evaluation.srdd.tasks import OWN, Selection, Task, read_tasks, select
from journal import read
from journal.events import Answered
from journal.journal import FILE_NAME


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Compare the evaluation's tokens a second with bare streams.")
    parser.add_argument("--tasks", default=str(OWN), help="as for python -m evaluation.srdd generate")
    parser.add_argument("--limit", type=at_least(1), default=8)
    parser.add_argument("--arm", default="chatdev")
    parser.add_argument("--workers", type=at_least(1), default=4)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--base-url", help="a server that runs already; --model is openai:NAME then")
    options = parser.parse_args(arguments)
    try:
        tasks = select(read_tasks(options.tasks), Selection(limit=options.limit))
        _compare(options, arm_of(options.arm), tasks)
    except (EvaluationError, SuiteError) as error:
        parser.error(str(error))


def _compare(options: argparse.Namespace, arm: Arm, tasks: Sequence[Task]) -> None:
    """Build `tasks`, ask all of it again, and print both. Raises EvaluationError where nothing was answered."""
    there = nullcontext(Server(options.model, options.base_url)) if options.base_url else None
    with tempfile.TemporaryDirectory() as scratch, there or served(options.model, options.workers) as server:
        setting = Setting(options.model, server.url, served_as=server.model)
        jobs = [Job(Path(scratch), arm, task, setting) for task in tasks]
        began = time.monotonic()
        ended = generate(jobs, in_threads(options.workers), options.workers, _say)
        seconds = time.monotonic() - began
        asked = [
            event
            for path in Path(scratch).glob(f"*/*/*/{FILE_NAME}")
            for event in read(path)
            if isinstance(event, Answered)
        ]
        if not asked:
            raise EvaluationError(f"The model answered nothing: {last_words(folder_of(jobs, ended[-1]))}")
        evaluation = _rate([Usage(**event.usage) for event in asked], seconds)
        bare = _replay(asked, server, options.workers)
    print(f"{len(asked)} requests, {options.workers} at a time")
    print(f"evaluation: {evaluation:.1f} tokens a second; bare streams: {bare:.1f}; share {evaluation / bare:.1%}")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _replay(asked: Sequence[Answered], server: Server, streams: int) -> float:
    model = OpenAIModel(server.model.removeprefix("openai:"), Endpoint(server.url, timeout=4 * 3600.0))

    def again(event: Answered) -> Usage:
        messages: list[Any] = event.messages
        asked = [Message(**message) for message in messages]
        return model.answer(asked, Sampling(**event.sampling))[0].usage

    began = time.monotonic()
    with ThreadPoolExecutor(streams) as pool:
        usages = list(pool.map(again, asked))
    model.close()
    return _rate(usages, time.monotonic() - began)


def _rate(usages: Sequence[Usage], seconds: float) -> float:
    tokens = sum(usage.prompt_tokens - usage.cached_tokens + usage.completion_tokens for usage in usages)
    return tokens / seconds


if __name__ == "__main__":
    main()
