"""The calibration job: learn thresholds from past runs, look at them, check them, pass them on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median

import console
from arguments import between
from calibration import CalibrationError
from calibration.fit import MINIMUM, fit
from calibration.labels import Group, Response, by_group, read_runs
from calibration.quantiles import METHODS
from calibration.separation import Bin, aurc, auroc, auroc_interval, kolmogorov_smirnov, prr, reliability
from calibration.shipped import FOLDER, ship, shipped
from calibration.snapshot import Snapshot, from_json, save
from calibration.store import Store, open_store
from calibration.thresholds import default_store

_STORE = default_store(Path(__file__).resolve().parent.parent / "WareHouse")
_RECENT = 100  # answers of a group
_COMPARABLE = 20  # older answers, below which nothing is said about drift
_MOVED = 0.01  # how improbable a difference must be before it is called one

Options = argparse.Namespace
Rows = list[tuple[str, ...]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0, or 2 where it refuses; nothing is changed then."""
    console.forgive()
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (CalibrationError, OSError) as error:
        print(f"calibration: {error}", file=sys.stderr)
        return 2
    return 0


def _fit(options: Options) -> None:
    responses = _read(options.warehouses, observed_only=options.observed_only)
    path = options.store or default_store(options.warehouses[0])
    if not path.exists():
        # What cannot be learnt from is refused before there is an empty store.
        fit(responses, options.method, options.alpha)
    with open_store(path, create=True) as store:
        _print_snapshot(store.learn(responses, options.method, options.alpha), store.path)


def _ship(options: Options) -> None:
    responses = _read(options.warehouses, observed_only=True)
    _print_snapshot(ship(responses, options.method, options.alpha, options.folder), options.folder)


def _read(warehouses: Sequence[Path], *, observed_only: bool) -> list[Response]:
    past = read_runs(warehouses, observed_only=observed_only)
    for folder, reason in past.skipped.items():
        print(f"skipped {folder}: {reason}", file=sys.stderr)
    print(f"{len(past.responses)} measured answers of {past.runs} runs; {len(past.skipped)} runs skipped")
    return past.responses


def _show(options: Options) -> None:
    if options.shipped:
        if options.store != _STORE:
            raise CalibrationError("--shipped shows the thresholds that come with the project; leave out --store.")
        if (snapshot := shipped()) is None:
            raise CalibrationError("No thresholds are shipped with this version.")
        _print_snapshot(snapshot, FOLDER)
        return
    with open_store(options.store) as store:
        _print_snapshot(_snapshot(store, options), store.path)


def _check(options: Options) -> None:
    with open_store(options.store) as store:
        snapshot = _snapshot(store, options)
        groups = _history(store)
    rows: Rows = [
        ("subtask", "model", "right", "wrong", "AUROC", "AURC", "PRR", "triggers on right", "on wrong", "")
    ]
    rows += (_check_row(group, answers, snapshot.lookup(group).tau) for group, answers in groups.items())
    _print_table(rows)
    if options.plot:
        bins = {group: reliability(answers) for group, answers in groups.items()}
        _write_plot({group: some for group, some in bins.items() if some}, options.plot)
        print(f"The reliability plot is in {options.plot}")


def _check_row(group: Group, answers: Sequence[Response], tau: float) -> tuple[str, ...]:
    right = [answer for answer in answers if answer.outcome == "correct"]
    wrong = [answer for answer in answers if answer.outcome == "incorrect"]
    cells = (group.subtask, group.model, str(len(right)), str(len(wrong)))
    rates = (_rate(right, tau), _rate(wrong, tau))
    value = auroc(answers)
    if value is None:
        return (*cells, "-", "-", "-", *rates, "needs right and wrong answers")
    low, high = auroc_interval(value, *(len({answer.task for answer in some}) for some in (wrong, right)))
    verdict = "separates" if low > 0.5 else "misleads" if high < 0.5 else "this gate is a coin"
    return (
        *cells,
        f"{value:.2f} [{low:.2f}, {high:.2f}]",
        f"{aurc(answers):.3f}",
        f"{prr(answers):.2f}",
        *rates,
        verdict,
    )


def _rate(answers: Sequence[Response], tau: float) -> str:
    return f"{sum(answer.u > tau for answer in answers) / len(answers):.0%}" if answers else "-"


def _write_plot(bins: Mapping[Group, Sequence[Bin]], path: Path) -> None:
    """Write a PNG with one panel a group. Raises CalibrationError without groups or without matplotlib."""
    if not bins:
        raise CalibrationError("There is nothing to plot: no answer is known to be right or wrong.")
    try:
        figure = import_module("matplotlib.figure").Figure(figsize=(4, 3.5 * len(bins)), layout="constrained")
    except ImportError as error:
        raise CalibrationError("A plot needs matplotlib: pip install -r requirements-evaluation.txt") from error
    for panel, (group, points) in zip(figure.subplots(len(bins), squeeze=False)[:, 0], bins.items(), strict=True):
        panel.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle="--")
        panel.plot([point.probability for point in points], [point.correct for point in points], marker="o")
        panel.set(
            xlim=(0, 1.02),
            ylim=(-0.02, 1.02),
            title=f"{group.subtask}\n{group.model}, {sum(point.size for point in points)} answers",
            xlabel="mean token probability exp(−u)",
            ylabel="share of correct answers",
        )
    figure.savefig(path, format="png", dpi=120)


