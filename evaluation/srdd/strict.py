"""What a user would say of a product: is it all there, and does it run?"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import sandbox
from evaluation.behaviour import Task, TaskResult
from sandbox.completeness import syntax_errors, undefined_local_imports, unimplemented


def is_complete(files: Mapping[str, str]) -> bool:
    """Whether every file parses, no module is missing, and nothing is left unimplemented or put off."""
    return not (*syntax_errors(files), *undefined_local_imports(files), *unimplemented(files))


def failure_to_run(folder: Path, files: Mapping[str, str], *, seconds: float = 10, isolated: bool = True) -> str:
    """Why main.py in `folder` does not run, "" where it does.

    `no_entry_point`, `syntax`, `missing_module`, `crash`, `killed` (by a signal), `timeout` (a traceback, then
    no end within `seconds`), or `not_verifiable`: this machine cannot tell.
    """
    if "main.py" not in files:
        return "no_entry_point"
    if syntax_errors(files):
        return "syntax"
    limits = sandbox.Limits(wall_seconds=seconds, cpu_seconds=int(seconds) + 1)
    verdict = sandbox.run_program(folder, limits=limits, isolated=isolated)
    if verdict.status != "fails":
        return "" if verdict.status == "runs" else verdict.status
    return _ending(verdict.execution)


def ended_well(task: Task, result: TaskResult) -> bool:
    """Whether a check was passed in which the program had to end with exit code 0.

    Without its arguments a good program may well end with an error.
    """
    pairs = zip(task.checks, result.results, strict=True)
    return any(checked.passed and any(step.exit == 0 for step in check.steps) for check, checked in pairs)


def without_comments(source: str) -> str:
    """Python code without comments and docstrings, which repeat the task in words."""
    try:
        return ast.unparse(_without_docstrings(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n".join(line for line in source.splitlines() if not line.lstrip().startswith("#"))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            said = [part for part in node.body if not _is_text(part)]
            node.body = said or [ast.Pass()] * (node is not tree)
    return tree


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )


def _ending(execution: sandbox.Execution | None) -> str:
    if execution is None:
        return "crash"
    if execution.timed_out:
        return "timeout"
    if execution.signal is not None:
        return "killed"
    last = execution.stderr.strip().rpartition("\n")[2]
    return "missing_module" if last.startswith("ModuleNotFoundError") else "crash"
