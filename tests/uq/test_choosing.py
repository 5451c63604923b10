"""Which answer to hand on."""

from __future__ import annotations

import math

import pytest

from uq.choosing import most_agreed


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
