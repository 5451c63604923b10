"""Tasks handed to a cluster, one that works and one that goes away."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from evaluation.srdd import result
from evaluation.srdd.__main__ import main
from evaluation.srdd.arms import Arm, Setting
from evaluation.srdd.generate import Stopped, generate, on_cluster
from evaluation.srdd.job import Job
from evaluation.srdd.tasks import Task

distributed = pytest.importorskip("distributed")


@pytest.fixture
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        dashboard_address=None,
        host="127.0.0.1",
        protocol="tcp://",
    ) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    client = distributed.Client
    monkeypatch.setattr(distributed, "Client", lambda address, timeout: client(address, timeout="2s"))


def test_a_cluster_builds_the_same_products(tmp_path: Path, cluster: Any) -> None:
    arm = f"mine={sys.executable} -c \"open('main.py', 'w').write('1')\" {{workspace}}"
    command = ["generate", "--out", str(tmp_path), "--arm", arm, "--model", "scripted:x", "--limit", "3"]
    assert main([*command, "--scheduler", cluster.scheduler_address]) == 0
    found = list(result.read_all(tmp_path))
    assert [one.failure for _, one in found] == [""] * 3
    assert all((home / one.product / "main.py").is_file() for home, one in found)


class Leaving:
    """A client whose scheduler goes away after the first task, as seen with one that was killed."""

    def __init__(self, address: str, timeout: str) -> None:
        self.left = False

    def __enter__(self) -> Leaving:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def map(self, function: Any, jobs: list[Job], **options: Any) -> Iterator[Any]:
        for job in jobs:
            future: Future[Any] = Future()
            if self.left:
                future.set_exception(distributed.client.FutureCancelledError("run_job", "lost dependencies"))
            else:
                future.set_result(function(job))
            self.left = True
            yield future


def test_a_scheduler_that_goes_away_ends_the_evaluation_and_what_was_done_stays_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "Client", Leaving)
    monkeypatch.setattr(distributed, "as_completed", iter)
    arm = Arm("mine", (sys.executable, "-c", "open('main.py', 'w')", "{workspace}"), own=False)
    jobs = [Job(tmp_path, arm, Task(name, name, "Data", "Do."), Setting("x")) for name in ("first", "second")]
    with pytest.raises(Stopped, match="cannot be reached any more"):
        generate(jobs, on_cluster("tcp://127.0.0.1:1"), 2, lambda line: None)
    assert [one.task for _, one in result.read_all(tmp_path)] == ["first"]


def test_an_embedded_model_cannot_serve_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--out", str(tmp_path), "--scheduler", "tcp://127.0.0.1:1"]) == 2
    assert "--model openai:NAME --base-url URL" in capsys.readouterr().err


def test_a_scheduler_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        distributed, "Client", lambda address, timeout: distributed.client.Client(address, timeout="0.2s")
    )
    with pytest.raises(Stopped, match="tcp://127.0.0.1:1 cannot be reached"):
        list(on_cluster("tcp://127.0.0.1:1")([]))


def test_an_address_that_is_none_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["generate", "--out", str(tmp_path), "--arm", "single", "--model", "scripted:x", "--limit", "1"]
    assert main([*command, "--scheduler", "nonsense"]) == 2
    assert "--scheduler nonsense" in capsys.readouterr().err
