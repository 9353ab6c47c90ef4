"""N-gram language model with interpolated, modified Kneser-Ney smoothing.

A public class, because perplexities of translation corpora (`reproduce nmt`, Table 6) need no more than this.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import count, repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..checks import checked_bool, checked_int
from ..errors import NotFittedError
from ..files import StrPath, whole_file
from .inputs import TEXT_AT_ONCE, batches, counted_from
from .tokenizer import Tokenizer

__all__ = ["NgramModel"]

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_BATCH = 16384
_UNKNOWN, _BEGIN, _END, _SPECIAL = 0, 1, 2, 3  # ids; then those of words
_NAMES = ("<unk>", "<s>", "</s>")
_FALLBACK = (0.0, 0.5, 1.0, 1.5)


class _Order(NamedTuple):
    """N-grams of one length, sorted by key: index of the first n - 1 words * vocabulary size + last word."""

    keys: Ids
    p: Floats
    weight: Floats  # of the shorter context after each; 1 if nothing follows it


class NgramModel:
    """A language model of n-grams with interpolated, modified Kneser-Ney smoothing (Chen and Goodman 1998).

    It is estimated like KenLM's `lmplz`: discounts for each length from counts of counts, one begin symbol
    per sentence, an end symbol that is predicted like a word, and unknown words with a uniform part of the
    probability that the discounts of unigrams free. If no n-gram has a count of 1, 2 or 3, as in small
    corpora, discounts are 0.5, 1 and 1.5. Sentences without words are skipped.

    Args:
        order: Length of the longest n-grams.
        tokenizer: A `Tokenizer`, or its argument.

    Example:
        >>> from sentencode.text import NgramModel
        >>> model = NgramModel(order=2).fit(["a dog runs", "a cat runs", "a dog sleeps"])
        >>> model.perplexity(["a dog runs"]) < model.perplexity(["runs dog a"])
        True
        >>> model.oov_rate(["a bird sleeps"])
        0.3333333333333333
    """

    def __init__(self, order: int = 4, *, tokenizer: Any = "whitespace") -> None:
        self.order = checked_int("order", order, 1, 16)
        self.tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
        self._words: dict[str, int] | None = None
        self._single = self._weight = np.empty(0)
        self._orders: list[_Order] = []

    def fit(self, sentences: Any) -> NgramModel:
        """Estimate the model, replacing a previous one.

        Args:
            sentences: A `Corpus`, its path, or an iterable of sentences.

        Returns:
            self.

        Raises:
            ValueError: No sentence has a word.
        """
        words: defaultdict[str, int] = defaultdict(count(_SPECIAL).__next__)
        ids, depth = self._read(sentences, lambda tokens: map(words.__getitem__, tokens))
        if not words:
            raise ValueError("fit: no sentence has a word")
        size = len(words) + _SPECIAL
        # Of each n-gram: key, index of its last n - 1 words, count, and whether it begins a sentence.
        keys, suffixes, counts, begins = [], [], [np.bincount(ids, minlength=size)], []
        shorter = ids
        for n in range(2, self.order + 1):
            at = np.flatnonzero(depth >= n - 1)
            unique, first, which, count_of = np.unique(
                shorter[at - 1] * size + ids[at], return_index=True, return_inverse=True, return_counts=True
            )
            keys.append(unique)
            suffixes.append(shorter[at[first]])
            counts.append(count_of)
            begins.append(depth[at[first]] == n - 1)
            shorter = np.full(len(ids), -1)
            shorter[at] = which
        counts[0][_BEGIN] = 0
        # All but the longest have continuation counts: the number of distinct words before them.
        for i, suffix in enumerate(suffixes):
            before = np.bincount(suffix, minlength=len(counts[i]))
            counts[i] = np.where(begins[i - 1], counts[i], before) if i else before
        every = np.zeros(size, np.int64)
        weight, p = _smoothed(counts[0], every, 1)
        single = p + weight[every] / (size - 1)  # of all words but the first symbol
        orders: list[_Order] = []
        self._weight, p = np.ones(size), single
        for key, suffix, count_of in zip(keys, suffixes, counts[1:], strict=True):
            weight, discounted = _smoothed(count_of, key // size, len(p))
            if orders:
                orders[-1] = orders[-1]._replace(weight=weight)
            else:
                self._weight = weight
            p = discounted + weight[key // size] * p[suffix]
            orders.append(_Order(key, p, np.ones(len(key))))
        self._words, self._single, self._orders = dict(words), single, orders
        return self

    def perplexity(self, sentences: Any, *, unknown: bool = False) -> float:
        """Return the perplexity, including the ends of sentences.

        Args:
            sentences: As for `fit`.
            unknown: Whether to include unknown words.

        Raises:
            NotFittedError: The model was not fitted.
            ValueError: No sentence has a word.
        """
        unknown = checked_bool("unknown", unknown)
        ids, depth = self._ids(sentences)
        counted = (depth > 0) if unknown else (depth > 0) & (ids != _UNKNOWN)
        return float(np.exp(-self._log_p(ids, depth)[counted].mean()))

    def oov_rate(self, sentences: Any) -> float:
        """Return the fraction of unknown words.

        Args:
            sentences: As for `fit`.

        Raises:
            NotFittedError: The model was not fitted.
            ValueError: No sentence has a word.
        """
        ids, depth = self._ids(sentences)
        return float((ids[(depth > 0) & (ids != _END)] == _UNKNOWN).mean())

    def log_probability(self, sentences: Any) -> Floats:
        """Return the natural log probability of each sentence that has a word, including its end [n].

        Args:
            sentences: As for `fit`.

        Raises:
            NotFittedError: The model was not fitted.
            ValueError: No sentence has a word.
        """
        ids, depth = self._ids(sentences)
        return np.add.reduceat(self._log_p(ids, depth), np.flatnonzero(depth == 0))

    def write_arpa(self, path: StrPath) -> None:
        """Write the ARPA format of KenLM and others.

        Raises:
            NotFittedError: The model was not fitted.
            ValueError: A word is `<s>`, `</s>` or `<unk>`, or has white space.
        """
        names = [*_NAMES, *self._fitted()]
        if len(set(names)) != len(names):
            raise ValueError(f"the text has one of {', '.join(_NAMES)}, which are symbols of the ARPA format")
        if (spaced := next((name for name in names if name.split() != [name]), None)) is not None:
            raise ValueError(
                f"the word {spaced!r:.60} has white space, which separates words in the ARPA format"
            )
        orders = [_Order(np.arange(len(names)), self._single, self._weight), *self._orders]
        with whole_file(path, follow_link=True) as out:
            sizes = "".join(f"ngram {n}={len(one.p)}\n" for n, one in enumerate(orders, 1))
            out.write(f"\\data\\\n{sizes}".encode())
            texts = names
            for n, one in enumerate(orders, 1):
                if n > 1:
                    parts = [part.tolist() for part in np.divmod(one.keys, len(names))]
                    texts = [f"{texts[first]} {names[last]}" for first, last in zip(*parts, strict=True)]
                p = np.log10(one.p)
                if n == 1:
                    p[_BEGIN] = 0
                weights = repeat("") if n == len(orders) else (f"\t{w:.7g}" for w in np.log10(one.weight))
                rows = zip(p.tolist(), texts, weights, strict=n < len(orders))
                lines = "".join(f"{value:.7g}\t{text}{weight}\n" for value, text, weight in rows)
                out.write(f"\n\\{n}-grams:\n{lines}".encode("utf-8", "surrogatepass"))
            out.write(b"\n\\end\\\n")

    def __repr__(self) -> str:
        words = "not fitted" if self._words is None else f"{len(self._words):,} words"
        return f"NgramModel(order={self.order}, tokenizer={self.tokenizer!r}; {words})"

    def _fitted(self) -> dict[str, int]:
        if self._words is None:
            raise NotFittedError("NgramModel: call fit first")
        return self._words

    def _ids(self, sentences: Any) -> tuple[Ids, Ids]:
        words = self._fitted()
        ids, depth = self._read(sentences, lambda tokens: map(words.get, tokens, repeat(_UNKNOWN)))
        if not len(ids):
            raise ValueError("sentences: none has a word")
        return ids, depth

    def _read(self, sentences: Any, ids_of: Callable[[list[str]], Iterable[int]]) -> tuple[Ids, Ids]:
        """Ids of all sentences with their symbols, and the position of each in its sentence."""
        buffer = array("q")
        done, tokenize = 0, self.tokenizer.core()
        for batch in batches(sentences, _BATCH, text=TEXT_AT_ONCE):
            with counted_from(done):
                for tokens in filter(None, tokenize(self.tokenizer.prepare(batch))):
                    buffer.append(_BEGIN)
                    buffer.extend(ids_of(tokens))
                    buffer.append(_END)
            done += len(batch)
        ids = np.array(buffer, np.int64)
        starts = np.flatnonzero(ids == _BEGIN)
        lengths = np.diff(starts, append=len(ids))
        return ids, np.arange(len(ids)) - np.repeat(starts, lengths)

    def _log_p(self, ids: Ids, depth: Ids) -> Floats:
        """Log p of each word; 0 for begin symbols."""
        p, size = self._single[ids], len(self._single)
        shorter, weight = ids, self._weight
        for n, order in enumerate(self._orders, 2):
            at = np.flatnonzero(depth >= n - 1)
            at = at[shorter[at - 1] >= 0]  # if the model has the first words
            key = shorter[at - 1] * size + ids[at]
            where = np.searchsorted(order.keys, key)
            there = where < len(order.keys)
            there[there] = order.keys[where[there]] == key[there]
            p[at] *= weight[shorter[at - 1]]
            p[at[there]] = order.p[where[there]]
            shorter = np.full(len(ids), -1)
            shorter[at[there]] = where[there]
            weight = order.weight
        p[depth == 0] = 1
        with np.errstate(divide="ignore"):  # p may be 0
            return np.log(p)


def _smoothed(counts: Ids, contexts: Ids, n: int) -> tuple[Floats, Floats]:
    """Backoff weights of n contexts, and the discounted probabilities of n-grams."""
    discounts = np.array(_discounts(counts))[np.minimum(counts, 3)]
    totals = np.bincount(contexts, counts, n)
    weight = np.ones(n)
    np.divide(np.bincount(contexts, discounts, n), totals, out=weight, where=totals > 0)
    return weight, (counts - discounts) / totals[contexts]


def _discounts(counts: Ids) -> tuple[float, ...]:
    """Discounts of counts 0, 1, 2, and 3 or more (Chen and Goodman's equation 26)."""
    n = np.bincount(np.minimum(counts, 5), minlength=6)
    if not n[1:4].all():
        return _FALLBACK
    y = n[1] / (n[1] + 2 * n[2])
    discounts = [c - (c + 1) * y * n[c + 1] / n[c] for c in (1, 2, 3)]
    return (0.0, *discounts) if all(0 <= d <= c for c, d in enumerate(discounts, 1)) else _FALLBACK
