"""The report: means, intervals, pairs, embedders apart, failures counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.bootstrap import estimate
from evaluation.srdd import EvaluationError
from evaluation.srdd.__main__ import main
from evaluation.srdd.report import Report, make_report
from evaluation.srdd.scoring import NOTHING, Measures, Score

COST = {"tokens": 100.0, "calls": 2.0, "seconds": 3.0, "triggers": 1.0, "retrievals": 0.0}


def arm(name: str, *measures: Measures, embedder: str | None = "lab/mini", **changes: Any) -> list[Score]:
    return [
        Score(name, f"t{number}", "Data", "", "", strict=one, cost=COST, embedder=embedder, **changes)
        for number, one in enumerate(measures)
    ]


BASE = arm("chatdev", Measures(1, 1, 0.8, 0.4), Measures(0, 1, 0.6, 0.4))
BETTER = arm("ua-chatdev", Measures(1, 1, 0.9, 0.4), Measures(1, 1, 0.7, 0.4))


def row(report: Report, title: str, name: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = report.to_json()["tables"][title]
    return next(row for row in rows if row["arm"] == name)


def test_quality_is_given_as_product_of_means_and_as_mean_of_products() -> None:
    base = row(make_report(BASE), "strict", "chatdev")
    assert base["tasks"] == 2
    assert base["C"]["value"] == 0.5
    assert base["K mini"]["value"] == pytest.approx(0.7)
    assert base["its floor"]["value"] == pytest.approx(0.4)
    assert base["Q of means mini"]["value"] == pytest.approx(0.5 * 1 * 0.7)
    assert base["Q mean mini"]["value"] == pytest.approx(0.8 / 2)


def test_a_failed_task_counts_as_zero() -> None:
    failed = replace(BASE[0], task="t9", strict=NOTHING, failure="time_budget")
    report = make_report([*BASE, failed])
    assert row(report, "strict", "chatdev")["E"]["value"] == pytest.approx(2 / 3)
    assert row(report, "failures", "chatdev") == {"arm": "chatdev", "tasks": 3, "none": 2, "time_budget": 1}


def test_differences_are_paired_by_task() -> None:
    # Each task gains a tenth, though the tasks differ much among themselves.
    many = [Measures(1, 1, number / 40, 0) for number in range(20)]
    more = [replace(one, consistency=(one.consistency or 0) + 0.1) for one in many]
    change = row(make_report([*arm("a", *many), *reversed(arm("b", *more))], "a"), "strict: difference to a", "b")
    assert change["tasks"] == 20
    assert change["K mini"] == pytest.approx({"value": 0.1, "low": 0.1, "high": 0.1})


def test_numbers_of_two_embedders_have_columns_of_their_own() -> None:
    other = arm("other", Measures(1, 1, 0.99, 0.95), embedder="lab/bert")
    report = make_report([*BASE, *other])
    assert row(report, "strict", "other")["K mini"] is None
    assert row(report, "strict", "other")["K bert"]["value"] == 0.99
    assert row(report, "strict", "chatdev")["K bert"] is None
    assert row(report, "strict: difference to chatdev", "other")["Q mean bert"] is None
    assert any("do not have the same tasks" in note for note in report.notes)


def test_requirements_count_only_the_tasks_that_have_checks() -> None:
    checked = replace(BASE[0], passed=3, checks=4)
    met = row(make_report([checked, BASE[1]]), "behaviour", "chatdev")
    assert (met["tasks"], met["requirements met"]["value"], met["all met"]["value"]) == (1, 0.75, 0)


def test_without_an_embedder_there_is_no_quality_and_a_note_says_so() -> None:
    report = make_report(arm("a", Measures(1, 1), embedder=None))
    assert list(row(report, "strict", "a")) == ["arm", "tasks", "C", "E"]
    assert "K and Q were not measured: there was no embedder." in report.notes


def test_scores_made_without_a_mode_are_counted_and_how_to_get_them_is_said() -> None:
    whole = [replace(one, official=one.strict, passed=1, checks=2) for one in BASE]
    assert not any("Left out" in note for note in make_report(whole).notes)
    # A task without checks is no score without the mode: none of its scores has any.
    unchecked = [replace(one, task=f"{one.task} more", passed=None, checks=None) for one in whole]
    assert not any("Left out" in note for note in make_report([*whole, *unchecked]).notes)
    strict_only = [replace(one, official=None, passed=None, checks=None) for one in BETTER]
    behaviour_only = [replace(one, arm="other", strict=None, official=None) for one in whole]
    notes = make_report([*whole, *unchecked, *strict_only, *behaviour_only]).notes
    remedy = "python -m evaluation.srdd score OUT, without --mode, scores in every mode."
    assert [note for note in notes if note.startswith("Left out")] == [
        f"Left out of strict: 2 of 8 scores, which were made without it. {remedy}",
        f"Left out of official: 4 of 8 scores, which were made without it. {remedy}",
        f"Left out of behaviour: 2 of 6 scores, which were made without it. {remedy}",
    ]


def test_programs_that_this_machine_cannot_run_are_told_of() -> None:
    unseen = replace(BASE[0], failure="not_verifiable", strict=Measures(1, 0, 0.8, 0.4))
    assert any(note.startswith("1 products cannot be run on this machine") for note in make_report([unseen]).notes)


def test_costs_are_means_over_the_products_with_a_journal() -> None:
    cheap = replace(BASE[1], cost={**COST, "tokens": 300.0})
    unknown = replace(BASE[1], task="t9", cost={"seconds": 9.0})
    costs = row(make_report([BASE[0], cheap, unknown]), "cost of a task", "chatdev")
    assert (costs["tokens"], costs["seconds"], costs["triggers"]) == (200, 5, 1)


def test_what_all_of_srdd_would_cost_is_told() -> None:
    whole = row(make_report(BASE), "all 1,200 tasks of SRDD at this cost", "chatdev")
    assert whole["million tokens"] == pytest.approx(0.12)
    assert whole["hours of runs, one after the other"] == pytest.approx(1)


def test_the_interval_is_that_of_a_known_case() -> None:
    coins = [1.0] * 50 + [0.0] * 50

    def share(drawn: Sequence[int]) -> float:
        return sum(coins[n] for n in drawn) / len(drawn)

    found = estimate(100, share)
    assert found is not None
    # The binomial of 100 with one half: 0.4 to 0.6 hold 95 %.
    assert (found.value, found.low, found.high) == (
        0.5,
        pytest.approx(0.4, abs=0.02),
        pytest.approx(0.6, abs=0.02),
    )
    assert estimate(100, share) == found
    assert estimate(0, share) is None


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(EvaluationError, match="there is no such arm; there are chatdev"):
        make_report(BASE, "none")
    with pytest.raises(EvaluationError, match="t0 is there 2 times"):
        make_report([*BASE, *BASE])
    with pytest.raises(EvaluationError, match="no scores"):
        make_report([])


def test_the_command_writes_text_markdown_json_and_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    lines = [json.dumps({"digest": "", "how": {}, **asdict(score)}) for score in [*BASE, *BETTER]]
    (tmp_path / "scores.jsonl").write_text("\n".join(lines))
    markdown, plain, plots = tmp_path / "report.md", tmp_path / "report.json", tmp_path / "plots"
    command = [
        "report",
        tmp_path,
        "--markdown",
        markdown,
        "--json",
        plain,
        "--plots",
        plots,
        "--baseline",
        "chatdev",
    ]
    assert main(list(map(str, command))) == 0
    text = capsys.readouterr().out
    assert "strict: difference to chatdev" in text
    assert "| ua-chatdev | 2 |" in markdown.read_text()
    assert json.loads(plain.read_text())["tables"]["cost of a task"][0]["tokens"] == 100
    names = {path.name for path in plots.iterdir()}
    assert names == {
        f"{name}.{kind}" for name in ("quality_by_arm", "quality_against_tokens") for kind in ("png", "svg")
    }
    assert (plots / "quality_by_arm.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("option", ["--markdown", "--json", "--plots"])
def test_a_report_that_cannot_be_written_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    pytest.importorskip("matplotlib")
    scores = tmp_path / "scores.jsonl"
    scores.write_text("\n".join(json.dumps({"digest": "", "how": {}, **asdict(score)}) for score in BASE))
    assert main(["report", str(tmp_path), option, str(scores / "report")]) == 2
    assert "cannot be used (Not a directory); name another place" in capsys.readouterr().err
