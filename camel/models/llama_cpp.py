"""The embedded engine: llama.cpp runs inside this process and is talked to like any other server."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from camel.messages import Answer, Message, Sampling
from camel.models.model import ModelUnusable
from camel.models.openai_api import Endpoint, OpenAIModel

# Temperature and top_p do what they say only when nothing else cuts or scales, and in this order.
SAMPLING_OPTIONS = {"samplers": ["temperature", "top_p"]}


class LlamaCppModel:
    """A GGUF file served at `url`, a free loopback port, until `close`.

    `window` tokens are shared by `slots` conversations that can run, or be remembered, at once; a model
    trained for less gets less. Log-probs are raw: taken before temperature. Speculative decoding stays
    off: llama.cpp reports wrong ones with it. Others may talk to the server at `url` as well.

    Raises ModelUnusable when the file cannot be served.
    """

    def __init__(self, path: Path, *, name: str | None = None, window: int = 16384, slots: int = 4) -> None:
        _require_gguf(path)
        try:
            import xllamacpp
        except ImportError as error:
            raise ModelUnusable(
                f"The embedded engine cannot be loaded ({error})", "Run pip install -r requirements.txt."
            ) from error
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.n_ctx = window
        parameters.n_parallel = slots
        parameters.kv_unified = True
        parameters.hostnames = ["127.0.0.1"]
        parameters.port = 0
        parameters.verbosity = 0
        if threads := allotted_cpus():
            parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
        # For clients of the server that do not ask for it themselves.
        parameters.sampling.samplers = ";".join(SAMPLING_OPTIONS["samplers"])
        try:
            self._server = xllamacpp.Server(parameters)
        except RuntimeError as error:
            raise ModelUnusable(
                f"llama.cpp cannot load {path} ({error})",
                "It may be damaged, unknown to this version of llama.cpp, or too big for the memory.",
            ) from error
        address = self._server.listening_address
        self.url = f"{address}/v1"
        endpoint = Endpoint(
            self.url,
            _served_window(address),
            "raw",
            SAMPLING_OPTIONS,
            choices_at_once=slots,
            timeout=4 * 3600.0,
        )
        self._client = OpenAIModel(name or path.stem, endpoint)
        self.name = self._client.name
        self.window = self._client.window

    def answer(self, messages: Sequence[Message], sampling: Sampling) -> list[Answer]:
        """Return `sampling.n` answers; see Model.answer."""
        return self._client.answer(messages, sampling)

    def close(self) -> None:
        """End the server and free its memory."""
        self._client.close()
        self._server = None


def allotted_cpus() -> int | None:
    """How many processors this process is confined to (taskset, containers); None where it may use all."""
    # llama.cpp counts the machine's. Two threads that wait for each other on one processor crawl.
    if not hasattr(os, "sched_getaffinity"):
        return None
    allotted = len(os.sched_getaffinity(0))
    return allotted if allotted < (os.cpu_count() or 1) else None


def _require_gguf(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelUnusable(f"Cannot read {path}: {error.strerror}", "Correct the path in --model.") from error
    if magic != b"GGUF":
        raise ModelUnusable(f"{path} is not a GGUF file", "Give --model a file that llama.cpp can load.")


def _served_window(address: str) -> int:
    # No proxy of the environment may stand between the process and itself.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{address}/props", timeout=60) as response:
        return int(json.load(response)["default_generation_settings"]["n_ctx"])
