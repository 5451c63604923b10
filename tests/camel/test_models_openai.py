"""The client against a loopback server that plays what real OpenAI-compatible servers do."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from camel.messages import Answer, Message, Sampling
from camel.models import openai_errors
from camel.models.model import ContextOverflow, ModelUnusable
from camel.models.open import open_model
from camel.models.openai_api import Endpoint, OpenAIModel

HI = [Message("system", "Be brief."), Message("user", "Hi")]
Reply = tuple[int, dict[str, str], Any]


class Server(ThreadingHTTPServer):
    """Gives `replies` in turn, the last one again and again, and keeps the requests' bodies."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: list[Reply | None] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.keys.append(self.headers.get("Authorization"))
        self.server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        replies = self.server.replies
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply is None:
            self.connection.close()
            return
        status, headers, body = reply
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("OPENAI_API_KEY", "BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(openai_errors, "FIRST_PAUSE", 0.01)
    served = Server()
    threading.Thread(target=served.serve_forever, args=(0.05,), daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


def choice(content: str | None, *tokens: tuple[str, float | None], **more: Any) -> dict[str, Any]:
    records = [
        {"token": text, "bytes": list(text.encode()), "logprob": logprob, "top_logprobs": []}
        for text, logprob in tokens
    ]
    message: dict[str, Any] = {
        "role": "assistant",
        "content": content,
        "refusal": None,
        "annotations": [],
        "audio": None,
    }
    return {"message": message, "finish_reason": "stop", "logprobs": {"content": records}, **more}


def completion(*choices: dict[str, Any]) -> Reply:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    return 200, {}, {"choices": list(choices), "usage": usage, "brand_new_field": {"x": 1}}


def error(status: int, message: str, **more: Any) -> Reply:
    return status, {}, {"error": {"message": message, **more}}


OK = completion(choice("Hello there", ("Hello", -0.1), (" there", -0.2)))


def ask(server: Server, **sampling: Any) -> Answer:
    return OpenAIModel("some-model", Endpoint(server.url)).answer(HI, Sampling(**sampling))[0]


def test_answer_carries_its_evidence(server: Server) -> None:
    server.replies = [OK]
    answer = ask(server, temperature=0.3, seed=5, max_tokens=40)
    assert answer.text == "Hello there"
    assert [(token.text, token.logprob) for token in answer.tokens] == [("Hello", -0.1), (" there", -0.2)]
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (9, 2, 4)
    assert (answer.finish_reason, answer.logprob_kind) == ("stop", "unknown")
    sent = server.requests[0]
    assert sent["logprobs"] is True and sent["top_logprobs"] == 5
    assert (sent["temperature"], sent["seed"], sent["max_tokens"]) == (0.3, 5, 40)
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}


def test_unscaled_sampling_makes_log_probs_raw(server: Server) -> None:
    server.replies = [OK]
    assert ask(server, temperature=1.0, top_p=1.0).logprob_kind == "raw"
    assert ask(server, temperature=1.0, top_p=0.9).logprob_kind == "unknown"


def test_sentinels_and_missing_log_probs(server: Server) -> None:
    server.replies = [completion(choice("a b c", ("a", -9999.0), (" b", None), (" c", -0.5)))]
    values = [token.logprob for token in ask(server).tokens]
    assert values[0] == -math.inf and math.isnan(values[1]) and values[2] == -0.5


def test_alternatives_may_be_missing_or_without_a_number(server: Server) -> None:
    records = [
        {"token": "a", "logprob": -0.1},
        {"token": " b", "logprob": -0.2, "top_logprobs": None},
        {"token": " c", "logprob": -0.3, "top_logprobs": [{"token": " d", "logprob": -9999.0}, {"token": " e"}]},
    ]
    server.replies = [completion(choice("a b c", logprobs={"content": records}))]
    first, second, third = ask(server, temperature=1.0).tokens
    assert first.alternatives == second.alternatives == ()
    assert third.alternatives[0] == (" d", -math.inf) and math.isnan(third.alternatives[1][1])


def test_no_log_probs_is_kind_none(server: Server) -> None:
    server.replies = [completion(choice("Hello", logprobs=None))]
    answer = ask(server, temperature=1.0)
    assert (answer.text, answer.tokens, answer.logprob_kind) == ("Hello", (), "none")


def test_tokens_of_another_text_are_kept_but_not_trusted(server: Server) -> None:
    server.replies = [completion(choice("Hello", ("<think>", -0.1), ("Hello", -0.2)))]
    answer = ask(server, temperature=1.0)
    assert len(answer.tokens) == 2 and answer.logprob_kind == "unknown"


def test_end_of_turn_token_belongs_to_the_answer(server: Server) -> None:
    server.replies = [completion(choice("Hello", ("Hello", -0.2), ("<|im_end|>", -0.3)))]
    assert ask(server, temperature=1.0).logprob_kind == "raw"


def test_character_spread_over_tokens_is_joined(server: Server) -> None:
    reply = choice("é!", ("x", -0.1), ("y", -0.2), ("!", -0.3))
    records = reply["logprobs"]["content"]
    records[0].update(token="\\xc3", bytes=[0xC3])
    records[1].update(token="\\xa9", bytes=[0xA9])
    server.replies = [completion(reply)]
    answer = ask(server, temperature=1.0)
    assert [token.text for token in answer.tokens] == ["", "é", "!"] and answer.logprob_kind == "raw"


def test_content_none_is_an_empty_text(server: Server) -> None:
    server.replies = [completion(choice(None, finish_reason=None))]
    answer = ask(server)
    assert (answer.text, answer.finish_reason) == ("", "stop")


def test_rate_limit_waits_as_asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("camel.models.openai_api.time.sleep", pauses.append)
    limited = error(429, "slow down")
    server.replies = [(limited[0], {"Retry-After": "7"}, limited[2]), OK]
    assert ask(server).text == "Hello there"
    assert pauses == [7.0]


def test_hour_long_rate_limit_is_not_waited_for(server: Server) -> None:
    limited = error(429, "come back tomorrow")
    server.replies = [(limited[0], {"Retry-After": "3600"}, limited[2])]
    with pytest.raises(ModelUnusable, match="come back tomorrow"):
        ask(server)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [error(500, "oops"), error(503, "Loading model"), None])
