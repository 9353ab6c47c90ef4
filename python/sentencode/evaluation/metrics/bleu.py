"""BLEU of translations, by `sacrebleu`."""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple

import numpy as np

from ..._extras import require
from ...checks import checked_bool, checked_float, checked_int, checked_str, checked_words
from ...text.corpus import Corpus
from .intervals import SEED, percentile_interval, resampled_means

__all__ = ["Bleu", "bleu"]


class Bleu(NamedTuple):
    """BLEU with its interval, and how it was computed.

    Attributes:
        score: From 0 to 100.
        low: Where the interval begins.
        high: Where it ends.
        signature: Of `sacrebleu`: its version, tokens, casing, smoothing, and how many references there were.
    """

    score: float
    low: float
    high: float
    signature: str

    def __str__(self) -> str:
        return f"{self.score:.2f} ({self.low:.2f} to {self.high:.2f}; {self.signature})"


def bleu(
    translations: Any,
    *references: Any,
    lowercase: bool = False,
    tokenize: str = "13a",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = SEED,
) -> Bleu:
    """BLEU of a test set, of text as it is printed: `sacrebleu` cuts it into tokens itself.

    Args:
        translations: Restored: no tokens, no subwords, with capitals. Texts, or the name of a file with one a
            line.
        *references: As they came, as many; several of each sentence by several arguments.
        lowercase: Whether case is of no matter.
        tokenize: One of sacrebleu's tokenizers: "13a", "intl", "zh", "char", "none", ...
        confidence: How much of the resampled scores the interval holds.
        resamples: How often sentences are drawn anew, with replacement; 0: the interval is the score alone.
        seed: Decides which sentences are drawn.

    Returns:
        From 0 to 100, the percentile bootstrap interval, and sacrebleu's signature.

    Raises:
        ImportError: If `sacrebleu` is not installed.
        TypeError: If a translation or a reference is no `str`.
        ValueError: If there are not as many references as translations, or none; or an option is out of
            range.

    Warns:
        UserWarning: If most translations end with " .", as they do before they are restored.

    Example:
        >>> from sentencode.evaluation import bleu
        >>> found = bleu(["The dog runs in the park."], ["The dog runs in a park."], resamples=0)
        >>> round(found.score, 1)
        48.9
        >>> found.signature.split("|version")[0]
        'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp'
    """
    metrics = require("sacrebleu.metrics", "translate")
    lowercase = checked_bool("lowercase", lowercase)
    if checked_str("tokenize", tokenize) not in metrics.BLEU.TOKENIZERS:
        raise ValueError(
            f"tokenize must be one of {', '.join(metrics.BLEU.TOKENIZERS)}, got {tokenize!r:.40}"
        )
    confidence = checked_float("confidence", confidence, 0, 1, above=True, below=True)
    resamples = checked_int("resamples", resamples, 0)
    hypotheses = _listed("translations", translations)
    all_references = [_listed(f"references[{i}]", of) for i, of in enumerate(references)]
    if not all_references or not hypotheses:
        raise ValueError("bleu: give translations and at least one list of references")
    for i, of in enumerate(all_references):
        if len(of) != len(hypotheses):
            raise ValueError(
                f"bleu: there are {len(hypotheses)} translations and {len(of)} references"
                + (f" in list {i}" if len(all_references) > 1 else "")
            )
    cut = sum(text.rstrip().endswith(" .") for text in hypotheses)
    if 2 * cut > len(hypotheses):
        warnings.warn(
            f"bleu: {cut} of {len(hypotheses)} translations end with ' .': restore them first", stacklevel=2
        )
    metric = metrics.BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    score = float(metric.corpus_score(hypotheses, all_references).score)
    signature = str(metric.get_signature())
    if resamples == 0:
        return Bleu(score, score, score, signature)
    # Counts of n-grams add up over sentences, so that a resample is a sum of rows. Each row comes of the
    # public score of one sentence; `effective_order`, which changes that score alone, keeps it from warning.
    single = metrics.BLEU(lowercase=lowercase, tokenize=tokenize, force=True, effective_order=True)
    rows = np.array(
        [
            [one.sys_len, one.ref_len, *one.counts, *one.totals]
            for one in map(single.sentence_score, hypotheses, zip(*all_references, strict=True))
        ]
    )
    sums = np.rint(resampled_means(list(rows.T), resamples, seed) * len(rows)).astype(int)
    order = metric.max_ngram_order
    drawn = [
        metric.compute_bleu(of[2 : 2 + order], of[2 + order :], of[0], of[1], metric.smooth_method).score
        for of in sums.tolist()
    ]
    return Bleu(score, *percentile_interval(np.array(drawn), confidence), signature)


def _listed(name: str, texts: Any) -> list[str]:
    if isinstance(texts, str | os.PathLike):
        texts = Corpus(texts, keep_empty=True)
    return checked_words(name, texts)
