"""What `run_program` says of programs, row by row: what ChatDev judged wrongly is judged right here."""

from __future__ import annotations

import importlib.util
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sandbox
from sandbox.judge import Verdict

pytestmark = [
    pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here"),
    pytest.mark.xdist_group("judge"),  # one worker judges every row once
]

AMPLE = sandbox.Limits(wall_seconds=8)
SHORT = sandbox.Limits(wall_seconds=1)
DIVISION = "1 / 0\n"


def judge(
    folder: Path,
    source: str,
    arguments: tuple[str, ...] = (),
    limits: sandbox.Limits = AMPLE,
    **others: str,
) -> Verdict:
    """The verdict on a product of main.py and `others` (module name → source)."""
    for name, text in {"main": source, **others}.items():
        (folder / f"{name}.py").write_text(text)
    return sandbox.run_program(folder, arguments=arguments, limits=limits)


RUNS = {
    "prints": "print(1)",
    "handled exception printed with its traceback": (
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\n"
    ),
    "stderr says no traceback": "import sys\nprint('no traceback today', file=sys.stderr)",
    "argparse without its arguments": (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('file')\np.parse_args()\n"
    ),
    "own usage message": "import sys\nprint('Usage: main.py FILE')\nsys.exit(1)",
    "asks once": "name = input('Name? ')\nprint('Hello', name)",
    "asks for a whole number": "print(int(input('n: ')) + 1)",
    "asks for a number": "print(float(input('x: ')) / 2)",
    "menu that never ends": "while True:\n    choice = input('> ')\n    print('unknown choice', choice)",
    "reports the end of its input and gives up": (
        "import sys\ntry:\n    while True:\n        input()\nexcept EOFError as error:\n"
        "    print('error:', error)\n    sys.exit(1)\n"
    ),
    "reads standard input to its end": "import sys\nprint(len(sys.stdin.read()))",
}


FAILS = {
    "syntax error": ("def broken(:\n", "main.py does not compile: SyntaxError"),
    "null byte": ("x = 1\0\n", "does not compile"),
    "exit 3": ("import sys\nsys.exit(3)", "exit code 3"),
    "message and exit 1": ("import sys\nsys.exit('cannot find level 1')", "cannot find level 1"),
    "division": (DIVISION, "ZeroDivisionError"),
    "prints 200 kB, then crashes": ("print('x' * 200_000)\n1 / 0", "ZeroDivisionError"),
    "200 kB on stderr, then crashes": (
        "import sys\nsys.stderr.write('word' * 50_000 + '\\n')\n1 / 0",
        "ZeroDivisionError",
    ),
    "crashes after the three seconds ChatDev waits": (
        "import time\ntime.sleep(3.2)\n1 / 0",
        "ZeroDivisionError",
    ),
    "prints a traceback, then hangs": (
        "import threading, time\nthreading.Thread(target=lambda: 1 / 0).start()\ntime.sleep(60)",
        "ZeroDivisionError",
    ),
    "segfault": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
    "aborts": ("import os\nos.abort()", "signal 6"),
    "kills what reports on it": ("import os\nos.kill(os.getppid(), 9)\n1 / 0", ""),
    "package not installed": ("import nowhere_to_be_found.sub", "needs the module nowhere_to_be_found"),
    "hostile module name": ("raise ModuleNotFoundError(\"No module named 'x;touch y'\")", "x;touch y"),
    "crashes after its input": ("input()\nundefined_name", "NameError"),
    "end of a file that is not its input": (
        "import io, pickle\npickle.load(io.BytesIO())",
        "EOFError: Ran out of input",
    ),
    "the word usage in a crash": ("raise RuntimeError('usage of memory too high')", "RuntimeError"),
}


ALIVE = {
    "ignores SIGTERM": "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)",
    "one 200 kB word, then hangs": "import sys, time\nsys.stderr.write('word' * 50_000)\ntime.sleep(60)",
    "endless output": "while True:\n    print('x' * 10_000)",
    "endless loop": "while True:\n    pass",
    "server": "import socketserver as s\ns.TCPServer(('localhost', 8000), s.BaseRequestHandler).serve_forever()",
}
LIMITS = {**dict.fromkeys(ALIVE, SHORT), "prints a traceback, then hangs": sandbox.Limits(wall_seconds=3)}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """The verdicts on every row, judged side by side as an evaluation would, the slow ones first."""
    rows = {**ALIVE, **{name: source for name, (source, _) in FAILS.items()}, **RUNS}

    # One after the other: pytest makes its own folder with the first, and threads would make two.
    folders = {name: tmp_path_factory.mktemp("product") for name in rows}

    def judge_row(name: str) -> Verdict:
        return judge(folders[name], rows[name], limits=LIMITS.get(name, AMPLE))

    with ThreadPoolExecutor(8) as pool:
        return dict(zip(rows, pool.map(judge_row, rows), strict=True))


