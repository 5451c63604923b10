"""What a journal on disk is, and what a resumed run gets back from it."""

from __future__ import annotations

import errno
import json
import math
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from journal import Event, Journal, JournalError, read
from journal.events import Executed, FilesChanged, Gated, Interrupted, Noted, RunStarted, SubtaskStarted

STARTED = RunStarted("Todo", "Demo", "20260101120000", "a to-do list", {"seed": 1}, "scripted")


def executed(key: str) -> Executed:
    return Executed(key, "start", ["python", "main.py"], {"status": key})


def write(path: Path, *events: Event) -> None:
    journal = Journal(path)
    for event in events:
        journal.append(event)
    journal.close()


def records(path: Path) -> list[dict[str, Any]]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text("utf-8").split("\n")[:-1]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """No file of this process may grow beyond what `path` holds and ten bytes more."""
    # Not a fixture: pytest reports a test before it takes fixtures down, perhaps into a file of its own.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_was_appended_is_read_back(path: Path) -> None:
    events = [STARTED, SubtaskStarted("Coding", 2), executed("a"), FilesChanged("Coding", {"main.py": "+x"})]
    write(path, *events)
    assert read(path) == events


def test_every_line_is_strict_json_whatever_an_event_holds(path: Path) -> None:
    hostile = {"nan": math.nan, "deep": [{"inf": (math.inf, -math.inf)}], "text": "é \u2028 \n \x00 \ud800"}
    write(
        path, STARTED, Executed("k", "start", [], hostile), Gated("Coding", math.inf, None, True, True, False, [])
    )
    result, gated = records(path)[1:]
    assert result["result"] == {
        "nan": "nan",
        "deep": [{"inf": ["inf", "-inf"]}],
        "text": "é \u2028 \n \x00 \ud800",
    }
    assert (float(gated["u_pre"]), gated["u_post"]) == (math.inf, None)
    assert read(path)[1] == Executed("k", "start", [], result["result"])


def test_every_event_is_on_the_disk_before_its_effect_is_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(len(path.read_bytes().splitlines())))
    journal = Journal(path)
    seen: list[tuple[str, int]] = []
    journal.listeners.append(lambda event, replayed: seen.append((type(event).__name__, synced[-1])))
    journal.append(STARTED)
    journal.append(Noted("", "first"))
    assert seen == [("RunStarted", 1), ("Noted", 2)]


@pytest.mark.parametrize(
    "torn", [b'{"type":"Not', b'{"type":"Noted","subtask":"","note":"whole but for the end"}']
)
def test_a_torn_last_line_does_not_count_and_is_cut_off_on_resuming(path: Path, torn: bytes) -> None:
    write(path, STARTED, Noted("", "kept"))
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert read(path) == [STARTED, Noted("", "kept")]
    Journal.resume(path).close()
    assert path.read_bytes() == whole


def test_a_resumed_run_gets_its_effects_back_and_writes_nothing_twice(path: Path) -> None:
    write(path, STARTED, SubtaskStarted("Coding"), executed("a"), FilesChanged("Coding", {"main.py": "+x"}))
    before = path.read_bytes()
    journal = Journal.resume(path)
    heard: list[bool] = []
    journal.listeners.append(lambda event, replayed: heard.append(replayed))
    journal.append(STARTED)
    journal.append(SubtaskStarted("Coding"))
    assert journal.recall(Executed, "a") == executed("a")
    assert journal.replaying
    journal.append(FilesChanged("Coding", {"main.py": "+x"}))
    assert not journal.replaying
    assert path.read_bytes() == before
    assert journal.recall(Executed, "b") is None
    journal.append(executed("b"))
    assert heard == [True] * 4 + [False]
    assert [record["type"] for record in records(path)[-2:]] == ["Resumed", "Executed"]
    assert records(path)[-2]["kept"] == 4


def test_where_the_run_goes_another_way_the_rest_of_the_past_does_not_count(path: Path) -> None:
    write(path, STARTED, executed("a"), executed("b"), Noted("", "after b"))
    journal = Journal.resume(path)
    journal.append(STARTED)
    assert journal.recall(Executed, "a") == executed("a")
    assert journal.recall(Executed, "other") is None
    assert journal.recall(Executed, "b") is None, "nothing is taken from a past that was left"
    journal.append(executed("other"))
    assert read(path) == [STARTED, executed("a"), executed("other")]
    assert len(records(path)) == 6, "what was written stays in the file"


def test_an_event_of_another_subtask_ends_the_replay(path: Path) -> None:
    write(path, STARTED, SubtaskStarted("Coding"), Noted("Coding", "old"))
    journal = Journal.resume(path)
    journal.append(STARTED)
    journal.append(SubtaskStarted("Manual"))
    assert read(path) == [STARTED, SubtaskStarted("Manual")]


