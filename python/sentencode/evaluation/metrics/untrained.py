"""Scores of embeddings with little training or none: duplicates, clusters, neighbours, few shots, search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._extras import require
from ...search import semantic_search
from .intervals import SEED, Interval, percentile_interval
from .scores import same_length, values_of

__all__ = [
    "Clusters",
    "FewShot",
    "Hits",
    "average_precision",
    "average_precisions",
    "cluster",
    "few_shot",
    "hits",
    "nearest_other",
    "search",
    "v_measure",
]

Embeddings = NDArray[np.float32]
Labels = NDArray[np.int64]

_BLOCK = 1 << 21  # resampled counts in a block
_REPEATS = 5  # of k-means
_SHOTS = 16  # training examples of each class
_DRAWS = 10  # of training examples


def average_precision(scores: ArrayLike, labels: ArrayLike) -> float:
    """Mean precision at the ranks of the positive examples; equal scores share a rank.

    It is scikit-learn's `average_precision_score`.

    Args:
        scores: Score of each example.
        labels: 1 for positive examples, 0 for others; at least one is positive.

    Raises:
        ValueError: There is no positive example, lengths differ, or a value is not finite.

    Example:
        >>> from sentencode.evaluation import average_precision
        >>> round(average_precision([0.9, 0.8, 0.7, 0.1], [1, 0, 1, 0]), 4)
        0.8333
    """
    ranked = _ranked(scores, labels)
    if not ranked[1].any():
        raise ValueError(f"labels must have a positive example, got none of {len(ranked[1])}")
    return float(_average_precision(*ranked, np.ones((1, len(ranked[0]))))[0])


def average_precisions(
    scores: ArrayLike, labels: ArrayLike, resamples: int, seed: int = SEED
) -> NDArray[Any]:
    """Average precision of bootstrap resamples; the same seed draws the same examples."""
    count = len(np.asarray(scores))
    random, values = np.random.default_rng(seed), []
    order, positive, last = _ranked(scores, labels)
    block = max(1, _BLOCK // count)
    for first in range(0, resamples, block):
        drawn = random.multinomial(count, np.full(count, 1 / count), min(block, resamples - first))
        values.append(_average_precision(order, positive, last, drawn.astype(np.float64)))
    return np.concatenate(values)


def _ranked(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Order by falling score, whether the ordered examples are positive, and the last of each equal score."""
    rows = {"scores": values_of("scores", scores), "labels": values_of("labels", labels)}
    same_length(rows)
    order = np.argsort(-rows["scores"], kind="stable")
    ordered = rows["scores"][order]
    last = np.append(ordered[1:] != ordered[:-1], True)
    return order, rows["labels"][order] > 0, last


def _average_precision(
    order: NDArray[Any], positive: NDArray[Any], last: NDArray[Any], counts: NDArray[np.float64]
) -> NDArray[Any]:
    """Average precision for each row of counts [r, n] of the examples; 0 without a positive one."""
    counts = counts[:, order]  # [r, n]
    found = (counts * positive).cumsum(axis=1)[:, last]  # [r, t], positive ones up to each threshold
    seen = counts.cumsum(axis=1)[:, last]
    gained = np.diff(found, axis=1, prepend=0)
    total = np.maximum(found[:, -1], 1)
    result: NDArray[Any] = (gained * found / np.maximum(seen, 1)).sum(axis=1) / total
    return result


class Clusters(NamedTuple):
    """V-measure of k-means.

    Attributes:
        value: Mean over repetitions, from 0 to 1.
        interval: Confidence interval over resampled examples, for the clusters of the first repetition.
        deviation: Sample standard deviation over repetitions.
    """

    value: float
    interval: Interval
    deviation: float


def v_measure(table: NDArray[Any]) -> NDArray[np.float64]:
    """V-measure of each table of counts [r, clusters, classes].

    It is the harmonic mean of homogeneity and completeness (Rosenberg and Hirschberg, 2007).
    """
    p = table / table.sum(axis=(1, 2), keepdims=True)

    def entropy(q: NDArray[Any]) -> NDArray[np.float64]:
        logs = np.log(q, where=q > 0, out=np.zeros_like(q))
        sums: NDArray[np.float64] = -(q * logs).reshape(len(q), -1).sum(axis=1)
        return sums

    clusters, classes = entropy(p.sum(axis=2)), entropy(p.sum(axis=1))
    shared = clusters + classes - entropy(p)  # mutual information
    both = clusters + classes
    return np.divide(2 * shared, both, out=np.ones_like(both), where=both > 0)


