"""Where the product is made: files are written and drawn, checked, and what made it worse is taken back."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath

import sandbox
from camel.messages import Answer
from chatdev.acceptance import AcceptanceRun
from chatdev.checkpoint import Verdict, check
from chatdev.command_line import CommandLine
from chatdev.environment import Environment
from chatdev.frame import function_name
from chatdev.given import Given
from chatdev.grafting import combined
from chatdev.images import NoPicture, Painter, mentioned, placeholder
from chatdev.missing_imports import with_missing_imports
from chatdev.patching import framed, patched
from chatdev.phase import Phase
from chatdev.probes import probes
from chatdev.reply import Reply, parse_reply, render_files
from chatdev.strays import at_home
from chatdev.workspace import Change, Workspace
from journal import Journal
from journal.events import Checked, Drawn, FilesChanged, Noted, RolledBack, digest
from sandbox.completeness import definitions, python_tree

_IN_PYTHON = re.compile(r"\bpython|main\.py", re.IGNORECASE)


@dataclass
class Workshop:
    """The product of one run and what has been tried on it.

    `attempts` counts how often each file or function was asked to be written again, `setbacks` the answers in a
    row that changed nothing or whose change was taken back. `verdicts` holds those given so far by what was
    checked: no product is executed twice.
    """

    environment: Environment
    journal: Journal
    isolated: bool = True
    painter: Painter = placeholder
    attempts: Counter[str] = field(default_factory=Counter)
    setbacks: int = 0
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def suspects(self) -> dict[str, list[str]]:
        """The functions to blame for runs that go wrong, each with these, but for those tried already."""
        environment = self.environment
        source = environment.workspace.files().get("main.py", "")
        found = suspects(environment.command_line, source, environment.runs, self.verdict())
        return {function: runs for function, runs in found.items() if not self.attempts[function]}

    def write(self, files: Mapping[str, str], subtask: str, allow: Sequence[str] = ()) -> Change:
        """Write files, and tell the journal what that changed; see Workspace.apply."""
        change = self.environment.workspace.apply(files, allow=allow)
        self.journal.append(FilesChanged(subtask, change.diffs, change.refused))
        return change

    def change_codes(self, phase: Phase, text: str) -> None:
        """Write the files of a reply, check the product, and take back a change that made it worse."""
        environment = self.environment
        workspace = environment.workspace
        known, verdict_before = workspace.files(), environment.verdict
        files, environment.refusals, repairs = self._files_of(text, known)
        for note in (*environment.refusals, *repairs):
            self.journal.append(Noted(phase.name, note))
        environment.stalled = not self.write(files, phase.name).diffs
        if environment.unimplemented_file:
            self.attempts[environment.unimplemented_file] += 1
        if environment.images:
            names = mentioned(workspace.files().values())
            self.draw({name: environment.images.get(name, PurePosixPath(name).stem) for name in names}, phase.name)
        verdict = self.verdict(phase.name)
        if verdict_before is None:
            return
        better, worse = verdict.rank > verdict_before.rank, verdict.rank < verdict_before.rank
        if worse or (phase.keeps == "better" and not better):
            undone = workspace.restore(known)
            reason = "it made the product worse" if worse else "it did not make the product better"
            environment.setback = f"The last change was taken back, {reason}:\n{verdict.report()}"
            self.journal.append(RolledBack(phase.name, reason, undone))
            environment.verdict = verdict_before
            self.setbacks += 1
        elif environment.stalled:
            self.setbacks += 1
        else:
            self.setbacks, environment.setback = 0, ""

    def _foreign(self) -> Given | None:
        """What stands for given code in another language: nobody asks it for a main.py."""
        environment = self.environment
        foreign = not environment.in_python and not _IN_PYTHON.search(environment.task)
        return Given({}, base="") if foreign else None

    def draw(self, pictures: Mapping[str, str], subtask: str) -> None:
        """Put each of `pictures`, names with descriptions, into the product where it is not there yet."""
        workspace = self.environment.workspace
        for name, description in pictures.items():
            if workspace.holds(name):
                continue
            if refused := workspace.refuses(name):
                self.journal.append(Noted(subtask, f"A picture was not drawn: {name}: {refused}"))
                continue
            key = digest("picture", name, description)
            drawn = self.journal.recall(Drawn, key)
            if drawn is None:
                drawn = Drawn(key, subtask, name, description, *self._painted(description))
                self.journal.append(drawn)
            workspace.place(name, base64.b64decode(drawn.png))

    def _painted(self, description: str) -> tuple[str, str]:
        """A picture in base64, and why it is only a placeholder, where it had to be."""
        try:
            png, reason = self.painter(description), ""
        except NoPicture as error:
            png, reason = placeholder(description), str(error)
        return base64.b64encode(png).decode("ascii"), reason

    def _files_of(
        self, text: str, known: Mapping[str, str]
    ) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]:
        """The files of a reply made whole, what of it was refused, and what was repaired."""
        reply = parse_reply(text, known_files=list(known), language=self.environment.language)
        files: dict[str, str] = {}
        repairs = []
        for path, source in at_home(reply.files, known).items():
            files[path], modules = self._completed(path, source, known.get(path))
            if modules:
                repairs.append(f"{path}: added import of {', '.join(modules)}")
        return files, refusals(reply), tuple(repairs)

    def _completed(self, path: str, text: str, known: str | None) -> tuple[str, tuple[str, ...]]:
        """A file of a reply made whole: what it leaves out is there already, or stands in the frame."""
        if not path.endswith(".py"):
            return text, ()
        environment = self.environment
        if known is None and path == "main.py" and environment.frame():
            text = framed(environment.frame(), text)
        return with_missing_imports(patched(known or "", text, part=environment.given is not None))

    def trial(self, answer: Answer) -> Verdict:
        """The verdict on the product as it would be with `answer`; the product stays as it is."""
        return self._tried(self._files_of(answer.text, self.environment.workspace.files())[0])

    def _tried(self, files: Mapping[str, str]) -> Verdict:
        workspace = self.environment.workspace
        with sandbox.scratch_copy(workspace.root) as folder:
            trial = Workspace(folder)
            trial.adopt(workspace.files())
            trial.apply(files)
            return self._check(trial)

    def combined(self, drafts: Sequence[Answer], base: int) -> tuple[Answer, dict[str, int]]:
        """Draft `base` with functions of the others where that shows more, and which; see chatdev.grafting.

        What is put together carries no evidence: no model has written it as a whole.
        """
        environment = self.environment
        known = environment.workspace.files()
        files = [self._files_of(draft.text, known)[0] for draft in drafts]
        sources = [each.get("main.py", "") for each in files]

        def weak(source: str, verdict: Verdict) -> list[str]:
            runs = (*environment.runs, *probes(environment.task))
            blamed = suspects(environment.command_line, source, runs, verdict)
            found = (finding.name for finding in (*verdict.missing, *verdict.flaws) if finding.path == "main.py")
            return list(dict.fromkeys([*blamed, *found]))

        def trial(source: str) -> Verdict:
            return self._tried({**files[base], "main.py": source})

        source, taken = combined(sources, base, trial, weak) if sources[base] else ("", {})
        if not taken:
            return drafts[base], {}
        return Answer(render_files({**files[base], "main.py": source}), model=drafts[base].model), taken

    def verdict(self, subtask: str = "") -> Verdict:
        """The verdict on the product as it is; where `subtask` changed it, the product is checked anew."""
        environment = self.environment
        if environment.verdict is None or subtask:
            environment.verdict = self._check(environment.workspace)
            self.journal.append(Checked(subtask, environment.verdict.passed, environment.verdict.to_json()))
        return environment.verdict

    def _check(self, workspace: Workspace) -> Verdict:
        environment = self.environment
        files, runs = workspace.files(), environment.runs
        known = digest(files, [asdict(run) for run in runs])
        if known not in self.verdicts:
            self.verdicts[known] = check(
                workspace.root,
                files,
                runs,
                self.journal,
                line=environment.command_line,
                isolated=self.isolated,
                given=environment.given or self._foreign(),
                probes=probes(environment.task),
            )
        return self.verdicts[known]


def refusals(reply: Reply) -> tuple[str, ...]:
    """What of a reply was not saved, one sentence each."""
    return tuple(f"A file was not saved: {problem}" for problem in reply.problems)


def suspects(
    line: CommandLine | None, source: str, runs: Sequence[AcceptanceRun], verdict: Verdict
) -> dict[str, list[str]]:
    """The functions of `source` that do the commands of failing `runs`, each with the lines of those runs.

    Where a run types several commands, the last one is to blame. None where the program is called without
    commands, or where it is broken as a whole.
    """
    tree = python_tree(source)
    if line is None or tree is None or verdict.broken:
        return {}
    known = definitions(tree)
    wrong = {result.line for result in (*verdict.results, *verdict.probes) if result.points < 2}
    found: dict[str, list[str]] = {}
    for run in runs:
        called = (run.stdin.split("\n")[-2:-1] if line.from_lines else run.arguments[len(line.leading) :])[:1]
        function = function_name("".join(called).split(" ")[0])
        if run.line in wrong and function in known:
            found.setdefault(function, []).append(run.line)
    return found
