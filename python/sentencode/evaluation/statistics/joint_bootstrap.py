"""Figures of several tasks on the same resamples, for tasks share examples.

Nearly all test sentences of SST2 are SST5's too, and most of them MR's; half of STSBenchmark's test pairs are
pairs of STS12 to STS15. Here a resample gives every example a weight that depends on nothing but its
sentences, the resample's number and the seed. An example that several tasks have weighs the same in each of
them, so that their figures rise and fall together, as they would with other examples; tasks that share none
stay independent. So do two encoders, of which each sees the same resamples.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import Split
from ..metrics.intervals import mean_of_runs
from ..metrics.results import Judged, TaskResult
from ..metrics.scores import middle_ranks

__all__ = ["distinct_examples", "drawn_mean", "keys_of", "weights_of"]

Drawn = NDArray[np.float64]
Keys = NDArray[np.int64]

# How many of 256 bytes stand for the weights 0 to 5: nearly Poisson's law of mean 1, and as in a bootstrap
# the mean and the variance are 1 exactly.
_POISSON = np.repeat(np.arange(6, dtype=np.uint8), (94, 95, 46, 16, 4, 1))
_AT_ONCE = 1 << 18  # weights that are looked at, so that what is made of them stays in caches
_ROUNDING = 1e-12  # what varies by less than this share does not vary


def keys_of(split: Split) -> Keys:
    """A number for each example, which is the same for the same sentences in whatever task.

    Of a sentence count letters and digits, in small letters: tasks have the same sentences in tokens of
    different kinds. It does not matter which sentence of a pair is first.

    Args:
        split: The examples.

    Returns:
        Numbers below 2^52, which are whole in any reader of JSON.

    Example:
        >>> import numpy as np
        >>> from sentencode.evaluation import Split
        >>> one = Split((["It 's fun .", "..."],), np.array([1, 0]))
        >>> other = Split((["it's fun", "!"],), np.array([1, 0]))
        >>> keys_of(one) == keys_of(other)
        array([ True, False])
    """
    sides = [[_letters(sentence) for sentence in side] for side in split.sentences]
    return np.array([_key("\n".join(sorted(texts))) for texts in zip(*sides, strict=True)], dtype=np.int64)


def _letters(sentence: str) -> str:
    return re.sub(r"[\W_]+", "", sentence.casefold()) or sentence


def _key(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 12


def weights_of(keys: Keys, first: int, last: int, seed: int) -> NDArray[np.uint8]:
    """How often resamples have each example: about Poisson(1), as single examples of a bootstrap are drawn.

    Args:
        keys: Of the examples.
        first: Of the resamples, counted from 0; a multiple of 8.
        last: Behind them.
        seed: Decides what they are.

    Returns:
        `(n, last - first)`.

    Example:
        >>> import numpy as np
        >>> weights = weights_of(np.array([7, 8, 7]), 0, 1000, seed=0)
        >>> bool((weights[0] == weights[2]).all()), bool((weights[0] == weights[1]).all())
        (True, False)
    """
    with np.errstate(over="ignore"):
        streams = _mixed(keys.astype(np.uint64) + _mixed(np.array([seed], dtype=np.uint64)))
        numbers = np.arange(first // 8, -(-last // 8), dtype=np.uint64) + np.uint64(1)
        drawn = _mixed(streams[:, None] + numbers * np.uint64(0x9E3779B97F4A7C15))
    return _POISSON[drawn.astype("<u8", copy=False).view(np.uint8)[:, : last - first]]


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of what comes out depends on all that go in: the finaliser of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed


def drawn_mean(
    results: Sequence[TaskResult], shares: Sequence[float], resamples: int, seed: int
) -> Drawn | None:
    """An average of tasks' figures, on the examples as they are and on resamples of them.

    Figures are accuracies in percent, or the mean of Pearson's and Spearman's correlations times 100.

    Args:
        results: Of the tasks.
        shares: The weight of each.
        resamples: How many.
        seed: Decides which.

    Returns:
        `1 + resamples` numbers, the first of them of the examples as they are. None: a result does not tell
        what was said of each example.
    """
    if not all(result.judged for result in results):
        return None
    total = np.zeros(1 + resamples)
    for i, (result, share) in enumerate(zip(results, shares, strict=True)):
        drawn = _drawn(result, resamples, seed)
        total[0] += share * drawn[0].mean()
        total[1:] += share * mean_of_runs(drawn[1:], seed + i)
    return total


def distinct_examples(results: Sequence[TaskResult]) -> int:
    """How many examples tasks have, those that several share counted once."""
    return len(np.unique(np.concatenate([part.keys for result in results for part in _parts(result)])))


class _Part(NamedTuple):
    """A subset of a task, or all of it."""

    judged: Judged
    keys: Keys


def _parts(result: TaskResult) -> list[_Part]:
    """What the task's figure is over."""
    split, pearson, kind = result.headline.rpartition(".pearson")
    tested = [result.judged[split]] if pearson and not kind else result.judged.values()
    return [_Part(judged, _keys(result.task, judged)) for judged in tested]


