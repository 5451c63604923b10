"""From events to labels: what a later checkpoint says of an answer, and what nobody can know."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

import pytest

from calibration import CalibrationError
from calibration.labels import read_runs, responses
from journal import Event, Journal
from journal.events import Checked, Deliberated, FilesChanged, Gated, Measured, RunEnded, RunStarted, Sampled

ENDED = RunEnded(0, {}, {})


def started(name: str = "A", uq: str = "observe") -> RunStarted:
    return RunStarted(name, "Org", "20260101120000", f"task of {name}", {"uq": uq}, "m")


def measured(subtask: str, u: Any = 0.1, **more: Any) -> Measured:
    basis = {"signal": "token-uncertainty", "selection": "content-v1", "logprob_kind": "raw", "model": "m"}
    return Measured(subtask, "proceed", "", {**basis, "value": u, **more}, {})


def gated(subtask: str, replaced: bool = False) -> Gated:
    return Gated(subtask, 0.9, 0.1, replaced, False, replaced, [])


def checked(subtask: str, works: bool, status: str = "runs", changed: bool = True) -> list[Event]:
    verdict = {"works": works, "status": status}
    diffs = {"main.py": "+"} if changed else {}
    return [FilesChanged(subtask, diffs), Checked(subtask, works, verdict)]


def outcomes(*events: Event) -> list[tuple[str, str]]:
    return [(response.group.subtask, response.outcome) for response in responses([started(), *events, ENDED])]


def write(folder: Path, *events: Event) -> Path:
    folder.mkdir(parents=True)
    journal = Journal(folder / "journal.jsonl")
    for event in events:
        journal.append(event)
    journal.close()
    return folder / "journal.jsonl"


def test_the_next_checkpoint_is_the_label_of_all_that_led_to_it() -> None:
    assert outcomes(
        measured("LanguageChoose"),
        gated("LanguageChoose"),
        measured("Coding"),
        gated("Coding"),
        *checked("Coding", works=False),
        measured("TestErrorSummary"),
        measured("TestModification"),
        *checked("TestModification", works=True),
    ) == [
        ("LanguageChoose", "incorrect"),
        ("Coding", "incorrect"),
        ("TestErrorSummary", "correct"),
        ("TestModification", "correct"),
    ]


def test_what_no_code_comes_after_is_unknown() -> None:
    assert outcomes(measured("Coding"), *checked("Coding", works=True), measured("Manual")) == [
        ("Coding", "correct"),
        ("Manual", "unknown"),
    ]


def test_no_answer_is_right_because_older_code_runs() -> None:
    assert outcomes(
        measured("DemandAnalysis"),
        Checked("", True, {"works": True, "status": "runs"}),
        measured("Coding"),
        *checked("Coding", works=True, changed=False),
        measured("TestModification"),
        *checked("TestModification", works=True),
    ) == [("DemandAnalysis", "unknown"), ("Coding", "unknown"), ("TestModification", "correct")]


def test_an_answer_without_a_usable_file_is_wrong_where_the_product_fails() -> None:
    assert outcomes(measured("Coding"), *checked("Coding", works=False, changed=False)) == [
        ("Coding", "incorrect")
    ]


def test_a_program_that_cannot_be_run_here_is_unknown_unless_it_is_incomplete() -> None:
    window = outcomes(measured("Coding"), *checked("Coding", works=True, status="not_verifiable"))
    gap = outcomes(measured("Coding"), *checked("Coding", works=False, status="not_verifiable"))
    assert (window, gap) == ([("Coding", "unknown")], [("Coding", "incorrect")])


def test_a_replaced_answer_is_censored_and_a_kept_one_is_labelled() -> None:
    assert outcomes(
        measured("DemandAnalysis"),
        gated("DemandAnalysis", replaced=True),
        measured("Coding"),
        gated("Coding"),
        *checked("Coding", works=True),
    ) == [("DemandAnalysis", "censored"), ("Coding", "correct")]


def sampled(chosen: int) -> Sampled:
    return Sampled("Coding", "", [0.5, 1.0], [True, True], 1, chosen)


def test_an_answer_in_whose_place_another_draft_was_handed_on_is_censored() -> None:
    def policy(chosen: int) -> list[tuple[str, str]]:
        unmeasured = Measured("AcceptanceRuns", "unavailable", "", {"reason": "nan", "detail": ""}, {})
        first = [measured("LanguageChoose"), unmeasured, sampled(1)]  # what is not measured censors no other
        return outcomes(
            *first, measured("Coding"), gated("Coding"), sampled(chosen), *checked("Coding", works=True)
        )

    assert policy(0) == [("LanguageChoose", "correct"), ("Coding", "correct")]
    assert policy(1) == [("LanguageChoose", "correct"), ("Coding", "censored")]


def test_an_answer_that_was_deliberated_on_is_censored() -> None:
    values = dict.fromkeys((field.name for field in fields(Deliberated)), "")
    assert outcomes(measured("Manual"), gated("Manual"), Deliberated(**values)) == [("Manual", "censored")]  # type: ignore[arg-type]


def test_what_could_not_be_measured_is_no_response_and_infinite_doubt_is_one() -> None:
    unavailable = Measured("Manual", "unavailable", "", {"reason": "nan", "detail": ""}, {})
    (response,) = responses([started(), unavailable, measured("Coding", "inf"), ENDED])
    assert response.u == float("inf")


def test_a_warehouse_is_read_and_what_is_no_finished_run_is_named(tmp_path: Path) -> None:
    write(tmp_path / "good", started(), measured("Coding"), *checked("Coding", works=True), ENDED)
    write(tmp_path / "good_copied", started(), measured("Coding"), *checked("Coding", works=True), ENDED)
    write(tmp_path / "stopped", started("B"), measured("Coding"))
    truncated = write(tmp_path / "truncated", started("C"), measured("Coding"), ENDED)
    truncated.write_bytes(truncated.read_bytes()[:-10])
    write(tmp_path / "other", started("D"), measured("Coding"), ENDED).write_text('{"type": "Boot"}\n{"a": 1}\n')
    write(tmp_path / "holes", started("E"), Measured("Coding", "", "", {"value": 1.0}, {}), ENDED)
    write(tmp_path / "nested", started("F"), ENDED).write_text("[" * 100_000 + "\n")
    strange: list[Any] = [["Coding"], "\ud800"]
    for number, subtask in enumerate(strange):
        write(tmp_path / f"subtask{number}", started(f"S{number}"), measured(subtask), ENDED)
    write(tmp_path / "huge", started("G"), measured("Coding", 10**400), ENDED)
    write(tmp_path / "stamp", replace(started("H"), stamp=cast(Any, 5)), measured("Coding"), ENDED)
    (tmp_path / "no run at all").mkdir()
    past = read_runs([tmp_path])
    assert [response.outcome for response in past.responses] == ["correct"]
    assert past.runs == 1, "a copied run is the same run"
    assert {folder.name for folder in past.skipped} == {
        *("stopped", "truncated", "other", "holes", "nested", "subtask0", "subtask1", "huge", "stamp")
    }
    assert "has not ended" in past.skipped[tmp_path / "truncated"]


def test_runs_that_acted_can_be_left_out(tmp_path: Path) -> None:
    for name, mode in (("acted", "on"), ("observed", "observe")):
        write(tmp_path / name, started(name, mode), measured("Coding"), *checked("Coding", works=True), ENDED)
    write(tmp_path / "foreign", replace(started(), settings=cast(Any, [])), gated("Coding", replaced=True), ENDED)
    past = read_runs([tmp_path], observed_only=True)
    assert (past.runs, [folder.name for folder in past.skipped]) == (1, ["acted", "foreign"])


@pytest.mark.parametrize("u", ["nan", "-inf", -0.5])
def test_an_uncertainty_that_no_run_writes_is_refused_with_its_file(tmp_path: Path, u: Any) -> None:
    write(tmp_path / "forged", started(), measured("Coding", u), ENDED)
    with pytest.raises(CalibrationError, match=r"forged.*uncertainty.*changed by hand"):
        read_runs([tmp_path])


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="There is no folder .*nowhere"):
        read_runs([tmp_path / "nowhere"])
    with pytest.raises(CalibrationError, match="holds no runs"):
        read_runs([tmp_path])


def test_a_folder_without_runs_beside_others_is_left_out_and_named(tmp_path: Path) -> None:
    write(tmp_path / "some" / "a", started(), measured("Coding"), ENDED)
    (tmp_path / "none").mkdir()
    past = read_runs([tmp_path / "none", tmp_path / "some"])
    assert (past.runs, past.skipped) == (1, {tmp_path / "none": "it holds no runs"})


def test_no_text_of_a_run_is_kept(tmp_path: Path) -> None:
    write(tmp_path / "a", started(), measured("Coding"), ENDED)
    assert "task of A" not in json.dumps([str(response) for response in read_runs([tmp_path]).responses])
