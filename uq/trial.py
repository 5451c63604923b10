"""Runs one candidate on many inputs. This file is copied into the sandbox and imports nothing of the project.

Beside it lie the candidate's files in `candidate/`, and `order.json`: the name of a `function` of
`candidate/candidate.py` (or of no function: then `candidate/main.py` is run as a program), the `inputs`, and how
many `cpu_seconds` and `wall_seconds` each may take. An input is {"arguments": "[1, 2], 3"} or {"argv": [...],
"stdin": "..."}. Printed is one JSON list with [kind, what was seen] for each input.

All is done twice, each time in a fresh process and directory: what then differs is random. After two inputs that
were not finished in time the others are skipped, so that a candidate that loops costs a few seconds.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

PATIENCE = 2
LONGEST = 400
DEEPEST = 8
ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
ERROR = re.compile(r"^([A-Za-z_][\w.]*)(?::|$)")


def main() -> None:
    with open("order.json", encoding="utf-8") as file:
        order = json.load(file)
    if len(sys.argv) > 1:
        print(json.dumps(one_pass(order, skip=json.loads(sys.argv[1]))))
        return
    first = passed("1", [])
    slow = [number for number, (kind, _) in enumerate(first) if kind in ("timeout", "skipped")]
    second = passed("2", slow)
    both = enumerate(zip(first, second, strict=True))
    print(json.dumps([one if number in slow or one == two else ["random", ""] for number, (one, two) in both]))


def passed(hash_seed: str, skip: Sequence[int]) -> list[list[str]]:
    """One pass in a process of its own: the order in which sets are printed hangs on its hash seed."""
    command = [sys.executable, "-s", __file__, json.dumps(skip)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    found: list[list[str]] = json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE).stdout)
    return found


def one_pass(order: dict[str, Any], skip: Sequence[int]) -> list[list[str]]:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    found: list[list[str]] = []
    unfinished = 0
    for number, item in enumerate(order["inputs"]):
        if number in skip or unfinished == PATIENCE:
            found.append(["skipped", ""])
            continue
        found.append(trial(order, item))
        unfinished += found[-1][0] == "timeout"
    return found


def trial(order: dict[str, Any], item: dict[str, Any]) -> list[str]:
    """[kind, what was seen] for one input: returned, raised, crashed or timeout."""
    shutil.rmtree("trial", ignore_errors=True)
    if order["function"]:
        os.makedirs("trial/work")
    else:
        shutil.copytree("candidate", "trial/work")
    before = tree("trial/work")
    with open("trial/stdin", "w", encoding="utf-8") as file:
        file.write(item.get("stdin", ""))
    child = os.fork()
    if child == 0:
        try:
            become_candidate(order, item)
        finally:
            os._exit(70)
    status = waited(child, order["wall_seconds"])
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return ["timeout", ""]
    seen: dict[str, Any] = {
        "output": shown_text(read("trial/output")),
        "files": changes(before, tree("trial/work")),
    }
    if os.path.exists("trial/result"):
        kind, seen["value"] = json.loads(read("trial/result"))
    elif os.WIFSIGNALED(status) or order["function"]:
        return ["crashed", str(status)]
    else:
        seen["exit"] = os.WEXITSTATUS(status)
        kind = "raised" if seen["exit"] else "returned"
        if seen["exit"]:
            last = (read("trial/errors").strip().splitlines() or [""])[-1]
            error = ERROR.match(last)
            seen["error"] = error[1] if error else ""
    there = {name: found for name, found in seen.items() if found}
    return [kind, short(json.dumps(there, sort_keys=True, ensure_ascii=False))]


def become_candidate(order: dict[str, Any], item: dict[str, Any]) -> NoReturn:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    seconds = order["cpu_seconds"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    flags = os.O_WRONLY | os.O_CREAT
    for number, (name, mode) in enumerate([("stdin", os.O_RDONLY), ("output", flags), ("errors", flags)]):
        os.dup2(os.open(f"trial/{name}", mode, 0o600), number)
    os.chdir("trial/work")
    if order["function"]:
        result = call(order["function"], item["arguments"])
        sys.stdout.flush()
        with open("../result", "w", encoding="utf-8") as file:
            json.dump(result, file)
        os._exit(0)
    os.execv(sys.executable, [sys.executable, "-s", "main.py", *item["argv"]])


def call(function: str, arguments: str) -> tuple[str, str]:
    """What a call returned; of one that returned nothing, what became of its arguments."""
    try:
        source = read("../../candidate/candidate.py")
        namespace: dict[str, Any] = {"__name__": "candidate"}
        exec(compile(source, "candidate.py", "exec"), namespace)
        given, named = eval(f"collect({arguments})", {"collect": lambda *given, **named: (given, named)})
        value = namespace[function](*given, **named)
        return "returned", short(canonical((given, named) if value is None else value))
    except BaseException as error:
        return "raised", type(error).__name__


def waited(child: int, seconds: float) -> int | None:
    """The child's exit status, or None where it had to be ended. Nothing of its group outlives it."""
    deadline = time.monotonic() + seconds
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and (left := deadline - time.monotonic()) > 0:
        signal.sigtimedwait([signal.SIGCHLD], left)
        ended, status = os.waitpid(child, os.WNOHANG)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
    return status if ended else None


