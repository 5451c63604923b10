"""The index of what is documented on this machine: it answers, it is kept, and it runs nobody's code."""

from __future__ import annotations

import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from retrieval.deadline import Deadline
from retrieval.documentation import Documentation
from retrieval.records import Hit, Unavailable
from retrieval.symbols import packages

QUESTIONS = {
    "tkinter Canvas create_oval arguments": "tkinter.Canvas.create_oval",
    "tkinter widget after call function milliseconds": "tkinter.Misc.after",
    "python ttk.Treeview insert item": "tkinter.ttk.Treeview.insert",
    "turtle move forward distance": "turtle.TNavigator.forward",
    "how to read a csv file as dictionaries": "csv.DictReader",
    "json load from file object": "json.load",
    "argparse add subcommands subparsers": "argparse.ArgumentParser.add_subparsers",
    "argparse add_argument nargs": "argparse.ArgumentParser.add_argument",
    "random choice from a sequence": "random.Random.choice",
    "datetime strptime parse date from format string": "datetime.datetime.strptime",
    "sqlite3 connection execute parameters": "sqlite3.dbapi2.Connection.execute",
    "pathlib Path read_text encoding": "pathlib.Path.read_text",
    "collections Counter most_common": "collections.Counter.most_common",
    "split a string on whitespace str method": "builtins.str.split",
    "heapq push item onto heap": "heapq.heappush",
    "itertools permutations of elements": "itertools.permutations",
    "subprocess run capture output timeout": "subprocess.run",
    "re sub replace with function": "re.sub",
    "decimal quantize rounding": "decimal.Decimal.quantize",
    "math sqrt square root": "math.sqrt",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Documentation:
    """The standard library's documentation and a folder of somebody's own."""
    root = tmp_path_factory.mktemp("docs")
    folder = root / "handbook"
    folder.mkdir()
    (folder / "widgets.md").write_text("# Frobnicator\n\nCall `frobnicate(level)` with a level from 1 to 9.\n")
    (folder / "page.html").write_text(
        "<html><body><h1>Gizmos</h1><p>A gizmo is wound up with wind_up().</p></body>"
    )
    (folder / "picture.png").write_bytes(b"\x89PNG frobnicate")
    return Documentation(root / "cache", (folder,), only=())


def search(library: Documentation, query: str) -> list[Hit]:
    found = library.search(query, Deadline.after(60))
    return [] if isinstance(found, Unavailable) else list(found)


def test_twenty_questions(library: Documentation) -> None:
    assert len(QUESTIONS) == 20
    pytest.importorskip("tkinter", reason="this Python comes without tkinter, which three questions are about")
    missed = [
        query for query, symbol in QUESTIONS.items() if symbol not in [h.title for h in search(library, query)[:5]]
    ]
    assert len(missed) <= 2, missed


def test_an_entry_has_signature_and_docstring(library: Documentation) -> None:
    pytest.importorskip("tkinter", reason="this Python comes without tkinter")
    entries = {hit.title: hit for hit in search(library, "tkinter Canvas create_oval arguments")}
    oval = entries["tkinter.Canvas.create_oval"]
    assert oval.text == "def create_oval(self, *args, **kw):\nCreate oval with coordinates x1,y1,x2,y2."
    assert oval.url == "pydoc:tkinter.Canvas.create_oval"
    (square,) = [hit for hit in search(library, "math sqrt") if hit.title == "math.sqrt"]
    assert square.text.startswith("sqrt(x, /)\n"), "compiled code has a signature too"


def test_somebodys_own_documents_are_found(library: Documentation) -> None:
    (first, *_) = search(library, "frobnicate level")
    assert (first.url, first.title) == ("file:handbook/widgets.md", "widgets.md Frobnicator")
    assert "wind_up()" in search(library, "wind_up a gizmo")[0].text


def test_words_that_nobody_wrote_find_nothing(library: Documentation) -> None:
    for query in ("画布上画椭圆", "qwzxv", "", "\x00"):
        found = library.search(query, Deadline.after(60))
        assert isinstance(found, Unavailable) and found.reason == "empty", query


def test_an_index_is_made_once_and_anew_when_a_document_changes(
    library: Documentation, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(library, "json")
    monkeypatch.setattr("retrieval.documentation.standard_library", lambda: iter(()))
    same = Documentation(library.cache, library.folders, only=())
    assert same.ready and len(same) > 5000
    (library.folders[0] / "news.txt").write_text("The sprocket is new.")
    changed = Documentation(library.cache, library.folders, only=())
    assert not changed.ready
    assert [hit.url for hit in search(changed, "sprocket")] == ["file:handbook/news.txt"]
    assert len(list(library.cache.iterdir())) == 1, "the old one is gone, and nothing half made is left"


def test_what_cannot_be_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.documentation.standard_library", lambda: iter(()))
    monkeypatch.syspath_prepend(tmp_path / "packages")
    for name in ("motor-1.0.dist-info", "~otor-0.9.dist-info"):
        (tmp_path / "packages" / name).mkdir(parents=True)
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "widgets.md").write_text("Call frobnicate(level).")
    (folder / "locked.txt").symlink_to("/proc/self/mem")
    monkeypatch.setattr("retrieval.documentation.packages", lambda distributions: iter(()))
    documentation = Documentation(tmp_path / "cache", (folder,))
    assert not documentation.ready
    assert [hit.url for hit in search(documentation, "frobnicate")] == ["file:handbook/widgets.md"]


PACKAGE = '''"""A package."""
from pathlib import Path
Path({witness!r}).write_text("run")


class _Base:
    def inherited(self, depth: int = 3) -> None:
        """Comes from a private class."""


class Engine(_Base):
    """Turns things."""

    def __init__(self, power: int) -> None:
        pass

    async def start(self, *, slowly: bool = False) -> bool:
        """Set it going."""

    def _private(self) -> None: ...


if True:
    def helper(x): return x
'''


def test_packages_are_read_and_never_run(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    for name, text in {
        "motor/__init__.py": PACKAGE.format(witness=str(witness)),
        "motor/_inner.py": "def hidden_home(a, b): 'Told under its public name.'",
        "motor/broken.py": "def (:\n",
        "motor/null.py": "\0",
        "motor/endless.py": "if x: pass\n" + "elif x: pass\n" * 1500,
        "motor/tests/test_motor.py": "def test_me(): 'no'",
        "motor-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: motor\nVersion: 1.0\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    (tmp_path / "motor-1.0.dist-info" / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    symbols = dict(packages([PathDistribution(tmp_path / "motor-1.0.dist-info")]))
    assert symbols == {
        "motor": "A package.",
        "motor.Engine": "class Engine(_Base):\ndef __init__(self, power: int) -> None:\nTurns things.",
        "motor.Engine.inherited": "def inherited(self, depth: int = 3) -> None:\nComes from a private class.",
        "motor.Engine.start": "async def start(self, *, slowly: bool = False) -> bool:\nSet it going.",
        "motor.helper": "def helper(x): return x",
        "motor.hidden_home": "def hidden_home(a, b): 'Told under its public name.'\nTold under its public name.",
    }
    assert not witness.exists()
    assert "motor" not in sys.modules
