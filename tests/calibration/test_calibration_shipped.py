"""The history and the thresholds that come with the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibration import CalibrationError
from calibration.labels import Group, Response
from calibration.shipped import read_history, ship, shipped, shipped_for

GROUP = Group("Coding", "small", "raw", "content-v1", "token_uncertainty")
RARE = GROUP._replace(subtask="TestModification")


def answers(first: int, last: int, group: Group = GROUP) -> list[Response]:
    return [
        Response(
            f"{group.subtask} {number}",
            0,
            f"t{number}",
            f"2026{number:04}",
            group,
            number / 1000 + 1e-9,
            "correct",
        )
        for number in range(first, last)
    ]


def test_sittings_add_up_and_say_which_subtasks_still_fall_back(tmp_path: Path) -> None:
    first = ship([*answers(0, 30), *answers(0, 10, RARE)], "conformal", 0.1, tmp_path)
    assert "lacks 20 of 50" in first.lookup(GROUP).reason
    ship(answers(20, 60), "conformal", 0.1, tmp_path)  # ten of them again
    found = shipped(tmp_path)
    assert found is not None
    threshold = found.lookup(GROUP)
    # ceil(61 * 0.9) = 55: the 55th of 0, 0.001, ...
    assert threshold.tau == 54 / 1000 + 1e-9
    assert threshold.source == "calibrated #0"
    assert found.lookup(RARE).reason == "lacks 40 of 50 correct answers"
    assert len(read_history(tmp_path / "history.csv")) == 70


def test_the_history_is_what_was_given_in_the_order_of_time(tmp_path: Path) -> None:
    given = answers(0, 5)
    ship(reversed(given), "conformal", 0.1, tmp_path)
    assert read_history(tmp_path / "history.csv") == given
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 6


def test_a_history_that_cannot_be_learnt_from_leaves_all_as_it_was(tmp_path: Path) -> None:
    ship(answers(0, 5), "conformal", 0.1, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    censored = Response("x", 0, "t", "20260101", GROUP, 0.1, "censored")
    with pytest.raises(CalibrationError, match="observe"):
        ship([censored], "conformal", 0.1, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "history.csv").write_text("run,u\n1,2\n")
    with pytest.raises(CalibrationError, match="history.csv is not a history"):
        ship(answers(0, 5), "conformal", 0.1, tmp_path)


def test_only_a_model_that_was_measured_gets_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shipped(tmp_path) is None
    ship(answers(0, 60), "conformal", 0.1, tmp_path)
    monkeypatch.setattr("calibration.shipped.FOLDER", tmp_path)
    assert shipped_for("small") == shipped(tmp_path)
    assert shipped_for("other") is None


def test_a_history_that_is_no_table_is_told(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("a" * 200_000)
    with pytest.raises(CalibrationError, match="is not a history of this version"):
        read_history(tmp_path / "history.csv")
