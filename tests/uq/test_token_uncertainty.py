from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camel.messages import Answer, LogprobKind, Token
from uq.scores import Score, TokenScore, Unavailable, to_json
from uq.token_uncertainty import mean_probability_surprise, token_uncertainty

INF = math.inf


def answer(logprobs: list[float], kind: LogprobKind = "raw", finish_reason: str = "stop") -> Answer:
    tokens = tuple(Token(f" w{i}", logprob) for i, logprob in enumerate(logprobs))
    text = "".join(token.text for token in tokens)
    return Answer(text, tokens, finish_reason=finish_reason, logprob_kind=kind, model="m")


def score(logprobs: list[float]) -> TokenScore:
    measured = token_uncertainty(answer(logprobs))
    assert isinstance(measured, TokenScore)
    return measured


def reason(evidence: Answer) -> str:
    measured = token_uncertainty(evidence)
    assert isinstance(measured, Unavailable), measured
    assert measured.detail
    return measured.reason


@pytest.mark.parametrize(
    ("logprobs", "u"),
    [
        ([0.0, 0.0, 0.0], 0.0),
        ([math.log(0.5)], 0.6931471805599453),
        ([-0.5], 0.5),
        ([0.0, -INF], 0.6931471805599453),
        ([-800.0, -810.0, -805.0], 801.091851845121),
        ([-9999.0, math.log(0.9)], 0.798507696218),
        ([math.log(p) for p in (0.25, 0.5, 0.75, 1.0)], 0.470003629245736),
        ([math.log(0.99)] * 99 + [math.log(0.01)], 0.019998646507),
        ([math.log(0.99)] * 999 + [math.log(2.061153622438558e-9)], 0.011050836185),
        ([math.log(0.9)] * 4, 0.105360515658),
        ([math.log(p) for p in (0.9, 0.8, 0.5)], 0.310154928304),
        ([math.log(0.7)], 0.356674943939),
        ([0.0, 0.0], 0.0),
        ([math.log(0.9), -INF], 0.798507696218),
        ([math.log(p) for p in (0.7, 0.3, 0.97)], 0.420578745912),
        ([1e-7], 0.0),
    ],
)
def test_u_of_known_answers(logprobs: list[float], u: float) -> None:
    assert score(logprobs).value == pytest.approx(u, rel=1e-9, abs=1e-11)


def test_a_certain_answer_has_exactly_no_uncertainty() -> None:
    assert score([0.0, 0.0, 0.0]).value == 0.0


def test_an_impossible_answer_is_a_valid_extreme() -> None:
    measured = score([-INF, -INF])
    assert measured.value == INF
    assert measured.nonfinite == 2


@pytest.mark.parametrize(
    ("kept", "renormalised"), [(1, 0.0), (2, 0.126928), (3, 0.169846), (5, 0.209965), (7, 0.217409)]
)
def test_u_needs_the_full_vocabulary(kept: int, renormalised: float) -> None:
    """Renormalising over the kept alternatives understates u by -log of their mass."""
    logits = [4.0, 2.0, 1.0, 0.5, 0.0, -1.0, -2.0]
    full = math.log(sum(map(math.exp, logits)))
    partial = math.log(sum(map(math.exp, logits[:kept])))
    assert score([4.0 - full]).value == pytest.approx(0.217409, abs=1e-6)
    assert mean_probability_surprise([4.0 - partial]) == pytest.approx(renormalised, abs=1e-6)
    assert score([4.0 - full, 2.0 - full, 4.0 - full]).value == pytest.approx(0.557397410464, abs=1e-11)


def test_a_sequence_renormalised_over_two_of_seven_alternatives() -> None:
    two = math.log(math.exp(4.0) + math.exp(2.0))
    assert mean_probability_surprise([4.0 - two, 2.0 - two, 4.0 - two]) == pytest.approx(0.466916624032, abs=1e-11)


def test_companions_show_the_one_bad_token_that_u_hides() -> None:
    measured = score([math.log(0.99)] * 99 + [math.log(0.01)])
    assert measured.smallest_p == pytest.approx(0.01)
    assert measured.mean_surprise == pytest.approx(0.056001534355)
    assert measured.worst_tenth == pytest.approx((math.log(100) - 9 * math.log(0.99)) / 10)
    assert measured.n == 100


def test_worst_tenth_is_at_least_one_token() -> None:
    assert score([-0.1, -2.0]).worst_tenth == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("probabilities", "surprise"),
    [
        ([0.25, 0.5, 0.75, 1.0], 0.591780903533),
        ([0.99] * 999 + [2.061153622438558e-9], 0.030040285518),
        ([0.9] * 4, 0.105360515658),
    ],
)
def test_mean_surprise_of_known_answers(probabilities: list[float], surprise: float) -> None:
    assert score([math.log(p) for p in probabilities]).mean_surprise == pytest.approx(surprise)


def test_floor_values_of_a_server_are_counted() -> None:
    measured = score([-9999.0, -INF, -0.1])
    assert (measured.censored, measured.nonfinite) == (1, 1)