@pytest.mark.parametrize("name", RUNS)
def test_it_runs(verdicts: dict[str, Verdict], name: str) -> None:
    assert verdicts[name].status == "runs", verdicts[name]


@pytest.mark.parametrize("name", FAILS)
def test_it_fails(verdicts: dict[str, Verdict], name: str) -> None:
    assert verdicts[name].status == "fails", verdicts[name]
    assert FAILS[name][1] in verdicts[name].reason


@pytest.mark.parametrize("name", ALIVE)
def test_alive_at_the_deadline_runs_and_is_back_in_time(verdicts: dict[str, Verdict], name: str) -> None:
    assert verdicts[name].status == "runs", verdicts[name]
    execution = verdicts[name].execution
    assert execution is not None and execution.timed_out
    assert execution.seconds < SHORT.wall_seconds + 2


def test_no_entry_point_fails(tmp_path: Path) -> None:
    (tmp_path / "game.py").write_text("print(1)")
    verdict = sandbox.run_program(tmp_path)
    assert (verdict.status, verdict.execution) == ("fails", None)
    assert "main.py" in verdict.reason
    assert sandbox.run_program(tmp_path, entry="game.py").status == "runs"


def test_syntax_error_in_another_file_fails_imported_or_not(tmp_path: Path) -> None:
    verdict = judge(tmp_path, "print(1)", board="if True\n")
    assert verdict.status == "fails"
    assert "board.py does not compile" in verdict.reason


def test_crash_in_a_directory_with_a_space_fails(tmp_path: Path) -> None:
    folder = tmp_path / "my game's folder"
    folder.mkdir()
    verdict = judge(folder, DIVISION)
    assert (verdict.status, "ZeroDivisionError" in verdict.reason) == ("fails", True)


def test_own_module_that_cannot_be_imported_is_not_a_missing_package(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "board.py").write_text("")
    verdict = judge(tmp_path, "import board")
    assert verdict.status == "fails"
    assert "own module board" in verdict.reason


def test_usage_error_with_arguments_fails(tmp_path: Path) -> None:
    source = "import argparse\np = argparse.ArgumentParser()\np.add_argument('n', type=int)\np.parse_args()\n"
    assert judge(tmp_path, source, arguments=("many",)).status == "fails"
    assert judge(tmp_path, source, arguments=("3",)).status == "runs"


def test_using_up_the_cpu_limit_is_no_crash(tmp_path: Path) -> None:
    limits = sandbox.Limits(cpu_seconds=1)
    assert judge(tmp_path, "while True:\n    pass", limits=limits).status == "runs"


def test_the_product_stays_clean(tmp_path: Path) -> None:
    verdict = judge(tmp_path, "import board\nopen('scores.json', 'w').write('{}')", board="")
    assert verdict.status == "runs"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["board.py", "main.py"]


def test_python_without_tkinter_cannot_tell(tmp_path: Path) -> None:
    verdict = judge(tmp_path, "raise ModuleNotFoundError(\"No module named '_tkinter'\")")
    assert (verdict.status, "tkinter" in verdict.reason) == ("not_verifiable", True)


@pytest.mark.skipif(importlib.util.find_spec("_tkinter") is None, reason="this Python has no tkinter")
def test_tkinter_window_is_never_a_bug(tmp_path: Path) -> None:
    verdict = judge(tmp_path, "import tkinter\nroot = tkinter.Tk()\nprint('up')\nroot.mainloop()", limits=SHORT)
    assert verdict.status == ("runs" if shutil.which("Xvfb") else "not_verifiable"), verdict


@pytest.mark.skipif(importlib.util.find_spec("pygame") is None, reason="pygame is not installed")
def test_pygame_window_runs(tmp_path: Path) -> None:
    source = (
        "import pygame\npygame.init()\npygame.mixer.init()\nscreen = pygame.display.set_mode((320, 240))\n"
        "clock = pygame.time.Clock()\nwhile True:\n    pygame.event.get()\n    pygame.display.flip()\n"
        "    clock.tick(30)\n"
    )
    assert judge(tmp_path, source, limits=SHORT).status == "runs"


def test_without_bubblewrap_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "ran"
    monkeypatch.setattr("sandbox.judge.available", lambda: sandbox.Unavailable("no bubblewrap here"))
    (tmp_path / "main.py").write_text(f"open({str(marker)!r}, 'w')")
    assert sandbox.run_program(tmp_path) == Verdict("not_verifiable", "no bubblewrap here")
    assert not marker.exists()
