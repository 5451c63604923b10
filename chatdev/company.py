"""A company: who talks to whom, in what order, with what prompt, read from ChatDev 1.x files.

A company is a folder with any of `ChatChainConfig.json`, `PhaseConfig.json`, `RoleConfig.json` and
`UncertaintyConfig.json`; a file it lacks is taken whole from the folder `Default` beside it, then from
the project's own Default. Everything wrong with a company is found while it is read, all at once, each
with file, line and key, before a model is asked anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from chatdev.positions import Malformed, parse_json
from chatdev.sheet import Problem as Problem
from chatdev.sheet import Sheet
from uq.policy import PolicyError, policy_from

PROJECT = Path(__file__).resolve().parent.parent
CHAIN, PHASES, ROLES, UNCERTAINTY = COMPANY_FILES = (
    "ChatChainConfig.json",
    "PhaseConfig.json",
    "RoleConfig.json",
    "UncertaintyConfig.json",
)
REFLECTION_ROLES = ("Chief Executive Officer", "Counselor")
DEFAULT_TURNS, MOST_TURNS = 10, 100

_TOP_KEYS = ("chain", "recruitments", "background_prompt", "brainstorming")
_PHASE_KEYS = ("assistant_role_name", "user_role_name", "phase_prompt")
_SIMPLE_KEYS = ("phase", "phaseType", "max_turn_step", "need_reflect")
_COMPOSED_KEYS = ("phase", "phaseType", "cycleNum", "Composition")


class CompanyError(Exception):
    """A company that cannot be used, and every reason why."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class Flags:
    """The switches of `ChatChainConfig.json`, with the values they have where the file is silent."""

    clear_structure: bool = True
    gui_design: bool = True
    git_management: bool = False
    web_spider: bool = False
    self_improve: bool = False
    incremental_develop: bool = False
    with_memory: bool = False


_FLAGS = tuple(flag.name for flag in fields(Flags))


@dataclass(frozen=True)
class SimpleEntry:
    """One conversation of the chain: at most `max_turns` turns, reflected upon if it settled nothing."""

    phase: str
    max_turns: int = DEFAULT_TURNS
    reflect: bool = False


@dataclass(frozen=True)
class ComposedEntry:
    """Conversations of the chain that are repeated in order, at most `cycles` times."""

    phase: str
    cycles: int
    composition: tuple[SimpleEntry, ...]


ChainEntry = SimpleEntry | ComposedEntry


@dataclass(frozen=True)
class PhasePrompt:
    """Who speaks in a phase, and the prompt the user role opens it with."""

    name: str
    assistant_role: str
    user_role: str
    lines: tuple[str, ...]

    def text(self, composed: bool) -> str:
        """The prompt, unfilled; as in ChatDev 1.x, blank lines part its lines, except when composed."""
        return ("\n" if composed else "\n\n").join(self.lines)


@dataclass(frozen=True)
class RolePrompt:
    """What a role is told about itself."""

    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Company:
    """A company whose chain, prompts and roles fit together; `sources` maps file names to the files read."""

    name: str
    folder: Path
    flags: Flags
    background_prompt: str
    recruitments: tuple[str, ...]
    chain: tuple[ChainEntry, ...]
    phases: Mapping[str, PhasePrompt]
    roles: Mapping[str, RolePrompt]
    uncertainty: dict[str, Any]
    sources: Mapping[str, Path]
    warnings: tuple[Problem, ...]


def load_company(config: str, root: Path) -> Company:
    """Read a company: a folder of `root`/CompanyConfig by its name in any case, or any folder by its path.

    Raises `CompanyError` with all that is wrong with it.
    """
    return _load(_find(config, root), root)


def examine_folder(path: Path, root: Path = PROJECT) -> tuple[list[Problem], list[Problem]]:
    """What is wrong with the company in `path`, or with each right below it; and what is only odd in others."""
    candidates = [path] if _is_company(path) else path.iterdir() if path.is_dir() else ()
    folders = [folder for folder in candidates if _is_company(folder)]
    if not folders:
        return [Problem(path, 0, "", f"no company here: no folder with one of {', '.join(COMPANY_FILES)}")], []
    problems: set[Problem] = set()
    warnings: set[Problem] = set()
    for folder in folders:
        try:
            warnings.update(_load(folder, root).warnings)
        except CompanyError as error:
            problems.update(error.problems)
    return sorted(problems), sorted(warnings)


