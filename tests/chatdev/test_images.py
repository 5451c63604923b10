"""Pictures of an Art company: drawn here, asked of a server only where one was named, and never lost."""

from __future__ import annotations

import base64
import json
import struct
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from chatdev import images
from chatdev.cli import main
from journal import read
from journal.events import Drawn, Noted

Play = Any  # the fixtures of conftest.py
Tools = Any
REPLY = """Here they are:
1. `Sun.png`: a yellow sun
- moon.png - the moon at night
assets/sky.png：a blue sky
hero.jpg: no"""
ART_SCRIPT = {
    "Coding": "main.py\n```python\nprint(1)\n```\n",
    "ArtDesign": "sun.png: a yellow sun\nmoon.png: the moon",
    "ArtIntegration": "main.py\n```python\nopen('sun.png').close()\nopen('star.png').close()\n```\n",
}


def pixels(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and the decompressed rows of a PNG file whose checksums are right."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place, data, size = 8, b"", (0, 0)
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        chunk = png[place + 4 : place + 8 + length]
        assert struct.unpack(">I", png[place + 8 + length : place + 12 + length]) == (zlib.crc32(chunk),)
        if chunk[:4] == b"IHDR":
            size = struct.unpack(">II", chunk[4:12])
        data += chunk[4:] if chunk[:4] == b"IDAT" else b""
        place += 12 + length
    return size[0], size[1], zlib.decompress(data)


def test_lines_of_names_and_descriptions_are_pictures() -> None:
    assert images.proposed(REPLY) == {
        "sun.png": "a yellow sun",
        "moon.png": "the moon at night",
        "assets/sky.png": "a blue sky",
    }


def test_pictures_are_mentioned_by_file_names_in_quotes_and_not_by_addresses() -> None:
    source = "load('sun.png'); url(a/b.png) # moon.png\nget('https://example.org/sky.png')"
    assert images.mentioned([source, 'x = "sun.png"']) == ["sun.png", "a/b.png"]


def test_a_placeholder_is_a_picture_that_looks_the_same_for_the_same_words_only() -> None:
    png = images.placeholder("a yellow sun ☀")
    width, height, rows = pixels(png)
    assert (width, height, len(rows)) == (256, 256, 256 * (256 * 4 + 1))
    assert len(set(rows)) > 2
    assert "a yellow sun ☀".encode() in png
    assert png == images.placeholder("a yellow sun ☀") != images.placeholder("the moon")


@pytest.fixture
def art(tmp_path: Path, tools: Tools) -> list[str]:
    chain = ["Coding", tools.composed("Art", 1, "ArtDesign", "ArtIntegration")]
    model = tools.script_file(tmp_path / "script.json", ART_SCRIPT)
    company = tools.write_company(tmp_path / "company", chain)
    return ["--config", str(company), "--model", model, "--warehouse", str(tmp_path / "warehouse"), "--uq", "off"]


def product_of(tmp_path: Path) -> Path:
    (product,) = (tmp_path / "warehouse").iterdir()
    return product


def test_pictures_that_are_proposed_or_spoken_of_lie_in_the_product_before_it_is_run(
    tmp_path: Path, art: list[str]
) -> None:
    assert main(art) == 0
    product = product_of(tmp_path)
    for name in ("sun.png", "moon.png", "star.png"):
        pixels((product / name).read_bytes())
    meta = (product / "meta.txt").read_text()
    assert "Proposed_images:\n2\n" in meta and "Incorporated_images:\n1\n" in meta


def test_other_companies_draw_nothing(play: Play) -> None:
    played = play(["Coding"], {"Coding": "main.py\n```python\nname = 'sun.png'\n```\n"})
    assert played.events(Drawn) == [] and not (played.folder / "product" / "sun.png").exists()


def test_nobody_is_asked_to_use_pictures_where_there_are_none(play: Play, tools: Tools) -> None:
    chain = ["Coding", tools.composed("Art", 1, "ArtDesign", "ArtIntegration")]
    assert play(chain, {**ART_SCRIPT, "ArtDesign": "No pictures."}).talker.phases == ["Coding", "ArtDesign"]


def test_names_that_no_file_may_have_are_not_drawn(play: Play) -> None:
    names = ("../up.png", "/tmp/trap_of_a_test.png", f"{'long' * 100}.png")
    asked: list[str] = []

    def paint(description: str) -> bytes:
        asked.append(description)
        return b""

    played = play(["ArtDesign"], {"ArtDesign": "".join(f"{name}: a trap\n" for name in names)}, painter=paint)
    assert asked == [] and len(played.events(Noted)) == len(names)
    assert not list(played.folder.rglob("*.png")) and not Path("/tmp/trap_of_a_test.png").exists()


def test_a_picture_that_was_given_is_neither_drawn_nor_spoken_of(play: Play, tmp_path: Path) -> None:
    (tmp_path / "product").mkdir()
    (tmp_path / "product" / "sun.png").write_bytes(b"mine")
    played = play(["ArtDesign"], {"ArtDesign": "sun.png: a yellow sun"})
    assert played.events(Drawn) == played.events(Noted) == []
    assert (tmp_path / "product" / "sun.png").read_bytes() == b"mine"


class ImageServer(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(f"{self.path} {body['prompt']}")
        fails = "moon" in body["prompt"]
        png = base64.b64encode(b"\x89PNG from the server").decode()
        reply = json.dumps(
            {"error": {"message": "no moon"}} if fails else {"created": 1, "data": [{"b64_json": png}]}
        )
        self.send_response(400 if fails else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(reply.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Stay silent."""


@pytest.fixture
def image_server() -> Iterator[str]:
    ImageServer.asked.clear()
    server = HTTPServer(("127.0.0.1", 0), ImageServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_a_server_is_asked_only_where_it_is_named_and_may_fail(
    tmp_path: Path, art: list[str], image_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASE_URL", image_server)
    main(art)
    assert ImageServer.asked == []
    main([*art, "--image-url", image_server, "--name", "Second"])
    assert ImageServer.asked == [f"/v1/images/generations {what}" for what in ("a yellow sun", "the moon", "star")]
    product = next(folder for folder in (tmp_path / "warehouse").iterdir() if folder.name.startswith("Second"))
    assert (product / "sun.png").read_bytes() == b"\x89PNG from the server"
    pixels((product / "moon.png").read_bytes())
    drawn = [event for event in read(product / "journal.jsonl") if isinstance(event, Drawn)]
    assert ["no moon" in event.placeholder for event in drawn] == [False, True, False]


def test_a_resumed_run_has_its_pictures_back_without_asking_again(
    tmp_path: Path, art: list[str], image_server: str
) -> None:
    main([*art, "--image-url", image_server])
    product = product_of(tmp_path)
    asked = len(ImageServer.asked)
    lines = (product / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (product / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    assert main(["--resume", str(product)]) == 0
    assert len(ImageServer.asked) == asked
    assert (product / "sun.png").read_bytes() == b"\x89PNG from the server"
