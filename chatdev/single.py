"""`python -m chatdev.single`: the task as one plain prompt, without agents: what a company must be better than.

A user's message and nothing else; the reply is continued where the token limit cut it, parsed, and checked as
in the chain. Takes the flags of run.py and leaves the same kind of product folder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import console
from camel.messages import Message, Sampling
from camel.models.model import Model, ModelUnusable
from camel.models.open import open_model
from chatdev.asking import Asker
from chatdev.checkpoint import check
from chatdev.cli import parser, settings_of
from chatdev.preparation import BadArguments, check_settings
from chatdev.product import create_folder, safe_name
from chatdev.reply import parse_reply
from chatdev.run import BAD_ARGUMENTS, COMPLETE, INCOMPLETE, INTERRUPTED, MODEL_UNUSABLE
from chatdev.settings import Settings
from chatdev.workspace import Workspace
from journal import Journal
from journal.events import FilesChanged, RunEnded, RunStarted
from journal.journal import FILE_NAME

_PROMPT = "{task}\nWrite the complete program in one file, main.py."
_LONGEST_REPLY = 4096  # tokens; a reply that is longer is continued


def answer_once(settings: Settings, warehouse: Path, model: Model) -> tuple[Path, int]:
    """Put the task to `model`. Returns the product folder and the exit code.

    Raises ModelUnusable, and BadArguments where no product folder can be made.
    """
    name, organization = safe_name(settings.name, "Product"), safe_name(settings.organization, "Organization")
    try:
        folder, stamp = create_folder(warehouse, name, organization)
    except OSError as error:
        raise BadArguments(f"No product folder can be made in {warehouse}: {error.strerror}.") from error
    for file, text in ((f"{name}.prompt", settings.task), ("meta.txt", f"Task:\n{settings.task}\n\nConfig:\n\n")):
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    journal = Journal(folder / FILE_NAME)
    try:
        journal.append(RunStarted(name, organization, stamp, settings.task, asdict(settings), model.name))
        asker = Asker(model, journal, seed=settings.seed)
        prompt = Message("user", _PROMPT.format(task=settings.task))
        answer = asker.ask("Single", "User", [prompt], sampling=Sampling(max_tokens=_LONGEST_REPLY))
        workspace = Workspace(folder)
        change = workspace.apply(parse_reply(answer.text).files)
        journal.append(FilesChanged("Single", change.diffs, change.refused))
        isolated = not settings.allow_unsandboxed
        verdict = check(folder, workspace.files(), (), journal, isolated=isolated)
        code = COMPLETE if verdict.works else INCOMPLETE
        journal.append(RunEnded(code, verdict.to_json(), {"calls": asker.calls, **asdict(asker.usage)}))
    finally:
        journal.close()
    return folder, code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code, as run.py's."""
    console.forgive()
    options = parser().parse_args(arguments)
    settings = settings_of(options)
    try:
        if options.resume:
            raise BadArguments("--resume: there is nothing to go on with, for it is one prompt; leave it out.")
        check_settings(settings, None)
        model = open_model(settings.model, base_url=settings.base_url, quantize=settings.quantize)
        try:
            _, code = answer_once(settings, options.warehouse, model)
        finally:
            model.close()
    except BadArguments as error:
        return _refuse(error, BAD_ARGUMENTS)
    except ModelUnusable as error:
        return _refuse(error, MODEL_UNUSABLE)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _refuse(reason: object, code: int) -> int:
    print(f"single: {reason}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
