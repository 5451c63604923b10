"""What the refusals and failures of an OpenAI-compatible server mean, told from status, code and words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import openai

from camel.models.model import ModelUnusable

FIRST_PAUSE = 1.0

_OVERFLOW_CODES = {"context_length_exceeded", "exceed_context_size_error"}
_CONTEXT = re.compile(r"context (?:length|size|window)", re.IGNORECASE)
_WINDOW = re.compile(_CONTEXT.pattern + r"\D{0,20}(\d+)", re.IGNORECASE)
_PROMPT = re.compile(r"(\d+) (?:in the messages|input tokens|tokens from the input)")


@dataclass(frozen=True)
class Overflow:
    """Prompt and answer do not fit: sizes in tokens, None where the server did not name them."""

    window: int | None
    prompt: int | None


def words(error: openai.APIError) -> str:
    """Return what the server said, with the name of the setting it objects to, on one line."""
    body = error.body if isinstance(error.body, dict) else {}
    said = body.get("message") or error.message
    return " ".join(f"{said} {error.param or ''}".split())[:500]


def overflow(error: openai.APIStatusError) -> Overflow | None:
    """Return the sizes when `error` says that the context is too long, else None."""
    said = words(error)
    if not _CONTEXT.search(said) and _OVERFLOW_CODES.isdisjoint({error.code, error.type}):
        return None
    window, prompt = _WINDOW.search(said), _PROMPT.search(said)
    return Overflow(int(window[1]) if window else None, int(prompt[1]) if prompt else None)


def may_pass(error: openai.APIError) -> bool:
    """Tell whether the same request may succeed later: rate limits, server faults, lost connections."""
    if not isinstance(error, openai.APIStatusError):
        return True
    return (error.status_code in (408, 409, 429) and not _no_quota(error)) or error.status_code >= 500


def pause(error: openai.APIError, failures: int) -> float:
    """Return the seconds to wait after the `failures`-th failure: what the server asks for, or doubling."""
    asked = error.response.headers.get("retry-after", "") if isinstance(error, openai.APIStatusError) else ""
    if re.fullmatch(r"\d+(\.\d+)?", asked):
        return float(asked)
    try:
        return max(0.0, (parsedate_to_datetime(asked) - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, TypeError):
        return FIRST_PAUSE * 2.0 ** (failures - 1)


def unusable(error: openai.APIError, name: str, url: str) -> ModelUnusable:
    """Return the error to end with: what is wrong with model `name` at `url`, and the remedy."""
    said = words(error).rstrip(".")
    if isinstance(error, openai.APITimeoutError):
        return ModelUnusable(f"The server at {url} did not answer in time", "Check that it is not overloaded.")
    if not isinstance(error, openai.APIStatusError):
        reason = error.__cause__ or said
        return ModelUnusable(f"Cannot reach {url} ({reason})", "Start the server or correct --base-url.")
    if error.status_code in (401, 403):
        return ModelUnusable(f"{url} refused the key ({said})", "Set OPENAI_API_KEY to a key valid there.")
    if error.status_code == 404:
        return ModelUnusable(
            f"{url} does not have the model {name} ({said})",
            "Correct the name in --model, or --base-url, which mostly ends in /v1.",
        )
    if error.status_code == 402 or _no_quota(error):
        return ModelUnusable(f"The account at {url} has no quota left ({said})", "Add credit to it.")
    if error.status_code == 429:
        return ModelUnusable(f"{url} keeps limiting the rate ({said})", "Wait, then go on with --resume.")
    if error.status_code >= 500:
        return ModelUnusable(
            f"{url} keeps failing with status {error.status_code} ({said})",
            "Look at the server, then --resume.",
        )
    return ModelUnusable(f"{url} refused the request ({said})", "Check that the server has a chat API.")


def _no_quota(error: openai.APIStatusError) -> bool:
    return "insufficient_quota" in (error.code, error.type)
