"""`python -m sandbox DIR [-- ARGS…]`: say whether the program in DIR runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import console
from arguments import between
from sandbox.execution import DEFAULT_LIMITS, Limits
from sandbox.judge import run_program

_LONGEST = 86_400
_EXIT_CODES = {"runs": 0, "fails": 1, "not_verifiable": 3}


def main(argv: list[str] | None = None) -> int:
    """Print the verdict on one product. Returns 0 it runs, 1 it fails, 3 this machine cannot tell."""
    console.forgive()
    parser = argparse.ArgumentParser(
        prog="python -m sandbox",
        description="Run a Python program nobody trusts and say whether it works.",
        epilog="Exit code: 0 it runs, 1 it fails, 2 bad arguments, 3 this machine cannot tell.",
    )
    parser.add_argument("directory", type=Path, help="the product; it is copied, never changed")
    parser.add_argument("arguments", nargs="*", help="arguments for the program, after --")
    parser.add_argument("--entry", default="main.py", help="the file to start (default: %(default)s)")
    parser.add_argument(
        "--seconds",
        type=between(0, _LONGEST),
        default=DEFAULT_LIMITS.wall_seconds,
        help="how long it may run",
    )
    parser.add_argument(
        "--allow-unsandboxed",
        action="store_true",
        help="run without isolation: the program sees your files and the network",
    )
    options = parser.parse_args(argv)
    if not options.directory.is_dir():
        parser.error(f"{options.directory} is not a directory")
    if options.allow_unsandboxed:
        print("Warning: running without isolation, with your rights.", file=sys.stderr)
    verdict = run_program(
        options.directory,
        options.entry,
        options.arguments,
        limits=Limits(wall_seconds=options.seconds),
        isolated=not options.allow_unsandboxed,
    )
    print(f"{verdict.status.replace('_', ' ')}: {verdict.reason}")
    if verdict.execution is not None:
        for name, text in (("stdout", verdict.execution.stdout), ("stderr", verdict.execution.stderr)):
            if text:
                print(f"--- {name} ---\n{text.rstrip()}")
    return _EXIT_CODES[verdict.status]


if __name__ == "__main__":
    sys.exit(main())
