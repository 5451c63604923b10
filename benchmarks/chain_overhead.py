"""What the chain itself costs: milliseconds a subtask beside model and sandbox, on a product of 50 files.

python benchmarks/chain_overhead.py

The model is scripted and the program is not run. What is left is done by the chain: prompts, reading replies,
checking syntax trees, writing files and the journal. It is CPU time, so that a busy machine does not count.
Beside it, how long 62 companies take to load.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sandbox
from camel.messages import Answer, Message, Sampling
from camel.models.scripted import ScriptedModel
from chatdev.asking import Asker
from chatdev.chain import ChatChain
from chatdev.company import PROJECT, ComposedEntry, SimpleEntry, examine_folder, load_company
from chatdev.environment import Environment
from chatdev.reply import render_files
from chatdev.workspace import Workspace
from journal import Event, Journal
from journal.events import RunStarted, SubtaskEnded

FILES, FUNCTIONS, CYCLES, COMPANIES = 50, 20, 20, 62


def product(version: int = 0) -> dict[str, str]:
    """Fifty files of a hundred lines; another version changes two of them."""
    offsets = {f"part{number}": number + version * (number < 2) for number in range(FILES - 1)}
    function = 'def step{0}(value: int) -> int:\n    """Step {0}."""\n    return value + {1}\n\n\n'
    modules = {
        f"parts/{name}.py": "".join(function.format(place, offset) for place in range(FUNCTIONS))
        for name, offset in offsets.items()
    }
    imports = "".join(f"from parts.{name} import step0 as {name}\n" for name in offsets)
    return {"main.py": f"{imports}\n\nif __name__ == '__main__':\n    print(part0(1))\n", **modules}


class Reviewer(ScriptedModel):
    """Comments and changes two files without end, and counts the seconds that this takes."""

    def __init__(self) -> None:
        super().__init__(self._say)
        self.version, self.seconds = 0, 0.0

    def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
        began = time.process_time()
        said = super().answer(messages, sampling)
        self.seconds += time.process_time() - began
        return said

    def _say(self, messages: Sequence[Message], sampling: Sampling) -> str:
        if "Correct what the comment says" not in messages[-1].content:
            return "Add one more to step0 in parts/part0.py and parts/part1.py."
        self.version += 1
        changed = product(self.version)
        return render_files({path: changed[path] for path in ("parts/part0.py", "parts/part1.py")})


def own_milliseconds(folder: Path) -> list[float]:
    """What this process did for each subtask, from the end of the one before, without what the model did."""
    review = (SimpleEntry("CodeReviewComment", 1), SimpleEntry("CodeReviewModification", 1))
    company = replace(load_company("Default", PROJECT), chain=(ComposedEntry("CodeReview", CYCLES, review),))
    model, journal = Reviewer(), Journal(folder / "journal.jsonl")
    marks = []

    def mark(event: Event, replayed: bool) -> None:
        if isinstance(event, SubtaskEnded):
            marks.append(time.process_time() - model.seconds)

    journal.listeners.append(mark)
    journal.append(RunStarted("P", "O", "1", "a program", {}, "scripted"))
    environment = Environment("a program", Workspace(folder / "product"))
    environment.workspace.apply(product())
    sandbox.run_program = lambda *arguments, **options: sandbox.Verdict("runs", "It was not run.")
    marks.append(time.process_time())
    ChatChain(company, environment, Asker(model, journal), journal).run()
    journal.close()
    return [1000 * (after - before) for before, after in pairwise(marks)]


def loading_seconds(folder: Path) -> float:
    """How long it takes to read and check as many companies as the original's warehouse holds."""
    for number in range(COMPANIES):
        shutil.copytree(PROJECT / "CompanyConfig" / "Default", folder / f"company{number}")
    began = time.process_time()
    assert examine_folder(folder)[0] == []
    return time.process_time() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        spent = own_milliseconds(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        seconds = loading_seconds(Path(folder))
    print(
        f"{len(spent)} subtasks on {FILES} files: {statistics.mean(spent):.1f} ms a subtask, "
        f"median {statistics.median(spent):.1f}, the first with its check of all files {spent[0]:.1f}"
    )
    print(f"{COMPANIES} companies: {seconds:.2f} s")


if __name__ == "__main__":
    main()
