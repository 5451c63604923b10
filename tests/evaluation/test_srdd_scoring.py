"""Scoring folders: what counts, what is kept, what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import sandbox
from evaluation.behaviour import load_suite
from evaluation.srdd import EvaluationError, official, result, scoring
from evaluation.srdd.__main__ import main
from evaluation.srdd.consistency import Consistency, shuffled
from evaluation.srdd.result import Result
from evaluation.srdd.scoring import Measures, Score

Make = Callable[..., Path]

pytestmark = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")

GOOD = {"main.py": "print(1)\n", "requirements.txt": "none\n"}
STUB = {"main.py": "def add(): pass\nprint(1)\n"}


@pytest.fixture(autouse=True)
def short_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long the original watches a program is the affair of test_srdd_official.py."""
    monkeypatch.setattr(official, "WINDOW", 0.5)


class CountingEmbedder:
    """A text's vector says how often it has an `a` and a `b`."""

    name = "letters"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[float(text.count("a")), float(text.count("b"))] for text in texts]


def scored(folder: Path, tmp_path: Path, consistency: Consistency | None = None, **changes: Any) -> list[Score]:
    items, _ = scoring.items_in(folder)
    settings = {"modes": ("strict", "official", "behaviour"), "suite": {}, "seconds": 10, **changes}
    path = tmp_path / "scores.jsonl"
    found = list(
        scoring.score_all(items, scoring.Scoring(**settings), consistency, workers=4, path=path, say=print)
    )
    assert sorted(scoring.read_scores(path), key=lambda score: score.task) == found
    return found


def test_a_warehouse_of_the_original_is_scored_in_both_ways(product: Make, tmp_path: Path) -> None:
    folder = product(GOOD, name="1_good").parent
    product(STUB, name="2_stub")
    product({"main.py": "def (:\n"}, name="3_broken")
    product({"main.py": "print('compass')\n"}, name="4_compass")
    found = scored(folder, tmp_path)
    assert [score.arm for score in found] == ["warehouse"] * 4
    assert [score.failure for score in found] == ["", "incomplete", "syntax", ""]
    assert [score.strict for score in found] == [Measures(1, 1), Measures(0, 1), Measures(0, 0), Measures(1, 1)]
    assert [score.official for score in found] == [Measures(1, 1), Measures(0, 1), Measures(1, 1), Measures(0, 1)]


def test_a_failed_task_and_a_heap_of_files_count_as_nothing(product: Make, tmp_path: Path) -> None:
    out = tmp_path / "out"
    big = product(GOOD, name="big")
    with (big / "data.bin").open("wb") as file:
        file.truncate(50_000_000)
    for task, failure, folder in (("a", "time_budget", ""), ("b", "", str(big))):
        home = out / "mine" / task
        home.mkdir(parents=True)
        result.write(Result("mine", task, "Data", "Add.", failure, None, folder, 9.0, {}), home)
    first, second = scored(out, tmp_path)
    assert (first.failure, second.failure) == ("time_budget", "too_large")
    assert first.strict == second.strict == first.official == Measures(0, 0, 0)
    assert first.cost == {"seconds": 9.0}


def test_consistency_compares_code_with_its_task_and_with_another(product: Make, tmp_path: Path) -> None:
    folder = product({"main.py": "a = 0  # b\n"}, name="one", task="a").parent
    product({"main.py": "b = 0  # a\n", "notes.txt": "a"}, name="two", task="b")
    texts = {"one": "a", "two": "b"}
    one, two = scored(folder, tmp_path, Consistency(CountingEmbedder(), shuffled(texts, 1)))
    assert one.strict == Measures(1, 1, 1, 0)
    assert two.strict == Measures(1, 1, 1, 0)
    assert one.embedder == "letters"
    # The official rule compares with the first text file, and dies without one.
    assert one.official == Measures(1, 1, 0, None)
    # Its listing has two a, one of them in the file's name, and a b.
    assert two.official == Measures(1, 1, *[pytest.approx(2 / 5**0.5)] * 2)


def test_requirements_met_are_checks_passed_of_the_task_s_suite(product: Make, tmp_path: Path) -> None:
    suite = tmp_path / "suite.json"
    checks = [
        {"title": "prints", "steps": [{"args": ["1"], "stdout": ["1"]}]},
        {"title": "refuses", "steps": [{"args": ["x"], "exit": "nonzero"}]},
    ]
    suite.write_text(json.dumps([{"name": "echo", "task": "Echo a number.", "checks": checks}]))
    tasks = {task.task: task for task in load_suite(suite)}
    # Without arguments it dies; called as the task says it works.
    program = {"main.py": "import sys\nprint(sys.argv[1])\n"}
    folder = product(program, name="echo", task="Echo a number.").parent
    product(program, name="other", task="Something else.")
    echo, other = scored(folder, tmp_path, suite=tasks)
    assert (echo.passed, echo.checks, echo.failure) == (1, 2, "")
    assert (other.passed, other.checks, other.failure) == (None, None, "crash")


