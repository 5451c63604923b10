"""Any server with OpenAI's chat API: OpenAI itself, vLLM, SGLang, Ollama, llama.cpp.

The client learns from what a server refuses: settings it does not know are left out from then on, and
limits it names are kept. Only what can pass by itself is tried again.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from camel.messages import Answer, LogprobKind, Message, Sampling
from camel.models.model import ContextOverflow, ModelUnusable
from camel.models.openai_answer import answers

if TYPE_CHECKING:
    import openai

OPENAI_URL = "https://api.openai.com/v1"
ATTEMPTS = 6
# Seconds: a server that asks for a longer pause is not waited for.
LONGEST_PAUSE = 300.0


@dataclass(frozen=True)
class Endpoint:
    """Where a model is served, and what is known of it there.

    `window` is in tokens, `timeout` in seconds. `options` go into every request beside the standard ones;
    `choices_at_once` is the most answers one request asks for.
    """

    url: str
    window: int | None = None
    logprob_kind: LogprobKind = "unknown"
    options: Mapping[str, object] = field(default_factory=dict)
    choices_at_once: int = 16
    timeout: float = 900.0


class OpenAIModel:
    """A model behind an OpenAI-compatible server. The key is OPENAI_API_KEY; only OpenAI's own service must
    have one.

    Raises ModelUnusable when the settings cannot work; makes no call.
    """

    def __init__(self, name: str, endpoint: Endpoint, *, top_logprobs: int = 5) -> None:
        self.name = name
        self.url = endpoint.url
        self.window = endpoint.window
        self._endpoint = endpoint
        self._client = client(endpoint.url, endpoint.timeout)
        # What the server has taught: see _learn.
        self._top_logprobs = top_logprobs
        self._choices_at_once = endpoint.choices_at_once
        self._longest_answer: int | None = None
        self._length_setting = "max_tokens"
        self._refused: set[str] = set()

    def check(self) -> None:
        """Make one call of one token. Raises ModelUnusable with what is wrong and what to do about it."""
        self._ask([Message("user", "Hi")], Sampling(max_tokens=1), attempts=3)

    def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
        """Return `sampling.n` answers; see Model.answer. A request's cost stands in its first answer."""
        found: list[Answer] = []
        while len(found) < sampling.n:
            # A later request must not draw the same answers again.
            seed = None if sampling.seed is None else sampling.seed + len(found)
            found += self._ask(messages, replace(sampling, n=sampling.n - len(found), seed=seed), ATTEMPTS)
        return found[: sampling.n]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, messages: Sequence[Message], sampling: Sampling, attempts: int) -> list[Answer]:
        """Return at least one answer and at most `sampling.n`."""
        import openai

        from camel.models import openai_errors

        failures = 0
        while True:
            request = self._request(messages, sampling)
            started = time.monotonic()
            try:
                reply = self._client.chat.completions.with_raw_response.create(**request)
            except openai.APIError as error:
                if isinstance(error, openai.APIStatusError) and (better := self._learn(request, sampling, error)):
                    sampling = better
                    continue
                failures += 1
                seconds = openai_errors.pause(error, failures)
                if failures == attempts or seconds > LONGEST_PAUSE or not openai_errors.may_pass(error):
                    raise openai_errors.unusable(error, self.name, self.url) from error
                time.sleep(seconds)
            else:
                return self._read(reply.text, sampling, time.monotonic() - started)

    def _request(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "logprobs": True,
            "top_logprobs": self._top_logprobs,
        }
        if sampling.seed is not None:
            request["seed"] = sampling.seed
        if (n := min(sampling.n, self._choices_at_once)) > 1:
            request["n"] = n
        if (limit := sampling.max_tokens) is not None:
            request[self._length_setting] = max(1, min(limit, self._longest_answer or limit))
        kept = {key: value for key, value in request.items() if key not in self._refused}
        return {**kept, "extra_body": dict(self._endpoint.options)}

    def _learn(self, request: dict[str, Any], sampling: Sampling, error: openai.APIStatusError) -> Sampling | None:
        """Return how to ask again after a refusal, or None where asking otherwise is of no use.

        Raises ContextOverflow when the prompt alone is too long.
        """
        from camel.models import openai_errors

        said = openai_errors.words(error)
        limit = request.get(self._length_setting)
        if too_long := openai_errors.overflow(error):
            self.window = too_long.window or self.window
            room = (too_long.window or 0) - (too_long.prompt or 0)
            if limit and too_long.prompt and 0 < room < limit:
                return replace(sampling, max_tokens=room)
            raise ContextOverflow(said, self.window)
        if error.status_code not in (400, 422):
            return None
        if limit and (most := re.search(r"at most (\d+)", said)) and int(most[1]) < limit:
            self._longest_answer = int(most[1])
        elif limit and "max_completion_tokens" in said and self._length_setting == "max_tokens":
            self._length_setting = "max_completion_tokens"
        elif "logprobs" in request and "logprobs" in said:
            self._learn_logprobs(said)
        elif "n" in request and re.search(r"\bn(_cmpl)?\b", said):
            self._choices_at_once = 1
        elif refused := [key for key in ("seed", "top_p", "temperature") if key in request and key in said]:
            self._refused.add(refused[0])
        else:
            return None
        return sampling

    def _learn_logprobs(self, said: str) -> None:
        """Ask for fewer alternatives, then for none, then for no log-probs at all."""
        fewer = [int(k) for k in re.findall(r"\b\d+\b", said) if 0 < int(k) < self._top_logprobs]
        if fewer:
            self._top_logprobs = max(fewer)
        else:
            self._refused.add("logprobs" if "top_logprobs" in self._refused else "top_logprobs")

    def _read(self, text: str, sampling: Sampling, seconds: float) -> list[Answer]:
        # At temperature 1 nothing was scaled or cut: these are the model's own probabilities.
        undistorted = sampling.temperature == 1 and sampling.top_p == 1
        kind = "raw" if undistorted else self._endpoint.logprob_kind
        try:
            return answers(json.loads(text), self.name, seconds, kind)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise ModelUnusable(
                f"{self.url} replied with something that is not a chat completion ({text[:200]!r})",
                "Correct --base-url, which mostly ends in /v1.",
            ) from error


def server_url(base_url: str | None = None) -> str:
    """Return where requests go: `base_url`, else what the environment says, else OpenAI's own service."""
    return base_url or os.environ.get("BASE_URL") or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL


def client(url: str, timeout: float, flag: str = "--base-url") -> openai.OpenAI:
    """A client for the server at `url`, which `flag` gave, with the key of the environment.

    Raises ModelUnusable; makes no call.
    """
    if not (host := _host(url)):
        raise ModelUnusable(f"{url!r} is not a web address", f"Give {flag} like http://127.0.0.1:8000/v1.")
    key = os.environ.get("OPENAI_API_KEY", "").strip(" \t\r\n'\"")
    if not key and url == OPENAI_URL:
        raise ModelUnusable("OPENAI_API_KEY is not set", "Set it, or give --base-url or a local --model.")
    if not key.isascii():
        raise ModelUnusable("OPENAI_API_KEY holds letters no key has", "Copy the key anew.")
    import openai

    return openai.OpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=0,
        timeout=openai.Timeout(timeout, connect=10.0),
        # A proxy meant for the outside would swallow calls to this machine.
        http_client=openai.DefaultHttpxClient(trust_env=not _is_loopback(host)),
    )


def _host(url: str) -> str:
    """The host of a web address, empty where `url` is none."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").encode("idna").decode(), parts.port  # both refuse what is none
    except ValueError:
        return ""
    return host if parts.scheme in ("http", "https") and url.isprintable() else ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
