"""`python -m evaluation.srdd generate|score|report|fetch`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import console
import sandbox
from arguments import at_least, between
from camel.models import verdicts
from evaluation.behaviour import SHIPPED, NotMeasurable, SuiteError, load_suite
from evaluation.srdd import EvaluationError, scoring
from evaluation.srdd.alone import alone
from evaluation.srdd.arms import BUILT_IN, Setting, arm_of
from evaluation.srdd.consistency import DEFAULT_EMBEDDER, Consistency, embedder_named, shuffled
from evaluation.srdd.fetch import LICENCE, SOURCE, fetch
from evaluation.srdd.generate import Stopped, folder_of, generate, in_threads, on_cluster, pending
from evaluation.srdd.job import RETRIED, Job, last_words
from evaluation.srdd.plots import draw
from evaluation.srdd.report import make_report
from evaluation.srdd.server import is_embedded, served
from evaluation.srdd.shared_answers import shared_answers
from evaluation.srdd.tasks import OWN, Selection, Task, read_tasks, select
from uq.embedding import NoEmbedder

BAD_ARGUMENTS, STOPPED, INTERRUPTED = 2, 3, 130
ANSWERS = "answers"
_DRAFTS_AT_ONCE = 4  # that one run draws side by side
_LONGEST = 86_400  # seconds; who wants to wait longer names no limit

Options = argparse.Namespace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0, 2 for bad arguments, 3 stopped early, 130 interrupted."""
    console.forgive()
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        return code
    except (NotMeasurable, Stopped) as error:
        return _refuse(error, STOPPED)
    except (EvaluationError, SuiteError) as error:
        return _refuse(error, BAD_ARGUMENTS)
    except OSError as error:
        if error.filename is None:
            raise
        return _refuse(f"{error.filename} cannot be used ({error.strerror}); name another place.", BAD_ARGUMENTS)
    except KeyboardInterrupt:
        return _refuse("interrupted; the same command goes on", INTERRUPTED)


def _generate(options: Options) -> int:
    # An evaluation that is told to end, or whose terminal is closed, must end its runs and its engine too.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, signal.default_int_handler)
    tasks = _tasks(options)
    arms = [arm_of(text) for text in options.arm or ("chatdev", "ua-chatdev", "single")]
    if len({arm.name for arm in arms}) < len(arms):
        raise EvaluationError("Two arms have the same name.")
    setting = Setting(
        model=options.model,
        base_url=options.base_url,
        seed=options.seed,
        seconds=options.seconds,
        tokens=options.tokens,
        allow_unsandboxed=options.allow_unsandboxed,
    )
    embedded = is_embedded(options.model)
    if options.share_answers and not (embedded or options.base_url):
        raise EvaluationError("--share-answers needs a server: --model openai:NAME --base-url URL.")
    if options.share_answers and options.scheduler:
        raise EvaluationError("--share-answers is for one machine; leave --scheduler out.")
    if embedded and options.scheduler:
        raise EvaluationError("--scheduler needs a server all can reach: --model openai:NAME --base-url URL.")
    out = options.out.resolve()
    # Task by task, so that what an evaluation that was stopped has done can be compared.
    jobs = [Job(out, arm, task, setting) for task in tasks for arm in arms]
    with alone(out / "generate", shared=options.shard is not None):
        waiting = pending(jobs)
        _say(f"{len(tasks)} tasks in {len(arms)} arms: {len(waiting)} runs to do, {len(jobs) - len(waiting)} done")
        workers = on_cluster(options.scheduler) if options.scheduler else in_threads(options.workers)
        with ExitStack() as stack:
            there = setting
            if waiting and embedded:
                server = stack.enter_context(served(options.model, options.workers - 1 + _DRAFTS_AT_ONCE))
                there = replace(setting, served_as=server.model, base_url=server.url)
            if waiting and options.share_answers:
                there = replace(there, base_url=stack.enter_context(_sharing(there, out)))
            ended = generate([replace(job, setting=there) for job in waiting], workers, options.workers, _say)
    if unusable := [one for one in ended if one.failure in RETRIED]:
        one = unusable[-1]
        raise Stopped(
            f"{len(unusable)} runs failed for no fault of the task, the last with {one.failure}: "
            f"{last_words(folder_of(jobs, one))} The same command tries them again."
        )
    print(f"The products are in {out}; next: python -m evaluation.srdd score {options.out}")
    return 0


