"""Files out of a model's reply, and files into a prompt.

The form asked for is a line with the file's name over a fenced block. What models send differs, so the name
is looked for, in this order: in the fence's info string; alone on the line above; in the first comment or
docstring; anywhere in the line above; in the heading of the section. A block that is left without a name may
still take one from what the other files import, or be the main file.

A fence closes on a bare fence of the same kind that is not indented deeper. Where that cuts a Python file in
the middle of a string, the first later one that leaves it parsable is taken; a Markdown file closes on the
last one before the next named block, for its own examples are fenced too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from chatdev.workspace import normal_path, refusal
from sandbox.completeness import definitions, python_tree


@dataclass(frozen=True)
class Reply:
    """What a reply holds.

    `files`: path -> content, in order of appearance; content ends with a newline unless it is empty.
    `problems`: blocks dropped because no file may have their name, each with the reason.
    """

    files: dict[str, str]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class _Fence:
    indent: int
    mark: str
    info: str

    @property
    def tag(self) -> str:
        found = re.match(r"[\w+#-]+(?![\w+#./\\-])", self.info)
        return found.group().lower() if found else ""

    def matches(self, opening: _Fence) -> bool:
        return self.mark[0] == opening.mark[0] and len(self.mark) >= len(opening.mark)


@dataclass(frozen=True)
class _Block:
    above: Sequence[str]  # the lines since the block before
    fence: _Fence
    body: str


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_SUFFIX_OF_TAG = {
    "python": ".py", "py": ".py", "python3": ".py", "javascript": ".js", "js": ".js", "typescript": ".ts",
    "ts": ".ts", "markdown": ".md", "md": ".md", "html": ".html", "css": ".css", "java": ".java", "c": ".c",
    "cpp": ".cpp", "c++": ".cpp", "csharp": ".cs", "c#": ".cs", "cs": ".cs", "go": ".go", "rust": ".rs",
    "rs": ".rs", "ruby": ".rb", "php": ".php", "kotlin": ".kt", "swift": ".swift", "lua": ".lua",
}  # fmt: skip
_TAG_OF_SUFFIX = {suffix: tag for tag, suffix in reversed(_SUFFIX_OF_TAG.items())}
_SUFFIXES = frozenset(_SUFFIX_OF_TAG.values()) | _set(
    """.pyw .pyi .ipynb .jsx .tsx .mjs .vue .svelte .scss .sass .less .htm .xhtml .svg .h .hpp .cc .scala .pl .r
    .dart .sh .bash .bat .cmd .ps1 .sql .json .jsonl .yaml .yml .toml .ini .cfg .conf .env .xml .csv .tsv .txt
    .rst .gradle .properties .jinja .j2 .tmpl .kv .ui .qss .glsl .lock .in"""
)
_BARE_NAMES = _set(
    """Dockerfile Makefile Procfile Gemfile Pipfile Rakefile Jenkinsfile Vagrantfile LICENSE
    .gitignore .dockerignore .editorconfig .env .flake8 .gitattributes .gitkeep .npmrc .nojekyll"""
)
_LIBRARIES = _set("node.js vue.js next.js react.js express.js three.js d3.js p5.js chart.js asp.net")
_SHOWN = _set(
    """bash sh shell zsh fish console terminal powershell ps1 cmd bat batch dos shell-session shellsession
    output json-output stdout stderr log diff"""
)
_PLAIN = frozenset(("", "text", "txt", "plaintext", "plain", "code"))

_MOST_CLOSINGS = 20  # fences tried for one block: a model in a loop repeats the same block without end

_FENCE = re.compile(r"([ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)?)(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*?)\s*$")
_THINKING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_SEPARATORS = re.compile(r"[\s`*\"'()\[\]{}<>,;|=#!?：，、；（）【】「」《》“”‘’]+|(?<=\w\w):")
_REMARK = re.compile(r"\([^()]*\)[\W_]*$")
_LABELS = re.compile(r"(?:new|updated|file|file ?name|name|path|module|code|\d+[.)]?|[-+•–—:.]+)", re.IGNORECASE)
_OUTSIDE = re.compile(r"(?:~[\\/]|\.\.[\\/]|[A-Za-z]:\\?|[\\/][\w.-]+[\\/]).*\w")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*.*\*\*:?\s*$)")
_NAME_INSIDE = re.compile(
    r"(?:\s*#!.*\n|\s*#.*coding[:=].*\n)*\s*(?:#+|//+|/\*+|<!--|--+|;+|[rR]?\"{3}|[rR]?'{3})\s*"
    r"(?:(?:file(?: ?name)?|path|module)\s*:\s*)?`?([\w./\\@+:-]*\w)`?[ \t]*(?:$|\*/|-->|[-–—:(\"'])",
    re.MULTILINE | re.IGNORECASE,
)
_PYTHON_LINE = re.compile(
    r"^(?:import \w|from [\w.]+ import|(?:async )?def \w+\(|class \w+|print\(|if __name__|@\w)", re.MULTILINE
)
_MAIN = "main.py"
_MAIN_GUARD = re.compile(r"^if __name__\s*==", re.MULTILINE)


def parse_reply(text: str, *, known_files: Sequence[str] = (), language: str = "Python") -> Reply:
    """The files of a reply.

    `known_files` are the product's paths so far: a name that differs from one of them by case alone is that
    file, and a lone block without a name is the only one of them in `language`. Of two blocks for one file
    the later counts, unless the earlier parses as Python and the later either does not, or is under a third
    of its size and lacks one of its top-level functions or classes.
    """
    spoken = text.replace("\r\n", "\n").replace("\r", "\n")
    thinking = _THINKING.match(spoken)
    words = language.lower().split()
    suffix = _SUFFIX_OF_TAG.get(words[0], ".py") if words else ".py"
    files: dict[str, str] = {}
    problems: list[str] = []
    unnamed: list[str] = []
    for block in _blocks(spoken[thinking.end() if thinking else 0 :].removesuffix("\n").split("\n")):
        name = _name(block)
        if block.body.strip() == (name or _MAIN):
            continue  # the form half understood: a name where the code should stand
        if name is None:
            if _is_source(block, suffix):
                unnamed.append(block.body)
            continue
        path = _spelling(normal_path(name), known_files)
        why = refusal(path)
        if why:
            problems.append(f"{name}: {why}")
        elif path not in files or _supersedes(block.body, files[path], path):
            files[path] = block.body
    _place(unnamed, files, known_files, suffix)
    return Reply(files, tuple(problems))


def render_files(files: Mapping[str, str]) -> str:
    """The files as agents see them: a line with the path, then a block fenced longer than any fence inside."""
    shown = []
    for path, text in files.items():
        longest = max((len(run) for run in re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        suffix = PurePosixPath(path).suffix.lower()
        body = text if not text or text.endswith("\n") else f"{text}\n"
        shown.append(f"{path}\n{fence}{_TAG_OF_SUFFIX.get(suffix, suffix[1:])}\n{body}{fence}\n")
    return "\n".join(shown)


def _blocks(lines: list[str]) -> Iterator[_Block]:
    at = since = 0
    while at < len(lines):
        fence = _fence(lines[at])
        if fence is None:
            at += 1
            continue
        end, following = _end(lines, at, fence, _content_suffix(lines[since:at], fence))
        yield _Block(lines[since:at], fence, _body(lines[at + 1 : end], fence.indent))
        at = since = following


def _fence(line: str) -> _Fence | None:
    found = _FENCE.match(line)
    return _Fence(len(found[1].expandtabs(4)), found[2], found[3]) if found else None


def _body(lines: Sequence[str], indent: int) -> str:
    """The lines without the indent of their fence, or without what they share of it."""
    shared = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    cut = min(indent, shared)
    return "".join(f"{line[cut:]}\n" for line in lines)


def _end(lines: list[str], start: int, opening: _Fence, suffix: str) -> tuple[int, int]:
    """Where the block opened at `start` ends (the line after its last), and where reading goes on."""
    closings: list[int] = []
    cut: int | None = None  # where the next file begins although nothing closed this one
    depth = 0
    for at in range(start + 1, len(lines)):
        fence = _fence(lines[at])
        if fence is None or not fence.matches(opening):
            continue
        header = _header(lines, start + 1, at, fence)
        if header is not None and closings or len(closings) == _MOST_CLOSINGS:
            break
        if header is not None and cut is None and fence.info and suffix != ".md":
            cut = header
        if suffix == ".md" and (fence.info or depth):
            depth += 1 if fence.info else -1
        elif not fence.info and fence.indent <= opening.indent:
            closings.append(at)
            if suffix == ".py" and python_tree(_body(lines[start + 1 : at], opening.indent)):
                return at, at + 1
        if suffix not in (".py", ".md") and (closings or cut is not None):
            break
    if cut is not None:
        return cut, cut
    if not closings:
        return len(lines), len(lines)
    end = closings[-1 if suffix == ".md" else 0]
    return end, end + 1


def _header(lines: list[str], first: int, at: int, fence: _Fence) -> int | None:
    """The line where the header of the fence at `at` starts, if it plainly names a file.

    Over a bare fence the name must follow a blank line: it may be the last of a listing that ends there.
    """
    if _name_in(fence.info):
        return at
    above = at - 1
    while above > first and not lines[above].strip():
        above -= 1
    plain = fence.info or not lines[above - 1].strip()
    return above if above >= first and plain and _lone_name(lines[above]) else None


def _content_suffix(above: Sequence[str], fence: _Fence) -> str:
    """What kind of text a block holds, as far as its tag or else its header tells: `.py`, `.md`, …"""
    if fence.tag in _SUFFIX_OF_TAG:
        return _SUFFIX_OF_TAG[fence.tag]
    line = next((line for line in reversed(above) if line.strip()), "")
    name = _name_in(fence.info) or _lone_name(line) or _name_in(line)
    if name:
        return PurePosixPath(name).suffix.lower()
    return "" if fence.tag else ".py"


def _name(block: _Block) -> str | None:
    """The file a block says it is."""
    name = _name_in(block.fence.info)
    if name:
        return name
    above = [line for line in reversed(block.above) if line.strip()]
    name = _lone_name(above[0]) if above else None
    shown = block.fence.tag in _SHOWN
    if name:
        return None if shown and name.endswith(".py") else name
    inside = _NAME_INSIDE.match(block.body)
    heading = next((line for line in above[1:] if _HEADING.match(line)), "")
    guesses = [inside[1] if inside and _is_name(inside[1]) else None, *map(_name_in, (*above[:1], heading))]
    fitting = (guess for guess in guesses if guess and guess.endswith(".py") == _is_source(block, ".py"))
    return None if shown else next(fitting, None)


def _name_in(line: str) -> str | None:
    """The first file name in a line of prose."""
    return next((word for word in _words(line) if _is_name(word)), None)


def _lone_name(line: str) -> str | None:
    """The file name a line consists of, apart from decoration, numbering, a label and a remark in brackets."""
    words = [word for word in _words(_REMARK.sub("", line)) if not _LABELS.fullmatch(word)]
    return words[0] if len(words) == 1 and _is_name(words[0], alone=True) else None


def _words(line: str) -> list[str]:
    return [word for word in (part.rstrip(".:") for part in _SEPARATORS.split(line)) if word]


def _is_name(word: str, *, alone: bool = False) -> bool:
    """Whether a word is a file name: by a known suffix in prose; alone on its line any suffix will do."""
    base = re.split(r"[\\/]", word)[-1]
    if base in _BARE_NAMES:
        return True
    stem, _, suffix = base.rpartition(".")
    if "://" in word or not stem or word.lower() in _LIBRARIES:
        return alone and _OUTSIDE.fullmatch(word) is not None
    if f".{suffix.lower()}" in _SUFFIXES:
        return True
    return alone and re.fullmatch(r"[A-Za-z]\w{1,9}", suffix) is not None


def _is_source(block: _Block, suffix: str) -> bool:
    """Whether a block holds code of the language with this suffix, by its tag or else by its looks."""
    if block.fence.tag not in _PLAIN:
        return _SUFFIX_OF_TAG.get(block.fence.tag) == suffix
    return _PYTHON_LINE.search(block.body) is not None if suffix == ".py" else not block.fence.tag


def _spelling(path: str, known_files: Sequence[str]) -> str:
    same = (known for known in (*known_files, _MAIN) if known.lower() == path.lower())
    return next(same, path)


def _supersedes(later: str, earlier: str, path: str) -> bool:
    before = python_tree(earlier) if path.endswith(".py") else None
    if before is None:
        return True
    after = python_tree(later)
    snippet = len(later) * 3 < len(earlier)
    return after is not None and not (snippet and definitions(before) - definitions(after))


def _place(unnamed: list[str], files: dict[str, str], known_files: Sequence[str], suffix: str) -> None:
    """Put each block that tells its name by other means into `files`."""
    main = f"main{suffix}"
    known = [path for path in known_files if path.endswith(suffix)]
    lone = len(unnamed) == 1 and not any(path.endswith(suffix) for path in files)
    for body in sorted(unnamed, key=lambda body: _MAIN_GUARD.search(body) is None):
        path = _imported_as(body, files) if suffix == ".py" else None
        if path is None and lone and len(known) <= 1:
            path = known[0] if known else main
        if path is None and main not in files and (main not in known or _MAIN_GUARD.search(body)):
            path = main
        if path is not None:
            files[path] = body


def _imported_as(body: str, files: Mapping[str, str]) -> str | None:
    """The path under which a file imports what `body` defines, when the reply has no such file."""
    tree = python_tree(body)
    defined = definitions(tree) if tree else set()
    importers = (python_tree(text) for path, text in files.items() if path.endswith(".py"))
    for node in (node for importer in importers if importer for node in ast.walk(importer)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            path = f"{node.module.replace('.', '/')}.py"
            standard = node.module.partition(".")[0] in sys.stdlib_module_names
            if path not in files and not standard and {alias.name for alias in node.names} <= defined:
                return path
    return None
