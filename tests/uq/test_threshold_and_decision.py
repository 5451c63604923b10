from __future__ import annotations

import math

import pytest

from uq.decision import decide
from uq.scores import Score, Unavailable
from uq.threshold import FixedThresholds, Threshold, fallback


def score(value: float) -> Score:
    return Score(signal="s", value=value, n=1, selection="content-v1", logprob_kind="raw", model="m")


@pytest.mark.parametrize(
    ("u", "tau", "action"),
    [
        (0.5, 0.5, "proceed"),
        (math.nextafter(0.5, 1), 0.5, "trigger"),
        (0.0, 0.0, "proceed"),
        (math.inf, 0.5, "trigger"),
        (math.inf, math.inf, "proceed"),
    ],
)
def test_only_strictly_above_triggers(u: float, tau: float, action: str) -> None:
    decision = decide(score(u), Threshold(tau, "test", "Coding", reason="test"))
    assert decision.action == action
    assert decision.u == u


def test_unavailable_is_neither_pass_nor_trigger_and_says_why() -> None:
    decision = decide(Unavailable("nan", "A log-prob is not a number."), fallback("Coding"))
    assert decision.action == "unavailable"
    assert decision.u is None
    assert "not a number" in decision.reason


@pytest.mark.parametrize("learnt", [{"model": "n"}, {"logprob_kind": "unknown"}, {"selection": "decision-v1"}])
def test_a_threshold_learnt_on_something_else_is_not_applied(learnt: dict[str, str]) -> None:
    decision = decide(score(9.0), Threshold(0.1, "learnt", "Coding", **learnt))  # type: ignore[arg-type]
    assert decision.action == "unavailable"
    assert next(iter(learnt.values())) in decision.reason


def test_the_fallback_says_that_it_is_one() -> None:
    threshold = FixedThresholds({"Test": 0.2}).lookup("Coding", "m", "raw", "content-v1")
    assert (threshold.tau, threshold.source, threshold.subtask) == (0.5, "fallback", "Coding")


def test_a_threshold_set_by_hand_holds_for_its_subtask() -> None:
    threshold = FixedThresholds({"Test": 0.2}).lookup("Test", "m", "raw", "content-v1")
    assert (threshold.tau, threshold.source) == (0.2, "policy")


@pytest.mark.parametrize("tau", [-0.1, math.nan, -math.inf, math.inf])
def test_a_threshold_that_means_nothing_is_refused(tau: float) -> None:
    with pytest.raises(ValueError, match="Coding"):
        Threshold(tau, "learnt", "Coding")
