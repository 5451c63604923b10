"""The job as a user meets it: runs are observed, thresholds learnt from them, and the next run obeys them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import chatdev.workshop
from calibration.__main__ import main as calibrate
from calibration.labels import Group, Response
from calibration.store import open_store
from chatdev.checkpoint import Verdict
from chatdev.cli import main as run
from journal import read
from journal.events import Gated, Measured, Noted, RunStarted

WORKS = Verdict((), (), "runs", "It runs.")
FAILS = Verdict((), (), "fails", "It fails.")
CHAIN = [{"phase": "Coding", "phaseType": "SimplePhase", "max_turn_step": 1, "need_reflect": "False"}]

Run = Callable[..., Path]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a company that only codes, on a task of its own; the answer has the u given, a second one `next_u`."""
    (tmp_path / "company").mkdir()
    (tmp_path / "company" / "ChatChainConfig.json").write_text(json.dumps({"chain": CHAIN}))
    monkeypatch.setattr(chatdev.workshop, "check", lambda root, files, *_, **__: WORKS if files else FAILS)
    count = 0

    def play(u: float, uq: str = "on", *more: str, next_u: float | None = None) -> Path:
        nonlocal count
        count += 1
        script = tmp_path / "script.json"
        said = [{"text": f"main.py\n```python\nprint({x})\n```\n", "u": x} for x in (u, next_u or u, u)]
        script.write_text(json.dumps(said))
        arguments = ["--task", f"task {count}", "--name", f"P{count}", "--org", "O", "--uq", uq, *more]
        arguments += ["--config", str(tmp_path / "company"), "--warehouse", str(tmp_path / "WareHouse")]
        run([*arguments, "--model", f"scripted:{script}", "--allow-unsandboxed"])
        (folder,) = (tmp_path / "WareHouse").glob(f"P{count}_*")
        return folder / "journal.jsonl"

    return play


def measured(journal: Path) -> Measured:
    (event,) = (event for event in read(journal) if isinstance(event, Measured))
    return event


def started(journal: Path) -> RunStarted:
    event = read(journal)[0]
    assert isinstance(event, RunStarted)
    return event


