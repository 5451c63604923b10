"""The embedded engine on the small model of the catalog."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from camel.messages import Message, Sampling
from camel.models.llama_cpp import LlamaCppModel, allotted_cpus
from camel.models.model import ContextOverflow, ModelUnusable
from camel.models.open import open_model

SMALL = "qwen2.5-coder-0.5b"
HI = [Message("system", "You are brief."), Message("user", "Name an animal.")]


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaCppModel]:
    opened = open_model(SMALL)
    assert isinstance(opened, LlamaCppModel)
    yield opened
    opened.close()
    opened.close()


@pytest.mark.model
def test_answers_with_raw_evidence(model: LlamaCppModel) -> None:
    first, second = model.answer(HI, Sampling(temperature=0.8, max_tokens=12, n=2, seed=3))
    for answer in (first, second):
        assert answer.text and answer.logprob_kind == "raw" and answer.model == SMALL
        assert "".join(token.text for token in answer.tokens).strip() == answer.text.strip()
        assert all(-math.inf < token.logprob <= 0 and len(token.alternatives) == 5 for token in answer.tokens)
    spent = first.usage + second.usage
    assert spent.completion_tokens == len(first.tokens) + len(second.tokens)
    assert spent.prompt_tokens > 5 and first.seconds > 0
    (alone,) = model.answer(HI, Sampling(temperature=0.8, max_tokens=1, seed=3))
    assert spent.prompt_tokens == alone.usage.prompt_tokens, "two answers share one prompt"


@pytest.mark.model
def test_log_probs_do_not_depend_on_temperature(model: LlamaCppModel) -> None:
    """The warm-up makes both calls read the same prompt cache, which moves the last digits."""
    tops = []
    for temperature in (1.0, 0.1, 1.0):
        answer = model.answer(HI, Sampling(temperature=temperature, max_tokens=1, seed=1))[0]
        tops.append(answer.tokens[0].alternatives[0][1])
    assert tops[1] == pytest.approx(tops[2], abs=1e-3)


@pytest.mark.model
def test_temperature_and_top_p_mean_what_they_say(model: LlamaCppModel) -> None:
    def words(**settings: float) -> set[str]:
        sampling = Sampling(max_tokens=1, n=12, seed=1, **settings)
        return {answer.text for answer in model.answer(HI, sampling)}

    assert len(words(temperature=0.0)) == 1
    # The likeliest first token has about 0.6 of the mass at temperature 1 and far less at 4.
    assert len(words(temperature=1.0, top_p=0.05)) == 1
    assert len(words(temperature=4.0)) > 3


@pytest.mark.model
def test_prompt_over_the_window_is_overflow(model: LlamaCppModel) -> None:
    with pytest.raises(ContextOverflow) as caught:
        model.answer([Message("user", "word " * 17_000)], Sampling(max_tokens=1))
    assert caught.value.window == model.window == 16384


@pytest.mark.model
def test_shared_prefix_is_reused(model: LlamaCppModel) -> None:
    prefix = "The rules are: " + "be brief and kind; " * 40
    for question in ("What is a cat?", "What is a dog?"):
        answer = model.answer([Message("user", prefix + question)], Sampling(max_tokens=1))[0]
    assert answer.usage.cached_tokens > 150


@pytest.mark.model
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system confines no process")
def test_a_confined_process_starts_no_more_threads_than_it_has_processors() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert allotted_cpus() == (1 if (os.cpu_count() or 1) > 1 else None)
    finally:
        os.sched_setaffinity(0, before)


def test_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(b"GGUF" + bytes(1000))
    with pytest.raises(ModelUnusable, match="llama.cpp cannot load"):
        LlamaCppModel(path)


@pytest.mark.model
def test_interrupt_during_a_call_ends_at_once() -> None:
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from camel.messages import Message, Sampling
from camel.models.open import open_model
model = open_model({SMALL!r})
print("ready", flush=True)
try:
    model.answer([Message("user", "Count from 1 to 2000, one number a line.")], Sampling(0.0, max_tokens=4000))
except KeyboardInterrupt:
    model.close()
    print("interrupted", flush=True)
"""
    # The children of a shell's background job ignore Ctrl-C; here it must be in force.
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "interrupted\n"
    assert process.wait(timeout=15) == 0


@pytest.mark.model
def test_as_a_server_of_its_own_it_gives_raw_log_probs_to_several() -> None:
    command = [sys.executable, "-m", "camel.models.serve", SMALL, "--slots=2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        clients = [open_model(f"openai:{told['name']}", base_url=told["url"]) for _ in range(2)]
        for client in clients:
            answer = client.answer(HI, Sampling(max_tokens=4, seed=1))[0]
            assert answer.text and answer.logprob_kind == "raw"
            client.close()
