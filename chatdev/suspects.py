"""Which function is to blame when an acceptance run does not show what was written down."""

from __future__ import annotations

from collections.abc import Sequence

from chatdev.acceptance import AcceptanceRun
from chatdev.checkpoint import Verdict
from chatdev.command_line import CommandLine
from chatdev.frame import function_name
from sandbox.completeness import definitions, python_tree


def suspects(
    line: CommandLine | None, source: str, runs: Sequence[AcceptanceRun], verdict: Verdict
) -> dict[str, list[str]]:
    """The functions of `source` that do the commands of failing runs, each with the lines of those runs.

    None where the program is called without commands, or where it is broken as a whole.
    """
    tree = python_tree(source)
    if line is None or tree is None or verdict.broken:
        return {}
    known = definitions(tree)
    wrong = {result.line for result in verdict.results if result.points < 2}
    found: dict[str, list[str]] = {}
    for run in runs:
        function = function_name("".join(run.arguments[len(line.leading) :][:1]))
        if run.line in wrong and function in known:
            found.setdefault(function, []).append(run.line)
    return found
