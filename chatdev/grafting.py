"""One program out of several drafts: functions that go wrong give way to those of the same name in other drafts.

Drafts of one frame divide the work in the same way, and each gets other functions right. What a combination is
worth is seen by running it; it costs no token.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from itertools import product

from chatdev.checkpoint import Verdict
from chatdev.missing_imports import with_missing_imports
from chatdev.patching import patched, source_of
from sandbox.completeness import python_tree

Trial = Callable[[str], Verdict]
"""The verdict on a program with this main.py."""

Weak = Callable[[str, Verdict], Iterable[str]]
"""The functions of a main.py, checked with this verdict, that another draft may have got right."""

_MOST_TRIALS = 30


def combined(drafts: Sequence[str], base: int, trial: Trial, weak: Weak) -> tuple[str, dict[str, int]]:
    """`drafts[base]`, a main.py, with functions of the others wherever that makes the program rank higher.

    Returns it with the functions that were taken, each with the number of the draft it is from. One function is
    exchanged at a time, as long as that helps, with at most 30 trials.
    """
    best, taken = drafts[base], dict[str, int]()
    verdict = trial(best)
    tried = {best}
    improves = True
    while improves and len(tried) <= _MOST_TRIALS:
        improves = False
        for function, number in product(weak(best, verdict), range(len(drafts))):
            program = grafted(best, drafts[number], function)
            if program in tried or len(tried) > _MOST_TRIALS:
                continue
            tried.add(program)
            attempt = trial(program)
            if _merit(attempt) > _merit(verdict):
                best, verdict, improves = program, attempt, True
                taken[function] = number
    return best, taken


def grafted(program: str, donor: str, function: str) -> str:
    """`program` with `function` as `donor` has it, and with what of `donor` that needs and `program` lacks.

    Both are source texts; `program` comes back as it is where `donor` has no such function.
    """
    known, offered = _parts(program), _parts(donor)
    if function not in offered:
        return program
    needed, new = [function], [function]
    while new:
        names = _names(offered[new.pop()])
        found = [name for name in offered if name in names - known.keys() and name not in needed]
        needed += found
        new += found
    # A name assigned along with another comes with the same statement.
    parts = dict.fromkeys(offered[name] for name in reversed(needed))
    return with_missing_imports(patched(program, "\n\n\n".join(parts) + "\n"))[0]


def _parts(source: str) -> dict[str, str]:
    """The source of what a module defines, imports and assigns at its top level, by name."""
    tree = python_tree(source)
    parts = {}
    for node in tree.body if tree else []:
        parts.update(dict.fromkeys(_bound(node), source_of(source, node)))
    return parts


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement gives a meaning; `known["a"] = 1` gives `known` none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        inner = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        return [name.id for name in inner if isinstance(name.ctx, ast.Store)]
    return []


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(python_tree(source) or ast.Module([], [])) if isinstance(node, ast.Name)}


def _merit(verdict: Verdict) -> tuple[float, ...]:
    return (verdict.works, *verdict.rank[:2], *verdict.shown, -len(verdict.missing))
