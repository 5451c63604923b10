"""The three rules of ChatDev's own quality script as they are, defects included: for comparison only.

What the defects are is in the tests. Programs run in the sandbox all the same, in which the rule for
executability is played through to the letter: three seconds, undrained pipes, one polite signal, and the
word "traceback" on standard error.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import sandbox
from evaluation.behaviour import NotMeasurable

WINDOW = 3.0
"""Seconds a program is watched."""

_FINISHED_WORDS = ("password", "passenger", "passed", "passes")
_SUSPICIOUS = ("pass", "todo")
_BREAKS_THE_SHELL = re.compile(r"[\s()'\"&;|<>$`\\]")
_LIMITS = sandbox.Limits(wall_seconds=20, cpu_seconds=20)
_WATCH = """
import os, signal, subprocess, sys, time
process = subprocess.Popen([sys.executable, "-s", "main.py"], cwd=sys.argv[1], start_new_session=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
time.sleep(float(sys.argv[2]))
if process.poll() is None:
    os.killpg(process.pid, signal.SIGTERM)
print("faulty" if b"traceback" in process.stderr.read().lower() else "fine")
"""


def completeness(folder: Path) -> float:
    """1 unless a line has `pass` or `todo` in it, lines with `password` and the like aside. [0, 1]"""
    lines = (line.lower() for line in _listing(folder).split("\n"))
    left = (line for line in lines if not any(word in line for word in _FINISHED_WORDS))
    return 0.0 if any(word in line for line in left for word in _SUSPICIOUS) else 1.0


def executability(folder: Path, *, isolated: bool = True) -> float:
    """0 where a traceback is seen in three seconds, or where there is no Python at all; else 1.

    What runs is main.py beside the last file that has `.py` in its name; where the shell cannot go there,
    or there is no main.py, nothing runs and no traceback is seen. Raises NotMeasurable without a sandbox.
    """
    last = [parent for parent, _, names in os.walk(folder) for name in names if ".py" in name]
    if not last:
        return 0.0
    home = Path(last[-1]).relative_to(folder)
    if _BREAKS_THE_SHELL.search(str(folder.name / home)) or not (folder / home / "main.py").is_file():
        return 1.0
    with sandbox.scratch_copy(folder, ignore=("journal.jsonl", ".git")) as copy:
        command = ["python", "-c", _WATCH, str(home), str(WINDOW)]
        execution = sandbox.run(copy, command, _LIMITS, isolated=isolated)
    if isinstance(execution, sandbox.Unavailable):
        raise NotMeasurable(execution.reason)
    return 0.0 if execution.stdout.strip() == "faulty" else 1.0


def task_text(folder: Path) -> str | None:
    """What the script takes for the task: the first text file it comes across.

    None where it would die: without any, and of a broken link. Of a pipe it would wait for ever.
    """
    texts = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names if name.endswith(".txt"))
    first = next(texts, None)
    return first.read_text(encoding="utf-8", errors="replace") if first and first.is_file() else None


def code_text(folder: Path) -> str:
    """The listing without comment lines, and without the contents of docstrings, wherever those occur."""
    text = "\n".join(line for line in _listing(folder).split("\n") if not line.strip().startswith("#"))
    for quotes in ("'''", '"""'):
        for content in re.findall(f"{quotes}(.*?){quotes}", text, re.DOTALL):
            text = text.replace(content, "") if content else text
    return text


def _listing(folder: Path) -> str:
    """All Python files in one text, headed by their names; of two with one name only the later is there."""
    files = {
        name: Path(parent, name).read_text(encoding="utf-8", errors="replace")
        for parent, _, names in os.walk(folder)
        for name in names
        if name.endswith(".py") and Path(parent, name).is_file()
    }
    listed = "".join(f"{name}\n```Python\n{text}\n```\n\n" for name, text in files.items())
    return "\n".join(line for line in listed.split("\n") if line.strip())
