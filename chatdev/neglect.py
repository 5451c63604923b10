"""What a function of the frame neglects: to read an argument, to save a change, to print what it must."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from chatdev.command_line import CommandLine
from chatdev.frame import argument_names, printing_functions
from sandbox.completeness import Finding, python_tree

_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_CHANGES = frozenset(["append", "extend", "insert", "remove", "pop", "popitem", "update", "clear", "setdefault"])


def neglected(line: CommandLine | None, source: str) -> tuple[Finding, ...]:
    """Findings in the functions of `source`, a main.py made from the frame of `line`; none without a frame.

    That an argument is never read, whichever function it was handed to, cannot be what the task asks for;
    an option may well not concern a command.
    """
    tree = python_tree(source)
    if line is None or tree is None:
        return ()
    given, printing = argument_names(line), printing_functions(line)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    showing = _showing(functions)
    found = [
        Finding("main.py", node.lineno, node.name, why)
        for node in functions
        if node.name in given
        for why in _reasons(node, given[node.name], node.name not in printing or node.name in showing)
    ]
    return tuple(found)


def _showing(functions: Sequence[ast.FunctionDef]) -> set[str]:
    """Names of the functions that print or return something, or call one that prints."""
    called = {
        node.name: {name.id for name in ast.walk(node) if isinstance(name, ast.Name)} for node in functions
    } | {"print": set(), "sys": set()}
    prints = {"print", "sys"}  # sys.stdout.write
    while more := {name for name, names in called.items() if names & prints} - prints:
        prints |= more
    returns = {node.name for node in functions for inner in ast.walk(node) if _returns_something(inner)}
    return prints | returns


def _returns_something(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) and node.value is not None


def _reasons(function: ast.FunctionDef, arguments: tuple[str, ...], shows: bool) -> Iterator[str]:
    if not shows:
        yield "prints nothing"
    inner = list(ast.walk(function))
    names = {node.id for node in inner if isinstance(node, ast.Name)}
    parameters = {argument.arg for argument in function.args.args}
    for name in (each for each in arguments if each in parameters):
        use = _first_use(function.body, name)
        if use != "read":
            yield f"`{name}` is {'never used' if use is None else 'overwritten before it is read'}"
    if "load" in names and "save" not in names and _loaded(inner) & set(_changed(inner)):
        yield "what it changes is never saved"


def _first_use(nodes: Iterable[ast.AST], name: str) -> str | None:
    """What happens to the variable `name` first as `nodes` run: `read`, `overwritten`, or None for nothing.

    Where that depends on which branch is taken, it is read.
    """
    return next(filter(None, (_use(node, name) for node in nodes)), None)


def _use(node: ast.AST, name: str) -> str | None:
    if isinstance(node, ast.Name):
        return None if node.id != name else "overwritten" if isinstance(node.ctx, ast.Store) else "read"
    if isinstance(node, ast.If):
        branches = {_first_use(node.body, name), _first_use(node.orelse, name)}
        found = branches.pop() if len(branches) == 1 else "read"
        return _use(node.test, name) or found
    if isinstance(node, _COMPREHENSIONS) and any(_binds(part.target, name) for part in node.generators):
        return _use(node.generators[0].iter, name)
    if isinstance(node, ast.AugAssign) and _binds(node.target, name):
        return "read"
    return _first_use(_as_run(node), name)


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(target))


def _as_run(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of `node`, a value before what it is put into."""
    first = [getattr(node, part) for part in ("value", "iter") if isinstance(getattr(node, part, None), ast.AST)]
    return [*first, *(child for child in ast.iter_child_nodes(node) if child not in first)]


def _loaded(nodes: list[ast.AST]) -> set[str]:
    """Names of what was loaded."""
    return {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _root(node.value) == "load"
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _changed(nodes: list[ast.AST]) -> Iterator[str]:
    """Names of what is changed in place: by a method, or by putting something into it or taking it out."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            yield _root(node.func.value)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield _root(node.value)


def _root(node: ast.expr) -> str:
    """`tasks` of `tasks[0]["name"]`, `load` of `load(path, [])`."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
