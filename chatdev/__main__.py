"""`python -m chatdev COMMAND`: what is there beside `run.py`. Without a command it is `run.py` itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import console
from chatdev.cli import main
from chatdev.company import examine_folder


def validate(paths: Sequence[str]) -> int:
    """Print what is wrong, or only odd, with the companies in `paths`. Returns 2 where something is wrong."""
    if not paths or paths[0] in ("-h", "--help"):
        print("usage: python -m chatdev validate PATH…   a company folder, or a folder of such folders")
        return 0 if paths else 2
    examined = [examine_folder(Path(path)) for path in paths]
    problems = [problem for wrong, _ in examined for problem in wrong]
    for problem in problems:
        print(problem)
    for warning in (warning for _, odd in examined for warning in odd):
        print(f"warning: {warning}")
    if not problems:
        print("All is well.")
    return 2 if problems else 0


def doctor(arguments: Sequence[str]) -> int:
    """Check whether a run would work here; see chatdev.doctor."""
    # The engines are imported only when they are asked for.
    from chatdev.doctor import main

    return main(arguments)


COMMANDS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    "validate": (validate, "check company folders"),
    "doctor": (doctor, "check that a run would work here, and what the model's log-probs mean"),
}


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that `arguments` begin with, or `run.py` with all of them. Returns the exit code."""
    console.forgive()
    if arguments and arguments[0] in COMMANDS:
        return COMMANDS[arguments[0]][0](arguments[1:])
    if list(arguments) in (["-h"], ["--help"]):
        print("usage: python -m chatdev COMMAND …\n")
        for name, (_, purpose) in COMMANDS.items():
            print(f"  {name:<10} {purpose}")
        print("\nAnything else is understood as by run.py: see python run.py --help.")
        return 0
    return main(arguments)


if __name__ == "__main__":
    raise SystemExit(dispatch(sys.argv[1:]))
