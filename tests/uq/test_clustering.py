"""Leader clustering and the three functional figures, against numbers computed with UQLM 0.6.7."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from uq.clustering import Clustering, Verdicts, leader_clusters
from uq.functional_equivalence import (
    functional_agreement,
    functional_equivalence_rate,
    functional_negentropy,
    functional_scores,
    functional_sets_confidence,
)
from uq.scores import SampleScore, Unavailable


def letters(first: str, second: str) -> bool:
    return first[0] == second[0]


def grouped(texts: list[str], judge: Callable[[str, str], bool | None] = letters) -> tuple[Clustering, Verdicts]:
    verdicts = Verdicts(judge, both_orders=False)
    return leader_clusters(texts, verdicts), verdicts


def raw(score: SampleScore | Unavailable) -> float:
    assert isinstance(score, SampleScore)
    assert score.value == pytest.approx(1 - score.raw)
    return score.raw


@pytest.mark.parametrize(
    ("texts", "rate", "negentropy", "sets", "k", "calls"),
    [
        (["a0", "a1", "a2", "a3", "a4", "a5"], 1, 1, 1, 1, 5),
        (["a", "b", "c", "d", "e", "f"], 0, 0, 0, 6, 15),
        (["a0", "a1", "a2", "a3", "b1", "b2"], 0.6, 0.644754678724236, 0.8, 2, 6),
        (["a0", "a1", "b1", "a2", "b2", "c1"], 0.4, 0.43552453212757636, 0.6, 3, 7),
        (["z", "a1", "a2", "a3", "a4", "a5"], 0, 0.7485370014199393, 0.8, 2, 9),
        (["a0", "a1", "b1", "b2", "c1"], 0.25, 0.3445412464587143, 0.5, 3, 6),
        (["a0", "a1"], 1, 1, 1, 1, 1),
        (["a0", "b1"], 0, 0, 0, 2, 1),
        (["a1"] * 6, 1, 1, 1, 1, 0),
    ],
)
def test_the_figures_and_their_calls(
    texts: list[str], rate: float, negentropy: float, sets: float, k: int, calls: int
) -> None:
    clustering, verdicts = grouped(texts)
    assert len(clustering.groups) == k
    assert verdicts.calls == calls
    assert raw(functional_equivalence_rate(clustering.anchored)) == pytest.approx(rate)
    assert raw(functional_negentropy(clustering.groups)) == pytest.approx(negentropy, abs=1e-12)
    assert raw(functional_sets_confidence(clustering.groups)) == pytest.approx(sets)


def test_groups_weighed_by_likelihood() -> None:
    score = functional_negentropy(((0, 1), (2,)), [-0.2, -1.0, -2.0])
    assert raw(score) == pytest.approx(0.699373384535456)


def test_a_judge_who_is_not_transitive_makes_the_order_matter() -> None:
    def same(first: str, second: str) -> bool:
        return {first, second} in ({"A", "C"}, {"B", "C"})

    assert grouped(list("ABC"), same)[0].groups == ((0, 2), (1,))
    assert grouped(list("ACB"), same)[0].groups == ((0, 1), (2,))
    assert grouped(list("CAB"), same)[0].groups == ((0, 1, 2),)


def test_a_judge_who_is_not_symmetric_is_believed_only_both_ways() -> None:
    verdicts = Verdicts(lambda first, second: first < second)
    assert verdicts.same("a", "b") is False
    assert (verdicts.calls, verdicts.same("b", "a"), verdicts.calls) == (2, False, 2)
    assert Verdicts(lambda first, second: first < second, both_orders=False).same("a", "b") is True


def test_no_pair_is_put_twice_once_it_is_decided() -> None:
    verdicts = Verdicts(letters)
    assert leader_clusters(["a0", "a1", "a1", " a1\n"], verdicts).groups == ((0, 1, 2, 3),)
    assert verdicts.calls == 2


def test_an_abstention_is_asked_again_and_not_remembered() -> None:
    answers = iter([None, True, True])
    verdicts = Verdicts(lambda first, second: next(answers))
    assert verdicts.same("a", "b") is True
    assert verdicts.calls == 3


def test_abstentions_are_counted_bounded_and_never_agreement() -> None:
    clustering, verdicts = grouped(["a0", "a1", "?", "b"], lambda a, b: None if "?" in (a, b) else letters(a, b))
    assert (clustering.groups, clustering.decided, clustering.abstained) == (((0, 1), (2,), (3,)), 2, 2)
    assert verdicts.calls == 2 + 2 * 2, "each abstention is tried twice"
    score = functional_equivalence_rate(clustering.anchored)
    assert isinstance(score, SampleScore)
    assert score.raw == 0.5, "of the pairs the judge decided"
    assert (score.lowest, score.highest) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert score.value == pytest.approx(2 / 3), "an abstention makes nobody sure"
    assert (score.decided, score.abstained) == (2, 1)


def test_what_is_decided_about_the_answer_stands_whatever_is_unknown_of_the_samples() -> None:
    clustering, _ = grouped(["a0", "a1", "?1", "?2", "?3"], lambda a, b: letters(a, b) if "a0" in (a, b) else None)
    scores = functional_scores(clustering)
    rate, sets = scores["functional-equivalence-rate"], scores["functional-sets-confidence"]
    assert isinstance(rate, SampleScore) and (rate.raw, rate.abstained) == (0.25, 0)
    assert isinstance(sets, SampleScore) and (sets.decided, sets.abstained) == (4, 3)
    unknown = functional_equivalence_rate([True, None, None])
    assert isinstance(unknown, Unavailable) and unknown.detail == "The judge had no opinion on 2 of 3 pairs."


def test_agreement_is_the_mean_share_of_inputs() -> None:
    score = functional_agreement([1.0, 0.5, None])
    assert isinstance(score, SampleScore)
    assert (score.raw, score.value) == (0.75, 0.5)
    for shares, reason in (([], "one_sample"), ([None], "abstained")):
        nothing = functional_agreement(shares)
        assert isinstance(nothing, Unavailable)
        assert nothing.reason == reason


def test_a_judge_without_any_opinion_gives_no_figure() -> None:
    score = functional_equivalence_rate([None, None])
    assert isinstance(score, Unavailable)
    assert score.reason == "abstained"


@pytest.mark.parametrize(("groups", "reason"), [((), "no_samples"), (((0,),), "one_sample")])
def test_one_answer_agrees_with_nobody(groups: tuple[tuple[int, ...], ...], reason: str) -> None:
    for score in (functional_negentropy(groups), functional_sets_confidence(groups)):
        assert isinstance(score, Unavailable)
        assert score.reason == reason
    assert isinstance(functional_equivalence_rate([]), Unavailable)


def test_a_missing_logprob_is_not_a_number_in_the_figure() -> None:
    score = functional_negentropy(((0,), (1,)), [-0.1, math.nan])
    assert isinstance(score, Unavailable)
    assert score.reason == "no_logprobs"
