"""Whether one encoder is better than another, task by task, on the examples that both were judged by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from .averages import averages_of, drawn_average
from .joint import distinct_examples
from .metrics import (
    Correlation,
    Interval,
    f1,
    f1_of_resamples,
    mean_of_runs,
    pearson,
    resampled_correlations,
    resampled_in_parts,
    resampled_means,
    spearman,
)
from .report import Judged, Report, TaskResult, examples_of, is_class, plain, ranks_apart
from .significance import (
    Comparison,
    bootstrapped,
    mcnemar_test,
    paired_bootstrap,
    paired_bootstrap_correlation,
    paired_t_test,
    williams_test,
)
from .tables import markdown, markdown_row, percent

__all__ = ["Compared", "Comparisons", "Differing", "compare"]

_AGREE: dict[Correlation, Callable[[Any, Any], float]] = {"pearson": pearson, "spearman": spearman}
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


class Differing(NamedTuple):
    """An example of which two encoders say different things."""

    sentences: tuple[str, ...]
    gold: Any
    a: Any
    b: Any


@dataclass(frozen=True, eq=False)
class Comparisons(Sequence[Compared]):
    """What `sentencode.compare` found: a row for each task and test.

    Attributes:
        a: What the one encoder is called.
        b: What the other is called.
        rows: In the order of the first report's tasks, then averages.
        skipped: Tasks that could not be compared, and why.
        confidence: Of the intervals.
        protocols: What the one and the other was judged by.
        notes: What the tests of some tasks suppose, by task.
    """

    a: str
    b: str
    rows: tuple[Compared, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    confidence: float = 0.95
    protocols: tuple[str | None, str | None] = (None, None)
    notes: dict[str, str] = field(default_factory=dict)
    _results: dict[str, tuple[TaskResult, TaskResult]] = field(default_factory=dict, repr=False)

    @overload
    def __getitem__(self, index: int) -> Compared: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Compared, ...]: ...
    def __getitem__(self, index: int | slice) -> Compared | tuple[Compared, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, task: str) -> tuple[Compared, ...]:
        """The rows of one task."""
        self._both(task)
        return tuple(row for row in self.rows if row.task == task)

    def differing(self, task: str, limit: int | None = None) -> list[Differing]:
        """The examples that the encoders put into different classes, or to the most distant ranks.

        Args:
            task: The task.
            limit: How many at most.

        Returns:
            The examples: of classes, those first that one of the encoders has right; of scores, those first
            whose ranks are farthest apart. Of several seeds the first one's.

        Raises:
            KeyError: The task was not compared.
            ValueError: Both reports were read from files, which have no sentences.
        """
        found: list[tuple[float, Differing]] = []
        both = self._both(task)
        splits = examples_of(*both)
        for name, one, other in _aligned(*both):
            gold, said = one.gold, (one.predicted, other.predicted)
            if is_class(gold):
                apart = (said[0] != said[1]) * (1.0 + ((said[0] == gold) | (said[1] == gold)))
            else:
                apart = ranks_apart(*said) / len(gold)
            for i in np.argsort(-apart, kind="stable")[:limit]:
                if apart[i] > 0:
                    sentences = tuple(side[one.places[i]] for side in splits[name].sentences)
                    values = (row[i].item() for row in (gold, *said))
                    found.append((-apart[i], Differing(sentences, *values)))
        return [example for _, example in sorted(found, key=lambda pair: pair[0])[:limit]]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it; what is not a finite number is a string."""
        rows = [plain(row._asdict()) for row in self.rows]
        return {
            "a": self.a,
            "b": self.b,
            "confidence": self.confidence,
            "protocols": list(self.protocols),
            "rows": rows,
            "notes": self.notes,
            "skipped": self.skipped,
        }

    def to_markdown(self) -> str:
        """A table of all rows, and below it what they are."""
        a, b = (self.a, self.b) if self.a != self.b else (f"{self.a} (a)", f"{self.b} (b)")
        if self.protocols[0] != self.protocols[1]:
            a, b = (f"{name} ({protocol})" for name, protocol in zip((a, b), self.protocols, strict=True))
        a, b = markdown(a), markdown(b)
        level = f"{percent(self.confidence)} interval"
        header = ["task", "figure", a, b, "difference", level, "test", "p", "p, Holm", "p one-tailed", "n"]
        lines = [markdown_row(header), markdown_row(["---"] * 2 + ["---:"] * 4 + ["---"] + ["---:"] * 4)]
        for row in self.rows:
            lines.append(
                markdown_row(
                    (
                        markdown(self._label(row)),
                        row.figure,
                        *(f"{value:.2f}" for value in (row.a, row.b)),
                        f"{row.difference:+.2f}",
                        f"{row.interval.low:+.2f} to {row.interval.high:+.2f}",
                        row.test,
                        *(_p(value) for value in (row.p_two_tailed, row.p_holm, row.p_one_tailed)),
                        str(row.n),
                    )
                )
            )
        notes = [
            f"Differences are {a} less {b}, in percent or correlation times 100; one-tailed: {a} is better. "
            "p is of each test alone; p, Holm, is corrected for all rows of the same kind of test: where the "
            "two do not differ, any of these is below 0.05 at most once in twenty tables."
        ]
        one, other = self.protocols
        if one != other:
            notes.append(
                markdown(
                    f"They were judged by different protocols ({one}; {other}): their figures do not compare."
                )
            )
        notes += [markdown(f"{task}: {note}.") for task, note in self.notes.items()]
        notes += [markdown(f"{task}: not compared, {why}.") for task, why in self.skipped.items()]
        return "\n".join([*lines, "", *notes]) + "\n"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        return f"Comparisons({self.a!r}, {self.b!r}: {len(self.rows)} tests on {', '.join(self._results)})"

    def _label(self, row: Compared) -> str:
        """What a row is of, as other tables call it."""
        if row.part == "average":
            return row.task
        label = self._results[row.task][0].label
        return label if row.part in ("test", "all") else f"{label}: {row.part}"

    def _both(self, task: str) -> tuple[TaskResult, TaskResult]:
        if task not in self._results:
            why = self.skipped.get(task, f"the tasks are {', '.join(self._results)}")
            raise KeyError(f"{task} was not compared: {why}")
        return self._results[task]


