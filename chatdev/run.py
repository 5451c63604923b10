"""One run from beginning to end, or from where it was stopped to its end."""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from calibration.snapshot import Snapshot
from camel.models.model import Model, ModelUnusable
from camel.models.open import open_model
from chatdev import given, product
from chatdev.asking import Asker
from chatdev.chain import ChatChain
from chatdev.chat_log import ChatLog
from chatdev.company import Company
from chatdev.deliberation import hassum_hook
from chatdev.drafts import POLICIES, drafting_hook
from chatdev.environment import Environment
from chatdev.handoff import Hook
from chatdev.images import Painter
from chatdev.looking_up import Library, topic_of
from chatdev.memory import STORE, recall, remember
from chatdev.preparation import (
    BadArguments,
    check_settings,
    company_of,
    painter_of,
    retriever_of,
    say,
    snapshot_of,
    user_phases_of,
)
from chatdev.progress import Progress
from chatdev.settings import Settings
from chatdev.summary import summary
from chatdev.uncertainty import uncertainty_hook
from chatdev.user_phases import Phase, UserPhaseError
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
from retrieval import CacheMiss, Retriever
from uq.gate import GateStopped
from uq.scores import Unavailable

COMPLETE, BAD_ARGUMENTS, MODEL_UNUSABLE, INCOMPLETE, INTERRUPTED = 0, 2, 3, 4, 130


@dataclass(frozen=True)
class _Means:
    """What a run works with beside its company."""

    model: Model
    snapshot: Snapshot | None
    user_phases: Mapping[str, Phase]
    painter: Painter
    retriever: Retriever | None


def start(settings: Settings, warehouse: Path) -> int:
    """Run the company on a task. Returns the exit code; nothing is made when the arguments are bad."""
    company = company_of(settings.config)
    user_phases = user_phases_of(company)
    check_settings(settings, company)
    retriever = retriever_of(settings)
    model = open_model(settings.model, base_url=settings.base_url, quantize=settings.quantize)
    try:
        snapshot = snapshot_of(settings, model)
        means = _Means(model, snapshot, user_phases, painter_of(settings), retriever)
        name = product.safe_name(settings.name, "Product")
        organization = product.safe_name(settings.organization, "Organization")
        if (name, organization) != (settings.name, settings.organization):
            say(f"The product folder is named {name}_{organization}: no file system takes every name.")
        try:
            folder, stamp = product.create_folder(warehouse.resolve(), name, organization)
            product.copy_company(company, folder)
            (folder / f"{name}.prompt").write_text(settings.task, encoding="utf-8", newline="\n")
            if company.flags.incremental_develop:
                for left_out in given.keep_copy(Path(settings.path), folder):
                    say(f"Left out of {settings.path}: {left_out}")
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


def resume(folder: Path, *, allow_unsandboxed: bool = False, base_url: str | None = None) -> int:
    """Go on with the stopped run in `folder`: replay what its journal holds, then go on live.

    `base_url` is where the server stands now, should it have moved.
    """
    folder = folder.resolve()  # "." has no parent to be seen
    path = folder / FILE_NAME
    try:
        events = read(path)
    except JournalError as error:
        raise BadArguments(str(error)) from error
    started = events[0]
    assert isinstance(started, RunStarted)
    if isinstance(events[-1], RunEnded):
        say(f"This run has ended already: {folder}")
        return events[-1].exit_code
    try:
        recorded = Settings(**started.settings)
    except TypeError as error:
        raise BadArguments(f"{path} was written by another version of this program; start anew.") from error
    settings = replace(
        recorded,
        allow_unsandboxed=allow_unsandboxed or recorded.allow_unsandboxed,
        base_url=base_url or recorded.base_url,
    )
    company = company_of(str(folder))
    user_phases = user_phases_of(company)
    check_settings(settings, None)
    if company.flags.incremental_develop and not (folder / given.base_of(folder)).is_dir():
        raise BadArguments(f"{folder}: the copy of the given code is gone; put {given.base_of(folder)} back.")
    retriever = retriever_of(settings)
    model = open_model(settings.model, base_url=settings.base_url, quantize=settings.quantize)
    try:
        pinned = started.thresholds_snapshot
        snapshot = None if pinned is None else snapshot_of(settings, model, pinned)
        means = _Means(model, snapshot, user_phases, painter_of(settings), retriever)
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
    environment = Environment(
        task=settings.task,
        workspace=Workspace(folder),
        gui_design=company.flags.gui_design,
    )
    library = Library(means.retriever, environment, journal) if means.retriever else None
    chain = _chain(environment, journal, company, settings, means, library)
    events: list[Event] = []
    log = ChatLog(folder / f"{started.product}_{started.organization}_{started.stamp}.log", company)
    progress = Progress(sys.stderr)
    journal.listeners += [lambda event, replayed: events.append(event), log, progress]
    try:
        journal.append(started)
        if company.flags.incremental_develop:
            environment.given = given.take_over(folder, environment.workspace)
        if company.flags.git_management:
            kept = [environment.given.base] if environment.given else []
            journal.listeners.append(History(folder, kept, sys.stderr))
        for warning in company.warnings:
            journal.append(Noted("", str(warning)))
        _look_around(chain, folder.parent, library)
        if means.snapshot and (nothing_learnt := means.snapshot.lacks(means.model.name)):
            journal.append(Noted("", nothing_learnt))
        chain.run()
        code = _end(chain, events)
        if company.flags.with_memory:
            _remember(folder.parent / STORE, events)
        progress.close()
        print(summary(events, folder), flush=True)
        return code
    except KeyboardInterrupt:
        return _stopped(journal, progress, folder, "interrupted", INTERRUPTED)
    except (UserPhaseError, CacheMiss) as error:
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


