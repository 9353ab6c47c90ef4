"""What tables and pictures of several reports show, computed once for whatever draws them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .metrics import Interval, pearson
from .published import PublishedFigure, published_for
from .report import Curve, Report, TaskResult, labelled

__all__ = [
    "Block",
    "Cell",
    "Chart",
    "HeatMap",
    "Measure",
    "Point",
    "TradeOff",
    "averages",
    "charts",
    "correlations",
    "heat_map",
    "heat_map_columns",
    "measures",
    "pareto_front",
    "renamed",
    "trade_offs",
    "unique",
]

PERCENT, CORRELATION, COUNT, RANK, PLAIN = "percent", "correlation x 100", "count", "rank", ""

Extra = Mapping[str, Mapping[str, float]]

FEWEST_MODELS = 8  # of which a matrix of correlations is drawn
_FEWEST = 3  # of which there is a correlation that says anything at all
_PARAPHRASES = ("cl_one", "cl_half", "nn_cosine", "nn_l2")
_RECALLS = ("r1", "r5", "r10")
# Of measures of tasks; similarity by the cosine and learnt similarity are never in one mean.
_KINDS = ("classification", "similarity", "learnt similarity", "paraphrases", "retrieval")
_COSINE = {"SICKCosine": "SICKRelatedness", "STSBenchmarkCosine": "STSBenchmark"}
_PUBLISHED_AVERAGES = {
    **{f"{kind} of {n}": (f"average-{n}", kind) for kind in ("macro", "micro") for n in (6, 7, 8)},
    "AvgAcc": ("AvgAcc", "accuracy"),
    "AvgSim": ("AvgSim", "correlation"),
}


class Cell(NamedTuple):
    """A figure of one encoder.

    Attributes:
        value: In the measure's unit.
        interval: Where it lies for other examples of the same kind.
        p: The p-value of a correlation, where the report has one.
        partial: Whether files of another size than published were accepted.
        deviation: Over seeds or repetitions, where there were some.
    """

    value: float
    interval: Interval | None = None
    p: float | None = None
    partial: bool = False
    deviation: float | None = None


@dataclass(frozen=True, eq=False)
class Measure:
    """What several encoders have a figure of: a column of a table, a group of bars, a line of a heat map.

    Attributes:
        task: The task, or the name of an average.
        part: The subset or split, `"all"` where subsets are averaged; empty where a task has no parts.
        figure: As `"acc"`, `"pearson"` or `"pearson.wmean"`.
        unit: What figures are counted in.
        cells: By encoder.
        headline: Whether it is what tables show of the task.
        published: The papers' figures of the same.
        tasks: Of an average, what it is over.
        scored: How pairs are scored: see `TaskResult.scored`.
    """

    task: str
    part: str
    figure: str
    unit: str
    cells: dict[str, Cell]
    headline: bool = False
    published: tuple[PublishedFigure, ...] = ()
    tasks: tuple[str, ...] = ()
    scored: str | None = None

    @property
    def title(self) -> str:
        """What it is of, as tables and pictures call it."""
        return self.task if self.tasks else labelled(self.task, self.scored)

    @property
    def label(self) -> str:
        """Its name in full."""
        return " ".join(filter(None, (self.title, self.part, self.figure)))


def unique(reports: Sequence[Report]) -> list[Report]:
    """The reports, if their encoders can be told apart.

    Where not all were judged by one protocol, every encoder is called by its own as well.

    Raises:
        ValueError: There is none, or two have one name.
    """
    if not reports:
        raise ValueError("there is no report to show")
    protocols = [report.facts.get("protocol", "protocol not known") for report in reports]
    if len(set(protocols)) > 1:
        reports = [
            replace(report, encoder=f"{report.encoder} ({protocol})")
            for report, protocol in zip(reports, protocols, strict=True)
        ]
    name, count = Counter(report.encoder for report in reports).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"{count} reports are of an encoder called {name!r}: give evaluate a name for each, or set "
            "report.encoder"
        )
    return list(reports)


def renamed(extra: Extra | None, before: Sequence[Report], after: Sequence[Report]) -> Extra:
    """What else is known of encoders, by the names that `unique` gave them."""
    names: dict[str, list[str]] = {}
    for old, new in zip(before, after, strict=True):
        names.setdefault(old.encoder, []).append(new.encoder)
    return {new: known for name, known in (extra or {}).items() for new in names.get(name, [name])}


def measures(reports: Sequence[Report]) -> list[Measure]:
    """All figures of all reports, in the order in which tasks and figures appear first, what was learnt last.

    Accuracies are in percent, correlations times 100.
    """
    found: dict[tuple[str, str, str], Measure] = {}
    headlines: dict[str, str] = {}
    for report in reports:
        for task, result in report.results.items():
            if result.error is not None:
                continue
            headlines.setdefault(task, result.headline)
            for part, figure, value, p in _leaves(result.figures):
                if part == "all" and not headlines[task].startswith("all."):
                    continue  # the averages of a single subset
                key = f"{part}.{figure}" if part else figure
                unit = _unit(figure)
                scale = 100 if unit == CORRELATION else 1
                interval = result.intervals.get(key)
                if interval is not None:
                    interval = Interval(*(scale * end for end in interval))
                if (task, part, figure) not in found:
                    headline = key == headlines[task]
                    metric = _published_metric(task, part, figure)
                    published = () if metric is None else published_for(*metric)
                    found[task, part, figure] = Measure(
                        task, part, figure, unit, {}, headline, published, scored=result.scored
                    )
                partial = bool(result.details.get("partial"))
                spread = result.deviation(key)
                found[task, part, figure].cells[report.encoder] = Cell(
                    scale * value, interval, p, partial, None if spread is None else scale * spread
                )
    order = {task: i for i, task in enumerate(headlines)}
    return sorted(found.values(), key=lambda measure: (measure.scored == "learnt", order[measure.task]))


def _leaves(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, float, float | None]]:
    """Part, figure, value and p-value of every figure; scores of single examples are none."""
    for key, value in figures.items():
        if not isinstance(value, Mapping):
            if np.ndim(value) == 0:
                yield "", key, float(value), None
            continue
        for figure, inner in value.items():
            if isinstance(inner, Mapping):
                yield from ((key, f"{figure}.{kind}", float(one), None) for kind, one in inner.items())
            elif isinstance(inner, tuple):
                yield key, figure, float(inner[0]), float(inner[1])
            else:
                yield key, figure, float(inner), None


def _unit(figure: str) -> str:
    if figure in ("acc", "devacc", "f1", *_PARAPHRASES, *_RECALLS):
        return PERCENT
    if figure.partition(".")[0] in ("pearson", "spearman", "devpearson"):
        return CORRELATION
    if figure == "medr":
        return RANK
    return COUNT if figure in ("ndev", "ntest", "nsamples", "ngroups") else PLAIN


def _published_metric(task: str, part: str, figure: str) -> tuple[str, str] | None:
    """By what names the papers' figures are found; they are of test sets."""
    if not part:
        names = {"acc": "accuracy", "f1": "f1", "pearson": "pearson", "spearman": "spearman"}
        return (task, names[figure]) if figure in names else None
    if part == "all" and figure.endswith(".wmean"):
        return task, figure.partition(".")[0]
    if part == "test" and figure == "pearson" and task in _COSINE:
        return _COSINE[task], "cosine_pearson"
    return None


