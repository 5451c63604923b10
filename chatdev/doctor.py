"""`python -m chatdev doctor`: whether a run would work here, and whether its uncertainty would mean something.

One line for each thing that is looked at, with what to do where it is not as it should be.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import sandbox
from camel.messages import Answer, LogprobKind, Message, Sampling
from camel.models import verdicts
from camel.models.fetch import cache_directory
from camel.models.model import ContextOverflow, Model, ModelUnusable
from camel.models.open import open_model
from camel.models.openai_api import OpenAIModel
from chatdev.company import PROJECT
from chatdev.settings import DEFAULT_MODEL
from retrieval.deadline import Deadline, side_by_side
from retrieval.documentation import Documentation
from retrieval.records import Unavailable as Unreached
from retrieval.retriever import SEARCH_SECONDS
from retrieval.searching import DuckDuckGo
from retrieval.web import Web
from uq.scores import Unavailable
from uq.token_uncertainty import token_uncertainty

READY, BAD_SURROUNDINGS, MODEL_UNUSABLE, INTERRUPTED = 0, 2, 3, 130
GIGABYTE = 1e9
# Bytes: below this, journals and programs of a few runs may not fit.
LEAST_FREE = 0.2 * GIGABYTE

TASK = "Write a Python function that says whether a number is prime."
TASK_TOKENS = 64
# Their first token is not certain, so that scaling by temperature would show.
QUESTIONS = ("Name an animal.", "Say any number.", "Write one sentence about anything.")
CERTAIN = -0.05
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at and what was found, with the remedy where it is not `ok`.

    What is in `doubt` does not keep a run from working. `exit_code` is that of the run where it `fails`.
    """

    subject: str
    state: Literal["ok", "doubt", "fails", "-"]
    text: str
    exit_code: int = READY


