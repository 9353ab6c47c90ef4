"""Significance tests of the results of two encoders on one task."""

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
from ..metrics.results import SplitPredictions, TaskResult, is_class
from ..metrics.scores import CORRELATIONS, Correlation, f1
from ..metrics.untrained import average_precision, average_precisions
from .correlation_tests import paired_bootstrap_correlation, williams_test
from .significance import (
    Comparison,
    bootstrap_of_means,
    bootstrap_of_runs,
    bootstrapped,
    mcnemar_test,
    paired_t_test,
)

__all__ = ["Compared", "aligned", "by_holm", "notes_of", "row_of", "rows_of_task", "too_few_resamples"]

# First words of the names of tests: each kind is one family of Holm's method.
_KINDS = ("McNemar", "paired t-test", "paired bootstrap", "Williams")
# Tasks whose examples are not independent, by headline; their gold labels are the groups.
_GROUPED = {"nn_cosine": "sentences of a group", "t2i.r1": "captions of an image"}


class Compared(NamedTuple):
    """Result of one significance test of two encoders on one task.

    Attributes:
        task: Name of the task, or of an average.
        part: `"test"` or `"all"`; of tasks with subsets the subset's name, `"pooled"` or `"weighted mean"`;
            `"average"` of averages.
        figure: `"pearson"`, `"spearman"`, `"f1"`, or the accuracy, as `"acc"`; of averages of correlations
            `"pearson and spearman"`.
        a: Score of encoder a over all examples: percent, or correlation times 100.
        b: Score of encoder b.
        difference: Observed difference, a minus b.
        interval: Confidence interval of the difference.
        test: Name of the test, and what was special.
        statistic: Test statistic.
        p_two_tailed: Probability of a difference at least this large in either direction, if there is none.
        p_one_tailed: Probability of a difference at least this much in favour of greater scores for a.
        n: Number of examples, or of groups where these were tested; of averages, the number of distinct
            examples.
        p_holm: Two-tailed p-value, corrected by Holm's method for all rows of the same kind of test.
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
    """All tests of one task: a row for each part, score and test.

    Args:
        a: Result of encoder a.
        b: Result of encoder b.
        options: `confidence`, `resamples` and `seed`.
    """
    parts = list(aligned(a, b))
    if not parts:  # clusters have no examples that could be compared
        return
    if a.headline == "ap":
        yield from _average_precisions(a.task, parts, options)
    elif a.headline in ("ndcg10", "few_shot"):
        for name, *both in parts:
            best = both[0].gold  # of few shots, how often each example was tested
            values = [predictions.per_seed for predictions in both]  # [1, n]
            scores = [100 * float(row.sum() / best.sum()) for row in values]
            comparison = bootstrap_of_means(list(values[0]), list(values[1]), None, options, sizes=best)
            yield row_of(a.task, name, a.headline, scores, comparison)
    elif is_class(parts[0][1].gold):
        yield from _accuracies(a.task, parts, a.headline, options)
        if "f1" in a.figures:
            yield from _f1s(a.task, parts, options)
    else:
        yield from _correlations(a.task, parts, len(parts) > 1 and "all" in a.figures, options)


def notes_of(a: TaskResult, b: TaskResult) -> str:
    """Limits of the tests of these results, in words."""
    if not a.predictions:
        if a.headline == "v_measure":
            return "clusters of two encoders have no examples that could be compared"
        return "there are no predictions, as in results of mteb"
    notes = []
    if dependent := _GROUPED.get(a.headline):
        notes.append(f"{dependent} are not independent, so that groups are tested and counted")
    seeds = [int(result.details.get("seeds", 1)) for result in (a, b)]
    saved = [max(len(part.per_seed) for part in result.predictions.values()) for result in (a, b)]
    for name, count, in_report in zip("ab", seeds, saved, strict=True):
        if in_report != count:  # written by a version that saved the first seed only
            notes.append(
                f"the report has the predictions of the first of {name}'s {count} seeds: they are compared"
            )
    if max(saved) > 1:
        notes.append(
            f"means of seeds, {saved[0]} of a and {saved[1]} of b: the bootstrap resamples seeds; for other "
            "tests, the predictions of these seeds for an example are one group"
        )
    return "; ".join(notes)


def too_few_resamples(rows: Sequence[Compared], resamples: int) -> str:
    """Why Holm's correction leaves no p-value of the bootstrap below 0.05, in words; "" if it does not.

    Args:
        rows: All rows of a comparison.
        resamples: Number of bootstrap resamples.
    """
    count = sum(row.test.startswith("paired bootstrap") for row in rows)
    least = count / (1 + resamples)
    if least <= 0.05:
        return ""
    return (
        f"with {resamples} resamples, p, Holm, of {count} rows cannot be below {min(least, 1):.3f}; use "
        f"resamples={20 * count} or more"
    )


def aligned(a: TaskResult, b: TaskResult) -> Iterator[tuple[str, SplitPredictions, SplitPredictions]]:
    """The parts of a task with both encoders' predictions in the order of the data."""
    if bool(a.predictions) != bool(b.predictions):
        raise ValueError(
            f"compare: {a.task}: one report has no predictions, which results of mteb do not have"
        )
    if list(a.predictions) != list(b.predictions):
        raise ValueError(
            f"compare: {a.task}: a was evaluated on {', '.join(a.predictions)}, "
            f"b on {', '.join(b.predictions)}"
        )
    for name in a.predictions:
        predictions_a, predictions_b = (_in_order(result.predictions[name]) for result in (a, b))
        where = f"compare: {a.task}, {name}: the reports are of different examples"
        if predictions_a.gold.dtype.kind != predictions_b.gold.dtype.kind:
            raise ValueError(
                f"compare: {a.task}, {name}: an older version wrote one of the reports, with other values: "
                "evaluate again"
            )
        if len(predictions_a.gold) != len(predictions_b.gold):
            raise ValueError(f"{where}: {len(predictions_a.gold)} in a, {len(predictions_b.gold)} in b")
        columns = (
            ("number", predictions_a.indices, predictions_b.indices),
            ("label", predictions_a.gold, predictions_b.gold),
        )
        for what, x, y in columns:
            if (x != y).any():
                i = int(np.argmax(x != y))
                raise ValueError(f"{where}: the {what} of example {i} is {x[i]} in a, {y[i]} in b")
        sentences = [result.splits[name].sentences for result in (a, b) if result.splits is not None]
        # Reports that were read from files have a digest of the examples instead.
        digests = {result.details["data"] for result in (a, b) if "data" in result.details}
        if (sentences and sentences[0] != sentences[-1]) or len(digests) > 1:
            raise ValueError(f"{where}: their sentences are not the same")
        yield name, predictions_a, predictions_b


