"""Imports of standard modules that a program uses and forgot: no reason to ask a model again."""

from __future__ import annotations

import ast
import builtins
import sys

from chatdev.patching import first_statement, source_lines
from sandbox.completeness import python_tree

# Importing them does something, and `this` is meant as `self`.
_ACTING = frozenset(["this", "antigravity"])


def with_missing_imports(source: str) -> tuple[str, tuple[str, ...]]:
    """`source` with an import for each standard module it uses as `module.name` and never binds.

    Returns the modules added as well. Source that does not parse comes back as it is.
    """
    tree = python_tree(source)
    if tree is None:
        return source, ()
    used = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    candidates = (used & sys.stdlib_module_names) - set(dir(builtins)) - _ACTING
    missing = sorted(candidates - _bound(tree)) if candidates else []
    if not missing:
        return source, ()
    lines, at = source_lines(source), first_statement(tree)
    lines[at:at] = [f"import {name}" for name in missing]
    return "\n".join(lines) + "\n", tuple(missing)


def _bound(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.add(node.name)
    return names
