"""Which of several programs to hand on, judged by what they show."""

from __future__ import annotations

import pytest

from uq.agreement import Behaviour, agreement

NOT_ENDORSED = (False, False)


def test_the_program_that_shows_what_most_show_is_agreed_with_most() -> None:
    odd, first, second = (Behaviour(shown, NOT_ENDORSED) for shown in [("1", "x"), ("2", "x"), ("2", "y")])
    shares = agreement([odd, first, second])
    # Of three voters on two inputs each: two others and the writer of what should be seen.
    assert shares == pytest.approx([1 / 6, 2 / 6, 1 / 6])


def test_what_was_written_down_beforehand_is_one_voter() -> None:
    right, wrong = Behaviour(("5",), (True,)), Behaviour(("6",), (False,))
    assert agreement([wrong, right]) == pytest.approx([0, 1 / 2])
    assert agreement([wrong, wrong, wrong, right]) == pytest.approx([2 / 4] * 3 + [1 / 4]), "two others outvote it"


def test_programs_that_crash_do_not_agree() -> None:
    crash = Behaviour((None, None), NOT_ENDORSED)
    assert agreement([crash, crash, Behaviour(("1", None), (True, False))]) == pytest.approx([0, 0, 1 / 6])


def test_without_inputs_nobody_agrees() -> None:
    assert agreement([Behaviour((), ()), Behaviour((), ())]) == [0.0, 0.0]
