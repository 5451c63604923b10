"""`python -m camel.models.serve MODEL`: an embedded model as a server that several runs share.

Prints one line of JSON, `name` and `url`, as soon as it answers; serves until its standard input is closed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from camel.models import verdicts
from camel.models.catalog import catalog
from camel.models.fetch import fetch
from camel.models.llama_cpp import LlamaCppModel
from camel.models.model import ModelUnusable

_ROOM = 8192  # tokens of the window for each conversation


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0, or 3 where the model cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m camel.models.serve", description=__doc__)
    parser.add_argument("model", help="a name of the catalog, or a .gguf file")
    parser.add_argument("--slots", type=int, default=4, help="conversations at once (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        model = _open(options.model, options.slots)
    except ModelUnusable as error:
        print(error, file=sys.stderr)
        return 3
    # Clients must know that its log-probs are raw, as it does itself.
    verdicts.remember(model.url, model.name, "raw")
    print(json.dumps({"name": model.name, "url": model.url}), flush=True)
    try:
        sys.stdin.read()
    finally:
        model.close()
    return 0


def _open(specification: str, slots: int) -> LlamaCppModel:
    entry = catalog().models.get(specification)
    if entry:
        window = max(entry.window, slots * _ROOM)
        return LlamaCppModel(fetch(entry), name=entry.name, window=window, slots=slots)
    return LlamaCppModel(Path(specification).expanduser(), window=slots * _ROOM, slots=slots)


if __name__ == "__main__":
    sys.exit(main())
