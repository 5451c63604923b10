"""Scripts: order, match, log-probs, and going on after a resume."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path

import pytest

from camel.messages import Message, Sampling
from camel.models.model import ModelUnusable
from camel.models.open import open_model
from camel.models.scripted import Reply, ScriptedModel

ONE = Sampling()


def say(model: ScriptedModel, prompt: str) -> str:
    return model.answer([Message("user", prompt)], ONE)[0].text


def test_replies_come_in_order_and_end_with_a_clear_error() -> None:
    model = ScriptedModel(["one", "two"])
    assert [say(model, "x"), say(model, "y")] == ["one", "two"]
    with pytest.raises(ModelUnusable, match="no reply left for 'and more'"):
        say(model, "and more")


def test_matching_replies_come_first_and_the_last_of_them_stays() -> None:
    model = ScriptedModel(["plain", Reply("first", match="bug"), Reply("later", match="bug")])
    assert [say(model, p) for p in ("a bug", "else", "bug!", "bug?")] == ["first", "plain", "later", "later"]


def test_text_is_kept_exactly_and_u_is_the_answers_uncertainty() -> None:
    text = "  def f():\n\treturn 1\n"
    answer = ScriptedModel([Reply(text, u=0.7)]).answer([Message("user", "x")], ONE)[0]
    assert answer.text == "".join(token.text for token in answer.tokens) == text
    assert answer.logprob_kind == "raw"
    mean = sum(math.exp(token.logprob) for token in answer.tokens) / len(answer.tokens)
    assert -math.log(mean) == pytest.approx(0.7)


def test_empty_reply_has_no_log_probs() -> None:
    answer = ScriptedModel([""]).answer([Message("user", "x")], ONE)[0]
    assert (answer.tokens, answer.logprob_kind) == ((), "none")


def test_several_answers_take_several_replies() -> None:
    answers = ScriptedModel(["a", "b", "c"]).answer([Message("user", "x y")], Sampling(n=2))
    assert [answer.text for answer in answers] == ["a", "b"]
    assert sum(answer.usage.prompt_tokens for answer in answers) == 2


def test_function_decides() -> None:
    model = ScriptedModel(lambda messages, sampling: f"{messages[-1].content} at {sampling.temperature}")
    assert model.answer([Message("user", "hot")], Sampling(temperature=0.9))[0].text == "hot at 0.9"


@pytest.mark.parametrize("stop", range(5))
def test_resumed_run_goes_on_where_it_was(stop: int) -> None:
    script: list[Reply | str] = ["1", Reply("bug 1", match="bug"), "2", Reply("bug 2", match="bug"), "3"]
    prompts = ["x", "bug", "y", "bug", "z"]
    whole = ScriptedModel(script)
    expected = [say(whole, prompt) for prompt in prompts]
    resumed = ScriptedModel(script)
    for prompt in prompts[:stop]:
        resumed.fast_forward([Message("user", prompt)], ONE)
    assert [say(resumed, prompt) for prompt in prompts[stop:]] == expected[stop:]


@pytest.mark.parametrize("as_lines", [False, True])
def test_script_file(tmp_path: Path, as_lines: bool) -> None:
    entries = ["hel\u2028lo", {"text": "yes no", "logprobs": [-9999, -0.25], "finish_reason": "length"}]
    path = tmp_path / "script.json"
    dumps = partial(json.dumps, ensure_ascii=False)
    path.write_text("\n".join(map(dumps, entries)) if as_lines else dumps(entries), encoding="utf-8")
    model = open_model(f"scripted:{path}")
    assert model.answer([Message("user", "x")], ONE)[0].text == "hel\u2028lo"
    second = model.answer([Message("user", "x")], ONE)[0]
    assert [token.logprob for token in second.tokens] == [-math.inf, -0.25]
    assert second.finish_reason == "length"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('["a", ', "is not JSON"),
        ('["a", {"texts": "b"}]', "reply 2: .*texts"),
        ('["a", 3]', "reply 2"),
        ('[{"text": "b", "match": "("}]', "reply 1"),
        ('[{"text": "two words", "logprobs": [-1]}]', "reply 1: 1 log-probs for the 2 tokens"),
    ],
)
def test_script_that_is_wrong_says_where(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(ModelUnusable, match=sentence):
        ScriptedModel.from_file(path)
