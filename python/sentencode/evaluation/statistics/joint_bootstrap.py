"""Bootstrap of averages over tasks that share examples.

Nearly all test sentences of SST2 are SST5's too, and most of them MR's; half of STSBenchmark's test pairs are
pairs of STS12 to STS15. Here a resample gives every example a weight that depends only on its sentences, the
number of the resample and the seed. An example of several tasks has the same weight in all of them, so their
scores are correlated as they would be with other examples; tasks without common examples stay independent.
Two encoders see the same resamples.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Split
from ..metrics.intervals import mean_of_runs
from ..metrics.results import SplitPredictions, TaskResult
from ..metrics.scores import middle_ranks

__all__ = ["distinct_examples", "keys_of", "resampled_mean", "weights_of"]

Floats = NDArray[np.float64]
Keys = NDArray[np.int64]

# Number of byte values for each weight 0 to 5: nearly Poisson(1), and mean and variance are exactly 1, as in
# a bootstrap.
_POISSON = np.repeat(np.arange(6, dtype=np.uint8), (94, 95, 46, 16, 4, 1))
_BLOCK = 1 << 18  # weights in a block, so that it stays in the processor's caches
_ROUNDING = 1e-12  # relative variance below which values are constant


def keys_of(split: Split) -> Keys:
    """Hash of each example's sentences, the same in all tasks.

    Only lower-case letters and digits count, because tasks tokenize the same sentences differently. The order
    of the sentences of a pair does not matter.

    Args:
        split: The examples.

    Returns:
        Integers below 2^52, which any JSON reader represents exactly.
    """
    sides = [[_letters(sentence) for sentence in side] for side in split.sentences]
    return np.array([_key("\n".join(sorted(texts))) for texts in zip(*sides, strict=True)], dtype=np.int64)


def _letters(sentence: str) -> str:
    return re.sub(r"[\W_]+", "", sentence.casefold()) or sentence


def _key(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 12


def weights_of(keys: Keys, first: int, last: int, seed: int) -> NDArray[np.uint8]:
    """Number of times that each resample contains each example, nearly Poisson(1).

    Args:
        keys: Keys of the examples.
        first: Number of the first resample, a multiple of 8.
        last: Number after the last resample.
        seed: Seed of the resampling.

    Returns:
        Weights `(n, last - first)`.
    """
    with np.errstate(over="ignore"):
        streams = _mixed(keys.astype(np.uint64) + _mixed(np.array([seed], dtype=np.uint64)))
        numbers = np.arange(first // 8, -(-last // 8), dtype=np.uint64) + np.uint64(1)
        random = _mixed(streams[:, None] + numbers * np.uint64(0x9E3779B97F4A7C15))
    return _POISSON[random.astype("<u8", copy=False).view(np.uint8)[:, : last - first]]


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: every output bit depends on all input bits."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def resampled_mean(
    results: Sequence[TaskResult], weights: Sequence[float], resamples: int, seed: int
) -> Floats | None:
    """Weighted mean of the scores of tasks, on the original examples and on resamples of them.

    Scores are accuracies in percent, or the mean of Pearson's and Spearman's correlations times 100.

    Args:
        results: Results of the tasks.
        weights: Weight of each task.
        resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        `1 + resamples` means, that of the original examples first. None: a result has no predictions of its
        examples.
    """
    if not all(result.predictions for result in results):
        return None
    total = np.zeros(1 + resamples)
    for i, (result, weight) in enumerate(zip(results, weights, strict=True)):
        scores = _scores(result, resamples, seed)
        total[0] += weight * scores[0].mean()
        total[1:] += weight * mean_of_runs(scores[1:], seed + i)
    return total


def distinct_examples(results: Sequence[TaskResult]) -> int:
    """Number of distinct examples of the tasks."""
    return len(np.unique(np.concatenate([keys for result in results for _, keys in _parts(result)])))


def _parts(result: TaskResult) -> list[tuple[SplitPredictions, Keys]]:
    """Predictions and keys of the splits that the headline score is over."""
    split, pearson, kind = result.headline.rpartition(".pearson")
    tested = [result.predictions[split]] if pearson and not kind else result.predictions.values()
    return [(predictions, _keys(result.task, predictions)) for predictions in tested]


def _keys(task: str, predictions: SplitPredictions) -> Keys:
    """Keys of the examples; without any, as in old reports, all examples count as distinct."""
    if predictions.keys is not None:
        return predictions.keys
    start = _key(f"{task}\n{predictions.split}")
    return (start + predictions.indices) & (2**52 - 1)


def _scores(result: TaskResult, resamples: int, seed: int) -> Floats:
    """Headline score of a task, `(1 + resamples, seeds)`; computed once."""
    cached = result.resampled.get((resamples, seed))
    if cached is None:
        parts = _parts(result)
        score = _accuracy if result.headline == "acc" else _correlation
        by_part = [np.concatenate(list(_blocks(*part, score, resamples, seed))) for part in parts]
        # An undefined correlation counts as 0, as in the means of reports.
        weights = [len(keys) for _, keys in parts]
        cached = 100 * np.average(np.nan_to_num(by_part), axis=0, weights=weights)
        result.resampled[resamples, seed] = cached
    return cached


def _blocks(
    predictions: SplitPredictions, keys: Keys, score: Any, resamples: int, seed: int
) -> Iterator[Floats]:
    n = len(keys)
    yield score(predictions, np.ones((n, 1), dtype=np.uint8))
    step = max(8, _BLOCK // n // 8 * 8)
    for first in range(0, resamples, step):
        yield score(predictions, weights_of(keys, first, min(first + step, resamples), seed))


def _accuracy(predictions: SplitPredictions, weights: NDArray[np.uint8]) -> Floats:
    """Accuracies `(resamples, seeds)`."""
    right = (predictions.per_seed == predictions.gold).astype(np.float32)  # sums are exact
    totals = np.maximum(weights.sum(0, dtype=np.int64), 1)
    accuracies: Floats = ((right @ weights.astype(np.float32)) / totals).T
    return accuracies


def _correlation(predictions: SplitPredictions, weights: NDArray[np.uint8]) -> Floats:
    """Means of Pearson's and Spearman's correlations `(resamples, seeds)`."""
    gold = np.asarray(predictions.gold, dtype=np.float64)
    by_seed = []
    for predicted in np.asarray(predictions.per_seed, dtype=np.float64):
        order = np.argsort(predicted)
        columns = predicted[order], gold[order], weights[order].astype(np.float64)
        by_seed.append((_pearson(*columns) + _spearman(*columns)) / 2)
    return np.stack(by_seed, axis=1)


def _pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    x, y = x - x.mean(), y - y.mean()
    moments = np.stack([x, y, x * x, y * y, x * y]) @ weights / np.maximum(weights.sum(0), 1)
    mean_x, mean_y, xx, yy, xy = moments
    var_x, var_y = (
        np.where(square - mean**2 > _ROUNDING * square, square - mean**2, 0)
        for square, mean in ((xx, mean_x), (yy, mean_y))
    )
    return _ratio(xy - mean_x * mean_y, var_x, var_y)


def _spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Correlation of the ranks of examples that occur `weights` times; x is sorted."""
    half = weights.sum(0) / 2  # the mean of all ranks
    starts = np.flatnonzero(np.diff(x, prepend=-np.inf))
    ranks = middle_ranks(_sums(weights, starts)) - half
    if len(ranks) < len(x):
        ranks = np.repeat(ranks, np.diff(starts, append=len(x)), axis=0)
    # Gold scores have few distinct values, so the ranks of y are those of groups.
    by_y = np.argsort(y, kind="stable")
    starts = np.flatnonzero(np.diff(y[by_y], prepend=-np.inf))
    groups = _sums(weights[by_y], starts)
    group_ranks = middle_ranks(groups) - half
    weighted = weights * ranks
    covariance = np.einsum("ij,ij->j", _sums(weighted[by_y], starts), group_ranks)
    return _ratio(covariance, np.einsum("ij,ij->j", weighted, ranks), (groups * group_ranks**2).sum(0))


def _sums(rows: Floats, starts: NDArray[np.int64]) -> Floats:
    """Sums of the rows from each start to the next."""
    sums: Floats = rows if len(starts) == len(rows) else np.add.reduceat(rows, starts, axis=0)
    return sums


def _ratio(covariance: Floats, variance_x: Floats, variance_y: Floats) -> Floats:
    """Correlation; NaN where x or y is constant."""
    product = variance_x * variance_y
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: Floats = np.where(product > 0, covariance / np.sqrt(product), np.nan)
    return correlation
