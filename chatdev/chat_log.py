"""The text log, in record shapes that ChatDev 1.x's replay page knows. It is written from events alone."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from chatdev.company import Company
from journal import Event
from journal.events import (
    Answered,
    Checked,
    FilesChanged,
    Measured,
    Noted,
    Remedied,
    RolledBack,
    RunEnded,
    RunStarted,
    SubtaskEnded,
    SubtaskStarted,
    Typed,
)


class ChatLog:
    """A journal listener that writes `[time LEVEL] record` to `path`; a resumed run writes it anew."""

    def __init__(self, path: Path, company: Company) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="\n")
        self._company = company
        self._subtask, self._turn = "", 0

    def __call__(self, event: Event, replayed: bool) -> None:
        for level, record in self._records(event):
            moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
            self._file.write(f"[{moment} {level}] {record}\n\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file. What a full disk keeps from the log is in the journal."""
        with suppress(OSError):
            self._file.close()

    def _records(self, event: Event) -> list[tuple[str, str]]:
        if isinstance(event, RunStarted):
            return [
                (
                    "INFO",
                    f"**[Preprocessing]**\n\n**ChatDev Starts** ({event.stamp})\n\n"
                    f"**task_prompt**: {event.task}\n\n**project_name**: {event.product}\n\n"
                    f"| **model_type** | {event.model} |",
                )
            ]
        if isinstance(event, SubtaskStarted):
            self._subtask, self._turn = event.subtask, 0
            return []
        if isinstance(event, Answered):
            return self._talk(event)
        if isinstance(event, FilesChanged):
            diffs = "\n".join(event.diffs.values())
            return [("INFO", f"**[Update Codes]**\n\n```diff\n{diffs}\n```")] if diffs else []
        if isinstance(event, RolledBack):
            return [("INFO", f"**[Rolled Back]**: {event.subtask}: {event.reason}")]
        if isinstance(event, Checked):
            verdict = event.verdict
            return [("INFO", f"**[Test Reports]**:\n\n{verdict['status']}: {verdict['reason']}")]
        if isinstance(event, Measured):
            return [("INFO", f"**[Uncertainty]**: {event.subtask}: {event.action}: {event.reason}")]
        if isinstance(event, Remedied):
            return [("INFO", f"**[Remedy]**: {event.subtask}: {event.remedy}: {event.refusal or 'kept'}")]
        if isinstance(event, Typed):
            return [("INFO", f"**[Human Comments]**:\n\n{event.text}")] if event.text else []
        if isinstance(event, Noted):
            return [("WARNING", event.note)]
        if isinstance(event, SubtaskEnded):
            return [("INFO", f"**[Seminar Conclusion]**:\n\n {event.conclusion}")]
        if isinstance(event, RunEnded):
            totals = "\n".join(f"{name}={value}" for name, value in event.totals.items())
            moment = time.strftime("%Y%m%d%H%M%S", time.localtime())
            return [("INFO", f"**[Post Info]**\n\n**[Software Info]**:\n\n{totals}\n\nChatDev Ends ({moment})")]
        return []

    def _talk(self, event: Answered) -> list[tuple[str, str]]:
        prompt = self._company.phases.get(event.subtask)
        roles = (prompt.assistant_role, prompt.user_role) if prompt else (event.role, "")
        other = roles[1] if event.role == roles[0] else roles[0]
        records = []
        system = event.messages[0]["content"]
        if self._turn == 0:
            opening = event.messages[-1]["content"]
            records.append(("INFO", f"{other}: **[Start Chat]**\n\n[{system}]\n\n{opening}"))
        heading = f"{event.role}: **{event.role}<->{other} on : {event.subtask}, turn {self._turn}**"
        records.append(("INFO", f"{heading}\n\n[{system}]\n\n{event.text}"))
        usage = event.usage
        prompt_tokens, completion_tokens = usage["prompt_tokens"], usage["completion_tokens"]
        records.append(
            (
                "INFO",
                f"**[OpenAI_Usage_Info Receive]**\nprompt_tokens: {prompt_tokens}\n"
                f"completion_tokens: {completion_tokens}\ntotal_tokens: {prompt_tokens + completion_tokens}\n",
            )
        )
        self._turn += 1
        return records
