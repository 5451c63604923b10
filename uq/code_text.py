"""The code in an answer, and the function that a task asks for."""

from __future__ import annotations

import ast
import re

_FENCED = re.compile(r"^[ \t]*(?:```|~~~)[\w+.-]*[ \t]*\n(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.M | re.S)
_DEFINED = re.compile(r"^(?:async )?def (\w+)\(", re.M)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def code_in(text: str) -> str:
    """Return the longest fenced block of `text`, one that is cut off included; all of it where none is fenced."""
    return max(_FENCED.findall(text), key=len, default=text).strip("\n") + "\n"


def function_named_in(*sources: str) -> str:
    """Return the name of the last function at top level of the first source that has one, "" for none.

    Give the task first: what the answer defines besides is its own affair.
    """
    names = (_DEFINED.findall(source) for source in sources)
    return next((found[-1] for found in names if found), "")


def signature(name: str, *sources: str) -> ast.arguments | None:
    """Return the parameters of function `name` in the first source that is Python and defines it."""
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        for node in tree.body:
            if isinstance(node, Function) and node.name == name:
                return node.args
    return None
