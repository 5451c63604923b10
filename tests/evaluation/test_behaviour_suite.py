"""The shipped suite, what is said of a broken one, and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sandbox
from evaluation.behaviour import SuiteError, load_suite

ROOT = Path(__file__).parents[2]

isolated_only = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")

TASK: dict[str, Any] = {
    "name": "echo",
    "task": "Print.",
    "checks": [{"title": "prints", "steps": [{"stdout": ["a"]}]}],
}


def written(folder: Path, value: Any) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps(value))
    return path


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "evaluation.behaviour", *map(str, arguments)]
    return subprocess.run(line, cwd=ROOT, text=True, capture_output=True, timeout=60)


def test_the_shipped_suite_has_twelve_tasks_with_checks() -> None:
    suite = load_suite()
    assert len(suite) == 12
    assert "python main.py" in suite[0].task
    assert all(len(task.checks) >= 9 for task in suite)


def with_step(**step: Any) -> list[Any]:
    return [{**TASK, "checks": [{"title": "t", "steps": [{}, step]}]}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "mine.json: must be a list"),
        ([], "mine.json: must not be empty"),
        ([TASK, TASK], "[1]: a second task is called 'echo'"),
        ([{"name": "a", "checks": []}], "[0]: lacks 'task'"),
        ([{**TASK, "name": 3}], "[0].name: must be a text"),
        ([{**TASK, "checks": []}], "[0].checks: must not be empty"),
        ([{**TASK, "checks": [{"title": "t", "steps": []}]}], "[0].checks[0].steps: must not be empty"),
        (with_step(stdou=["a"]), "[0].checks[0].steps[1].stdou: is not a known key; known are args, stdin"),
        (with_step(args="a"), "steps[1].args: must be a list"),
        (with_step(args=[1]), "steps[1].args[0]: must be a text"),
        (with_step(stdin=[]), "steps[1].stdin: must be a text"),
        (with_step(files={"../a": ""}), "steps[1].files.../a: must be named by a path inside the product"),
        (with_step(files={"a": 1}), "steps[1].files.a: must be a text"),
        (with_step(exit="zero"), 'steps[1].exit: must be a number or "nonzero"'),
        (with_step(exit=True), 'steps[1].exit: must be a number or "nonzero"'),
        (with_step(timeout=0), "steps[1].timeout: must be above 0"),
        (with_step(timeout="1"), "steps[1].timeout: must be a number of seconds"),
        (with_step(stdout="a"), "steps[1].stdout: must be a list"),
        (with_step(not_stdout=["a", "("]), "steps[1].not_stdout[1]: is no regular expression"),
        (with_step(either=["a"]), "steps[1].either: must be a text"),
        (with_step(file={"/etc/a": "a"}), "must be named by a path inside the product"),
        (with_step(file={"a": "["}), "steps[1].file.a: is no regular expression"),
    ],
)
def test_a_broken_suite_is_told_with_file_and_key(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        load_suite(written(tmp_path, value))
    assert str(caught.value).startswith(str(tmp_path / "mine.json"))
    assert message in str(caught.value)


def test_a_suite_that_is_not_there_or_no_json(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"none\.json: cannot be read \(No such file"):
        load_suite(tmp_path / "none.json")
    (tmp_path / "half.json").write_text("[{")
    with pytest.raises(SuiteError, match=r"half\.json: is not JSON \(.*line 1"):
        load_suite(tmp_path / "half.json")


@isolated_only
def test_the_command_scores_all_products_of_a_folder(tmp_path: Path) -> None:
    suite = written(tmp_path, [TASK, {**TASK, "name": "other"}])
    (tmp_path / "echo").mkdir()
    (tmp_path / "echo" / "main.py").write_text("print('a')")
    told = command(tmp_path, "--all", "--suite", suite)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines() == [
        f"{'echo':<24} 1/1",
        f"{'other':<24} 0/1",
        "    prints: no main.py",
        "score 0.500 over 2 tasks; whole 1",
    ]


@isolated_only
def test_the_command_says_why_a_check_failed_in_json_too(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("print('b')")
    told = command(tmp_path, "--task", "echo", "--json", "--suite", written(tmp_path, [TASK]))
    assert json.loads(told.stdout) == [
        {
            "name": "echo",
            "passed": 0,
            "checks": 1,
            "results": [{"title": "prints", "passed": False, "why": "step 1: stdout lacks /a/: 'b\\n'"}],
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((".", "--task", ""), "--task : there is no such task; there are todo_list,"),
        ((".", "--task", "nope"), "--task nope: there is no such task; there are todo_list,"),
        (("/no/such/folder", "--all"), "/no/such/folder: there is no such folder"),
        ((".", "--all", "--suite", "/no/suite.json"), "/no/suite.json: cannot be read"),
        ((".",), "one of the arguments --task --all is required"),
    ],
)
def test_bad_arguments_are_told(arguments: tuple[str, ...], message: str) -> None:
    told = command(*arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert message in told.stderr


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (["--all"], "there is no product in it; wanted are folders called echo, other"),
        (["--all", "--json"], "there is no product in it; wanted are folders called echo, other"),
        (["--task", "echo"], "there is no product in it"),
    ],
)
def test_where_there_is_no_product_there_is_no_score(tmp_path: Path, which: list[str], message: str) -> None:
    suite = written(tmp_path, [TASK, {**TASK, "name": "other"}])
    products = tmp_path / "products"
    (products / "other").mkdir(parents=True)
    told = command(products if "--all" in which else products / "other", *which, "--suite", suite)
    assert (told.returncode, told.stdout) == (2, "")
    assert message in told.stderr
