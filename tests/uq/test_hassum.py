"""Policy HASSUM as a machine: what it does after each round, and what it says about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from uq.clustering import Verdicts, leader_clusters
from uq.hassum import Deliberation, Hassum, HassumSettings, Reading
from uq.policy import PolicyError, policy_from
from uq.scores import Unavailable
from uq.scoring import GivenText
from uq.semantic_density import semantic_density
from uq.semantic_entropy import semantic_entropy

WRITER, EDITOR, CRITIC = "Writer", "Editor", "Critic"


@dataclass
class People:
    """A handoff whose workers say the letters of `rounds`, one an answer, and whose executive gives `orders`."""

    rounds: list[str]
    orders: list[str] = field(default_factory=list)
    workers: tuple[str, ...] = (EDITOR, CRITIC)
    asked: list[tuple[str, int, bool]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    subtask: str = "Manual"
    role: str = WRITER
    unusable: str = ""

    def __post_init__(self) -> None:
        self.letters = iter("".join(self.rounds))
        self.answer = GivenText(next(self.letters))

    def sample(self, role: str, n: int, temperature: float, extra: str, after: GivenText) -> list[GivenText]:
        assert temperature == 0.85
        self.asked.append((role, n, bool(extra)))
        return [GivenText(letter) for _, letter in zip(range(n), self.letters, strict=False)]

    def executive(self, question: str) -> str:
        self.questions.append(question)
        return self.orders[len(self.questions) - 1]

    def usable(self, answer: GivenText) -> bool:
        return answer.text not in self.unusable


def measured(answers: Sequence[GivenText]) -> tuple[Reading, Reading]:
    texts = [answer.text for answer in answers]
    groups = leader_clusters(texts, Verdicts(lambda a, b: a == b)).groups
    return semantic_entropy(groups), semantic_density(
        [[float(text == letter) for letter in "abcdef"] for text in texts]
    )


def run(
    people: People, settings: HassumSettings | None = None, measure: object = measured
) -> tuple[str, list[Deliberation]]:
    records: list[Deliberation] = []
    hassum = Hassum(settings or HassumSettings(), measure, records.append)  # type: ignore[arg-type]
    return hassum(people).text, records


def test_answers_that_agree_are_accepted_at_once() -> None:
    people = People(["aaaaa"])
    answer, (record,) = run(people)
    assert (answer, record.decision, record.flagged, record.kept) == ("a", "accept", False, "a")
    assert people.asked == [(WRITER, 4, False)], "the answer itself is one of the five"
    assert record.backends == {"entropy": "ok", "density": "ok"}


def test_ask_again_then_another_worker_then_several_then_the_cap() -> None:
    people = People(["abcde", "abcdd", "aabbc", "fedcb"], ["Ask again.", "ANOTHER WORKER", "**several workers**"])
    answer, records = run(people)
    assert [record.decision for record in records] == ["ask again", "another worker", "several workers", "cap"]
    assert [record.action for record in records] == [
        "first answer",
        "ask again",
        "another worker",
        "several workers",
    ]
    assert people.asked == [
        (WRITER, 4, False),
        (WRITER, 5, True),
        (EDITOR, 5, False),
        (WRITER, 2, False),
        (CRITIC, 2, False),
        (EDITOR, 1, False),
    ]
    assert [record.roles for record in records][2:] == [(EDITOR,), (WRITER, CRITIC, EDITOR)]
    assert {record.samples for record in records} == {5}
    assert records[2].groups == ((0, 1), (2, 3), (4,))
    assert records[0].concerns == ("entropy 1.609 > 1.1", "density 0.2 < 0.8")
    assert records[2].concerns == ("density 0.36 < 0.8",), "an entropy of 1.055 passes"
    assert (answer, records[-1].kept, records[-1].flagged) == ("a", "a", True), (
        "the best round, and still in doubt"
    )
    assert records[-1].reason.endswith("3 further rounds are all there are")


def test_an_action_of_the_last_two_is_neither_offered_nor_taken() -> None:
    people = People(["abcde"] * 4, ["another worker", "another worker", "ask again"])
    _, records = run(people)
    assert [record.decision for record in records] == ["another worker", "ask again", "several workers", "cap"]
    assert "another worker:" not in people.questions[1]
    assert "named none of ask again, several workers, accept" in records[1].reason
    assert records[1].said == "another worker"
    assert "named none of several workers, accept" in records[2].reason


def test_the_executive_may_accept_and_the_doubt_stays_on_record() -> None:
    _, (record,) = run(People(["aabcd"], ["accept"]))
    assert (record.decision, record.flagged, record.kept) == ("accept", True, "a")


def test_nonsense_from_the_executive_is_no_acceptance() -> None:
    _, records = run(People(["abcde", "bbbbb"], ["I would not accept this"]))
    assert [record.decision for record in records] == ["ask again", "accept"]
    assert (records[1].flagged, records[1].kept) == (False, "b")


def test_nobody_else_to_ask() -> None:
    _, records = run(People(["abcde", "abcde"], ["ask again"], workers=()))
    assert [record.decision for record in records] == ["ask again", "accept"]
    assert records[1].flagged


def test_what_the_executive_accepts_is_the_round_that_was_shown() -> None:
    answer, records = run(People(["aabcd", "bcdea"], ["ask again", "accept"]))
    assert [record.decision for record in records] == ["ask again", "accept"]
    assert (answer, records[1].kept, records[1].kept_number, records[1].flagged) == ("b", "b", 2, True)


@pytest.mark.parametrize(
    ("rounds", "kept", "number"),
    [
        (["abcde", "ccbbd", "bcdea"], "c", 2),  # one concern instead of two
        (["aabcd", "dddbc", "bbcde"], "d", 2),
        (["aabbc", "cccdd", "ddeea"], "c", 2),  # each passes by entropy alone, one is denser
    ],
)
def test_at_the_cap_the_best_round_is_kept_whichever_it_is(rounds: list[str], kept: str, number: int) -> None:
    answer, records = run(People(rounds, ["ask again", "another worker"]), HassumSettings(cap=2))
    assert records[-1].decision == "cap"
    assert (answer, records[-1].kept_number, records[-1].flagged) == (kept, number, True)


def test_without_further_rounds_nobody_is_asked() -> None:
    people = People(["abcde"])
    answer, (record,) = run(people, HassumSettings(cap=0))
    assert (answer, record.decision, record.flagged, people.questions) == ("a", "cap", True, [])


def test_a_long_cap_runs_out_of_actions_only_by_the_last_two() -> None:
    people = People(["abcde"] * 6, ["ask again", "another worker", "several workers"] * 2)
    _, records = run(people, HassumSettings(cap=5))
    actions = [record.action for record in records[1:]]
    assert actions == ["ask again", "another worker", "several workers", "ask again", "another worker"]
    assert records[-1].decision == "cap"


def empty(letters: str) -> list[GivenText]:
    return [GivenText("" if letter == "-" else letter) for letter in letters]


def test_empty_answers_agree_in_nothing() -> None:
    people = People(["abcde"], ["ask again"])
    answers = iter([empty("bcde"), empty("-----")])
    people.sample = lambda *asked: next(answers)  # type: ignore[method-assign]
    answer, records = run(people)
    assert [record.decision for record in records] == ["ask again", "unavailable"]
    assert (answer, records[1].kept_number, records[1].flagged) == ("a", 1, True)
    assert "0 of 5 answers" in records[1].backends["density"]


def test_an_answer_that_cannot_be_used_is_not_handed_on() -> None:
    assert run(People(["bbbba"], unusable="b"), HassumSettings(density=None))[0] == "a"
    assert run(People(["abbbb"], ["accept"], unusable="ab"))[0] == "a", "none is better than the one there was"


def no_density(answers: Sequence[GivenText]) -> tuple[Reading, Reading]:
    return measured(answers)[0], Unavailable("no_embedding_model", "not installed")


def test_a_backend_that_is_not_there_is_no_pass_and_no_reason_to_ask_again() -> None:
    answer, (record,) = run(People(["aaaaa"]), measure=no_density)
    assert (answer, record.decision, record.flagged) == ("a", "unavailable", True)
    assert record.backends == {"entropy": "ok", "density": "no_embedding_model: not installed"}
    _, records = run(People(["abcde", "aaaaa"], ["ask again"]), measure=no_density)
    assert [record.decision for record in records] == ["ask again", "unavailable"], "the other signal still acts"


def test_a_signal_that_is_switched_off_is_not_missed() -> None:
    def entropy_only(answers: Sequence[GivenText]) -> tuple[Reading, Reading]:
        return measured(answers)[0], None

    _, (record,) = run(People(["aaabb"]), HassumSettings(density=None), entropy_only)
    assert (record.decision, record.flagged, record.backends["density"]) == ("accept", False, "off")

    def density_only(answers: Sequence[GivenText]) -> tuple[Reading, Reading]:
        return None, measured(answers)[1]

    _, (record,) = run(People(["aaaab"], ["accept"]), HassumSettings(entropy=None), density_only)
    assert (record.concerns, record.backends["entropy"]) == (("density 0.68 < 0.8",), "off")
    _, (record,) = run(People(["aaaaa"]), HassumSettings(entropy=None), density_only)
    assert (record.decision, record.flagged) == ("accept", False)


def test_fewer_answers_than_asked_for_do_not_agree_more_easily() -> None:
    _, (record,) = run(People(["aa"]))
    assert (record.decision, record.flagged, record.samples) == ("unavailable", True, 2)
    assert "2 of 5 answers" in record.backends["entropy"]


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"entropy": 1.65}, "no entropy of 5 answers exceeds ln 5 = 1.609"),
        ({"entropy": math.log(5)}, "exceeds ln 5"),
        ({"entropy": 1.1, "samples": 3}, "exceeds ln 3"),
        ({"density": 0.2}, "between 1/5 and 1"),
        ({"density": 1.2}, "between 1/5 and 1"),
        ({"density": None, "entropy": None}, "cannot both be left out"),
        ({"samples": 1}, "cannot be compared"),
        ({"samples": 2.5}, "hassum.samples"),
        ({"cap": -1}, "cap must be 0 or more"),
        ({"temperature": 0}, "temperature a number above 0"),
        ({"temperature": math.nan}, "temperature"),
        ({"density": "0.8"}, "hassum.density"),
        ({"kernel": 1}, "keys of density, entropy"),
    ],
)
def test_thresholds_that_nothing_can_reach_are_refused(settings: dict[str, object], key: str) -> None:
    with pytest.raises(PolicyError, match=key):
        policy_from({"hassum": settings})


def test_settings_of_a_company() -> None:
    assert policy_from({"hassum": {"density": None, "entropy": 0.9, "cap": 5}}).hassum == HassumSettings(
        None, 0.9, cap=5
    )
