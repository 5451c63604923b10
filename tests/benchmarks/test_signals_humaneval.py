"""The comparison of signals: what is asked, that nothing is asked twice, and what the table says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.humaneval import Problem
from benchmarks.signal_table import Cost, Signal, difference, estimated, write_plot
from benchmarks.signals_humaneval import main, without_tests
from calibration.labels import Group, Response
from evaluation.bootstrap import Estimate
from uq.inputs import function_trials
from uq.scores import Unavailable

GOOD = "```python\ndef double(n):\n    return 2 * n\n```"
BAD = "```python\ndef triple(n):\n    return n ** 3\n```"
OTHER = "```python\ndef triple(n):\n    return 3 * n\n```"


def problem(name: str, factor: int) -> dict[str, str]:
    return {
        "task_id": f"T/{name}",
        "prompt": f'import math\n\ndef {name}(n):\n    """\n    >>> {name}(5)\n    {factor * 5}\n    """\n',
        "entry_point": name,
        "test": f"def check(candidate):\n    assert candidate(5) == {factor * 5} and candidate(7) == {factor * 7}",
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (problem("double", 2), problem("triple", 3))))
    return path


def script(path: Path, *replies: dict[str, object]) -> str:
    path.write_text(json.dumps(replies))
    return f"scripted:{path}"


def test_one_run_measures_all_signals_and_a_second_asks_nothing(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "records.jsonl"
    arguments = [str(data), "--records", str(records), "--embedding", str(tmp_path / "none")]
    model = script(
        tmp_path / "script.json",
        {"match": "Complete this[^`]*```python[^`]*def double", "text": GOOD, "u": 0.1},
        {"match": "Complete this[^`]*```python[^`]*def triple", "text": BAD, "u": 0.3},
        {"match": "Complete this[^`]*```python[^`]*def triple", "text": OTHER, "u": 0.3},
        {"match": "Program A", "text": "Equivalent"},
    )
    assert main([*arguments, "--model", model]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 problems, 1 solved")
    rows = {
        row.split(" | ")[0].strip("| "): row.strip("| ").split(" | ") for row in printed.splitlines() if "|" in row
    }
    assert rows["token u"][1:3] == ["0", "1.000 [1.000, 1.000]"]
    assert rows["equivalence, executed"][2].startswith("1.000"), "samples that do otherwise tell of the mistake"
    assert rows["equivalence, judged"][2].startswith("0.500"), "a judge who always agrees tells of nothing"
    assert rows["semantic density"][1] == "2", "there is no embedding model"
    assert rows["token u"][5:7] == ["0.0", "0"]
    assert rows["equivalence, executed"][5] == "5.0", "samples, and no judge"
    # Only one of triple's samples is another text: one pair in both orders.
    assert rows["equivalence, judged"][5] == "6.0"
    assert "AUROC of equivalence, executed minus equivalence, judged: 0.500" in printed

    known = [json.loads(line) for line in records.read_text().splitlines()]
    kinds = ["answer", "samples", "label", "execution", "density", "judge"]
    assert [record["kind"] for record in known] == kinds * 2
    assert known[9]["functional-equivalence-rate"]["inputs"] > 10
    before = records.read_bytes()
    records.write_bytes(before + b'{"task": "T/tri')
    assert main([*arguments, "--model", script(tmp_path / "empty.json")]) == 0
    assert records.read_bytes() == before
    assert capsys.readouterr().out == printed


def test_candidates_are_not_run_on_what_the_tests_run_them_on() -> None:
    row = Problem(**problem("double", 2))
    trials = function_trials(row.prompt, [])
    assert not isinstance(trials, Unavailable)
    left = without_tests(trials, row)
    calls = {getattr(call, "arguments", "") for call in left.inputs}
    assert "5" not in calls
    assert "7" not in calls
    assert (trials.given, left.given) == (1, 0)
    assert len(left.inputs) >= 10


def test_a_program_is_the_answer_after_what_the_problem_defines() -> None:
    row = Problem("T", "import math\n\ndef f(x):\n    '''doc'''\n", "f", "")
    assert row.program("```python\ndef f(x):\n    return 1\n```") == "import math\n\ndef f(x):\n    return 1\n"
    assert row.program("    return 2\n") == "import math\n\ndef f(x):\n    '''doc'''\n    return 2\n"


def labelled(values: list[float]) -> list[Response]:
    group = Group("HumanEval", "m", "raw", "content-v1", "s")
    return [
        Response(str(n), 0, str(n), "0", group, u, "correct" if n % 2 else "incorrect")
        for n, u in enumerate(values)
    ]


def signal(name: str, values: list[float]) -> Signal:
    return Signal(name, tuple(labelled(values)), 0, Cost(0, 0, 0))


def test_intervals_are_paired() -> None:
    good, noisy = signal("good", [1.0, 0.0] * 20), signal("noisy", [0.2, 0.4, 0.6, 0.3] * 10)
    assert estimated(good, "AUROC") == Estimate(1.0, 1.0, 1.0)
    assert difference(good, signal("same", [1.0, 0.0] * 20)) == Estimate(0.0, 0.0, 0.0), "the same draws for both"
    found, apart = estimated(noisy, "AUROC"), difference(good, noisy)
    assert found is not None
    assert apart is not None
    assert found.low < found.value < found.high
    assert apart.value == pytest.approx(1 - found.value)
    assert estimated(noisy, "AUROC") == found, "seeded"


def test_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_plot([signal(name, [0.2, 0.4, 0.6, 0.3] * 5) for name in ("one", "other")], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_where_all_are_right_there_is_no_figure() -> None:
    all_right = tuple(answer for answer in labelled([0.1] * 10) if answer.outcome == "correct")
    assert estimated(Signal("s", all_right, 0, Cost(0, 0, 0)), "AUROC") is None
