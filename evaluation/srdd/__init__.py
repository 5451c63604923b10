"""The SRDD evaluation: build tasks in several arms, score the products, compare the arms.

    python -m evaluation.srdd generate --tasks tasks.csv --arm chatdev --arm ua-chatdev --out OUT
    python -m evaluation.srdd score OUT
    python -m evaluation.srdd report OUT

`generate` writes one folder a task and arm, `score` is a function of such folders alone, and `report` one of
the scores. Each can be stopped and started again: what was done stays done.
"""


class EvaluationError(Exception):
    """The evaluation cannot go on; the message says why and what to do."""
