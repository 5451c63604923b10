"""A model that single questions can be put to, several answers at a time; what `uq` asks for."""

from __future__ import annotations

from dataclasses import dataclass

from camel.messages import Answer, Message, Sampling
from camel.models.model import ContextOverflow, Model


@dataclass(frozen=True)
class ModelSampler:
    """Puts each question alone, after the system message `system` where there is one.

    Several answers are one request: they share the prompt in the engine and are drawn side by side. `seed`
    makes the draws repeatable.
    """

    model: Model
    system: str = ""
    max_tokens: int | None = None
    seed: int | None = None

    def sample(self, prompt: str, n: int, temperature: float) -> list[Answer]:
        """Return `n` answers, none where the prompt is too long. Raises ModelUnusable."""
        system = [Message("system", self.system)] if self.system else []
        sampling = Sampling(temperature=temperature, max_tokens=self.max_tokens, seed=self.seed, n=n)
        try:
            return self.model.answer([*system, Message("user", prompt)], sampling)
        except ContextOverflow:
            return []
