"""Calls of a function that a text shows, in doctest lines or in prose; no expected result is read.

`f([1, 2], 3)` is found wherever it stands; else `numbers = [1, 2], k = 3` where all parameters are given so, and
`Input: 3` for a single one.
Only literals count: nothing of the text is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

_LONGEST = 2000


def example_calls(text: str, function: str, parameters: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the arguments of each call of `function` in `text` as Python writes them, none twice."""
    found = list(_calls(text, function))
    if not found and parameters:
        given = [list(_values(text, name)) for name in parameters]
        found = [", ".join(values) for values in zip(*given, strict=False)]
        if not found and len(parameters) == 1:
            found = list(_values(text, "Input"))
    return tuple(dict.fromkeys(found))


def positional(arguments: str) -> tuple[Any, ...] | None:
    """Return the values of an argument list of literals, None where one of them is named."""
    call = ast.parse(f"f({arguments})", mode="eval").body
    if not isinstance(call, ast.Call) or call.keywords:
        return None
    return tuple(map(ast.literal_eval, call.args))


def _calls(text: str, function: str) -> Iterator[str]:
    for match in re.finditer(rf"(?<![\w.])(?<!def ){re.escape(function)}\(", text):
        end = match.end()
        while (end := text.find(")", end, match.start() + _LONGEST) + 1) > 0:
            try:
                call = ast.parse(text[match.start() : end], mode="eval").body
            except (SyntaxError, ValueError):
                continue
            if isinstance(call, ast.Call) and call.args + call.keywords and _literal(call):
                yield ", ".join([*map(ast.unparse, call.args), *map(ast.unparse, call.keywords)])
            break


def _literal(call: ast.Call) -> bool:
    return all(map(_value, [*call.args, *(keyword.value for keyword in call.keywords)]))


def _value(node: ast.AST) -> bool:
    try:
        ast.literal_eval(ast.unparse(node))
    except (ValueError, SyntaxError, TypeError):
        return False
    return True


def _values(text: str, name: str) -> Iterator[str]:
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}\s*[=:](?!=)\s*", text):
        line = text[match.end() : match.end() + _LONGEST].partition("\n")[0]
        for end in range(len(line), 0, -1):
            if line[end - 1] in "])}'\"" or line[end - 1].isalnum():
                try:
                    value = ast.literal_eval(line[:end])
                except (ValueError, SyntaxError, TypeError):
                    continue
                # "N = 147, 150" are two sentences' numbers, not a pair.
                if not isinstance(value, tuple) or line.startswith("("):
                    yield repr(value)
                    break
