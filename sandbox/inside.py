"""The first process inside the sandbox: sets the limits, starts the program, reports how it ended.

Its source is handed to the interpreter with `-c`, so it needs the standard library only. It reads one
JSON order from its arguments and writes to the status descriptor `started`, then `exit N` or `signal N`.
A status without `started` means that the sandbox never came up.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from typing import TypedDict


class Order(TypedDict):
    """What to run. `uid` is the user to become first (None: stay), `display` asks for a virtual screen."""

    command: list[str]
    directory: str
    status: int
    uid: int | None
    display: bool
    cpu_seconds: int
    memory_bytes: int
    processes: int
    file_bytes: int
    open_files: int


def _limit(order: Order) -> None:
    wanted = {
        resource.RLIMIT_CPU: order["cpu_seconds"],
        resource.RLIMIT_AS: order["memory_bytes"],
        resource.RLIMIT_NPROC: order["processes"],
        resource.RLIMIT_FSIZE: order["file_bytes"],
        resource.RLIMIT_NOFILE: order["open_files"],
        resource.RLIMIT_CORE: 0,
    }
    for kind, soft in wanted.items():
        # One second between the soft and the hard CPU limit keeps SIGXCPU apart from SIGKILL.
        hard = soft + 1 if kind == resource.RLIMIT_CPU else soft
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))


def _become(uid: int | None) -> None:
    if uid is not None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


def _start_display(order: Order) -> None:
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.set_inheritable(writer, True)
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        os.close(order["status"])
        _become(order["uid"])
        screen = ["-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"]
        os.execvp("Xvfb", ["Xvfb", "-displayfd", str(writer), *screen])
    os.close(writer)
    # An empty answer means that Xvfb died; the program then says itself that it has no display.
    number = os.read(reader, 16).decode().strip()
    if number:
        os.environ["DISPLAY"] = f":{number}"


def _become_program(order: Order) -> None:
    os.closerange(3, 4096)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    try:
        _limit(order)
        _become(order["uid"])
        os.chdir(order["directory"])
        os.execvp(order["command"][0], order["command"])
    except (OSError, ValueError) as error:
        os.write(2, f"cannot start {order['command'][0]}: {error}\n".encode())
    finally:
        os._exit(127)


def main() -> None:
    """Carry out the order in the first argument."""
    order: Order = json.loads(sys.argv[1])
    os.write(order["status"], b"started\n")
    if order["display"]:
        _start_display(order)
    program = os.fork()
    if program == 0:
        _become_program(order)
    _, wait_status = os.waitpid(program, 0)
    if os.WIFSIGNALED(wait_status):
        ending = f"signal {os.WTERMSIG(wait_status)}"
    else:
        ending = f"exit {os.WEXITSTATUS(wait_status)}"
    os.write(order["status"], ending.encode())


if __name__ == "__main__":
    main()
