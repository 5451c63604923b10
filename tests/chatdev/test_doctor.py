"""The doctor against loopback servers whose log-probs are raw, processed, missing or made up."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from camel.messages import Message, Sampling
from camel.models import verdicts
from camel.models.model import ContextOverflow
from camel.models.open import open_model
from camel.models.openai_api import OpenAIModel
from chatdev import doctor
from chatdev.__main__ import dispatch
from retrieval.records import Unavailable as Unreached
from retrieval.searching import DuckDuckGo
from sandbox import Unavailable
from uq.token_uncertainty import token_uncertainty

LOGITS = {" a": 2.0, " cat": 1.6, " dog": 1.1, " bird": -1.0}
Kind = Callable[[float, int], dict[str, float]]


def softmax(temperature: float) -> dict[str, float]:
    total = math.log(sum(math.exp(logit / temperature) for logit in LOGITS.values()))
    return {word: logit / temperature - total for word, logit in LOGITS.items()}


def raw(temperature: float, calls: int) -> dict[str, float]:
    """A prompt that is not yet in the cache is off by 0.02, as in llama.cpp."""
    return {word: logprob - (0.02 if calls < 2 else 0.0) for word, logprob in softmax(1.0).items()}


def processed(temperature: float, calls: int) -> dict[str, float]:
    return softmax(temperature)


def restless(temperature: float, calls: int) -> dict[str, float]:
    return {word: logprob - 0.01 * (calls % 7) for word, logprob in softmax(1.0).items()}


def without(temperature: float, calls: int) -> dict[str, float]:
    return {}


def floored(temperature: float, calls: int) -> dict[str, float]:
    return dict.fromkeys(LOGITS, -9999.0)


def certain(temperature: float, calls: int) -> dict[str, float]:
    return {" a": 0.0}


class Server(ThreadingHTTPServer):
    """Always says " a"; `kind` gives the log-probs, and `uncounted` more tokens are counted than shown."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kind: Kind = raw
        self.uncounted = 0
        self.calls: dict[str, int] = {}
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        question = request["messages"][-1]["content"]
        self.calls[question] = self.calls.get(question, 0) + 1
        logprobs = self.kind(request["temperature"], self.calls[question])
        length = request["max_tokens"]
        top = [{"token": word, "logprob": value} for word, value in logprobs.items()]
        records = [{"token": " a", "logprob": logprobs.get(" a"), "top_logprobs": top}] * length
        return {
            "choices": [
                {
                    "message": {"role": "assistant", "content": " a" * length},
                    "finish_reason": "length",
                    "logprobs": {"content": records} if logprobs else None,
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": length + self.uncounted},
        }


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(self.server.reply(request)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    for name in ("OPENAI_API_KEY", "BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UA_CHATDEV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sandbox.available", lambda: None)
    monkeypatch.setattr(DuckDuckGo, "search", lambda *asked: ())
    served = Server()
    threading.Thread(target=served.serve_forever, args=(0.05,), daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


@pytest.fixture
def examine(server: Server, capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[int, dict[str, str]]]:
    """Runs the doctor; returns its exit code and its lines by what they are about."""

    def run() -> tuple[int, dict[str, str]]:
        code = dispatch(["doctor", "--model", "openai:m", "--base-url", server.url])
        lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
        return code, {subject: f"{state} {text}" for state, subject, text in lines}

    return run


Examine = Callable[[], tuple[int, dict[str, str]]]


def kind_of_an_answer(server: Server) -> tuple[str, Any]:
    model = open_model("openai:m", base_url=server.url)
    answer = model.answer([Message("user", "x")], Sampling(0.2, max_tokens=30))[0]
    model.close()
    return answer.logprob_kind, token_uncertainty(answer)


def test_all_is_well(examine: Examine) -> None:
    code, lines = examine()
    assert code == 0
    assert lines["log-probs"].startswith("ok raw: ' a' has -0.7")
    assert lines["model"].startswith("ok m writes 64 tokens in ")
    assert lines["tokens"] == "ok 64 log-probs for 64 tokens"
    assert lines["evidence"] == "ok u = 0.775; 0 of 64 tokens exactly certain, 0 floored"
    assert lines["retrieval"].startswith("ok the web can be searched, and the documentation on this machine can")
    assert lines["sandbox"].startswith("ok") and lines["cache"].startswith("ok") and "GB free" in lines["disk"]


def test_no_web_is_no_hindrance(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDuckGo, "search", lambda *asked: Unreached("unknown-host", "no network"))
    code, lines = examine()
    assert code == 0
    assert lines["retrieval"].startswith(
        "doubt the web cannot be searched (unknown-host: no network); the documen"
    )


def test_verdict_is_used_by_later_runs(server: Server, examine: Examine) -> None:
    assert kind_of_an_answer(server)[0] == "unknown"
    examine()
    assert kind_of_an_answer(server)[0] == "raw"
    assert verdicts.recall(server.url + "/", "m") == "raw"
    assert verdicts.recall(server.url, "another") == verdicts.recall("http://elsewhere/v1", "m") == "unknown"
    server.kind = processed
    examine()
    kind, measured = kind_of_an_answer(server)
    assert (kind, measured.reason) == ("processed", "processed")


def test_processed_log_probs_are_named_with_the_remedy(server: Server, examine: Examine) -> None:
    server.kind = processed
    code, lines = examine()
    assert code == 0 and lines["log-probs"].startswith("doubt processed: ")
    assert "--logprobs-mode raw_logprobs" in lines["log-probs"]


def test_server_without_log_probs_still_runs_the_chain(server: Server, examine: Examine) -> None:
    server.kind = without
    code, lines = examine()
    assert code == 0 and "gives none" in lines["log-probs"] and "evidence" not in lines
    assert verdicts.recall(server.url, "m") == "unknown"


def test_floors_are_not_taken_for_probabilities(server: Server, examine: Examine) -> None:
    server.kind = floored
    code, lines = examine()
    assert code == 0 and lines["log-probs"].startswith("doubt unknown")
    assert lines["evidence"].startswith("doubt u = inf; 0 of 64 tokens exactly certain, 64 floored. ")


def test_certain_tokens_are_doubted(server: Server, examine: Examine) -> None:
    server.kind = certain
    _, lines = examine()
    assert lines["evidence"].startswith("doubt u cannot be measured: 64 of 64 tokens are reported as certain")
    assert lines["log-probs"].startswith("doubt unknown")


def test_numbers_that_change_by_themselves_prove_nothing(server: Server, examine: Examine) -> None:
    server.kind = restless
    _, lines = examine()
    assert lines["log-probs"].startswith("doubt unknown: ' a' has -0.7")


@pytest.mark.parametrize(("uncounted", "state"), [(1, "ok"), (2, "doubt")])
def test_tokens_that_are_not_shown_are_missed(
    server: Server, examine: Examine, uncounted: int, state: str
) -> None:
    server.uncounted = uncounted
    assert examine()[1]["tokens"].startswith(f"{state} 64 log-probs for {64 + uncounted} tokens")


def test_unusable_model_is_exit_code_3(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(["--model", "no-such-model"]) == 3
    said = capsys.readouterr().out
    assert "fails  model      There is no model 'no-such-model'. Choose one of" in said
    assert said.endswith("A run would not work.\n")


def test_a_window_too_small_for_a_question_is_exit_code_3(
    server: Server, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long(*_: Any) -> Any:
        raise ContextOverflow("the request exceeds the context size (32 tokens)", 32)

    monkeypatch.setattr(OpenAIModel, "answer", too_long)
    code, lines = examine()
    assert (code, lines["model"]) == (3, "fails the request exceeds the context size (32 tokens)")


def test_quantizing_is_for_models_that_are_loaded_here(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor.main(["--model", "openai:m", "--base-url", server.url, "--quantize"]) == 3
    assert "Only hf: models are quantized on loading, not openai:m" in capsys.readouterr().out
    pytest.importorskip("torch", reason="the transformers engine needs torch, which is not installed")
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    assert doctor.main(["--model", f"hf:{tmp_path}", "--quantize"]) == 3
    assert "needs bitsandbytes, which is not installed" in capsys.readouterr().out


def test_missing_sandbox_is_exit_code_2(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.available", lambda: Unavailable("No bubblewrap. Install it."))
    code, lines = examine()
    assert (code, lines["sandbox"]) == (2, "fails No bubblewrap. Install it.")


def test_full_disk_is_exit_code_2(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_FREE", 1e18)
    code, lines = examine()
    assert code == 2 and "Make room" in lines["disk"]


def test_a_cache_is_looked_at_whatever_it_is(
    server: Server, examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "cache" / "models"
    models.mkdir(parents=True)
    (models / "gone").symlink_to(tmp_path / "nowhere")
    (models / "model.gguf").touch()
    os.truncate(models / "model.gguf", 2 * 10**8)
    assert examine()[1]["cache"].startswith("ok 0.2 GB of models in ")
    monkeypatch.setenv("UA_CHATDEV_CACHE", str(models / "model.gguf" / "cache"))
    code, lines = examine()
    assert code == 0 and lines["cache"].startswith("doubt ") and "Set UA_CHATDEV_CACHE" in lines["cache"]
    assert "could not be kept for later runs" in lines["log-probs"]


def test_damaged_verdicts_are_written_anew(server: Server, examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    for damaged in ("{", "[]", '{"x": 1}'):
        (tmp_path / "cache" / "logprob_kinds.json").write_text(damaged)
        assert verdicts.recall(server.url, "m") == "unknown"
    examine()
    assert verdicts.recall(server.url, "m") == "raw"


def test_help_lists_the_commands() -> None:
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "chatdev", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=ascii_only)
    assert "validate" in shown.stdout and "doctor" in shown.stdout and "run.py" in shown.stdout
