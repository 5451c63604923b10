"""From folders to scores: a function of what lies in them, whoever made it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any

from evaluation.behaviour import Task, run_task
from evaluation.cost import cost
from evaluation.srdd import EvaluationError, official, result, strict
from evaluation.srdd.consistency import Consistency
from evaluation.srdd.product import program_folder, sources, task_of, too_large
from journal import JournalError

MODES = ("strict", "official", "behaviour")
FILE_NAME = "scores.jsonl"
_BEGINNING = '{"digest": "'


@dataclass(frozen=True)
class Measures:
    """Completeness and executability, 0 or 1; consistency, from -1 to 1, and its `floor`: that of the same
    code with the task of another product. The latter two are None where they were not measured."""

    completeness: float
    executability: float
    consistency: float | None = None
    floor: float | None = None


NOTHING = Measures(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Score:
    """What one product is worth and what it cost; a measurement that was not asked for or cannot be is None.

    `failure` says what is wrong with it: why there is none (see `Result`), why it does not run (see
    `strict`), `too_large`, or `incomplete`. `passed` of `checks` are the requirements met. `cost` is that of
    `evaluation.cost`, or only the seconds; `embedder` names the one that consistency was measured with.
    """

    arm: str
    task: str
    category: str
    product: str
    failure: str
    strict: Measures | None = None
    official: Measures | None = None
    passed: int | None = None
    checks: int | None = None
    cost: dict[str, float] | None = None
    embedder: str | None = None


@dataclass(frozen=True)
class Item:
    """A product to be scored: `failure` is set where there is none to look at."""

    arm: str
    task: str
    category: str
    text: str
    folder: Path
    failure: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Scoring:
    """How products are scored. `suite` maps task texts to their checks, `seconds` is how long a program runs
    before it counts as running."""

    modes: Sequence[str]
    suite: Mapping[str, Task]
    seconds: float
    isolated: bool = True


def items_in(folder: Path) -> tuple[list[Item], list[str]]:
    """The products in an output folder of `generate`, or in a WareHouse; and what was left out there.

    Raises EvaluationError where it is neither.
    """
    if not folder.is_dir():
        raise EvaluationError(f"There is no folder {folder}. Give the --out of generate, or a WareHouse.")
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    texts = {path: task_of(path) for path in folders}
    found = [Item(folder.resolve().name, path.name, "", text, path) for path, text in texts.items() if text]
    if found:  # first, for programs write a result.json, too
        return found, [str(path) for path, text in texts.items() if not text]
    results = list(result.read_all(folder))
    if not results:
        raise EvaluationError(
            f"{folder} holds no products. Give the --out of generate, or a WareHouse: a folder of product "
            "folders, each with its task in NAME.prompt or meta.txt."
        )
    return [
        Item(one.arm, one.task, one.category, one.text, home / one.product, one.failure, one.seconds)
        for home, one in results
    ], []


def score_all(
    items: Sequence[Item],
    scoring: Scoring,
    consistency: Consistency | None,
    *,
    workers: int,
    path: Path,
    say: Callable[[str], None],
) -> Iterator[Score]:
    """Score `items`, `workers` programs at a time, and append each score to `path` as it comes.

    What stands there already, of the same product in the same form and scored the same way, is not scored
    again; what was scored another way is left out, and `say` is told. Raises NotMeasurable where the sandbox
    cannot start.
    """
    how = {
        "modes": sorted(scoring.modes),
        "seconds": scoring.seconds,
        "embedder": consistency.name if consistency else None,
        "suite": _sha256([asdict(task) for task in scoring.suite.values()]),
    }
    digests = [_digest(item) for item in items]
    known, otherwise = _keep_only(path, set(digests), how)
    if otherwise:
        say(_left_out(otherwise, how, path))
    with ThreadPoolExecutor(workers) as pool, path.open("a", encoding="utf-8") as file:
        futures = [
            None if digest in known else pool.submit(examine, item, scoring)
            for item, digest in zip(items, digests, strict=True)
        ]
        try:
            for item, digest, future in zip(items, digests, futures, strict=True):
                if future is None:
                    yield known[digest]
                    continue
                score = _with_consistency(future.result(), item, consistency) if consistency else future.result()
                file.write(_line({"digest": digest, "how": how, **asdict(score)}))
                file.flush()
                yield score
        finally:
            pool.shutdown(cancel_futures=True)


def read_scores(path: Path) -> list[Score]:
    """The scores in `path`. Raises EvaluationError."""
    try:
        return [_score(record) for record in _records(path)]
    except FileNotFoundError as error:
        if path.name == FILE_NAME and path.parent.is_dir():
            remedy = f"first: python -m evaluation.srdd score {path.parent}"
        else:
            remedy = "give a folder that python -m evaluation.srdd score has scored, or the file of its scores"
        raise EvaluationError(f"There is no {path}; {remedy}") from error
    except (KeyError, TypeError) as error:
        raise EvaluationError(f"{path} does not hold scores ({error!r}); score again.") from error


def examine(item: Item, scoring: Scoring) -> Score:
    """Everything but consistency."""
    score = Score(item.arm, item.task, item.category, str(item.folder.resolve()), item.failure, cost=_cost(item))
    if not score.failure and too_large(item.folder):
        score = replace(score, failure="too_large")
    task = scoring.suite.get(item.text) if "behaviour" in scoring.modes else None
    if task:
        score = replace(score, passed=0, checks=len(task.checks))
    if score.failure:
        return replace(
            score,
            strict=NOTHING if "strict" in scoring.modes else None,
            official=NOTHING if "official" in scoring.modes else None,
        )
    home = program_folder(item.folder)
    checked = run_task(task, home, isolated=scoring.isolated) if task else None
    if checked:
        score = replace(score, passed=checked.passed)
    if "official" in scoring.modes:
        runs = official.executability(item.folder, isolated=scoring.isolated)
        score = replace(score, official=Measures(official.completeness(item.folder), runs))
    if "strict" in scoring.modes:
        files = sources(home)
        complete = strict.is_complete(files)
        works = task and checked and strict.ended_well(task, checked)
        run = partial(strict.failure_to_run, seconds=scoring.seconds, isolated=scoring.isolated)
        failure = "" if works else run(home, files)
        measures = Measures(float(complete), float(not failure))
        score = replace(score, strict=measures, failure=failure or ("" if complete else "incomplete"))
    return score


def _with_consistency(score: Score, item: Item, consistency: Consistency) -> Score:
    score = replace(score, embedder=consistency.name)
    if score.strict and score.strict is not NOTHING:
        code = "\n\n".join(map(strict.without_comments, sources(item.folder).values()))
        similar, floor = consistency.of(item.text, code, item.task)
        score = replace(score, strict=replace(score.strict, consistency=similar, floor=floor))
    if score.official and score.official is not NOTHING:
        text = official.task_text(item.folder)
        # The script dies where it finds no text: the product counts nothing.
        similar, floor = consistency.of(text, official.code_text(item.folder), item.task) if text else (0.0, None)
        score = replace(score, official=replace(score.official, consistency=similar, floor=floor))
    return score


def _cost(item: Item) -> dict[str, float] | None:
    """What its journal says; of a product without one at most the wall time is known."""
    try:
        spent = cost(item.folder)
    except JournalError:
        return None if item.seconds is None else {"seconds": item.seconds}
    return {**asdict(spent), "tokens": spent.tokens}


def _digest(item: Item) -> str:
    """Of all that a score depends on but the way of scoring."""
    listing = [
        (file.relative_to(item.folder).as_posix(), stat.st_size, stat.st_mtime_ns)
        for file in sorted(item.folder.rglob("*"))
        if not file.is_dir()
        for stat in [file.lstat()]
    ]
    return _sha256([item.arm, item.task, item.text, str(item.folder.resolve()), item.failure, listing])


def _sha256(value: list[Any]) -> str:
    """The first 16 digits; regular expressions are taken as they were written."""
    return sha256(json.dumps(value, default=attrgetter("pattern")).encode()).hexdigest()[:16]


def _line(record: Mapping[str, Any]) -> str:
    """A line of the file. In ASCII, for what a file is called may be no text."""
    return json.dumps(record) + "\n"


def _records(path: Path) -> list[dict[str, Any]]:
    """The records in `path`. Half a line at its end is none: scoring was killed while it wrote.

    Raises EvaluationError for anything else, which may be dear to somebody.
    """
    try:
        # splitlines would also break lines at characters that JSON may hold.
        *lines, rest = path.read_text(encoding="utf-8").split("\n")
        records = [json.loads(line) for line in lines if line]
        if rest.startswith(_BEGINNING):
            with suppress(ValueError):
                records.append(json.loads(rest))
    except ValueError as error:
        raise EvaluationError(f"{path} does not hold scores ({error}); name another file.") from error
    whole = all(isinstance(record, dict) and "digest" in record for record in records)
    if not whole or not rest.startswith(_BEGINNING[: len(rest)]):
        raise EvaluationError(f"{path} does not hold scores; name another file.")
    return records


def _keep_only(
    path: Path, digests: Collection[str], how: dict[str, Any]
) -> tuple[dict[str, Score], list[dict[str, Any]]]:
    """The scores in `path` that still hold, by digest, and how those were made that were made another way.

    All but the former are removed from the file.
    """
    if path.is_dir():
        raise EvaluationError(f"--scores {path} is a folder; name a file in it.")
    kept: dict[str, dict[str, Any]] = {}
    otherwise: list[dict[str, Any]] = []
    for record in _records(path) if path.is_file() else []:
        if record["digest"] not in digests:
            continue
        if record.get("how") == how:
            kept[record["digest"]] = record
        else:
            otherwise.append(record.get("how") or {})
    part = path.with_name(f"{path.name}.part")
    part.write_text("".join(map(_line, kept.values())), encoding="utf-8")
    os.replace(part, path)
    return {digest: _score(record) for digest, record in kept.items()}, otherwise


def _left_out(otherwise: Sequence[dict[str, Any]], how: dict[str, Any], path: Path) -> str:
    """Say how many scores were made another way, which way that was, and how to get them."""
    then = otherwise[-1]
    changed = "; ".join(
        f"{name}: {_shown(then.get(name))}, now {_shown(value)}"
        for name, value in how.items()
        if then.get(name) != value
    )
    return (
        f"left out of {path}: {len(otherwise)} scores that were made another way ({changed}); the settings of "
        "then make them again, and --scores FILE keeps them beside these"
    )


def _shown(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def _score(record: dict[str, Any]) -> Score:
    values = {key: value for key, value in record.items() if key not in ("digest", "how")}
    for mode in ("strict", "official"):
        values[mode] = Measures(**values[mode]) if values[mode] else None
    return Score(**values)