def main(arguments: Sequence[str]) -> int:
    """Print the findings as they come. Returns 0 where the main job would run, else the code it would end with."""
    parser = argparse.ArgumentParser(
        prog="python -m chatdev doctor",
        description="Check that a run would work here, and that its log-probs say how sure the model is.",
        epilog="exit codes: 0 a run would work; 2 this machine lacks something; 3 the model cannot be used",
    )
    parser.add_argument("--model", default=DEFAULT_MODEL, help="as for run.py (default: %(default)s)")
    parser.add_argument("--base-url", help="as for run.py")
    parser.add_argument("--quantize", action="store_true", help="as for run.py")
    options = parser.parse_args(arguments)
    code = READY
    try:
        for finding in findings(options.model, options.base_url, quantize=options.quantize):
            print(f"{finding.state:<6} {finding.subject:<10} {finding.text}", flush=True)
            code = max(code, finding.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED
    print("A run would work." if code == READY else "A run would not work.")
    return code


def findings(model: str, base_url: str | None = None, *, quantize: bool = False) -> Iterator[Finding]:
    """Look at everything a run with this model needs, the quick things first."""
    yield _sandbox()
    yield _disk()
    yield _cache()
    yield _retrieval()
    try:
        opened = open_model(model, base_url=base_url, quantize=quantize)
        try:
            yield from _model(opened)
        finally:
            opened.close()
    except (ModelUnusable, ContextOverflow) as error:
        yield Finding("model", "fails", str(error), MODEL_UNUSABLE)


def _sandbox() -> Finding:
    if missing := sandbox.available():
        return Finding("sandbox", "fails", missing.reason, BAD_SURROUNDINGS)
    return Finding("sandbox", "ok", "generated programs run without network, in a directory of their own")


def _disk() -> Finding:
    warehouse = PROJECT / "WareHouse"
    free = shutil.disk_usage(_existing(warehouse)).free
    text = f"{free / GIGABYTE:.1f} GB free for products in {warehouse}"
    if not _writable(warehouse):
        return Finding("disk", "fails", f"{warehouse} cannot be written. Give --warehouse.", BAD_SURROUNDINGS)
    if free < LEAST_FREE:
        return Finding("disk", "fails", f"only {text}. Make room, or give --warehouse.", BAD_SURROUNDINGS)
    return Finding("disk", "ok", text)


def _cache() -> Finding:
    cache = cache_directory()
    held = sum(path.stat().st_size for path in cache.glob("models/*") if path.is_file())
    free = shutil.disk_usage(_existing(cache)).free
    text = f"{held / GIGABYTE:.1f} GB of models in {cache}, {free / GIGABYTE:.1f} GB free"
    if _writable(cache):
        return Finding("cache", "ok", text)
    return Finding("cache", "doubt", f"{text}, and not writable. Set UA_CHATDEV_CACHE to another directory.")


def _retrieval() -> Finding:
    """Whether the web can be searched, which is not needed, and whether the documentation's index is made."""
    ready = Documentation(cache_directory() / "retrieval").ready
    docs = f"the documentation on this machine can{'' if ready else ' (the first time takes a while)'}"
    deadline = Deadline.after(SEARCH_SECONDS)
    late: object = Unreached("timeout", "nobody answers")
    answer = side_by_side([partial(DuckDuckGo(Web()).search, "python", deadline)], deadline, late)[0]
    if isinstance(answer, Unreached) and answer.reason != "empty":
        why = f"{answer.reason}: {answer.detail}"
        return Finding("retrieval", "doubt", f"the web cannot be searched ({why}); {docs}.")
    return Finding("retrieval", "ok", f"the web can be searched, and {docs}")


def _existing(path: Path) -> Path:
    """What is there under this name, or the nearest above it that is there."""
    return next(one for one in (path, *path.parents) if os.path.exists(one))


def _writable(folder: Path) -> bool:
    """Whether files can be made in `folder`, or `folder` itself where it is not there."""
    return os.path.isdir(there := _existing(folder)) and os.access(there, os.W_OK)


def _model(model: Model) -> Iterator[Finding]:
    # At temperature 1 every engine's log-probs are raw, unless the tokens are not those of the text.
    answer = model.answer([Message("user", TASK)], Sampling(1.0, max_tokens=TASK_TOKENS, seed=1))[0]
    counted = answer.usage.completion_tokens
    window = "unknown window" if model.window is None else f"window of {model.window} tokens"
    yield Finding("model", "ok", f"{model.name} writes {counted} tokens in {answer.seconds:.1f} s; {window}")
    kind, text = kind_of_logprobs(model)
    if isinstance(model, OpenAIModel):
        try:
            verdicts.remember(model.url, model.name, "unknown" if kind == "none" else kind)
        except OSError as error:
            text += f" (This could not be kept for later runs: {error.strerror}.)"
    yield Finding("log-probs", "ok" if kind == "raw" else "doubt", text)
    if answer.tokens:
        yield _tokens(answer, counted)
        yield _evidence(answer)


def _tokens(answer: Answer, counted: int) -> Finding:
    found = len(answer.tokens)
    text = f"{found} log-probs for {counted} tokens"
    if answer.logprob_kind == "unknown":
        return Finding(
            "tokens", "doubt", f"{text}, and not those of the text. Switch off reasoning on the server."
        )
    # The end-of-turn token may be counted and have no record, or the other way round.
    if abs(found - counted) > 1:
        return Finding("tokens", "doubt", f"{text}: u would measure a part. Switch off the server's reasoning.")
    return Finding("tokens", "ok", text)


def _evidence(answer: Answer) -> Finding:
    floored = sum(token.logprob == -math.inf for token in answer.tokens)
    certain = sum(token.logprob == 0 for token in answer.tokens)
    score = token_uncertainty(answer)
    if isinstance(score, Unavailable):
        return Finding("evidence", "doubt", f"u cannot be measured: {score.detail}")
    text = f"u = {score.value:.3f}; {certain} of {len(answer.tokens)} tokens exactly certain, {floored} floored"
    if floored:
        return Finding(
            "evidence",
            "doubt",
            f"{text}. A token that was drawn cannot be impossible: the server left its log-prob out. Have it "
            "report the chosen token's, from the whole vocabulary.",
        )
    return Finding("evidence", "ok", text)


def kind_of_logprobs(model: Model) -> tuple[LogprobKind, str]:
    """Find out whether log-probs change with the temperature, and say so in a sentence.

    The likeliest first token is looked at: raw, its log-prob is the same at temperatures 0.1 and 1;
    processed, it is nearer 0 at 0.1.
    """
    for question in QUESTIONS:
        # The first call fills the prompt cache, which moves the last digits.
        tops = [_top(model, question, temperature) for temperature in (1.0, 0.1, 1.0)]
        if None in tops:
            return "none", (
                "The engine gives none: the chain runs, and every decision is `unavailable`. Switch them on in "
                "the server, or use a model that has them."
            )
        (token, cold), (other, hot) = (top for top in tops[1:] if top is not None)
        seen = f"{token!r} has {cold:.4f} at temperature 0.1 and {hot:.4f} at 1"
        if token != other or not hot < CERTAIN or not math.isfinite(hot + cold):
            continue
        if abs(cold - hot) <= TOLERANCE:
            return "raw", f"raw: {seen}"
        if cold > hot / 2:
            return "processed", (
                f"processed: {seen}. The gate refuses these. Have the server report raw ones (vLLM: "
                "--logprobs-mode raw_logprobs, SGLang: SGLANG_RETURN_ORIGINAL_LOGPROB=1)."
            )
        return "unknown", f"unknown: {seen}, which fits neither raw nor processed. Ask again while it is idle."
    return "unknown", "unknown: no question showed one uncertain token at both temperatures. Try another model."


def _top(model: Model, question: str, temperature: float) -> tuple[str, float] | None:
    """The likeliest first token that the engine shows, or the emitted one where it shows no other."""
    answer = model.answer([Message("user", question)], Sampling(temperature, max_tokens=1, seed=1))[0]
    if not answer.tokens:
        return None
    first = answer.tokens[0]
    return max([(first.text, first.logprob), *first.alternatives], key=lambda top: top[1])
