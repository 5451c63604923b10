"""How sure a language model was of an answer, whether that is sure enough, and what to do if not.

Independent of any agent framework: an answer is anything with the attributes of `uq.evidence.Evidence`,
and a handoff between agents anything with those of `uq.remedies.Handoff`.
"""

from uq.code_scoring import CodeScorer, score_code
from uq.scoring import ScoreResult
from uq.text_scoring import TextScorer, score_text

__all__ = ["CodeScorer", "ScoreResult", "TextScorer", "score_code", "score_text"]
