"""Runs one command under limits and brings back what it said and how it ended."""

from __future__ import annotations

import functools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import IO

from sandbox import inside
from sandbox.confinement import (
    INSIDE_DIRECTORY,
    INSIDE_HOME,
    REMEDY,
    Unavailable,
    confined,
    lent,
    spare_uid,
    working_bwrap,
)

_GRACE_SECONDS = 0.5


@dataclass(frozen=True)
class Limits:
    """What a program may use. Seconds and bytes; `memory_bytes` is the address space of each process.

    `processes` counts threads too. `file_bytes` bounds each file, `output_bytes` each of the two streams.
    """

    wall_seconds: float = 10
    cpu_seconds: int = 10
    memory_bytes: int = 2 * 2**30
    processes: int = 64
    file_bytes: int = 10_000_000
    output_bytes: int = 64 * 2**10
    open_files: int = 256


@dataclass(frozen=True)
class Execution:
    """How a program ended.

    One of `exit_code` and `signal` is set, or `timed_out` is true: it was still running when its wall or
    CPU time was used up, and was ended.
    `seconds` is wall time, the start of the sandbox included.
    """

    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    timed_out: bool
    seconds: float


DEFAULT_LIMITS = Limits()


def run(
    directory: Path,
    command: Sequence[str],
    limits: Limits = DEFAULT_LIMITS,
    *,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    isolated: bool = True,
    display: bool = False,
) -> Execution | Unavailable:
    """Run `command` in `directory`, the only place of the host it may write.

    `python` or `python3` means the interpreter that runs this project. `stdin` is all the program can
    read. `environment` is added to a scrubbed one. Paths in the output are relative to `directory`.
    `isolated=False` gives up the sandbox: limits, scrubbed environment and own process group remain, but
    the program sees files and network as the caller does. `display` offers a virtual screen, in the
    sandbox only and where Xvfb is installed. One run at a time a directory. Returns `Unavailable` where
    the sandbox cannot start; raises OSError where `directory` cannot be used.
    """
    directory = directory.resolve(strict=True)
    inner_directory = INSIDE_DIRECTORY if isolated else str(directory)
    uid = spare_uid() if isolated else None
    with ExitStack() as stack:
        home = INSIDE_HOME if isolated else stack.enter_context(tempfile.TemporaryDirectory(prefix="home-"))
        variables = {**_environment(home), **(environment or {})}
        report, status = (stack.enter_context(end) for end in _pipe())
        # Xvfb leaves its process group: only the sandbox is sure to end it.
        display = display and isolated and shutil.which("Xvfb") is not None
        # The sandbox has a count of its own; outside, all that the user runs counts.
        processes = limits.processes + (0 if isolated else _threads_running())
        order = inside.Order(
            command=_resolve(command),
            directory=inner_directory,
            status=status.fileno(),
            uid=uid,
            display=display,
            cpu_seconds=limits.cpu_seconds,
            memory_bytes=limits.memory_bytes,
            processes=processes,
            file_bytes=limits.file_bytes,
            open_files=limits.open_files,
        )
        start = _first_process(order)
        if isolated:
            bwrap = working_bwrap()
            if isinstance(bwrap, Unavailable):
                return bwrap
            start = confined(bwrap, directory, start, variables, root=uid is not None)
        stack.enter_context(lent(directory, uid))
        return _execute(start, variables, limits, stdin, report, status, inner_directory)


@functools.cache
def available() -> Unavailable | None:
    """None where `run` can isolate this interpreter; else why not and what to do. Probes once a process."""
    with tempfile.TemporaryDirectory(prefix="sandbox-probe-") as directory:
        try:
            probe = run(Path(directory), ["python", "-c", ""])
        except OSError as error:
            return Unavailable(f"The sandbox cannot be set up ({error}). {REMEDY}")
    if isinstance(probe, Unavailable):
        return probe
    if probe.exit_code != 0:
        return Unavailable(
            f"Python does not start in the sandbox ({probe.stderr.strip()}). Use an interpreter whose files "
            "everybody may read, or accept the risk with --allow-unsandboxed."
        )
    return None


