from __future__ import annotations

import pytest

from camel.messages import Answer, Token
from uq.scores import TokenScore
from uq.token_selection import select, yes_share
from uq.token_uncertainty import token_uncertainty


def tokens(*texts: str) -> tuple[Token, ...]:
    return tuple(Token(text, -0.1) for text in texts)


def kept(name: str, *texts: str) -> list[str]:
    return [token.text for token in select(name, tokens(*texts))]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("Hello", " world", "<|im_end|>"), ["Hello", " world"]),
        (("<s>", " Hello", "</s>"), [" Hello"]),
        (("<bos>", "Hi", "<end_of_turn>", ""), ["Hi"]),
        (("Hi", "<\uff5cend\u2581of\u2581sentence\uff5c>"), ["Hi"]),
        (("\n", "  ", "Hi"), ["Hi"]),
        (("```", "python", "\n", "x", "\n\n", "```"), ["```", "python", "\n", "x", "\n\n", "```"]),
        (("<think>", "hm", "</think>", "\n\n", "Yes"), ["Yes"]),
        (("<", "think", ">", "hm", "</", "think", ">\n\n", "Yes"), ["Yes"]),
        (("<|im_start|>", "<think>", "hm", "</think>", "Yes"), ["Yes"]),
        (("So", " it", "\n", "</think>", "\n", "Yes"), ["Yes"]),
        (("<think>", "never", " ends"), []),
        (("x.split", "('</think>", "')"), ["x.split", "('</think>", "')"]),
        (("a", "<|im_end|>", "b"), ["a", "<|im_end|>", "b"]),
        (("a", "\n", ""), ["a", "\n"]),
        ((), []),
        (("", "<|im_end|>"), []),
    ],
)
def test_content(texts: tuple[str, ...], expected: list[str]) -> None:
    assert kept("content-v1", *texts) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("Yes", ".", "<|im_end|>"), ["Yes"]),
        (("\n", " yes"), [" yes"]),
        (("<think>", "no", "</think>", "\n", "Yes"), ["Yes"]),
        (("<INFO>", " Python"), [" Python"]),
        (("<", "INFO", "> Java", "Script"), ["> Java"]),
        (("<", "INFO", ">", " **", "Website", "**"), ["Website"]),
        (("I", " choose", "\n", "<INFO>", " C", "++"), [" C"]),
        (("<INFO>", " a", "<INFO>", " b"), [" b"]),
        (("<INFO>",), []),
        (("...",), []),
    ],
)
def test_decision(texts: tuple[str, ...], expected: list[str]) -> None:
    assert kept("decision-v1", *texts) == expected


def test_unknown_selection_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="content-v1, decision-v1"):
        select("content-v9", ())


def test_yes_share_joins_all_spellings() -> None:
    token = Token(" Yes", -0.5, ((" Yes", -0.5), ("yes", -3.0), (" NO", -2.0), ("No.", -3.0), (" maybe", -1.5)))
    yes, no = 2.718281828**-0.5 + 2.718281828**-3, 2.718281828**-2 + 2.718281828**-3
    assert yes_share(token) == pytest.approx(yes / (yes + no))


@pytest.mark.parametrize(
    "token",
    [Token("Yes", -0.1), Token("Yes", -0.1, (("Sure", -2.0),)), Token("Yes", -9999.0, (("no", -9999.0),))],
)
def test_yes_share_is_not_guessed(token: Token) -> None:
    assert yes_share(token) is None


def test_u_of_a_yes_no_answer_is_that_of_the_decision_alone() -> None:
    said = (Token("Yes", -0.7, (("No", -0.9),)), Token(".", -3.0), Token("<|im_end|>", -2.0))
    measured = token_uncertainty(Answer("Yes.", said, logprob_kind="raw"), "decision-v1")
    assert isinstance(measured, TokenScore)
    assert measured.value == 0.7
    assert (measured.n, measured.selection) == (1, "decision-v1")
    assert measured.yes_share is not None and 0.5 < measured.yes_share < 0.6