def test_what_was_scored_is_not_scored_again_unless_it_changed(product: Make, tmp_path: Path) -> None:
    folder = product(GOOD, name="one").parent
    changed = product(GOOD, name="two")
    embedder = CountingEmbedder()
    scored(folder, tmp_path, Consistency(embedder, {}), modes=("strict",))
    assert len(embedder.texts) == 4
    with (tmp_path / "scores.jsonl").open("a") as file:
        file.write('{"digest": "half a li')
    assert len(scoring.read_scores(tmp_path / "scores.jsonl")) == 2
    (changed / "main.py").write_text("print(1000)\n")
    scored(folder, tmp_path, Consistency(embedder, {}), modes=("strict",))
    assert len(embedder.texts) == 6


def test_scores_made_another_way_are_left_out_and_told_of(
    product: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = product(GOOD, name="one").parent
    product(GOOD, name="two")
    scored(folder, tmp_path, modes=("strict", "official"))
    assert "left out" not in capsys.readouterr().out
    scored(folder, tmp_path, modes=("behaviour",))
    told = capsys.readouterr().out
    assert f"left out of {tmp_path / 'scores.jsonl'}: 2 scores that were made another way" in told
    assert "(modes: official strict, now behaviour)" in told
    assert "the settings of then make them again, and --scores FILE keeps them beside these" in told
    # Nothing is told of a product that changed: its scores are of one that is no more.
    (folder / "one" / "main.py").write_text("print(1000)\n")
    scored(folder, tmp_path, modes=("behaviour",))
    assert "left out" not in capsys.readouterr().out


def test_a_folder_without_products_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pictures").mkdir()
    assert main(["score", str(tmp_path), "--embedder", "none"]) == 2
    assert "holds no products" in capsys.readouterr().err
    assert not (tmp_path / "scores.jsonl").exists()


def test_two_scorings_of_one_folder_are_refused(product: Make, capsys: pytest.CaptureFixture[str]) -> None:
    from evaluation.srdd.alone import alone

    folder = product(GOOD).parent
    with alone(folder / scoring.FILE_NAME):
        assert main(["score", str(folder), "--embedder", "none"]) == 2
    assert "Another evaluation is at work" in capsys.readouterr().err


def test_scores_of_a_task_with_an_odd_line_break_are_read(tmp_path: Path) -> None:
    score = Score("arm", "to-do\u2028list", "", "here", "", cost={})
    record = json.dumps({"digest": "d", "how": {}, **asdict(score)}, ensure_ascii=False)
    (tmp_path / "scores.jsonl").write_text(f"{record}\n", encoding="utf-8")
    assert scoring.read_scores(tmp_path / "scores.jsonl") == [score]


def test_a_folder_that_is_not_there_is_not_to_be_scored_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing"
    for scores in (missing, missing / "scores.jsonl"):
        assert main(["report", str(scores)]) == 2
        told = capsys.readouterr().err
        assert f"There is no {scores}; give a folder that python -m evaluation.srdd score has scored" in told
    assert main(["report", str(tmp_path)]) == 2
    assert f"first: python -m evaluation.srdd score {tmp_path}\n" in capsys.readouterr().err
    assert main(["score", str(missing)]) == 2
    assert f"There is no folder {missing}." in capsys.readouterr().err


def test_scores_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "scores.jsonl").write_text('{"arm": 1}\n')
    with pytest.raises(EvaluationError, match="does not hold scores"):
        scoring.read_scores(tmp_path / "scores.jsonl")
    with pytest.raises(EvaluationError, match="evaluation.srdd score"):
        scoring.read_scores(tmp_path / "missing.jsonl")


def test_a_file_of_something_else_is_not_written_over(
    product: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Not to be lost.\nNor this.\n")
    command = ["score", str(product(GOOD).parent), "--mode", "behaviour", "--scores"]
    for said in (
        "Not to be lost.\nNor this.\n",
        "Not to be lost.",
        '{"type": "RunStarted"}\n',
        "[]\n",
        "5",
        "\xff",
    ):
        notes.write_bytes(said.encode("latin-1"))
        assert main([*command, str(notes)]) == 2
        assert main(["report", str(notes)]) == 2
        assert capsys.readouterr().err.count(f"{notes} does not hold scores") == 2
        assert notes.read_bytes() == said.encode("latin-1")
    assert main([*command, str(tmp_path)]) == 2
    assert "is a folder; name a file in it" in capsys.readouterr().err


def test_a_warehouse_is_one_though_a_program_wrote_a_result(product: Make, tmp_path: Path) -> None:
    folder = product({**GOOD, "data/result.json": '{"score": 3}'}).parent
    assert [score.executability for one in scored(folder, tmp_path) if (score := one.strict)] == [1]


def test_a_product_whose_name_is_no_text_is_scored(product: Make, tmp_path: Path) -> None:
    folder = product(GOOD, name=os.fsdecode(b"caf\xe9")).parent
    assert [one.failure for one in scored(folder, tmp_path, modes=("strict",))] == [""]
