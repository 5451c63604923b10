"""`python -m evaluation.behaviour PRODUCT --task NAME`: say what a product does of what its task asks."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import console
import sandbox
from evaluation.behaviour.runner import NotMeasurable, TaskResult, run_task, score
from evaluation.behaviour.suite import SHIPPED, SuiteError, Task, load_suite

BAD_ARGUMENTS, NOT_MEASURABLE = 2, 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.behaviour",
        description="Run the checks of a suite against finished products, in the sandbox.",
        epilog="Exit code: 0 measured, 2 bad arguments or suite, or no product, 3 the sandbox cannot start.",
    )
    parser.add_argument("product", type=Path, help="the product; with --all a folder with one product a task")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--task", metavar="NAME", help="the task of the suite that the product was made for")
    which.add_argument("--all", action="store_true", help="every task; its product is PRODUCT/NAME")
    parser.add_argument("--suite", type=Path, default=SHIPPED, help="default: the twelve tasks shipped")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--allow-unsandboxed",
        action="store_true",
        help="run without isolation: the program sees your files and the network",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    console.forgive()
    parser = _parser()
    options = parser.parse_args(arguments)
    isolated = not options.allow_unsandboxed
    try:
        tasks = {task.name: task for task in load_suite(options.suite)}
    except SuiteError as error:
        parser.error(str(error))
    if options.task is not None and options.task not in tasks:
        parser.error(f"--task {options.task}: there is no such task; there are {', '.join(tasks)}")
    if not options.product.is_dir():
        parser.error(f"{options.product}: there is no such folder")
    chosen: list[tuple[Task, Path]] = (
        [(task, options.product / name) for name, task in tasks.items()]
        if options.all
        else [(tasks[options.task], options.product)]
    )
    # A score of 0 would be a judgement on a product.
    if not any(_holds_something(product) for _, product in chosen):
        where = f"; wanted are folders called {', '.join(tasks)}" if options.all else ""
        parser.error(f"{options.product}: there is no product in it{where}")
    if isolated and (missing := sandbox.available()):
        return _refuse(missing.reason)
    try:
        results = [run_task(task, product, isolated=isolated) for task, product in chosen]
    except NotMeasurable as error:
        return _refuse(str(error))
    print(json.dumps([_to_json(result) for result in results], indent=1) if options.json else _report(results))
    return 0


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _refuse(reason: str) -> int:
    print(f"Nothing was measured: {reason}", file=sys.stderr)
    return NOT_MEASURABLE


def _report(results: Sequence[TaskResult]) -> str:
    lines = []
    for result in results:
        lines.append(f"{result.name:<24} {result.passed}/{len(result.results)}")
        lines += [f"    {check.title}: {check.why}" for check in result.results if not check.passed]
    whole = sum(result.whole for result in results)
    lines.append(f"score {score(results):.3f} over {len(results)} tasks; whole {whole}")
    return "\n".join(lines)


def _to_json(result: TaskResult) -> dict[str, object]:
    checks = [{"title": check.title, "passed": check.passed, "why": check.why} for check in result.results]
    return {"name": result.name, "passed": result.passed, "checks": len(checks), "results": checks}


if __name__ == "__main__":
    sys.exit(main())