def test_passing_faults_are_tried_again(server: Server, fault: Reply | None) -> None:
    server.replies = [fault, fault, OK]
    assert ask(server).text == "Hello there"
    assert len(server.requests) == 3


def test_lasting_fault_ends_after_bounded_attempts(server: Server) -> None:
    server.replies = [error(500, "broken for good")]
    with pytest.raises(ModelUnusable, match="status 500.*broken for good"):
        ask(server)
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (error(401, "Incorrect API key", code="invalid_api_key"), "refused the key.*OPENAI_API_KEY"),
        (error(404, "model not found", code="model_not_found"), "some-model.*--model"),
        (error(429, "You exceeded your quota", code="insufficient_quota"), "no quota left"),
        (error(400, "messages: wrong roles"), "refused the request.*wrong roles"),
        ((200, {}, "<html>welcome</html>"), "not a chat completion.*--base-url"),
        ((200, {}, {"error": {"message": "upstream died"}}), "upstream died"),
    ],
)
def test_fatal_faults_end_at_once_with_one_sentence(server: Server, fault: Reply, sentence: str) -> None:
    server.replies = [fault]
    with pytest.raises(ModelUnusable, match=sentence) as caught:
        OpenAIModel("some-model", Endpoint(server.url)).check()
    assert len(server.requests) == 1
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (4096, "request (6030 tokens) exceeds the available context size (4096 tokens), try increasing it"),
        (8192, "This model's maximum context length is 8192 tokens. However, you sent 9000 tokens."),
        (4096, "4097 input tokens were passed but the model's context length is only 4096 tokens."),
        (None, "Context size has been exceeded."),
    ],
)
def test_too_long_prompt_is_overflow(server: Server, message: str, window: int | None) -> None:
    server.replies = [error(400, message)]
    model = OpenAIModel("some-model", Endpoint(server.url))
    with pytest.raises(ContextOverflow) as caught:
        model.answer(HI, Sampling(max_tokens=500))
    assert caught.value.window == model.window == window


@pytest.mark.parametrize(
    ("asked_next", "message"),
    [
        (4096, "max_tokens is too large: 5000. This model supports at most 4096 completion tokens."),
        (
            4076,
            "maximum context length is 4096 tokens and your request has 20 input tokens (5000 > 4096 - 20)",
        ),
        (
            3897,
            "maximum context length is 4097 tokens, you requested 5200 (200 in the messages, 5000 in all)",
        ),
    ],
)
def test_too_long_answer_is_asked_for_shorter(server: Server, message: str, asked_next: int) -> None:
    server.replies = [error(400, message), OK]
    assert ask(server, max_tokens=5000).text == "Hello there"
    assert server.requests[1]["max_tokens"] == asked_next


def test_never_asks_for_less_than_one_token(server: Server) -> None:
    server.replies = [OK]
    ask(server, max_tokens=-3)
    assert server.requests[0]["max_tokens"] == 1


def test_learns_what_the_server_refuses(server: Server) -> None:
    model = OpenAIModel("some-model", Endpoint(server.url), top_logprobs=20)
    server.replies = [error(400, "top_logprobs must be less than or equal to 8", param="top_logprobs"), OK]
    model.answer(HI, Sampling())
    assert [sent["top_logprobs"] for sent in server.requests] == [20, 8]
    refused = ("logprobs", "logprobs", "seed")
    server.replies = [*(error(400, f"'{key}' is not supported with this model") for key in refused), OK]
    model.answer(HI, Sampling(seed=1))
    model.answer(HI, Sampling(seed=2))
    assert len(server.requests) == 2 + 4 + 1
    assert not {"logprobs", "top_logprobs", "seed"} & set(server.requests[-1])