def _chain(
    environment: Environment,
    journal: Journal,
    company: Company,
    settings: Settings,
    means: _Means,
    library: Library | None,
) -> ChatChain:
    asker = Asker(means.model, journal, seed=settings.seed)
    return ChatChain(
        company,
        environment,
        asker,
        journal,
        _hooks(settings, company, asker, means.snapshot, library),
        isolated=not settings.allow_unsandboxed,
        own_phases=means.user_phases,
        painter=means.painter,
    )


def _hooks(
    settings: Settings, company: Company, asker: Asker, snapshot: Snapshot | None, library: Library | None
) -> list[Hook]:
    """The hooks of the policy that `settings` names."""
    journal, policy = asker.journal, settings.uq
    if policy == "off":
        return []
    if policy == "hassum":
        return [hassum_hook(company.uncertainty, journal, snapshot)]
    # The command line leaves it to the company, which may ask to be observed only.
    mode = "observe" if policy == "observe" else str(company.uncertainty.get("mode", "act"))
    gate = uncertainty_hook(company.uncertainty, mode, journal, snapshot, library)
    if policy not in POLICIES or mode == "observe":
        return [gate]

    def left() -> int:
        return max(0, settings.budget - asker.usage.total_tokens)

    return [gate, drafting_hook(journal, POLICIES[policy], left=left)]


def _look_around(chain: ChatChain, warehouse: Path, library: Library | None) -> None:
    """What the run knows before it begins: what was learnt here, and what others say."""
    journal, environment, flags = chain.journal, chain.environment, chain.company.flags
    if flags.with_memory:
        environment.lessons = _lessons(journal, warehouse / STORE, environment.task)
    if flags.web_spider:
        found = library.consult(topic_of(environment.task)) if library else Unavailable("off")
        if isinstance(found, Unavailable):
            journal.append(Noted("", f"web_spider is on, but nothing was found ({found.detail or found.reason})"))
        else:
            environment.description = found


def _lessons(journal: Journal, store: Path, task: str) -> str:
    """What similar products taught; a resumed run knows what it knew the first time."""
    key = digest("memory", task)
    learnt = journal.recall(Learnt, key)
    if learnt is None:
        learnt = Learnt(key, _recalled(store, task))
        journal.append(learnt)
    return learnt.text


def _recalled(store: Path, task: str) -> str:
    try:
        return recall(store, task)
    except OSError as error:
        say(f"with_memory is on, but {store} cannot be read ({error.strerror}).")
        return ""


def _remember(store: Path, events: Sequence[Event]) -> None:
    """Write down what the run taught. It has ended, and it has not failed where that cannot be done."""
    try:
        remember(store, events)
    except OSError as error:
        say(f"with_memory is on, but {store} cannot be written ({error.strerror}).")


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
        say(f"The journal could not be closed properly ({error.strerror}); it can be resumed all the same.")
    say(f"Stopped: {reason}")
    say(f"Nothing is lost. Go on with: python run.py --resume {str(folder)!r}")
    return code


def _written(events: Sequence[Event]) -> list[str]:
    drawn = [event.path for event in events if isinstance(event, Drawn)]
    changes = (event for event in events if isinstance(event, (FilesChanged, RolledBack)))
    return [*drawn, *(path for change in changes for path in change.diffs)]