def fill(template: str, values: Mapping[str, object]) -> str:
    """`template` with each `{name}` that `values` knows replaced; every other brace stays as it is."""
    return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), template)


def role_prompt(company: Company, role: str, values: Mapping[str, object]) -> str:
    """The filled system prompt of `role`, which is found whatever its case, spaces and underscores.

    `{chatdev_prompt}` is the company's background prompt. Raises `KeyError` for a role nobody wrote.
    """
    for name, prompt in company.roles.items():
        if _plain(name) == _plain(role):
            return fill("\n".join(prompt.lines), {"chatdev_prompt": company.background_prompt, **values})
    raise KeyError(f"no role {role!r}; {company.sources[ROLES]} has {', '.join(company.roles)}")


def _plain(role: str) -> str:
    return role.replace(" ", "").replace("_", "").lower()


def _is_company(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in COMPANY_FILES)


def _find(config: str, root: Path) -> Path:
    home, wanted = root / "CompanyConfig", config.strip()
    folders = sorted(home.iterdir()) if home.is_dir() else []
    companies = {folder.name: folder for folder in folders if _is_company(folder)}
    if wanted in companies:
        return companies[wanted]
    for name, folder in companies.items():
        if name.lower() == wanted.lower():
            return folder
    folder = Path(os.path.expanduser(wanted))
    if wanted and _is_company(folder):
        return folder
    known = ", ".join(companies) or "none"
    raise CompanyError(
        [Problem(home, 0, "", f"no company {config!r}, nor a folder of company files; there are: {known}")]
    )


def _load(folder: Path, root: Path) -> Company:
    places = (folder, folder.parent / "Default", root / "CompanyConfig" / "Default")
    problems: list[Problem] = []
    warnings: list[Problem] = []
    sheets = {name: _open(name, places, problems, warnings) for name in COMPANY_FILES}
    # Where a file cannot be read, what the others say of it would be a false alarm.
    if problems:
        raise CompanyError(sorted(problems))
    sheet, table, roles = sheets[CHAIN], sheets[CHAIN].table, _roles(sheets[ROLES])
    sheet.warn_unknown(table, "", (*_TOP_KEYS, *_FLAGS))
    company = Company(
        name=folder.resolve().name,
        folder=folder,
        flags=Flags(**{name: sheet.flag(table, "", name, getattr(Flags, name)) for name in _FLAGS}),
        background_prompt=sheet.get(table, "", "background_prompt", ""),
        recruitments=sheet.strings(sheet.get(table, "", "recruitments", list(roles)), "recruitments"),
        chain=_chain(sheet),
        phases=_phases(sheets[PHASES]),
        roles=roles,
        uncertainty=sheets[UNCERTAINTY].table,
        sources={name: sheet.path for name, sheet in sheets.items() if sheet.path.is_file()},
        warnings=tuple(warnings),
    )
    _check(company, sheets[CHAIN], sheets[PHASES])
    _check_policy(sheets[UNCERTAINTY])
    if problems:
        raise CompanyError(sorted(problems))
    return company


def _open(name: str, places: Sequence[Path], problems: list[Problem], warnings: list[Problem]) -> Sheet:
    paths = [place / name for place in places]
    path = next((path for path in paths if os.path.lexists(path)), paths[0])
    sheet = Sheet(path, problems, warnings)
    try:
        sheet.hold(parse_json(path.read_bytes()))
    except Malformed as error:
        problems.append(Problem(path, error.line, error.key, str(error)))
    except FileNotFoundError:
        if name != UNCERTAINTY:
            problems.append(Problem(path, 0, "", "is missing, and Default has none either"))
    except OSError as error:
        problems.append(Problem(path, 0, "", f"cannot be read: {error.strerror}"))
    return sheet


def _roles(sheet: Sheet) -> dict[str, RolePrompt]:
    return {
        name: RolePrompt(name, sheet.prompt(sheet.typed(lines, name, []), name))
        for name, lines in sheet.table.items()
    }


