"""Does a program do what its task asks? Tasks with checks that the company never sees.

`load_suite` reads the tasks, `run_task` runs the checks of one against a finished product in the sandbox.
"""

from evaluation.behaviour.runner import NotMeasurable, TaskResult, run_task
from evaluation.behaviour.suite import SHIPPED, SuiteError, Task, load_suite

__all__ = ["SHIPPED", "NotMeasurable", "SuiteError", "Task", "TaskResult", "load_suite", "run_task"]
