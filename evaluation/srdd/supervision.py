"""A command that is watched while it runs: its time, its tokens, and whether anybody still wants it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from journal.journal import FILE_NAME as JOURNAL

_POLL = 0.25  # seconds
_NOT_STARTED = 127  # as shells say it
_GRACE = 20.0  # seconds a command has to end once it was told to


@dataclass(frozen=True)
class Watched:
    """How a command ended: `stopped` says why it was told to, "" where it ended by itself."""

    exit_code: int
    stopped: str
    seconds: float


@dataclass
class Spent:
    """Counts the tokens in the journals of the products in `folder`, reading only what is new."""

    folder: Path
    tokens: int = 0
    _read: dict[Path, int] = field(default_factory=dict)

    def __call__(self) -> int:
        for path in self.folder.glob(f"*/{JOURNAL}"):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                news = file.read()
            whole = news[: news.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            for line in whole.splitlines():
                if b'"type":"Answered"' in line:
                    usage = json.loads(line)["usage"]
                    self.tokens += usage["prompt_tokens"] + usage["completion_tokens"]
        return self.tokens


def watch(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    log: Path,
    reason_to_stop: Callable[[float], str],
    lock: int,
) -> Watched:
    """Run `command` in `directory`, its output to `log`, until it ends or there is a reason to stop.

    `reason_to_stop` is asked again and again, with the seconds gone by. The command is interrupted then and,
    should it not end, killed with all it started. One that cannot be started ends with exit code 127. It holds the
    file descriptor `lock`, too: should this process be killed, nobody takes the folder from it while it runs.
    """
    began = time.monotonic()
    with log.open("ab") as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(lock,),
            )
        except OSError as error:
            output.write(f"{command[0]} cannot be started: {error}\n".encode())
            return Watched(_NOT_STARTED, "", 0.0)
    stopped = ""
    try:
        while process.poll() is None and not stopped:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL)
            stopped = reason_to_stop(time.monotonic() - began) if process.poll() is None else ""
        if stopped:
            os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    return Watched(code, stopped, time.monotonic() - began)
