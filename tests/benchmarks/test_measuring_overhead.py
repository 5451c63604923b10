"""The comparison itself: what it says of known times, and that both ways generate the same."""

from __future__ import annotations

import random

import pytest

from benchmarks.measuring_overhead import (
    QWEN,
    Arm,
    Overhead,
    llama_cpp_arms,
    overhead,
    transformers_arms,
)
from camel.messages import Sampling


class Machine:
    """A clock, and arms that take so many seconds of it, more or less."""

    def __init__(self) -> None:
        self.now = 0.0
        self.noise = random.Random(1)

    def arm(self, seconds: float, text: str = "same") -> Arm:
        def arm() -> str:
            self.now += seconds * self.noise.uniform(0.95, 1.05)
            return text

        return arm

    def clock(self) -> float:
        return self.now


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_an_overhead_is_found_and_its_interval_holds_it(machine: Machine) -> None:
    found = overhead(machine.arm(1.02), machine.arm(1.0), 200, machine.clock)
    assert 0.005 < found.low < 0.02 < found.high < 0.04
    assert found.high - found.low < 0.02
    assert found.seconds == pytest.approx(1.0, abs=0.02)
    assert (found.verdict(0.005), found.verdict(0.04)) == ("is broken", "holds")


def test_few_pairs_settle_nothing() -> None:
    assert Overhead(0.01, -0.02, 0.05, 1.0, 4).verdict(0.03).startswith("is not settled; give more --pairs")


def test_other_texts_cannot_be_compared(machine: Machine) -> None:
    with pytest.raises(RuntimeError, match="different texts"):
        overhead(machine.arm(1.0), machine.arm(1.0, "another"), 1, machine.clock)


def test_both_ways_through_transformers_write_the_same() -> None:
    pytest.importorskip("torch", reason="the transformers engine needs torch, which is not installed")
    tiny = {name: min(size, 56) for name, size in QWEN.items()} | {"vocab_size": 400}
    with transformers_arms(Sampling(0.0, max_tokens=6), tiny) as (measured, plain):
        assert measured() == plain() != ""


@pytest.mark.model
def test_both_ways_through_llama_cpp_write_the_same() -> None:
    with llama_cpp_arms("qwen2.5-coder-0.5b", Sampling(0.0, max_tokens=12)) as (measured, plain):
        assert measured() == plain() == measured() == plain() != ""