def _in_order(predictions: SplitPredictions) -> SplitPredictions:
    """Protocols with other folds test the same examples in another order."""
    order = np.argsort(predictions.indices, kind="stable")
    rows = {name: getattr(predictions, name)[order] for name in ("indices", "predicted", "gold")}
    by_seed = None if predictions.by_seed is None else predictions.by_seed[:, order]
    keys = None if predictions.keys is None else predictions.keys[order]
    return replace(predictions, **rows, by_seed=by_seed, keys=keys)


_Parts = list[tuple[str, SplitPredictions, SplitPredictions]]


def _accuracies(task: str, parts: _Parts, figure: str, options: dict[str, Any]) -> Iterator[Compared]:
    for name, *both in parts:
        gold = both[0].gold
        right = [predictions.per_seed == gold for predictions in both]  # [seeds, n]
        scores = [100 * float(np.mean(each)) for each in right]
        groups = gold if figure in _GROUPED else None
        seeds = math.lcm(*map(len, right))
        rows = [np.tile(each, (seeds // len(each), 1)).ravel() for each in right]
        units = groups
        if seeds > 1:  # the predictions of all seeds for an example are one group
            units = np.tile(np.arange(len(gold)) if groups is None else groups, seeds)
        for test in (mcnemar_test, paired_t_test):
            comparison = test(*rows, groups=units, confidence=options["confidence"])
            yield row_of(task, name, figure, scores, comparison)
        yield row_of(task, name, figure, scores, bootstrap_of_means(right[0], right[1], groups, options))


def _f1s(task: str, parts: _Parts, options: dict[str, Any]) -> Iterator[Compared]:
    """F1 is not a mean over examples: only the bootstrap tests it."""
    for name, *both in parts:
        gold = both[0].gold
        scores = [
            100 * float(np.mean([f1(row, gold) for row in predictions.per_seed])) for predictions in both
        ]
        rows = [row for predictions in both for row in predictions.per_seed]
        resampled = f1_of_resamples(rows, gold, options["resamples"], options["seed"])  # [resamples, seeds]
        yield _by_bootstrap(task, name, "f1", scores, resampled, both, options)


def _average_precisions(task: str, parts: _Parts, options: dict[str, Any]) -> Iterator[Compared]:
    for name, *both in parts:
        rows = [(predictions.predicted, predictions.gold) for predictions in both]
        scores = [100 * average_precision(*row) for row in rows]
        resampled = np.stack(
            [average_precisions(*row, options["resamples"], options["seed"]) for row in rows], axis=1
        )
        yield _by_bootstrap(task, name, "ap", scores, resampled, both, options)


def _by_bootstrap(
    task: str,
    part: str,
    figure: str,
    scores: Sequence[float],
    resampled: NDArray[np.float64],
    both: Sequence[SplitPredictions],
    options: dict[str, Any],
) -> Compared:
    """The paired bootstrap of scores `(resamples, seeds)`, those of a before those of b."""
    runs_of_a, n = len(both[0].per_seed), len(both[0].gold)
    difference = (scores[0] - scores[1]) / 100
    comparison = bootstrap_of_runs("paired bootstrap", difference, resampled, runs_of_a, n, options)
    return row_of(task, part, figure, scores, comparison)


def _correlations(task: str, parts: _Parts, subsets: bool, options: dict[str, Any]) -> Iterator[Compared]:
    predictions = {name: (a.predicted, b.predicted, a.gold) for name, a, b in parts}
    if subsets:
        a, b, gold = (np.concatenate(rows) for rows in zip(*predictions.values(), strict=True))
        predictions["pooled"] = (a, b, gold)
    for figure, correlate in CORRELATIONS.items():
        if any(len(predictions.per_seed) > 1 for _, *both in parts for predictions in both):
            yield from _over_seeds(task, parts, figure, options)
            continue
        for name, (a, b, gold) in predictions.items():
            scores = [100 * correlate(row, gold) for row in (a, b)]
            williams = williams_test(a, b, gold, figure, confidence=options["confidence"])
            bootstrap = paired_bootstrap_correlation(a, b, gold, figure, **options)
            yield row_of(task, name, figure, scores, williams)
            yield row_of(task, name, figure, scores, bootstrap)
        if subsets:
            yield _weighted_mean(task, parts, figure, **options)


def _over_seeds(task: str, parts: _Parts, figure: Correlation, options: dict[str, Any]) -> Iterator[Compared]:
    """Only the bootstrap tests a mean of several correlations."""
    correlate, seeded = CORRELATIONS[figure], (options["resamples"], options["seed"])
    for name, *both in parts:
        gold = both[0].gold
        scores = [
            100 * float(np.mean([correlate(row, gold) for row in predictions.per_seed]))
            for predictions in both
        ]
        resampled = [
            resampled_correlations(row, gold, figure, *seeded)
            for predictions in both
            for row in predictions.per_seed
        ]
        yield _by_bootstrap(task, name, figure, scores, np.stack(resampled, axis=1), both, options)


def _weighted_mean(
    task: str, parts: _Parts, figure: Correlation, *, confidence: float, resamples: int, seed: int
) -> Compared:
    """The score that tables show for STS years; an undefined correlation counts as 0 there."""
    sizes = [len(predictions.gold) for _, predictions, _ in parts]
    scores, resampled = [], []
    _, *sides = zip(*parts, strict=True)
    for subsets in sides:
        pairs = [(predictions.predicted, predictions.gold) for predictions in subsets]
        correlations = [CORRELATIONS[figure](*pair) for pair in pairs]
        scores.append(float(np.average(np.nan_to_num(correlations), weights=sizes)))
        by_subset = resampled_in_parts(pairs, figure, resamples, seed)  # the same examples for both encoders
        resampled.append(np.average(by_subset, axis=0, weights=sizes))
    comparison = bootstrapped(
        "paired bootstrap within subsets",
        scores[0] - scores[1],
        resampled[0] - resampled[1],
        sum(sizes),
        confidence=confidence,
    )
    return row_of(task, "weighted mean", figure, [100 * score for score in scores], comparison)


def by_holm(rows: Sequence[Compared]) -> tuple[Compared, ...]:
    """The rows with Holm's corrected p-values: of m sorted ones the i-th times m - i, made to rise.

    (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics,
    1979.) The correction holds for dependent tests.
    """
    corrected = [math.nan] * len(rows)
    for kind in _KINDS:
        family = [i for i, row in enumerate(rows) if row.test.startswith(kind)]
        least = 0.0
        for rank, i in enumerate(sorted(family, key=lambda i: rows[i].p_two_tailed)):
            least = min(1.0, max(least, (len(family) - rank) * rows[i].p_two_tailed))
            corrected[i] = least
    return tuple(row._replace(p_holm=p) for row, p in zip(rows, corrected, strict=True))


def row_of(task: str, part: str, figure: str, scores: Sequence[float], comparison: Comparison) -> Compared:
    """A test's result in percent or correlation times 100; the bootstrap's statistic is its difference."""
    a, b = scores
    difference = 100 * comparison.difference
    bootstrap = comparison.test.startswith("paired bootstrap")
    return Compared(
        task,
        part,
        figure,
        a,
        b,
        difference,
        Interval(*(100 * end for end in comparison.interval)),
        comparison.test,
        difference if bootstrap else comparison.statistic,
        comparison.p_two_tailed,
        comparison.p_one_tailed,
        comparison.n,
    )