def _keys(task: str, judged: Judged) -> Keys:
    """Of reports of before examples had keys, all are taken for different ones."""
    if judged.keys is not None:
        return judged.keys
    start = _key(f"{task}\n{judged.split}")
    return (start + judged.places) & (2**52 - 1)


def _drawn(result: TaskResult, resamples: int, seed: int) -> Drawn:
    """A task's figure, `(1 + resamples, seeds)`; computed once."""
    known = result.drawn.get((resamples, seed))
    if known is None:
        parts = _parts(result)
        sizes = [len(part.keys) for part in parts]
        figures = _right if result.headline == "acc" else _correlations
        each = [np.concatenate(list(_blocks(part, figures, resamples, seed))) for part in parts]
        # A correlation that does not exist counts as 0, as it does in the means of reports.
        known = result.drawn[resamples, seed] = 100 * np.average(np.nan_to_num(each), axis=0, weights=sizes)
    return known


def _blocks(part: _Part, figures: Any, resamples: int, seed: int) -> Iterator[Drawn]:
    n = len(part.keys)
    yield figures(part.judged, np.ones((n, 1), dtype=np.uint8))
    step = max(8, _AT_ONCE // n // 8 * 8)
    for first in range(0, resamples, step):
        yield figures(part.judged, weights_of(part.keys, first, min(first + step, resamples), seed))


def _right(judged: Judged, weights: NDArray[np.uint8]) -> Drawn:
    """Accuracies `(resamples, seeds)`."""
    right = (judged.said == judged.gold).astype(np.float32)  # sums are whole numbers
    totals = np.maximum(weights.sum(0, dtype=np.int64), 1)
    shares: Drawn = ((right @ weights.astype(np.float32)) / totals).T
    return shares


def _correlations(judged: Judged, weights: NDArray[np.uint8]) -> Drawn:
    """The means of Pearson's and Spearman's correlations `(resamples, seeds)`."""
    gold = np.asarray(judged.gold, dtype=np.float64)
    each = []
    for said in np.asarray(judged.said, dtype=np.float64):
        order = np.argsort(said)
        of = said[order], gold[order], weights[order].astype(np.float64)
        each.append((_pearson(*of) + _spearman(*of)) / 2)
    return np.stack(each, axis=1)


def _pearson(x: Drawn, y: Drawn, weights: Drawn) -> Drawn:
    x, y = x - x.mean(), y - y.mean()
    moments = np.stack([x, y, x * x, y * y, x * y]) @ weights / np.maximum(weights.sum(0), 1)
    mean_x, mean_y, xx, yy, xy = moments
    var_x, var_y = (
        np.where(square - mean**2 > _ROUNDING * square, square - mean**2, 0)
        for square, mean in ((xx, mean_x), (yy, mean_y))
    )
    return _ratio(xy - mean_x * mean_y, var_x, var_y)


def _spearman(x: Drawn, y: Drawn, weights: Drawn) -> Drawn:
    """Of values that stand as often as weights say; equal ones share the mean of their ranks. x rises."""
    half = weights.sum(0) / 2  # the mean of all ranks
    starts = np.flatnonzero(np.diff(x, prepend=-np.inf))
    ranks = middle_ranks(_sums(weights, starts)) - half
    if len(ranks) < len(x):
        ranks = np.repeat(ranks, np.diff(starts, append=len(x)), axis=0)
    # People's scores take few values, so that one side's ranks are those of groups.
    by_y = np.argsort(y, kind="stable")
    starts = np.flatnonzero(np.diff(y[by_y], prepend=-np.inf))
    groups = _sums(weights[by_y], starts)
    of_groups = middle_ranks(groups) - half
    weighted = weights * ranks
    together = np.einsum("ij,ij->j", _sums(weighted[by_y], starts), of_groups)
    return _ratio(together, np.einsum("ij,ij->j", weighted, ranks), (groups * of_groups**2).sum(0))


def _sums(rows: Drawn, starts: NDArray[np.int64]) -> Drawn:
    """Of the rows from each start to the next."""
    sums: Drawn = rows if len(starts) == len(rows) else np.add.reduceat(rows, starts, axis=0)
    return sums


def _ratio(together: Drawn, first: Drawn, second: Drawn) -> Drawn:
    """A correlation; not a number where a side does not vary."""
    spread = first * second
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Drawn = np.where(spread > 0, together / np.sqrt(spread), np.nan)
    return found