def test_a_run_may_be_resumed_again_and_again(path: Path) -> None:
    write(path, STARTED, executed("a"), Interrupted("first time"))
    for key in ("b", "c"):
        journal = Journal.resume(path)
        journal.append(STARTED)
        assert journal.recall(Executed, "a")
        if key == "c":
            assert journal.recall(Executed, "b")
        assert journal.recall(Executed, key) is None
        journal.append(executed(key))
        journal.append(Interrupted(f"after {key}"))
        journal.close()
    assert read(path) == [STARTED, *map(executed, "abc"), Interrupted("after c")]


def test_an_event_only_a_later_version_knows_is_passed_over(path: Path) -> None:
    write(path, STARTED)
    with path.open("a") as file:
        file.write('{"type":"Voted","subtask":"Coding"}\n')
        file.write('{"type":"Noted","subtask":"","note":"x","colour":"red"}\n')
    assert read(path) == [STARTED, Noted("", "x")]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (2, "{not json}"),
        (2, "[1, 2]"),
        (2, '{"subtask": "Coding"}'),
        (2, '{"type": "Noted"}'),
        (2, "\ufffd"),
        (2, ""),
    ],
)
def test_a_line_that_is_no_event_is_named_with_file_and_line(path: Path, line: int, text: str) -> None:
    write(path, STARTED)
    path.write_bytes(path.read_bytes() + text.encode() + b"\n" + b'{"type":"Noted","subtask":"","note":""}\n')
    with pytest.raises(JournalError, match=f"journal.jsonl:{line}: "):
        read(path)


@pytest.mark.parametrize(
    "content", [b"", b"a diary\n", b'{"type":"Noted","subtask":"","note":"x"}\n', b"\xff\xfe\n"]
)
def test_a_file_that_is_no_journal_is_refused_by_name_and_line(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(JournalError, match="journal.jsonl:1: "):
        read(path)


def test_another_schema_is_refused(path: Path) -> None:
    write(path, RunStarted("Todo", "Demo", "1", "t", {}, "m", schema=99))
    with pytest.raises(JournalError, match=r"journal.jsonl:1: has schema 99, this version reads 1"):
        read(path)


def test_a_folder_without_a_journal_is_told_so(path: Path) -> None:
    with pytest.raises(JournalError, match=r"journal.jsonl: cannot be read \(No such file"):
        read(path)


def test_a_disk_that_fills_up_leaves_no_half_line(path: Path) -> None:
    write(path, STARTED)
    journal = Journal(path)
    for _ in range(2):
        with small_disk(path), pytest.raises(OSError, match="File too large"):
            journal.append(Noted("", "too long for the disk"))
        assert read(path) == [STARTED]
        assert path.read_bytes().endswith(b"\n")
    journal.close()
    assert len(records(path)) == 1


def test_once_the_disk_has_room_again_the_journal_goes_on(path: Path) -> None:
    write(path, STARTED)
    journal = Journal(path)
    with small_disk(path), pytest.raises(OSError, match="File too large"):
        journal.append(Noted("", "refused"))
    journal.append(Noted("", "written"))
    assert read(path) == [STARTED, Noted("", "written")]


def test_an_event_the_disk_did_not_confirm_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, STARTED)
    journal = Journal(path)
    heard: list[Event] = []
    journal.listeners.append(lambda event, replayed: heard.append(event))

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        journal.append(Noted("", "lost"))
    assert read(path) == [STARTED]
    assert heard == []


def test_a_full_disk_while_resuming_keeps_the_past_for_the_next_try(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, STARTED, executed("a"))

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    journal = Journal.resume(path)
    with monkeypatch.context() as context:
        context.setattr(os, "fsync", fail)
        journal.append(STARTED)
        with pytest.raises(OSError, match="No space left"):
            journal.append(Noted("", "a new way"))
    assert read(path) == [STARTED, executed("a")]
    journal.append(Noted("", "a new way"))
    assert read(path) == [STARTED, Noted("", "a new way")]


def test_a_journal_has_one_writer(path: Path) -> None:
    writer = Journal(path)
    writer.append(STARTED)
    half = b'{"type":"Noted"'
    with open(path, "ab") as file:
        file.write(half)
    with pytest.raises(JournalError, match="still goes on in another process"):
        Journal.resume(path)
    assert path.read_bytes().endswith(half), "what the writer is writing is left alone"
    writer.close()
    Journal.resume(path).close()
    assert read(path) == [STARTED]
