"""What a run made and cost, under the names ChatDev 1.x gave its numbers, and counted exactly beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from journal import Event
from journal.events import Answered, FilesChanged, RunEnded, RunStarted, SubtaskStarted

_DOCUMENTS = (".md", ".txt", ".rst")
_PAID = ("openai:", "GPT_")


def software_info(events: Sequence[Event], folder: Path, seconds: float) -> str:
    """One line a number, `**name**=value`: the original's, then the exact totals of the run.

    `seconds` is how long the run took. As in the original, utterances count each question that opens a
    conversation and each answer, files are those at the top of the product, and -1 means unknown: what a
    server charges is.
    """
    answers = [event for event in events if isinstance(event, Answered)]
    prompt = sum(answer.usage["prompt_tokens"] for answer in answers)
    completion = sum(answer.usage["completion_tokens"] for answer in answers)
    files = [path for path in folder.iterdir() if path.is_file()]
    lines = {
        "duration": f"{seconds:.2f}s",
        "cost": "$-1.000000" if _paid(events) else "$0.000000",
        "version_updates": sum(isinstance(event, FilesChanged) and bool(event.diffs) for event in events) + 1,
        "num_code_files": _count(files, (".py",)),
        "num_png_files": _count(files, (".png",)),
        "num_doc_files": _count(files, _DOCUMENTS),
        "code_lines": sum(_lines(path) for path in files if path.suffix == ".py"),
        "env_lines": _lines(folder / "requirements.txt"),
        "manual_lines": _lines(folder / "manual.md"),
        "num_utterances": sum(isinstance(event, SubtaskStarted) for event in events) + len(answers),
        "num_self_reflections": sum(answer.purpose == "reflection" for answer in answers),
        "num_prompt_tokens": prompt,
        "num_completion_tokens": completion,
        "num_total_tokens": prompt + completion,
    }
    exact = next((event.totals for event in reversed(events) if isinstance(event, RunEnded)), {})
    return "\n".join(f"**{name}**={value}" for name, value in {**lines, **exact}.items())


def _paid(events: Sequence[Event]) -> bool:
    started = (event for event in events if isinstance(event, RunStarted))
    return any(str(event.settings.get("model", "")).startswith(_PAID) for event in started)


def _count(files: Sequence[Path], suffixes: tuple[str, ...]) -> int:
    return sum(path.suffix.lower() in suffixes for path in files)


def _lines(path: Path) -> int:
    """Lines that are not blank; -1 where there is no such file."""
    if not path.is_file():
        return -1
    return sum(bool(line.strip()) for line in path.read_text("utf-8", errors="replace").splitlines())
