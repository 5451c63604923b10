"""A reply that holds only some functions of a file changes those functions and nothing else."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Sequence

from sandbox.completeness import definitions, python_tree, stub_functions

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def patched(old: str, new: str, *, part: bool = False) -> str:
    """`new`, or `old` with the functions of `new` where `new` is a part of `old`.

    It is a part when it defines something that `old` defines and does not start by itself, as `old` does.
    Where parts were asked for (`part`), `old` need not start either, but `new` must leave something out.
    Definitions of one name are replaced where they stand. What is new comes after the one it follows in
    `new`, or before them all; imports come first.
    """
    old_tree, new_tree = python_tree(old), python_tree(new)
    if old_tree is None or new_tree is None:
        return new
    if not _guarded(old_tree) and not (part and definitions(old_tree) - definitions(new_tree)):
        return new
    methods = _lone_methods(old_tree, new_tree)
    if methods:
        whole, rest = _with_methods(old, new, methods), _without(new, [method for method, _ in methods])
        # With nothing but examples left, all has been said.
        rest_tree = python_tree(rest)
        said = rest_tree is None or all(map(_is_example, rest_tree.body))
        return whole if said else patched(whole, rest, part=part)
    if not new_tree.body:
        return old
    known = definitions(old_tree)
    if not known & definitions(new_tree) or _starts(new_tree, definitions(new_tree) - known):
        return new
    imports: list[str] = []
    texts: dict[str, list[str]] = {"": []}
    place = ""
    for node in new_tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(source_of(new, node))
        elif not isinstance(node, ast.Expr):
            name = getattr(node, "name", "")
            place = name if name in known else place
            texts.setdefault(place, []).append(source_of(new, node))
    return _assembled(old, old_tree, imports, texts)


def _is_example(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr)


def _lone_methods(old: ast.Module, new: ast.Module) -> list[tuple[_Function, _Function]]:
    """Functions of `new` that are methods without their class, each with the one it stands for in `old`."""
    methods = [
        method
        for owner in old.body
        if isinstance(owner, ast.ClassDef)
        for method in owner.body
        if isinstance(method, _Function)
    ]
    found = []
    for node in new.body:
        if isinstance(node, _Function) and [arg.arg for arg in node.args.args[:1]] == ["self"]:
            same = [method for method in methods if method.name == node.name]
            if len(same) == 1:
                found.append((node, same[0]))
    return found


def _with_methods(old: str, new: str, methods: Sequence[tuple[_Function, _Function]]) -> str:
    lines = source_lines(old)
    for node, method in sorted(methods, key=lambda pair: -pair[1].lineno):
        text = textwrap.indent(source_of(new, node), " " * method.col_offset)
        lines[first_line(method) : method.end_lineno] = source_lines(text)
    return "\n".join(lines) + "\n"


def _without(text: str, nodes: Sequence[ast.stmt]) -> str:
    lines = source_lines(text)
    for node in reversed(nodes):
        del lines[first_line(node) : node.end_lineno]
    return "\n".join(lines) + "\n"


def definition(text: str, name: str) -> str:
    """The source of the function or class `name` at the top of `text`; empty where there is none."""
    tree = python_tree(text)
    nodes = [node for node in tree.body if isinstance(node, _Definition) and node.name == name] if tree else []
    return source_of(text, nodes[-1]) if nodes else ""


def emptied(text: str) -> str:
    """`text` with `...` for the body of each function that is a stub, without the remarks that excuse it.

    What a model sees, it copies: shown `pass` under a remark, it writes `pass` under a remark. Docstrings stay.
    """
    lines = source_lines(text)
    stubs = {line for line, _, _ in stub_functions(text)}
    nodes = [node for node in ast.walk(python_tree(text) or ast.Module([], [])) if isinstance(node, _Function)]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        start = _after_docstring(node)
        if node.lineno not in stubs or start < node.lineno:
            continue
        while lines[start - 1].lstrip().startswith("#"):
            start -= 1
        lines[start : node.end_lineno] = [f"{' ' * node.body[0].col_offset}..."]
    return "\n".join(lines) + "\n"


def _after_docstring(node: _Function) -> int:
    """The index of the line in which the body begins, but for a docstring."""
    has = ast.get_docstring(node, clean=False) is not None
    if has and len(node.body) == 1:
        return node.end_lineno or 0
    return node.body[has].lineno - 1


def framed(frame: str, new: str) -> str:
    """`frame` with the functions of `new` in place of its stubs.

    Where `new` brings its own way to start although it fills every stub, the frame's way counts; where it
    leaves a stub out, or gives it other parameters, and starts by itself, it is taken as it is.
    """
    frame_tree, new_tree = python_tree(frame), python_tree(new)
    if frame_tree is None or new_tree is None:
        return new
    stubs = {_signature(node) for node in frame_tree.body if _is_stub(node)}
    if _guarded(new_tree) and stubs <= {_signature(node) for node in new_tree.body}:
        own = [node for node in new_tree.body if _is_guard(node) or getattr(node, "name", "") in ("run", "main")]
        new = _without(new, own)
    return patched(frame, new)


def _signature(node: ast.stmt) -> tuple[str, int]:
    """What code that calls a function relies on: its name, and how many arguments it takes."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name, len(node.args.args)
    return "", 0