def test_newer_name_of_the_length_limit(server: Server) -> None:
    server.replies = [error(400, "'max_tokens' is not supported. Use 'max_completion_tokens' instead."), OK]
    ask(server, max_tokens=7)
    assert server.requests[1]["max_completion_tokens"] == 7 and "max_tokens" not in server.requests[1]


def test_several_answers_from_servers_that_give_all_few_or_one(server: Server) -> None:
    def texts(*replies: Reply) -> tuple[list[str], int]:
        server.replies, before = list(replies), len(server.requests)
        answers = OpenAIModel("m", Endpoint(server.url)).answer(HI, Sampling(n=3, seed=1))
        # A request is paid for once, however many answers it gave.
        assert sum(answer.usage.prompt_tokens for answer in answers) == 9 * len(replies)
        return [answer.text for answer in answers], len(server.requests) - before

    a, b, c = (choice(text) for text in "abc")
    assert texts(completion(a, b, c)) == (["a", "b", "c"], 1)
    assert server.requests[0]["n"] == 3
    assert texts(completion(a), completion(b), completion(c)) == (["a", "b", "c"], 3)
    assert [sent["seed"] for sent in server.requests[-3:]] == [1, 2, 3]


def test_server_that_refuses_several_choices(server: Server) -> None:
    server.replies = [error(400, "Only one completion choice is allowed, n must be 1"), OK]
    answers = OpenAIModel("m", Endpoint(server.url)).answer(HI, Sampling(n=2))
    assert len(answers) == 2 and all("n" not in sent for sent in server.requests[1:])


def test_unreachable_server_is_one_sentence(server: Server) -> None:
    server.replies = [OK]
    with pytest.raises(ModelUnusable, match="Cannot reach http://127.0.0.1:9/.*--base-url"):
        open_model("openai:some-model", base_url="http://127.0.0.1:9/v1")


def test_key_is_cleaned_and_only_openai_needs_one(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnusable, match="OPENAI_API_KEY is not set"):
        open_model("GPT_4")
    monkeypatch.setenv("OPENAI_API_KEY", ' "sk-abc"\n')
    monkeypatch.setenv("BASE_URL", server.url)
    server.replies = [OK]
    model = open_model("GPT_4")
    assert server.keys == ["Bearer sk-abc"]
    assert (model.name, model.window, server.requests[0]["model"]) == ("gpt-4", 8192, "gpt-4")
    assert server.requests[0]["max_tokens"] == 1


def test_proxy_does_not_catch_loopback(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.replies = [OK]
    assert ask(server).text == "Hello there"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "localhost:11434",
            "ftp://host/v1",
            "http://",
            "http://HOST:PORT/v1",
            "http://host:99999/v1",
            "http://[",
        ),
        *("http://host/v1\n", "http://a..b/v1", f"http://{'a' * 64}/v1"),
    ],
)
def test_base_url_that_is_none(url: str) -> None:
    with pytest.raises(ModelUnusable, match="not a web address"):
        OpenAIModel("m", Endpoint(url))


@pytest.mark.parametrize(
    ("specification", "sentence"),
    [
        ("gpt-9", "no model 'gpt-9'.*qwen2.5-coder-1.5b.*openai:NAME.*GPT_4O"),
        ("openai:", "no model"),
        ("hf:", "no model"),
        ("/nowhere/model.gguf", "Cannot read /nowhere/model.gguf"),
        ("scripted:/nowhere.json", "Cannot read the script"),
    ],
)
def test_unknown_specification_names_the_choices(specification: str, sentence: str) -> None:
    with pytest.raises(ModelUnusable, match=sentence):
        open_model(specification)


def test_file_that_is_not_gguf(tmp_path: Any) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("not a model")
    with pytest.raises(ModelUnusable, match="is not a GGUF file"):
        open_model(str(path))


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [None]},
        {"choices": [{"message": "Hello"}]},
        {"choices": [{"message": {"content": [{"type": "text", "text": "Hello"}]}}]},
        {"choices": [choice("Hello", logprobs={"content": [{"token": "Hello", "logprob": "-0.1"}]})]},
        {"choices": [choice("Hello", logprobs={"content": [{"logprob": -0.1}]})]},
        {"choices": [choice("Hello")], "usage": {"prompt_tokens": "many"}},
        {"choices": [choice("Hello", ("Hello", 10**400))]},
        {"choices": [choice("Hello")], "usage": {"prompt_tokens": math.inf}},
        "[" * 100_000,
        ["Hello"],
    ],
)
def test_what_only_resembles_a_completion_is_one_clear_sentence(server: Server, body: Any) -> None:
    server.replies = [(200, {}, body)]
    with pytest.raises(ModelUnusable, match="is not a chat completion"):
        ask(server)


def test_a_retry_after_that_is_a_date_is_waited_for(server: Server) -> None:
    server.replies = [(429, {"Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT"}, {}), OK]
    assert ask(server).text == "Hello there"
