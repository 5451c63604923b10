"""Make the index of the standard library and twenty installed packages, ask it, and say what that took.

    python benchmarks/retrieval.py

The packages are the twenty with the most Python files. Seconds are given twice: as the clock on the wall
says, and as the processor was busy with it, which is what an idle machine would need.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from importlib.metadata import distributions
from pathlib import Path
from statistics import median

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from retrieval.deadline import Deadline
from retrieval.documentation import Documentation

PACKAGES = 20
QUERIES = (
    "tkinter Canvas create_oval arguments",
    "argparse add_argument nargs",
    "how to read a csv file as dictionaries",
    "Python json.dump indent command-line list tasks keeps file",
    "TypeError: missing required positional argument sqlite3 execute",
)


def largest(count: int) -> tuple[str, ...]:
    """The names of the installed packages with the most Python files."""
    named = [item for item in distributions() if item.name]
    files = {item.name: sum(file.suffix == ".py" for file in item.files or ()) for item in named}
    return tuple(sorted(files.keys() - {"pip", "setuptools"}, key=lambda name: -files[name])[:count])


def milliseconds(documentation: Documentation, query: str) -> tuple[float, float]:
    """What one query takes, on the wall and of the processor."""
    wall, busy = time.perf_counter(), time.process_time()
    documentation.search(query, Deadline.after(60))
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - busy)


def main() -> None:
    """Measure and print one line for the index and one for the queries."""
    names = largest(PACKAGES)
    with tempfile.TemporaryDirectory() as folder:
        documentation = Documentation(Path(folder), only=names)
        wall, busy = time.perf_counter(), time.process_time()
        entries = len(documentation)
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6
        took = [milliseconds(documentation, query) for query in QUERIES * 20]
        first, _ = milliseconds(Documentation(Path(folder), only=names), QUERIES[0])
    print(f"standard library and {len(names)} packages ({', '.join(names)})")
    print(f"index of {entries:,} entries: {wall:.1f} s on the wall, {busy:.1f} s of the processor,", end=" ")
    print(f"{megabytes:.0f} MB of memory, {disk:.0f} MB on disk")
    wall, busy = (median(times) for times in zip(*took, strict=True))
    print(
        f"query, median: {wall:.1f} ms on the wall, {busy:.1f} ms of the processor; first of a run: {first:.0f} ms"
    )


if __name__ == "__main__":
    main()
