"""Which answers mean, or do, the same: verdicts on pairs, and the groups that follow from them.

Groups are made by leaders: the first answer that is in no group yet leads the next one, and takes in each
later answer that the judge finds the same as the leader. Equivalence is not transitive for any real judge, so
the order of the answers matters; the answer under test comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from uq.scores import SampleScore, Unavailable

Judge = Callable[[str, str], bool | None]
"""Says whether the first text holds for the second; None where it has no opinion."""

Groups = tuple[tuple[int, ...], ...]


@dataclass
class Verdicts:
    """Puts pairs to a judge, and none twice that it has decided.

    Texts that are the same but for white space at their ends need no judge, unless he is `strict`: one who runs
    programs knows whether they do anything at all. With `both_orders` only a judge who says yes both ways is
    believed: no real judge is symmetric. Without, the order asked first counts for both. An abstention is no
    verdict: it is not kept, and the pair is put at most `attempts` times at once.
    """

    judge: Judge
    both_orders: bool = True
    attempts: int = 2
    strict: bool = False
    calls: int = 0
    known: dict[tuple[str, str], bool] = field(default_factory=dict)

    def same(self, first: str, second: str) -> bool | None:
        """Return the verdict on a pair, None for an abstention."""
        first, second = first.strip(), second.strip()
        if first == second and not self.strict:
            return True
        verdict = self._directed(first, second)
        return self._directed(second, first) if verdict and self.both_orders else verdict

    def _directed(self, first: str, second: str) -> bool | None:
        pairs = [(first, second)] if self.both_orders else [(first, second), (second, first)]
        for pair in pairs:
            if pair in self.known:
                return self.known[pair]
        for _ in range(self.attempts):
            self.calls += 1
            verdict = self.judge(first, second)
            if verdict is not None:
                self.known[first, second] = verdict
                return verdict
        return None


@dataclass(frozen=True)
class Clustering:
    """Answers in groups of equals, each group named by its members and led by the first of them.

    `anchored` holds the verdicts on the first answer and each other one, in order. `decided` and `abstained`
    count pairs, `inputs` the inputs on which programs were compared.
    """

    groups: Groups
    anchored: tuple[bool | None, ...]
    decided: int
    abstained: int
    inputs: int = 0


def leader_clusters(texts: Sequence[str], verdicts: Verdicts, inputs: int = 0) -> Clustering:
    """Group `texts` by leaders: at most n (n - 1) / 2 pairs, n - 1 where all are the same.

    A pair on which the judge abstains counts as different: what nobody vouched for makes nobody sure.
    """
    groups: list[tuple[int, ...]] = []
    found: list[tuple[bool | None, ...]] = []
    remaining = list(range(len(texts)))
    while remaining:
        leader, *others = remaining
        answers = tuple(verdicts.same(texts[leader], texts[other]) for other in others)
        joined = [other for other, same in zip(others, answers, strict=True) if same]
        groups.append((leader, *joined))
        found.append(answers)
        remaining = [other for other in others if other not in joined]
    abstained = sum(same is None for answers in found for same in answers)
    pairs = sum(map(len, found))
    return Clustering(tuple(groups), found[0] if found else (), pairs - abstained, abstained, inputs)


def with_evidence(score: SampleScore | Unavailable, clustering: Clustering) -> SampleScore | Unavailable:
    """Return `score` with the groups it comes from, the pairs that made them, and the inputs.

    A score that counts pairs of its own keeps its counts. Where the judge abstained on most of the pairs that
    count there is no score: it would measure the judge.
    """
    if isinstance(score, Unavailable):
        return score
    if not score.decided + score.abstained:
        score = replace(score, decided=clustering.decided, abstained=clustering.abstained)
    if score.abstained > score.decided:
        pairs = score.abstained + score.decided
        return Unavailable("abstained", f"The judge had no opinion on {score.abstained} of {pairs} pairs.")
    return replace(score, groups=clustering.groups, inputs=clustering.inputs)
