"""The same question with the same seed gets the same answer in every arm: common random numbers.

A server between the runs and the model's server. It keeps each answer on disk and gives it to whoever asks the
same, to the byte. Two arms then differ by what they do and not by chance, and what they have in common is
computed once. How long an answer took is known only to the run that it was drawn for.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_SHARED = "/chat/completions"
_NOT_PASSED_ON = frozenset(
    ["connection", "transfer-encoding", "content-length", "host", "keep-alive", "date", "server"]
)
_LONGEST_ANSWER = 4 * 3600.0  # seconds


@dataclass(frozen=True)
class _Answered:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@contextmanager
def shared_answers(url: str, folder: Path) -> Iterator[str]:
    """Stand before the server at `url`; yields the URL to ask instead. Answers are kept in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(url, folder))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{urlsplit(url).path}"
    finally:
        server.shutdown()
        server.server_close()


def _handler(url: str, folder: Path) -> type[BaseHTTPRequestHandler]:
    # Who asks what another is being answered waits for that answer.
    asked: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._give(self._fetched(b""))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if not self.path.endswith(_SHARED):
                self._give(self._fetched(body))
                return
            name = hashlib.sha256(body).hexdigest()
            with asked[name]:
                kept = folder / f"{name}.json"
                if kept.exists():
                    answered = _Answered(200, (("Content-Type", "application/json"),), kept.read_bytes())
                else:
                    answered = self._fetched(body)
                    if answered.status == 200:
                        partial = kept.with_suffix(f".{os.getpid()}")
                        partial.write_bytes(answered.body)
                        os.replace(partial, kept)
            self._give(answered)

        def _fetched(self, body: bytes) -> _Answered:
            there = urlsplit(url)
            kind = http.client.HTTPSConnection if there.scheme == "https" else http.client.HTTPConnection
            connection = kind(there.netloc, timeout=_LONGEST_ANSWER)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
            try:
                connection.request(self.command, self.path, body or None, headers)
                answer = connection.getresponse()
                return _Answered(answer.status, tuple(answer.getheaders()), answer.read())
            except (OSError, http.client.HTTPException) as error:
                return _Answered(502, (("Content-Type", "text/plain"),), f"{url}: {error}".encode())
            finally:
                connection.close()

        def _give(self, answered: _Answered) -> None:
            self.send_response(answered.status)
            for name, value in answered.headers:
                if name.lower() not in _NOT_PASSED_ON:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answered.body)))
            self.end_headers()
            self.wfile.write(answered.body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing of single requests."""

    return Handler
