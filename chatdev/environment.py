"""What the phases of a run share: the task, what has been decided so far, and the product."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from chatdev.acceptance import AcceptanceRun
from chatdev.checkpoint import Verdict
from chatdev.command_line import CommandLine, read_command_line
from chatdev.excerpt import excerpt
from chatdev.frame import frame, stubs
from chatdev.given import Given
from chatdev.patching import definition, emptied
from chatdev.reply import render_files
from chatdev.session import shown
from chatdev.workspace import Workspace
from sandbox.completeness import python_tree

_IMPORT = re.compile(r"^[ \t]*((?:import|from) .*\S)", re.MULTILINE)
_PROMPTS = Path(__file__).parent / "prompts"
GUI = (
    "If people use it by looking and clicking, give it a graphical interface; "
    "if the task says that it is called from the command line, give it none."
)


@dataclass
class Environment:
    """The run's shared state; `values()` are the placeholders that prompts may use.

    `stalled` means that the last change to the product changed nothing, `setback` why the last one was taken
    back, `suspect` is the function that the tester blames. `given` is the code that an incremental run began with,
    `lessons` what similar products taught, `cycle` the round of the loop, of at most `cycles`.
    """

    task: str
    workspace: Workspace
    gui_design: bool = True
    modality: str = ""
    language: str = "Python"
    ideas: str = ""
    description: str = ""
    comments: str = ""
    error_summary: str = ""
    test_reports: str = ""
    requirements: str = ""
    manual: str = ""
    unimplemented_file: str = ""
    gaps: str = ""
    session: str = ""
    images: dict[str, str] = field(default_factory=dict)
    runs: tuple[AcceptanceRun, ...] = ()
    verdict: Verdict | None = None
    review_finished: bool = False
    person_left: bool = False
    refusals: tuple[str, ...] = ()
    stalled: bool = False
    suspect: str = ""
    given: Given | None = None
    lessons: str = ""
    setback: str = ""
    cycle: int = 1
    cycles: int = 1
    conclusions: dict[str, str] = field(default_factory=dict)

    @property
    def command_line(self) -> CommandLine | None:
        """How the task says the program is called, where it says so in the usual notation."""
        return read_command_line(self.task)

    def status(self) -> str:
        """Whether the product works, in one sentence."""
        verdict = self.verdict
        if verdict is None:
            return "It was never checked: no subtask wrote code."
        missing = "" if verdict.works or verdict.status == "fails" else " It is not complete."
        return f"{verdict.status.replace('_', ' ')}: {verdict.reason}{missing}"

    def frame(self) -> str:
        """Code of main.py that takes the arguments apart, where the task says how and Python is spoken."""
        return frame(self.command_line) if self.command_line and self.in_python else ""

    @property
    def in_python(self) -> bool:
        return self.language.lower().startswith("python")

    def _start(self) -> str:
        """What a programmer starts from: the frame, or an empty page."""
        if self.command_line and self.in_python:
            return _text("frame").replace("{stubs}", stubs(self.command_line))
        return _text("plain").replace("{language}", self.language.lower())

    def _session_examples(self) -> str:
        """Runs of two programs, the last one called in the same manner: what a model read last, it imitates."""
        line = self.command_line
        last = "typed" if line and line.from_lines else "file" if line and line.needs_file else "commands"
        first = "commands" if last == "typed" else "typed"
        return f"{_text(f'session_{first}')}\n{_text(f'session_{last}')}"

    def values(self, room: int | None = None) -> dict[str, object]:
        """Every placeholder by name; a conclusion of a phase only the user knows goes by the phase's name.

        The product's code is given in at most `room` characters.
        """
        files = self.workspace.files()
        unfinished = self.unimplemented_file
        if unfinished.endswith(".py") and unfinished in files:
            files[unfinished] = emptied(files[unfinished])
        talk = (self.task, self.comments, self.test_reports, self.error_summary, self.unimplemented_file)
        codes = excerpt(files, room, "\n".join((*talk, self.suspect)))
        # Where the tester blames no function, all of the code is to blame.
        blamed = definition(files.get("main.py", ""), self.suspect)
        line = self.command_line
        return {
            **self.conclusions,
            "task": self.task,
            "modality": self.modality,
            "language": self.language,
            "ideas": self.ideas,
            "description": self.description,
            "gui": GUI if self.gui_design else "",
            "codes": codes,
            "files": ", ".join(files),
            "pyfiles": ", ".join(path for path in files if path.endswith(".py")),
            "comments": self.comments,
            "error_summary": self.error_summary,
            "test_reports": self.test_reports,
            "requirements": self.requirements,
            "examples": self.lessons,
            "setback": self.setback,
            "cycle_index": self.cycle,
            "cycle_num": self.cycles,
            "unimplemented_file": self.unimplemented_file,
            "gaps": self.gaps,
            "images": "\n".join(f"{name}: {description}" for name, description in sorted(self.images.items())),
            "usage": f"Our program is called like this:\n{line.usage()}" if line else "",
            "session_examples": self._session_examples(),
            "frame": self._start(),
            "runs": shown(self.runs),
            "session": self.session,
            "manual_basis": f"These runs work:\n```\n{self.session}\n```" if self.session else "",
            "imports": imports(files),
            "blamed": render_files({"main.py": blamed}) if blamed else codes,
            "repair": _text("repair_function" if self.suspect else "repair_file").replace(
                "{function}", self.suspect
            ),
        }


@cache
def _text(name: str) -> str:
    return (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8")


def imports(files: dict[str, str]) -> str:
    """The import lines of the product's Python files, each once."""
    lines = (line for path, text in files.items() if path.endswith(".py") for line in _IMPORT.findall(text))
    return "\n".join(dict.fromkeys(lines))


def imported_names(files: Mapping[str, str]) -> frozenset[str]:
    """Names that the product's Python files import from modules and that are no modules themselves."""
    trees = (python_tree(text) for path, text in files.items() if path.endswith(".py"))
    nodes = [node for tree in trees if tree for node in ast.walk(tree)]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module or "" for node in froms}
    names = {alias.name for node in froms for alias in node.names}
    return frozenset(names - {module.partition(".")[0] for module in modules})
