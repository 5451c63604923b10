"""Behaviour checks against small programs: each key of a step passes one and fails another."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sandbox
from evaluation.behaviour import TaskResult, load_suite, run_task

ROOT = Path(__file__).parents[2]
PEER = ROOT.parent / "shared" / "tools" / "behaviour.py"

pytestmark = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")

Steps = list[dict[str, Any]]


def suite_of(folder: Path, *checks: Steps) -> Path:
    written = [{"title": f"check {number}", "steps": steps} for number, steps in enumerate(checks, 1)]
    path = folder / "suite.json"
    path.write_text(json.dumps([{"name": "job", "task": "Do it.", "checks": written}]))
    return path


def product_of(folder: Path, program: str, **files: str) -> Path:
    product = folder / "product"
    product.mkdir()
    (product / "main.py").write_text(program)
    for name, text in files.items():
        (product / name).write_text(text)
    return product


def results(folder: Path, program: str, *checks: Steps) -> TaskResult:
    return run_task(load_suite(suite_of(folder, *checks))[0], product_of(folder, program))


def why(folder: Path, program: str, *steps: dict[str, Any]) -> str | None:
    return results(folder, program, list(steps)).results[0].why


FAILING = "import sys; sys.exit(3)"
ECHO = "import sys; print(*sys.argv[1:])"


@pytest.mark.parametrize(
    ("step", "good", "bad", "reason"),
    [
        (
            {"args": ["a b", "c"], "stdout": ["^a b\\|c$"]},
            "import sys; print('|'.join(sys.argv[1:]))",
            ECHO,
            "lacks",
        ),
        ({"stdin": "Ann\n", "stdout": ["hello ann"]}, "print('Hello', input())", "print('Hello')", "lacks"),
        ({"stdin": ""}, "print(1)", "input()", "exit 1"),
        (
            {"files": {"in/a.txt": "x"}, "stdout": ["x"]},
            "print(open('in/a.txt').read())",
            "print(open('in/a.txt').read() * 0)",
            "lacks",
        ),
        ({"timeout": 1}, "print(1)", "while True: pass", "did not end in time"),
        ({}, "print(1)", FAILING, "exit 3, wanted 0"),
        ({"exit": 3}, FAILING, "print(1)", "exit 0, wanted 3"),
        ({"exit": "nonzero"}, FAILING, "print(1)", "exit 0, wanted nonzero"),
        ({"exit": "nonzero"}, "import os; os.kill(os.getpid(), 9)", "print(1)", "exit 0, wanted nonzero"),
        (
            {"exit": "nonzero"},
            "import sys; sys.exit('error: no such task')",
            "1 / 0",
            "traceback: ZeroDivisionError",
        ),
        ({"stdout": ["^two", "ONE"]}, "print('one\\ntwo')", "print('one, two')", "stdout lacks /^two/"),
        ({"not_stdout": ["^Two"]}, "print('one two')", "print('one\\ntwo')", "stdout has /^Two/"),
        ({"either": "lost"}, "import sys; print('Lost', file=sys.stderr)", "print('won')", "neither stream"),
        ({"either": "lost"}, "print('Lost')", "print('won')", "neither stream"),
        (
            {"file": {"a.txt": "^b"}},
            "open('a.txt', 'w').write('a\\nB')",
            "open('a.txt', 'w').write('ab')",
            "lacks /^b/",
        ),
        ({"file": {"a.txt": "b"}}, "open('a.txt', 'w').write('b')", "print('b')", "no file a.txt"),
    ],
)
def test_each_key_passes_one_program_and_fails_another(
    tmp_path: Path, step: dict[str, Any], good: str, bad: str, reason: str
) -> None:
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
    assert why(tmp_path / "good", good, step) is None
    failed = why(tmp_path / "bad", bad, step)
    assert failed is not None
    assert failed.startswith("step 1: ")
    assert reason in failed


COUNTER = """
import pathlib
store = pathlib.Path.home() / "count"
count = int(store.read_text()) + 1 if store.exists() else 1
store.write_text(str(count))
print(count)
"""


def test_steps_of_a_check_share_a_copy_and_checks_do_not(tmp_path: Path) -> None:
    result = results(tmp_path, COUNTER, [{"stdout": ["^1$"]}, {"stdout": ["^2$"]}], [{"stdout": ["^1$"]}])
    assert result.whole, result
    assert [path.name for path in (tmp_path / "product").iterdir()] == ["main.py"]


def test_the_company_records_are_not_copied(tmp_path: Path) -> None:
    task = load_suite(suite_of(tmp_path, [{"stdout": [r"^\['data.txt', 'main.py'\]$"]}]))[0]
    program = "import os; print(sorted(os.listdir()))"
    names = {"data.txt": "", "run.log": "", "journal.jsonl": ""}
    product = product_of(tmp_path, program, **names)
    (product / "__pycache__").mkdir()
    (product / ".git").mkdir()
    assert run_task(task, product).whole


def test_a_product_without_main_passes_nothing(tmp_path: Path) -> None:
    task = load_suite(suite_of(tmp_path, [{"exit": "nonzero"}]))[0]
    result = run_task(task, tmp_path)
    assert (result.score, result.results[0].why) == (0, "no main.py")


def test_the_score_is_the_share_of_checks_passed(tmp_path: Path) -> None:
    result = results(tmp_path, ECHO, [{}], [{"exit": 1}], [{}, {"exit": 1}], [{"args": ["1"], "stdout": ["1"]}])
    assert (result.passed, result.score, result.whole) == (2, 0.5, False)
    assert result.results[2].why == "step 2: exit 0, wanted 1: "


def test_output_beyond_the_first_200000_bytes_is_not_looked_at(tmp_path: Path) -> None:
    program = "print('x' * 199_990 + '\\nend1\\n' + 'x' * 50_000 + '\\nend2')"
    assert why(tmp_path, program, {"stdout": ["^end1$"], "not_stdout": ["end2"]}) is None


@pytest.mark.parametrize(
    "trap",
    [
        "import os; os.symlink({outside!r}, 'a.txt')",
        "import os; os.mkfifo('a.txt')",
        "import os; os.mkdir('a.txt')",
        "import os; os.symlink('a.txt', 'a.txt')",
    ],
    ids=["link out", "pipe", "folder", "loop"],
)
@pytest.mark.timeout(20)
def test_a_program_cannot_lead_the_runner_astray(tmp_path: Path, trap: str) -> None:
    outside = tmp_path / "secret"
    outside.write_text("secret")
    program = trap.format(outside=str(outside)) + "\nprint(1)"
    result = results(tmp_path, program, [{"file": {"a.txt": "secret"}}], [{}, {"files": {"a.txt": "gone"}}])
    assert [check.passed for check in result.results] == [False, False]
    assert result.results[1].why == "step 2: cannot write a.txt: the program put something else in its place"
    assert outside.read_text() == "secret"


def test_programs_see_no_secret_and_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    program = """
import os, socket
print(os.environ.get("OPENAI_API_KEY"), os.path.exists(%r))
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except OSError as error:
    print(error.strerror)
