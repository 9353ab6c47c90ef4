"""BLEU of translations with `sacrebleu`."""

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
    """BLEU with its interval and signature.

    Attributes:
        score: BLEU, from 0 to 100.
        low: Lower end of the interval.
        high: Upper end of the interval.
        signature: Signature of `sacrebleu`: version, tokenizer, casing, smoothing, number of references.
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
    """BLEU of detokenized text, with the percentile bootstrap interval; `sacrebleu` tokenizes it.

    Args:
        translations: Detokenized translations with capitals: texts, or the name of a file with one per line.
        *references: References, as many as translations; one argument per reference of a sentence.
        lowercase: Whether case is ignored.
        tokenize: Tokenizer of sacrebleu: "13a", "intl", "zh", "char", "none", ...
        confidence: Confidence level of the interval.
        resamples: Number of bootstrap resamples of the sentences; with 0 the interval is the score.
        seed: Seed of the resampling.

    Raises:
        ImportError: `sacrebleu` is not installed.
        TypeError: A translation or a reference is not a `str`.
        ValueError: The numbers of translations and references differ or are 0, or an option is out of range.

    Warns:
        UserWarning: Most translations end with " .", as tokenized text does.

    Example:
        >>> from sentencode.evaluation import bleu
        >>> score = bleu(["The dog runs in the park."], ["The dog runs in a park."], resamples=0)
        >>> round(score.score, 1)
        48.9
        >>> score.signature.split("|version")[0]
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
    hypotheses = _texts("translations", translations)
    all_references = [_texts(f"references[{i}]", texts) for i, texts in enumerate(references)]
    if not all_references or not hypotheses:
        raise ValueError("bleu: give translations and at least one list of references")
    for i, texts in enumerate(all_references):
        if len(texts) != len(hypotheses):
            raise ValueError(
                f"bleu: there are {len(hypotheses)} translations and {len(texts)} references"
                + (f" in list {i}" if len(all_references) > 1 else "")
            )
    tokenized = sum(text.rstrip().endswith(" .") for text in hypotheses)
    if 2 * tokenized > len(hypotheses):
        warnings.warn(
            f"bleu: {tokenized} of {len(hypotheses)} translations end with ' .': detokenize them first",
            stacklevel=2,
        )
    metric = metrics.BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    score = float(metric.corpus_score(hypotheses, all_references).score)
    signature = str(metric.get_signature())
    if resamples == 0:
        return Bleu(score, score, score, signature)
    # Counts of n-grams add up over sentences, so a resample is a sum of rows of counts. `effective_order`
    # changes only the sentence's score, which is not used, and avoids a warning.
    single = metrics.BLEU(lowercase=lowercase, tokenize=tokenize, force=True, effective_order=True)
    counts = np.array(
        [
            [sentence.sys_len, sentence.ref_len, *sentence.counts, *sentence.totals]
            for sentence in map(single.sentence_score, hypotheses, zip(*all_references, strict=True))
        ]
    )
    sums = np.rint(resampled_means(list(counts.T), resamples, seed) * len(counts)).astype(int)
    order = metric.max_ngram_order
    resampled = [
        metric.compute_bleu(row[2 : 2 + order], row[2 + order :], row[0], row[1], metric.smooth_method).score
        for row in sums.tolist()
    ]
    return Bleu(score, *percentile_interval(np.array(resampled), confidence), signature)


def _texts(name: str, texts: Any) -> list[str]:
    if isinstance(texts, str | os.PathLike):
        texts = Corpus(texts, keep_empty=True)
    return checked_words(name, texts)
