"""Policy HASSUM (arXiv:2608.14707): prose is sampled at each handoff, and the chief executive acts on discord.

A round is several answers to one question. It is accepted when they are dense enough and their semantic entropy is
low enough; else the executive decides: ask the same worker again, another worker, several workers, or accept. No
action is taken that was one of the last two. After `cap` further rounds the best one is kept and stays flagged.

What cannot be measured is never a pass: such an answer is handed on flagged, and since asking again does not
bring a missing backend back, nothing more is asked on its account.

The policy knows nothing of engines: answers, the executive and the measurements come through protocols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol

from uq.choosing import most_agreed
from uq.one_word import one_of
from uq.remedies import AnswerT
from uq.scores import SampleScore, TokenScore, Unavailable
from uq.token_uncertainty import token_uncertainty

_PROMPTS = Path(__file__).parent / "prompts"
_WORKERS = 3

AGAIN, OTHER, SEVERAL, ACCEPT = "ask again", "another worker", "several workers", "accept"
_CHOICES = {
    AGAIN: "the same colleague answers once more",
    OTHER: "a colleague in another role answers",
    SEVERAL: "several colleagues answer, and what most of them say is taken",
    ACCEPT: "the answer is good enough as it is",
}
Reading = SampleScore | Unavailable | None


@dataclass(frozen=True)
class HassumSettings:
    """When a round is accepted: density >= `density` and entropy <= `entropy` (nats); None leaves one out.

    A round is `samples` answers, all but the first drawn at `temperature`; at most `cap` rounds follow the
    first one. Raises ValueError for thresholds that no round can ever miss, or none ever meet.
    """

    density: float | None = 0.8
    entropy: float | None = 1.1
    samples: int = 5
    temperature: float = 0.85
    cap: int = 3

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise ValueError(f"samples: {self.samples} answers cannot be compared; 2 or more can")
        if self.cap < 0 or not 0 < self.temperature < math.inf:
            raise ValueError("cap must be 0 or more, and temperature a number above 0")
        if self.density is None and self.entropy is None:
            raise ValueError("density and entropy cannot both be left out")
        if self.entropy is not None and not 0 <= self.entropy < math.log(self.samples):
            most = f"no entropy of {self.samples} answers exceeds ln {self.samples} = {math.log(self.samples):.4g}"
            raise ValueError(f"entropy: {self.entropy} cannot be used; {most}")
        if self.density is not None and not 1 / self.samples < self.density <= 1:
            least = f"the density of {self.samples} answers is between 1/{self.samples} and 1"
            raise ValueError(f"density: {self.density} cannot be used; {least}")


class Team(Protocol[AnswerT]):
    """A handoff, seen as people who can be asked."""

    @property
    def subtask(self) -> str: ...

    @property
    def answer(self) -> AnswerT: ...

    @property
    def role(self) -> str: ...

    @property
    def workers(self) -> Sequence[str]:
        """The other roles that could answer, the likeliest first."""
        ...

    def sample(self, role: str, n: int, temperature: float, extra: str, after: AnswerT) -> Sequence[AnswerT]:
        """Ask `role` the question `n` times; where `extra` is not empty, after the answer `after` to it."""
        ...

    def executive(self, question: str) -> str:
        """Return what the chief executive answers."""
        ...

    def usable(self, answer: AnswerT) -> bool:
        """Whether the next subtask can work with `answer`."""
        ...


Measure = Callable[[Sequence[AnswerT]], tuple[Reading, Reading]]
"""Returns semantic entropy and density of the answers, None for one that is switched off."""


@dataclass(frozen=True)
class Round(Generic[AnswerT]):
    """Answers to one question, what was measured of them, and the one that stands for them."""

    action: str
    roles: tuple[str, ...]
    answers: tuple[AnswerT, ...]
    entropy: Reading
    density: Reading
    chosen: AnswerT
    concerns: tuple[str, ...]

    @property
    def blind(self) -> tuple[str, ...]:
        """Why a signal that is switched on could not be measured."""
        named = {"entropy": self.entropy, "density": self.density}
        return tuple(f"{name} {found.reason}" for name, found in named.items() if isinstance(found, Unavailable))

    @property
    def rank(self) -> tuple[int, float, float]:
        """Smaller is better: concerns and gaps, then density, then entropy."""
        density, entropy = (
            reading.value if isinstance(reading, SampleScore) else math.inf
            for reading in (self.density, self.entropy)
        )
        return len(self.concerns) + len(self.blind), density, entropy


@dataclass(frozen=True)
class Deliberation:
    """What was decided after a round, written before it is done.

    `number` counts rounds from 1, `action` made this one, `decision` is what comes next: one of the
    executive's, `accept`, `cap` or `unavailable`. `said` is the executive's answer, empty where nobody was
    asked. `backends` says of each signal `ok`, `off` or why it is not there. `flagged` means that what is handed
    on is still in doubt; `kept` is its text and `kept_number` its round, empty and 0 while it goes on.
    """

    subtask: str
    number: int
    action: str
    roles: tuple[str, ...]
    samples: int
    groups: tuple[tuple[int, ...], ...]
    entropy: Reading
    density: Reading
    settings: HassumSettings
    concerns: tuple[str, ...]
    backends: Mapping[str, str]
    decision: str
    reason: str
    said: str = ""
    flagged: bool = False
    kept: str = ""
    kept_number: int = 0


@dataclass(frozen=True)
class Hassum(Generic[AnswerT]):
    """Call it with a handoff to get the answer to hand on.

    `report` receives each decision before it is carried out.
    """

    settings: HassumSettings
    measure: Measure[AnswerT]
    report: Callable[[Deliberation], None]

    def __call__(self, team: Team[AnswerT]) -> AnswerT:
        """Return the answer of the accepted round, or of the best one."""
        more = team.sample(team.role, self.settings.samples - 1, self.settings.temperature, "", team.answer)
        rounds = [self._round(team, "first answer", (team.role,), (team.answer, *more))]
        while True:
            record = self._deliberated(team, rounds)
            if record.decision in (AGAIN, OTHER, SEVERAL):
                self.report(record)
                rounds.append(self._played(record.decision, team, rounds))
                continue
            accepted = record.decision == ACCEPT and (record.said or not record.concerns)
            # Who accepts has been shown the last round.
            kept = len(rounds) - 1 if accepted else min(range(len(rounds)), key=lambda place: rounds[place].rank)
            self.report(replace(record, kept=rounds[kept].chosen.text, kept_number=kept + 1))
            return rounds[kept].chosen

    def _deliberated(self, team: Team[AnswerT], rounds: Sequence[Round[AnswerT]]) -> Deliberation:
        last = rounds[-1]
        decision, reason, said = self._decided(team, rounds)
        return Deliberation(
            subtask=team.subtask,
            number=len(rounds),
            action=last.action,
            roles=last.roles,
            samples=len(last.answers),
            groups=last.entropy.groups if isinstance(last.entropy, SampleScore) else (),
            entropy=last.entropy,
            density=last.density,
            settings=self.settings,
            concerns=last.concerns,
            backends={"entropy": _state(last.entropy), "density": _state(last.density)},
            decision=decision,
            reason=reason,
            said=said,
            flagged=bool(last.concerns or last.blind),
        )

    def _decided(self, team: Team[AnswerT], rounds: Sequence[Round[AnswerT]]) -> tuple[str, str, str]:
        """What comes next, why, and what the executive said."""
        last, taken = rounds[-1], [found.action for found in rounds[1:]]
        if not last.concerns:
            if last.blind:
                return "unavailable", f"handed on unmeasured: {', '.join(last.blind)}", ""
            return ACCEPT, "the answers agree", ""
        concerns = ", ".join(last.concerns)
        if len(taken) >= self.settings.cap:
            return "cap", f"{concerns}; {self.settings.cap} further rounds are all there are", ""
        allowed = [action for action in (AGAIN, OTHER, SEVERAL) if action not in taken[-2:]]
        if not team.workers:
            allowed = [action for action in allowed if action == AGAIN]
        if not allowed:
            return ACCEPT, f"{concerns}; nothing is left to do that differs from the last two actions", ""
        names = [*allowed, ACCEPT]
        said = team.executive(_question(team, last, taken, names))
        choice = one_of({name: name for name in names}, said)
        if choice is None:
            return allowed[0], f"{concerns}; the executive named none of {', '.join(names)}", said
        return choice, f"{concerns}; the executive decided", said

    def _played(self, action: str, team: Team[AnswerT], rounds: Sequence[Round[AnswerT]]) -> Round[AnswerT]:
        last, extra, roles = rounds[-1].chosen, "", [team.role]
        if action == AGAIN:
            extra = (_PROMPTS / "hassum_again.txt").read_text(encoding="utf-8").strip()
        else:
            asked = {role for found in rounds for role in found.roles}
            fresh = [*(role for role in team.workers if role not in asked), *team.workers]
            roles = fresh[:1] if action == OTHER else list(dict.fromkeys((team.role, *fresh)))[:_WORKERS]
        # The number of answers stays: an entropy of more answers would need another threshold.
        n = self.settings.samples
        answers: list[AnswerT] = []
        for place, role in enumerate(roles):
            share = len(range(place, n, len(roles)))
            answers += team.sample(role, share, self.settings.temperature, extra, last) if share else ()
        return self._round(team, action, tuple(roles), tuple(answers) or (last,))

    def _round(
        self, team: Team[AnswerT], action: str, roles: tuple[str, ...], answers: tuple[AnswerT, ...]
    ) -> Round[AnswerT]:
        entropy, density = self._readings(answers)
        groups = entropy.groups if isinstance(entropy, SampleScore) else (tuple(range(len(answers))),)
        usable = tuple(tuple(member for member in group if team.usable(answers[member])) for group in groups)
        chosen = answers[most_agreed(usable, [_u(answer) for answer in answers])] if any(usable) else team.answer
        high, low = self.settings.entropy, self.settings.density
        concerns = []
        if isinstance(entropy, SampleScore) and high is not None and entropy.raw > high:
            concerns.append(f"entropy {entropy.raw:.4g} > {high:.4g}")
        if isinstance(density, SampleScore) and low is not None and density.raw < low:
            concerns.append(f"density {density.raw:.4g} < {low:.4g}")
        return Round(action, roles, answers, entropy, density, chosen, tuple(concerns))

    def _readings(self, answers: tuple[AnswerT, ...]) -> tuple[Reading, Reading]:
        """Both signals; of fewer answers than there should be none, since those agree more easily.

        An empty answer is none: those agree with each other.
        """
        settings, there = self.settings, sum(bool(answer.text.strip()) for answer in answers)
        if len(answers) == there == settings.samples:
            return self.measure(answers)
        few = Unavailable("too_few_samples", f"There are {there} of {settings.samples} answers.")
        return None if settings.entropy is None else few, None if settings.density is None else few


def _question(team: Team[AnswerT], last: Round[AnswerT], taken: Sequence[str], names: Sequence[str]) -> str:
    template = (_PROMPTS / "hassum_decide.txt").read_text(encoding="utf-8").strip()
    return template.format(
        subtask=team.subtask,
        concerns=", ".join(last.concerns),
        answer=last.chosen.text.strip(),
        done=", ".join(taken) or "nothing",
        choices="\n".join(f"{name}: {_CHOICES[name]}" for name in names),
        names=", ".join(names),
    )


def _u(answer: AnswerT) -> float | None:
    score = token_uncertainty(answer)
    return score.value if isinstance(score, TokenScore) else None


def _state(reading: Reading) -> str:
    if reading is None:
        return "off"
    return f"{reading.reason}: {reading.detail}" if isinstance(reading, Unavailable) else "ok"
