"""Runs a program nobody trusts, and says honestly whether it works.

`run` executes one command in one directory: no network, no secrets, a read-only system, limits on time,
memory, processes, file size and output. `run_program` judges a product with it. Stands alone: imports
nothing of the project.
"""

from sandbox.confinement import Unavailable
from sandbox.execution import Execution, Limits, available, run
from sandbox.judge import Verdict, run_program
from sandbox.scratch import IGNORED, scratch_copy

__all__ = [
    "IGNORED",
    "Execution",
    "Limits",
    "Unavailable",
    "Verdict",
    "available",
    "run",
    "run_program",
    "scratch_copy",
]
