"""A model that says what a script tells it to, with scripted log-probs: for tests and demonstrations.

A script is a JSON list, or one JSON value a line, of replies. A reply is a string or an object:

    text           what is said
    match          a regular expression: the reply is for prompts whose last user message it is found in
    logprobs       natural logarithms, one for each token of the text (a token is a word with the space
                   before it); -9999 stands for minus infinity, null for a missing one
    u              instead of logprobs: every token gets -u, so that the answer's uncertainty is u
    finish_reason  `stop` unless given

Replies are given in the order of the script, each once. Replies whose `match` fits come first; the last
of them that fits is given again when all have been used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from camel.messages import Answer, Message, Sampling, Token, Usage
from camel.models.model import ModelUnusable
from camel.models.openai_answer import nats

DEFAULT_U = 0.02


@dataclass(frozen=True)
class Reply:
    """One scripted reply; the fields are those of the script."""

    text: str
    match: str | None = None
    logprobs: Sequence[float | None] | None = None
    u: float = DEFAULT_U
    finish_reason: str = "stop"


class ScriptedModel:
    """A model that answers from `replies`, or by calling a function with the messages and sampling.

    A resumed run must call `fast_forward` for every call whose answers it takes from its journal; the
    script then goes on where the stopped run was.
    """

    window: int | None = None

    def __init__(
        self,
        replies: Sequence[Reply | str] | Callable[[Sequence[Message], Sampling], Reply | str],
        name: str = "scripted",
    ) -> None:
        self.name = name
        self._function = replies if callable(replies) else None
        self._replies = [] if callable(replies) else [_reply(reply) for reply in replies]
        self._used: set[int] = set()

    @classmethod
    def from_file(cls, path: Path) -> ScriptedModel:
        """Read a script. Raises ModelUnusable, naming the reply, when it cannot be read."""
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ModelUnusable(f"Cannot read the script {path} ({error})", "Correct the path.") from error
        return cls([_parse(entry, f"{path}, reply {i}") for i, entry in enumerate(_entries(text, path), 1)])

    def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
        """Return the next `sampling.n` replies. Raises ModelUnusable when the script has none left."""
        answers: list[Answer] = []
        for reply in self._next(messages, sampling):
            tokens = _tokens(reply)
            prompt_tokens = sum(len(message.content.split()) for message in messages)
            answers.append(
                Answer(
                    text=reply.text,
                    tokens=tokens,
                    usage=Usage(0 if answers else prompt_tokens, len(tokens)),
                    finish_reason=reply.finish_reason,
                    logprob_kind="raw" if tokens else "none",
                    model=self.name,
                )
            )
        return answers

    def fast_forward(self, messages: Sequence[Message], sampling: Sampling) -> None:
        """Move on as if this call had been asked: its answers come from elsewhere."""
        self._next(messages, sampling)

    def close(self) -> None:
        """Do nothing: a script holds nothing open."""

    def _next(self, messages: Sequence[Message], sampling: Sampling) -> list[Reply]:
        if self._function:
            return [_reply(self._function(messages, sampling)) for _ in range(sampling.n)]
        prompt = next((message.content for message in reversed(messages) if message.role == "user"), "")
        return [self._replies[self._choose(prompt)] for _ in range(sampling.n)]

    def _choose(self, prompt: str) -> int:
        matching = [i for i, reply in enumerate(self._replies) if reply.match and re.search(reply.match, prompt)]
        ordered = [i for i, reply in enumerate(self._replies) if reply.match is None]
        unused = [i for i in (matching or ordered) if i not in self._used]
        if not unused and not matching:
            raise ModelUnusable(
                f"The script has no reply left for {prompt[:80]!r}", "Add replies to it, or one with a match."
            )
        chosen = unused[0] if unused else matching[-1]
        self._used.add(chosen)
        return chosen


def _reply(reply: Reply | str) -> Reply:
    return Reply(reply) if isinstance(reply, str) else reply


def _tokens(reply: Reply) -> tuple[Token, ...]:
    words = re.findall(r"\s*\S+|\s+$", reply.text)
    logprobs = reply.logprobs if reply.logprobs is not None else [-reply.u] * len(words)
    if len(logprobs) != len(words):
        raise ValueError(f"{len(logprobs)} log-probs for the {len(words)} tokens of {reply.text[:60]!r}")
    return tuple(Token(word, nats(logprob)) for word, logprob in zip(words, logprobs, strict=True))


def _entries(text: str, path: Path) -> list[Any]:
    try:
        if text.lstrip().startswith("["):
            return list(json.loads(text))
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError as error:
        raise ModelUnusable(f"The script {path} is not JSON ({error})", "Correct it.") from error


def _parse(entry: Any, place: str) -> Reply:
    try:
        reply = Reply(entry) if isinstance(entry, str) else Reply(**entry)
        _tokens(reply)
        re.compile(reply.match or "")
    except (TypeError, ValueError, re.error) as error:
        raise ModelUnusable(f"{place}: {error}", "Correct the script.") from error
    return reply
