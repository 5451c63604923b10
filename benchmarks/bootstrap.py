"""Intervals for how well signals tell wrong answers from right ones, and for the difference of two of them.

Problems are drawn with replacement, the same ones for each signal, so that differences are paired. An interval
holds the middle 95 % of what the draws give (percentile bootstrap); draws in which all are right or all
wrong have no figure and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from calibration.labels import Response
from calibration.separation import aurc, auroc, prr

DRAWS = 1000
METRICS: Mapping[str, Callable[[Iterable[Response]], float | None]] = {"AUROC": auroc, "AURC": aurc, "PRR": prr}


class Estimate(NamedTuple):
    """A figure and its 95 % interval; None where there is no figure."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "-"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def estimates(
    signals: Mapping[str, Sequence[Response]], metric: str, draws: int = DRAWS, seed: int = 1
) -> tuple[dict[str, Estimate], dict[str, dict[str, Estimate]]]:
    """Return the figure of each signal, and for each pair of signals the first one's minus the second's.

    `signals` holds the answers to the same problems in the same order for each signal.
    """
    measure = METRICS[metric]
    whole = {name: measure(answers) for name, answers in signals.items()}
    size = len(next(iter(signals.values())))
    random, drawn = Random(seed), []
    for _ in range(draws):
        picked = [random.randrange(size) for _ in range(size)]
        drawn.append({name: measure([answers[n] for n in picked]) for name, answers in signals.items()})
    single = {name: _estimate(whole[name], [draw[name] for draw in drawn]) for name in signals}
    paired = {
        one: {
            other: _estimate(_minus(whole[one], whole[other]), [_minus(draw[one], draw[other]) for draw in drawn])
            for other in signals
            if other != one
        }
        for one in signals
    }
    return single, paired


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _estimate(value: float | None, drawn: Sequence[float | None]) -> Estimate:
    known = sorted(figure for figure in drawn if figure is not None)
    if value is None or not known:
        return Estimate(value)
    return Estimate(value, known[int(0.025 * len(known))], known[int(0.975 * (len(known) - 1) + 0.5)])
