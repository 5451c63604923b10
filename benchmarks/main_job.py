"""The main job on a real model: build a list of tasks and say what each cost and what came of it.

    python benchmarks/main_job.py --behaviour
    python benchmarks/main_job.py --csv tasks.csv --limit 10 --out /tmp/measured --json rows.json
    python benchmarks/main_job.py --behaviour --single --markdown

Arms: `chain` runs `python run.py` once a task; `single` (with --single) puts the same task to the same
model as one plain prompt, without agents: a user's message and nothing else, the reply parsed, continued
where the token limit cut it, and checked as in the chain. One run at a time, each with an engine that ends
with it, so that two engines never share the machine.

Each product keeps its journal, and all numbers are read from there. `seconds` runs from the journal's
RunStarted event to its last; starting Python and loading the engine come before that and stand apart as
`load s`. `engine` is the share of the wall time spent waiting for the engine, apart from the sandbox:
engine seconds / (seconds - sandbox seconds). A product `runs` when the sandbox says so of `python main.py`
without arguments, or when it passed a behaviour check in which it had to end well.

Products lie in OUT/chain/TASK and OUT/single/TASK. With the same --out and settings again, tasks that ended are
not run again: their journals are read and their programs measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sandbox
from arguments import at_least
from benchmarks.measurement import Row, engine_share, mean_score, measure
from benchmarks.table import conclusions, table
from chatdev.product import safe_name
from chatdev.run import INTERRUPTED, MODEL_UNUSABLE
from chatdev.settings import UNCERTAINTY_MODES, Settings
from evaluation import behaviour
from evaluation.behaviour import SHIPPED, NotMeasurable, SuiteError, load_suite
from evaluation.cost import span
from evaluation.srdd import EvaluationError
from evaluation.srdd.arms import BUILT_IN, Arm, Setting
from evaluation.srdd.generate import pending
from evaluation.srdd.job import Job, last_words, run_job
from evaluation.srdd.tasks import Task, read_tasks

Checks = Mapping[str, behaviour.Task]
"""The behaviour checks of tasks, by what is asked for."""


class CannotMeasure(Exception):
    """The benchmark cannot go on; the message says why and what to do."""


def rows_of(jobs: Sequence[Job], checks: Checks) -> Iterator[Row]:
    """A row for each job as soon as it is measured. Raises CannotMeasure where nothing sensible could follow."""
    waiting = pending(jobs)
    for job in jobs:
        fresh = job in waiting
        if fresh:  # what an interrupted run left would not be timed from its beginning
            shutil.rmtree(job.folder, ignore_errors=True)
        began = datetime.now(timezone.utc)
        ended = run_job(job)
        assert ended is not None and ended.exit_code is not None, "nobody stops it, and it has no budget"
        if not ended.product:
            said = last_words(job.folder)
            raise CannotMeasure(f"{job.task.name}: exit code {ended.exit_code} and no product. {said}")
        folder = job.folder / ended.product
        yield measure(
            job.task.name,
            job.arm.name,
            folder,
            ended.exit_code,
            (span(folder)[0] - began).total_seconds() if fresh else None,
            checks=checks.get(job.task.text.strip()),
            isolated=not job.setting.allow_unsandboxed,
        )


def _parser() -> argparse.ArgumentParser:
    default = Settings()
    parser = argparse.ArgumentParser(
        prog="benchmarks/main_job.py",
        description="Build a list of tasks on one model; print what each cost and what came of it.",
        epilog="Exit code: 0 every task was measured; 2 bad arguments; 3 stopped early; 130 interrupted.",
    )
    tasks = parser.add_mutually_exclusive_group(required=True)
    tasks.add_argument(
        "--behaviour",
        nargs="?",
        const=SHIPPED,
        type=Path,
        metavar="SUITE",
        help="the tasks of a suite with behaviour checks (default: the twelve shipped)",
    )
    tasks.add_argument(
        "--csv", type=Path, metavar="FILE", help="tasks as SRDD has them: Name,Description,Category"
    )
    tasks.add_argument("--task", help="one task, called --name")
    parser.add_argument("--name", default="Task", help="the name of the one task (default: %(default)s)")
    parser.add_argument("--limit", type=at_least(1), metavar="N", help="only the first N tasks")
    parser.add_argument("--single", action="store_true", help="the same tasks also as one plain prompt, no agents")
    parser.add_argument("--no-chain", action="store_true", help="with --single: the plain prompt alone")
    parser.add_argument("--out", type=Path, help="where products go; what ended there is not run again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    run = parser.add_argument_group("as for run.py")
    run.add_argument("--model", default=default.model)
    run.add_argument("--base-url")
    run.add_argument("--config", default=default.config)
    run.add_argument("--uq", choices=UNCERTAINTY_MODES, default=default.uq)
    run.add_argument("--seed", type=at_least(0), default=default.seed)
    run.add_argument("--allow-unsandboxed", action="store_true")
    return parser


def _jobs(options: argparse.Namespace) -> list[Job]:
    """Raises EvaluationError and SuiteError, and OSError where there is no place for products."""
    if options.task is not None:
        if not options.task.strip():
            raise EvaluationError("The task is empty; say with --task what is to be built.")
        tasks = [Task(safe_name(options.name, "Task"), options.name, "", options.task)]
    else:
        tasks = read_tasks(str(options.behaviour or options.csv))[: options.limit]
    chain = Arm("chain", ("run.py", "--config", options.config, "--uq", options.uq), own=True)
    arms = [chain] * (not options.no_chain) + [Arm("single", BUILT_IN["single"], own=True)] * options.single
    setting = Setting(
        options.model, options.base_url or "", options.seed, allow_unsandboxed=options.allow_unsandboxed
    )
    out = (options.out or Path(tempfile.mkdtemp(prefix="main-job-"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    return [Job(out, arm, task, setting) for arm in arms for task in tasks]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.no_chain and not options.single:
        parser.error("--no-chain leaves nothing to do without --single")
    # A benchmark that is told to end must end the engine too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json {options.json}: there is no such folder")
    if options.json and options.json.is_dir():
        parser.error(f"--json {options.json}: is a folder; name a file in it")
    try:
        jobs = _jobs(options)
        pending(jobs)
        checks = {one.task.strip(): one for one in load_suite(options.behaviour)} if options.behaviour else {}
    except (EvaluationError, SuiteError) as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"--out {options.out} cannot be used ({error.strerror}); name another place")
    if not options.allow_unsandboxed and (missing := sandbox.available()):
        parser.error(missing.reason)
    rows: list[Row] = []
    code = _collect(rows, rows_of(jobs, checks), len(jobs), options.json)
    if rows:
        print(table(rows, markdown=options.markdown), "", *conclusions(rows), sep="\n")
    print(f"The products are in {jobs[0].out}", file=sys.stderr)
    return code


def _collect(rows: list[Row], measured: Iterator[Row], expected: int, path: Path | None) -> int:
    """Fill `rows`, telling and writing each as it comes: a failure loses none that went before."""
    try:
        for row in measured:
            rows.append(row)
            print(f"[{len(rows)}/{expected}] {_line(row)}", file=sys.stderr, flush=True)
            if path:
                path.write_text(json.dumps([_to_json(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    except KeyboardInterrupt:
        print("Interrupted; go on with the same --out.", file=sys.stderr)
        return INTERRUPTED
    except (CannotMeasure, NotMeasurable) as error:
        print(f"Stopped: {error}", file=sys.stderr)
        return MODEL_UNUSABLE
    return 0


def _to_json(row: Row) -> dict[str, object]:
    return {**asdict(row), "tokens": row.tokens, "engine_share": engine_share([row]), "score": mean_score([row])}


def _line(row: Row) -> str:
    checks = "" if row.checks is None else f", {row.passed}/{row.checks} checks"
    again = ", from an earlier session" if row.load_seconds is None else ""
    return (
        f"{row.task} {row.arm}: exit {row.exit_code}, {row.runs.replace('_', ' ')}, "
        f"{'complete' if row.complete else 'incomplete'}, {row.calls} calls, {row.tokens:,} tokens, "
        f"{row.seconds:.0f} s{checks}{again}"
    )


if __name__ == "__main__":
    sys.exit(main())
