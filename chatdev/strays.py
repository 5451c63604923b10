"""Files of a reply that are parts of a file the product has: named after what they hold, imported by nobody."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import PurePosixPath

from sandbox.completeness import definitions, python_tree


def at_home(reply: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The files of `reply`, each stray under the path of the file in `known` that it is a part of.

    A stray is a new Python file that no file imports and that defines nothing but what one known file
    defines: a `main.py` that has a function `add` gets the `add.py` of a reply as its new `add`.
    """
    homes: dict[str, str] = {}
    for path, text in reply.items():
        home = _home(path, text, reply, known)
        homes[home] = f"{homes[home]}\n\n{text}" if home in homes else text
    return homes


def _home(path: str, text: str, reply: Mapping[str, str], known: Mapping[str, str]) -> str:
    defined = _definitions(path, text)
    if path in known or not defined or _imported(path, {**known, **reply}):
        return path
    owners = [owner for owner, source in known.items() if defined <= _definitions(owner, source)]
    return owners[0] if len(owners) == 1 and owners[0] not in reply else path


def _definitions(path: str, text: str) -> set[str]:
    tree = python_tree(text) if path.endswith(".py") else None
    return definitions(tree) if tree else set()


def _imported(path: str, files: Mapping[str, str]) -> bool:
    module = PurePosixPath(path).stem
    for text in files.values():
        for node in ast.walk(python_tree(text) or ast.Module([], [])):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(alias.name for alias in node.names)]
            else:
                continue
            if any(module in name.split(".") for name in names):
                return True
    return False
