"""Looking something up: search, fetch, extract, split, rank, and keep what fits a prompt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from retrieval.addresses import trusting
from retrieval.cache import Cache
from retrieval.deadline import Deadline, side_by_side
from retrieval.documentation import Documentation
from retrieval.extraction import passages_of, text_of
from retrieval.fencing import harmless
from retrieval.ranking import fitted, ranked
from retrieval.records import FOUND, Hit, Outcome, Page, Passage, Retrieval, Step, Unavailable, storable
from retrieval.searching import Ddgs, DuckDuckGo, Searcher, Searxng
from retrieval.web import Web, place_of

SOURCES = ("auto", "duckduckgo", "ddgs", "docs")
WEB_SECONDS = 15.0
SEARCH_SECONDS = 6.0
MOST_PAGES = 4
PASSAGES_A_PAGE = 200
TOKENS = 700
QUERY_CHARACTERS = 300
# After one of these the web is not asked again in a run: it will not be better, and waiting has its price.
_BREAKS: frozenset[Outcome] = frozenset(
    ["blocked", "captcha", "timeout", "unknown-host", "unreachable", "proxy", "tls", "not-installed"]
)
_LATE = Unavailable("timeout", "time is up")


class Fetcher(Protocol):
    """Where pages come from."""

    def fetch(self, url: str, deadline: Deadline) -> Page | Unavailable:
        """The page at `url`, or why there is none."""
        ...


@dataclass
class Retriever:
    """Asks `searchers`, at least one, in order until one finds something. `budget` is in tokens of all passages.

    `broken` is the outcome after which those online were not asked any more, None while they are.
    """

    searchers: Sequence[Searcher]
    fetcher: Fetcher
    cache: Cache
    budget: int = TOKENS
    seconds: float = WEB_SECONDS
    broken: Outcome | None = None

    def look_up(self, query: str) -> Retrieval:
        """The passages and how they were come by. Raises CacheMiss in replay."""
        began = time.monotonic()
        query = " ".join(storable(query).split())[:QUERY_CHARACTERS]
        source = ""
        hits: tuple[Hit, ...] = ()
        passages: tuple[Passage, ...] = ()
        steps: list[Step] = []
        for searcher in self.searchers:
            found: tuple[Hit, ...] = ()
            try:
                found, passages = self._ask(searcher, query, steps)
                hits = found or hits
            except OSError as error:
                steps.append(Step(searcher.name, "disk", str(error)))
            if passages:
                source = searcher.name
                break
        # Hits of which nothing fits the query are as good as none.
        outcome = FOUND if passages else "empty" if found else steps[-1].outcome
        seconds = round(time.monotonic() - began, 3)
        return Retrieval(query, source, outcome, hits, passages, tuple(steps), seconds)

    def heed(self, online: bool, outcome: Outcome) -> None:
        """Let the breaker know what came of asking a searcher; a resumed run tells it of those in its past."""
        if online and outcome in _BREAKS:
            self.broken = outcome

    def _ask(
        self, searcher: Searcher, query: str, steps: list[Step]
    ) -> tuple[tuple[Hit, ...], tuple[Passage, ...]]:
        deadline = Deadline.after(self.seconds)
        found = self._search(searcher, query, deadline)
        steps.append(_step(searcher.name, found))
        self.heed(searcher.online, steps[-1].outcome)
        if isinstance(found, Unavailable):
            return (), ()
        return found, fitted(self._passages(query, found, deadline, steps), self.budget)

    def _search(self, searcher: Searcher, query: str, deadline: Deadline) -> tuple[Hit, ...] | Unavailable:
        if not query:
            return Unavailable("empty", "there is nothing to search for")
        if not searcher.online:
            return searcher.search(query, deadline)
        if self.broken:
            return Unavailable("breaker", f"not asked any more in this run, after: {self.broken}")
        soon = deadline.within(SEARCH_SECONDS)
        late: tuple[Hit, ...] | Unavailable = Unavailable("timeout", f"no results in {SEARCH_SECONDS:g} s")

        def ask() -> tuple[Hit, ...] | Unavailable:
            return side_by_side([partial(searcher.search, query, soon)], soon, late)[0]

        return self.cache.hits(["search", searcher.name, query], ask)

    def _passages(self, query: str, hits: Sequence[Hit], deadline: Deadline, steps: list[Step]) -> list[Passage]:
        """The passages of the hits' documents, the best first; a page that cannot be had is its excerpt."""
        whole = [Passage(hit.text, hit.url, hit.title, hit.score) for hit in hits if hit.score is not None]
        if whole:
            return whole
        distinct = list({hit.url: hit for hit in hits}.values())
        asked = distinct[:MOST_PAGES]
        late: tuple[str | Unavailable, str] = (_LATE, "")
        texts = side_by_side([partial(self._text, hit.url, deadline) for hit in asked], deadline, late)
        for hit, (text, _) in zip(asked, texts, strict=True):
            if text is _LATE:  # it may never be done, and a recording is to hold all outcomes
                self.cache.page(["page", hit.url], lambda: _LATE)
        steps += [_step(hit.url, text, note) for hit, (text, note) in zip(asked, texts, strict=True)]
        read = {hit.url: text for hit, (text, _) in zip(asked, texts, strict=True) if isinstance(text, str)}
        pieces = (
            Passage(piece, hit.url, hit.title)
            for hit in distinct
            for piece in islice(passages_of(read.get(hit.url, hit.text)), PASSAGES_A_PAGE)
        )
        return ranked(query, list(pieces))

    def _text(self, url: str, deadline: Deadline) -> tuple[str | Unavailable, str]:
        page = self.cache.page(["page", url], partial(self.fetcher.fetch, url, deadline))
        return (page, "") if isinstance(page, Unavailable) else (text_of(page), page.note)


def open_retriever(source: str, cache: Cache, folders: Sequence[Path] = ()) -> Retriever:
    """A retriever over one of SOURCES, or over the SearXNG instance whose URL `source` is.

    `auto` and a URL ask the web and, where that finds nothing, the documentation on this machine.
    Raises ValueError for another word and for a URL that names no host.
    """
    web = Web()
    docs = Documentation(cache.folder, tuple(folder.absolute() for folder in folders))
    if source.startswith(("http://", "https://")):
        place = place_of(source)
        if isinstance(place, Unavailable):
            raise ValueError(f"{source!r} {place.detail}")
        return Retriever((Searxng(source, Web(trusting(place.host))), docs), web, cache)
    searchers: dict[str, tuple[Searcher, ...]] = {
        "auto": (DuckDuckGo(web), docs),
        "duckduckgo": (DuckDuckGo(web),),
        "ddgs": (Ddgs(),),
        "docs": (docs,),
    }
    if source not in searchers:
        raise ValueError(f"{source!r} is not one of {', '.join(SOURCES)} or the URL of a SearXNG instance")
    return Retriever(searchers[source], web, cache)


def _step(asked: str, found: object, note: str = "") -> Step:
    """What came of asking; its words are the web's in part, and people see them on a terminal."""
    if isinstance(found, Unavailable):
        return Step(harmless(asked), found.reason, harmless(found.detail))
    return Step(harmless(asked), FOUND, harmless(note))
