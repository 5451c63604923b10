"""`python -m chatdev validate PATH` checks company folders; anything else is the command `run.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from chatdev.cli import main
from chatdev.company import validate_folder


def validate(paths: list[str]) -> int:
    """Print what is wrong with the companies in `paths`. Returns 0 where nothing is, else 2."""
    if not paths or paths[0] in ("-h", "--help"):
        print("usage: python -m chatdev validate PATH…   a company folder, or a folder of such folders")
        return 0 if paths else 2
    problems = [problem for path in paths for problem in validate_folder(Path(path))]
    for problem in problems:
        print(problem)
    if not problems:
        print("All is well.")
    return 2 if problems else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    raise SystemExit(validate(arguments[1:]) if arguments[:1] == ["validate"] else main(arguments))
