"""What was found, quoted in a prompt so that it can only be read as data.

A page may hold sentences that give orders, a fence's end that is none, marks by which chat formats part their
turns, and characters that nobody sees. The nonce is what a page cannot know.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Sequence

from retrieval.records import Passage

MOST_CHARACTERS = 6000
_SOURCE_CHARACTERS = 200
_FENCE = re.compile(r"\[\s*(/?)\s*(REFERENCE)", re.IGNORECASE)
_TURN = re.compile(r"<(?=[|｜]|<?/?(?:s|sys|info|think|(?:start|end)_of_turn)>)|\[(?=/?INST\])", re.IGNORECASE)
# Blank to the eye although Unicode does not call them format characters.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"


def new_nonce() -> str:
    """A word that no page can have foreseen."""
    return secrets.token_hex(6)


def fenced(passages: Sequence[Passage], nonce: str) -> str:
    """The passages between marks that carry `nonce`, each with its source, in at most MOST_CHARACTERS."""
    blocks: list[str] = []
    left = MOST_CHARACTERS
    for passage in passages:
        source = " ".join(harmless(f"{passage.title} <{passage.url}>").split())[:_SOURCE_CHARACTERS]
        block = f"[REFERENCE {nonce}] {source}\n{harmless(passage.text)[:left]}\n[/REFERENCE {nonce}]"
        left -= len(block)
        blocks.append(block)
        if left <= 0:
            break
    return "\n".join(blocks)


def harmless(text: str) -> str:
    """`text` without characters nobody sees, and with forged fences and chat formats' marks broken."""
    composed = unicodedata.normalize("NFC", text)
    seen = "".join(character for character in composed if _visible(character))
    return _TURN.sub(lambda mark: f"{mark[0]} ", _FENCE.sub(r"(\1\2", seen))


def _visible(character: str) -> bool:
    if character in "\n\t":
        return True
    return unicodedata.category(character) not in ("Cc", "Cf", "Co", "Cs", "Cn") and character not in _BLANK
