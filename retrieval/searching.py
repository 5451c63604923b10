"""Search engines of the web. Found, empty, blocked, captcha and out of reach are different outcomes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

from retrieval.deadline import Deadline
from retrieval.records import Hit, Page, Unavailable, storable

MOST_HITS = 8

Hits = tuple[Hit, ...]


class Asking(Protocol):
    """What a search engine is reached through; `web.Web` is one."""

    def ask(self, url: str, form: dict[str, str] | None, deadline: Deadline) -> Page | Unavailable:
        """The answer to a form, posted, or to the query in the URL."""
        ...


class Searcher(Protocol):
    """Something that can be searched. `online` means that it may be out of reach."""

    @property
    def name(self) -> str: ...

    @property
    def online(self) -> bool: ...

    def search(self, query: str, deadline: Deadline) -> Hits | Unavailable:
        """At least one hit, the best first, or why there is none."""
        ...


@dataclass(frozen=True)
class DuckDuckGo:
    """The HTML results of DuckDuckGo, without its advertisements."""

    web: Asking
    url: str = "https://html.duckduckgo.com/html/"
    name: str = "duckduckgo"
    online: bool = True

    def search(self, query: str, deadline: Deadline) -> Hits | Unavailable:
        """At most MOST_HITS results."""
        page = self.web.ask(self.url, {"q": query, "kl": "wt-wt"}, deadline)
        if isinstance(page, Unavailable):
            return page
        from bs4 import BeautifulSoup

        soup = BeautifulSoup(page.text, "lxml")
        hits = []
        for result in soup.select(".result"):
            link = result.select_one("a.result__a")
            url = _target(str(link.get("href", ""))) if link else ""
            if link and url:
                excerpt = result.select_one(".result__snippet")
                hits.append(Hit(_line(link.get_text()), url, _line(excerpt.get_text()) if excerpt else ""))
        if hits:
            return tuple(hits[:MOST_HITS])
        if soup.select_one("[class*=anomaly], [id*=challenge], form[action*=anomaly]"):
            return Unavailable("captcha", "DuckDuckGo asks whether we are human")
        return Unavailable("empty", "DuckDuckGo knows nothing of it")


@dataclass(frozen=True)
class Searxng:
    """A SearXNG instance at `url`, which must have the format json switched on."""

    url: str
    web: Asking
    name: str = "searxng"
    online: bool = True

    def search(self, query: str, deadline: Deadline) -> Hits | Unavailable:
        """At most MOST_HITS results."""
        question = urlencode({"q": query, "format": "json"})
        page = self.web.ask(f"{self.url.rstrip('/')}/search?{question}", None, deadline)
        if isinstance(page, Unavailable):
            return page
        try:
            rows = json.loads(page.text)["results"]
            parts = ((row["title"], row["url"], row.get("content") or "") for row in rows)
            hits = tuple(Hit(_line(title), _line(url), _line(text)) for title, url, text in parts)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return Unavailable("damaged", "the answer is not SearXNG's JSON")
        return hits[:MOST_HITS] or Unavailable("empty", "SearXNG knows nothing of it")


@dataclass(frozen=True)
class Ddgs:
    """DuckDuckGo through the package `ddgs`, which looks like a browser and cannot tell blocked from empty."""

    name: str = "ddgs"
    online: bool = True

    def search(self, query: str, deadline: Deadline) -> Hits | Unavailable:
        """At most MOST_HITS results."""
        try:
            import ddgs
            from ddgs.exceptions import DDGSException, TimeoutException
        except ImportError:
            return Unavailable("not-installed", "pip install ddgs")
        try:
            client = ddgs.DDGS(timeout=math.ceil(deadline.left))
            rows = client.text(query, backend="duckduckgo", max_results=MOST_HITS)
        except TimeoutException as error:
            return Unavailable("timeout", str(error))
        except DDGSException as error:
            # Being blocked looks like "No results" here.
            return Unavailable("empty" if "No results" in str(error) else "unreachable", str(error))
        hits = tuple(Hit(_line(row["title"]), row["href"], _line(row["body"])) for row in rows)
        return hits or Unavailable("empty", "DuckDuckGo knows nothing of it")


def _target(link: str) -> str:
    """Where a result leads to; empty for an advertisement and for what is no link into the web."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    if (parts.hostname or "").endswith("duckduckgo.com"):
        return "".join(parse_qs(parts.query).get("uddg", [])[:1]) if parts.path == "/l/" else ""
    return link if parts.scheme in ("http", "https") else ""


def _line(text: str) -> str:
    return " ".join(storable(text).split())
