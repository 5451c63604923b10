from __future__ import annotations

import math

import pytest

from uq.policy import Policy, PolicyError, policy_from


def test_an_empty_file_is_the_default_policy() -> None:
    assert policy_from({}) == Policy()


def test_every_key_is_read() -> None:
    policy = policy_from(
        {
            "mode": "observe",
            "signal": "token-uncertainty",
            "selections": {"LanguageChoose": "decision-v1"},
            "remedies": ["reprompt"],
            "cap": 1,
            "on_unavailable": "stop",
            "thresholds": {"Coding": 0.1},
        }
    )
    assert (policy.mode, policy.cap, policy.on_unavailable) == ("observe", 1, "stop")
    assert policy.selection("LanguageChoose") == "decision-v1"
    assert policy.selection("Coding") == "content-v1"
    assert [remedy.name for remedy in policy.remedies] == ["reprompt"]
    assert policy.thresholds.lookup("Coding", "m", "raw", "content-v1").tau == 0.1


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ({"mood": "act"}, "mood"),
        ({"mode": "off"}, "mode"),
        ({"mode": None}, "mode"),
        ({"signal": "vibes"}, "signal"),
        ({"selections": "content-v1"}, "selections"),
        ({"selections": {"Coding": "content-v9"}}, "selections.Coding"),
        ({"remedies": "reprompt"}, "remedies"),
        ({"remedies": ["reprompt", "prayer"]}, "remedies[1]"),
        ({"cap": -1}, "cap"),
        ({"cap": True}, "cap"),
        ({"cap": 1.5}, "cap"),
        ({"on_unavailable": "panic"}, "on_unavailable"),
        ({"thresholds": {"Coding": -0.1}}, "thresholds.Coding"),
        ({"thresholds": {"Coding": math.nan}}, "thresholds.Coding"),
        ({"thresholds": {"Coding": math.inf}}, "thresholds.Coding"),
        ({"thresholds": {"Coding": 10**400}}, "thresholds.Coding"),
        ({"thresholds": {"Coding": "0.5"}}, "thresholds.Coding"),
        ({"thresholds": [0.5]}, "thresholds"),
    ],
)
def test_an_error_names_its_key(data: dict[str, object], key: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy_from(data)
    assert caught.value.key == key
    assert str(caught.value).startswith(f"{key}: ")
