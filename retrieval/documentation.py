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
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, distributions
from itertools import chain
from pathlib import Path

import bm25s
from bm25s.utils.corpus import JsonlCorpus

from retrieval.deadline import Deadline
from retrieval.extraction import passages_of, text_of
from retrieval.ranking import MOST_PASSAGES, best, document, indexed
from retrieval.records import Hit, Page, Unavailable
from retrieval.symbols import packages, standard_library

_VERSION = 1  # of what an index holds; another number makes old ones out of date
_TYPES = {".html": "text/html", ".htm": "text/html", ".md": "", ".rst": "", ".txt": ""}
_MOST_BYTES = 2_000_000
_FINGERPRINT, _ENTRIES = "fingerprint.txt", "corpus.jsonl"


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
        entries = (self._corpus[place] for place, _ in found)
        hits = tuple(Hit(title, url, text, whole=True) for title, url, text in entries)
        return hits or Unavailable("empty", "the documentation on this machine has none of these words")

    @property
    def ready(self) -> bool:
        """Whether the index is there and up to date."""
        return _fingerprint_in(self._place) == self._fingerprint

    def __len__(self) -> int:
        """Number of entries; makes the index where it is not there."""
        return int(self._index.scores["num_docs"])

    @cached_property
    def _index(self) -> bm25s.BM25:
        if not self.ready:
            self._build()
        return bm25s.BM25.load(self._place, mmap=True, show_progress=False, verbosity=0)

    @cached_property
    def _corpus(self) -> JsonlCorpus:
        return JsonlCorpus(self._place / _ENTRIES, show_progress=False, verbosity=0)

    def _build(self) -> None:
        with warnings.catch_warnings(), _no_collecting():
            warnings.simplefilter("ignore")  # of escapes and old modules, in other people's code
            entries = list(self._entries())
        index = indexed(document(title, text) for title, _, text in entries)
        self.cache.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=self.cache, prefix="docs-new-"))
        index.save(new, corpus=entries, corpus_name=_ENTRIES, show_progress=False)
        (new / _FINGERPRINT).write_text(self._fingerprint, encoding="utf-8")
        if self._place.exists():
            # Renamed first: whoever reads the old one goes on reading it.
            old = self._place.rename(new.with_name(new.name.replace("new", "old")))
            shutil.rmtree(old, ignore_errors=True)
        new.rename(self._place)

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
        found = {item.name: item for item in distributions() if self.only is None or item.name in self.only}
        return [found[name] for name in sorted(found)]

    @cached_property
    def _files(self) -> list[tuple[Path, Path]]:
        return [
            (folder, path)
            for folder in self.folders
            for path in sorted(folder.rglob("*"))
            if path.suffix.lower() in _TYPES and path.is_file() and path.stat().st_size <= _MOST_BYTES
        ]

    @property
    def _place(self) -> Path:
        which = [sys.prefix, sorted(self.only or ()), *map(str, self.folders)]
        return self.cache / f"docs-{hashlib.sha256(json.dumps(which).encode()).hexdigest()[:12]}"

    @cached_property
    def _fingerprint(self) -> str:
        what = [
            [_VERSION, bm25s.__version__, sys.version],
            [(item.name, item.version) for item in self._distributions],
            [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for _, path in self._files],
        ]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()


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


def _fingerprint_in(place: Path) -> str:
    try:
        return (place / _FINGERPRINT).read_text(encoding="utf-8")
    except OSError:
        return ""


def _of_document(folder: Path, path: Path) -> Iterator[tuple[str, str, str]]:
    relative = path.relative_to(folder).as_posix()
    media_type = _TYPES[path.suffix.lower()]
    text = text_of(Page(relative, media_type, path.read_text(encoding="utf-8", errors="replace")))
    if not isinstance(text, Unavailable):
        heading = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), "")
        for passage in passages_of(text):
            yield f"{relative} {heading}".strip(), f"file:{folder.name}/{relative}", passage