def averages(reports: Sequence[Report]) -> list[Measure]:
    """The averages of all reports; one of which a task is missing bears no paper's name."""
    found: dict[str, Measure] = {}
    for report in reports:
        for average in report.averages:
            if average.name not in found:
                names = _PUBLISHED_AVERAGES.get(average.name)
                found[average.name] = Measure(
                    average.label,
                    "",
                    average.figure,
                    PERCENT if average.unit == "acc" else CORRELATION,
                    {},
                    published=() if names is None else published_for(*names),
                    tasks=average.tasks,
                    scored=average.scored,
                )
            partial = any(report[task].details.get("partial") for task in average.tasks)
            found[average.name].cells[report.encoder] = Cell(average.value, average.interval, partial=partial)
    return list(found.values())


class Block(NamedTuple):
    """The correlations of one group of measures with another, or within one.

    Attributes:
        first: One group.
        second: The other, or the same.
        mean: Of the correlations of all pairs of measures.
        deviation: Theirs from the mean (of a sample); not a number for one pair.
        pairs: How many there are.
    """

    first: str
    second: str
    mean: float
    deviation: float
    pairs: int


class HeatMap(NamedTuple):
    """How measures agree over models, as figure 2 of Cifka and Bojar (2018) shows it.

    Attributes:
        names: The measures.
        groups: Which group each is of.
        matrix: Pearson's correlations over the models that have both; not a number with too few of them, or
            where a measure does not vary.
        models: Over how many at most.
        blocks: Means of groups.
        others: For each measure, its mean correlation with all measures of tasks but itself.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    matrix: NDArray[np.float64]
    models: int
    blocks: tuple[Block, ...]
    others: tuple[Block, ...]


_TASKS = "all tasks"


def heat_map(reports: Sequence[Report], extra: Extra | None = None) -> HeatMap:
    """Correlations over encoders between the tasks' figures, and with what else is known of encoders.

    Args:
        reports: One of each encoder.
        extra: By encoder, other figures of it: BLEU, heads, hours.

    Returns:
        The correlations.

    Raises:
        ValueError: There are fewer than eight encoders, or `extra` names another one.
    """
    return correlations(*heat_map_columns(reports, extra), fewest=FEWEST_MODELS)


def heat_map_columns(
    reports: Sequence[Report], extra: Extra | None = None
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """What a heat map correlates, by name and encoder, and the group of each."""
    columns: dict[str, dict[str, float]] = {}
    groups: dict[str, str] = {}
    for measure in measures(reports):
        if measure.headline:
            columns[measure.title] = {name: cell.value for name, cell in measure.cells.items()}
            groups[measure.title] = _kind(measure)
    known = {report.encoder for report in reports}
    for encoder, figures in (extra or {}).items():
        if encoder not in known:
            raise ValueError(
                f"extra: there is no report of {encoder!r}; there are {', '.join(sorted(known))}"
            )
        for name, value in figures.items():
            if groups.setdefault(name, name) in _KINDS:
                raise ValueError(f"extra: {name!r} is the name of a task; call the column otherwise")
            try:
                columns.setdefault(name, {})[encoder] = float(value)
            except (TypeError, ValueError):
                raise ValueError(f"extra: {name} of {encoder} must be a number, got {value!r}") from None
    return columns, groups


def _kind(measure: Measure) -> str:
    classification, similarity, learnt, paraphrases, retrieval = _KINDS
    if measure.figure in _PARAPHRASES:
        return paraphrases
    if measure.figure in _RECALLS:
        return retrieval
    if measure.unit == PERCENT:
        return classification
    return learnt if measure.scored == "learnt" else similarity


def correlations(
    columns: Mapping[str, Mapping[str, float]], groups: Mapping[str, str], *, fewest: int = _FEWEST
) -> HeatMap:
    """Pearson's correlations between all pairs of columns.

    Args:
        columns: By name, the value of each model.
        groups: Of each column; what is `"classification"`, `"similarity"`, `"learnt similarity"`,
            `"paraphrases"` or `"retrieval"` measures a task.
        fewest: Of how many models there is a correlation.

    Returns:
        The correlations.

    Raises:
        ValueError: There are fewer models.
    """
    names = tuple(columns)
    models = len(set().union(*columns.values()))
    if models < fewest:
        raise ValueError(f"correlations between measures need at least {fewest} encoders, got {models}")
    matrix = np.full((len(names), len(names)), math.nan)
    for i, j in combinations(range(len(names)), 2):
        first, second = columns[names[i]], columns[names[j]]
        pairs = [(first[model], second[model]) for model in first if model in second]
        pairs = [pair for pair in pairs if np.isfinite(pair).all()]
        if len(pairs) >= fewest:
            matrix[i, j] = matrix[j, i] = pearson(*zip(*pairs, strict=True))
    np.fill_diagonal(matrix, 1)
    of_tasks = [i for i, name in enumerate(names) if groups[name] in _KINDS]
    kinds: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        kinds.setdefault(groups[name], []).append(i)
    if len({groups[names[i]] for i in of_tasks}) > 1:
        kinds[_TASKS] = of_tasks
    blocks = []
    for i, (first_kind, rows) in enumerate(kinds.items()):
        for second_kind, others in list(kinds.items())[i:]:
            if second_kind == _TASKS and first_kind in _KINDS:
                continue  # part of it
            blocks.append(_block(matrix, first_kind, second_kind, rows, others))
    alone = (_block(matrix, name, _TASKS, [i], of_tasks) for i, name in enumerate(names))
    return HeatMap(
        names,
        tuple(groups[name] for name in names),
        matrix,
        models,
        tuple(block for block in blocks if block.pairs),
        tuple(alone),
    )


def _block(
    matrix: NDArray[np.float64], first: str, second: str, rows: list[int], columns: list[int]
) -> Block:
    pairs = {(min(i, j), max(i, j)) for i in rows for j in columns if i != j}
    values = np.array([matrix[pair] for pair in sorted(pairs) if np.isfinite(matrix[pair])])
    mean = float(values.mean()) if len(values) else math.nan
    deviation = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return Block(first, second, mean, deviation, len(values))


class Point(NamedTuple):
    """An encoder's quality, its speed, and whether no other encoder is better in one and as good in both."""

    encoder: str
    speed: float
    cell: Cell
    front: bool
    speeds: Interval  # of the task that took longest a sentence, and of the one that took least