@contextmanager
def _sharing(setting: Setting, out: Path) -> Iterator[str]:
    """The URL at which the arms share the answers of the model of `setting`."""
    with shared_answers(setting.base_url, out / ANSWERS) as url:
        model = (setting.served_as or setting.model).removeprefix("openai:")
        # What is known of the log-probs of the server behind it holds there too.
        verdicts.remember(url, model, verdicts.recall(setting.base_url, model))
        yield url


def _tasks(options: Options) -> list[Task]:
    selection = Selection(options.category, options.per_category, options.limit, options.seed)
    sources = options.tasks or [str(OWN)]
    tasks = [task for source in sources for task in select(read_tasks(source), selection)]
    if len({task.id for task in tasks}) < len(tasks):
        raise EvaluationError("Two of the --tasks have the same file name; rename one.")
    if options.shard:
        number, of = options.shard
        tasks = tasks[number - 1 :: of]
    if not tasks:
        raise EvaluationError("There are no tasks.")
    return tasks


def _score(options: Options) -> int:
    isolated = not options.allow_unsandboxed
    if isolated and (missing := sandbox.available()):
        raise NotMeasurable(missing.reason)
    items, left_out = scoring.items_in(options.folder)
    for path in left_out:
        _say(f"left out {path}: no NAME.prompt and no meta.txt")
    how = scoring.Scoring(
        modes=options.mode or scoring.MODES,
        suite={task.task.strip(): task for task in load_suite(options.suite)},
        seconds=options.seconds,
        isolated=isolated,
    )
    path = options.scores or options.folder / scoring.FILE_NAME
    with alone(path):
        consistency = _consistency(options, items)
        found = scoring.score_all(items, how, consistency, workers=options.workers, path=path, say=_say)
        for number, score in enumerate(found, 1):
            _say(f"[{number}/{len(items)}] {score.arm} {score.task}: {score.failure or 'works'}")
    print(f"The scores are in {path}; next: python -m evaluation.srdd report {options.folder}")
    return 0


def _consistency(options: Options, items: Sequence[scoring.Item]) -> Consistency | None:
    if options.embedder == "none" or not {"strict", "official"}.intersection(options.mode or scoring.MODES):
        return None
    embedder = embedder_named(options.embedder)
    if isinstance(embedder, NoEmbedder):
        _say(f"Consistency is not measured: {embedder.reason.detail}")
        return None
    if embedder.name != options.embedder:
        _say(f"{options.embedder} cannot be had; consistency is measured with {embedder.name}.")
    return Consistency(embedder, shuffled({item.task: item.text for item in items}, options.seed))


