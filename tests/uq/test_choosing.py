"""Which answer to hand on, and whether samples are worth their price."""

from __future__ import annotations

import math

import pytest

from uq.choosing import Offer, most_agreed, worth_sampling


@pytest.mark.parametrize(
    ("groups", "u", "chosen"),
    [
        (((0,), (1, 2), (3,)), [0.0, 0.3, 0.2, 0.1], 2),
        (((0, 1), (2, 3)), [0.5, 0.4, 0.3, 0.6], 2),
        (((0, 1), (2, 3)), [None, 0.9, None, math.nan], 1),
        (((0,), (1,)), [None, None], 0),
        (((), (1,)), [0.1, math.inf], 1),
    ],
)
def test_the_answer_that_most_agree_with_is_handed_on(
    groups: tuple[tuple[int, ...], ...], u: list[float | None], chosen: int
) -> None:
    assert most_agreed(groups, u) == chosen


def test_no_answer_can_be_chosen_from_none() -> None:
    with pytest.raises(ValueError, match="no answer"):
        most_agreed((), [])


@pytest.mark.parametrize(
    ("u", "offer", "buy", "reason"),
    [
        (0.48, Offer(cost=900, gain=2000, budget=1000), True, "within 0.1 of 0.5"),
        (0.3, Offer(cost=900, gain=2000), False, "below 0.5 by more than 0.1"),
        (0.7, Offer(cost=900, gain=2000), False, "above 0.5 by more than 0.1"),
        (math.inf, Offer(cost=900, gain=2000), False, "above 0.5"),
        (0.5, Offer(cost=900, gain=900), False, "would save 900"),
        (0.5, Offer(cost=900, gain=2000, budget=899), False, "more than the 899"),
        (None, Offer(cost=900, gain=2000), True, "u is not known"),
        (None, Offer(cost=900, gain=2000, budget=0), False, "more than the 0"),
    ],
)
def test_samples_are_bought_where_u_decides_little_and_they_pay(
    u: float | None, offer: Offer, buy: bool, reason: str
) -> None:
    found = worth_sampling(u, tau=0.5, band=0.1, offer=offer)
    assert found.buy is buy
    assert reason in found.reason
