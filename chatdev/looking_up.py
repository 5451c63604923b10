"""Looking things up for the company: what to search for, how often, and how it stands in the journal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from chatdev.environment import Environment
from journal import Journal
from journal.events import Retrieved, digest
from retrieval import Passage, Retrieval, Retriever, fenced, new_nonce
from uq.scores import Unavailable

MOST_LOOK_UPS = 5
_TASK_WORDS = 6
_WORD = re.compile(r"[^\W\d_][\w+#-]{2,}")
_ERROR = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Warning): .*$", re.MULTILINE)
_PRIVATE = re.compile(r"(?:/[\w.-]+)+/?|[A-Z]:\\\S+|['\"][^'\"]*['\"]")
_ERROR_CHARACTERS = 80
_FILLING = re.compile(
    r"the|and|for|with|that|this|from|into|are|has|have|can|must|should|will|when|where|which|what|one|its|program"
    r"|software|application|develop|create|make|build|write|design|simple|basic|users?|using?"
)


@dataclass
class Library:
    """A retriever as the company uses it: at most MOST_LOOK_UPS times a run, each written to the journal first.

    `look_up` is for a doubtful answer, `consult` for anything else that somebody wants to know.
    """

    retriever: Retriever
    environment: Environment
    journal: Journal
    left: int = MOST_LOOK_UPS

    def look_up(self, subtask: str, names: Sequence[str]) -> str | Unavailable:
        """What is known about the names that an answer of `subtask` was unsure of, fenced as data."""
        return self.consult(query_for(subtask, names, self.environment), subtask)

    def consult(self, query: str, subtask: str = "") -> str | Unavailable:
        """What is found for `query`, fenced as data for a prompt. Raises OSError where the disk is full."""
        if not self.left:
            return Unavailable("budget", f"{MOST_LOOK_UPS} look-ups a run are all there are")
        self.left -= 1
        key = digest("retrieval", query)
        event = self.journal.recall(Retrieved, key)
        if event is None:
            event = _event(key, subtask, self.retriever.look_up(query))
            self.journal.append(event)
        else:
            self._remember(event)
        if not event.passages:
            return Unavailable(event.outcome, f"nothing was found for {query!r} ({_reasons(event)})")
        return fenced([Passage(**passage) for passage in event.passages], event.nonce)

    def _remember(self, event: Retrieved) -> None:
        """What a search engine refused before a run was stopped, it refuses afterwards."""
        online = {searcher.name: searcher.online for searcher in self.retriever.searchers}
        for step in event.steps:
            self.retriever.heed(online.get(step["asked"], False), step["outcome"])


def query_for(subtask: str, names: Sequence[str], environment: Environment) -> str:
    """What to search for: the doubtful names, the error that is being corrected, the language and the task.

    Errors are corrected in the subtasks of testing. Of one only its last line counts, and of that neither paths
    nor quoted values: they are the user's.
    """
    error = _ERROR.findall(environment.test_reports)[-1:] if subtask.startswith("Test") else []
    words = dict.fromkeys(word.lower() for word in _WORD.findall(environment.task))
    topic = [word for word in words if not _FILLING.fullmatch(word)][:_TASK_WORDS]
    parts = [environment.language, *names, *(_PRIVATE.sub("", line)[:_ERROR_CHARACTERS] for line in error), *topic]
    return " ".join(" ".join(parts).split())


def _event(key: str, subtask: str, found: Retrieval) -> Retrieved:
    return Retrieved(
        key=key,
        subtask=subtask,
        query=found.query,
        source=found.source,
        outcome=found.outcome,
        steps=[asdict(step) for step in found.steps],
        hits=[asdict(hit) for hit in found.hits],
        passages=[asdict(passage) for passage in found.passages],
        nonce=new_nonce(),
        seconds=found.seconds,
    )


def _reasons(event: Retrieved) -> str:
    return "; ".join(f"{step['asked']}: {step['outcome']}" for step in event.steps)
