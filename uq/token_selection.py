"""Which tokens of an answer count, as named and versioned settings.

A threshold learnt under one setting means nothing under another, so the name travels with every score.

`content-v1`   the answer's own text: without special tokens at either end, blank tokens in front and a
               leading reasoning block; with fences and the white space inside.
`decision-v1`  for answers that are one decision ("Yes.", "<INFO> Python"): only the token in which the
               decision falls, that is the first with a letter or digit, after the last `<INFO>` if any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from uq.evidence import TokenEvidence

Selection = Callable[[Sequence[TokenEvidence]], Sequence[TokenEvidence]]

MARKER = "<INFO>"

_SPECIAL = re.compile(r"<[|\uff5c][^<>]*[|\uff5c]>|</?s>|<(?:bos|eos|pad|start_of_turn|end_of_turn)>")
# Some chat templates open the block in the prompt, so the closing tag alone on its line counts too.
_REASONING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)|\A.*?^</think>[ \t]*$", re.DOTALL | re.MULTILINE)


def content(tokens: Sequence[TokenEvidence]) -> Sequence[TokenEvidence]:
    """Return the run of tokens that is the answer itself (`content-v1`)."""
    tokens = _without_ends(tokens)
    reasoning = _REASONING.match("".join(token.text for token in tokens))
    if reasoning is None:
        return tokens
    offset = 0
    for position, token in enumerate(tokens):
        if offset >= reasoning.end():
            return _without_ends(tokens[position:])
        offset += len(token.text)
    return ()


def decision(tokens: Sequence[TokenEvidence]) -> Sequence[TokenEvidence]:
    """Return the one token in which the decision falls, or none (`decision-v1`)."""
    tokens = content(tokens)
    marker = "".join(token.text for token in tokens).rfind(MARKER)
    start = 0 if marker < 0 else marker + len(MARKER)
    offset = 0
    for token in tokens:
        if any(character.isalnum() for character in token.text[max(0, start - offset) :]):
            return (token,)
        offset += len(token.text)
    return ()


CONTENT = "content-v1"
DECISION = "decision-v1"
SELECTIONS: Mapping[str, Selection] = {CONTENT: content, DECISION: decision}


def select(name: str, tokens: Sequence[TokenEvidence]) -> Sequence[TokenEvidence]:
    """Return the tokens that count under the setting `name`. Raises ValueError for an unknown name."""
    if name not in SELECTIONS:
        raise ValueError(f"no token selection {name!r}; there are: {', '.join(SELECTIONS)}")
    return SELECTIONS[name](tokens)


def yes_share(token: TokenEvidence) -> float | None:
    """Return p(yes) / (p(yes) + p(no)) at `token`, over all spellings (" Yes", "YES", "yes.").

    None unless the token and its alternatives show a positive probability for both words.
    """
    mass = {"yes": 0.0, "no": 0.0}
    for text, logprob in {**dict(token.alternatives), token.text: token.logprob}.items():
        word = re.sub(r"[\W_]+", "", text).lower()
        if word in mass and not math.isnan(logprob):
            mass[word] += math.exp(min(logprob, 0.0))
    return mass["yes"] / (mass["yes"] + mass["no"]) if all(mass.values()) else None


def _without_ends(tokens: Sequence[TokenEvidence]) -> Sequence[TokenEvidence]:
    start, end = 0, len(tokens)
    while start < end and (not tokens[start].text.strip() or _SPECIAL.fullmatch(tokens[start].text.strip())):
        start += 1
    while end > start and (tokens[end - 1].text == "" or _SPECIAL.fullmatch(tokens[end - 1].text)):
        end -= 1
    return tokens[start:end]
