"""Stopped, killed and resumed: a run that was cut off anywhere ends as if it never had been."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import chatdev.run
import sandbox
from camel.models.scripted import Reply
from chatdev.cli import main
from chatdev.company import PROJECT
from chatdev.workspace import Workspace
from journal import Event, read
from journal.events import Answered, FilesChanged, Interrupted, RolledBack, RunEnded, SubtaskEnded

Tools = Any  # the fixture of conftest.py
GOOD = "main.py\n```python\nimport unit\nprint(unit.ONE)\n```\n\nunit.py\n```python\nONE = 1\n```\n"
BETTER = GOOD.replace("ONE = 1", "ONE = 2")
WORSE = GOOD.replace("print(", "print((") + "\nmore/extra.py\n```python\nx = 1\n```\n"
SCRIPT = {
    "DemandAnalysis": "<INFO> Application",
    "Coding": "I would write two files.",
    "CodeReviewComment": ["print 2", "once more"],
    "CodeReviewModification": [BETTER, WORSE],
    "EnvironmentDoc": "```\n```\n<INFO> done",
    "Manual": Reply("# Manual", u=0.9),
    "ELSE": [GOOD, Reply("# Better manual", u=0.1)],
}
# Answers as the script says, but does `moment` when it comes to the manual, or kills itself after an event.
DRIVER = """
import os, signal, sys, time
import chatdev.run
from chatdev.cli import main
from camel.models.scripted import ScriptedModel
from journal import Journal

moment, kill_after, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
written = 0

def count(event, replayed):
    global written
    written += 1
    if written == kill_after:
        os.kill(os.getpid(), signal.SIGKILL)

class Slow(ScriptedModel):
    def answer(self, messages, sampling):
        if moment and messages[-1].content.startswith("[Manual]"):
            open(moment, "w").close()
            time.sleep(60)
        return super().answer(messages, sampling)

chatdev.run.open_model = lambda name, **_: Slow.from_file(__import__("pathlib").Path(name.partition(":")[2]))
opened = Journal.__init__
def open_with_listener(self, *arguments):
    opened(self, *arguments)
    self.listeners.append(count)
Journal.__init__ = open_with_listener
raise SystemExit(main(arguments))
"""


def files_of(folder: Path) -> dict[str, bytes]:
    """All that a run leaves, but for the log and the journal, which tell the time."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in files
        if path.suffix != ".log" and path.name != "journal.jsonl"
    }


def essence(folder: Path) -> list[Any]:
    """What the journal says that happened, but for how long it took."""
    told: list[Any] = []
    for event in read(folder / "journal.jsonl"):
        if isinstance(event, Answered):
            told.append((event.subtask, event.purpose, event.text, event.sampling))
        elif isinstance(event, FilesChanged | RolledBack):
            told.append((event.subtask, event.diffs))
        elif isinstance(event, SubtaskEnded):
            told.append((event.subtask, event.conclusion, event.calls, event.usage))
        elif isinstance(event, RunEnded):
            told.append((event.exit_code, event.verdict))
        else:
            told.append(type(event).__name__)
    return told


