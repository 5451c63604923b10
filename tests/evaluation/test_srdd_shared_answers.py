"""Arms that ask the same share the answer."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evaluation.srdd.__main__ import BAD_ARGUMENTS, main
from evaluation.srdd.shared_answers import shared_answers

NOBODY = "http://127.0.0.1:9/v1"


class Upstream:
    """A model's server that answers each question with how many it has heard, slowly, or refuses."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.status = 200
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                upstream.heard.append((self.path, body))
                answer = json.dumps({"heard": len(upstream.heard)}).encode()
                threading.Event().wait(0.05)
                self.send_response(upstream.status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    one = Upstream()
    threading.Thread(target=one.server.serve_forever, daemon=True).start()
    yield one
    one.server.shutdown()
    one.server.server_close()


def asked(url: str, question: str, path: str = "/chat/completions") -> Any:
    request = urllib.request.Request(f"{url}{path}", question.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def test_the_same_question_is_answered_once_also_when_it_is_asked_twice_at_a_time(
    upstream: Upstream, tmp_path: Path
) -> None:
    with shared_answers(upstream.url, tmp_path) as url, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda question: asked(url, question), ["same", "same", "same", "same"]))
        assert answers == [{"heard": 1}] * 4
        assert asked(url, "another") == {"heard": 2}
    assert [path for path, _ in upstream.heard] == ["/v1/chat/completions"] * 2


def test_answers_are_kept_for_the_next_sitting(upstream: Upstream, tmp_path: Path) -> None:
    for _ in range(2):
        with shared_answers(upstream.url, tmp_path) as url:
            assert asked(url, "same") == {"heard": 1}


def test_what_is_no_answer_is_passed_on_and_not_kept(upstream: Upstream, tmp_path: Path) -> None:
    with shared_answers(upstream.url, tmp_path) as url:
        upstream.status = 503
        with pytest.raises(urllib.error.HTTPError, match="503"):
            asked(url, "same")
        upstream.status = 200
        assert asked(url, "same") == {"heard": 2}
        assert asked(url, "x", "/tokenize") == {"heard": 3}
        assert asked(url, "x", "/tokenize") == {"heard": 4}
        with urllib.request.urlopen(f"{url}/models", timeout=10) as response:
            assert json.load(response) == {"heard": 5}


def test_a_server_that_went_away_is_a_bad_gateway(tmp_path: Path) -> None:
    with (
        shared_answers("http://127.0.0.1:9/v1", tmp_path) as url,
        pytest.raises(urllib.error.HTTPError, match="502"),
    ):
        asked(url, "same")


@pytest.mark.parametrize("arguments", [["--model", "scripted:x.json"], ["--scheduler", "tcp://127.0.0.1:9"]])
def test_where_answers_cannot_be_shared_it_is_said_before_anything_runs(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    server = ["--base-url", "http://127.0.0.1:9/v1", "--model", "openai:m"] if "--scheduler" in arguments else []
    assert (
        main(["generate", "--out", str(tmp_path / "out"), "--share-answers", *server, *arguments]) == BAD_ARGUMENTS
    )
    assert "--share-answers" in capsys.readouterr().err


def test_a_server_behind_tls_is_asked_through_tls(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    class Secret(http.client.HTTPConnection):
        def __init__(self, host: str, **settings: Any) -> None:
            made.append(host)
            super().__init__(host, **settings)

    monkeypatch.setattr(http.client, "HTTPSConnection", Secret)
    with shared_answers(upstream.url.replace("http:", "https:"), tmp_path) as url:
        assert asked(url, "same") == {"heard": 1}
    assert made == [f"127.0.0.1:{upstream.server.server_port}"]
