"""One run from beginning to end, or from where it was stopped to its end."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import sandbox
from calibration import CalibrationError, shipped
from calibration.snapshot import Snapshot
from calibration.store import open_store
from camel.models.fetch import cache_directory
from camel.models.model import Model, ModelUnusable
from camel.models.open import open_model
from chatdev import product
from chatdev.asking import Asker
from chatdev.chain import ChatChain
from chatdev.chat_log import ChatLog
from chatdev.company import PROJECT, Company, CompanyError, load_company
from chatdev.deliberation import hassum_hook
from chatdev.drafts import DOUBTS, drafting_hook, within
from chatdev.environment import Environment
from chatdev.handoff import Hook
from chatdev.looking_up import Library
from chatdev.progress import Progress
from chatdev.settings import RETRIEVAL_OFF, Settings
from chatdev.summary import summary
from chatdev.uncertainty import uncertainty_hook
from chatdev.workspace import Workspace
from journal import Event, Journal, JournalError, read
from journal.events import (
    FilesChanged,
    Interrupted,
    Noted,
    RolledBack,
    RunEnded,
    RunStarted,
)
from journal.journal import FILE_NAME
from retrieval import Cache, Retriever, open_retriever
from uq.gate import GateStopped

COMPLETE, BAD_ARGUMENTS, MODEL_UNUSABLE, INCOMPLETE, INTERRUPTED = 0, 2, 3, 4, 130


class BadArguments(Exception):
    """What was asked for cannot be done; the message says what to change."""


def start(settings: Settings, warehouse: Path) -> int:
    """Run the company on a task. Returns the exit code; nothing is made when the arguments are bad."""
    company = _company(settings.config)
    _check(settings)
    snapshot = _snapshot(settings)
    model = open_model(settings.model, base_url=settings.base_url, quantize=settings.quantize)
    try:
        snapshot = snapshot or _shipped(settings, model)
        name = product.safe_name(settings.name, "Product")
        organization = product.safe_name(settings.organization, "Organization")
        if (name, organization) != (settings.name, settings.organization):
            _say(f"The product folder is named {name}_{organization}: no file system takes every name.")
        try:
            folder, stamp = product.create_folder(warehouse, name, organization)
            product.copy_company(company, folder)
            (folder / f"{name}.prompt").write_text(settings.task, encoding="utf-8", newline="\n")
            journal = Journal(folder / FILE_NAME)
        except OSError as error:
            raise BadArguments(f"No product folder can be made in {warehouse}: {error.strerror}.") from error
        started = RunStarted(
            product=name,
            organization=organization,
            stamp=stamp,
            task=settings.task,
            settings=asdict(settings),
            model=model.name,
            thresholds_snapshot=snapshot.number if snapshot else None,
        )
        return _run(folder, journal, started, company, settings, model, snapshot)
    finally:
        model.close()


def resume(folder: Path, *, allow_unsandboxed: bool = False, base_url: str | None = None) -> int:
    """Go on with the stopped run in `folder`: replay what its journal holds, then go on live.

    `base_url` is where the server stands now, should it have moved.
    """
    path = folder / FILE_NAME
    try:
        events = read(path)
    except JournalError as error:
        raise BadArguments(str(error)) from error
    started = events[0]
    assert isinstance(started, RunStarted)
    if isinstance(events[-1], RunEnded):
        _say(f"This run has ended already: {folder}")
        return events[-1].exit_code
    recorded = Settings(**started.settings)
    settings = replace(
        recorded,
        allow_unsandboxed=allow_unsandboxed or recorded.allow_unsandboxed,
        base_url=base_url or recorded.base_url,
    )
    company = _company(str(folder))
    _check(settings)
    pinned = started.thresholds_snapshot
    snapshot = _snapshot(settings, pinned) if pinned else None
    model = open_model(settings.model, base_url=settings.base_url, quantize=settings.quantize)
    try:
        snapshot = _shipped(settings, model) if pinned == shipped.NUMBER else snapshot
        if model.name != started.model:
            raise BadArguments(f"{path} was made with the model {started.model}, not with {model.name}.")
        journal = Journal.resume(path)
        product.remove_written(folder, _written(events))
        return _run(folder, journal, started, company, settings, model, snapshot)
    except JournalError as error:
        raise BadArguments(str(error)) from error
    finally:
        model.close()


def _run(
    folder: Path,
    journal: Journal,
    started: RunStarted,
    company: Company,
    settings: Settings,
    model: Model,
    snapshot: Snapshot | None,
) -> int:
    environment = Environment(
        task=settings.task,
        workspace=Workspace(folder, adopt=False),
        gui_design=company.flags.gui_design,
    )
    asker = Asker(model, journal, seed=settings.seed)
    retriever = _retriever(settings)
    library = Library(retriever, environment, journal) if retriever else None
    hooks = _hooks(settings, company, asker, snapshot, library)
    chain = ChatChain(company, environment, asker, journal, hooks, isolated=not settings.allow_unsandboxed)
    events: list[Event] = []
    log = ChatLog(folder / f"{started.product}_{started.organization}_{started.stamp}.log", company)
    progress = Progress(sys.stderr)
    journal.listeners += [lambda event, replayed: events.append(event), log, progress]
    try:
        journal.append(started)
        for warning in company.warnings:
            journal.append(Noted("", str(warning)))
        if snapshot and (nothing_learnt := snapshot.lacks(model.name)):
            journal.append(Noted("", nothing_learnt))
        chain.run()
        version = float(sum(isinstance(event, FilesChanged) and bool(event.diffs) for event in events))
        product.write_meta(folder, company, environment, version)
        verdict = environment.verdict
        code = COMPLETE if verdict is not None and verdict.works else INCOMPLETE
        totals = {"calls": asker.calls, **asdict(asker.usage), "seconds": round(asker.seconds, 3)}
        journal.append(RunEnded(code, verdict.to_json() if verdict else {}, totals))
        progress.close()
        print(summary(events, folder), flush=True)
        return code
    except KeyboardInterrupt:
        return _stopped(journal, progress, folder, "interrupted", INTERRUPTED)
    except (ModelUnusable, GateStopped) as error:
        return _stopped(journal, progress, folder, str(error), MODEL_UNUSABLE)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
            raise
        return _stopped(journal, progress, folder, f"the disk refuses to be written: {error.strerror}", INCOMPLETE)
    finally:
        progress.close()
        log.close()
        journal.close()


def _hooks(
    settings: Settings, company: Company, asker: Asker, snapshot: Snapshot | None, library: Library | None
) -> list[Hook]:
    """What stands between two subtasks under the policy of `settings`."""
    journal = asker.journal
    if settings.uq == "off":
        return []
    if settings.uq == "hassum":
        return [hassum_hook(company.uncertainty, journal, snapshot)]
    gate = uncertainty_hook(company.uncertainty, _mode(settings, company), journal, snapshot, library)
    if settings.uq not in DOUBTS:
        return [gate]
    doubt = within(settings.budget, lambda: asker.usage.total_tokens, DOUBTS[settings.uq])
    return [gate, drafting_hook(journal, doubt)]


def _stopped(journal: Journal, progress: Progress, folder: Path, reason: str, code: int) -> int:
    progress.close()
    try:
        # A recorded past that was not walked through to its end still counts.
        if not journal.replaying:
            journal.append(Interrupted(reason))
    except OSError as error:
        _say(f"The journal could not be closed properly ({error.strerror}); it can be resumed all the same.")
    _say(f"Stopped: {reason}")
    _say(f"Nothing is lost. Go on with: python run.py --resume {str(folder)!r}")
    return code


def _company(config: str) -> Company:
    try:
        return load_company(config, PROJECT)
    except CompanyError as error:
        raise BadArguments(str(error)) from error


def _check(settings: Settings) -> None:
    """Find what makes the run impossible before anything is made or asked. Raises BadArguments."""
    if not settings.task.strip():
        raise BadArguments("The task is empty; say with --task what is to be built.")
    if settings.path and not Path(settings.path).is_dir():
        raise BadArguments(f"--path {settings.path}: there is no such folder.")
    for folder in settings.docs:
        if not Path(folder).is_dir():
            raise BadArguments(f"--docs {folder}: there is no such folder.")
    _retriever(settings)
    if settings.allow_unsandboxed:
        _say("Warning: generated programs run WITHOUT a sandbox, with your rights, on your files.")
    elif missing := sandbox.available():
        raise BadArguments(
            f"The sandbox cannot start: {missing.reason} "
            "Generated programs are not run without it; --allow-unsandboxed runs them all the same."
        )


def _snapshot(settings: Settings, number: int | None = None) -> Snapshot | None:
    """The learnt thresholds of this number, or the newest, where there are any. Raises BadArguments."""
    if settings.uq == "off" or not settings.store:
        return None
    try:
        with open_store(Path(settings.store)) as store:
            return store.snapshot(number)
    except CalibrationError as error:
        raise BadArguments(str(error)) from error


def _shipped(settings: Settings, model: Model) -> Snapshot | None:
    """The thresholds shipped for `model`, where there are any. Raises BadArguments."""
    try:
        return None if settings.uq == "off" else shipped.shipped_for(model.name)
    except CalibrationError as error:
        raise BadArguments(str(error)) from error


def _retriever(settings: Settings) -> Retriever | None:
    """Where things are looked up, None where they are not. Raises BadArguments."""
    if settings.retrieval == RETRIEVAL_OFF:
        return None
    try:
        cache = Cache(cache_directory() / "retrieval")
        return open_retriever(settings.retrieval, cache, [Path(folder) for folder in settings.docs])
    except ValueError as error:
        raise BadArguments(f"--retrieval {error}, or off.") from error


def _mode(settings: Settings, company: Company) -> str:
    """What the command line says; its `on` leaves it to the company, which may ask to be observed only."""
    return "observe" if settings.uq == "observe" else str(company.uncertainty.get("mode", "act"))


def _written(events: Sequence[Event]) -> list[str]:
    return [path for event in events if isinstance(event, (FilesChanged, RolledBack)) for path in event.diffs]


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
