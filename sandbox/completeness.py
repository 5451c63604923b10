"""Is anything in the product missing? Asked of the syntax tree and the comments, never of substrings.

Every function takes the product's files (path from the product folder -> text) and returns findings, in the
order of the files. A word such as `compass`, a class `TodoList` or an `except OSError: pass` is no finding.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Finding:
    """Something missing or broken: where (`line` counts from 1; 0 is the file as a whole), what, and why."""

    path: str
    line: int
    name: str
    why: str


_Function = ast.FunctionDef | ast.AsyncFunctionDef

_UNFINISHED = re.compile(
    r"\b(?:TODO(?![ -]?(?i:lists?|items?|apps?|application|manager|entry|entries)\b)|FIXME)\b"
    r"|(?i:^#+\s*(?:todo|fixme)\s*:)"
    r"|(?i:\b(?:code|logic|implementation)\s+(?:goes\s+|comes\s+)?here\b)"
    r"|(?i:\bimplement\s+(?:\w+\s+){0,3}here\b)"
    r"|(?i:\b(?:to\s+be|not\s+yet|not)\s+implemented\b)"
    r"|(?i:\brest\s+of\s+(?:the\s+|your\s+)?(?:code|class|file|methods?|functions?|implementation)\b)"
    r"|(?i:\b(?:existing|previous|other)\s+(?:code|methods|functions)\s+(?:here|remains?|stays?|unchanged)\b)"
)

_NO_BODY = "the function has no implementation"
_DOCUMENTS = frozenset({".md", ".rst", ".txt", ".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".csv", ".log"})

# Import names of packages that programs of this kind ask for. A name that is neither here, nor in the
# product's requirements.txt, nor in the standard library is taken for a module somebody forgot to write.
_THIRD_PARTY = """
    aiohttp altair arcade attr bcrypt bokeh boto3 bs4 celery chess click colorama cryptography
    customtkinter cv2 cvxpy dash dateutil django docx dotenv fastapi feedparser flask flask_cors
    flask_login flask_sqlalchemy fpdf freetype geopy gtts httpx imageio jinja2 joblib jsonschema jwt
    keyboard kivy librosa lxml markdown matplotlib mido mouse moviepy mutagen networkx nltk numpy
    openai openpyxl pandas passlib peewee PIL playsound plotly psutil psycopg2 pyaudio pyautogui
    pydantic pydub pygame pyglet pygments pymongo pymunk pynput pyperclip PyPDF2 PyQt5 PyQt6 PySide2
    PySide6 pytest pytesseract pyttsx3 pytz qrcode redis reportlab requests rich schedule scipy
    seaborn selenium shapely simpleaudio sklearn sounddevice soundfile spacy speech_recognition
    sqlalchemy statsmodels streamlit sympy tabulate tensorflow textblob textual tkcalendar
    tkinterdnd2 torch torchvision tqdm transformers ttkbootstrap ttkthemes typer unidecode uvicorn
    watchdog webview werkzeug wordcloud wx yaml
"""


# A product is looked at again after each change, and most of its files are as they were.
_remembered = lru_cache(maxsize=1024)


@_remembered
def python_tree(text: str) -> ast.Module | None:
    """The syntax tree of `text`, or None where it is no Python. It is shared, and not to be changed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def definitions(tree: ast.Module) -> set[str]:
    """Names of the functions and classes a module defines at its top level."""
    return {node.name for node in tree.body if isinstance(node, _Function | ast.ClassDef)}


def unimplemented(files: Mapping[str, str]) -> tuple[Finding, ...]:
    """Stub functions, comments that put work off, files without content, and a product without source.

    A function is a stub when its body holds nothing but a docstring, `pass`, `...` or `raise
    NotImplementedError`; not so when it is abstract, an overload, in a Protocol or an abstract class, or
    overridden in a class of the product that derives from its own.
    """
    trees = _trees(files)
    overridden = frozenset().union(*(_overridden(files[path]) for path in trees))
    found: list[Finding] = []
    for path, text in files.items():
        tree = trees.get(path)
        if _is_hollow(path, text, tree):
            found.append(Finding(path, 0, path, "the file holds no code" if text.strip() else "the file is empty"))
        stubs = stub_functions(text)
        places = [(line, name, _NO_BODY) for line, name, method in stubs if method not in overridden]
        places += _postponements(text) if _is_python(path) else ()
        found += [Finding(path, line, name, why) for line, name, why in sorted(places)]
    if all(PurePosixPath(path).suffix.lower() in _DOCUMENTS for path in files):
        found.append(Finding("", 0, "", "the product has no source file"))
    return tuple(found)


def syntax_errors(files: Mapping[str, str]) -> tuple[Finding, ...]:
    """The first error the compiler reports in each Python file; `name` is the start of the line."""
    found: list[Finding] = []
    for path, text in files.items():
        error = _compiler_error(text) if _is_python(path) else None
        if error:
            found.append(Finding(path, *error))
    return tuple(found)