def _is_stub(node: ast.stmt) -> bool:
    if not isinstance(node, _Definition):
        return False
    last = node.body[-1]
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is Ellipsis


def _assembled(old: str, tree: ast.Module, imports: list[str], texts: dict[str, list[str]]) -> str:
    """`old` with each definition replaced by the `texts` under its name, those under "" before the first."""
    lines = source_lines(old)
    nodes = [node for node in tree.body if isinstance(node, _Definition) and node.name in texts]
    for place, node in reversed(list(enumerate(nodes))):
        repeated = any(other.name == node.name for other in nodes[:place])
        text = [*([] if place else texts[""]), *([] if repeated else texts[node.name])]
        lines[first_line(node) : node.end_lineno] = source_lines("\n\n\n".join(text))
    present = {line.strip() for line in lines}
    top = first_statement(tree)
    lines[top:top] = [line for line in dict.fromkeys(imports) if line not in present]
    return "\n".join(lines) + "\n"


def _starts(tree: ast.Module, own: Collection[str]) -> bool:
    """Whether code outside functions starts a program: a main guard, a call of one of its `own`, or input."""
    for node in tree.body:
        inner = list(ast.walk(node))
        names = {name.id for name in inner if isinstance(name, ast.Name)}
        read = {attribute.attr for attribute in inner if isinstance(attribute, ast.Attribute)} | names
        if isinstance(node, ast.Expr):
            # An example of how a function is used is mostly printed.
            starts = not names.isdisjoint(own) and "print" not in names
        else:
            starts = not isinstance(node, _Definition) and not read.isdisjoint(("argv", "stdin", "input"))
        if starts or _is_guard(node):
            return True
    return False


def _guarded(tree: ast.Module) -> bool:
    return any(map(_is_guard, tree.body))


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def source_of(text: str, node: ast.stmt) -> str:
    """The lines of `text` in which a statement stands, decorators included."""
    return "\n".join(source_lines(text)[first_line(node) : node.end_lineno])


def source_lines(text: str) -> list[str]:
    """The lines that a syntax tree counts: a form feed, among others, ends none."""
    return text.removesuffix("\n").split("\n")


def first_line(node: ast.stmt) -> int:
    """The index of a statement's first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def first_statement(tree: ast.Module) -> int:
    """How many lines stand before the first statement that is neither docstring nor a __future__ import."""
    above = 0
    for place, node in enumerate(tree.body):
        docstring = place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not docstring and not future:
            return max(above, first_line(node))
        above = node.end_lineno or above
    return above
