"""The loss of predicting the following words without reading the sentence, by n-gram models."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..training import Examples

__all__ = ["FLOORS", "floor_of", "loss_floor"]

FLOORS = {"unigram model": 1, "bigram model": 2}  # row -> order
_DISCOUNT = 0.75


def loss_floor(train: Examples, valid: Examples, order: int) -> float:
    """Return the mean cross-entropy of the field "following", in nats per word.

    The bigram model is interpolated Kneser-Ney with one discount. It predicts the first following word, which
    has no previous one in the decoder, as the unigram model does.

    Args:
        train: Sentences in order, with the vocabulary of `valid`.
        valid: Examples with the field "following".
        order: 1 for word frequencies, 2 for those after the previous word, too.
    """
    size = train.vocabulary_size()
    ids = train.core.ids("tokens").astype(np.int64)
    targets = valid.core.ids("following").astype(np.int64)
    p = ((np.bincount(ids, minlength=size) + 1) / (len(ids) + size))[targets]
    if order == 2:
        pairs, counts = np.unique(ids[:-1] * size + ids[1:], return_counts=True)
        first, second = np.divmod(pairs, size)
        total = np.bincount(first, counts, size)
        freed = np.ones(size)  # of the probability after each word, by the discount
        np.divide(_DISCOUNT * np.bincount(first, minlength=size), total, out=freed, where=total > 0)
        continuation = (np.bincount(second, minlength=size) + 1) / (len(pairs) + size)
        keys = targets[:-1] * size + targets[1:]
        at = np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)
        seen = np.where(pairs[at] == keys, counts[at] - _DISCOUNT, 0) / np.maximum(total, 1)[targets[:-1]]
        bigrams = seen + freed[targets[:-1]] * continuation[targets[1:]]
        inside = np.setdiff1d(np.arange(1, len(targets)), valid.core.offsets("following"))
        p[inside] = bigrams[inside - 1]
    return float(-np.log(p).mean())


def floor_of(encoder: Any, train: Any, valid: Any, order: int) -> float:
    """Return the loss of an n-gram model with the vocabulary and the targets of an encoder.

    Args:
        encoder: A fitted `RNNCNN` that predicts words.
        train: Training sentences.
        valid: Validation sentences.
        order: As for `loss_floor`.
    """
    parameters = encoder.get_params(deep=False)
    words, tokenizer = encoder.vocabulary_, encoder.tokenizer_
    targets = Examples.build(
        valid,
        words,
        tokenizer,
        following_words=parameters["following_words"],
        min_length={"tokens": parameters["min_length"], "following": 1},
        max_length={"tokens": parameters["max_length"], "following": None},
    )
    return loss_floor(Examples.build(train, words, tokenizer), targets, order)