@_remembered
def _compiler_error(text: str) -> tuple[int, str, str] | None:
    """Line, its text and message of the first error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<product>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 0, (error.text or "").strip()[:80], error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return 0, "", f"cannot be compiled: {error or type(error).__name__}"
    return None


def undefined_local_imports(files: Mapping[str, str]) -> tuple[Finding, ...]:
    """Imports of modules that are not among the files, in the standard library or known as packages.

    Imports that a handler of ImportError or `if TYPE_CHECKING` guards are left alone.
    """
    return tuple(_unresolved(files))


def _is_python(path: str) -> bool:
    return path.lower().endswith((".py", ".pyw"))


def _trees(files: Mapping[str, str]) -> dict[str, ast.Module]:
    parsed = {path: python_tree(text) for path, text in files.items() if _is_python(path)}
    return {path: tree for path, tree in parsed.items() if tree}


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The statements right inside of a statement; expressions hold none and are not looked into."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        yield from getattr(node, name, ())


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    for child in _inside(node):
        yield child
        yield from _statements(child)


def _last_name(node: ast.expr) -> str:
    """`abc.ABC`, `ABC`, `Generic[T]` and `overload(...)` by their last plain name."""
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_hollow(path: str, text: str, tree: ast.Module | None) -> bool:
    name = PurePosixPath(path).name
    if name in {"__init__.py", "py.typed", "requirements.txt"} or name.startswith("."):
        return False
    return not text.strip() or (tree is not None and not any(not _is_constant(node) for node in tree.body))


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_filler(node: ast.stmt) -> bool:
    raises = isinstance(node, ast.Raise) and node.exc and _last_name(node.exc) == "NotImplementedError"
    return isinstance(node, ast.Pass) or _is_constant(node) or bool(raises)


@_remembered
def _overridden(text: str) -> frozenset[tuple[str, str]]:
    """Class and method, by name, of each method that a class in `text` may have from another."""
    return frozenset(
        (base, function.name)
        for cls in _statements(python_tree(text) or ast.Module([], []))
        if isinstance(cls, ast.ClassDef)
        for base in map(_last_name, cls.bases)
        for function in cls.body
        if isinstance(function, _Function)
    )


@_remembered
def stub_functions(text: str) -> tuple[tuple[int, str, tuple[str, str]], ...]:
    """Line, qualified name, and class and method of each stub in `text` that nothing around it excuses."""
    tree = python_tree(text)
    return tuple(_stubs_below(tree, "")) if tree else ()


def _stubs_below(node: ast.AST, inside: str) -> Iterator[tuple[int, str, tuple[str, str]]]:
    for child in _inside(node):
        if not isinstance(child, _Function | ast.ClassDef):
            yield from _stubs_below(child, inside)
            continue
        name = f"{inside}{child.name}"
        if isinstance(child, _Function) and all(map(_is_filler, child.body)) and not _may_be_empty(node, child):
            yield child.lineno, name, (node.name if isinstance(node, ast.ClassDef) else "", child.name)
        yield from _stubs_below(child, f"{name}.")


def _may_be_empty(parent: ast.AST, function: _Function) -> bool:
    if {"overload", "abstractmethod", "abstractproperty"} & set(map(_last_name, function.decorator_list)):
        return True
    if not isinstance(parent, ast.ClassDef):
        return False
    kinds = {_last_name(base) for base in parent.bases} | {_last_name(word.value) for word in parent.keywords}
    return bool(kinds & {"Protocol", "ABC", "ABCMeta"})


@_remembered
def _postponements(text: str) -> tuple[tuple[int, str, str], ...]:
    """Line, words and reason of each comment that puts work off."""
    found: list[tuple[int, str, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and _UNFINISHED.search(token.string):
                found.append((token.start[0], token.string.strip(), "the comment puts work off"))
    except (tokenize.TokenError, SyntaxError):
        pass  # `syntax_errors` tells of it
    return tuple(found)


def _unresolved(files: Mapping[str, str]) -> Iterator[Finding]:
    modules: set[str] = set()
    for path in filter(_is_python, files):
        parts = PurePosixPath(path).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        modules.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    packages = {*_THIRD_PARTY.split(), *_required(files)}
    for path in _trees(files):
        package = PurePosixPath(path).parts[:-1]
        for node in _imports_of(files[path]):
            for name in _imported_modules(node, package, files):
                top = name.partition(".")[0]
                beside = ".".join((*package, ""))
                if name in modules or beside + name in modules:
                    continue
                if top in modules or beside + top in modules or name.startswith("."):
                    yield Finding(path, node.lineno, name, "no such module among the files")
                elif top not in sys.stdlib_module_names and packages.isdisjoint((top, top.lower())):
                    why = "no such module among the files, in the standard library or in requirements.txt"
                    yield Finding(path, node.lineno, name, why)


def _required(files: Mapping[str, str]) -> set[str]:
    lines = files.get("requirements.txt", "").splitlines()
    names = (re.match(r"[A-Za-z0-9][\w.-]*", line.strip()) for line in lines)
    return {name.group().lower().replace("-", "_") for name in names if name}


@_remembered
def _imports_of(text: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    tree = python_tree(text)
    return tuple(_imports(tree)) if tree else ()


def _imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements that must succeed for the program to run."""
    for child in _inside(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.Try) and any(map(_catches_import_error, child.handlers)):
            continue
        elif not (isinstance(child, ast.If) and _last_name(child.test) == "TYPE_CHECKING"):
            yield from _imports(child)


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {_last_name(kind) if kind else "Exception" for kind in caught}
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def _imported_modules(
    node: ast.Import | ast.ImportFrom, package: tuple[str, ...], files: Mapping[str, str]
) -> list[str]:
    """Modules a statement needs, relative ones made absolute; a leading dot marks one that cannot be."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not node.level:
        return [node.module or ""]
    if node.level > len(package):
        return ["." * node.level + (node.module or "")]
    base = package[: len(package) - node.level + 1]
    if node.module:
        return [".".join((*base, node.module))]
    if "/".join((*base, "__init__.py")) in files:
        return []  # the names may be defined there
    return [".".join((*base, alias.name)) for alias in node.names]