"""
    step = {"stdout": ["^None False$", "unreachable"]}
    assert why(tmp_path, program % str(tmp_path), step) is None


PRODUCTS = {
    "whole of one check": "import sys\nprint('error', file=sys.stderr)\nsys.exit(2)",
    "asks": "while True:\n    print(eval(input('? ')))",
    "to-do list": """
import json, os, sys
name, command, *rest = sys.argv[1:]
jobs = json.load(open(name)) if os.path.exists(name) else []
if command == "add":
    jobs.append([len(jobs) + 1, *rest, "normal"][:3])
    print(jobs[-1][0])
elif command == "list":
    for number, text, priority in jobs:
        print(number, "[ ]", priority, text)
elif command == "done":
    jobs = [job for job in jobs if job[0] != int(rest[0])]
else:
    sys.exit("error: unknown command")
json.dump(jobs, open(name, "w"))
""",
}


@pytest.mark.skipif(not PEER.exists(), reason="the other implementation lies beside the project's own checkout")
@pytest.mark.parametrize("program", PRODUCTS.values(), ids=PRODUCTS)
def test_the_results_are_those_of_the_other_implementation(tmp_path: Path, program: str) -> None:
    tasks = {task.name: task for task in load_suite()}
    suite = ROOT / "evaluation" / "behaviour" / "suite.json"
    product = product_of(tmp_path, program)
    command = [sys.executable, str(PEER), str(suite), str(product), "--task", "todo_list", "--json"]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)[0]["results"]
    ours = run_task(tasks["todo_list"], product).results
    assert [(check.title, check.passed) for check in ours] == [
        (check["title"], check["passed"]) for check in theirs
    ]
