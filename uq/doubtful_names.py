"""The names in an answer that the model was unsure of and that somebody else has documented."""

from __future__ import annotations

import builtins
import keyword
import re

from uq.doubtful_spans import doubtful_spans
from uq.evidence import Evidence

_SPANS = 12
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_DEFINED = re.compile(
    r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)|^\s*(?:self\.)?(\w+)\s*(?::[^=\n]+)?=(?!=)|\bfor\s+(\w+)\s+in\b",
    re.MULTILINE,
)
_PARAMETERS = re.compile(r"\bdef\s+\w+\s*\(([^)]*)\)")
_ALIAS = re.compile(r"^\s*import\s+([\w.]+)\s+as\s+(\w+)", re.MULTILINE)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_STRING_OR_COMMENT = re.compile(r"([\"']).*?\1|#.*")
# Known to every model, and found on every page.
_COMMON = frozenset([*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls", "main", "args", "name"])


def doubtful_names(evidence: Evidence, limit: int) -> list[str]:
    """At most `limit` names with a token of p < 0.5 in the code of an answer, the most doubtful first.

    What is called comes before what is only mentioned, which counts where it has a dot. Names that the answer
    itself defines are left out: nobody else can know them. `tk.Canvas` is `tkinter.Canvas` where the answer
    imports it so.
    """
    code = "\n".join(_CODE.findall(evidence.text))
    own = {name for found in _DEFINED.findall(code) for name in found if name}
    own.update(word for found in _PARAMETERS.findall(code) for word in _NAME.findall(found))
    aliases = {short: module for module, short in _ALIAS.findall(code)}
    called: dict[str, None] = {}
    mentioned: dict[str, None] = {}
    written = set(_NAME.findall(code))
    for span in doubtful_spans(evidence, _SPANS):
        unsure = set(re.findall(r"\w+", span.text)) - own
        line = _STRING_OR_COMMENT.sub(" ", span.context)
        for match in _NAME.finditer(line):
            parts = match[0].split(".")
            call = line[match.end() :].lstrip().startswith("(")
            if match[0] not in written or not unsure.intersection(parts):
                continue
            if _documented(parts[-1], own) and (call or len(parts) > 1):
                name = ".".join([aliases.get(parts[0], parts[0]), *parts[1:]]).removeprefix("self.")
                (called if call else mentioned)[name] = None
    return list({**called, **mentioned})[:limit]


def _documented(name: str, own: set[str]) -> bool:
    return len(name) > 2 and name not in own and name not in _COMMON and not name.startswith("_")
