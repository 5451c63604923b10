"""Looking things up for the company: what to search for, how often, and how it stands in the journal."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass, field, replace

from chatdev.environment import Environment
from journal import Journal
from journal.events import Retrieved, digest
from retrieval import Passage, Retrieval, Retriever, fenced, new_nonce
from uq.scores import Unavailable

MOST_LOOK_UPS = 5
_TASK_WORDS = 6
_WORD = re.compile(r"[^\W\d_][\w+#-]{2,}")
_IDENTIFIER, _DOTTED = re.compile(r"\w+"), re.compile(r"\w+(?:\.\w+)*")
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

    `look_up` is for a doubtful answer, `consult` for anything else that somebody wants to know. `shown` are the
    words of all that was found: an answer may have them from there, and what a page says is not searched for.
    """

    retriever: Retriever
    environment: Environment
    journal: Journal
    left: int = MOST_LOOK_UPS
    shown: set[str] = field(default_factory=set)
    task: str = field(init=False)

    def __post_init__(self) -> None:
        # As the user wrote it: later words for it may be those of a page.
        self.task = self.environment.task

    def look_up(self, subtask: str, names: Sequence[str]) -> str | Unavailable:
        """What is known about the names that an answer of `subtask` was unsure of, fenced as data."""
        query = query_for(subtask, names, replace(self.environment, task=self.task), self.shown)
        return self.consult(query, subtask) if query else Unavailable("shown", "all of it was in what was found")

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
        passages = [Passage(**passage) for passage in event.passages]
        for passage in passages:
            self.shown.update(_IDENTIFIER.findall(f"{passage.title} {passage.text}"))
        return fenced(passages, event.nonce)

    def _remember(self, event: Retrieved) -> None:
        """What a search engine refused before a run was stopped, it refuses afterwards."""
        online = {searcher.name: searcher.online for searcher in self.retriever.searchers}
        for step in event.steps:
            self.retriever.heed(online.get(step["asked"], False), step["outcome"])


def query_for(subtask: str, names: Sequence[str], environment: Environment, shown: Set[str] = frozenset()) -> str:
    """What to search for: the doubtful names, the error that is being corrected, the language and the task.

    Errors are corrected in the subtasks of testing. Of one only its last line counts, and of that neither paths
    nor quoted values: they are the user's. Words that were `shown` are left out, unless they are the task's;
    the query is empty where no others are left.
    """
    task = environment.task
    errors = _ERROR.findall(environment.test_reports)[-1:] if subtask.startswith("Test") else []
    hidden = shown - set(_IDENTIFIER.findall(task))
    doubts = [*names, *(_PRIVATE.sub("", error)[:_ERROR_CHARACTERS] for error in errors)]
    dotted = [name.split(".") for doubt in doubts for name in _DOTTED.findall(doubt)]
    new = [".".join(part for part in parts if part not in hidden) for parts in dotted]
    return " ".join([environment.language, *filter(None, new), topic_of(task)]) if any(new) else ""


def topic_of(task: str) -> str:
    """The first words of a task that say what it is about."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(task))
    return " ".join([word for word in words if not _FILLING.fullmatch(word)][:_TASK_WORDS])


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
