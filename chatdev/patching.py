"""A reply that holds only some functions of a file changes those functions and nothing else."""

from __future__ import annotations

import ast

from chatdev.completeness import python_tree

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def patched(old: str, new: str) -> str:
    """`new`, or `old` with the functions of `new` where `new` is a part of `old`.

    It is a part when it lacks the main guard that `old` has, and defines something that `old` defines.
    Definitions of one name are replaced where they stand; what is new comes before the first of them, and
    imports come first.
    """
    old_tree, new_tree = python_tree(old), python_tree(new)
    if old_tree is None or new_tree is None or not _guarded(old_tree) or _guarded(new_tree):
        return new
    known = {node.name: node for node in old_tree.body if isinstance(node, _Definition)}
    changed = [node for node in new_tree.body if isinstance(node, _Definition) and node.name in known]
    if not changed:
        return new
    imports, added, replaced = [], [], {}
    for node in new_tree.body:
        text = _source(new, node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(text)
        elif isinstance(node, _Definition) and node.name in known:
            replaced[node.name] = text
        elif not isinstance(node, ast.Expr):
            added.append(text)
    return _assembled(old, old_tree, imports, added, replaced)


def framed(frame: str, new: str) -> str:
    """`frame` with the functions of `new` in place of its stubs.

    Where `new` brings its own way to start although it fills every stub, the frame's way counts; where it
    leaves a stub out and starts by itself, it is taken as it is.
    """
    frame_tree, new_tree = python_tree(frame), python_tree(new)
    if frame_tree is None or new_tree is None:
        return new
    stubs = {node.name for node in frame_tree.body if isinstance(node, _Definition) and _is_stub(node)}
    if _guarded(new_tree) and stubs <= {node.name for node in new_tree.body if isinstance(node, _Definition)}:
        own = [node for node in new_tree.body if _is_guard(node) or getattr(node, "name", "") in ("run", "main")]
        lines = new.splitlines()
        for node in reversed(own):
            del lines[first_line(node) : node.end_lineno]
        new = "\n".join(lines) + "\n"
    return patched(frame, new)


def _is_stub(node: _Definition) -> bool:
    last = node.body[-1]
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is Ellipsis


def _assembled(old: str, tree: ast.Module, imports: list[str], added: list[str], replaced: dict[str, str]) -> str:
    lines = old.splitlines()
    edits = [
        (first_line(node), node.end_lineno or node.lineno, replaced[node.name])
        for node in tree.body
        if isinstance(node, _Definition) and node.name in replaced
    ]
    at = min(start for start, _, _ in edits)
    for start, end, text in reversed(edits):
        lines[start:end] = text.splitlines()
    if added:
        lines[at:at] = "\n\n\n".join([*added, ""]).splitlines()
    present = {line.strip() for line in lines}
    top = first_line(tree.body[1]) if ast.get_docstring(tree) and len(tree.body) > 1 else 0
    lines[top:top] = [line for line in imports if line not in present]
    return "\n".join(lines) + "\n"


def _guarded(tree: ast.Module) -> bool:
    return any(map(_is_guard, tree.body))


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _source(text: str, node: ast.stmt) -> str:
    return "\n".join(text.splitlines()[first_line(node) : node.end_lineno])


def first_line(node: ast.stmt) -> int:
    """The index of a statement's first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1