def _execute(
    start: list[str],
    variables: dict[str, str],
    limits: Limits,
    stdin: str,
    report: FileIO,
    status: FileIO,
    inner_directory: str,
) -> Execution | Unavailable:
    began = time.monotonic()
    with tempfile.TemporaryFile() as typed:
        typed.write(stdin.encode(errors="replace"))
        typed.seek(0)
        process = subprocess.Popen(
            start,
            stdin=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=variables,
            pass_fds=(status.fileno(),),
            start_new_session=True,
        )
    try:
        status.close()
        streams = [_Stream(pipe, limits.output_bytes) for pipe in (process.stdout, process.stderr) if pipe]
        ending, timed_out = _read_report(report, began + limits.wall_seconds)
    finally:
        # The group holds bubblewrap, with which its namespace dies, or every unisolated process.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    seconds = time.monotonic() - began
    stdout, stderr = (stream.text().replace(f"{inner_directory}/", "") for stream in streams)
    if not ending:
        return Unavailable(f"The sandbox did not start: {stderr.strip() or 'no reason given'}")
    exit_code, ended_by = _parse(ending)
    if timed_out or ended_by == signal.SIGXCPU:
        return Execution(None, None, stdout, stderr, True, seconds)
    return Execution(exit_code, ended_by, stdout, stderr, False, seconds)


def _resolve(command: Sequence[str]) -> list[str]:
    if command[0] in ("python", "python3"):
        return [sys.executable, "-s", *command[1:]]
    return list(command)


def _first_process(order: inside.Order) -> list[str]:
    source = Path(inside.__file__).read_text(encoding="utf-8")
    return [sys.executable, "-I", "-S", "-c", source, json.dumps(order)]


def _threads_running() -> int:
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])


def _pipe() -> tuple[FileIO, FileIO]:
    reader, writer = os.pipe()
    return FileIO(reader, "r"), FileIO(writer, "w")


def _read_report(report: FileIO, deadline: float) -> tuple[str, bool]:
    """What `inside` reported until it ended, and whether the deadline (monotonic clock) came first."""
    words = b""
    while select.select([report], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = report.read(64)
        if not chunk:
            return words.decode(), False
        words += chunk
    return words.decode(), True


def _parse(ending: str) -> tuple[int | None, int | None]:
    """Exit code or signal, from what `inside` reported."""
    _, _, report = ending.partition("\n")
    word, _, number = report.partition(" ")
    if word == "exit":
        return int(number), None
    # No report: the program killed the process that reports on it, and with it itself.
    return None, int(number or signal.SIGKILL)


def _environment(home: str) -> dict[str, str]:
    return {
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin:/usr/games",
        "HOME": home,
        "TMPDIR": home,
        "USER": "nobody",
        "LOGNAME": "nobody",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONUTF8": "1",
        # What was printed before the deadline must be seen.
        "PYTHONUNBUFFERED": "1",
        "SDL_VIDEODRIVER": "dummy",
        "SDL_AUDIODRIVER": "dummy",
        "QT_QPA_PLATFORM": "offscreen",
        "MPLBACKEND": "Agg",
        # numpy starts a thread a core, which on a large machine is more than the process limit.
        "OMP_NUM_THREADS": "4",
        "OPENBLAS_NUM_THREADS": "4",
    }


class _Stream(threading.Thread):
    """Drains one pipe, however much comes, and keeps its first and last `cap / 2` bytes."""

    def __init__(self, pipe: IO[bytes], cap: int) -> None:
        super().__init__(daemon=True)
        self.left_out = 0
        self._pipe = pipe
        self._half = cap // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.start()

    def run(self) -> None:
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), 2**16):
                room = self._half - len(self._head)
                self._head += chunk[:room]
                self._tail += chunk[room:]
                excess = max(0, len(self._tail) - self._half)
                self.left_out += excess
                del self._tail[:excess]

    def text(self) -> str:
        """What was read, the gap marked. Waits a moment for the end, which an orphan may hold open."""
        self.join(_GRACE_SECONDS)
        gap = f"\n[… {self.left_out} bytes left out …]\n".encode() if self.left_out else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode(errors="replace")
