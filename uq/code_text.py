"""The code in an answer, and the function that a task asks for."""

from __future__ import annotations

import ast
import re
import textwrap

_FENCED = re.compile(r"^[ \t]*(?:```|~~~)[\w+.-]*[ \t]*\n(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.M | re.S)
_DEFINED = re.compile(r"^(?:async )?def (\w+)\(", re.M)

_IDLE = ast.Name | ast.Constant | ast.Tuple | ast.Attribute | ast.Compare | ast.UnaryOp | ast.BinOp

Function = ast.FunctionDef | ast.AsyncFunctionDef


def code_in(text: str) -> str:
    """Return the longest fenced block of `text`, one that is cut off included; all of it where none is fenced.

    Without a fence only Python is told from prose: of a text that is neither nothing is returned.
    """
    fenced = max(_FENCED.findall(text), key=len, default=None)
    if fenced is None:
        fenced = text if _is_python(text) else ""
    return fenced.strip("\n") + "\n"


def _is_python(text: str) -> bool:
    """Whether `text` is Python that does something; "Sorry" is a name, which does nothing."""
    try:
        body = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError):
        return False
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, _IDLE)) for node in body)


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
