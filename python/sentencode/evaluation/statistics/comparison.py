"""Tests of two encoders' results on one task: which ones there are, of what, and on which examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics.intervals import (
    Interval,
    f1_of_resamples,
    resampled_correlations,
    resampled_in_parts,
)
from ..metrics.results import Judged, TaskResult, is_class
from ..metrics.scores import CORRELATIONS, Correlation, f1
from .significance import (
    Comparison,
    bootstrap_of_figures,
    bootstrap_of_means,
    bootstrapped,
    mcnemar_test,
    paired_bootstrap_correlation,
    paired_t_test,
    williams_test,
)

__all__ = ["Compared", "aligned", "by_holm", "notes_of", "row_of", "rows_of_task"]

# How the names of tests begin: each kind is a family of Holm's.
_KINDS = ("McNemar", "paired t-test", "paired bootstrap", "Williams")
# Examples that are not independent, by headline; what is right of each is the group that it is of.
_GROUPED = {"nn_cosine": "sentences of a group", "t2i.r1": "captions of an image"}


class Compared(NamedTuple):
    """What one test says of two encoders on one task.

    Attributes:
        task: Its name, or an average's.
        part: `"test"` or `"all"`; of tasks with subsets the subset's name, `"pooled"` or `"weighted mean"`;
            `"average"` of averages.
        figure: `"pearson"`, `"spearman"`, `"f1"`, or the share of examples that were right, as `"acc"`; of
            averages of correlations `"pearson and spearman"`.
        a: The one encoder's figure, over all examples together: percent, or correlation times 100.
        b: The other's.
        difference: Of a less b.
        interval: Where the difference lies for other examples of the same kind.
        test: Which test it was, and what was special.
        statistic: The test's own.
        p_two_tailed: How likely a difference as large as this, either way, would be if there were none.
        p_one_tailed: How likely a difference as much in favour of greater figures for a would be.
        n: The number of examples, or of groups where these were tested; of averages, of those that several
            tasks share each counts once.
        p_holm: The two-tailed p-value, corrected by Holm's method for all rows of the same kind of test.
    """

    task: str
    part: str
    figure: str
    a: float
    b: float
    difference: float
    interval: Interval
    test: str
    statistic: float
    p_two_tailed: float
    p_one_tailed: float
    n: int
    p_holm: float = math.nan


def rows_of_task(a: TaskResult, b: TaskResult, options: dict[str, Any]) -> Iterator[Compared]:
    """All tests of one task.

    Args:
        a: One encoder's result.
        b: The other's.
        options: `confidence`, `resamples` and `seed`.

    Yields:
        A row for each part, figure and test.

    Raises:
        ValueError: They are of different examples.
    """
    parts = list(aligned(a, b))
    if is_class(parts[0][1].gold):
        yield from _accuracies(a.task, parts, a.headline, options)
        if "f1" in a.figures:
            yield from _f1s(a.task, parts, options)
    else:
        yield from _correlations(a.task, parts, len(parts) > 1 and "all" in a.figures, options)


def notes_of(a: TaskResult, b: TaskResult) -> str:
    """What tests of these suppose that is not so everywhere."""
    notes = []
    if hanging := _GROUPED.get(a.headline):
        notes.append(f"{hanging} hang together, so that groups are tested and counted")
    seeds = [int(result.details.get("seeds", 1)) for result in (a, b)]
    kept = [max(len(one.said) for one in result.judged.values()) for result in (a, b)]
    for name, count, there in zip("ab", seeds, kept, strict=True):
        if there != count:  # a report of before all of them were kept
            notes.append(
                f"of {name}'s {count} seeds the report holds the first one's answers: they are compared"
            )
    if max(kept) > 1:
        notes.append(
            f"means of seeds, {kept[0]} of a and {kept[1]} of b: the bootstrap draws seeds anew, other tests "
            "are for these seeds, whose answers to an example are one group"
        )
    return "; ".join(notes)


def aligned(a: TaskResult, b: TaskResult) -> Iterator[tuple[str, Judged, Judged]]:
    """The parts of a task, the examples of each in the order of the data; refuses other examples."""
    if list(a.judged) != list(b.judged):
        raise ValueError(
            f"compare: {a.task}: a was judged on {', '.join(a.judged)}, b on {', '.join(b.judged)}"
        )
    for name in a.judged:
        one, other = (_in_order(result.judged[name]) for result in (a, b))
        where = f"compare: {a.task}, {name}: the reports are of different examples"
        if len(one.gold) != len(other.gold):
            raise ValueError(f"{where}: {len(one.gold)} in a, {len(other.gold)} in b")
        for what, x, y in (("number", one.places, other.places), ("label", one.gold, other.gold)):
            if (x != y).any():
                i = int(np.argmax(x != y))
                raise ValueError(f"{where}: the {what} of example {i} is {x[i]} in a, {y[i]} in b")
        known = [result.splits[name].sentences for result in (a, b) if result.splits is not None]
        # Of reports that were read from files, there is a hash of the examples.
        digests = {result.details["data"] for result in (a, b) if "data" in result.details}
        if (known and known[0] != known[-1]) or len(digests) > 1:
            raise ValueError(f"{where}: their sentences are not the same")
        yield name, one, other


def _in_order(judged: Judged) -> Judged:
    """Protocols of other folds test the same examples in another order."""
    order = np.argsort(judged.places, kind="stable")
    rows = {name: getattr(judged, name)[order] for name in ("places", "predicted", "gold")}
    by_seed = None if judged.by_seed is None else judged.by_seed[:, order]
    keys = None if judged.keys is None else judged.keys[order]
    return replace(judged, **rows, by_seed=by_seed, keys=keys)


_Parts = list[tuple[str, Judged, Judged]]


def _accuracies(task: str, parts: _Parts, figure: str, options: dict[str, Any]) -> Iterator[Compared]:
    for name, one, other in parts:
        right = [judged.said == judged.gold for judged in (one, other)]  # [seeds, n]
        values = [100 * float(np.mean(each)) for each in right]
        groups = one.gold if figure in _GROUPED else None
        seeds = math.lcm(*map(len, right))
        rows = [np.tile(each, (seeds // len(each), 1)).ravel() for each in right]
        units = groups
        if seeds > 1:  # what all seeds say of an example is one group
            units = np.tile(np.arange(len(one.gold)) if groups is None else groups, seeds)
        drawn = bootstrap_of_means(right[0], right[1], groups, options)
        given = {"groups": units, "confidence": options["confidence"]}
        for found in (mcnemar_test(*rows, **given), paired_t_test(*rows, **given), drawn):
            yield row_of(task, name, figure, values, found)


def _f1s(task: str, parts: _Parts, options: dict[str, Any]) -> Iterator[Compared]:
    """F1 is no mean over examples: there is no test of it but the bootstrap."""
    for name, *both in parts:
        gold = both[0].gold
        values = [100 * float(np.mean([f1(row, gold) for row in one.said])) for one in both]
        said = [row for one in both for row in one.said]
        drawn = f1_of_resamples(said, gold, options["resamples"], options["seed"])  # [resamples, seeds]
        yield _of_figures(task, name, "f1", values, drawn, both, options)


def _of_figures(
    task: str,
    part: str,
    figure: str,
    values: Sequence[float],
    drawn: NDArray[np.float64],
    both: Sequence[Judged],
    options: dict[str, Any],
) -> Compared:
    """The paired bootstrap of figures `(resamples, seeds)`, those of a before those of b."""
    first, n = len(both[0].said), len(both[0].gold)
    difference = (values[0] - values[1]) / 100
    found = bootstrap_of_figures("paired bootstrap", difference, drawn, first, n, options)
    return row_of(task, part, figure, values, found)


def _correlations(task: str, parts: _Parts, subsets: bool, options: dict[str, Any]) -> Iterator[Compared]:
    scores = {name: (one.predicted, other.predicted, one.gold) for name, one, other in parts}
    if subsets:
        a, b, gold = (np.concatenate(rows) for rows in zip(*scores.values(), strict=True))
        scores["pooled"] = (a, b, gold)
    for figure in CORRELATIONS:
        if any(len(judged.said) > 1 for _, *both in parts for judged in both):
            yield from _of_seeds(task, parts, figure, options)
            continue
        for name, (a, b, gold) in scores.items():
            values = [100 * CORRELATIONS[figure](row, gold) for row in (a, b)]
            williams = williams_test(a, b, gold, figure, confidence=options["confidence"])
            yield row_of(task, name, figure, values, williams)
            yield row_of(
                task, name, figure, values, paired_bootstrap_correlation(a, b, gold, figure, **options)
            )
        if subsets:
            yield _of_weighted_mean(task, parts, figure, **options)


def _of_seeds(task: str, parts: _Parts, figure: Correlation, options: dict[str, Any]) -> Iterator[Compared]:
    """Of means of several correlations there is no test but the bootstrap."""
    draws = options["resamples"], options["seed"]
    for name, *both in parts:
        gold = both[0].gold
        values = [100 * float(np.mean([CORRELATIONS[figure](row, gold) for row in one.said])) for one in both]
        drawn = [resampled_correlations(row, gold, figure, *draws) for one in both for row in one.said]
        yield _of_figures(task, name, figure, values, np.stack(drawn, axis=1), both, options)


def _of_weighted_mean(
    task: str, parts: _Parts, figure: Correlation, *, confidence: float, resamples: int, seed: int
) -> Compared:
    """The figure that tables show of STS years; a correlation that does not exist counts as 0 there."""
    sizes = [len(one.gold) for _, one, _ in parts]
    values, resampled = [], []
    _, *sides = zip(*parts, strict=True)
    for judged in sides:
        found = [CORRELATIONS[figure](one.predicted, one.gold) for one in judged]
        values.append(float(np.average(np.nan_to_num(found), weights=sizes)))
        pairs = [(one.predicted, one.gold) for one in judged]
        drawn = resampled_in_parts(pairs, figure, resamples, seed)  # the same examples for both encoders
        resampled.append(np.average(drawn, axis=0, weights=sizes))
    difference = values[0] - values[1]
    outcome = bootstrapped(
        "paired bootstrap within subsets",
        difference,
        resampled[0] - resampled[1],
        sum(sizes),
        confidence=confidence,
    )
    return row_of(task, "weighted mean", figure, [100 * value for value in values], outcome)


def by_holm(rows: Sequence[Compared]) -> tuple[Compared, ...]:
    """The rows with the p-values of Holm's method: of m ordered ones the i-th times m - i, in rising order.

    (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics,
    1979.) It holds however tests depend on each other.
    """
    corrected = [math.nan] * len(rows)
    for kind in _KINDS:
        family = [i for i, row in enumerate(rows) if row.test.startswith(kind)]
        least = 0.0
        for rank, i in enumerate(sorted(family, key=lambda i: rows[i].p_two_tailed)):
            least = min(1.0, max(least, (len(family) - rank) * rows[i].p_two_tailed))
            corrected[i] = least
    return tuple(row._replace(p_holm=p) for row, p in zip(rows, corrected, strict=True))


def row_of(task: str, part: str, figure: str, values: Sequence[float], found: Comparison) -> Compared:
    """A test's result with differences counted as figures are; that of the bootstrap is its statistic too."""
    a, b = values
    statistic = 100 * found.difference if found.test.startswith("paired bootstrap") else found.statistic
    interval = Interval(*(100 * end for end in found.interval))
    tails = (found.p_two_tailed, found.p_one_tailed)
    return Compared(
        task, part, figure, a, b, 100 * found.difference, interval, found.test, statistic, *tails, found.n
    )
