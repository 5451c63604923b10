"""A small company of our own for the tests of the chain, and a model that says what each phase is to hear."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import chatdev.preparation
from camel.messages import Message, Sampling
from camel.models.scripted import Reply, ScriptedModel
from chatdev.asking import Asker
from chatdev.chain import ChatChain
from chatdev.company import PROJECT, load_company
from chatdev.environment import Environment
from chatdev.handoff import Hook
from chatdev.workspace import Workspace
from journal import Event, Journal, read
from journal.events import RunStarted
from retrieval import Retriever, Unavailable
from retrieval.deadline import Deadline
from retrieval.records import Hit

CEO, CPO, CTO, PROGRAMMER = (
    "Chief Executive Officer",
    "Chief Product Officer",
    "Chief Technology Officer",
    "Programmer",
)
REVIEWER, TESTER, COUNSELOR = "Code Reviewer", "Software Test Engineer", "Counselor"
# Assistant, user and prompt of each phase; the prompt's first word is how the scripts below know it.
PHASES = {
    "DemandAnalysis": (CPO, CEO, "{task}"),
    "LanguageChoose": (CTO, CEO, "for a {modality}"),
    "AcceptanceRuns": (TESTER, CTO, "{usage}"),
    "Coding": (PROGRAMMER, CTO, "in {language}"),
    "CodeComplete": (PROGRAMMER, CTO, "finish <{unimplemented_file}> of {codes}"),
    "CodeReviewComment": (REVIEWER, PROGRAMMER, "{codes}"),
    "CodeReviewModification": (PROGRAMMER, REVIEWER, "comment: {comments}"),
    "ArtDesign": (PROGRAMMER, CTO, "pictures"),
    "ArtIntegration": (PROGRAMMER, CTO, "use {images}"),
    "CodeReviewHuman": (PROGRAMMER, REVIEWER, "person: {comments}"),
    "TestErrorSummary": (PROGRAMMER, TESTER, "report: {test_reports}"),
    "TestModification": (PROGRAMMER, TESTER, "report: {test_reports}, summary: {error_summary}"),
    "EnvironmentDoc": (PROGRAMMER, CTO, "{imports}"),
    "Manual": (CPO, CEO, "needs {requirements}"),
    "Slogan": (CPO, CEO, "for {task}"),
    "Advert": (CPO, CEO, "with the slogan {Slogan}"),
    "Reflection": (CEO, COUNSELOR, "{conversations} {question}"),
}
Entry = str | Mapping[str, Any]
Script = Mapping[str, Sequence[str | Reply] | str | Reply | Callable[[str], str]]


def simple(phase: str, turns: int = 1, reflect: bool = False) -> dict[str, Any]:
    return {"phase": phase, "phaseType": "SimplePhase", "max_turn_step": turns, "need_reflect": str(reflect)}


def composed(phase: str, cycles: int, *members: str) -> dict[str, Any]:
    composition = [simple(member) for member in members]
    return {"phase": phase, "phaseType": "ComposedPhase", "cycleNum": cycles, "Composition": composition}


COMPLETION = composed("CodeCompleteAll", 10, "CodeComplete")
REVIEW = composed("CodeReview", 3, "CodeReviewComment", "CodeReviewModification")
TEST = composed("Test", 3, "TestErrorSummary", "TestModification")
WHOLE_CHAIN = (
    simple("DemandAnalysis", turns=2, reflect=True),
    simple("LanguageChoose", turns=2, reflect=True),
    "Coding",
    COMPLETION,
    REVIEW,
    TEST,
    simple("EnvironmentDoc", reflect=True),
    "Manual",
)


def write_company(folder: Path, chain: Sequence[Entry], uncertainty: Mapping[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True)
    roles = [CEO, CPO, CTO, PROGRAMMER, REVIEWER, TESTER, COUNSELOR]
    phases = {
        name: {"assistant_role_name": who, "user_role_name": other, "phase_prompt": [f"[{name}] {text}"]}
        for name, (who, other, text) in PHASES.items()
    }
    files: dict[str, Any] = {
        "ChatChainConfig.json": {
            "chain": [simple(entry) if isinstance(entry, str) else entry for entry in chain],
            "recruitments": roles,
        },
        "PhaseConfig.json": phases,
        "RoleConfig.json": {role: [f"You are the {role}."] for role in roles},
        "UncertaintyConfig.json": uncertainty or {},
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value, indent=1), encoding="utf-8")
    return folder


@dataclass
class Talker:
    """Answers each phase with its replies in order, the last one for ever, and remembers who was asked what.

    A judge, who sees one message alone, is the phase Judge; what the executive decides is the phase Executive.
    A function is called with the last message.
    """

    script: Script
    phases: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    samplings: list[Sampling] = field(default_factory=list)

    def __call__(self, messages: Sequence[Message], sampling: Sampling) -> str | Reply:
        phase = _phase(messages)
        said = self.phases.count(phase)
        self.phases.append(phase)
        self.prompts.append(messages[-1].content)
        self.samplings.append(sampling)
        replies = self.script[phase]
        if isinstance(replies, str | Reply):
            return replies
        if callable(replies):
            return replies(messages[-1].content)
        return replies[min(said, len(replies) - 1)]


def _phase(messages: Sequence[Message]) -> str:
    if len(messages) == 1:
        return "Judge"
    found = re.match(r"\[(\w+)\]", messages[1].content)
    assert found or "What should be done next?" in messages[1].content, messages
    return found[1] if found else "Executive"


@dataclass
class Played:
    """A chain that was played: what the model was asked, the events, the product and the shared state."""

    talker: Talker
    chain: ChatChain
    folder: Path

    @property
    def environment(self) -> Environment:
        return self.chain.environment

    @property
    def files(self) -> dict[str, str]:
        return self.environment.workspace.files()

    def events(self, kind: type[Event] = Event) -> list[Any]:
        return [event for event in read(self.folder / "journal.jsonl") if isinstance(event, kind)]


Play = Callable[..., Played]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    def run(
        chain: Sequence[Entry],
        script: Script,
        task: str = "a program",
        hook: Callable[[Journal], Hook] | None = None,
        files: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Played:
        company = load_company(str(write_company(tmp_path / "company", chain)), PROJECT)
        folder = tmp_path / "product"
        talker = Talker(script)
        journal = Journal(folder.parent / "journal.jsonl")
        journal.append(RunStarted("P", "O", "1", task, {}, "scripted"))
        environment = Environment(task, Workspace(folder))
        environment.workspace.apply(files or {})
        asker = Asker(ScriptedModel(talker), journal)
        hooks = [hook(journal)] if hook else []
        result = ChatChain(company, environment, asker, journal, hooks, **fields)
        result.run()
        journal.close()
        return Played(talker, result, folder.parent)

    return run


@dataclass
class Shelf:
    """Stands for a search engine or the documentation on this machine: it always says the same."""

    says: tuple[Hit, ...] | Unavailable = Unavailable("empty")
    name: str = "docs"
    online: bool = False
    asked: list[str] = field(default_factory=list)

    def search(self, query: str, deadline: Deadline) -> tuple[Hit, ...] | Unavailable:
        self.asked.append(query)
        return self.says

    def fetch(self, url: str, deadline: Deadline) -> Unavailable:
        return Unavailable("unreachable")


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """The one place where the runs of a test look things up."""
    only = Shelf()
    monkeypatch.setattr(
        chatdev.preparation, "open_retriever", lambda source, cache, folders: Retriever((only,), only, cache)
    )
    return only


def main_py(body: str) -> str:
    """A reply that gives main.py."""
    return f"main.py\n```python\n{body}\n```\n"


def script_file(path: Path, replies: Script) -> str:
    """Write a script for `--model` that answers each phase of the small company; what fits none gets ELSE."""
    entries = []
    for phase, said in replies.items():
        for reply in [said] if isinstance(said, str | Reply) else said:
            entry: dict[str, Any] = (
                {"text": reply} if isinstance(reply, str) else {"text": reply.text, "u": reply.u}
            )
            if phase != "ELSE":
                entry["match"] = rf"^\[{phase}\]"
            entries.append(entry)
    path.write_text(json.dumps(entries), encoding="utf-8")
    return f"scripted:{path}"


@dataclass(frozen=True)
class Tools:
    """What the tests of this folder share; fixtures are the one way to share without a package."""

    simple = staticmethod(simple)
    composed = staticmethod(composed)
    write_company = staticmethod(write_company)
    main_py = staticmethod(main_py)
    script_file = staticmethod(script_file)
    WHOLE_CHAIN = WHOLE_CHAIN
    COMPLETION = COMPLETION
    REVIEW = REVIEW
    TEST = TEST
    PHASES = PHASES


@pytest.fixture(scope="session")
def tools() -> Tools:
    return Tools()
