"""What must be right before a run begins, and what it is given to work with. Nothing is made here yet."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import sandbox
from calibration import CalibrationError, shipped
from calibration.snapshot import Snapshot
from calibration.store import open_store
from camel.models.fetch import cache_directory
from camel.models.model import Model
from chatdev import given
from chatdev.additions import with_additions
from chatdev.company import PROJECT, Company, CompanyError, load_company
from chatdev.images import Painter, placeholder, server_painter
from chatdev.settings import RETRIEVAL_OFF, Settings
from chatdev.user_phases import Phase, UserPhaseError, load_user_phases
from retrieval import Cache, Retriever, open_retriever


class BadArguments(Exception):
    """What was asked for cannot be done; the message says what to change."""


def say(sentence: str) -> None:
    """Tell the person who started the run."""
    print(sentence, file=sys.stderr, flush=True)


def company_of(config: str) -> Company:
    """The company with what its flags add. Raises BadArguments."""
    try:
        return with_additions(load_company(config, PROJECT), PROJECT)
    except CompanyError as error:
        raise BadArguments(str(error)) from error


def user_phases_of(company: Company) -> Mapping[str, Phase]:
    """The phases that the company's own phases.py defines. Raises BadArguments."""
    try:
        return load_user_phases(company)
    except UserPhaseError as error:
        raise BadArguments(str(error)) from error


def painter_of(settings: Settings) -> Painter:
    """Who draws pictures."""
    return server_painter(settings.image_url) if settings.image_url else placeholder


def retriever_of(settings: Settings) -> Retriever | None:
    """Where things are looked up, None where they are not. Raises BadArguments."""
    for folder in settings.docs:
        if not Path(folder).is_dir():
            raise BadArguments(f"--docs {folder}: there is no such folder.")
    if settings.retrieval == RETRIEVAL_OFF:
        return None
    try:
        cache = Cache(cache_directory() / "retrieval", settings.retrieval_cache)
        return open_retriever(settings.retrieval, cache, [Path(folder) for folder in settings.docs])
    except ValueError as error:
        raise BadArguments(f"--retrieval: {error}; off looks nothing up.") from error


def snapshot_of(settings: Settings, model: Model, number: int | None = None) -> Snapshot | None:
    """The learnt thresholds with this number, by default the newest, else those shipped for `model`.

    Raises BadArguments.
    """
    if settings.uq == "off":
        return None
    try:
        learnt = None
        if settings.store and number != shipped.NUMBER:
            with open_store(Path(settings.store)) as store:
                learnt = store.snapshot(number)
        found = learnt or shipped.shipped_for(model.name)
    except CalibrationError as error:
        raise BadArguments(str(error)) from error
    if found is None and number is not None:
        raise BadArguments("This run began with thresholds that are shipped no more. Start it anew.")
    return found


def check_settings(settings: Settings, company: Company | None) -> None:
    """Find what makes the run impossible. Raises BadArguments.

    Without `company` the run has begun before: the given code is in the product already.
    """
    if not settings.task.strip():
        raise BadArguments("The task is empty; say with --task what is to be built.")
    if company is not None:
        _check_path(settings.path, company)
    if settings.allow_unsandboxed:
        say("Warning: generated programs run WITHOUT a sandbox, with your rights, on your files.")
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
            say(f"Warning: --path is not used: {company.name} does not work on given code, as Incremental does.")
    elif not path:
        raise BadArguments(f"{company.name} works on code that is there: say with --path where it is.")
    elif not given.holds_code(Path(path)):
        raise BadArguments(f"--path {path}: there is no file in it that could be worked on.")
