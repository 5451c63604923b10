"""One engine for all workers of a machine: two on one machine starve each other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evaluation.srdd import EvaluationError
from evaluation.srdd.arms import environment_of


@dataclass(frozen=True)
class Server:
    """What to give as --model and as --base-url."""

    model: str
    url: str


_ELSEWHERE = re.compile(r"openai:|scripted:|GPT_")


def is_embedded(model: str) -> bool:
    """Whether `model` needs an engine on this machine."""
    return not _ELSEWHERE.match(model)


@contextmanager
def served(model: str, slots: int) -> Iterator[Server]:
    """Serve the embedded `model` for `slots` conversations at once.

    Raises EvaluationError where it cannot be served.
    """
    if model.startswith("hf:"):
        raise EvaluationError("Each run would load the model; serve it, for --model openai:NAME --base-url URL.")
    with subprocess.Popen(
        [sys.executable, "-m", "camel.models.serve", model, f"--slots={slots}"],
        env=environment_of(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C ends the runs first, then this process closes the engine
    ) as process:
        assert process.stdin and process.stdout
        try:
            told = process.stdout.readline()
            if not told:
                raise EvaluationError(f"The model {model} cannot be served; the reason stands above.")
            server = json.loads(told)
            yield Server(f"openai:{server['name']}", server["url"])
        finally:
            process.stdin.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