def changes(before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    """What the candidate made, changed or removed, by path."""
    return {path: after.get(path, "gone") for path in {**before, **after} if before.get(path) != after.get(path)}


def tree(root: str) -> dict[str, str]:
    """The files and folders below `root`, by path, as digests of their text without noise."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if "__pycache__" in relative:
                continue
            kind = "folder" if os.path.isdir(path) else "special"
            text = shown_text(read(path)) if os.path.isfile(path) else kind
            found[relative] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def read(path: str) -> str:
    """The text of a file; bytes that are none stay told apart."""
    try:
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            return file.read()
    except OSError:
        return ""


def shown_text(text: str) -> str:
    """Text without what differs from run to run or is not seen: addresses, the place, white space at the ends of
    lines, empty lines before and after."""
    text = ADDRESS.sub("0x…", text).replace(os.path.abspath("trial/work"), ".")
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… {hashlib.sha256(text.encode()).hexdigest()}"


def canonical(value: Any, depth: int = 0) -> str:
    """A text that is the same for values that are equal in Python: 1, 1.0 and True; 0.1 + 0.2 and 0.3."""
    if depth > DEEPEST:
        return ADDRESS.sub("0x…", repr(value))
    if value is None or isinstance(value, (str, bytes, complex)):
        return ADDRESS.sub("0x…", repr(value))
    if isinstance(value, (int, float)):
        return number(value)

    def inner(items: Iterable[Any]) -> list[str]:
        return [canonical(item, depth + 1) for item in items]

    if isinstance(value, dict):
        pairs = zip(inner(value.keys()), inner(value.values()), strict=True)
        return "{" + ", ".join(sorted(f"{key}: {item}" for key, item in pairs)) + "}"
    if isinstance(value, (set, frozenset)):
        return "set(" + ", ".join(sorted(inner(value))) + ")"
    if isinstance(value, (list, tuple)):
        return ("[%s]" if isinstance(value, list) else "(%s)") % ", ".join(inner(value))
    if hasattr(value, "__next__"):
        return "iterator" + canonical(list(itertools.islice(value, 1000)), depth + 1)
    kind: Any = type(value)
    if kind.__repr__ is object.__repr__ and hasattr(value, "__dict__"):
        return f"{kind.__name__}{canonical(vars(value), depth + 1)}"
    return ADDRESS.sub("0x…", repr(value))


def number(value: float) -> str:
    if isinstance(value, float) and not value.is_integer():
        return format(value, ".9g")
    return hex(int(value)) if abs(value) > 10**100 else str(int(value))


if __name__ == "__main__":
    main()