def _report(options: Options) -> int:
    paths = [path / scoring.FILE_NAME if path.is_dir() else path for path in options.scores]
    scores = [score for path in paths for score in scoring.read_scores(path)]
    report = make_report(scores, options.baseline)
    print(report.to_text())
    if options.markdown:
        options.markdown.write_text(report.to_text(markdown=True) + "\n", encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    if options.plots:
        for path in draw(scores, options.plots):
            _say(f"drawn: {path}")
    return 0


def _fetch(options: Options) -> int:
    print(LICENCE)
    if not options.accept:
        raise EvaluationError("Nothing was fetched. With --accept you agree to this licence.")
    print(f"{fetch(options.url, options.file)} tasks are in {options.file}")
    return 0


def _shard(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"must be I/N with I from 1 to N, not {text!r}")
    return int(number), int(of)


def _refuse(reason: object, code: int) -> int:
    _say(f"evaluation: {reason}")
    return code


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.srdd",
        description="Build SRDD tasks in several arms, score the products, compare the arms.",
        epilog="Exit code: 0 done; 2 bad arguments; 3 stopped early; 130 interrupted. The same command goes on.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[Options], int], about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        added.set_defaults(run=run)
        return added

    _generate_options(command("generate", _generate, "build tasks in several arms, one folder each"))
    _score_options(command("score", _score, "score products: a function of folders alone"))
    _report_options(command("report", _report, "compare arms: quality with intervals, costs, failures"))
    get = command("fetch", _fetch, "get the full SRDD data set, for research only")
    get.add_argument("file", type=Path, help="where it goes")
    get.add_argument("--accept", action="store_true", help="you agree to its licence")
    get.add_argument("--url", default=SOURCE, help="default: %(default)s")
    return parser


def _generate_options(build: argparse.ArgumentParser) -> None:
    build.add_argument(
        "--out", type=Path, required=True, help="where products go; what ended there is not run again"
    )
    build.add_argument(
        "--tasks",
        action="append",
        metavar="SOURCE",
        help="a CSV file in SRDD's format, a suite in JSON, or behaviour: the shipped suite; may be repeated "
        "(default: the ten tasks shipped)",
    )
    build.add_argument(
        "--arm",
        action="append",
        help=f"{', '.join(BUILT_IN)}, NAME='--flags of run.py', or NAME='command {{task}} {{workspace}}' with "
        "{name}, {model}, {base_url}, {seed} where wanted; may be repeated (default: chatdev, ua-chatdev, single)",
    )
    taken = build.add_argument_group("which tasks of each source")
    taken.add_argument("--category", action="append", default=[], help="only this one; may be repeated")
    taken.add_argument("--per-category", type=at_least(1), metavar="N", help="N of each category, drawn by --seed")
    taken.add_argument("--limit", type=at_least(1), metavar="N", help="only the first N")
    taken.add_argument("--shard", type=_shard, metavar="I/N", help="of all, the I-th of N parts")
    run = build.add_argument_group("how")
    run.add_argument("--model", default="qwen2.5-coder-1.5b", help="as for run.py (default: %(default)s)")
    run.add_argument("--base-url", default="", help="an OpenAI-compatible server")
    run.add_argument("--seed", type=at_least(0), default=1, help="of the sampling and of drawn tasks (default: 1)")
    run.add_argument("--tokens", type=at_least(1), help="budget of a task; a run that exceeds it counts as failed")
    run.add_argument("--seconds", type=between(0, _LONGEST), help="the same for its time, of one sitting")
    run.add_argument("--workers", type=at_least(1), default=2, help="runs at a time, on one engine (default: 2)")
    run.add_argument(
        "--share-answers",
        action="store_true",
        help="who asks the model the same with the same seed, in whichever arm, gets the same answer: arms differ "
        "by what they do and not by chance, and an answer is computed once (times then mean little)",
    )
    run.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler such as tcp://10.0.0.1:8786")
    run.add_argument("--allow-unsandboxed", action="store_true", help="as for run.py; dangerous")


def _score_options(score: argparse.ArgumentParser) -> None:
    score.add_argument("folder", type=Path, help="the --out of generate, or any WareHouse")
    score.add_argument("--mode", choices=scoring.MODES, action="append", help="may be repeated (default: all)")
    score.add_argument("--scores", type=Path, metavar="FILE", help=f"default: {scoring.FILE_NAME} in the folder")
    score.add_argument("--suite", type=Path, default=SHIPPED, help="behaviour checks (default: the shipped ones)")
    score.add_argument(
        "--embedder",
        default=DEFAULT_EMBEDDER,
        help="of consistency: a transformers model, or none (default: %(default)s)",
    )
    score.add_argument(
        "--seconds", type=between(0, _LONGEST), default=10, help="a program alive by then runs (default: 10)"
    )
    score.add_argument("--workers", type=at_least(1), default=4, help="programs run at a time (default: 4)")
    score.add_argument("--seed", type=int, default=1, help="of the shuffled pairs (default: 1)")
    score.add_argument("--allow-unsandboxed", action="store_true", help="dangerous: programs see your files")


def _report_options(report: argparse.ArgumentParser) -> None:
    report.add_argument("scores", type=Path, nargs="+", help="files of scores, or the folders they lie in")
    report.add_argument(
        "--baseline", default="", metavar="ARM", help="what differences are to (default: the first)"
    )
    report.add_argument("--markdown", type=Path, metavar="FILE", help="write the report there in Markdown")
    report.add_argument("--json", type=Path, metavar="FILE", help="write it there as JSON")
    report.add_argument("--plots", type=Path, metavar="DIR", help="draw it there, as PNG and SVG")


if __name__ == "__main__":
    sys.exit(main())
