"""Names that a program reads and never binds: the statement that reads one ends in a NameError."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache

from pyflakes import messages
from pyflakes.checker import Checker

from sandbox.completeness import Finding, python_tree

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_UNBOUND = (messages.UndefinedName, messages.UndefinedLocal)


def undefined_names(files: Mapping[str, str]) -> tuple[Finding, ...]:
    """A finding for each name that a function, or the top, of a Python file reads without it being bound.

    `name` is the function or class at the top level that reads it; empty outside of them. A file that does
    not parse, or that imports names by a star, has none.
    """
    found = (
        Finding(path, *place) for path, text in files.items() if path.endswith(".py") for place in _unbound(text)
    )
    return tuple(found)


@lru_cache(maxsize=1024)
def _unbound(text: str) -> tuple[tuple[int, str, str], ...]:
    tree = python_tree(text)
    if tree is None:
        return ()
    read = {
        (_owner(tree, message.lineno), message.message_args[0]): message.lineno
        for message in reversed(Checker(tree).messages)
        if isinstance(message, _UNBOUND)
    }
    places = sorted((line, owner, name) for (owner, name), line in read.items())
    return tuple((line, owner, f"`{name}` is read and was never given a value") for line, owner, name in places)


def _owner(tree: ast.Module, line: int) -> str:
    """The name of the function or class at the top of `tree` that `line` is in."""
    definitions = (node for node in tree.body if isinstance(node, _Definition))
    return next((one.name for one in definitions if one.lineno <= line <= (one.end_lineno or 0)), "")
