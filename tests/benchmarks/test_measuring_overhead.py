"""The comparison itself: what it says of known times, and that both ways generate the same."""

from __future__ import annotations

import random

import pytest

from benchmarks import measuring_overhead
from benchmarks.measuring_overhead import (
    QWEN,
    Arm,
    Overhead,
    interval,
    llama_cpp_arms,
    overhead,
    transformers_arms,
)
from camel.messages import Sampling


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> object:
    """Makes an arm that writes `text` in so many seconds, more or less; the clock is the test's own."""
    now = 0.0
    monkeypatch.setattr(measuring_overhead.time, "perf_counter", lambda: now)
    noise = random.Random(1)

    def make(seconds: float, text: str = "same") -> Arm:
        def arm() -> str:
            nonlocal now
            now += seconds * noise.uniform(0.95, 1.05)
            return text

        return arm

    return make


def test_an_overhead_is_found_and_its_interval_holds_it(lasting: object) -> None:
    found = overhead(lasting(1.02), lasting(1.0), 200)  # type: ignore[operator]
    assert 0.005 < found.low < 0.02 < found.high < 0.04
    assert found.high - found.low < 0.02
    assert found.seconds == pytest.approx(1.0, abs=0.02)
    assert (found.verdict(0.005), found.verdict(0.04)) == ("is broken", "holds")


def test_few_pairs_settle_nothing() -> None:
    assert Overhead(0.01, -0.02, 0.05, 1.0, 4).verdict(0.03).startswith("is not settled; give more --pairs")


def test_other_texts_cannot_be_compared(lasting: object) -> None:
    with pytest.raises(RuntimeError, match="different texts"):
        overhead(lasting(1.0), lasting(1.0, "another"), 1)  # type: ignore[operator]


def test_the_interval_is_that_of_the_median() -> None:
    low, high = interval([float(number) for number in range(101)])
    assert 35 < low < 45 and 55 < high < 65


def test_both_ways_through_transformers_write_the_same() -> None:
    pytest.importorskip("torch", reason="the transformers engine needs torch, which is not installed")
    tiny = {name: min(size, 56) for name, size in QWEN.items()} | {"vocab_size": 400}
    with transformers_arms(Sampling(0.0, max_tokens=6), tiny) as (measured, plain):
        assert measured() == plain() != ""


@pytest.mark.model
def test_both_ways_through_llama_cpp_write_the_same() -> None:
    with llama_cpp_arms("qwen2.5-coder-0.5b", Sampling(0.0, max_tokens=12)) as (measured, plain):
        assert measured() == plain() == measured() == plain() != ""
