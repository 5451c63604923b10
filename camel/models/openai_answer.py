"""Reading the reply of an OpenAI-compatible server into answers that carry their evidence."""

from __future__ import annotations

import math
from codecs import getincrementaldecoder
from typing import Any

from camel.messages import Answer, LogprobKind, Token, Usage

# Servers send -9999 where a log-prob is minus infinity or was not computed.
SENTINEL = -9000.0


def answers(reply: dict[str, Any], model: str, seconds: float, kind: LogprobKind) -> list[Answer]:
    """Return one answer for each choice of `reply`, a chat completion as parsed JSON.

    `kind` is what the server's log-probs are known to be; it is lowered to `none` where there are none
    and to `unknown` where the tokens are not those of the text. Usage and `seconds` belong to the whole
    request: the first answer carries them, so that sums over answers are right. Raises what comes of
    taking something else for a chat completion: ValueError, TypeError, LookupError, AttributeError or
    OverflowError.
    """
    choices: list[dict[str, Any]] = reply["choices"]
    texts = [(choice.get("message") or {}).get("content") or "" for choice in choices]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError("there is no choice whose content is text")
    tokens = [_tokens(choice) for choice in choices]
    usage = _usage(reply.get("usage") or {}, sum(map(len, tokens)))
    return [
        Answer(
            text=texts[i],
            tokens=tokens[i],
            usage=usage if i == 0 else Usage(),
            finish_reason=choice.get("finish_reason") or "stop",
            logprob_kind=_kind(texts[i], tokens[i], kind),
            seconds=seconds if i == 0 else 0.0,
            model=model,
        )
        for i, choice in enumerate(choices)
    ]


def nats(value: float | None) -> float:
    """Return a log-prob as a server sent it: a sentinel is minus infinity, a missing one is NaN."""
    if value is None:
        return math.nan
    return -math.inf if value <= SENTINEL else float(value)


def _tokens(choice: dict[str, Any]) -> tuple[Token, ...]:
    records = (choice.get("logprobs") or {}).get("content") or []
    # A character may be spread over tokens: it belongs to the one that completes it.
    decoder = getincrementaldecoder("utf-8")("replace")
    return tuple(
        Token(
            text=record["token"] if record.get("bytes") is None else decoder.decode(bytes(record["bytes"])),
            logprob=nats(record.get("logprob")),
            alternatives=tuple(
                (_alternative(other), nats(other.get("logprob"))) for other in record.get("top_logprobs") or ()
            ),
        )
        for record in records
    )


def _alternative(record: dict[str, Any]) -> str:
    if record.get("bytes") is None:
        return str(record["token"])
    return bytes(record["bytes"]).decode("utf-8", "replace")


def _usage(usage: dict[str, Any], emitted: int) -> Usage:
    """Read the token counts; some servers count only one of several choices, so `emitted` is the least."""
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=max(int(usage.get("completion_tokens") or 0), emitted),
        cached_tokens=int(details.get("cached_tokens") or 0),
    )


def _kind(text: str, tokens: tuple[Token, ...], kind: LogprobKind) -> LogprobKind:
    if not tokens:
        return "none"
    joined = "".join(token.text for token in tokens)
    # The last token may be the end-of-turn mark, which is not part of the text.
    without_last = joined[: len(joined) - len(tokens[-1].text)]
    whole = _bare(text) in (_bare(joined), _bare(without_last))
    return kind if whole else "unknown"


def _bare(text: str) -> str:
    return text.replace("\N{REPLACEMENT CHARACTER}", "").strip()
