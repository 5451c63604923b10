"""What becomes of a conclusion: a word, a list of packages, a manual, files; and whether it can be used."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from camel.messages import Answer
from camel.roleplay import MARKER, conclusion_of
from chatdev.patching import patched
from chatdev.phase import Phase
from chatdev.reply import parse_reply
from chatdev.session import parse_session

_FENCED = re.compile(r"^[ \t]*(?:```|~~~)[\w+-]*[ \t]*\n(.*?)^[ \t]*(?:```|~~~)[ \t]*$", re.MULTILINE | re.DOTALL)
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[\w,]+\])?(?:\s*,?\s*[=<>~!]=?\s*[\w.*]+)*")
_LONGEST_DECISION = 40
_WHOLE_FENCE = re.compile(r"\A\s*(?:.*\n)??\s*```(?:markdown|md)[ \t]*\n(.*)\n\s*```", re.DOTALL)
_FINISHED = re.compile(r"(?<!not )(?<!n't )\bfinished\b|^\W*finish\W*$", re.IGNORECASE)
_DETAIL = re.compile(r"`[^`\n]+`|\"[^\"\n]+\"|(?<!\w)--[a-z][\w-]*|\b\w+\.[a-z]\w{1,4}\b|\b\d+(?:\.\d+)?\b")
_NO_PACKAGE = frozenset(["python", "python3", "pip", "none", "nothing", "no", "empty", "done", "finished"])


def usable(phase: Phase, text: str, known: Mapping[str, str], language: str, typed: Collection[str] = ()) -> bool:
    """Whether `text` has what the phase's conclusion is made of.

    `known` are the product's files, `typed` the words that begin what is typed into the program.
    """
    if phase.form in ("files", "changes"):
        files = parse_reply(text, known_files=list(known), language=language).files
        new = {path: content for path, content in files.items() if content.strip()}
        if phase.form == "changes":
            new = {path: patched(known.get(path, ""), content, part=True) for path, content in new.items()}
        return any(phase.form == "files" or content != known.get(path) for path, content in new.items())
    if phase.form == "runs":
        return bool(parse_session(text, typed=typed))
    return bool(text.strip())


def whole(answer: Answer) -> str:
    """The text of an answer, without a last line that the token limit cut."""
    before, end, _ = answer.text.rpartition("\n")
    return before + end if answer.finish_reason == "length" and before.strip() else answer.text


def decided(text: str) -> bool:
    """Whether a reply without the marker is a decision all the same: one short line, and no question."""
    line = text.strip()
    return bool(line) and "\n" not in line and len(line) <= _LONGEST_DECISION and not line.endswith("?")


def decision(text: str) -> str:
    """A short conclusion such as a modality or a language; of a paragraph only its first few words."""
    lines = conclusion_of(text).strip().splitlines() or [""]
    words = lines[0].lstrip(" \t*_`\"'").rstrip(" \t*_`\"'.")
    return words if len(words) <= _LONGEST_DECISION else " ".join(words.split()[:4])


def review_finished(text: str) -> bool:
    """Whether a reviewer's conclusion says that nothing is left to do."""
    return bool(_FINISHED.search(conclusion_of(text).partition("\n")[0])) and len(conclusion_of(text)) < 80


def after_marker(text: str) -> str:
    """What follows the last `<INFO>`, with its fences and quotes; the whole text where there is none."""
    return text.rpartition(MARKER)[2].strip()


def lost(task: str, new: str) -> list[str]:
    """What of a task, word for word, its `new` version does not say: names, options, numbers, quotes."""
    return [detail for detail in dict.fromkeys(_DETAIL.findall(task)) if detail not in new]


def packages(text: str, no_packages: frozenset[str], given: str = "") -> str:
    """The text of requirements.txt: one requirement a line, without chatter and the names in `no_packages`.

    The lines of a `given` list stay as they are; only packages it does not name are added.
    """
    blocks = _FENCED.findall(text)
    lines = (line.strip(" -*`\t").rstrip(".") for line in "\n".join(blocks or [conclusion_of(text)]).splitlines())
    known = {*no_packages, *_NO_PACKAGE, *map(_package_name, given.splitlines())}
    wanted = [line for line in lines if _PACKAGE.fullmatch(line) and _package_name(line) not in known]
    kept = given if not given or given.endswith("\n") else f"{given}\n"
    return kept + "".join(f"{line}\n" for line in dict.fromkeys(wanted))


def _package_name(line: str) -> str:
    return re.split(r"[=<>~!\[ ;#]", line, maxsplit=1)[0].lower()


def manual(answer: Answer) -> str:
    """The manual without the chatter around it: from its first heading, out of a fence around the whole.

    A closing `<INFO> done` is no manual, so the longest part counts. Of one that the token limit cut, the
    paragraph and the heading that it broke off in are left out.
    """
    text = _whole_paragraphs(whole(answer)) if answer.finish_reason == "length" else answer.text
    body = max(text.split(MARKER), key=len)
    fenced = _WHOLE_FENCE.match(body)
    if fenced:
        body = fenced[1]
    heading = re.search(r"^#{1,3} ", body, re.MULTILINE)
    return body[heading.start() if heading else 0 :].strip() + "\n"


def _whole_paragraphs(text: str) -> str:
    """`text` up to the last empty line outside a code block, without a heading that nothing follows."""
    lines = text.splitlines()
    fenced, ends = False, 0
    for number, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        if not line.strip() and not fenced:
            ends = number
    while ends and (not lines[ends - 1].strip() or lines[ends - 1].startswith("#")):
        ends -= 1
    return "\n".join(lines[:ends]) if ends else text
