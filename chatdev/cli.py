"""The command line: ChatDev 1.x's flags, and a few of our own."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import console
from arguments import at_least
from chatdev.settings import DEFAULT_MODEL, DEFAULT_TASK, UNCERTAINTY_MODES, RetrievalCache, Settings

PROJECT = Path(__file__).resolve().parent.parent

_DEFAULT = Settings()
_INTERRUPTED = 130

_DESCRIPTION = """\
A software company of language-model agents that knows how sure it is: it designs, writes, tests and
documents a program, measures the uncertainty of every answer handed on, and acts on the doubtful ones.
"""
_EPILOG = """\
examples:
  python run.py --task "A command-line to-do list kept in a JSON file" --name Todo --org Demo
  python run.py --task "A snake game" --name Snake --model openai:qwen2.5-coder --base-url http://127.0.0.1:8000/v1
  python run.py --resume WareHouse/Todo_Demo_20260101120000

exit codes: 0 product complete and running; 2 bad arguments or configuration; 3 the model cannot be used;
4 the product is incomplete or fails; 130 interrupted (go on with --resume)
"""


def parser() -> argparse.ArgumentParser:
    """The arguments of a run, in the order in which --help shows them."""
    result = argparse.ArgumentParser(
        prog="run.py",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_chatdev(result.add_argument_group("as in ChatDev 1.x"))
    own = result.add_argument_group("uncertainty and the run")
    for add in (_add_engines, _add_uncertainty, _add_looking_up, _add_run):
        add(own)
    return result


def _add_chatdev(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--task", type=_text, default=DEFAULT_TASK, help="what is to be built (default: %(default)s)"
    )
    group.add_argument(
        "--name", type=_text, default=_DEFAULT.name, help="the product's name (default: %(default)s)"
    )
    group.add_argument("--org", type=_text, default=_DEFAULT.organization, help="your organization's name")
    group.add_argument(
        "--config",
        default=_DEFAULT.config,
        help="a folder of CompanyConfig, in any case, or a path (default: %(default)s)",
    )
    group.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        help="qwen2.5-coder-1.5b (embedded, the default), qwen2.5-coder-0.5b, a .gguf file, openai:NAME with "
        "--base-url, hf:REPO_OR_FOLDER, scripted:FILE, or a ChatDev name such as GPT_4",
    )
    group.add_argument("--path", default="", help="a folder of code to work on (incremental companies)")


def _add_engines(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--base-url", help="an OpenAI-compatible server; the key comes from OPENAI_API_KEY")
    group.add_argument(
        "--quantize", action="store_true", help="hold the weights of an hf: model in 4 bits (needs bitsandbytes)"
    )
    group.add_argument(
        "--image-url",
        default="",
        help="an OpenAI-compatible image server (Art companies); without it pictures are placeholders drawn here",
    )


def _add_uncertainty(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--uq",
        choices=UNCERTAINTY_MODES,
        default="cascade",
        help="cascade: measure each handoff, act on doubtful answers, and where the first draft of the program "
        "gives a reason to, draw more, run them and put together what each got right (default); "
        "functional: draw more drafts wherever they can be run, and keep the one that most agree with; "
        "on: measure and act, without more drafts; observe: measure only; off: plain ChatDev; "
        "hassum: draw several answers of prose, and let the executive act where they disagree",
    )
    group.add_argument(
        "--store",
        type=Path,
        metavar="FILE",
        help="learnt thresholds (default: calibration/store.sqlite beside the warehouse, where there is one)",
    )


def _add_looking_up(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--retrieval",
        default=_DEFAULT.retrieval,
        metavar="SOURCE",
        help="where doubtful names are looked up: auto (the web, else the documentation on this machine), "
        "duckduckgo, ddgs, docs, the URL of a SearXNG instance, or off (default: %(default)s)",
    )
    group.add_argument(
        "--retrieval-cache",
        choices=get_args(RetrievalCache),
        default=_DEFAULT.retrieval_cache,
        help="live: what the web said within a day is not asked again; record: all is asked anew and kept; "
        "replay: nothing is asked, and what was not recorded ends the run; off: nothing is kept "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--docs",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of HTML, Markdown or text in which things are looked up, too",
    )


def _add_run(group: argparse._ArgumentGroup) -> None:
    # To llama.cpp -1 is a seed of its own choice: the run could not be repeated.
    group.add_argument(
        "--seed", type=at_least(0), default=_DEFAULT.seed, help="seed of the sampling (default: %(default)s)"
    )
    group.add_argument(
        "--budget",
        type=at_least(1),
        metavar="TOKENS",
        default=_DEFAULT.budget,
        help="functional and cascade draw no drafts that would cost more than this in all (default: %(default)s)",
    )
    group.add_argument("--resume", metavar="DIR", type=Path, help="go on with the stopped run in DIR")
    group.add_argument(
        "--allow-unsandboxed",
        action="store_true",
        help="run generated programs without a sandbox where none can be had; dangerous",
    )
    group.add_argument(
        "--warehouse", type=Path, default=PROJECT / "WareHouse", help="where products go (default: WareHouse)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    console.forgive()
    options = parser().parse_args(arguments)
    # Explicit for SIGINT too: a shell starts background jobs with it ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        return _run(options)
    except KeyboardInterrupt:
        return _refuse("interrupted before the run began", _INTERRUPTED)


def _run(options: argparse.Namespace) -> int:
    # The engine and the sandbox are imported only now, so that --help needs neither.
    from camel.models.model import ModelUnusable
    from chatdev.preparation import BadArguments
    from chatdev.run import BAD_ARGUMENTS, MODEL_UNUSABLE, resume, start

    try:
        if options.resume:
            return resume(options.resume, allow_unsandboxed=options.allow_unsandboxed, base_url=options.base_url)
        return start(settings_of(options), options.warehouse)
    except BadArguments as error:
        return _refuse(error, BAD_ARGUMENTS)
    except ModelUnusable as error:
        return _refuse(error, MODEL_UNUSABLE)


def settings_of(options: argparse.Namespace) -> Settings:
    """What the options of a new run say."""
    return Settings(
        task=options.task,
        name=options.name,
        organization=options.org,
        config=options.config,
        model=_absolute(options.model),
        base_url=options.base_url,
        quantize=options.quantize,
        image_url=options.image_url,
        path=str(Path(options.path).absolute()) if options.path else "",
        uq=options.uq,
        store=_store(options.store, options.warehouse),
        retrieval=options.retrieval,
        retrieval_cache=options.retrieval_cache,
        docs=[str(folder.absolute()) for folder in options.docs],
        seed=options.seed,
        budget=options.budget,
        allow_unsandboxed=options.allow_unsandboxed,
    )


def _text(argument: str) -> str:
    """What was typed, whatever the locale took its bytes for."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        raise argparse.ArgumentTypeError("is not text in UTF-8") from None


def _absolute(model: str) -> str:
    """A model given as a file, wherever a resumed run will be started from."""
    kind, colon, path = model.partition(":") if model.startswith(("scripted:", "hf:")) else ("", "", model)
    is_file = kind == "scripted" or ((colon or path.endswith(".gguf")) and Path(path).exists())
    return f"{kind}{colon}{Path(path).absolute()}" if is_file else model


def _store(given: Path | None, warehouse: Path) -> str:
    from calibration.thresholds import default_store

    if given:
        return str(given.absolute())
    usual = default_store(warehouse)
    return str(usual) if usual.is_file() else ""


def _refuse(reason: object, code: int) -> int:
    print(f"run.py: {reason}", file=sys.stderr)
    return code


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
