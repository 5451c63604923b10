"""`python -m retrieval "query"`: what a doubtful agent would be shown."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import console
from retrieval.cache import MODES, Cache, CacheMiss
from retrieval.fencing import harmless
from retrieval.retriever import SOURCES, open_retriever

FOUND, NOTHING, BAD_ARGUMENTS = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the passages for a query. Returns 0 where there are any, 1 where not, 2 for bad arguments."""
    console.forgive()
    parser = argparse.ArgumentParser(
        prog="python -m retrieval",
        description="Look something up on the web or in the documentation on this machine.",
        epilog="exit codes: 0 something was found; 1 nothing; 2 bad arguments",
    )
    parser.add_argument("query")
    parser.add_argument(
        "--source", default="auto", help=f"{', '.join(SOURCES)}, or the URL of a SearXNG instance (default: auto)"
    )
    parser.add_argument(
        "--docs", type=Path, action="append", default=[], metavar="DIR", help="a folder of documentation, too"
    )
    parser.add_argument("--json", action="store_true", help="print all that is known, for programs")
    parser.add_argument(
        "--cache", type=Path, default=default_cache(), metavar="DIR", help="(default: %(default)s)"
    )
    parser.add_argument("--cache-mode", choices=MODES, default="live", help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    if missing := [folder for folder in options.docs if not folder.is_dir()]:
        parser.error(f"--docs {missing[0]}: there is no such folder")
    try:
        retriever = open_retriever(options.source, Cache(options.cache, options.cache_mode), options.docs)
        found = retriever.look_up(options.query)
    except (ValueError, CacheMiss) as error:
        parser.error(str(error))
    if options.json:
        print(json.dumps(asdict(found), indent=1))
        return FOUND if found.passages else NOTHING
    for step in found.steps:
        print(f"{step.asked}: {step.outcome}{f' ({step.detail})' if step.detail else ''}", file=sys.stderr)
    for passage in found.passages:
        print(harmless(f"\n== {passage.title}\n   {passage.url}\n\n{passage.text}"))
    return FOUND if found.passages else NOTHING


def default_cache() -> Path:
    """Where indexes and pages are kept where nobody says otherwise."""
    if chosen := os.environ.get("UA_CHATDEV_CACHE"):
        return Path(chosen).expanduser() / "retrieval"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ua-chatdev" / "retrieval"


if __name__ == "__main__":
    sys.exit(main())
