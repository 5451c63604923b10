"""Fit 100,000 answers and say what it took: seconds of this process and its greatest memory.

python benchmarks/fitting.py
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from calibration.labels import Group, Outcome, Response
from calibration.store import open_store

OUTCOMES: tuple[Outcome, ...] = ("correct", "correct", "incorrect", "unknown")
ANSWERS = 100_000


def answers() -> Iterator[Response]:
    """Answers of ten subtasks, each task with ten of them, u spread over 0 to 1."""
    groups = [Group(f"Subtask{n}", "model", "raw", "content-v1", "token-uncertainty") for n in range(10)]
    for n in range(ANSWERS):
        u = (n * 7919 % 9973) / 9973
        outcome = OUTCOMES[n // 10 % 4]
        yield Response(f"{n // 10:032}", n % 10, f"{n // 20:032}", f"{n:014}", groups[n % 10], u, outcome)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store.sqlite", create=True) as store:
        began = time.process_time()
        store.learn(answers(), "conformal", 0.1)
        seconds = time.process_time() - began
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{ANSWERS:,} answers: {seconds:.1f} s, {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