def compare(
    a: Report, b: Report, *, confidence: float = 0.95, resamples: int = 2000, seed: int = 1111
) -> Comparisons:
    """Compares two encoders on every task that both reports have, example by example.

    Accuracies are compared by McNemar's test, Student's paired t-test and the paired bootstrap; F1 by the
    last alone; correlations by Williams' test and the paired bootstrap. Of STS years each subset is
    compared, and all pairs pooled; the mean over the subsets, weighted by their sizes, by a bootstrap within
    subsets. Averages over tasks that both reports have are compared by a bootstrap in which an example that
    several tasks share is drawn for all of them at once.

    Where many differences are tested, some look large by chance: `p_holm` is what to go by then. Its family
    are all rows of one kind of test, for McNemar's and Student's test and the bootstrap of one accuracy ask
    the same question thrice.

    Sentences of one group, and captions of one image, hang together: the tests are of groups then, and the
    bootstrap draws whole groups. Of several seeds the figures are means over all. McNemar's test and the
    t-test take what all seeds say of an example as one group, so that they tell of other examples and the
    same seeds; the bootstrap draws seeds anew, too. `Comparisons.notes` says where it is so.

    Args:
        a: One encoder's report.
        b: The other's, on the same examples.
        confidence: Of the intervals.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        A row for each task and test.

    Raises:
        TypeError: One of the two is no report.
        ValueError: The reports have no task in common, or are of different examples of a task; or an option
            is out of range.

    Example:
        >>> import numpy as np, sentencode as se
        >>> from sentencode.evaluation import Kind, Split, Task
        >>> words = ["one", "two", "three", "four", "five", "six"]
        >>> pairs = Split((words, ["one"] * 6), np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0]))
        >>> task = Task("mine", {"test": pairs}, Kind("similarity"))
        >>> def near(sentences):
        ...     return [[6, words.index(s)] for s in sentences]
        >>> def far(sentences):
        ...     return [[3, len(s)] for s in sentences]
        >>> found = se.compare(se.evaluate(near, task, name="near"), se.evaluate(far, task, name="far"))
        >>> found[0].test, round(found[0].difference), round(found[0].p_one_tailed, 3)
        ('Williams', 93, 0.026)
        >>> found.differing("mine", limit=1)
        [Differing(sentences=('six', 'one'), gold=0.0, a=0.76..., b=1.0)]
    """
    for name, report in (("a", a), ("b", b)):
        if not isinstance(report, Report):
            raise TypeError(f"compare: {name} must be a Report, got {type(report).__name__}")
    common = [task for task in a if task in b]
    if not common:
        raise ValueError(
            f"compare: the reports have no task in common: a has {_listed(a)}, b has {_listed(b)}"
        )
    options = {"confidence": confidence, "resamples": resamples, "seed": seed}
    rows: list[Compared] = []
    notes = {}
    skipped = {task: "only one report has it" for task in dict.fromkeys([*a, *b]) if task not in common}
    compared = {}
    for task in common:
        wrong = [(name, report[task].error) for name, report in (("a", a), ("b", b)) if report[task].error]
        if wrong:
            skipped[task] = "; ".join(f"{name} has no figure ({why})" for name, why in wrong)
            continue
        compared[task] = (a[task], b[task])
        parts = list(_aligned(*compared[task]))
        if is_class(parts[0][1].gold):
            rows += _accuracies(task, parts, a[task].headline, options)
            if "f1" in a[task].figures:
                rows += _f1s(task, parts, options)
        else:
            rows += _correlations(task, parts, len(parts) > 1 and "all" in a[task].figures, options)
        if said := _notes(*compared[task]):
            notes[task] = said
    rows += _averages(compared, options)
    protocols = (a.facts.get("protocol"), b.facts.get("protocol"))
    return Comparisons(a.encoder, b.encoder, _by_holm(rows), skipped, confidence, protocols, notes, compared)


