"""A small Internet on the loopback interface: a search engine and some sites, reached by an injected resolver."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from retrieval.addresses import Endpoint, public_endpoint
from retrieval.records import Unavailable
from retrieval.web import Web

ENGINE = "html.duckduckgo.com"
SITES = ("docs.test", "other.test", "mirror.test")


@dataclass(frozen=True)
class Served:
    """What a site answers: a status, headers, and a body that may be sent by a function."""

    body: bytes | Callable[[Any], None] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})


@dataclass
class Internet:
    """`pages` by host and path; `asked` has every request, as `GET docs.test/page`, with what was posted."""

    server: ThreadingHTTPServer
    pages: dict[str, Served] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def web(self, pace: float = 0.0) -> Web:
        return Web(self.resolve, pace=pace)

    def resolve(self, host: str, port: int) -> Endpoint | Unavailable:
        """The loopback server for our own names alone; every other host is checked as always."""
        if host in (ENGINE, *SITES):
            return Endpoint(("127.0.0.1",), self.port)
        return public_endpoint(host, port, numbers_only)

    def serve(self, place: str, body: str | bytes | Callable[[Any], None] = b"", **more: Any) -> None:
        self.pages[place] = Served(body.encode() if isinstance(body, str) else body, **more)

    def results(self, *hits: tuple[str, str, str], status: int = 200) -> None:
        """Let the search engine answer with these (title, URL, excerpt)."""
        items = "".join(
            f'<div class="result results_links"><h2><a class="result__a" href="//duckduckgo.com/l/?'
            f'{urlencode({"uddg": url, "rut": "x"})}">{title}</a></h2>'
            f'<a class="result__snippet">{text}</a></div>'
            for title, url, text in hits
        )
        self.serve(f"{ENGINE}/html/", f"<html><body>{items or 'No results.'}</body></html>", status=status)

    @property
    def queries(self) -> list[str]:
        """What the search engine was asked."""
        return [parse_qs(asked.partition("?")[2])["q"][0] for asked in self.asked if asked.startswith("POST ")]


def numbers_only(host: str, port: int, type: int) -> list[Any]:
    """Name resolution without a name server: addresses in any spelling, and no names."""
    return socket.getaddrinfo(host, port, type=type, flags=socket.AI_NUMERICHOST)


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Internet]:
    for variable in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET", "")

        def do_POST(self) -> None:
            posted = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer("POST", f"?{posted}")

        def _answer(self, method: str, posted: str) -> None:
            place = f"{self.headers['Host']}{self.path}"
            world.asked.append(f"{method} {place}{posted}")
            served = world.pages.get(place, Served(b"no such page", 404))
            if callable(served.body):
                served.body(self)
                return
            self.send_response(served.status)
            for name, value in served.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(served.body)))
            self.end_headers()
            self.wfile.write(served.body)

        def log_message(self, *arguments: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing: who is asked for too much is left in the middle of it."""

    server = Server(("127.0.0.1", 0), Handler)
    world = Internet(server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield world
    server.shutdown()
    thread.join()
    server.server_close()
