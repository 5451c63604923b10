"""Two roles talk until one of them concludes.

The user role speaks first: its message is the phase prompt. The assistant role answers; with more than one
turn the user role replies, and so on. A message whose last line begins with `<INFO>` ends the talk, whoever
says it, and what follows the marker is the conclusion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from camel.messages import OVERFLOW, Answer, Message

MARKER = "<INFO>"
_CONCLUDING_LINE = re.compile(r"^[\s*_`>#-]*<INFO>", re.IGNORECASE)
_MARKER = re.compile(re.escape(MARKER), re.IGNORECASE)

Ask = Callable[[str, Sequence[Message]], Answer]
"""Asks the model in the name of a role."""


@dataclass(frozen=True)
class Scene:
    """Who talks to whom about what. Prompts are complete texts, `opening` is the user role's first message."""

    assistant_role: str
    user_role: str
    assistant_prompt: str
    user_prompt: str
    opening: str
    max_turns: int = 1


@dataclass(frozen=True)
class Outcome:
    """How a talk ended: the last answer, the messages it answered, who gave it, and whether it concluded."""

    answer: Answer
    messages: tuple[Message, ...]
    role: str
    concluded: bool
    transcript: tuple[tuple[str, str], ...]


def role_play(scene: Scene, ask: Ask) -> Outcome:
    """Play `scene`: one call for one turn, at most two calls a turn otherwise."""
    assistant = [Message("system", scene.assistant_prompt), Message("user", scene.opening)]
    user = [Message("system", scene.user_prompt), Message("assistant", scene.opening)]
    transcript = [(scene.user_role, scene.opening)]

    def speak(role: str, history: list[Message], other: list[Message]) -> Outcome:
        before = tuple(history)
        answer = ask(role, before)
        history.append(Message("assistant", answer.text))
        other.append(Message("user", answer.text))
        transcript.append((role, answer.text))
        return Outcome(answer, before, role, concludes(answer.text), tuple(transcript))

    for _ in range(scene.max_turns):
        last = speak(scene.assistant_role, assistant, user)
        if last.concluded or scene.max_turns == 1 or last.answer.finish_reason == OVERFLOW:
            break
        reply = speak(scene.user_role, user, assistant)
        if reply.concluded:
            return reply
    return replace(last, transcript=tuple(transcript))


def concludes(text: str) -> bool:
    """Whether the last line that is not blank begins with `<INFO>`, Markdown decoration aside."""
    lines = text.strip().splitlines()
    return bool(lines) and bool(_CONCLUDING_LINE.match(lines[-1]))


def conclusion_of(text: str) -> str:
    """What follows the last `<INFO>`, or the whole text where there is none; stripped."""
    return _MARKER.split(text)[-1].strip(" \t\r\n*_`")
