"""Building tasks in arms: with the scripted model, with commands, stopped and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sandbox
from evaluation.srdd import EvaluationError, result
from evaluation.srdd.__main__ import main
from evaluation.srdd.alone import alone
from evaluation.srdd.arms import Arm, Setting, arm_of, command_of
from evaluation.srdd.generate import Stopped, generate, in_threads, pending
from evaluation.srdd.job import Job, run_job
from evaluation.srdd.result import Result
from evaluation.srdd.tasks import Task

ROOT = Path(__file__).parents[2]

isolated_only = pytest.mark.skipif(sandbox.available() is not None, reason="the sandbox cannot start here")

PROGRAM = "main.py\n```python\nprint(1)\n```"
TASK = Task("tasks-0001-one", "One", "Data", "Print a one.")
OTHER = Task("tasks-0002-two", "Two", "Data", "Print a two.")
WRITER = "import sys; open(sys.argv[2] + '/main.py', 'w').write(sys.argv[1])"
WRITES = f'{sys.executable} -c "{WRITER}" {{task}} {{workspace}}'


def command_arm(name: str, code: str) -> Arm:
    return Arm(name, (sys.executable, "-c", code, "{workspace}"), own=False)


def jobs_of(out: Path, *arms: Arm, tasks: Sequence[Task] = (TASK, OTHER), **setting: Any) -> list[Job]:
    return [Job(out, arm, task, Setting(**{"model": "scripted:x", **setting})) for task in tasks for arm in arms]


def script(tmp_path: Path, replies: list[Any]) -> str:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(replies))
    return f"scripted:{path}"


@isolated_only
def test_arms_side_by_side_from_tasks_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tasks, out = tmp_path / "tasks.csv", tmp_path / "out"
    tasks.write_text("Name,Description,Category\nSame,Print a one.,Data\n")
    model = script(tmp_path, [{"match": ".", "text": PROGRAM, "u": 0.9}])
    arms = ["--arm", "single", "--arm", "ua-chatdev", "--arm", f"mine={WRITES}"]
    command = ["generate", "--tasks", str(tasks), "--model", model, "--out", str(out), *arms]
    assert main(command) == 0
    told = capsys.readouterr().err
    assert "1 tasks in 3 arms: 3 runs to do, 0 done" in told
    assert "[3/3]" in told
    assert "about 0 min left" in told
    results = {one.arm: one for _, one in result.read_all(out)}
    assert {arm: (one.failure, one.exit_code) for arm, one in results.items()} == dict.fromkeys(results, ("", 0))
    assert set(results) == {"single", "ua-chatdev", "mine"}
    assert (out / "mine" / "tasks-0001-same" / "product" / "main.py").read_text() == "Print a one."
    assert (out / "mine" / "tasks-0001-same" / "product" / "prompt").read_text() == "Print a one."

    written = {path: path.stat().st_mtime_ns for path in out.rglob("journal.jsonl")}
    assert main(command) == 0
    assert "0 runs to do, 3 done" in capsys.readouterr().err
    assert written == {path: path.stat().st_mtime_ns for path in out.rglob("journal.jsonl")}

    assert main(["score", str(out), "--mode", "strict", "--embedder", "none"]) == 0
    report = ["report", str(out), "--baseline", "single", "--json", str(tmp_path / "report.json")]
    if find_spec("matplotlib"):
        report += ["--plots", str(tmp_path / "plots")]
    assert main(report) == 0
    assert (tmp_path / "plots" / "score_by_subtask.svg").is_file() == ("--plots" in report)
    tables = json.loads((tmp_path / "report.json").read_text())["tables"]
    assert {row["arm"]: row["E"]["value"] for row in tables["strict"]} == {"mine": 0, "single": 1, "ua-chatdev": 1}
    costs = {row["arm"]: row for row in tables["cost of a task"]}
    assert costs["single"]["calls"] == 1
    assert costs["ua-chatdev"]["triggers"] >= 1
    assert costs["mine"]["tokens"] is None
    assert costs["mine"]["seconds"] > 0


@isolated_only
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path, told: signal.Signals) -> None:
    tasks, out = tmp_path / "tasks.csv", tmp_path / "out"
    tasks.write_text("Name,Description,Category\nOne,Print a one.,Data\n")
    # The script is a pipe: the run waits for it until it is stopped.
    fifo = tmp_path / "fifo.json"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "evaluation.srdd", "generate", "--tasks", str(tasks), "--out", str(out)]
    command += ["--arm", "chatdev", "--model", f"scripted:{fifo}"]
    # A caller under nohup ignores the signal, its children with it, and the command then rightly goes on.
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(told, signal.SIG_DFL),
    )
    home = out / "chatdev" / "tasks-0001-one"
    deadline = time.monotonic() + 60
    while not home.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(told)
    assert process.wait(60) == 130
    assert process.stderr is not None
    assert "the same command goes on" in process.stderr.read()
    process.stderr.close()
    assert not (home / "result.json").exists()
    fifo.unlink()
    fifo.write_text(json.dumps([{"match": ".", "text": PROGRAM}]))
    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 0
    ended = result.read(home)
    assert ended is not None
    assert (ended.failure, ended.exit_code) == ("", 0)


@isolated_only
def test_a_journal_that_was_begun_is_resumed_and_answers_are_not_asked_for_again(tmp_path: Path) -> None:
    model = script(tmp_path, ["<INFO> Application", "<INFO> Python"])  # then it has nothing to say
    job = jobs_of(tmp_path / "out", arm_of("chatdev"), tasks=[TASK], model=model)[0]
    first = run_job(job)
    assert first is not None
    assert (first.failure, first.exit_code) == ("model_unusable", 3)
    assert pending([job]) == [job]
    script(tmp_path, ["<INFO> Application", "<INFO> Python", {"match": ".", "text": PROGRAM}])
    second = run_job(job)
    assert second is not None
    assert (second.failure, second.product) == ("", first.product)
    events = (job.folder / second.product / "journal.jsonl").read_text()
    assert events.count('"subtask":"DemandAnalysis","role"') == 1
    assert pending([job]) == []


def test_a_command_that_fails_is_a_class_and_not_the_end(tmp_path: Path) -> None:
    arms = [
        command_arm("fails", "raise SystemExit(7)"),
        command_arm("lazy", "pass"),
        command_arm("slow", "import time; time.sleep(60)"),
        Arm("gone", ("no-such-command", "{workspace}"), own=False),
    ]
    jobs = jobs_of(tmp_path, *arms, tasks=[TASK], seconds=1.5)
    told: list[str] = []
    results = {one.arm: one for one in generate(jobs, in_threads(4), 4, told.append)}
    assert {arm: one.failure for arm, one in results.items()} == {
        "fails": "command_failed",
        "lazy": "no_product",
        "slow": "time_budget",
        "gone": "command_failed",
    }
    assert results["fails"].exit_code == 7
    assert results["slow"].seconds < 30
    assert len(told) == 4
    log = tmp_path / "gone" / TASK.id / "output.log"
    assert "no-such-command cannot be started" in log.read_text()
    assert pending(jobs) == []


def test_a_run_that_spends_its_tokens_is_stopped(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 20}
    line = json.dumps({"type": "Answered", "usage": usage}, separators=(",", ":"))
    code = f"import time; open('journal.jsonl', 'w').write({line!r} + chr(10)); time.sleep(60)"
    job = jobs_of(tmp_path, command_arm("greedy", code), tasks=[TASK], tokens=100)[0]
    ended = run_job(job)
    assert ended is not None
    assert ended.failure == "token_budget"


def test_a_model_that_cannot_be_used_ends_the_evaluation_and_blames_no_task(tmp_path: Path) -> None:
    tasks = [Task(f"t{number}", "T", "Data", "Do.") for number in range(9)]
    jobs = jobs_of(tmp_path, arm_of("single"), tasks=tasks, model="scripted:/no/script.json")
    with pytest.raises(Stopped, match=r"3 runs in a row failed with model_unusable: .*/no/script.json"):
        generate(jobs, in_threads(1), 1, lambda line: None)
    assert len(pending(jobs)) == 9


def test_even_one_such_run_is_told_by_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["generate", "--out", str(tmp_path), "--model", "scripted:/no/script.json", "--arm", "single"]
    assert main([*command, "--limit", "1"]) == 3
    said = capsys.readouterr().err
    assert "1 runs failed for no fault of the task" in said
    assert "/no/script.json" in said.splitlines()[-1], "it says why"


def test_an_output_folder_that_cannot_be_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    command = ["generate", "--out", str(tmp_path / "file" / "out"), "--model", "scripted:x", "--arm", "single"]
    assert main(command) == 2
    assert "cannot be used (Not a directory); name another place" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["nan", "-1", "0", "soon"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: str) -> None:
    generating = ["generate", "--out", str(tmp_path), "--model", "scripted:x", "--arm", "single", "--limit", "1"]
    for command in (generating, ["score", str(tmp_path)]):
        with pytest.raises(SystemExit, match="2"):
            main([*command, "--seconds", seconds])
        assert f"--seconds: must lie between 0 and 86400, not '{seconds}'" in capsys.readouterr().err


@pytest.mark.parametrize("shard", ["2", "3/2", "0/2", "a/b", "-1/2"])
def test_a_part_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], shard: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["generate", "--out", str(tmp_path), f"--shard={shard}"])
    assert f"--shard: must be I/N with I from 1 to N, not '{shard}'" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--limit=-1", "--per-category=0", "--tokens=-1", "--workers=0", "--seed=-1"])
def test_numbers_that_make_no_sense_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["generate", "--out", str(tmp_path / "out"), "--model", "scripted:x", "--arm", "single", option])
    flag, _, number = option.partition("=")
    least = 0 if flag == "--seed" else 1
    wanted = f"{flag}: must be a whole number of at least {least}, not '{number}'"
    assert wanted in capsys.readouterr().err


def test_other_settings_in_one_output_folder_are_refused(tmp_path: Path) -> None:
    job = jobs_of(tmp_path, command_arm("mine", "pass"), tasks=[TASK])[0]
    job.folder.mkdir(parents=True)
    result.write(
        Result("mine", TASK.id, "Data", TASK.text, "", 0, "", 1.0, {**job.settings(), "seed": 7}), job.folder
    )
    with pytest.raises(EvaluationError, match=r"seed was 7, is 1.*another --out"):
        pending([job])


def test_two_evaluations_in_one_output_folder_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["generate", "--out", str(tmp_path), "--model", "scripted:x", "--arm", "single"]
    with alone(tmp_path / "generate"):
        assert main([*command, "--shard", "1/2"]) == 2
    assert "Another evaluation is at work" in capsys.readouterr().err
    with alone(tmp_path / "generate", shared=True):
        assert main(command) == 2


def test_shards_are_disjoint_and_together_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []
    command = ["generate", "--out", str(tmp_path), "--model", "scripted:x"]
    command += ["--arm", f"mine={sys.executable} -c pass {{workspace}}"]
    for shard in ("1/3", "2/3", "3/3"):
        arm = f"mine={sys.executable} -c pass {{workspace}}"
        assert (
            main(["generate", "--out", str(tmp_path), "--model", "scripted:x", "--arm", arm, "--shard", shard])
            == 0
        )
        seen.append(capsys.readouterr().err.splitlines()[0])
    assert [line.split()[0] for line in seen] == ["4", "3", "3"]
    assert len(list(result.read_all(tmp_path))) == 10


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ("nobody", "built in are chatdev, observe, ua-chatdev, cascade, single"),
        ("a/b=--uq on", "cannot be the name of a folder"),
        ("mine=echo {task}", "with {workspace}"),
        ("mine=no-such-command {workspace}", "there is no command 'no-such-command'"),
        ("mine='open", "No closing quotation"),
        ("mine=", "what is to be run"),
        ("large=--uq on --model openai:large", "--model is the same for all arms; leave it out"),
        ("seven=--see=7", "--see=7 is the same for all arms"),
    ],
)
def test_an_arm_that_cannot_be_is_refused(arm: str, message: str) -> None:
    with pytest.raises(EvaluationError) as error:
        arm_of(arm)
    assert message in str(error.value)


def test_what_a_task_says_stays_one_argument(tmp_path: Path) -> None:
    task = Task("t", "T", "Data", "Print {workspace}; rm -rf $HOME '")
    setting = Setting("qwen", "http://localhost:1/v1", served_as="openai:qwen2.5")
    arm = arm_of("mine=python3 -c x {task} --dir={workspace} --model {model} {base_url} {other}")
    assert command_of(arm, task, setting, tmp_path, None)[3:] == [
        task.text,
        f"--dir={tmp_path}",
        "--model",
        "qwen2.5",
        "http://localhost:1/v1",
        "{other}",
    ]


def test_any_company_and_policy_is_an_arm(tmp_path: Path) -> None:
    setting = Setting("openai:m", "http://localhost:1/v1", seed=5)
    words = command_of(arm_of("art=--config Art --uq observe"), TASK, setting, tmp_path, None)
    assert words[1:5] == [str(ROOT / "run.py"), "--config", "Art", "--uq"]
    assert "--task=Print a one." in words
    assert "--org=SRDD_Data" in words
    assert "--seed=5" in words
    resumed = command_of(arm_of("chatdev"), TASK, setting, tmp_path, tmp_path / "p")
    assert resumed[2:] == [f"--resume={tmp_path / 'p'}", "--base-url=http://localhost:1/v1"]


def test_a_model_that_cannot_be_served_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["generate", "--out", str(tmp_path), "--model", "/no/model.gguf", "--limit", "1"]
    assert main(command) == 2
    said = capfd.readouterr().err
    assert "Cannot read /no/model.gguf" in said
    assert "cannot be served" in said


def test_all_workers_of_a_machine_share_one_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.dumps({"name": "tiny", "url": "http://127.0.0.1:9/v1"})
    code = f"import sys; print({told!r}, flush=True); sys.stdin.read()"
    engines: list[Sequence[str]] = []
    start = subprocess.Popen

    def popen(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        if "camel.models.serve" in command:
            engines.append(command)
            command = [sys.executable, "-c", code]
        return start(command, **options)

    monkeypatch.setattr(subprocess, "Popen", popen)
    arm = f'mine={sys.executable} -c "{WRITER}" {{model}}@{{base_url}} {{workspace}}'
    command = ["generate", "--out", str(tmp_path), "--arm", arm, "--model", "tiny", "--workers", "3"]
    assert main(command) == 0
    assert [engine[-2:] for engine in engines] == [
        ["tiny", "--slots=6"]
    ]  # one of them may draw four drafts side by side
    made = {(home / one.product / "main.py").read_text() for home, one in result.read_all(tmp_path)}
    assert made == {"tiny@http://127.0.0.1:9/v1"}
    assert main(command) == 0  # all is done: no engine is started
    assert len(engines) == 1


def test_a_command_is_found_from_where_the_evaluation_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "my-arm"
    script.write_text("#!/bin/sh\necho 'print(1)' > \"$1/main.py\"\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    (job,) = jobs_of(tmp_path / "out", arm_of("mine=./my-arm {workspace}"), tasks=[TASK])
    ended = run_job(job)
    assert ended is not None
    assert ended.failure == ""
    assert (job.folder / "product" / "main.py").read_text() == "print(1)\n"


@pytest.mark.parametrize("content", ["[]", '{"tests": 3}', "half a "])
def test_a_result_that_is_none_of_ours_is_told_by_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    folder = tmp_path / "mine" / "tasks-0001-leap_lister"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(content)
    arm = f"mine={sys.executable} -c pass {{workspace}}"
    assert main(["generate", "--out", str(tmp_path), "--model", "scripted:x", "--arm", arm, "--limit", "1"]) == 2
    assert f"{folder / 'result.json'} is not what an evaluation wrote" in capsys.readouterr().err
    assert (folder / "result.json").read_text() == content


def test_a_run_whose_evaluation_was_killed_keeps_its_folder_until_it_has_ended(tmp_path: Path) -> None:
    sleeper = "import os, sys, time; open(sys.argv[1] + '/pid', 'w').write(str(os.getpid())); time.sleep(60)"
    folder = Job(tmp_path, command_arm("slow", sleeper), TASK, Setting("scripted:x")).folder
    run_it = (
        "from pathlib import Path\nfrom evaluation.srdd.arms import Arm, Setting\n"
        "from evaluation.srdd.tasks import Task\n"
        "from evaluation.srdd.job import Job, run_job\n"
        f"arm = Arm('slow', ({sys.executable!r}, '-c', {sleeper!r}, '{{workspace}}'), own=False)\n"
        f"run_job(Job(Path({str(tmp_path)!r}), arm, {TASK!r}, Setting('scripted:x')))\n"
    )
    pid_file, deadline = folder / "product" / "pid", time.monotonic() + 30
    with subprocess.Popen([sys.executable, "-c", run_it], cwd=ROOT) as evaluation:
        while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        evaluation.kill()
    run = int(pid_file.read_text())
    with pytest.raises(EvaluationError), alone(folder / "run"):
        pass
    os.kill(run, signal.SIGKILL)
    with alone(folder / "run", wait=True):
        assert pid_file.exists(), "nobody has begun anew meanwhile"
