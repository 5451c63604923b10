"""Signatures and docstrings of Python code, read without running any of it.

Source files are parsed. Only the standard library's compiled modules are imported, for want of a source.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, PackagePath
from pathlib import Path, PurePath
from types import ModuleType
from typing import NamedTuple

TEXT_CHARACTERS = 1500
MOST_BYTES = 1_000_000
# The files nearest to the top of their package: there is what its users call.
FILES_OF_A_PACKAGE = 100
MOST_FILES = 2000
_NOT_FOR_USE = re.compile(
    r"tests?|_?testing|\.\.|.*\.dist-info|_?vendor(?:ed)?|__pycache__|site-packages|dist-packages|benchmarks|examples"
    r"|antigravity|distutils|encodings|ensurepip|idlelib|lib2to3|msilib|pydoc_data|this|turtledemo"
    r"|readline"  # compiled: to import it changes how this process reads lines
)
_TOOLS = frozenset(["pip", "setuptools", "wheel", "pkg_resources"])


class Symbol(NamedTuple):
    """A name that a program can use, with its signature and docstring."""

    name: str
    text: str


def standard_library() -> Iterator[Symbol]:
    """What the standard library offers, in the order of its modules' names."""
    root = Path(sysconfig.get_path("stdlib"))
    for name in sorted(filter(_for_use, sys.stdlib_module_names)):
        files = [*root.glob(f"{name}.py"), *sorted(root.glob(f"{name}/**/*.py"))]
        for file in files:
            yield from _of_file(file, file.relative_to(root))
        if not files and not name.startswith("_"):
            yield from _compiled(name, name, ())


def packages(distributions: Iterable[Distribution]) -> Iterator[Symbol]:
    """What installed packages offer."""
    chosen: list[PackagePath] = []
    for distribution in distributions:
        if distribution.name not in _TOOLS:
            files = [file for file in distribution.files or () if file.suffix == ".py" and _for_use(*file.parts)]
            chosen += sorted(files, key=_depth)[:FILES_OF_A_PACKAGE]
    for file in sorted(chosen, key=_depth)[:MOST_FILES]:
        yield from _of_file(Path(str(file.locate())), file)


def _depth(file: PurePath) -> tuple[int, tuple[str, ...]]:
    return len(file.parts), file.parts


def _for_use(*parts: str) -> bool:
    """Whether a path of these parts is of code that is there for users of the package."""
    return not any(map(_NOT_FOR_USE.fullmatch, parts))


def _of_file(path: Path, relative: PurePath) -> Iterator[Symbol]:
    """The symbols of one source file; none of one that cannot be read or is no Python of this version."""
    if relative.parts[0].startswith("_") or not _for_use(*relative.parts):
        return
    module = ".".join(part for part in relative.with_suffix("").parts if not part.startswith("_"))
    try:
        if path.stat().st_size > MOST_BYTES:
            return
        source = path.read_bytes()
        tree = ast.parse(source)
        symbols = list(_of_body(module, tree.body, source.decode("utf-8", "replace").split("\n")))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if text := ast.get_docstring(tree):
        yield Symbol(module, _cut(text))
    yield from symbols


def _of_body(prefix: str, body: Sequence[ast.stmt], lines: Sequence[str]) -> Iterator[Symbol]:
    private = {node.name: node.body for node in body if isinstance(node, ast.ClassDef) and node.name[0] == "_"}
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            name = f"{prefix}.{node.name}"
            made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
            heads = [_head(node, lines), *(_head(part, lines) for part in made)]
            yield Symbol(name, _cut("\n".join([*heads, ast.get_docstring(node) or ""])))
            for base in node.bases:
                yield from _of_body(name, private.get(getattr(base, "id", ""), ()), lines)
            yield from _of_body(name, node.body, lines)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            text = f"{_head(node, lines)}\n{ast.get_docstring(node) or ''}"
            yield Symbol(f"{prefix}.{node.name}", _cut(text))
        elif isinstance(node, ast.If | ast.Try):
            yield from _of_body(prefix, [*node.body, *node.orelse], lines)
        elif isinstance(node, ast.ImportFrom) and _passed_on(prefix, node):
            yield from _compiled(node.module or "", prefix, [alias.name for alias in node.names])


def _passed_on(module: str, node: ast.ImportFrom) -> bool:
    """Whether a module of the standard library offers under its name what another one holds for it."""
    known = sys.stdlib_module_names
    return not node.level and node.module in known and module.partition(".")[0] in known


def _head(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> str:
    """The lines from `def` or `class` to the colon."""
    end = max(node.body[0].lineno - 1, node.lineno)
    return " ".join(line.strip() for line in lines[node.lineno - 1 : end])


def _compiled(source: str, module: str, names: Sequence[str]) -> Iterator[Symbol]:
    """Symbols that `module` has from the compiled module `source`: those in `names`, or all."""
    spec = importlib.util.find_spec(source)
    if spec is None or spec.origin == "frozen" or (spec.origin or "").endswith(".py"):
        return
    try:
        found = importlib.import_module(source)
    except ImportError:
        return
    if not names:
        yield Symbol(module, _cut(inspect.getdoc(found) or ""))
    for name, value in sorted(vars(found).items()):
        wanted = name in names or (not name.startswith("_") and (not names or "*" in names))
        if wanted and not isinstance(value, ModuleType) and callable(value):
            yield from _of_object(f"{module}.{name}", value)


def _of_object(name: str, value: object) -> Iterator[Symbol]:
    yield Symbol(name, _cut(f"{name.rpartition('.')[2]}{_signature(value)}\n{inspect.getdoc(value) or ''}"))
    for member, inner in sorted(vars(value).items()) if isinstance(value, type) else ():
        if not member.startswith("_") and callable(inner):
            yield Symbol(f"{name}.{member}", _cut(f"{member}{_signature(inner)}\n{inspect.getdoc(inner) or ''}"))


def _signature(value: object) -> str:
    """What the compiled code says of its arguments; `inspect` would evaluate their defaults."""
    return re.sub(r"\$\w+(, )?", "", getattr(value, "__text_signature__", None) or "")


def _cut(text: str) -> str:
    return text.strip()[:TEXT_CHARACTERS]