def cluster(
    rows: Embeddings, classes: Labels, *, confidence: float = 0.95, resamples: int = 2000
) -> Clusters:
    """V-measure of k-means on embeddings of length 1, with as many clusters as classes.

    Args:
        rows: Embedding of each sentence `(n, d)`.
        classes: Class of each sentence, from 0.
        confidence: Confidence level of the interval.
        resamples: Number of bootstrap resamples.
    """
    kmeans = require("sklearn.cluster", "eval").KMeans
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    classes = np.unique(classes, return_inverse=True)[1]  # some may not occur
    k = int(classes.max()) + 1
    tables = np.zeros((_REPEATS, k, k))
    for i in range(_REPEATS):
        found = kmeans(k, n_init=1, random_state=SEED + i).fit_predict(unit)
        np.add.at(tables[i], (found, classes), 1)
    values = v_measure(tables)
    drawn = np.random.default_rng(SEED).multinomial(len(rows), tables[0].ravel() / len(rows), resamples)
    low, high = percentile_interval(v_measure(drawn.reshape(-1, k, k).astype(float)), confidence)
    shift = float(values.mean() - values[0])  # the interval is around the mean
    return Clusters(float(values.mean()), Interval(low + shift, high + shift), float(values.std(ddof=1)))


def nearest_other(rows: Embeddings) -> Labels:
    """Index of each embedding's nearest other one, by the cosine."""
    nearest = semantic_search(rows, rows, 2).indices
    return np.where(nearest[:, 0] == np.arange(len(rows)), nearest[:, 1], nearest[:, 0])


class FewShot(NamedTuple):
    """Accuracy of classifiers that were trained on few examples.

    Attributes:
        value: Mean over draws of training examples, from 0 to 1.
        interval: Confidence interval over other draws and other test examples.
        deviation: Sample standard deviation over draws.
        correct: For each example, the number of classifiers that were not trained on it and are right.
        tested: For each example, the number of classifiers that were not trained on it.
    """

    value: float
    interval: Interval
    deviation: float
    correct: NDArray[np.int64]
    tested: NDArray[np.int64]


def few_shot(
    rows: Embeddings, classes: Labels, *, confidence: float = 0.95, resamples: int = 2000
) -> FewShot:
    """Accuracy of scikit-learn's logistic regression, trained on 16 examples of each class.

    It has the default settings and embeddings of length 1. The mean is over ten draws of training examples;
    all others are tested.

    Args:
        rows: Embedding of each sentence `(n, d)`.
        classes: Class of each sentence, from 0.
        confidence: Confidence level of the interval.
        resamples: Number of bootstrap resamples.

    Raises:
        ValueError: A class has no more than 16 examples.
    """
    regression = require("sklearn.linear_model", "eval").LogisticRegression
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    members = [np.flatnonzero(classes == c) for c in np.unique(classes)]
    if min(map(len, members)) <= _SHOTS:
        raise ValueError(f"few shots need more than {_SHOTS} examples of each class")
    random = np.random.default_rng(SEED)
    tested = np.ones((_DRAWS, len(rows)), dtype=np.float32)
    correct = np.zeros_like(tested)
    for i in range(_DRAWS):
        train = np.concatenate([random.choice(some, _SHOTS, replace=False) for some in members])
        tested[i, train] = 0
        predicted = regression(max_iter=1000).fit(unit[train], classes[train]).predict(unit)
        correct[i] = tested[i] * (predicted == classes)
    values = correct.sum(axis=1) / tested.sum(axis=1)
    means = []
    block = max(1, _BLOCK // len(rows))
    for first in range(0, resamples, block):
        count = min(block, resamples - first)
        drawn = random.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), count).astype(np.float32)
        accuracies = drawn @ correct.T / np.maximum(drawn @ tested.T, 1)  # [r, draws]
        draws = random.multinomial(_DRAWS, np.full(_DRAWS, 1 / _DRAWS), count) / _DRAWS
        means.append((accuracies * draws).sum(axis=1))
    return FewShot(
        float(values.mean()),
        percentile_interval(np.concatenate(means), confidence),
        float(values.std(ddof=1)),
        *(rows.sum(axis=0).astype(np.int64) for rows in (correct, tested)),
    )


class Hits(NamedTuple):
    """Scores of each query's ten best documents."""

    ndcg10: NDArray[np.float64]
    recall10: NDArray[np.float64]
    mrr10: NDArray[np.float64]


def search(queries: Embeddings, documents: Embeddings, wanted: Labels, labels: Labels) -> Hits:
    """Score the ten documents with the greatest cosine with each query.

    Args:
        queries: Embedding of each query `(n, d)`.
        documents: Embedding of each document `(m, d)`.
        wanted: Label of each query.
        labels: Label of each document; those with the query's label are relevant.
    """
    return hits(semantic_search(queries, documents, min(10, len(documents))).indices, wanted, labels)


def hits(best: NDArray[np.int64], wanted: Labels, labels: Labels) -> Hits:
    """Score the best documents of each query.

    Args:
        best: Indices of the ten best documents, or of all if there are fewer, the best first `(n, 10)`.
        wanted: Label of each query.
        labels: Label of each document; those with the query's label are relevant.
    """
    top = best.shape[1]
    relevant = labels[best] == wanted[:, None]  # [n, 10]
    known = np.bincount(labels, minlength=int(wanted.max()) + 1)[wanted]  # [n]
    gains = 1 / np.log2(np.arange(top) + 2)
    ideal = np.append(0, gains.cumsum())[np.minimum(known, top)]
    first = relevant.argmax(axis=1)
    return Hits(
        relevant @ gains / ideal,
        relevant.sum(axis=1) / known,
        np.where(relevant.any(axis=1), 1 / (first + 1), 0.0),
    )