@pytest.fixture(scope="module")
def arguments(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A run that asks for the form, takes a change back, and reprompts: all that a journal can hold."""
    root = tmp_path_factory.mktemp("company")
    review = tools.composed("CodeReview", 2, "CodeReviewComment", "CodeReviewModification")
    company = tools.write_company(root / "small", ["DemandAnalysis", "Coding", review, "EnvironmentDoc", "Manual"])
    model = tools.script_file(root / "script.json", SCRIPT)
    given = ["--task", "a program", "--name", "Todo", "--org", "Demo", "--config", str(company), "--model", model]
    return [*given, "--warehouse"]


@pytest.fixture(scope="module")
def finished(arguments: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was never stopped."""
    warehouse = tmp_path_factory.mktemp("finished")
    assert main([*arguments, str(warehouse)]) == 0
    (folder,) = warehouse.iterdir()
    events = read(folder / "journal.jsonl")
    assert sum(isinstance(event, RolledBack) for event in events) == 1
    assert [event.purpose for event in events if isinstance(event, Answered)].count("remedy") == 1
    return folder


def cut_copy(finished: Path, target: Path, events: int, later_files: bool) -> Path:
    """The folder of `finished` as a kill after so many events leaves it, at one extreme or the other."""
    shutil.copytree(finished, target)
    lines = (finished / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (target / "journal.jsonl").write_bytes(b"".join(lines[:events]))
    if not later_files:
        for name in ("main.py", "unit.py", "requirements.txt", "manual.md", "meta.txt"):
            (target / name).unlink()
    return target


@pytest.fixture
def quick_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executes each program once: what is tested here is how often a run may be resumed."""
    verdicts: dict[tuple[bytes, ...], sandbox.Verdict] = {}
    really_run = sandbox.run_program

    def run_program(directory: Path, **options: Any) -> sandbox.Verdict:
        program = tuple(path.read_bytes() for path in sorted(directory.rglob("*.py")))
        if program not in verdicts:
            verdicts[program] = really_run(directory, **options)
        return verdicts[program]

    monkeypatch.setattr(sandbox, "run_program", run_program)


@pytest.mark.usefixtures("quick_sandbox")
@pytest.mark.parametrize(
    ("later_files", "step"), [(True, 1), (False, 3)], ids=["files written ahead", "files lost"]
)
def test_a_run_cut_off_after_any_event_ends_like_one_that_was_not(
    finished: Path, tmp_path: Path, later_files: bool, step: int
) -> None:
    count = len((finished / "journal.jsonl").read_bytes().splitlines())
    assert count > 30
    for events in range(1, count, step):
        folder = cut_copy(finished, tmp_path / str(events), events, later_files)
        assert main(["--resume", str(folder)]) == 0, f"cut after {events}"
        assert files_of(folder) == files_of(finished), f"cut after {events}"
        assert essence(folder) == essence(finished), f"cut after {events}"
        shutil.rmtree(folder)


def test_a_line_torn_in_the_middle_and_a_file_half_written_do_no_harm(finished: Path, tmp_path: Path) -> None:
    folder = cut_copy(finished, tmp_path / "torn", 8, later_files=True)
    lines = (finished / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "journal.jsonl").write_bytes(b"".join(lines[:8]) + lines[8][:40])
    (folder / ".0123456789abcdef.tmp").write_text("import un")
    assert main(["--resume", str(folder)]) == 0
    assert files_of(folder) == files_of(finished)
    assert essence(folder) == essence(finished)


def test_files_of_an_attempt_that_no_longer_counts_are_gone(finished: Path, tmp_path: Path) -> None:
    folder = cut_copy(finished, tmp_path / "old", 12, later_files=True)
    old = {"type": "FilesChanged", "subtask": "Coding", "diffs": {"old/attempt.py": "+x", "../../up.py": "+x"}}
    with (folder / "journal.jsonl").open("a") as file:
        file.write(json.dumps({**old, "refused": {}}) + "\n")
    (folder / "old").mkdir()
    (folder / "old" / "attempt.py").write_text("x\n")
    (tmp_path.parent / "up.py").write_text("not ours\n")
    (folder / "notes.txt").write_text("the user's own\n")
    assert main(["--resume", str(folder)]) == 0
    assert not (folder / "old" / "attempt.py").exists()
    assert (tmp_path.parent / "up.py").exists()
    assert (folder / "notes.txt").read_text() == "the user's own\n"


def test_a_run_that_has_ended_is_not_run_again(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    before = (folder / "journal.jsonl").read_bytes()
    assert main(["--resume", str(folder)]) == 0
    assert "has ended already" in capsys.readouterr().err
    assert (folder / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("what", ["nothing there", "no journal", "empty journal", "spoilt journal"])
def test_what_is_no_stopped_run_is_refused(
    tmp_path: Path, finished: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    folder = tmp_path / "folder"
    if what == "spoilt journal":
        cut_copy(finished, folder, 5, later_files=True)
        lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "journal.jsonl").write_bytes(b"".join([*lines[:2], b"oops\n", *lines[2:]]))
    elif what != "nothing there":
        folder.mkdir()
        if what == "empty journal":
            (folder / "journal.jsonl").write_text("")
    assert main(["--resume", str(folder)]) == 2
    said = capsys.readouterr().err
    assert str(folder / "journal.jsonl") in said
    assert "Traceback" not in said
    assert ("jsonl:3: is not an event" in said) == (what == "spoilt journal")


def test_another_company_in_the_folder_takes_the_run_another_way(finished: Path, tmp_path: Path) -> None:
    folder = cut_copy(finished, tmp_path / "changed", 20, later_files=True)
    path = folder / "ChatChainConfig.json"
    company = json.loads(path.read_text())
    company["chain"] = [company["chain"][0], company["chain"][-1]]
    path.write_text(json.dumps(company))
    assert main(["--resume", str(folder)]) == 4
    events = read(folder / "journal.jsonl")
    assert [event.subtask for event in events if isinstance(event, SubtaskEnded)] == ["DemandAnalysis", "Manual"]
    assert sorted(path.name for path in folder.glob("*.py")) == [], "code nobody wrote in this run is gone"


def raise_interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def raise_full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("stop", "code"), [(raise_interrupt, 130), (raise_full_disk, 4)])
def test_a_replay_that_is_stopped_loses_nothing_of_what_was_recorded(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: Callable[..., None], code: int
) -> None:
    folder = cut_copy(finished, tmp_path / "again", 30, later_files=True)
    recorded = read(folder / "journal.jsonl")
    with monkeypatch.context() as context:
        context.setattr(Workspace, "apply", stop)
        assert main(["--resume", str(folder)]) == code
    assert read(folder / "journal.jsonl") == recorded
    assert main(["--resume", str(folder)]) == 0
    assert files_of(folder) == files_of(finished)


def driven(arguments: list[str], moment: Path | str = "", kill_after: int = 0) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(moment), str(kill_after), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )


def wait_for(condition: Callable[[], Any], process: subprocess.Popen[bytes]) -> Any:
    deadline = time.monotonic() + 30
    while not (found := condition()):
        assert process.poll() is None, process.communicate()[1].decode()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("events", [4, 12, 25])
def test_a_killed_run_ends_like_one_that_was_not(
    arguments: list[str], finished: Path, tmp_path: Path, events: int
) -> None:
    killed = driven([*arguments, str(tmp_path)], kill_after=events)
    assert killed.wait(60) == -signal.SIGKILL
    killed.communicate()
    (folder,) = tmp_path.iterdir()
    assert len(read(folder / "journal.jsonl")) == events
    assert main(["--resume", str(folder)]) == 0
    assert files_of(folder) == files_of(finished)
    assert essence(folder) == essence(finished)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_interrupted_while_the_model_thinks_can_go_on(
    arguments: list[str], finished: Path, tmp_path: Path, number: signal.Signals
) -> None:
    warehouse, moment = tmp_path / "warehouse", tmp_path / "moment"
    process = driven([*arguments, str(warehouse)], moment=moment)
    wait_for(moment.exists, process)
    time.sleep(0.3)  # now it does think
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in said
    (folder,) = warehouse.iterdir()
    assert f"Go on with: python run.py --resume {str(folder)!r}" in said.decode()
    assert isinstance(read(folder / "journal.jsonl")[-1], Interrupted)
    assert main(["--resume", str(folder)]) == 0
    assert files_of(folder) == files_of(finished)
    assert essence(folder) == essence(finished)


class _InterruptedImport:
    def find_spec(self, name: str, *_: object) -> None:
        if name == "chatdev.run":
            raise KeyboardInterrupt


def test_an_interrupt_while_the_parts_of_a_run_are_loaded_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "chatdev.run")
    monkeypatch.setattr(sys, "meta_path", [_InterruptedImport(), *sys.meta_path])
    assert main(["--task", "A game"]) == 130
    assert "interrupted before the run began" in capsys.readouterr().err


def test_a_journal_with_settings_that_this_version_does_not_know_is_refused_in_a_sentence(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = cut_copy(finished, tmp_path / "elsewhere", 12, later_files=False)
    path = folder / "journal.jsonl"
    path.write_text(path.read_text("utf-8").replace('"settings":{', '"settings":{"mood":"good",', 1), "utf-8")
    assert main(["--resume", str(folder)]) == 2
    assert "another version" in capsys.readouterr().err


def descendants(parent: int) -> dict[int, str]:
    """The processes below `parent`, with what they run."""
    below, found = {parent}, {}
    for path in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            ancestor = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if ancestor in below:
            below.add(int(path.name))
            found[int(path.name)] = command
    return found


def test_an_interrupt_ends_the_program_under_test_too(tools: Tools, tmp_path: Path) -> None:
    company = tools.write_company(tmp_path / "company", ["Coding", "Manual"])
    sleeper = tools.main_py("import time\nprint('ready', flush=True)\ntime.sleep(60)")
    model = tools.script_file(tmp_path / "script.json", {"Coding": sleeper, "Manual": "# M"})
    warehouse = tmp_path / "warehouse"
    process = driven(["--config", str(company), "--model", model, "--warehouse", str(warehouse)])

    def running() -> dict[int, str]:
        below = descendants(process.pid)
        return below if any(command.rstrip().endswith("-s main.py") for command in below.values()) else {}

    children = wait_for(running, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, children
        time.sleep(0.02)
    (folder,) = warehouse.iterdir()
    assert type(read(folder / "journal.jsonl")[-1]).__name__ == "Interrupted"


def test_a_resumed_run_keeps_the_order_of_the_whole_journal(finished: Path, tmp_path: Path) -> None:
    folder = cut_copy(finished, tmp_path / "order", 10, later_files=True)
    assert main(["--resume", str(folder)]) == 0
    kinds = [json.loads(line)["type"] for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert kinds.index("Resumed") == 10
    assert kinds.count("RunStarted") == kinds.count("RunEnded") == 1


def test_a_resumed_run_asks_the_server_where_it_stands_now(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    usual = chatdev.run.open_model

    def open_model(specification: str, *, base_url: str | None = None, quantize: bool = False) -> Any:
        asked.append(base_url)
        return usual(specification)

    monkeypatch.setattr(chatdev.run, "open_model", open_model)
    folder = cut_copy(finished, tmp_path / "moved", 10, later_files=True)
    assert main(["--resume", str(folder), "--base-url", "http://127.0.0.1:9/v1"]) == 0
    assert asked == ["http://127.0.0.1:9/v1"]


def events_before(folder: Path, kind: type[Event]) -> int:
    return next(place for place, event in enumerate(read(folder / "journal.jsonl")) if isinstance(event, kind))


def test_another_model_cannot_go_on_with_the_run(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = cut_copy(finished, tmp_path / "other", events_before(finished, RolledBack), later_files=True)
    path = folder / "journal.jsonl"
    path.write_text(path.read_text("utf-8").replace('"model":"scripted"', '"model":"gpt-4"', 1), "utf-8")
    assert main(["--resume", str(folder)]) == 2
    assert "was made with the model gpt-4, not with scripted" in capsys.readouterr().err
