"""The main job on a real model: build a list of tasks and say what each cost and what came of it.

    python benchmarks/main_job.py --behaviour
    python benchmarks/main_job.py --csv tasks.csv --limit 10 --out /tmp/measured --json rows.json
    python benchmarks/main_job.py --behaviour --single --markdown

Arms: `chain` runs `python run.py` once a task; `single` (with --single) puts the same task to the same
model as one plain prompt, without agents: a user's message and nothing else, the reply parsed, continued
where the token limit cut it, and checked as in the chain. The arms come one after the other and the chain's
engine ends with its process, so that two engines never share the machine.

Each product keeps its journal, and all numbers are read from there. `seconds` runs from the journal's
RunStarted event to its last; starting Python and loading the engine come before that and stand apart as
`load s`. `engine` is the share of the wall time spent waiting for the engine, apart from the sandbox:
engine seconds / (seconds - sandbox seconds). A product `runs` when the sandbox says so of `python main.py`
without arguments, or when it passed a behaviour check in which it had to end well.

Products lie in OUT/chain and OUT/single. With the same --out and settings again, tasks that ended are not
run again: their journals are read and their programs measured.
"""

from __future__ import annotations

import argparse
import csv
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

# Started as a file, Python looks for modules beside it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import sandbox
from benchmarks.measurement import Job, Row, engine_share, mean_score, measure
from benchmarks.table import conclusions, table
from camel.models.model import Model, ModelUnusable
from camel.models.open import open_model
from chatdev.company import PROJECT
from chatdev.product import safe_name
from chatdev.run import INTERRUPTED, MODEL_UNUSABLE
from chatdev.settings import UNCERTAINTY_MODES, Settings
from chatdev.single import answer_once
from evaluation.behaviour import SHIPPED, NotMeasurable, SuiteError, load_suite
from evaluation.cost import span
from journal import JournalError, read
from journal.events import RunEnded, RunStarted
from journal.journal import FILE_NAME

ORGANIZATION = "Benchmark"


class CannotMeasure(Exception):
    """The benchmark cannot go on; the message says why and what to do."""


@dataclass(frozen=True)
class Bench:
    """What all tasks have in common: where products go, and with what settings they are built."""

    out: Path
    settings: Settings

    @property
    def isolated(self) -> bool:
        return not self.settings.allow_unsandboxed

    def settings_of(self, job: Job) -> Settings:
        return replace(self.settings, task=job.text, name=job.name, organization=ORGANIZATION)

    def folders(self, arm: str, job: Job) -> list[Path]:
        """The product folders of earlier runs, the oldest first."""
        return sorted(path for path in (self.out / arm).glob(f"{job.name}_{ORGANIZATION}_*") if path.is_dir())

    def ended(self, arm: str, job: Job) -> tuple[Path, int] | None:
        """The last product of a run with the same settings that came to its end, and its exit code."""
        for folder in reversed(self.folders(arm, job)):
            try:
                events = read(folder / FILE_NAME)
            except JournalError:
                continue  # ended before its first event was written: no run to speak of
            first, last = events[0], events[-1]
            same = isinstance(first, RunStarted) and first.settings == asdict(self.settings_of(job))
            if same and isinstance(last, RunEnded):
                return folder, last.exit_code
        return None


