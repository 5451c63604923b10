"""How sure was a model of these answers? Scores what another framework has saved."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import console
from uq.decision import Decision, decide
from uq.doubtful_spans import Span, doubtful_spans, quoted
from uq.saved import NotReadable, saved_answers
from uq.scores import TokenScore, to_json
from uq.threshold import FALLBACK_TAU, Threshold
from uq.token_selection import CONTENT, SELECTIONS
from uq.token_uncertainty import token_uncertainty

PROCEED, DOUBTFUL, NOT_READ = 0, 1, 2

_EPILOG = """\
u is minus the log of the mean token probability, in nats: 0 is certain, 0.69 a probability of one half on
average. Above the threshold an answer triggers.

exit codes: 0 every answer may proceed; 1 one triggers or cannot be measured; 2 a file cannot be read
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a score and a decision for each answer. Returns the exit code."""
    console.forgive()
    options = _parser().parse_args(arguments)
    code = PROCEED
    try:
        answers = [answer for path in options.files for answer in saved_answers(path, options.log_probs)]
    except (NotReadable, OSError) as error:
        print(f"uq: {error}", file=sys.stderr)
        return NOT_READ
    threshold = Threshold(options.threshold, "--threshold", "answer")
    for answer in answers:
        decision = decide(token_uncertainty(answer, options.selection), threshold)
        spans = doubtful_spans(answer, options.spans) if decision.u is not None else []
        print(_json(answer.place, decision, spans) if options.json else _lines(answer.place, decision, spans))
        code = code if decision.action == "proceed" else DOUBTFUL
    return code


def _json(place: str, decision: Decision, spans: Sequence[Span]) -> str:
    record = {"answer": place, **to_json(decision), "doubtful": [to_json(span) for span in spans]}
    return json.dumps(record, allow_nan=False)


def _lines(place: str, decision: Decision, spans: Sequence[Span]) -> str:
    lines = [f"{place}: {decision.action}: {decision.reason}"]
    if isinstance(score := decision.measurement, TokenScore):
        lines.append(
            f"  u {score.value:.4f} nats over {score.n} tokens ({score.selection}, {score.logprob_kind} log-probs)"
        )
        lines.append(
            f"  smallest p {score.smallest_p:.3g}; mean surprise {score.mean_surprise:.4f}, "
            f"of the worst tenth {score.worst_tenth:.4f} nats"
        )
        if score.yes_share is not None:
            lines.append(f"  yes against no: {score.yes_share:.3f}")
        counts = {"of probability 0": score.nonfinite, "with a floor value": score.censored}
        lines += [f"  tokens {what}: {count}" for what, count in counts.items() if count]
        lines += ["  cut short by the token limit"] * score.truncated
    return "\n".join(lines + [f"  p {span.p:.2f}  {quoted(span)}" for span in spans])


def _parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m uq", description=__doc__, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    result.add_argument(
        "files", nargs="+", type=Path, metavar="FILE",
        help="chat completions with log-probs, or lists of log-probs (nats): a JSON document, or one on each line",
    )  # fmt: skip
    result.add_argument(
        "--threshold", type=_at_least_0(float), default=FALLBACK_TAU, metavar="NATS", help="default: %(default)s"
    )
    result.add_argument(
        "--selection", choices=SELECTIONS, default=CONTENT,
        help="which tokens count: all of the answer, or the one in which a decision falls (default: %(default)s)",
    )  # fmt: skip
    result.add_argument(
        "--log-probs", choices=("raw", "processed", "unknown"), default="unknown",
        help="of the model itself, or after temperature and truncation, which are refused (default: %(default)s)",
    )  # fmt: skip
    result.add_argument(
        "--spans",
        type=_at_least_0(int),
        default=5,
        metavar="COUNT",
        help="doubtful places to show (default: %(default)s)",
    )
    result.add_argument("--json", action="store_true", help="one JSON object a line for each answer")
    return result


def _at_least_0(kind: Callable[[str], float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = kind(text)
        if not 0 <= value < math.inf:
            raise ValueError
        return value

    return number  # argparse complains of an "invalid number value"


if __name__ == "__main__":
    sys.exit(main())