def _notes(a: TaskResult, b: TaskResult) -> str:
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


def _listed(report: Report) -> str:
    return ", ".join(report) or "none"


def _aligned(a: TaskResult, b: TaskResult) -> Iterator[tuple[str, Judged, Judged]]:
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
        if seeds == 1:
            rows, units = [each[0] for each in right], groups
            drawn = paired_bootstrap(*rows, groups=groups, **options)
        else:
            rows = [np.tile(each, (seeds // len(each), 1)).ravel() for each in right]
            numbers = np.arange(len(one.gold)) if groups is None else groups
            units = np.tile(numbers, seeds)
            shares = _shares(right, numbers, options)
            drawn = _of_drawn(shares, len(right[0]), values, len(np.unique(numbers)), options)
        given = {"groups": units, "confidence": options["confidence"]}
        for found in (mcnemar_test(*rows, **given), paired_t_test(*rows, **given), drawn):
            yield _row(task, name, figure, values, found)


def _f1s(task: str, parts: _Parts, options: dict[str, Any]) -> Iterator[Compared]:
    """F1 is no mean over examples: there is no test of it but the bootstrap."""
    for name, *both in parts:
        gold = both[0].gold
        values = [100 * float(np.mean([f1(row, gold) for row in one.said])) for one in both]
        said = [row for one in both for row in one.said]
        drawn = f1_of_resamples(said, gold, options["resamples"], options["seed"])  # [resamples, seeds]
        yield _row(task, name, "f1", values, _of_drawn(drawn, len(both[0].said), values, len(gold), options))


def _shares(
    right: Sequence[NDArray[np.bool_]], groups: NDArray[Any], options: dict[str, Any]
) -> NDArray[np.float64]:
    """The accuracies of both encoders' seeds on groups that are drawn, `(resamples, seeds)`."""
    _, place, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    columns = [np.bincount(place, weights=row) for each in right for row in each]
    drawn = resampled_means([*columns, sizes], options["resamples"], options["seed"])
    return drawn[:, :-1] / drawn[:, -1:]


def _of_drawn(
    drawn: NDArray[np.float64], first: int, values: Sequence[float], n: int, options: dict[str, Any]
) -> Comparison:
    """The paired bootstrap of figures `(resamples, seeds)`, of which the first ones are those of a.

    Where an encoder has several seeds, these are drawn, too.
    """
    a, b = (
        mean_of_runs(each, options["seed"] + i) for i, each in enumerate((drawn[:, :first], drawn[:, first:]))
    )
    test = "paired bootstrap" + (" over seeds" if drawn.shape[1] > 2 else "")
    return bootstrapped(test, (values[0] - values[1]) / 100, a - b, n, confidence=options["confidence"])


def _correlations(task: str, parts: _Parts, subsets: bool, options: dict[str, Any]) -> Iterator[Compared]:
    scores = {name: (one.predicted, other.predicted, one.gold) for name, one, other in parts}
    if subsets:
        a, b, gold = (np.concatenate(rows) for rows in zip(*scores.values(), strict=True))
        scores["pooled"] = (a, b, gold)
    for figure in _AGREE:
        if any(len(judged.said) > 1 for _, *both in parts for judged in both):
            yield from _of_seeds(task, parts, figure, options)
            continue
        for name, (a, b, gold) in scores.items():
            values = [100 * _AGREE[figure](row, gold) for row in (a, b)]
            williams = williams_test(a, b, gold, figure, confidence=options["confidence"])
            yield _row(task, name, figure, values, williams)
            yield _row(
                task, name, figure, values, paired_bootstrap_correlation(a, b, gold, figure, **options)
            )
        if subsets:
            yield _of_weighted_mean(task, parts, figure, **options)


def _of_seeds(task: str, parts: _Parts, figure: Correlation, options: dict[str, Any]) -> Iterator[Compared]:
    """Of means of several correlations there is no test but the bootstrap."""
    draws = options["resamples"], options["seed"]
    for name, *both in parts:
        gold = both[0].gold
        values = [100 * float(np.mean([_AGREE[figure](row, gold) for row in one.said])) for one in both]
        drawn = [resampled_correlations(row, gold, figure, *draws) for one in both for row in one.said]
        found = _of_drawn(np.stack(drawn, axis=1), len(both[0].said), values, len(gold), options)
        yield _row(task, name, figure, values, found)


def _of_weighted_mean(
    task: str, parts: _Parts, figure: Correlation, *, confidence: float, resamples: int, seed: int
) -> Compared:
    """The figure that tables show of STS years; a correlation that does not exist counts as 0 there."""
    sizes = [len(one.gold) for _, one, _ in parts]
    values, resampled = [], []
    _, *sides = zip(*parts, strict=True)
    for judged in sides:
        found = [_AGREE[figure](one.predicted, one.gold) for one in judged]
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
    return _row(task, "weighted mean", figure, [100 * value for value in values], outcome)


def _averages(
    compared: dict[str, tuple[TaskResult, TaskResult]], options: dict[str, Any]
) -> Iterator[Compared]:
    """The averages over the tasks that were compared, on resamples that are the same for both encoders."""
    sides = [_comparable(compared, side) for side in (0, 1)]
    a, b = ({average.name: average for average in averages_of(side, resamples=1)} for side in sides)
    for name in [name for name in a if name in b]:
        drawn = [
            drawn_average(side, of[name], options["resamples"], options["seed"])
            for side, of in zip(sides, (a, b), strict=True)
        ]
        if drawn[0] is None or drawn[1] is None:
            continue
        values = [a[name].value, b[name].value]
        difference, moved = (values[0] - values[1]) / 100, (drawn[0] - drawn[1]) / 100
        outcome = bootstrapped(
            "paired bootstrap of shared examples",
            difference,
            difference + moved[1:] - moved[0],
            distinct_examples([sides[0][task] for task in a[name].tasks]),
            confidence=options["confidence"],
        )
        yield _row(a[name].label, "average", a[name].figure, values, outcome)


def _comparable(compared: dict[str, tuple[TaskResult, TaskResult]], side: int) -> dict[str, TaskResult]:
    """One encoder's results; where the other's do not tell shared examples from others, its own do not."""
    found = {}
    for task, both in compared.items():
        known = all(judged.keys is not None for result in both for judged in result.judged.values())
        judged = both[side].judged
        if not known:
            judged = {name: replace(one, keys=None) for name, one in judged.items()}
        found[task] = replace(both[side], judged=judged)
    return found


def _by_holm(rows: Sequence[Compared]) -> tuple[Compared, ...]:
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


def _row(task: str, part: str, figure: str, values: Sequence[float], found: Comparison) -> Compared:
    """A test's result with differences counted as figures are; that of the bootstrap is its statistic too."""
    a, b = values
    statistic = 100 * found.difference if found.test.startswith("paired bootstrap") else found.statistic
    interval = Interval(*(100 * end for end in found.interval))
    tails = (found.p_two_tailed, found.p_one_tailed)
    return Compared(
        task, part, figure, a, b, 100 * found.difference, interval, found.test, statistic, *tails, found.n
    )


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 and not math.isnan(value) else f"{value:.4f}"