class TradeOff(NamedTuple):
    """Quality against speed.

    Attributes:
        label: What quality is.
        points: The encoders, the quickest first.
        left_out: Encoders without a point, and why.
    """

    label: str
    points: tuple[Point, ...]
    left_out: dict[str, str]


def trade_offs(reports: Sequence[Report]) -> list[TradeOff]:
    """Quality against sentences a second, both of one run: accuracies, cosines and learnt scores apart.

    Quality is over the tasks that all encoders have. A speed that was measured once, on one task, tells
    nothing of how much it varies, and has no point.

    Args:
        reports: One of each encoder.

    Returns:
        One for each kind of task that is there.
    """
    runs = Counter(report.facts.get("run") for report in reports if "sentences_per_second" in report.facts)
    run = runs.most_common(1)[0][0] if runs else None
    left_out = {}
    speeds: dict[str, tuple[float, Interval]] = {}
    for report in reports:
        speed = report.facts.get("sentences_per_second")
        if not speed:
            left_out[report.encoder] = "its speed was not measured: its rows were kept from before"
        elif report.facts.get("run") != run:
            left_out[report.encoder] = "its speed was measured in another run"
        elif "speed_of_tasks" not in report.facts:
            left_out[report.encoder] = "its speed was measured once, so that nothing tells how much it varies"
        else:
            speeds[report.encoder] = float(speed), Interval(*map(float, report.facts["speed_of_tasks"]))
    found = []
    for kind in _KINDS:
        label, cells = _shared_quality(reports, kind)
        places = {name: (speeds[name][0], cells[name].value) for name in speeds if name in cells}
        if places:
            front = pareto_front(places)
            ordered = sorted(places, key=lambda name: -places[name][0])
            points = tuple(
                Point(name, speeds[name][0], cells[name], name in front, speeds[name][1]) for name in ordered
            )
            found.append(TradeOff(label, points, left_out))
    return found


