"""Paraphrase metrics of Cifka and Bojar (2018): how close the embeddings of a group of sentences are."""

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

Embeddings = NDArray[np.float32]
Groups = NDArray[np.int64]

_BLOCK = 1024  # rows of a distance matrix
_EPSILON = 1e-6  # distance, relative to the embeddings' norms (float32), below which centroids are equal


class Paraphrases(NamedTuple):
    """An accuracy or an index, with its interval.

    Attributes:
        value: An accuracy from 0 to 1, or an index.
        interval: Confidence interval; groups are resampled.
        deviation: Sample standard deviation over repetitions, if any.
        predicted: Predicted group of each sentence; -1 for sentences that were not tested.
    """

    value: float
    interval: Interval
    deviation: float = 0.0
    predicted: Groups | None = None


class LinearDiscriminant:
    """Linear discriminant analysis for thousands of classes.

    It is scikit-learn's solver "svd", except that the pooled within-class covariance has n - K degrees of
    freedom for n embeddings of K classes; newer scikit-learn (1.9) divides by n.

    The covariance is decomposed once; directions with a standard deviation below `tolerance`, for features
    scaled to a within-class deviation of 1, are dropped. The covariance is summed in float64: with more
    dimensions than degrees of freedom, some directions have no variance, and float32 rounding would give them
    one.

    Args:
        rows: Embeddings `(n, d)`.
        classes: Class of each embedding, from 0; each has at least one.
        tolerance: scikit-learn's `tol`.

    Raises:
        ValueError: Each class has only one embedding.
    """

    def __init__(self, rows: Embeddings, classes: Groups, tolerance: float = 1e-4) -> None:
        counts = np.bincount(classes)
        freedom = len(rows) - len(counts)
        if freedom < 1:
            raise ValueError("a discriminant needs a class with several embeddings, got one of each class")
        means = _sums(rows, classes, len(counts)) / counts[:, None]  # [K, d]
        gram = np.zeros((rows.shape[1], rows.shape[1]))
        for first in range(0, len(rows), _BLOCK):
            block = slice(first, first + _BLOCK)
            within = rows[block] - means[classes[block]]  # [b, d]
            gram += within.T @ within
        deviations = np.sqrt(gram.diagonal() / len(rows))
        deviations[deviations == 0] = 1
        values, vectors = np.linalg.eigh(gram / deviations[:, None] / deviations / freedom)
        large = values > tolerance**2
        self._whiten = vectors[:, large] / np.sqrt(values[large]) / deviations[:, None]  # [d, r]
        self._centre = means.mean(axis=0)
        self._means = ((means - self._centre) @ self._whiten).astype(np.float32)  # [K, r]
        self._offsets = np.log(counts / len(rows)) - 0.5 * np.einsum("ij,ij->i", self._means, self._means)

    def predict(self, rows: Embeddings) -> Groups:
        """The most probable class of each embedding."""
        predicted = np.empty(len(rows), dtype=np.int64)
        for first in range(0, len(rows), _BLOCK):
            block = (rows[first : first + _BLOCK] - self._centre) @ self._whiten  # [b, r]
            scores = block.astype(np.float32) @ self._means.T + self._offsets
            predicted[first : first + _BLOCK] = scores.argmax(1)
        return predicted