def _phases(sheet: Sheet) -> dict[str, PhasePrompt]:
    phases = {}
    for name, value in sheet.table.items():
        table = sheet.typed(value, name, {})
        sheet.warn_unknown(table, name, _PHASE_KEYS)
        phases[name] = PhasePrompt(
            name=name,
            assistant_role=sheet.require(table, name, "assistant_role_name", ""),
            user_role=sheet.require(table, name, "user_role_name", ""),
            lines=sheet.prompt(sheet.require(table, name, "phase_prompt", []), f"{name}.phase_prompt"),
        )
    return phases


def _chain(sheet: Sheet) -> tuple[ChainEntry, ...]:
    items = sheet.require(sheet.table, "", "chain", [])
    return tuple(_entry(sheet, item, f"chain[{index}]") for index, item in enumerate(items))


def _entry(sheet: Sheet, value: Any, key: str) -> ChainEntry:
    table = sheet.typed(value, key, {})
    if table.get("phaseType") != "ComposedPhase":
        return _simple(sheet, value, key, "SimplePhase or ComposedPhase")
    sheet.warn_unknown(table, key, _COMPOSED_KEYS)
    phase = sheet.require(table, key, "phase", "")
    cycles = sheet.require(table, key, "cycleNum", 1)
    if cycles < 1:
        sheet.wrong(f"{key}.cycleNum", f"must be at least 1, not {cycles}")
    members = sheet.require(table, key, "Composition", [])
    wanted = "SimplePhase: a composed phase cannot hold another"
    composition = (
        _simple(sheet, member, f"{key}.Composition[{index}]", wanted) for index, member in enumerate(members)
    )
    return ComposedEntry(phase, cycles, tuple(composition))


def _simple(sheet: Sheet, value: Any, key: str, wanted: str) -> SimpleEntry:
    table = sheet.typed(value, key, {})
    kind = sheet.require(table, key, "phaseType", "")
    if kind != "SimplePhase":
        sheet.wrong(f"{key}.phaseType", f"must be {wanted}")
        return SimpleEntry("")
    sheet.warn_unknown(table, key, _SIMPLE_KEYS)
    turns = sheet.get(table, key, "max_turn_step", DEFAULT_TURNS)
    if turns > MOST_TURNS:
        sheet.wrong(f"{key}.max_turn_step", f"must be at most {MOST_TURNS}, not {turns}")
    return SimpleEntry(
        phase=sheet.require(table, key, "phase", ""),
        max_turns=turns if turns > 0 else DEFAULT_TURNS,
        reflect=sheet.flag(table, key, "need_reflect", False),
    )


def _check(company: Company, chain: Sheet, phases: Sheet) -> None:
    """Note each phase of the chain that has no prompt, and each role that is to speak but cannot."""
    for index, role in enumerate(company.recruitments):
        _check_roles(company, chain, f"recruitments[{index}]", role)
    for key, entry in _simple_entries(company.chain):
        if entry.reflect:
            _check_roles(company, chain, f"{key}.need_reflect", *REFLECTION_ROLES)
        if prompt := company.phases.get(entry.phase):
            _check_roles(company, phases, f"{entry.phase}.assistant_role_name", prompt.assistant_role)
            _check_roles(company, phases, f"{entry.phase}.user_role_name", prompt.user_role)
        elif entry.phase:
            chain.wrong(f"{key}.phase", f"nobody wrote a prompt for {entry.phase!r} in {phases.path}")


def _check_policy(sheet: Sheet) -> None:
    try:
        policy_from(sheet.table)
    except PolicyError as error:
        sheet.wrong(error.key, error.complaint)


def _check_roles(company: Company, sheet: Sheet, key: str, *roles: str) -> None:
    written = {_plain(role) for role in company.roles}
    recruited = {_plain(role) for role in company.recruitments}
    if unwritten := [role for role in roles if _plain(role) not in written]:
        sheet.wrong(key, f"nobody wrote the role {' or '.join(unwritten)} in {company.sources[ROLES]}")
    elif idle := [role for role in roles if _plain(role) not in recruited]:
        sheet.wrong(key, f"speaks here without being in recruitments: {', '.join(idle)}")


def _simple_entries(chain: Sequence[ChainEntry]) -> Iterator[tuple[str, SimpleEntry]]:
    for index, entry in enumerate(chain):
        if isinstance(entry, SimpleEntry):
            yield f"chain[{index}]", entry
        else:
            for place, member in enumerate(entry.composition):
                yield f"chain[{index}].Composition[{place}]", member
