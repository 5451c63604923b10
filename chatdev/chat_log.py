"""The text log, in record shapes that ChatDev 1.x's replay page knows. It is written from events alone."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from chatdev.company import Company
from chatdev.statistics import software_info
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
    Sampled,
    SubtaskEnded,
    SubtaskStarted,
    Typed,
)


class ChatLog:
    """A journal listener that writes `[time LEVEL] record` to `path`; a resumed run writes it anew.

    The page passes over every record with the word "System": a joiner that nobody sees keeps them.
    """

    def __init__(self, path: Path, company: Company) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="\n")
        self._folder, self._company = path.parent, company
        self._began = time.monotonic()
        self._events: list[Event] = []
        self._opened = ""

    def __call__(self, event: Event, replayed: bool) -> None:
        self._events.append(event)
        for level, record in self._records(event):
            moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
            shown = record.replace("System", "S\N{WORD JOINER}ystem")
            self._file.write(f"[{moment} {level}] {shown}\n\n")
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
            self._opened = ""
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
        if isinstance(event, Sampled):
            shares = ", ".join(f"{share:.2f}" for share in event.agreements)
            return [("INFO", f"**[Drafts]**: {event.reason}; agreement {shares}; {event.kept} kept")]
        if isinstance(event, Typed):
            return [("INFO", f"**[Human Comments]**:\n\n{event.text}")] if event.text else []
        if isinstance(event, Noted):
            return [("WARNING", event.note)]
        if isinstance(event, SubtaskEnded):
            return [("INFO", f"**[Seminar Conclusion]**:\n\n {event.conclusion}")]
        if isinstance(event, RunEnded):
            info = software_info(self._events, self._folder, time.monotonic() - self._began)
            moment = time.strftime("%Y%m%d%H%M%S", time.localtime())
            return [("INFO", f"**[Post Info]**\n\n**[Software Info]**:\n\n{info}\n\nChatDev Ends ({moment})")]
        return []

    def _talk(self, event: Answered) -> list[tuple[str, str]]:
        name, other = self._told_by(event)
        records = []
        # The page takes the first closing bracket for the end of the role's prompt.
        role_prompt = event.messages[0]["content"].replace("[", "(").replace("]", ")")
        if self._opened != name:
            self._opened, self._turn = name, 0
            opening = event.messages[-1]["content"]
            records.append(("INFO", f"{other}: **[Start Chat]**\n\n[{role_prompt}]\n\n{opening}"))
        heading = f"{event.role}: **{event.role}<->{other} on : {name}, turn {self._turn}**"
        records.append(("INFO", f"{heading}\n\n[{role_prompt}]\n\n{event.text}"))
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

    def _told_by(self, event: Answered) -> tuple[str, str]:
        """The conversation that an answer belongs to, by name, and the role that is answered."""
        if event.purpose == "reflection":
            return "Reflection", "Counselor"
        prompt = self._company.phases.get(event.subtask)
        roles = (prompt.assistant_role, prompt.user_role) if prompt else (event.role, "")
        return event.subtask, roles[1] if event.role == roles[0] else roles[0]
