"""The text of a page without what surrounds it, and that text in passages. Code stays as it stands."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator

from retrieval.records import Page, Unavailable

# What they would warn of on a terminal is an outcome here.
warnings.filterwarnings("ignore", module=r"retrieval\.")
for _library in ("trafilatura", "htmldate", "bs4"):
    logging.getLogger(_library).setLevel(logging.CRITICAL)

PASSAGE_CHARACTERS = 1200
_MOST_CODE_BLOCKS = 100  # nested by the thousand they would take minutes
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")
# Whatever starts like a fence ends a block, too: looking further would take quadratic time.
_CODE = re.compile(r"(^```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)
_SURROUNDINGS = (
    "script, style, noscript, template, nav, header, footer, aside, form, svg, [hidden], [aria-hidden=true]"
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def text_of(page: Page) -> str | Unavailable:
    """The readable text of a page, as Markdown where it is HTML."""
    is_html = "html" in page.media_type
    text = (_main_part(page.text) or _all_text(page.text)) if is_html else page.text
    return text.strip() or Unavailable("no-text", "there is nothing to read on the page")


def passages_of(text: str, size: int = PASSAGE_CHARACTERS) -> Iterator[str]:
    """`text` in pieces of at most `size` characters, cut between paragraphs, code blocks whole if they fit."""
    piece = ""
    for block in _blocks(text):
        for part in [block[start : start + size] for start in range(0, len(block), size)]:
            if piece and (len(piece) + len(part) > size or part.startswith("#")):
                yield piece.strip("\n")
                piece = ""
            piece += f"{part}\n\n"
    if piece.strip():
        yield piece.strip("\n")


def _blocks(text: str) -> Iterator[str]:
    for place, part in enumerate(_CODE.split(text)):
        if place % 2:
            yield part
        else:
            yield from (block.strip("\n") for block in re.split(r"\n\s*\n", part) if block.strip())


def _main_part(html: str) -> str:
    """What trafilatura takes for the matter of the page, without the backslashes that it puts into names."""
    import trafilatura

    found = trafilatura.extract(
        html, output_format="markdown", include_comments=False, include_links=False, include_tables=True
    )
    parts = _CODE.split(found or "")
    return "".join(part if place % 2 else _ESCAPED.sub(r"\1", part) for place, part in enumerate(parts))


def _all_text(html: str) -> str:
    """The text of all that is shown, for pages in which trafilatura finds no matter."""
    from bs4 import BeautifulSoup, Comment

    soup = BeautifulSoup(html, "lxml")
    for element in soup.select(_SURROUNDINGS):
        element.decompose()
    for element in soup.find_all(style=_HIDDEN):
        element.decompose()
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for code in soup.find_all("pre", limit=_MOST_CODE_BLOCKS):
        code.replace_with(f"\n\n```\n{code.get_text().strip()}\n```\n\n")
    return re.sub(r"\n\s*\n+", "\n\n", soup.get_text("\n" if not soup.find("p") else ""))
