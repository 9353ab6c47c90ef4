"""What pictures of several encoders show, computed once for whatever draws them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metrics.intervals import Interval
from ..metrics.results import Curve, TaskResult
from ..metrics.scores import pearson
from .findings import Findings
from .measures import KINDS, Cell, Extra, measures

__all__ = [
    "FEWEST_MODELS",
    "Block",
    "Chart",
    "HeatMap",
    "Point",
    "TradeOff",
    "charts",
    "correlations",
    "heat_map",
    "heat_map_columns",
    "pareto_front",
    "trade_offs",
]

FEWEST_MODELS = 8  # of which a matrix of correlations is drawn
_FEWEST = 3  # of which there is a correlation that says anything at all


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


def heat_map(reports: Sequence[Findings], extra: Extra | None = None) -> HeatMap:
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
    reports: Sequence[Findings], extra: Extra | None = None
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """What a heat map correlates, by name and encoder, and the group of each."""
    columns: dict[str, dict[str, float]] = {}
    groups: dict[str, str] = {}
    for measure in measures(reports):
        if measure.headline:
            columns[measure.title] = {name: cell.value for name, cell in measure.cells.items()}
            groups[measure.title] = measure.kind
    known = {report.encoder for report in reports}
    for encoder, figures in (extra or {}).items():
        if encoder not in known:
            raise ValueError(
                f"extra: there is no report of {encoder!r}; there are {', '.join(sorted(known))}"
            )
        for name, value in figures.items():
            if groups.setdefault(name, name) in KINDS:
                raise ValueError(f"extra: {name!r} is the name of a task; call the column otherwise")
            try:
                columns.setdefault(name, {})[encoder] = float(value)
            except (TypeError, ValueError):
                raise ValueError(f"extra: {name} of {encoder} must be a number, got {value!r}") from None
    return columns, groups


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
    of_tasks = [i for i, name in enumerate(names) if groups[name] in KINDS]
    kinds: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        kinds.setdefault(groups[name], []).append(i)
    if len({groups[names[i]] for i in of_tasks}) > 1:
        kinds[_TASKS] = of_tasks
    blocks = []
    for i, (first_kind, rows) in enumerate(kinds.items()):
        for second_kind, others in list(kinds.items())[i:]:
            if second_kind == _TASKS and first_kind in KINDS:
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


def trade_offs(reports: Sequence[Findings]) -> list[TradeOff]:
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
    for kind in KINDS:
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


def _shared_quality(reports: Sequence[Findings], kind: str) -> tuple[str, dict[str, Cell]]:
    """The widest average over the tasks of a kind that all have; the task itself where it is one."""
    shared = [
        measure
        for measure in measures(reports)
        if measure.headline and measure.kind == kind and len(measure.cells) == len(reports)
    ]
    if len(shared) < 2:
        return (f"{shared[0].label}, {shared[0].unit}", shared[0].cells) if shared else ("", {})
    cells = {}
    label = ""
    for report in reports:
        results: dict[str, TaskResult] = {measure.task: report[measure.task] for measure in shared}
        of_these = Findings(report.encoder, results, facts=report.facts).averages
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


def charts(reports: Sequence[Findings]) -> list[Chart]:
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
