"""BLEU of translations, by `sacrebleu`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..._extras import require
from ...checks import checked_bool, checked_int
from .intervals import SEED

__all__ = ["Bleu", "bleu"]


class Bleu(NamedTuple):
    """BLEU with its interval, and how it was computed."""

    score: float
    low: float
    high: float
    signature: str

    def __str__(self) -> str:
        return f"{self.score:.2f} ({self.low:.2f} to {self.high:.2f}; {self.signature})"


def bleu(
    translations: Iterable[str],
    *references: Iterable[str],
    lowercase: bool = False,
    confidence: float = 0.95,
    resamples: int = 1000,
) -> Bleu:
    """BLEU of a test set, of text as it is printed: sacrebleu cuts it into tokens itself.

    Args:
        translations: Restored: no tokens, no subwords, with capitals.
        *references: As they came, as many; several of each sentence by several arguments.
        lowercase: Whether case is of no matter.
        confidence: How much of the resampled scores the interval holds.
        resamples: How often sentences are drawn anew, with replacement; 0: there is no interval.

    Returns:
        From 0 to 100, the percentile bootstrap interval, and sacrebleu's signature.

    Raises:
        ImportError: If `sacrebleu` is not installed.
        ValueError: If there are not as many references as translations, or none.

    Example:
        >>> from sentencode.evaluation import bleu
        >>> found = bleu(["The dog runs in the park."], ["The dog runs in a park."], resamples=0)
        >>> round(found.score, 1)
        43.5
        >>> found.signature.split("|version")[0]
        'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp'
    """
    metrics = require("sacrebleu.metrics", "translate")
    hypotheses, all_references = list(translations), [list(of) for of in references]
    if not all_references or not hypotheses:
        raise ValueError("bleu: give translations and at least one list of references")
    for i, of in enumerate(all_references):
        if len(of) != len(hypotheses):
            raise ValueError(
                f"bleu: there are {len(hypotheses)} translations and {len(of)} references"
                + (f" in list {i}" if len(all_references) > 1 else "")
            )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
    resamples = checked_int("resamples", resamples, 0)
    metric = metrics.BLEU(lowercase=checked_bool("lowercase", lowercase), references=all_references)
    score = float(metric.corpus_score(hypotheses, None).score)
    signature = str(metric.get_signature())
    if resamples == 0:
        return Bleu(score, score, score, signature)
    low, high = _interval(metric, hypotheses, confidence, resamples)
    return Bleu(score, low, high, signature)


def _interval(metric: object, hypotheses: Sequence[str], confidence: float, n: int) -> tuple[float, float]:
    """Counts of n-grams add up over sentences, so that a resample is a sum of rows."""
    import numpy as np

    rows = np.array(metric._extract_corpus_statistics(hypotheses, None))  # type: ignore[attr-defined]
    draw = np.random.default_rng(SEED)
    scores = []
    for _ in range(n):
        drawn = draw.integers(len(rows), size=len(rows))
        scores.append(metric._compute_score_from_stats(rows[drawn].sum(0).tolist()).score)  # type: ignore[attr-defined]
    half = 50 * (1 - confidence)
    low, high = np.percentile(scores, [half, 100 - half])
    return float(low), float(high)