def _drift(options: Options) -> None:
    with open_store(options.store) as store:
        groups = _history(store)
    rows: Rows = [("subtask", "model", "older", "recent", "median u", "recent", "distance", "p", "")]
    for group, answers in groups.items():
        scores = [answer.u for answer in answers]
        older, recent = scores[:-_RECENT], scores[-_RECENT:]
        cells = (group.subtask, group.model, str(len(older)), str(len(recent)))
        if len(older) < _COMPARABLE:
            rows.append((*cells, "-", "-", "-", "-", "too few answers"))
            continue
        distance, p = kolmogorov_smirnov(recent, older)
        numbers = (f"{median(older):.4f}", f"{median(recent):.4f}", f"{distance:.2f}", f"{p:.3f}")
        rows.append((*cells, *numbers, "moved: fit new runs" if p < _MOVED else "steady"))
    _print_table(rows)


def _export(options: Options) -> None:
    with open_store(options.store) as store:
        snapshot = _snapshot(store, options)
    save(snapshot, options.file)


def _import(options: Options) -> None:
    snapshot = from_json(options.file.read_bytes(), str(options.file))
    with open_store(options.store, create=True) as store:
        _print_snapshot(store.add(snapshot), store.path)


def _snapshot(store: Store, options: Options) -> Snapshot:
    snapshot = store.snapshot(options.snapshot)
    if snapshot is None:
        raise CalibrationError(f"Nothing was learnt in {store.path} yet: python -m calibration fit WAREHOUSE")
    return snapshot


def _history(store: Store) -> dict[Group, list[Response]]:
    groups = by_group(store.history())
    if not groups:
        raise CalibrationError(
            f"{store.path} holds no answers of runs: python -m calibration fit WAREHOUSE adds them"
        )
    return groups


def _print_snapshot(snapshot: Snapshot, place: Path) -> None:
    print(
        f"Snapshot #{snapshot.number} of {place}, learnt {snapshot.created_at} ({snapshot.method}, alpha "
        f"{snapshot.alpha:g}). One correct answer of each task counts; {MINIMUM} make a threshold."
    )
    rows: Rows = [
        ("subtask", "model", "log-probs", "tokens", "threshold", "correct", "wrong", "unknown", "true rate", "")
    ]
    for item in snapshot.thresholds:
        rate = "{:.1%} to {:.1%}".format(*item.rates) if item.rates else "-"
        counts = (str(item.n_correct), str(item.n_incorrect), str(item.n_unknown))
        rows.append(
            (*item.group[:4], f"{item.tau:.4f}", *counts, rate, item.reason and f"fallback: {item.reason}")
        )
    _print_table(rows)


def _print_table(rows: Rows) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="python -m calibration", description=__doc__)
    commands = result.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str,
        run: Callable[[Options], None],
        about: str,
        store: Path | None = _STORE,
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        where = "default: calibration/store.sqlite beside the WareHouse"
        added.add_argument("--store", type=Path, metavar="FILE", default=store, help=where)
        added.set_defaults(run=run)
        return added

    learn = command("fit", _fit, "learn thresholds from the runs in a WareHouse", store=None)
    about = "for maintainers: add observed runs to the history shipped with the project, and learn from all of it"
    renew = commands.add_parser("ship", help=about, description=about)
    renew.add_argument("--folder", type=Path, default=FOLDER, help="default: %(default)s")
    renew.set_defaults(run=_ship)
    for learning in (learn, renew):
        learning.add_argument(
            "warehouses", nargs="+", type=Path, metavar="WAREHOUSE", help="a folder of product folders"
        )
        learning.add_argument(
            "--method", choices=METHODS, default="conformal", help="of the quantile (default: %(default)s)"
        )
        learning.add_argument(
            "--alpha",
            type=between(0, 1),
            default=0.1,
            help="share of correct answers that may trigger (default: %(default)s)",
        )
    learn.add_argument("--observed-only", action="store_true", help="leave out runs not made with --uq observe")
    show = command("show", _show, "the thresholds, and which subtasks lack how many answers")
    shown = show.add_mutually_exclusive_group()
    shown.add_argument("--shipped", action="store_true", help="those that come with the project")
    check = command("check", _check, "does u tell wrong answers from right ones?")
    check.add_argument("--plot", type=Path, metavar="PNG", help="also draw a reliability plot")
    command("drift", _drift, "have recent scores moved?")
    export = command("export", _export, "write a snapshot as JSON")
    for pinned in (shown, check, export):
        pinned.add_argument("--snapshot", type=int, metavar="NUMBER", help="default: the newest")
    for exchange in (export, command("import", _import, "add a snapshot from JSON")):
        exchange.add_argument("file", type=Path)
    return result


if __name__ == "__main__":
    sys.exit(main())
