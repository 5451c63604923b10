"""A whole run on a server that gives no log-probs: by default it goes through, on request it stops."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import chatdev.workshop
from chatdev.checkpoint import Verdict
from chatdev.cli import main
from journal import read
from journal.events import Gated, Interrupted, Measured

Tools = Any  # the fixture of conftest.py


@pytest.fixture
def blind_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Refuses log-probs in so many words, as reasoning models do, and programs without them."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            refused = "logprobs" in request
            message = {"role": "assistant", "content": "main.py\n```python\nprint(1)\n```\n"}
            choice = {"message": message, "finish_reason": "stop", "logprobs": None}
            body = {"error": {"message": "logprobs is not supported"}} if refused else {"choices": [choice]}
            data = json.dumps(body).encode()
            self.send_response(400 if refused else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    monkeypatch.setattr(chatdev.workshop, "check", lambda *_, **__: Verdict((), (), "runs", "It runs."))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def run(url: str, tmp_path: Path, tools: Tools, uncertainty: dict[str, str]) -> tuple[int, Path]:
    """Run a company of one phase on the server at `url`. Returns the exit code and the product's folder."""
    company = tools.write_company(tmp_path / "company", ["Coding"], uncertainty)
    arguments = ["--config", str(company), "--warehouse", str(tmp_path / "WareHouse"), "--allow-unsandboxed"]
    code = main(["--task", "print 1", *arguments, "--model", "openai:m", "--base-url", url])
    (folder,) = (tmp_path / "WareHouse").iterdir()
    return code, folder


def test_the_chain_runs_and_the_gate_says_why_it_could_not_measure(
    blind_server: str, tmp_path: Path, tools: Tools, capsys: pytest.CaptureFixture[str]
) -> None:
    code, folder = run(blind_server, tmp_path, tools, {})
    assert code == 0
    assert (folder / "main.py").read_text() == "print(1)\n"
    events = read(folder / "journal.jsonl")
    (measured,) = (event for event in events if isinstance(event, Measured))
    assert measured.action == "unavailable"
    assert measured.reason.startswith("no_logprobs: The engine gave no log-probs")
    (gated,) = (event for event in events if isinstance(event, Gated))
    assert (gated.u_pre, gated.triggered, gated.flagged) == (None, False, False)
    assert "unavailable: no_logprobs" in capsys.readouterr().out


def test_a_company_that_wants_measured_answers_only_is_stopped_with_the_remedy(
    blind_server: str, tmp_path: Path, tools: Tools, capsys: pytest.CaptureFixture[str]
) -> None:
    code, folder = run(blind_server, tmp_path, tools, {"on_unavailable": "stop"})
    assert code == 3
    said = capsys.readouterr().err
    assert "Stopped: The uncertainty of Coding cannot be measured (no_logprobs: The engine gave no" in said
    assert "or set on_unavailable to proceed." in said
    assert isinstance(read(folder / "journal.jsonl")[-1], Interrupted)
    # Whoever changes his mind goes on with what has been answered.
    (folder / "UncertaintyConfig.json").write_text('{"on_unavailable": "proceed"}')
    assert main(["--resume", str(folder), "--allow-unsandboxed"]) == 0
    assert (folder / "main.py").read_text() == "print(1)\n"
