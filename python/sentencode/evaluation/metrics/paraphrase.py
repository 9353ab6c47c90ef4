"""How near to each other the sentences of a group lie: the paraphrase metrics of Cifka and Bojar (2018)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import checked_int
from ...search import semantic_search
from .intervals import SEED, Interval, bootstrap_mean, percentile_interval, resampled_means

__all__ = [
    "LinearDiscriminant",
    "Paraphrases",
    "cluster_classification",
    "inverse_davies_bouldin",
    "nearest_neighbours",
]

Rows = NDArray[np.float32]
Groups = NDArray[np.int64]

_BLOCK = 1024  # rows of a matrix of distances
_ALIKE = 1e-6  # of the rows' length, which are float32: centroids that are nearer are the same


class Paraphrases(NamedTuple):
    """A share of sentences, or an index, with what each group has of it.

    Attributes:
        value: A share is from 0 to 1.
        interval: For other groups of the same kind.
        deviation: Of a sample of repetitions, where there are some.
        predicted: For each sentence the group that it was put into; -1 where it was not asked.
    """

    value: float
    interval: Interval
    deviation: float = 0.0
    predicted: Groups | None = None


class LinearDiscriminant:
    """Linear discriminant analysis as scikit-learn's solver "svd" does it, for thousands of classes.

    The pooled covariance within classes is decomposed once; what is left of a direction below `tolerance`, of
    features scaled to a deviation of 1 within classes, is dropped. Its matrix is summed in float64: where
    there are more columns than rows less classes, some directions have no width, and float32 lends them one.

    Args:
        rows: `(n, d)`.
        classes: Of each row, from 0; each has a row.
        tolerance: scikit-learn's `tol`.

    Raises:
        ValueError: Each class has one row.
    """

    def __init__(self, rows: Rows, classes: Groups, tolerance: float = 1e-4) -> None:
        counts = np.bincount(classes)
        freedom = len(rows) - len(counts)
        if freedom < 1:
            raise ValueError(
                "a discriminant needs classes of several rows: nothing varies within classes of one"
            )
        means = _sums(rows, classes, len(counts)) / counts[:, None]  # [K, d]
        gram = np.zeros((rows.shape[1], rows.shape[1]))
        for first in range(0, len(rows), _BLOCK):
            block = slice(first, first + _BLOCK)
            within = rows[block] - means[classes[block]]  # [b, d]
            gram += within.T @ within
        deviations = np.sqrt(gram.diagonal() / len(rows))
        deviations[deviations == 0] = 1
        values, vectors = np.linalg.eigh(gram / deviations[:, None] / deviations / freedom)
        kept = values > tolerance**2
        self._whiten = vectors[:, kept] / np.sqrt(values[kept]) / deviations[:, None]  # [d, r]
        self._centre = means.mean(axis=0)
        self._means = ((means - self._centre) @ self._whiten).astype(np.float32)  # [K, r]
        self._offsets = np.log(counts / len(rows)) - 0.5 * np.einsum("ij,ij->i", self._means, self._means)

    def predict(self, rows: Rows) -> Groups:
        """The class whose mean is nearest, in the space where classes are round."""
        found = np.empty(len(rows), dtype=np.int64)
        for first in range(0, len(rows), _BLOCK):
            block = (rows[first : first + _BLOCK] - self._centre) @ self._whiten  # [b, r]
            found[first : first + _BLOCK] = (block.astype(np.float32) @ self._means.T + self._offsets).argmax(
                1
            )
        return found


def cluster_classification(
    rows: Rows,
    groups: Groups,
    held_out: Literal["one", "half"] = "one",
    *,
    repeats: int = 5,
    seed: int = 1111,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Paraphrases:
    """How often a discriminant that was fitted to some sentences of each group knows the group of the others.

    Args:
        rows: `(n, d)`, one for each sentence.
        groups: Of each sentence, from 0.
        held_out: What is not fitted to: one sentence of each group, or half of each.
        repeats: How often others are held out.
        seed: Decides which.
        confidence: Of the interval, by bootstrap over groups.
        resamples: Of the bootstrap.

    Returns:
        The mean share over all repetitions, and their deviation (of a sample).

    Raises:
        ValueError: A group is too small to hold something out, or all have two sentences: one remains of
            each, and nothing tells how wide groups are.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[0, 0], [0, 1], [1, 0], [9, 9], [9, 8], [8, 9]], dtype=np.float32)
        >>> cluster_classification(rows, np.array([0, 0, 0, 1, 1, 1])).value
        1.0
    """
    if held_out not in ("one", "half"):
        raise ValueError(f"held_out must be 'one' or 'half', got {held_out!r}")
    checked_int("repeats", repeats, 1)
    sizes = np.bincount(groups)
    if sizes.min() < 2:
        raise ValueError(f"cluster_classification: group {int(sizes.argmin())} has fewer than two sentences")
    random = np.random.default_rng(seed)
    starts = np.cumsum(sizes) - sizes
    away = np.ones_like(sizes) if held_out == "one" else sizes // 2
    shares, hits = [], np.zeros(len(sizes))
    predicted = np.full(len(groups), -1, dtype=np.int64)
    for _ in range(repeats):
        order = np.lexsort((random.random(len(groups)), groups))  # shuffled within groups
        place = np.arange(len(groups)) - np.repeat(starts, sizes)
        held = np.zeros(len(groups), dtype=np.bool_)
        held[order] = place < np.repeat(away, sizes)
        found = LinearDiscriminant(rows[~held], groups[~held]).predict(rows[held])
        predicted[held] = found
        right = found == groups[held]
        shares.append(float(right.mean()))
        hits += np.bincount(groups[held], weights=right, minlength=len(sizes))
    interval = _of_share(hits, repeats * away, confidence, resamples)
    deviation = float(np.std(shares, ddof=1)) if repeats > 1 else 0.0
    return Paraphrases(float(np.mean(shares)), interval, deviation, predicted)


def nearest_neighbours(
    rows: Rows,
    groups: Groups,
    measure: Literal["cosine", "l2"] = "cosine",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Paraphrases:
    """How often the nearest other sentence is of the same group; of equally near ones the first counts.

    Args:
        rows: `(n, d)`, one for each sentence.
        groups: Of each sentence, from 0.
        measure: By cosine, or by Euclidean distance.
        confidence: Of the interval, by bootstrap over groups.
        resamples: Of the bootstrap.

    Returns:
        The share of sentences.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[1, 0], [2, 0.1], [0, 1], [0, 5]], dtype=np.float32)
        >>> nearest_neighbours(rows, np.array([0, 0, 1, 1])).value
        1.0
        >>> nearest_neighbours(rows, np.array([0, 0, 1, 1]), "l2").value
        0.75
    """
    if measure == "l2":
        # |x - y| is least where x y - |y|^2 / 2 is greatest; distances from the middle keep their digits.
        centred = rows - rows.mean(axis=0)
        half = 0.5 * np.einsum("ij,ij->i", centred, centred)
        queries = np.c_[centred, np.ones(len(rows), dtype=np.float32)]
        corpus = np.c_[centred, -half]
    elif measure == "cosine":
        queries = corpus = rows
    else:
        raise ValueError(f"measure must be 'cosine' or 'l2', got {measure!r}")
    hits = semantic_search(queries, corpus, 2, measure="cosine" if measure == "cosine" else "dot").indices
    itself = hits[:, 0] == np.arange(len(rows))
    predicted = groups[np.where(itself, hits[:, 1], hits[:, 0])]
    right = predicted == groups
    interval = _of_share(np.bincount(groups, weights=right), np.bincount(groups), confidence, resamples)
    return Paraphrases(float(right.mean()), interval, 0.0, predicted)


def inverse_davies_bouldin(
    rows: Rows, groups: Groups, *, confidence: float = 0.95, resamples: int = 2000
) -> Paraphrases:
    """One over the index of Davies and Bouldin (1979): how far groups are apart, for how wide they are.

    As in scikit-learn, groups whose centroids are the same are no neighbours of each other. What rounding
    leaves between them, a millionth of the rows' length, is no distance either.

    Args:
        rows: `(n, d)`, one for each sentence.
        groups: Of each sentence, from 0.
        confidence: Of the interval, by bootstrap over groups, each with its worst neighbour.
        resamples: Of the bootstrap.

    Returns:
        The inverse index: greater is better; not a number where all centroids are the same.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[0, 0], [0, 2], [9, 0], [9, 2]], dtype=np.float32)
        >>> inverse_davies_bouldin(rows, np.array([0, 0, 1, 1])).value
        4.5
    """
    counts = np.bincount(groups)
    centroids = _sums(rows, groups, len(counts)) / counts[:, None]  # [K, d]
    distances = np.linalg.norm(rows - centroids[groups], axis=1)
    scatter = np.bincount(groups, weights=distances) / counts  # S_i, means of distances
    lengths = np.bincount(groups, weights=np.linalg.norm(rows.astype(np.float64), axis=1)) / counts
    worst, apart = np.empty(len(counts)), False
    for first in range(0, len(counts), _BLOCK):
        block = slice(first, first + _BLOCK)
        between = _distances(centroids, block)  # d_ij
        between[between <= _ALIKE * np.maximum(lengths[block, None], lengths)] = np.inf
        apart |= bool(np.isfinite(between).any())
        worst[block] = ((scatter[block, None] + scatter) / between).max(axis=1)
    if not apart:
        return Paraphrases(np.nan, Interval(np.nan, np.nan))
    low, high = bootstrap_mean(worst, confidence=confidence, resamples=resamples)
    with np.errstate(divide="ignore"):
        value, *ends = (float(x) for x in 1 / np.array([worst.mean(), high, low]))
    return Paraphrases(value, Interval(*ends))


def _distances(centroids: NDArray[np.float64], block: slice) -> NDArray[np.float64]:
    """Those of a block of centroids to all, `(block, K)`; small ones keep their digits."""
    centred = centroids - centroids.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    sums = squares[block, None] + squares
    found = sums - 2 * centred[block] @ centred.T
    for i, near in enumerate(found < _ALIKE * sums):  # what the difference of large numbers leaves of them
        found[i, near] = np.square(centred[near] - centred[block][i]).sum(axis=1)
    distances: NDArray[np.float64] = np.sqrt(found)
    return distances


def _of_share(hits: ArrayLike, sizes: ArrayLike, confidence: float, resamples: int) -> Interval:
    """Of a share of sentences, as figures are: groups are drawn, and each counts by its size."""
    sums = resampled_means([np.asarray(hits), np.asarray(sizes)], resamples, SEED)
    return percentile_interval(sums[:, 0] / sums[:, 1], confidence)


def _sums(rows: Rows, groups: Groups, count: int) -> NDArray[np.float64]:
    """The sum of each group's rows, `(groups, d)`."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(count))
    return np.add.reduceat(rows[order].astype(np.float64), starts, axis=0)