def chain(bench: Bench, job: Job) -> Row:
    """Run the company on `job` in a process of its own. Raises CannotMeasure when it made no product."""
    warehouse = bench.out / "chain"
    warehouse.mkdir(parents=True, exist_ok=True)
    before = set(bench.folders("chain", job))
    log = warehouse / f"{job.name}.log"
    began = datetime.now(timezone.utc)
    with log.open("wb") as output:
        code = subprocess.run(
            [sys.executable, str(PROJECT / "run.py"), *_flags(bench.settings_of(job), warehouse)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ).returncode
    made = [folder for folder in bench.folders("chain", job) if folder not in before]
    if not made:
        said = log.read_text(encoding="utf-8", errors="replace").strip() or "run.py said nothing"
        raise CannotMeasure(f"{job.name}: exit code {code} and no product. {said.splitlines()[-1]}")
    loading = (span(made[-1])[0] - began).total_seconds()
    return measure(job, "chain", made[-1], code, loading, isolated=bench.isolated)


def _flags(settings: Settings, warehouse: Path) -> list[str]:
    values = {
        "task": settings.task,
        "name": settings.name,
        "org": settings.organization,
        "model": settings.model,
        "config": settings.config,
        "uq": settings.uq,
        "seed": settings.seed,
        "warehouse": warehouse,
        **({"base-url": settings.base_url} if settings.base_url else {}),
    }
    switches = ["--allow-unsandboxed"] * settings.allow_unsandboxed
    return [*(f"--{name}={value}" for name, value in values.items()), *switches]


def single(bench: Bench, job: Job, model: Model, load_seconds: float) -> Row:
    """Put `job` to the model as one plain prompt. Raises ModelUnusable."""
    folder, code = answer_once(bench.settings_of(job), bench.out / "single", model)
    return measure(job, "single", folder, code, load_seconds, isolated=bench.isolated)


def rows_of(bench: Bench, jobs: Sequence[Job], *, arms: Sequence[str]) -> Iterator[Row]:
    """A row for each task, one arm after the other, as soon as it is measured.

    Raises CannotMeasure and ModelUnusable where nothing sensible could follow.
    """
    if "chain" in arms:
        for job in jobs:
            yield _again(bench, "chain", job) or chain(bench, job)
    if "single" in arms:
        yield from _singles(bench, jobs)


def _singles(bench: Bench, jobs: Sequence[Job]) -> Iterator[Row]:
    model: Model | None = None
    try:
        for job in jobs:
            if row := _again(bench, "single", job):
                yield row
                continue
            began = time.monotonic()
            # Opened once, by the first task that needs it, which bears the loading.
            model = model or open_model(bench.settings.model, base_url=bench.settings.base_url)
            yield single(bench, job, model, time.monotonic() - began)
    finally:
        if model is not None:
            model.close()


def _again(bench: Bench, arm: str, job: Job) -> Row | None:
    if (known := bench.ended(arm, job)) is None:
        return None
    folder, code = known
    return measure(job, arm, folder, code, None, isolated=bench.isolated)


def behaviour_jobs(suite: Path) -> list[Job]:
    return [Job(_named(task.name), task.task, task) for task in load_suite(suite)]


def csv_jobs(path: Path) -> list[Job]:
    """The tasks of a file with the columns Name and Description. Raises CannotMeasure."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file)
            return [Job(_named(line["Name"] or ""), line["Description"] or "") for line in lines]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CannotMeasure(f"{path}: cannot be read ({error}).") from error
    except KeyError as error:
        raise CannotMeasure(f"{path}: has no column {error}; wanted are Name and Description.") from error


def _named(name: str) -> str:
    return safe_name(name, "Task")


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
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N tasks")
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
    run.add_argument("--seed", type=int, default=default.seed)
    run.add_argument("--allow-unsandboxed", action="store_true")
    return parser


def _jobs(options: argparse.Namespace) -> list[Job]:
    if options.behaviour:
        jobs = behaviour_jobs(options.behaviour)
    elif options.csv:
        jobs = csv_jobs(options.csv)
    else:
        jobs = [Job(_named(options.name), options.task)]
    jobs = jobs[: options.limit]
    names = [job.name for job in jobs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CannotMeasure(f"Two tasks are called {twice}; give each a name of its own.")
    if not jobs:
        raise CannotMeasure("There are no tasks.")
    return jobs


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
    try:
        jobs = _jobs(options)
    except (CannotMeasure, SuiteError) as error:
        parser.error(str(error))
    if not options.allow_unsandboxed and (missing := sandbox.available()):
        parser.error(missing.reason)
    out = options.out or Path(tempfile.mkdtemp(prefix="main-job-"))
    names = ("model", "base_url", "config", "uq", "seed", "allow_unsandboxed")
    bench = Bench(out.resolve(), Settings(**{name: getattr(options, name) for name in names}))
    arms = ["chain"] * (not options.no_chain) + ["single"] * options.single
    rows: list[Row] = []
    code = _collect(rows, rows_of(bench, jobs, arms=arms), len(jobs) * len(arms), options.json)
    if rows:
        print(table(rows, markdown=options.markdown), "", *conclusions(rows), sep="\n")
    print(f"The products are in {bench.out}", file=sys.stderr)
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
    except (CannotMeasure, ModelUnusable, NotMeasurable) as error:
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
