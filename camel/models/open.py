"""From what `--model` says to a model that is ready to answer."""

from __future__ import annotations

from pathlib import Path

from camel.models import verdicts
from camel.models.catalog import catalog
from camel.models.fetch import fetch
from camel.models.hugging_face import HuggingFaceModel
from camel.models.llama_cpp import LlamaCppModel
from camel.models.model import Model, ModelUnusable
from camel.models.openai_api import Endpoint, OpenAIModel, server_url
from camel.models.scripted import ScriptedModel


def open_model(specification: str, *, base_url: str | None = None, quantize: bool = False) -> Model:
    """Return a model that has proven that it answers.

    `specification` is a catalog name, a path to a `.gguf` file, `hf:REPOSITORY` or `hf:PATH` (`quantize` to
    4 bits on request), `openai:NAME` (with the server's `base_url`), `scripted:FILE`, or one of ChatDev's
    names such as `GPT_4`. A local model is fetched first where it is missing.

    Raises ModelUnusable when there is no such model or it cannot be used.
    """
    known = catalog()
    kind, _, rest = specification.partition(":")
    if quantize and kind != "hf":
        remedy = "Leave --quantize out, or give --model hf:OWNER/NAME."
        raise ModelUnusable(f"Only hf: models are quantized on loading, not {specification}", remedy)
    if specification in known.models:
        entry = known.models[specification]
        return LlamaCppModel(fetch(entry), name=entry.name, window=entry.window)
    if kind == "hf" and rest:
        return HuggingFaceModel(rest, quantize=quantize)
    if specification.endswith(".gguf"):
        return LlamaCppModel(Path(specification).expanduser())
    if specification in known.legacy:
        kind, rest = "openai", known.legacy[specification]
    if kind == "openai" and rest:
        url = server_url(base_url)
        model = OpenAIModel(rest, Endpoint(url, known.openai.get(rest), verdicts.recall(url, rest)))
        model.check()
        return model
    if kind == "scripted" and rest:
        return ScriptedModel.from_file(Path(rest).expanduser())
    raise ModelUnusable(f"There is no model {specification!r}", _choices())


def _choices() -> str:
    known = catalog()
    return (
        f"Choose one of {', '.join(known.models)}, a path to a .gguf file, hf:OWNER/NAME, openai:NAME with "
        f"--base-url, scripted:FILE, or {', '.join(known.legacy)}."
    )
