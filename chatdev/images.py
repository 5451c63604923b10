"""Pictures of a product: proposed in words, drawn here as placeholders, or by an image server that somebody named.

A placeholder is a square pattern of one colour on a transparent ground, the same for the same name, so that
one picture can be told from another on the screen. Its description stands in the file.
"""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import zlib
from collections.abc import Callable, Iterable

from camel.models.openai_api import client

SIZE = 256  # pixels, in both directions
_CELLS = 8
_LINE = re.compile(r"^[\s\d.)*`-]*([\w./-]+\.png)[`*\"']*\s*[:：-]\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)
_MENTION = re.compile(r"[\"'(]((?:[\w-]+/)*[\w-]+\.png)[\"')]", re.IGNORECASE)

Painter = Callable[[str], bytes]
"""Gives a PNG file for a description. Raises NoPicture."""


class NoPicture(Exception):
    """A server did not draw; the message says why."""


def proposed(text: str) -> dict[str, str]:
    """The pictures of a reply: lines of a name, a colon and a description."""
    return {name.lower(): description for name, description in _LINE.findall(text)}


def mentioned(sources: Iterable[str]) -> list[str]:
    """The PNG files that source texts name between quotes or brackets, each once."""
    return list(dict.fromkeys(name for source in sources for name in _MENTION.findall(source)))


def placeholder(description: str) -> bytes:
    """A PNG file drawn from nothing but the `description`."""
    seed = hashlib.sha256(description.encode("utf-8", "replace")).digest()
    colour = bytes(64 + byte // 2 for byte in seed[:3]) + b"\xff"
    half = [
        [seed[4 + (row * _CELLS // 2 + column) % 28] % 2 for column in range(_CELLS // 2)] for row in range(_CELLS)
    ]
    cell = SIZE // _CELLS
    rows = []
    for row in half:
        line = b"".join((colour if filled else bytes(4)) * cell for filled in (*row, *reversed(row)))
        rows.append((b"\x00" + line) * cell)
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    said = b"Description\x00\x00\x00\x00\x00" + description.encode("utf-8", "replace")
    chunks = ((b"IHDR", header), (b"iTXt", said), (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def server_painter(url: str) -> Painter:
    """A painter that asks the OpenAI-compatible image server at `url`, with the key of OPENAI_API_KEY.

    Raises ModelUnusable when the settings cannot work; makes no call.
    """
    server = client(url, timeout=300.0, flag="--image-url")

    def paint(description: str) -> bytes:
        import openai

        try:
            reply = server.images.generate(
                prompt=description, n=1, size=f"{SIZE}x{SIZE}", response_format="b64_json"
            )
            data = base64.b64decode((reply.data or [])[0].b64_json or "")
        except (openai.APIError, LookupError, ValueError) as error:
            raise NoPicture(str(error)) from error
        if not data.startswith(b"\x89PNG"):
            raise NoPicture("the server sent no PNG file")
        return data

    return paint
