"""How fast products are scored in strict mode, and with how much memory.

    python benchmarks/scoring.py

Makes products of the kinds that come up (a fifth each: one that ends, one that asks, one that crashes, one that
is unfinished, one that runs until it is stopped), and scores a quarter of them, then all. `in programs` is the
share of the workers' time in which the sandbox was at work: starting and running programs.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sandbox
from arguments import at_least
from evaluation.srdd.scoring import Scoring, items_in, score_all

_FILLER = "".join(f"def step_{number}(value):\n    return value + {number}\n\n\n" for number in range(80))
_KINDS = (
    "print(step_1(1))\n",
    "while True:\n    print(step_2(int(input())))\n",
    "print(step_3('3'))\n",
    "def step_last(value):\n    pass\n\n\nprint(step_4(4))\n",
    "import time\n\nwhile True:\n    time.sleep(0.1)\n",
)


class Clock:
    """Adds up the time spent in the sandbox."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._run = sandbox.run_program

    def run_program(self, *arguments: Any, **options: Any) -> sandbox.Verdict:
        began = time.monotonic()
        verdict = self._run(*arguments, **options)
        self.seconds += time.monotonic() - began
        return verdict


def _make(folder: Path, count: int) -> None:
    for number in range(count):
        product = folder / f"product_{number:03}"
        product.mkdir(parents=True)
        (product / "product.prompt").write_text(f"Add {number} and show the sum.")
        (product / "main.py").write_text(_FILLER + _KINDS[number % len(_KINDS)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Time the strict scoring of hand-made products.")
    parser.add_argument("--products", type=at_least(4), default=100, help="a quarter of them are scored first")
    parser.add_argument("--workers", type=at_least(1), default=4)
    options = parser.parse_args(arguments)
    clock = Clock()
    sandbox.run_program = clock.run_program
    scoring = Scoring(modes=("strict",), suite={}, seconds=10)
    with tempfile.TemporaryDirectory(prefix="scoring-") as scratch:
        for count in (options.products // 4, options.products):
            warehouse, clock.seconds = Path(scratch) / str(count), 0.0
            _make(warehouse, count)
            items, _ = items_in(warehouse)
            began = time.monotonic()
            path = warehouse / "scores.jsonl"
            scores = list(score_all(items, scoring, None, workers=options.workers, path=path, say=print))
            seconds = time.monotonic() - began
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            works = sum(not score.failure for score in scores)
            print(
                f"{count} products, {works} of them work: {seconds:.1f} s, "
                f"{clock.seconds / seconds / options.workers:.0%} of it in programs, {memory:.0f} MB at most"
            )


if __name__ == "__main__":
    main()
