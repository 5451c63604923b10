"""The chat chain: subtasks in the company's order, each a conversation whose answer is handed on.

The chain knows nothing of uncertainty. Between a conversation and what becomes of it stand the hooks,
which may look at the answer and ask again.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from camel.messages import OVERFLOW, Answer, Message, Sampling
from camel.roleplay import Outcome, Scene, conclusion_of, role_play
from chatdev import conclusions, user_phases
from chatdev.acceptance import AcceptanceRun
from chatdev.asking import Asker
from chatdev.company import Company, ComposedEntry, PhasePrompt, SimpleEntry, fill, role_prompt
from chatdev.environment import Environment, imported_names
from chatdev.handoff import COUNSELOR, EXECUTIVE, Handoff, Hook
from chatdev.images import Painter, placeholder, proposed
from chatdev.person import Person, at_the_terminal
from chatdev.phase import Phase, loop_named, phase_named
from chatdev.reply import parse_reply
from chatdev.session import on_files_there_are, parse_session, shown, with_files_of_the_task
from chatdev.workshop import Workshop, refusals
from journal import Journal
from journal.events import (
    Noted,
    SubtaskEnded,
    SubtaskStarted,
    Typed,
    digest,
)

_PROMPTS = Path(__file__).parent / "prompts"
_CHARACTERS_A_TOKEN = 3  # of code, at the least
_MOST_ATTEMPTS = 4
_MOST_CONTINUATIONS = 2
_MOST_IMAGES = 12
_WARMER, _WARMEST = 0.1, 0.8
_CALLED_HOW = re.compile(r"main\.py|standard input|\bstdin\b", re.IGNORECASE)
_REFLECTION = "{conversations}\n\n{question}"
_CODE = ("codes", "runs")


@dataclass
class ChatChain:
    """Runs a company's chain on one environment.

    Each change taken back makes the next attempt a little bolder (a higher temperature). `room` is how many
    characters of the product's code fit into a prompt, where that had to be learnt.
    """

    company: Company
    environment: Environment
    asker: Asker
    journal: Journal
    hooks: Sequence[Hook] = ()
    isolated: bool = True
    person: Person = at_the_terminal
    painter: Painter = placeholder
    own_phases: Mapping[str, user_phases.Phase] = field(default_factory=dict)
    room: int | None = None

    def __post_init__(self) -> None:
        self.workshop = Workshop(self.environment, self.journal, self.isolated, self.painter)

    def run(self) -> None:
        """Play every entry of the chain in order. Raises ModelUnusable and what hooks raise."""
        for entry in self.company.chain:
            if isinstance(entry, ComposedEntry):
                self._repeat(entry)
            elif self._prepare(phase_named(entry.phase)):
                self._play(entry, composed=False)

    def _repeat(self, entry: ComposedEntry) -> None:
        ends = loop_named(entry.phase).ends
        environment = self.environment
        environment.review_finished = environment.person_left = environment.stalled = False
        environment.cycles = entry.cycles
        for cycle in range(1, entry.cycles + 1):
            environment.cycle = cycle
            for member in entry.composition:
                ready = self._prepare(phase_named(member.phase))
                if self._ended(ends):
                    return
                if ready:
                    self._play(member, composed=True, cycle=cycle)
                if self._ended(ends):
                    return

    def _ended(self, condition: str) -> bool:
        environment = self.environment
        if condition == "nothing_missing":
            return not environment.unimplemented_file
        if condition == "changed":
            return environment.given is None or not environment.given.unchanged(environment.workspace.files())
        if condition == "review_finished":
            return environment.review_finished
        if condition == "person_left":
            return environment.person_left
        if condition == "no_bugs":
            passed = environment.verdict is not None and environment.verdict.passed
            return passed or (environment.stalled and not self.workshop.suspects())
        return False

    def _prepare(self, phase: Phase) -> bool:
        """Bring the environment up to what the phase reads; False when the phase has nothing to do."""
        environment = self.environment
        if phase.prepare == "usage":
            return bool(_CALLED_HOW.search(environment.task))
        if phase.prepare == "passing":
            environment.comments = ""
            return self.workshop.verdict().passed
        if phase.prepare == "commented":
            return bool(environment.comments)
        if phase.prepare == "test":
            function, runs = next(iter(self.workshop.suspects().items()), ("", None))
            environment.suspect, environment.stalled = function, False
            self.workshop.attempts[function] += 1
            environment.test_reports = "\n".join([*environment.refusals, self.workshop.verdict().report(runs)])
        elif phase.prepare == "given":
            self.workshop.verdict()
        elif phase.prepare == "person":
            environment.comments = self._heard(phase)
            return bool(environment.comments)
        elif phase.prepare == "drawn":
            return bool(environment.images)
        elif phase.prepare == "next_gap":
            gaps = self.workshop.verdict().missing
            paths = (gap.path for gap in gaps if self.workshop.attempts[gap.path] < _MOST_ATTEMPTS)
            path = environment.unimplemented_file = next(paths, "")
            there = [gap for gap in gaps if gap.path == path]
            # All at once first; a model that leaves them as they are is asked for one after the other.
            tries = self.workshop.attempts[path]
            asked = [there[(tries - 1) % len(there)]] if tries else there
            environment.gaps = "\n".join(f"- {gap.name}: {gap.why}" for gap in asked)
            return bool(path)
        elif phase.prepare == "session":
            good = {result.line for result in self.workshop.verdict().results if result.points == 2}
            environment.session = shown(run for run in environment.runs if run.line in good)
        return True

    def _heard(self, phase: Phase) -> str:
        """What a person says of the program as it is; a resumed run remembers it."""
        workspace = self.environment.workspace
        key = digest(phase.name, workspace.files())
        typed = self.journal.recall(Typed, key)
        if typed is None:
            said = self.person(f"The program is in {workspace.root}.")
            typed = Typed(key, phase.name, said.text, said.leaves)
            self.journal.append(typed)
        self.environment.person_left = typed.leaves
        return typed.text

    def _play(self, entry: SimpleEntry, *, composed: bool, cycle: int | None = None) -> None:
        phase, asker = phase_named(entry.phase), self.asker
        self.journal.append(SubtaskStarted(entry.phase, cycle))
        calls, usage, seconds = asker.calls, asker.usage, asker.seconds
        answer = self._converse(entry, phase, composed)
        self._conclude(phase, answer)
        self.journal.append(
            SubtaskEnded(
                subtask=entry.phase,
                conclusion=conclusion_of(answer.text),
                calls=asker.calls - calls,
                usage=asdict(asker.usage - usage),
                seconds=round(asker.seconds - seconds, 3),
            )
        )

    def _converse(self, entry: SimpleEntry, phase: Phase, composed: bool) -> Answer:
        """The answer of one subtask, asked for, reflected upon, put in form and looked at by the hooks."""
        outcome = self._talk(entry, phase, composed)
        if entry.reflect and not outcome.concluded and not conclusions.decided(outcome.answer.text):
            outcome = self._reflect(phase, outcome)
        fits = partial(self._fits, phase)
        if not fits(outcome.answer):
            outcome = self._ask_for_form(phase, outcome)
        answer = outcome.answer
        values = self.environment.values() if self.hooks else {}
        prompts = {role: self._told(role, values) for role in self.company.roles}
        for hook in self.hooks:
            handoff = Handoff(
                subtask=phase.name,
                messages=outcome.messages,
                answer=answer,
                ask=partial(self._ask, phase, outcome.role, purpose="remedy"),
                fits=fits,
                role=outcome.role,
                prose=phase.writes not in _CODE,
                prompts=prompts,
                max_tokens=phase.max_tokens,
                draw=partial(self.asker.sample, phase.name),
                trial=self.workshop.trial if phase.writes == "codes" else None,
                combine=self.workshop.combined if phase.writes == "codes" else None,
            )
            answer = hook(handoff)
        return answer

    def _told(self, role: str, values: Mapping[str, object]) -> str:
        return role_prompt(self.company, role, {**values, "assistant_role": role})

    def _talk(self, entry: SimpleEntry, phase: Phase, composed: bool) -> Outcome:
        """The conversation, with as much of the product's code as the model's window has room for."""
        prompt = self.company.phases[entry.phase]
        room = self.room
        while True:
            scene = self._scene(prompt, composed, room, entry.max_turns)
            excess = len(scene.opening) + len(scene.assistant_prompt) - self._most_characters(phase)
            if excess > 0:
                room = max(0, self._shown(room) - int(excess))
                scene = self._scene(prompt, composed, room, entry.max_turns)
            if room is not None and room < self._shown(None):
                self.journal.append(Noted(phase.name, "the program is too long to be shown whole: a part is"))
            outcome = role_play(scene, partial(self._ask, phase))
            if outcome.answer.finish_reason != OVERFLOW or not self._shown(room):
                return outcome
            room = self.room = self._shown(room) // 2

    def _shown(self, room: int | None) -> int:
        """How many characters the product's code takes in a prompt with `room` for it."""
        return len(str(self.environment.values(room)["codes"]))

    def _most_characters(self, phase: Phase) -> float:
        """How long a prompt may be that leaves the phase's answer its place, as far as that is known."""
        window = self.asker.window
        return math.inf if window is None else _CHARACTERS_A_TOKEN * max(0, window - phase.max_tokens)

    def _scene(self, prompt: PhasePrompt, composed: bool, room: int | None, turns: int) -> Scene:
        roles = {"assistant_role": prompt.assistant_role, "user_role": prompt.user_role}
        own = self.own_phases.get(prompt.name)
        placed = user_phases.before(own, self.environment) if own else {}
        values = {**self.environment.values(room), **placed, **roles}
        text = prompt.text(composed)
        added = (str(values[name]) for name in phase_named(prompt.name).adds if f"{{{name}}}" not in text)
        return Scene(
            assistant_role=prompt.assistant_role,
            user_role=prompt.user_role,
            assistant_prompt=role_prompt(self.company, prompt.assistant_role, values),
            user_prompt=role_prompt(self.company, prompt.user_role, values),
            opening="\n\n".join([fill(text, values), *filter(None, added)]),
            max_turns=turns,
        )

    def _ask(self, phase: Phase, role: str, messages: Sequence[Message], purpose: str = "answer") -> Answer:
        warmth = min(phase.temperature + _WARMER * self.workshop.setbacks, _WARMEST)
        return self.asker.ask(
            phase.name,
            role,
            messages,
            sampling=Sampling(warmth, max_tokens=phase.max_tokens),
            purpose=purpose,
            continuations=_MOST_CONTINUATIONS if phase.writes == "codes" else 0,
        )

    def _fits(self, phase: Phase, answer: Answer) -> bool:
        environment, line = self.environment, self.environment.command_line
        known = environment.workspace.files()
        return conclusions.usable(phase, answer.text, known, environment.language, line.typed if line else ())

    def _reflect(self, phase: Phase, outcome: Outcome) -> Outcome:
        """The Chief Executive Officer answers the Counselor's question about a talk that settled nothing."""
        prompt = self.company.phases.get("Reflection")
        talk = "\n\n".join(f"{role}: {text}" for role, text in outcome.transcript)
        values = {**self.environment.values(), "conversations": talk, "question": phase.reflection}
        scene = Scene(
            assistant_role=EXECUTIVE,
            user_role=COUNSELOR,
            assistant_prompt=self._told(EXECUTIVE, values),
            user_prompt=self._told(COUNSELOR, values),
            opening=fill(prompt.text(composed=False) if prompt else _REFLECTION, values),
        )
        return role_play(scene, partial(self._ask, phase, purpose="reflection"))

    def _ask_for_form(self, phase: Phase, outcome: Outcome) -> Outcome:
        """Ask once more, with the form shown; the second answer counts only if it can be used."""
        said = outcome.answer.text
        if phase.form:
            form = (_PROMPTS / f"form_{phase.form}.txt").read_text(encoding="utf-8")
            question = "\n".join([*refusals(parse_reply(said)), form])
            again: tuple[Message, ...] = (Message("assistant", said), Message("user", question))
        elif not said.strip():
            again = ()
        else:
            return outcome
        messages = (*outcome.messages, *again)
        answer = self._ask(phase, outcome.role, messages, purpose="form")
        return replace(outcome, answer=answer, messages=messages) if self._fits(phase, answer) else outcome

    def _conclude(self, phase: Phase, answer: Answer) -> None:
        """Let the conclusion become what the phase says it becomes."""
        environment, text = self.environment, conclusions.whole(answer)
        if own := self.own_phases.get(phase.name):
            self._conclude_own(own, phase, text)
        elif phase.writes == "modality":
            environment.modality = conclusions.decision(text).lower().replace(".", "")
        elif phase.writes == "language":
            environment.language = conclusions.decision(text) or environment.language
        elif phase.writes == "task":
            environment.task = self._restated(phase, text)
        elif phase.writes == "runs":
            environment.runs = self._runs(answer)
        elif phase.writes == "comments":
            environment.comments = conclusion_of(text)
            environment.review_finished = conclusions.review_finished(text)
        elif phase.writes == "error_summary":
            environment.error_summary = conclusion_of(text)
        elif phase.writes == "requirements":
            self._keep_requirements(phase, text)
        elif phase.writes == "manual":
            self._keep_manual(phase, answer)
        elif phase.writes == "images":
            environment.images = dict(list(proposed(text).items())[:_MOST_IMAGES])
            self.workshop.draw(environment.images, phase.name)
        elif phase.writes == "codes":
            self.workshop.change_codes(phase, text)
        else:
            environment.conclusions[phase.name] = conclusion_of(text)

    def _conclude_own(self, own: user_phases.Phase, phase: Phase, text: str) -> None:
        """Let a user's phase conclude, and write the files that it wants."""
        environment = self.environment
        environment.conclusions[phase.name] = conclusion_of(text)
        result = user_phases.after(own, environment, conclusions.after_marker(text))
        if phase.writes == "comments":
            environment.review_finished = conclusions.review_finished(environment.comments)
        for reply in result.changes:
            self.workshop.change_codes(phase, reply)
        if result.requirements != environment.requirements:
            self._keep_requirements(phase, result.requirements)
        if result.manual != environment.manual:
            self._keep_manual(phase, Answer(result.manual))

    def _keep_requirements(self, phase: Phase, text: str) -> None:
        environment, given = self.environment, self.environment.given
        files = environment.workspace.files()
        listed = files.get("requirements.txt", "") if given else ""
        no_packages = frozenset(sys.stdlib_module_names) | imported_names(files)
        environment.requirements = conclusions.packages(text, no_packages, listed)
        self.workshop.write({"requirements.txt": environment.requirements}, phase.name)
        if given and given.unchanged(files):
            # To list the packages of code is no change to it.
            environment.given = replace(given, files=environment.workspace.files())

    def _keep_manual(self, phase: Phase, answer: Answer) -> None:
        self.environment.manual = conclusions.manual(answer)
        self.workshop.write({"manual.md": self.environment.manual}, phase.name, allow=("manual.md",))

    def _restated(self, phase: Phase, text: str) -> str:
        """The task in better words, unless these lose something of it."""
        task, new = self.environment.task, conclusions.after_marker(text)
        if lost := conclusions.lost(task, new):
            lacking = ", ".join(lost)
            self.journal.append(Noted(phase.name, f"the task stays as it is; its new words lack {lacking}"))
            return task
        return new or task

    def _runs(self, answer: Answer) -> tuple[AcceptanceRun, ...]:
        """The acceptance runs of an answer, without calls that the task does not have."""
        line, session = self.environment.command_line, conclusions.whole(answer)
        runs = parse_session(session, answer.tokens, line.typed if line else ())
        if line is not None:
            runs = tuple(run for run in runs if run.expects_error or line.knows(run.arguments))
        runs = with_files_of_the_task(runs, self.environment.task)
        return on_files_there_are(runs, self.environment.task) if line and line.needs_file else runs
