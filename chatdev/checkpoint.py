"""The verdict on a product: does it compile, is it all there, does it run, does it do what was written down.

Verdicts are ordered, so that a change that makes the product worse can be told from one that does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sandbox
from chatdev.acceptance import REFUSED, TRACEBACK, AcceptanceRun, RunResult, execute_session, judge
from chatdev.command_line import CommandLine
from chatdev.given import Given
from chatdev.neglect import neglected
from journal import Journal
from journal.events import Executed, digest
from sandbox.completeness import (
    Finding,
    syntax_errors,
    undefined_local_imports,
    unimplemented,
)
from sandbox.names import undefined_names
from uq.agreement import Behaviour

_SHOWN_DIFFERENCES = 3
_SHOWN_FAULT_LINES = 8


@dataclass(frozen=True)
class Verdict:
    """What is known of a product. `status` is `runs`, `fails` or `not_verifiable`, `reason` says why.

    `flaws` are places where it reads as if it went wrong, though nobody has seen it go wrong. `probes` tell which
    of two programs is the likelier one and prove nothing of one alone; see chatdev.probes.
    """

    broken: tuple[Finding, ...]
    missing: tuple[Finding, ...]
    status: str
    reason: str
    results: tuple[RunResult, ...] = ()
    flaws: tuple[Finding, ...] = ()
    probes: tuple[RunResult, ...] = ()

    @property
    def works(self) -> bool:
        """Complete and running, as far as this machine can tell."""
        return not self.broken and not self.missing and self.status != "fails"

    @property
    def passed(self) -> bool:
        """Works, and every acceptance run ended and showed what was written down."""
        return self.works and all(result.points == 2 for result in self.results)

    @property
    def seen(self) -> bool:
        """Whether an acceptance run showed anything but that the program refuses."""
        return any(result.shown and result.shown != REFUSED for result in self.results)

    @property
    def behaviour(self) -> Behaviour:
        """What the acceptance runs showed, or the probes where there are none, to be compared with another's."""
        compared = self.results or self.probes
        endorsed = tuple(result.points == 2 for result in compared)
        return Behaviour(tuple(result.shown for result in compared), endorsed)

    @property
    def points(self) -> int:
        return sum(result.points for result in self.results)

    @property
    def shown(self) -> tuple[float, ...]:
        """How much a working program shows of what must be seen, larger is better; flaws count last."""
        seen = (*self.results, *self.probes)
        points, nearness = sum(result.points for result in seen), sum(result.nearness for result in seen)
        return (points, round(nearness, 2), -len(self.flaws))

    @property
    def rank(self) -> tuple[int, ...]:
        """Larger is better: compiles, runs, acceptance points, and then how little is missing or reads wrong."""
        faultless = sum(not result.fault for result in self.results)
        seen = (-len(self.broken), self.status != "fails", self.points, faultless)
        return (*seen, -len(self.missing), -len(self.flaws))

    def report(self, runs: Collection[str] | None = None) -> str:
        """What a tester hands to a programmer: the worst first, and no more than can be acted upon.

        With `runs`, the lines of some acceptance runs, only what went wrong in those.
        """
        wrong = sorted((result for result in self.results if result.points < 2), key=lambda r: not r.fault)
        chosen = [result for result in wrong if runs is None or result.line in runs][:_SHOWN_DIFFERENCES]
        lines = [f"$ {result.line}\n{_shortened(result.fault) or result.difference}" for result in chosen]
        if runs is not None:
            return "\n".join(lines)
        before = [f"{finding.path}, line {finding.line}: {finding.why}" for finding in self.broken]
        if not before and not self.results and self.status == "fails":
            before.append(f"python main.py: {self.reason}")
        after = [f"{finding.path}, line {finding.line}: {finding.why}" for finding in (*self.missing, *self.flaws)]
        return "\n".join([*before, *lines, *after])

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "works": self.works, "passed": self.passed, "points": self.points}


def check(
    product: Path,
    files: Mapping[str, str],
    runs: Sequence[AcceptanceRun],
    journal: Journal,
    *,
    line: CommandLine | None = None,
    isolated: bool = True,
    given: Given | None = None,
    probes: Sequence[AcceptanceRun] = (),
) -> Verdict:
    """Check `files`, which lie in `product`. Executions are journalled, and recalled in a resumed run.

    A program whose command `line` needs arguments may refuse to start without them, with a message. What was
    unfinished or broken in `given` code is no finding, and where that had no main.py none is asked for.
    """
    before = given or Given({"main.py": ""}, base="")
    broken = before.new((*syntax_errors(files), *undefined_local_imports(files)))
    missing = before.new(unimplemented(files))
    if "main.py" not in files:
        status = "fails" if "main.py" in before.files or broken else "not_verifiable"
        return Verdict(broken, missing, status, "There is no main.py to start.")
    if broken:
        return Verdict(broken, missing, "fails", "It does not compile.")
    ignore = (*sandbox.IGNORED, f"/{before.base}")

    def start() -> dict[str, Any]:
        verdict = sandbox.run_program(product, isolated=isolated, ignore=ignore, compiles=given is None)
        execution = asdict(verdict.execution) if verdict.execution else None
        return {"status": verdict.status, "reason": verdict.reason, "execution": execution}

    started = _recorded(journal, "start", files, ["python", "main.py"], start)

    def session(purpose: str, runs: Sequence[AcceptanceRun]) -> list[tuple[AcceptanceRun, dict[str, Any]]]:
        def live() -> dict[str, Any]:
            return {"runs": execute_session(product, runs, isolated=isolated, ignore=ignore)}

        outcomes = _recorded(journal, purpose, files, [run.line for run in runs], live) if runs else {"runs": []}
        return list(zip(runs, outcomes["runs"], strict=False))

    pairs = session("acceptance", runs)
    results = tuple(judge(run, outcome) for run, outcome in pairs)
    ended_well = [outcome["exit_code"] == 0 for run, outcome in pairs if not run.expects_error]
    probed = tuple(judge(run, outcome) for run, outcome in session("probes", probes) if run.expected)
    status, reason = _status(started, ended_well, line is not None and line.needs_arguments)
    flaws = before.new((*undefined_names(files), *neglected(line, files["main.py"])))
    return Verdict((), missing, status, reason, results, flaws, probed)


def _status(started: dict[str, Any], ended_well: Sequence[bool], needs_arguments: bool) -> tuple[str, str]:
    """Whether it runs: started without arguments, or, where they decide, called as the task says."""
    status, reason = started["status"], started["reason"]
    if ended_well and not any(ended_well):
        return "fails", "Called as the task says, it ends with an error each time."
    if status == "fails" and any(ended_well):
        return "runs", "It runs when it is called as the task says."
    if status == "fails" and needs_arguments and _refuses(started["execution"]):
        return "runs", "It does not start without the arguments it needs, and says so."
    return status, reason


def _refuses(execution: dict[str, Any] | None) -> bool:
    return execution is not None and execution["exit_code"] in (1, 2) and TRACEBACK not in execution["stderr"]


def _recorded(
    journal: Journal,
    purpose: str,
    files: Mapping[str, str],
    command: list[str],
    live: Callable[[], dict[str, Any]],
) -> dict[str, Any]:
    key = digest(purpose, dict(files), command)
    past = journal.recall(Executed, key)
    if past is not None:
        return past.result
    began = time.monotonic()
    result = live()
    journal.append(Executed(key, purpose, command, result, round(time.monotonic() - began, 3)))
    return result


def _shortened(fault: str) -> str:
    return "\n".join(fault.splitlines()[-_SHOWN_FAULT_LINES:])