def _shared_quality(reports: Sequence[Report], kind: str) -> tuple[str, dict[str, Cell]]:
    """The widest average over the tasks of a kind that all have; the task itself where it is one."""
    shared = [
        measure
        for measure in measures(reports)
        if measure.headline and _kind(measure) == kind and len(measure.cells) == len(reports)
    ]
    if len(shared) < 2:
        return (f"{shared[0].label}, {shared[0].unit}", shared[0].cells) if shared else ("", {})
    cells = {}
    label = ""
    for report in reports:
        results: dict[str, TaskResult] = {measure.task: report[measure.task] for measure in shared}
        of_these = Report(report.encoder, results, facts=report.facts).averages
        widest = max(of_these, key=lambda average: len(average.tasks), default=None)
        if widest is None:  # such tasks have no average of the papers' kind: the mean of what tables show
            label = f"mean of {', '.join(measure.title for measure in shared)}"
            values = [measure.cells[report.encoder].value for measure in shared]
            cells[report.encoder] = Cell(float(np.mean(values)))
        else:
            label = widest.label
            cells[report.encoder] = Cell(widest.value, widest.interval)
    return f"{label}, {shared[0].unit}", cells


class Chart(NamedTuple):
    """Curves of several encoders that have the same axes.

    Attributes:
        name: What they are of.
        x_label: What they run along.
        y_label: What they show.
        curves: By encoder.
    """

    name: str
    x_label: str
    y_label: str
    curves: dict[str, Curve]

    @property
    def logarithmic(self) -> bool:
        """Whether all of them shall be drawn so."""
        return all(curve.logarithmic for curve in self.curves.values())

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value, intervals included."""
        values = [v for curve in self.curves.values() for v in (*curve.y, *curve.low, *curve.high)]
        return min(values), max(values)


def charts(reports: Sequence[Report]) -> list[Chart]:
    """The curves of all reports; those of one name and with the same axes are one chart."""
    found: dict[tuple[str, str, str], Chart] = {}
    for report in reports:
        for name, curve in report.curves.items():
            key = (name, curve.x_label, curve.y_label)
            found.setdefault(key, Chart(*key, {})).curves[report.encoder] = curve
    return list(found.values())


def pareto_front(places: Mapping[str, tuple[float, float]]) -> set[str]:
    """The names of points to which no other is superior: as great in both, and greater in one.

    Example:
        >>> sorted(pareto_front({"quick": (9, 1), "good": (1, 9), "even": (5, 5), "worse": (4, 5)}))
        ['even', 'good', 'quick']
    """
    return {
        name
        for name, (x, y) in places.items()
        if not any(u >= x and v >= y and (u, v) != (x, y) for u, v in places.values())
    }
