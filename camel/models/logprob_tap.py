"""Reads each token's evidence while a transformers model generates, and keeps nothing of the vocabulary's size."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class TokenRecord:
    """One emitted token and the likeliest ones at its place, as (id, log-prob in nats), best first."""

    id: int
    logprob: float
    alternatives: tuple[tuple[int, float], ...]


class LogprobTap:
    """A logits processor that changes nothing; it must be the first one, so that it sees raw logits.

    Log-probs are those of the full vocabulary at temperature 1. Which token was drawn shows only in the
    next step, so one row of the vocabulary is held for each sequence until then. What stays are 2k + 1
    numbers a token, on the model's device: reading them at once would stall it.
    """

    def __init__(self, prompt_length: int, k: int) -> None:
        self._prompt_length = prompt_length
        self._k = k
        self._row: Any = None
        self._logprobs: list[Any] = []
        self._tops: list[Any] = []

    def __call__(self, input_ids: Any, logits: Any) -> Any:
        """Take in a step: the sequences so far, a row each, and the `logits` of what comes next, a row each."""
        self._settle(input_ids)
        self._row = torch.log_softmax(logits.float(), dim=-1)
        self._tops.append(self._row.topk(min(self._k, self._row.shape[-1])))
        return logits

    def records(self, sequences: Any, ends: Collection[int]) -> list[list[TokenRecord]]:
        """Return the records of the generated `sequences` (prompts included), each up to its first id of `ends`.

        That end is part of it; what follows is padding. To be called once, after generation.
        """
        steps = sequences.shape[1] - self._prompt_length
        # A device that looks one step late whether all have ended has taken a step that is in no sequence.
        if len(self._logprobs) < steps:
            self._settle(sequences)
        columns = (
            sequences[:, self._prompt_length :],
            torch.stack(self._logprobs[:steps], dim=1),
            torch.stack([top.indices for top in self._tops[:steps]], dim=1),
            torch.stack([top.values for top in self._tops[:steps]], dim=1),
        )
        found = []
        for row in zip(*(column.tolist() for column in columns), strict=True):
            length = next((i + 1 for i, token in enumerate(row[0]) if token in ends), steps)
            fields = list(zip(*row, strict=True))[:length]
            found.append([TokenRecord(id, p, tuple(zip(ids, ps, strict=True))) for id, p, ids, ps in fields])
        return found

    def _settle(self, sequences: Any) -> None:
        """Read off the held row what the last step has drawn."""
        if self._row is not None:
            self._logprobs.append(self._row.gather(1, sequences[:, -1:])[:, 0])
            self._row = None
