"""The benchmark of the main job, whole, on scripted models: what is counted, compared and kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sandbox
from benchmarks.measurement import Row, engine_share, mean_score
from benchmarks.table import table

ROOT = Path(__file__).parents[2]

isolated_only = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")

PROGRAM = "main.py\n```python\nimport sys\nif sys.argv[1:]:\n    sys.exit('error')\nprint(1)\n```"
PLAIN = "Here it is:\n```python\nprint(1)\n```"
# The chain gets one answer to whatever it asks, the plain prompt another.
SCRIPT = [
    {"match": r"(?<!in one file, main\.py\.)\Z", "text": PROGRAM},
    {"match": r"in one file, main\.py\.\Z", "text": PLAIN},
]


def suite_of(name: str, wanted: str) -> dict[str, Any]:
    prints = {"title": "prints", "steps": [{"stdout": [wanted]}]}
    refuses = {"title": "refuses arguments", "steps": [{"args": ["fly"], "exit": "nonzero"}]}
    return {"name": name, "task": f"Print {wanted}.", "checks": [prints, refuses]}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(SCRIPT))
    return path


def benchmark(tmp_path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(ROOT / "benchmarks" / "main_job.py"), "--out", str(tmp_path / "out")]
    line += ["--json", str(tmp_path / "rows.json"), *map(str, arguments)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.run(line, cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=100)


def rows_in(tmp_path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((tmp_path / "rows.json").read_text())
    return rows


def picked(rows: Sequence[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


@isolated_only
def test_both_arms_side_by_side_and_nothing_is_run_twice(tmp_path: Path, script: Path) -> None:
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps([suite_of("one", "1"), suite_of("two", "2")]))
    arguments = ("--behaviour", suite, "--single", "--model", f"scripted:{script}")

    first = benchmark(tmp_path, *arguments)
    assert first.returncode == 0, first.stderr
    rows = rows_in(tmp_path)
    assert picked(rows, "task", "arm", "exit_code", "runs", "complete", "passed", "checks") == [
        ("one", "chain", 0, "runs", True, 2, 2),
        ("two", "chain", 0, "runs", True, 1, 2),
        ("one", "single", 0, "runs", True, 1, 2),
        ("two", "single", 0, "runs", True, 0, 2),
    ]
    assert all(row["calls"] > 1 and row["seconds"] > row["sandbox_seconds"] > 0 for row in rows[:2])
    assert rows[0]["load_seconds"] > 0
    # One plain prompt is one call: the task, and the sentence that names the file.
    assert picked(rows[2:], "calls", "prompt_tokens", "completion_tokens", "tokens") == [(1, 10, 6, 16)] * 2
    told = first.stderr.splitlines()
    assert [line.split(":")[0] for line in told[:4]] == [
        "[1/4] one chain",
        "[2/4] two chain",
        "[3/4] one single",
        "[4/4] two single",
    ]
    lines = [line.split()[:2] for line in first.stdout.splitlines()[2:6]]
    assert lines == [["one", "chain"], ["one", "single"], ["two", "chain"], ["two", "single"]]
    assert "single: 16 tokens a task, 2 of 2 complete and running, mean score 0.250" in first.stdout

    script.write_text("[]")  # would answer nothing any more
    again = benchmark(tmp_path, *arguments)
    assert again.returncode == 0, again.stderr
    kept = rows_in(tmp_path)
    assert all(row["load_seconds"] is None for row in kept)
    for old, new in zip(rows, kept, strict=True):
        assert {**old, "load_seconds": None} == new


@isolated_only
def test_tasks_of_a_csv_file_a_broken_product_and_a_table_for_the_readme(tmp_path: Path, script: Path) -> None:
    tasks = tmp_path / "tasks.csv"
    tasks.write_text("Name,Description,Category\nMy Job/1,Print 1.,Tool\nOther,Print 2.,Tool\n")
    script.write_text(json.dumps(["main.py\n```python\ndef run(): ...\n1 / 0\n```"]))
    told = benchmark(
        tmp_path,
        "--csv",
        tasks,
        "--limit",
        1,
        "--single",
        "--no-chain",
        "--markdown",
        "--model",
        f"scripted:{script}",
    )
    assert told.returncode == 0, told.stderr
    wanted = [("My Job/1", "single", 4, "fails", False, None, None)]
    assert picked(rows_in(tmp_path), "task", "arm", "exit_code", "runs", "complete", "score", "checks") == wanted
    lines = told.stdout.splitlines()
    assert lines[0].startswith("| task | arm | exit | runs | complete |")
    assert lines[1].startswith("| --- | --- | ---: |")
    assert lines[2].startswith("| My Job/1 | single | 4 | fails | no | 1 | 1 |")
    assert lines[3].startswith("| **total** | **single** | **0/1** | **0/1** | **0/1** |")


@isolated_only
def test_other_settings_want_another_place(tmp_path: Path, script: Path) -> None:
    arguments = ("--task", "Print 1.", "--single", "--no-chain", "--model", f"scripted:{script}")
    assert benchmark(tmp_path, *arguments, "--seed", 1).returncode == 0
    told = benchmark(tmp_path, *arguments, "--seed", 2)
    assert told.returncode == 2
    assert "other settings (seed was 1, is 2); choose another --out" in told.stderr


@isolated_only
def test_a_run_that_was_stopped_is_a_row_and_is_run_again(tmp_path: Path, script: Path) -> None:
    arguments = ("--task", "Print 1.", "--name", "one", "--model", f"scripted:{script}")
    whole = script.read_text()
    script.write_text(json.dumps(["<INFO> Application", "<INFO> Python"]))  # no word of the program
    assert benchmark(tmp_path, *arguments).returncode == 0
    assert picked(rows_in(tmp_path), "exit_code", "runs", "calls", "files") == [(3, "fails", 2, 0)]
    script.write_text(whole)
    assert benchmark(tmp_path, *arguments).returncode == 0
    assert picked(rows_in(tmp_path), "exit_code", "runs") == [(0, "runs")]


@isolated_only
def test_what_no_task_survives_ends_the_benchmark_with_the_reason(tmp_path: Path) -> None:
    told = benchmark(tmp_path, "--behaviour", "--model", "scripted:/no/script.json")
    assert told.returncode == 3
    assert "Stopped: todo_list: exit code 3 and no product. " in told.stderr
    assert "/no/script.json" in told.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Title,Description\na,b\n", "has no column Name"),
        ("Name,Description,Category\n", "holds no task, only the names of the columns."),
    ],
)
def test_a_list_of_tasks_that_cannot_be_used_is_told(tmp_path: Path, text: str, message: str) -> None:
    tasks = tmp_path / "tasks.csv"
    tasks.write_text(text)
    told = benchmark(tmp_path, "--csv", tasks)
    assert told.returncode == 2
    assert message in told.stderr


ROW = Row(
    task="a",
    arm="chain",
    exit_code=0,
    runs="runs",
    complete=True,
    files=1,
    calls=2,
    prompt_tokens=1500,
    cached_tokens=500,
    completion_tokens=300,
    load_seconds=2.0,
    seconds=110.0,
    engine_seconds=95.0,
    sandbox_seconds=10.0,
    triggers=0,
    retrievals=0,
    passed=5,
    checks=10,
    folder="",
)
OTHER = replace(ROW, task="b", exit_code=4, seconds=220.0, sandbox_seconds=20.0, load_seconds=None, passed=10)


def test_the_share_of_the_engine_leaves_out_sandbox_and_start_up() -> None:
    assert engine_share([ROW]) == 0.95
    assert engine_share([ROW, OTHER]) == 190 / 300
    assert engine_share([replace(ROW, seconds=10.0)]) is None


def test_the_mean_score_counts_each_task_the_same() -> None:
    assert mean_score([ROW, replace(OTHER, passed=1, checks=1)]) == 0.75
    assert mean_score([ROW, replace(OTHER, passed=None, checks=None)]) == 0.5
    assert mean_score([replace(ROW, passed=None, checks=None)]) is None


def test_totals_and_means_close_the_table() -> None:
    total, mean = (line.split() for line in table([ROW, OTHER], markdown=False).splitlines()[-2:])
    assert total[:5] == ["total", "chain", "1/2", "2/2", "2/2"]
    assert total[5:11] == ["2", "4", "3,000", "1,000", "600", "3,600"]
    assert total[11:] == ["2.0", "330.0", "30.0", "63.3%", "15/20"]
    assert mean[2:8] == ["1.0", "2.0", "1,500.0", "500.0", "300.0", "1,800.0"]
    assert mean[8:] == ["2.0", "165.0", "15.0", "0.750"]