def cluster_classification(
    rows: Embeddings,
    groups: Groups,
    held_out: Literal["one", "half"] = "one",
    *,
    repeats: int = 5,
    seed: int = 1111,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Paraphrases:
    """Accuracy of a discriminant, fitted to some sentences of each group, on the other sentences.

    Args:
        rows: Embedding of each sentence `(n, d)`.
        groups: Group of each sentence, from 0.
        held_out: Held-out sentences of each group: one, or half of them.
        repeats: Number of repetitions with other held-out sentences.
        seed: Seed of the choice of held-out sentences.
        confidence: Confidence level of the interval, by bootstrap over groups.
        resamples: Number of bootstrap resamples.

    Returns:
        Mean accuracy over the repetitions, and their sample standard deviation.

    Raises:
        ValueError: A group has fewer than two sentences, or all have two, so that one remains of each and
            the variance within groups is unknown.

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
    counts = np.ones_like(sizes) if held_out == "one" else sizes // 2
    accuracies, hits = [], np.zeros(len(sizes))
    predicted = np.full(len(groups), -1, dtype=np.int64)
    for _ in range(repeats):
        order = np.lexsort((random.random(len(groups)), groups))  # shuffled within groups
        rank = np.arange(len(groups)) - np.repeat(starts, sizes)
        tested = np.zeros(len(groups), dtype=np.bool_)
        tested[order] = rank < np.repeat(counts, sizes)
        predicted[tested] = LinearDiscriminant(rows[~tested], groups[~tested]).predict(rows[tested])
        right = predicted[tested] == groups[tested]
        accuracies.append(float(right.mean()))
        hits += np.bincount(groups[tested], weights=right, minlength=len(sizes))
    interval = _ratio_interval(hits, repeats * counts, confidence, resamples)
    deviation = float(np.std(accuracies, ddof=1)) if repeats > 1 else 0.0
    return Paraphrases(float(np.mean(accuracies)), interval, deviation, predicted)


def nearest_neighbours(
    rows: Embeddings,
    groups: Groups,
    measure: Literal["cosine", "l2"] = "cosine",
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> Paraphrases:
    """Fraction of sentences whose nearest neighbour is of the same group; among ties the first counts.

    Args:
        rows: Embedding of each sentence `(n, d)`.
        groups: Group of each sentence, from 0.
        measure: Cosine or Euclidean distance.
        confidence: Confidence level of the interval, by bootstrap over groups.
        resamples: Number of bootstrap resamples.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[1, 0], [2, 0.1], [0, 1], [0, 5]], dtype=np.float32)
        >>> nearest_neighbours(rows, np.array([0, 0, 1, 1])).value
        1.0
        >>> nearest_neighbours(rows, np.array([0, 0, 1, 1]), "l2").value
        0.75
    """
    if measure == "l2":
        # |x - y| is least where x y - |y|^2 / 2 is greatest; centring avoids cancellation.
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
    interval = _ratio_interval(np.bincount(groups, weights=right), np.bincount(groups), confidence, resamples)
    return Paraphrases(float(right.mean()), interval, 0.0, predicted)


def inverse_davies_bouldin(
    rows: Embeddings, groups: Groups, *, confidence: float = 0.95, resamples: int = 2000
) -> Paraphrases:
    """Inverse of the index of Davies and Bouldin (1979): distance between groups relative to their spread.

    As in scikit-learn, groups with equal centroids are not compared; centroids are equal up to a relative
    rounding error of 1e-6.

    Args:
        rows: Embedding of each sentence `(n, d)`.
        groups: Group of each sentence, from 0.
        confidence: Confidence level of the interval, by bootstrap over groups with their worst neighbours.
        resamples: Number of bootstrap resamples.

    Returns:
        The inverse index, greater is better; NaN if all centroids are equal.

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
    norms = np.bincount(groups, weights=np.linalg.norm(rows.astype(np.float64), axis=1)) / counts
    worst, distinct = np.empty(len(counts)), False
    for first in range(0, len(counts), _BLOCK):
        block = slice(first, first + _BLOCK)
        between = _distances(centroids, block)  # d_ij
        between[between <= _EPSILON * np.maximum(norms[block, None], norms)] = np.inf
        distinct |= bool(np.isfinite(between).any())
        worst[block] = ((scatter[block, None] + scatter) / between).max(axis=1)
    if not distinct:
        return Paraphrases(np.nan, Interval(np.nan, np.nan))
    low, high = bootstrap_mean(worst, confidence=confidence, resamples=resamples)
    with np.errstate(divide="ignore"):
        value, *ends = (float(x) for x in 1 / np.array([worst.mean(), high, low]))
    return Paraphrases(value, Interval(*ends))


def _distances(centroids: NDArray[np.float64], block: slice) -> NDArray[np.float64]:
    """Distances of a block of centroids to all, `(block, K)`, without cancellation of small ones."""
    centred = centroids - centroids.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    sums = squares[block, None] + squares
    squared = sums - 2 * centred[block] @ centred.T
    for i, near in enumerate(squared < _EPSILON * sums):
        squared[i, near] = np.square(centred[near] - centred[block][i]).sum(axis=1)
    distances: NDArray[np.float64] = np.sqrt(squared)
    return distances


def _ratio_interval(hits: ArrayLike, sizes: ArrayLike, confidence: float, resamples: int) -> Interval:
    """Interval of an accuracy over sentences whose groups are resampled."""
    sums = resampled_means([np.asarray(hits), np.asarray(sizes)], resamples, SEED)
    return percentile_interval(sums[:, 0] / sums[:, 1], confidence)


def _sums(rows: Embeddings, groups: Groups, count: int) -> NDArray[np.float64]:
    """Sum of the embeddings of each group, `(groups, d)`."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(count))
    return np.add.reduceat(rows[order].astype(np.float64), starts, axis=0)