def test_sixty_observed_runs_then_the_gate_fires_above_what_was_learnt(
    play: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(1, 61):
        play(number / 1000, "observe")
    capsys.readouterr()
    assert calibrate(["fit", str(tmp_path / "WareHouse")]) == 0
    printed = capsys.readouterr().out
    assert "60 measured answers of 60 runs; 0 runs skipped" in printed
    assert str(tmp_path / "calibration" / "store.sqlite") in printed
    # ceil(61 * 0.9) = 55: the 55th of 0.001, 0.002, ...
    assert "0.0550" in printed

    again = [play(u) for u in (0.054, 0.0549, 0.0551, 0.056, 0.4)]
    assert [measured(journal).action for journal in again] == [
        "proceed",
        "proceed",
        "trigger",
        "trigger",
        "trigger",
    ]
    assert {measured(journal).threshold["source"] for journal in again} == {"calibrated #1"}
    assert {started(journal).thresholds_snapshot for journal in again} == {1}
    gated = [event for journal in again for event in read(journal) if isinstance(event, Gated)]
    assert [bool(event.remedies) for event in gated] == [False, False, True, True, True]

    # The acting runs change nothing for those who learn from observed ones.
    assert calibrate(["fit", str(tmp_path / "WareHouse"), "--observed-only"]) == 0
    captured = capsys.readouterr()
    assert "60 measured answers of 60 runs; 5 runs skipped" in captured.out
    assert "0.0550" in captured.out
    assert "not made with --uq observe" in captured.err


@pytest.fixture
def learnt(tmp_path: Path) -> Path:
    """A store whose first snapshot has the threshold 0.25 for Coding by the scripted model."""
    return learn_at(tmp_path, 0.25, tmp_path / "calibration" / "store.sqlite")


def learn_at(tmp_path: Path, tau: float, store: Path, model: str = "scripted") -> Path:
    group = {
        "subtask": "Coding",
        "model": model,
        "logprob_kind": "raw",
        "selection": "content-v1",
        "signal": "token-uncertainty",
    }
    item: dict[str, object] = {
        "group": group,
        "tau": tau,
        "reason": "",
        "n_correct": 50,
        "n_incorrect": 0,
        "n_unknown": 0,
    }
    item |= {"rank": 46, "rates": [0.04, 0.17], "auroc": None, "history_digest": "d"}
    item |= {"window_start": "20260101000000", "window_end": "20260101000000"}
    record: dict[str, object] = {
        "schema": 1,
        "number": 7,
        "parent": None,
        "created_at": "2026-01-01",
        "method": "conformal",
    }
    record |= {"alpha": 0.1, "label_source": "next-checkpoint-v1", "thresholds": [item]}
    (tmp_path / "learnt.json").write_text(json.dumps(record))
    assert calibrate(["import", str(tmp_path / "learnt.json"), "--store", str(store)]) == 0
    return store


def test_a_run_stays_pinned_to_its_snapshot_when_it_is_resumed(play: Run, learnt: Path, tmp_path: Path) -> None:
    journal = play(0.3, "observe")
    lines = journal.read_bytes().splitlines(keepends=True)
    assert b"SubtaskStarted" in lines[1]
    journal.write_bytes(b"".join(lines[:2]))
    learn_at(tmp_path, 0.9, learnt)
    assert run(["--resume", str(journal.parent), "--allow-unsandboxed"]) == 0
    assert measured(journal).threshold["source"] == "calibrated #1"
    assert measured(journal).action == "trigger"
    assert measured(play(0.3, "observe")).threshold["source"] == "calibrated #2"


def test_a_resumed_run_whose_store_is_gone_says_so(
    play: Run, learnt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = play(0.3, "observe")
    before = b"".join(journal.read_bytes().splitlines(keepends=True)[:2])
    journal.write_bytes(before)
    learnt.unlink()
    assert run(["--resume", str(journal.parent), "--allow-unsandboxed"]) == 2
    assert f"There is no store {learnt}" in capsys.readouterr().err
    assert journal.read_bytes() == before


def test_thresholds_set_by_hand_win_over_learnt_ones(play: Run, learnt: Path, tmp_path: Path) -> None:
    (tmp_path / "company" / "UncertaintyConfig.json").write_text('{"thresholds": {"Coding": 0.4}}')
    threshold = measured(play(0.3, "observe")).threshold
    assert (threshold["tau"], threshold["source"]) == (0.4, "policy")


def test_a_store_elsewhere_is_taken_when_it_is_named(play: Run, tmp_path: Path) -> None:
    elsewhere = learn_at(tmp_path, 0.35, tmp_path / "elsewhere.sqlite")
    assert measured(play(0.3, "observe", "--store", str(elsewhere))).threshold["tau"] == 0.35
    assert measured(play(0.3, "observe")).threshold["source"] == "fallback"


def test_a_named_store_that_is_not_there_stops_the_run_before_it_begins(
    play: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="not enough values"):
        play(0.3, "observe", "--store", str(tmp_path / "nowhere"))
    assert "There is no store" in capsys.readouterr().err


def test_thresholds_of_another_model_are_not_used_and_the_run_says_how_to_learn_some(
    play: Run, tmp_path: Path
) -> None:
    learn_at(tmp_path, 0.25, tmp_path / "calibration" / "store.sqlite", model="another")
    journal = play(0.3, "observe")
    assert measured(journal).threshold["source"] == "fallback"
    (note,) = (event.note for event in read(journal) if isinstance(event, Noted) and "Snapshot" in event.note)
    assert "#1 has thresholds of another, not of scripted" in note
    assert "python -m calibration fit" in note


def test_without_the_gate_no_store_is_looked_at(play: Run, learnt: Path) -> None:
    learnt.write_text("broken")
    assert started(play(0.3, "off")).thresholds_snapshot is None


def test_runs_that_acted_are_refused_with_what_to_do(
    play: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play(0.9, next_u=0.1)
    assert calibrate(["fit", str(tmp_path / "WareHouse")]) == 2
    complaint = capsys.readouterr().err
    assert "replaced have no label (Coding 1)" in complaint
    assert "--uq observe" in complaint
    assert calibrate(["show", "--store", str(tmp_path / "calibration" / "store.sqlite")]) == 2


def test_check_tells_a_gate_that_separates_from_a_coin(
    play: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ["--store", str(tmp_path / "calibration" / "store.sqlite")]
    for number in range(8):
        play(0.01 + number / 1000, "observe")
    works = iter([True, False] * 4)
    monkeypatch.setattr(chatdev.workshop, "check", lambda *_, **__: WORKS if next(works) else FAILS)
    for number in range(8):
        play(0.01 + number / 1000, "observe")
    assert calibrate(["fit", str(tmp_path / "WareHouse")]) == 0
    assert "fallback: lacks 38 of 50 correct answers" in capsys.readouterr().out
    assert calibrate(["check", *store]) == 0
    assert "this gate is a coin" in capsys.readouterr().out
    monkeypatch.setattr(chatdev.workshop, "check", lambda *_, **__: FAILS)
    for _ in range(12):
        play(0.6, "observe")
    assert calibrate(["fit", str(tmp_path / "WareHouse")]) == 0
    capsys.readouterr()
    assert calibrate(["check", *store]) == 0
    printed = capsys.readouterr().out
    assert "separates" in printed
    assert "0%                 75%" in printed, "of the right and of the wrong answers above the fallback"


def test_a_reliability_plot_is_a_png_or_says_what_it_needs(
    play: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(0.1, "observe")
    calibrate(["fit", str(tmp_path / "WareHouse")])
    command = [
        "check",
        "--store",
        str(tmp_path / "calibration" / "store.sqlite"),
        "--plot",
        str(tmp_path / "p.png"),
    ]
    with monkeypatch.context() as missing:
        missing.setitem(sys.modules, "matplotlib", None)
        missing.setitem(sys.modules, "matplotlib.figure", None)
        assert calibrate(command) == 2
    assert "A plot needs matplotlib: pip install -r requirements-evaluation.txt" in capsys.readouterr().err
    assert calibrate(command) == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_without_labels_there_is_nothing_to_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.sqlite"
    with open_store(path, create=True) as store:
        group = Group("Manual", "m", "raw", "content-v1", "token-uncertainty")
        store.learn([Response("r", 0, "t", "1", group, 0.1, "unknown")], "conformal", 0.1)
    assert calibrate(["check", "--store", str(path), "--plot", str(tmp_path / "p.png")]) == 2
    assert "nothing to plot" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "drift"])
def test_of_no_answers_nothing_can_be_said(
    learnt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    thresholds, imported = str(tmp_path / "thresholds.json"), str(tmp_path / "imported.sqlite")
    assert calibrate(["export", thresholds, "--store", str(learnt)]) == 0
    assert calibrate(["import", thresholds, "--store", imported]) == 0
    capsys.readouterr()
    assert calibrate([command, "--store", imported]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert f"{imported} holds no answers of runs: python -m calibration fit WAREHOUSE adds them" in told.err


@pytest.mark.parametrize("uq", ["off", "on"])
def test_where_nothing_can_be_learnt_no_store_is_left_behind(play: Run, tmp_path: Path, uq: str) -> None:
    play(0.9, uq, next_u=0.1)
    assert calibrate(["fit", str(tmp_path / "WareHouse")]) == 2
    assert not (tmp_path / "calibration").exists()


def test_the_shipped_thresholds_are_of_one_snapshot(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        calibrate(["show", "--shipped", "--snapshot", "3"])
    assert "not allowed with argument --shipped" in capsys.readouterr().err


def test_the_shipped_thresholds_are_of_no_other_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate(["show", "--shipped", "--store", str(tmp_path / "mine.sqlite")]) == 2
    assert "leave out --store" in capsys.readouterr().err


@pytest.mark.parametrize("alpha", ["0", "1", "-0.1", "nan", "a tenth"])
def test_a_share_that_is_none_is_refused_before_anything_is_made(
    play: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], alpha: str
) -> None:
    play(0.1, "observe")
    with pytest.raises(SystemExit, match="2"):
        calibrate(["fit", str(tmp_path / "WareHouse"), "--alpha", alpha])
    assert f"--alpha: must lie between 0 and 1, not '{alpha}'" in capsys.readouterr().err
    assert not (tmp_path / "calibration").exists()


def test_a_snapshot_moves_to_another_machine(
    learnt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / "thresholds.json", tmp_path / "other" / "store.sqlite"
    assert calibrate(["export", str(file), "--store", str(learnt), "--snapshot", "1"]) == 0
    assert not list(tmp_path.glob("*.part"))
    assert calibrate(["import", str(file), "--store", str(other)]) == 0
    assert calibrate(["show", "--store", str(other)]) == 0
    assert "Coding   scripted  raw        content-v1  0.2500     50" in capsys.readouterr().out


def test_a_snapshot_is_not_written_in_place_of_a_folder(
    learnt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for folder in (".", "..", "/", str(tmp_path)):
        assert calibrate(["export", folder, "--store", str(learnt)]) == 2
        assert f"{folder} is a folder" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_snapshot_that_cannot_be_written_is_not_blamed_on_the_store(
    learnt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrate(["export", str(tmp_path / "none" / "file"), "--store", str(learnt)]) == 2
    said = capsys.readouterr().err
    assert "No such file" in said and "store" not in said


def test_any_name_is_shown_on_any_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = learn_at(tmp_path, 0.25, tmp_path / "store.sqlite", model="模型")
    shown = BytesIO()
    terminal = TextIOWrapper(shown, "ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert calibrate(["show", "--store", str(store)]) == 0
    terminal.flush()
    assert b"Coding   ??     raw" in shown.getvalue()


def test_drift_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.sqlite"
    groups = [
        Group(name, "m", "raw", "content-v1", "token-uncertainty") for name in ("Coding", "Manual", "Slogan")
    ]
    with open_store(path, create=True) as store:
        store.learn(
            [
                Response(
                    f"r{n:03}", place, f"t{n}", f"{n:014}", group, n % 50 / 100 + (n >= 150) * shift, "correct"
                )
                for place, (group, shift) in enumerate(zip(groups, (0.0, 0.2, 0.0), strict=True))
                for n in range(250 if place < 2 else 110)
            ],
            "conformal",
            0.1,
        )
    assert calibrate(["drift", "--store", str(path)]) == 0
    coding, manual, slogan = capsys.readouterr().out.splitlines()[1:]
    assert coding.endswith("steady")
    assert manual.endswith("moved: fit new runs")
    assert slogan.endswith("too few answers")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fit", "nowhere"], "There is no folder nowhere; give the one in which product folders lie."),
        (["fit", "."], ". holds no runs; give the folder in which product folders lie."),
        (["show", "--store", "nowhere"], "There is no store nowhere"),
        (["import", "nowhere"], "No such file"),
    ],
)
def test_bad_arguments_end_with_two_and_a_sentence(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert calibrate(arguments) == 2
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_a_store_the_shipped_thresholds_count_and_a_resumed_run_keeps_them(
    play: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(1, 61):
        play(number / 1000, "observe")
    play(0.9)  # a run that acted is not learnt from
    monkeypatch.setattr("calibration.shipped.FOLDER", tmp_path / "shipped")
    monkeypatch.setattr("calibration.__main__.FOLDER", tmp_path / "shipped")
    assert calibrate(["ship", str(tmp_path / "WareHouse"), "--folder", str(tmp_path / "shipped")]) == 0
    assert calibrate(["show", "--shipped"]) == 0
    printed = capsys.readouterr().out
    assert "60 measured answers of 60 runs; 1 runs skipped" in printed
    assert printed.count("Snapshot #0") == 2

    journal = play(0.056)
    assert started(journal).thresholds_snapshot == 0
    assert measured(journal).action == "trigger"
    assert measured(journal).threshold["source"] == "calibrated #0"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:2]))  # killed before the first answer
    run(["--resume", str(journal.parent), "--allow-unsandboxed"])
    assert measured(journal).threshold["source"] == "calibrated #0"

    journal.write_text("".join(lines[:2]))
    (tmp_path / "shipped" / "snapshot.json").unlink()
    assert run(["--resume", str(journal.parent), "--allow-unsandboxed"]) == 2
    assert "thresholds that are shipped no more" in capsys.readouterr().err
