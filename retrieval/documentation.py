"""The searcher that is always there: what is documented on this machine, in an index that is made once.

It covers the standard library and the installed packages of this Python, and any folders of HTML, Markdown
or text. The index lies in a cache folder and is made anew when one of these changes.
"""

from __future__ import annotations

import gc
import hashlib
import json
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, distributions, version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from retrieval.deadline import Deadline
from retrieval.extraction import passages_of, text_of
from retrieval.ranking import MOST_PASSAGES, best, document, indexed
from retrieval.records import Hit, Page, Unavailable, storable
from retrieval.symbols import packages, standard_library

if TYPE_CHECKING:
    import bm25s
    from bm25s.utils.corpus import JsonlCorpus

_VERSION = 1  # of what an index holds; another number makes old ones out of date
_TYPES = {".html": "text/html", ".htm": "text/html", ".md": "", ".rst": "", ".txt": ""}
_MOST_BYTES = 2_000_000
_ENTRIES = "corpus.jsonl"


@dataclass(frozen=True)
class Documentation:
    """The index over this Python and `folders`, kept below `cache`. `only` are the packages to be covered; by
    default all that are installed."""

    cache: Path
    folders: tuple[Path, ...] = ()
    only: tuple[str, ...] | None = None
    name: str = "docs"
    online: bool = False

    def search(self, query: str, deadline: Deadline) -> tuple[Hit, ...] | Unavailable:
        """The entries that fit `query` best; the first search after a change makes the index."""
        found = best(self._index, query, 2 * MOST_PASSAGES)
        entries = ((*self._corpus[place], score) for place, score in found)
        hits = tuple(Hit(title, url, text, score) for title, url, text, score in entries)
        return hits or Unavailable("empty", "the documentation on this machine has none of these words")

    @property
    def ready(self) -> bool:
        """Whether the index is there and up to date."""
        return self._place.is_dir()

    def __len__(self) -> int:
        """Number of entries; makes the index where it is not there."""
        return int(self._index.scores["num_docs"])

    @cached_property
    def _index(self) -> bm25s.BM25:
        import bm25s

        if not self.ready:
            self._build()
        return bm25s.BM25.load(self._place, mmap=True, show_progress=False, verbosity=0)

    @cached_property
    def _corpus(self) -> JsonlCorpus:
        from bm25s.utils.corpus import JsonlCorpus

        return JsonlCorpus(self._place / _ENTRIES, show_progress=False, verbosity=0)

    def _build(self) -> None:
        with warnings.catch_warnings(), _no_collecting():
            warnings.simplefilter("ignore")  # of escapes and old modules, in other people's code
            entries = [tuple(map(storable, entry)) for entry in self._entries()]
        index = indexed(document(title, text) for title, _, text in entries)
        self.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.cache, ignore_cleanup_errors=True) as folder:
            new = Path(folder) / "index"
            index.save(new, corpus=entries, corpus_name=_ENTRIES, show_progress=False)
            # Another process may have been faster, with the same index.
            if not self.ready:
                new.rename(self._place)
        for old in self.cache.glob(f"{self._place.name.rpartition('-')[0]}-*"):
            if old != self._place:
                shutil.rmtree(old, ignore_errors=True)

    def _entries(self) -> Iterator[tuple[str, str, str]]:
        symbols = chain(standard_library(), packages(self._distributions))
        seen = set()
        for symbol in symbols:
            if symbol not in seen:
                seen.add(symbol)
                yield symbol.name, f"pydoc:{symbol.name}", symbol.text
        for folder, path in self._files:
            yield from _of_document(folder, path)

    @cached_property
    def _distributions(self) -> list[Distribution]:
        found: dict[str, Distribution] = {}
        for item in distributions():
            # What an interrupted pip leaves behind has no name; the backport that some packages bring raises then.
            with suppress(FileNotFoundError):
                if item.name:
                    found[item.name] = item
        return [found[name] for name in sorted(found) if self.only is None or name in self.only]

    @cached_property
    def _files(self) -> list[tuple[Path, Path]]:
        return [
            (folder, path)
            for folder in self.folders
            for path in sorted(folder.rglob("*"))
            if path.suffix.lower() in _TYPES and path.is_file() and path.stat().st_size <= _MOST_BYTES
        ]

    @cached_property
    def _place(self) -> Path:
        """`docs-` for what it covers `-` the state that this is in: another state is another folder."""
        what = [sys.prefix, sorted(self.only or ()), *map(str, self.folders)]
        state = [
            [_VERSION, version("bm25s"), sys.version],
            [(item.name, item.version) for item in self._distributions],
            [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for _, path in self._files],
        ]
        return self.cache / f"docs-{_digest(what)}-{_digest(state)}"


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Syntax trees are many objects without cycles: looking for these would take as long as all the rest."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def _of_document(folder: Path, path: Path) -> Iterator[tuple[str, str, str]]:
    relative = path.relative_to(folder).as_posix()
    try:
        source = path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # one file that may not be read is no reason to have none
        return
    text = text_of(Page(relative, _TYPES[path.suffix.lower()], source))
    if not isinstance(text, Unavailable):
        heading = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), "")
        for passage in passages_of(text):
            yield f"{relative} {heading}".strip(), f"file:{folder.name}/{relative}", passage