def test_an_answer_cut_by_the_token_limit_says_so() -> None:
    cut = token_uncertainty(answer([-0.1], finish_reason="length"))
    assert isinstance(cut, TokenScore) and cut.truncated
    assert not score([-0.1]).truncated


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Answer("", (), logprob_kind="raw"), "empty"),
        (Answer(" \n", (), logprob_kind="none"), "empty"),
        (Answer("\n", (Token("\n", -0.1),), logprob_kind="raw"), "empty"),
        (Answer("Yes", (), logprob_kind="none"), "no_logprobs"),
        (Answer("Yes", (), logprob_kind="raw"), "no_logprobs"),
        (answer([0.0], kind="none"), "no_logprobs"),
        (answer([-0.1], kind="processed"), "processed"),
        (answer([-0.1, math.nan]), "nan"),
        (answer([math.nan]), "nan"),
        (answer([-0.1, 2e-6]), "invalid"),
        (answer([INF]), "invalid"),
        (answer([0.0] * 20), "zeros"),
        (answer([0.0] * 19 + [-9999.0]), "zeros"),
    ],
)
def test_what_cannot_be_measured_is_no_number(evidence: Answer, expected: str) -> None:
    assert reason(evidence) == expected


def test_a_nan_in_a_token_that_does_not_count_does_no_harm() -> None:
    evidence = Answer("Yes", (Token("Yes", -0.2), Token("<|im_end|>", math.nan)), logprob_kind="raw")
    measured = token_uncertainty(evidence)
    assert isinstance(measured, TokenScore) and measured.value == pytest.approx(0.2)


def test_a_sure_model_copying_code_may_report_many_honest_zeros() -> None:
    assert score([0.0] * 18 + [-1e-4, -0.3]).value < 0.05
    assert score([0.0] * 19).value == 0.0


def speculated(drafted: int, sampled: int) -> Answer:
    rival = (("x", -3.0),)
    tokens = [Token(f" d{i}", 0.0) for i in range(drafted)]
    tokens += [Token(f" s{i}", -0.05, rival) for i in range(sampled)]
    return Answer("d", tuple(tokens), logprob_kind="raw")


def test_drafted_tokens_without_alternatives_are_found_out() -> None:
    assert reason(speculated(drafted=12, sampled=88)) == "zeros"
    assert isinstance(token_uncertainty(speculated(drafted=2, sampled=98)), TokenScore)


def test_zeros_with_alternatives_are_honest() -> None:
    tokens = tuple(Token(f" t{i}", 0.0, ((f" t{i}", 0.0), (" x", -18.6))) for i in range(50))
    sampled = tuple(Token(f" s{i}", -0.2, ((" x", -2.0),)) for i in range(50))
    assert isinstance(token_uncertainty(Answer("t", tokens + sampled, logprob_kind="raw")), TokenScore)


def test_unknown_kind_is_measured_and_never_comparable_with_raw() -> None:
    unknown = token_uncertainty(answer([-0.1], kind="unknown"))
    assert isinstance(unknown, TokenScore)
    assert unknown.basis != score([-0.1]).basis


def test_json_holds_no_infinity_and_reads_back() -> None:
    text = json.dumps(to_json(score([-INF, -INF])), allow_nan=False)
    read = json.loads(text)
    assert float(read["value"]) == INF
    assert read["unit"] == "nats" and read["selection"] == "content-v1" and read["n"] == 2
    assert read["yes_share"] is None
    assert json.loads(json.dumps(to_json(Unavailable("nan", "why")))) == {"reason": "nan", "detail": "why"}


def test_a_score_is_never_nan() -> None:
    with pytest.raises(ValueError, match="Unavailable"):
        Score(signal="s", value=math.nan, n=1)


LOGPROBS = st.lists(st.floats(-50.0, 0.0), min_size=1, max_size=60)


@given(LOGPROBS, st.randoms(use_true_random=False))
def test_order_does_not_matter(logprobs: list[float], shuffler: random.Random) -> None:
    shuffled = list(logprobs)
    shuffler.shuffle(shuffled)
    assert mean_probability_surprise(shuffled) == mean_probability_surprise(logprobs)


@given(LOGPROBS)
def test_u_lies_between_nothing_and_mean_surprise(logprobs: list[float]) -> None:
    u = mean_probability_surprise(logprobs)
    assert 0.0 <= u <= -math.fsum(logprobs) / len(logprobs) + 1e-9
    assert u <= -max(logprobs) + math.log(len(logprobs)) + 1e-9


@given(LOGPROBS)
def test_saying_it_twice_changes_nothing(logprobs: list[float]) -> None:
    twice = mean_probability_surprise(logprobs * 2)
    assert twice == pytest.approx(mean_probability_surprise(logprobs), abs=1e-9)


@given(st.floats(-1e4, -1e-6))
def test_u_of_a_single_token_is_its_surprise(logprob: float) -> None:
    assert mean_probability_surprise([logprob]) == -logprob
