"""`python -m evaluation.srdd generate|score|report|fetch`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import sandbox
from evaluation.behaviour import SHIPPED, NotMeasurable, SuiteError, load_suite
from evaluation.srdd import EvaluationError, scoring
from evaluation.srdd.alone import alone
from evaluation.srdd.consistency import DEFAULT_EMBEDDER, Consistency, NoEmbedder, open_embedder, shuffled
from evaluation.srdd.plots import draw
from evaluation.srdd.report import make_report

BAD_ARGUMENTS, STOPPED, INTERRUPTED = 2, 3, 130

Options = argparse.Namespace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0, 2 for bad arguments, 3 stopped early, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        return code
    except (EvaluationError, SuiteError) as error:
        return _refuse(error, BAD_ARGUMENTS)
    except NotMeasurable as error:
        return _refuse(error, STOPPED)
    except KeyboardInterrupt:
        return _refuse("interrupted; the same command goes on", INTERRUPTED)


def _score(options: Options) -> int:
    isolated = not options.allow_unsandboxed
    if isolated and (missing := sandbox.available()):
        raise NotMeasurable(missing.reason)
    items, left_out = scoring.items_in(options.folder)
    for path in left_out:
        _say(f"left out {path}: no NAME.prompt and no meta.txt")
    how = scoring.Scoring(
        modes=options.mode or scoring.MODES,
        suite={task.task: task for task in load_suite(options.suite)},
        seconds=options.seconds,
        isolated=isolated,
    )
    path = options.scores or options.folder / scoring.FILE_NAME
    with alone(path):
        found = scoring.score_all(items, how, _consistency(options, items), workers=options.workers, path=path)
        for number, score in enumerate(found, 1):
            _say(f"[{number}/{len(items)}] {score.arm} {score.task}: {score.failure or 'works'}")
    print(f"The scores are in {path}; next: python -m evaluation.srdd report {options.folder}")
    return 0


def _consistency(options: Options, items: Sequence[scoring.Item]) -> Consistency | None:
    if options.embedder == "none" or not {"strict", "official"}.intersection(options.mode or scoring.MODES):
        return None
    embedder = open_embedder(options.embedder)
    if isinstance(embedder, NoEmbedder):
        _say(f"Consistency is not measured: {embedder.reason}.")
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

    score = command("score", _score, "score products: a function of folders alone")
    score.add_argument("folder", type=Path, help="the --out of generate, or any WareHouse")
    score.add_argument("--mode", choices=scoring.MODES, action="append", help="may be repeated (default: all)")
    score.add_argument("--scores", type=Path, metavar="FILE", help=f"default: {scoring.FILE_NAME} in the folder")
    score.add_argument("--suite", type=Path, default=SHIPPED, help="behaviour checks (default: the shipped ones)")
    score.add_argument(
        "--embedder",
        default=DEFAULT_EMBEDDER,
        help="of consistency: a transformers model, or none (default: %(default)s)",
    )
    score.add_argument("--seconds", type=float, default=10, help="a program alive by then runs (default: 10)")
    score.add_argument("--workers", type=int, default=4, help="programs run at a time (default: 4)")
    score.add_argument("--seed", type=int, default=1, help="of the shuffled pairs (default: 1)")
    score.add_argument("--allow-unsandboxed", action="store_true", help="dangerous: programs see your files")

    report = command("report", _report, "compare arms: quality with intervals, costs, failures")
    report.add_argument("scores", type=Path, nargs="+", help="files of scores, or the folders they lie in")
    report.add_argument(
        "--baseline", default="", metavar="ARM", help="what differences are to (default: the first)"
    )
    report.add_argument("--markdown", type=Path, metavar="FILE", help="write the report there in Markdown")
    report.add_argument("--json", type=Path, metavar="FILE", help="write it there as JSON")
    report.add_argument("--plots", type=Path, metavar="DIR", help="draw it there, as PNG and SVG")
    return parser


if __name__ == "__main__":
    sys.exit(main())
