"""What a retrieval is made of. What did not work is a value too: `Unavailable`, with a reason for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "empty",  # it answered, and has nothing
    "blocked",  # it refuses us: HTTP 202, 403 or 429
    "captcha",  # it wants to know whether we are human
    "timeout",
    "unknown-host",  # the name has no address: no network, or no such name
    "unreachable",  # nobody answers there, or the answer breaks off
    "proxy",  # only a proxy may go out, and it would choose the address itself
    "tls",  # the certificate is not that of the name
    "not-public",  # the address is of this machine or of a private network
    "bad-url",  # neither http nor https, another port, or malformed
    "robots",  # the site asks programs to stay away
    "redirects",
    "status",  # any other HTTP status than success
    "too-large",
    "bomb",  # small as sent and too large when unpacked
    "damaged",  # cannot be unpacked
    "type",  # not text: a PDF, a picture
    "no-text",  # a page without any text to read
    "not-installed",
    "breaker",  # it has failed before in this run and is not asked again
    "disk",  # the cache cannot be read or written
]
FOUND: Literal["found"] = "found"
Outcome = Reason | Literal["found"]


def storable(text: str) -> str:
    """`text` without halves of characters, which pages, docstrings and file names may hold and no file takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class Unavailable:
    """Nothing was got. `reason` is one stable word, `detail` a sentence for people."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True)
class Hit:
    """One result of a search. `text` is the search engine's excerpt; where there is a `score`, BM25's, it is the
    whole matter and nothing is to be fetched."""

    title: str
    url: str
    text: str
    score: float | None = None


@dataclass(frozen=True)
class Page:
    """The text of a document as it was served. `note` says what had to be put right, such as its charset."""

    url: str
    media_type: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class Passage:
    """A piece of a document. `score` is BM25's, comparable within one retrieval only."""

    text: str
    url: str
    title: str
    score: float = 0.0


@dataclass(frozen=True)
class Step:
    """One thing that was asked, a search engine by name or a page by its address, and what came of it."""

    asked: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Retrieval:
    """A query and all that came of it. `source` is the searcher that answered, empty where none did.

    `outcome` is that of the last searcher asked; `seconds` is wall time.
    """

    query: str
    source: str
    outcome: Outcome
    hits: tuple[Hit, ...]
    passages: tuple[Passage, ...]
    steps: tuple[Step, ...]
    seconds: float
