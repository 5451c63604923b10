"""Phases as data: what a phase reads before its conversation and what becomes of its conclusion."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TABLE = Path(__file__).with_name("phases.toml")


@dataclass(frozen=True)
class Phase:
    """One phase. The defaults are the general phase, which a name that only the user's company knows gets."""

    name: str
    prepare: str = ""
    writes: str = "conclusion"
    keeps: str = ""
    reflection: str = "What was decided? Answer in one sentence."
    form: str = ""
    adds: Sequence[str] = ()
    max_tokens: int = 2048
    temperature: float = 0.2


@dataclass(frozen=True)
class Loop:
    """A composed phase: `ends` names the condition that ends it before its last cycle."""

    name: str
    ends: str = ""


@cache
def _table() -> dict[str, dict[str, dict[str, Any]]]:
    table: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return table


def phase_named(name: str) -> Phase:
    return Phase(name, **_table()["phase"].get(name, {}))


def loop_named(name: str) -> Loop:
    return Loop(name, **_table()["loop"].get(name, {}))
