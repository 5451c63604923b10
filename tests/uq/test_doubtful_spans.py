from __future__ import annotations

import math

import pytest

from camel.messages import Answer, Token
from uq.doubtful_spans import doubtful_spans

SURE = -0.01


def said(*parts: str | tuple[str, float] | Token) -> Answer:
    tokens = tuple(
        part if isinstance(part, Token) else Token(part, SURE) if isinstance(part, str) else Token(*part)
        for part in parts
    )
    return Answer("".join(token.text for token in tokens), tokens, logprob_kind="raw")


def test_a_half_token_is_quoted_as_the_whole_word_in_its_line() -> None:
    doubt = Token("Sort", -2.0, (("Sort", -2.0), ("Merge", -0.5), ("Find", -2.5), ("zz", -9.0)))
    (span,) = doubtful_spans(said("x = 1\n", "def", " quick", doubt, "(items", "):\n", "    pass"), limit=5)
    assert span.text == "quickSort"
    assert span.p == pytest.approx(math.exp(-2.0))
    assert span.alternatives == ("quickMerge", "quickFind")
    assert span.context == "def quickSort(items):"


def test_adjacent_doubts_are_one_span_and_lines_keep_them_apart() -> None:
    spans = doubtful_spans(
        said("a ", ("os", -1.0), (".unlink", -2.0), "()\n", "b = ", ("1", -3.0), "\n", ("c", -1.5)), 9
    )
    assert [(span.text, span.context) for span in spans] == [
        ("1", "b = 1"),
        ("os.unlink", "a os.unlink()"),
        ("c", "c"),
    ]


def test_the_most_doubtful_come_first_within_the_limit_and_none_twice() -> None:
    spans = doubtful_spans(said(("a", -1.0), " ", ("b", -3.0), " ", ("c", -2.0), " ", ("b", -4.0)), limit=2)
    assert [span.text for span in spans] == ["b", "c"]
    assert spans[0].p == pytest.approx(math.exp(-4.0))


def test_form_and_reasoning_are_not_quoted() -> None:
    parts = (
        "<think>",
        ("hm", -3.0),
        "</think>",
        "\n",
        ("```", -2.0),
        ("python", -2.0),
        "\n",
        ("\n", -4.0),
        "x",
    )
    assert doubtful_spans(said(*parts), limit=5) == []


def test_a_sure_answer_has_no_doubtful_span() -> None:
    assert doubtful_spans(said("all", " good"), limit=5) == []
    assert doubtful_spans(Answer(""), limit=5) == []


def test_an_impossible_token_is_the_most_doubtful() -> None:
    spans = doubtful_spans(said(("a", -5.0), " ", ("b", -math.inf), " ", ("c", math.nan)), limit=5)
    assert [(span.text, span.p) for span in spans] == [("b", 0.0), ("a", pytest.approx(math.exp(-5.0)))]


def test_of_a_long_line_only_the_part_around_is_quoted() -> None:
    (span,) = doubtful_spans(said("x" * 500 + " ", ("word", -2.0), " " + "y" * 500), limit=1)
    assert "word" in span.context and len(span.context) < 140


def test_a_doubtful_end_of_line_ends_the_span() -> None:
    spans = doubtful_spans(said("x", (":\n", -1.0), ("y", -2.0)), limit=5)
    assert [(span.text, span.context) for span in spans] == [("y", "y"), (":", "x:")]
