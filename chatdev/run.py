"""One run from beginning to end, or from where it was stopped to its end."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import sandbox
from calibration import CalibrationError
from calibration.snapshot import Snapshot
from calibration.store import open_store
from camel.models.model import Model, ModelUnusable
from camel.models.open import open_model
from chatdev import given, product
from chatdev.additions import with_additions
from chatdev.asking import Asker
from chatdev.chain import ChatChain
from chatdev.chat_log import ChatLog
from chatdev.company import PROJECT, Company, CompanyError, load_company
from chatdev.environment import Environment
from chatdev.images import Painter, placeholder, server_painter
from chatdev.memory import STORE, recall, remember
from chatdev.progress import Progress
from chatdev.settings import Settings
from chatdev.summary import summary
from chatdev.uncertainty import uncertainty_hook
from chatdev.user_phases import Phase, UserPhaseError, load_user_phases
from chatdev.version_control import History
from chatdev.workspace import Workspace
from journal import Event, Journal, JournalError, read
from journal.events import (
    Drawn,
    FilesChanged,
    Interrupted,
    Learnt,
    Noted,
    RolledBack,
    RunEnded,
    RunStarted,
    digest,
)
from journal.journal import FILE_NAME
from uq.gate import GateStopped

COMPLETE, BAD_ARGUMENTS, MODEL_UNUSABLE, INCOMPLETE, INTERRUPTED = 0, 2, 3, 4, 130


LookUp = Callable[[str], str]
"""Gives what the web says about a task, in a few sentences."""


class BadArguments(Exception):
    """What was asked for cannot be done; the message says what to change."""


@dataclass(frozen=True)
class _Means:
    """What a run works with beside its company."""

    model: Model
    snapshot: Snapshot | None
    user_phases: Mapping[str, Phase]
    painter: Painter
    look_up: LookUp | None


def start(settings: Settings, warehouse: Path, look_up: LookUp | None = None) -> int:
    """Run the company on a task. Returns the exit code; nothing is made when the arguments are bad.

    `look_up` is asked about the task where the company has `web_spider` on.
    """
    company = _company(settings.config)
    user_phases = _user_phases(company)
    _check(settings, company)
    snapshot = _snapshot(settings)
    model = open_model(settings.model, base_url=settings.base_url)
    try:
        means = _Means(model, snapshot, user_phases, _painter(settings), look_up)
        name = product.safe_name(settings.name, "Product")
        organization = product.safe_name(settings.organization, "Organization")
        if (name, organization) != (settings.name, settings.organization):
            _say(f"The product folder is named {name}_{organization}: no file system takes every name.")
        try:
            folder, stamp = product.create_folder(warehouse, name, organization)
            product.copy_company(company, folder)
            (folder / f"{name}.prompt").write_text(settings.task, encoding="utf-8", newline="\n")
            if company.flags.incremental_develop:
                for left_out in given.keep_copy(Path(settings.path), folder):
                    _say(f"Left out of {settings.path}: {left_out}")
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
        return _run(folder, journal, started, company, settings, means)
    finally:
        model.close()


def resume(folder: Path, *, allow_unsandboxed: bool = False, look_up: LookUp | None = None) -> int:
    """Go on with the stopped run in `folder`: replay what its journal holds, then go on live."""
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
    settings = Settings(
        **{**started.settings, "allow_unsandboxed": allow_unsandboxed or recorded.allow_unsandboxed}
    )
    company = _company(str(folder))
    user_phases = _user_phases(company)
    _check(settings, None)
    pinned = started.thresholds_snapshot
    snapshot = None if pinned is None else _snapshot(settings, pinned)
    model = open_model(settings.model, base_url=settings.base_url)
    try:
        means = _Means(model, snapshot, user_phases, _painter(settings), look_up)
        if model.name != started.model:
            raise BadArguments(f"{path} was made with the model {started.model}, not with {model.name}.")
        journal = Journal.resume(path)
        product.remove_written(folder, _written(events))
        return _run(folder, journal, started, company, settings, means)
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
    means: _Means,
) -> int:
    chain = _chain(folder, journal, company, settings, means)
    events: list[Event] = []
    log = ChatLog(folder / f"{started.product}_{started.organization}_{started.stamp}.log", company)
    progress = Progress(sys.stderr)
    journal.listeners += [lambda event, replayed: events.append(event), log, progress]
    if company.flags.git_management:
        journal.listeners.append(History(folder, sys.stderr))
    try:
        journal.append(started)
        for warning in company.warnings:
            journal.append(Noted("", str(warning)))
        _look_around(chain, folder.parent, means)
        chain.run()
        code = _end(chain, events)
        if company.flags.with_memory:
            remember(folder.parent / STORE, events)
        progress.close()
        print(summary(events, folder), flush=True)
        return code
    except KeyboardInterrupt:
        return _stopped(journal, progress, folder, "interrupted", INTERRUPTED)
    except UserPhaseError as error:
        return _stopped(journal, progress, folder, str(error), BAD_ARGUMENTS)
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


def _chain(folder: Path, journal: Journal, company: Company, settings: Settings, means: _Means) -> ChatChain:
    environment = Environment(
        task=settings.task,
        workspace=Workspace(folder, adopt=False),
        gui_design=company.flags.gui_design,
    )
    if company.flags.incremental_develop:
        environment.given = given.take_over(folder, environment.workspace)
    hooks = []
    if settings.uq != "off":
        mode = _mode(settings, company)
        hooks.append(uncertainty_hook(company.uncertainty, mode, journal, means.snapshot))
    return ChatChain(
        company,
        environment,
        Asker(means.model, journal, seed=settings.seed),
        journal,
        hooks,
        isolated=not settings.allow_unsandboxed,
        own_phases=means.user_phases,
        painter=means.painter,
    )


def _look_around(chain: ChatChain, warehouse: Path, means: _Means) -> None:
    """What the run knows before it begins: what was learnt here and elsewhere."""
    journal, environment, flags = chain.journal, chain.environment, chain.company.flags
    if flags.with_memory:
        environment.lessons = _learn(journal, "memory", environment.task, partial(recall, warehouse / STORE))
    if flags.web_spider and means.look_up:
        environment.description = _learn(journal, "web", environment.task, means.look_up)
    elif flags.web_spider:
        journal.append(Noted("", "web_spider is on, but there is nothing here to search the web with"))
    if means.snapshot and (nothing_learnt := means.snapshot.lacks(means.model.name)):
        journal.append(Noted("", nothing_learnt))


def _end(chain: ChatChain, events: Sequence[Event]) -> int:
    """Write down how it ended. Returns the exit code."""
    environment, asker = chain.environment, chain.asker
    workspace, verdict = environment.workspace, environment.verdict
    version = float(sum(isinstance(event, FilesChanged) and bool(event.diffs) for event in events))
    product.write_meta(workspace.root, chain.company, environment, version)
    done = verdict is not None and verdict.works
    if environment.given and environment.given.unchanged(workspace.files()):
        chain.journal.append(Noted("", "Nothing was changed: the product is the given code."))
        done = False
    code = COMPLETE if done else INCOMPLETE
    totals = {"calls": asker.calls, **asdict(asker.usage), "seconds": round(asker.seconds, 3)}
    chain.journal.append(RunEnded(code, verdict.to_json() if verdict else {}, totals))
    return code


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
        return with_additions(load_company(config, PROJECT), PROJECT)
    except CompanyError as error:
        raise BadArguments(str(error)) from error


def _painter(settings: Settings) -> Painter:
    return server_painter(settings.image_url) if settings.image_url else placeholder


def _user_phases(company: Company) -> Mapping[str, Phase]:
    try:
        return load_user_phases(company)
    except UserPhaseError as error:
        raise BadArguments(str(error)) from error


def _check(settings: Settings, company: Company | None) -> None:
    """Find what makes the run impossible before anything is made or asked. Raises BadArguments.

    Without `company` the run has begun before: the given code is in the product already.
    """
    if not settings.task.strip():
        raise BadArguments("The task is empty; say with --task what is to be built.")
    if company is not None:
        _check_path(settings.path, company)
    if settings.allow_unsandboxed:
        _say("Warning: generated programs run WITHOUT a sandbox, with your rights, on your files.")
    elif missing := sandbox.available():
        raise BadArguments(
            f"The sandbox cannot start: {missing.reason} "
            "Generated programs are not run without it; --allow-unsandboxed runs them all the same."
        )


def _check_path(path: str, company: Company) -> None:
    if path and not Path(path).is_dir():
        raise BadArguments(f"--path {path}: there is no such folder.")
    if not company.flags.incremental_develop:
        if path:
            _say(f"Warning: --path is not used: {company.name} does not work on given code, as Incremental does.")
    elif not path:
        raise BadArguments(f"{company.name} works on code that is there: say with --path where it is.")
    elif not given.holds_code(Path(path)):
        raise BadArguments(f"--path {path}: there is no file in it that could be worked on.")


def _snapshot(settings: Settings, number: int | None = None) -> Snapshot | None:
    """The learnt thresholds of this number, or the newest, where there are any. Raises BadArguments."""
    if settings.uq == "off" or not settings.store:
        return None
    try:
        with open_store(Path(settings.store)) as store:
            return store.snapshot(number)
    except CalibrationError as error:
        raise BadArguments(str(error)) from error


def _learn(journal: Journal, source: str, task: str, look_up: LookUp) -> str:
    """What `look_up` finds about the task; a resumed run knows what it found the first time."""
    key = digest(source, task)
    learnt = journal.recall(Learnt, key)
    if learnt is None:
        learnt = Learnt(key, source, look_up(task))
        journal.append(learnt)
    return learnt.text


def _mode(settings: Settings, company: Company) -> str:
    """What the command line says; its `on` leaves it to the company, which may ask to be observed only."""
    return "observe" if settings.uq == "observe" else str(company.uncertainty.get("mode", "act"))


def _written(events: Sequence[Event]) -> list[str]:
    drawn = [event.path for event in events if isinstance(event, Drawn)]
    changes = (event for event in events if isinstance(event, (FilesChanged, RolledBack)))
    return [*drawn, *(path for change in changes for path in change.diffs)]


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
