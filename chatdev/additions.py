"""Subtasks that a flag of a company asks for and that a chain written for ChatDev 1.x does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from chatdev.company import ChainEntry, Company, ComposedEntry, SimpleEntry, load_company

_CHANGE = ComposedEntry("Change", 3, (SimpleEntry("CodeChange", 1),))
_IMPROVE = SimpleEntry("SelfImprove", 1)


def with_additions(company: Company, root: Path) -> Company:
    """`company` with a subtask that changes the given code, and one that improves the task, where it wants them.

    Prompts and roles that it did not write are those of `root`/CompanyConfig/Default.
    """
    chain = company.chain
    if company.flags.incremental_develop:
        chain = _with_change(chain)
    if company.flags.self_improve and _IMPROVE.phase not in _names(chain):
        chain = (_IMPROVE, *chain)
    if chain == company.chain:
        return company
    default = load_company("Default", root)
    prompts = {name: default.phases[name] for name in _names((_CHANGE, _IMPROVE))}
    # The company's own come first: of two spellings of a role the first is found.
    missing = {name: role for name, role in default.roles.items() if name not in company.roles}
    return replace(company, chain=chain, phases={**prompts, **company.phases}, roles={**company.roles, **missing})


def _with_change(chain: tuple[ChainEntry, ...]) -> tuple[ChainEntry, ...]:
    """The change takes the place of Coding, which would begin anew, or comes before the first loop."""
    names = [entry.phase for entry in chain]
    if "CodeChange" in _names(chain):
        return chain
    if "Coding" in names:
        return tuple(_CHANGE if entry.phase == "Coding" else entry for entry in chain)
    first = next((place for place, entry in enumerate(chain) if isinstance(entry, ComposedEntry)), len(chain))
    return (*chain[:first], _CHANGE, *chain[first:])


def _names(chain: tuple[ChainEntry, ...]) -> list[str]:
    """The conversations of a chain by name."""
    return [member.phase for entry in chain for member in _conversations(entry)]


def _conversations(entry: ChainEntry) -> Iterator[SimpleEntry]:
    yield from entry.composition if isinstance(entry, ComposedEntry) else (entry,)
