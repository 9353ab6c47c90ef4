"""Data of charts: correlations between measures, trade-offs of quality and speed, curves."""

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
from .base import BaseReport
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

FEWEST_MODELS = 8  # for a matrix of correlations
_FEWEST = 3  # for a correlation


class Block(NamedTuple):
    """Correlations between two groups of measures, or within one.

    Attributes:
        first: Name of a group.
        second: Name of the other group, or the same.
        mean: Mean correlation of all pairs of measures.
        deviation: Sample standard deviation; NaN for one pair.
        pairs: Number of pairs.
    """

    first: str
    second: str
    mean: float
    deviation: float
    pairs: int


class HeatMap(NamedTuple):
    """Correlations of measures over models, as in Figure 2 of Cifka and Bojar (2018).

    Attributes:
        names: Names of the measures.
        groups: Group of each measure.
        matrix: Pearson's correlations over the models that have both; NaN with too few of them, or if a
            measure is constant.
        models: Number of models.
        blocks: Mean correlations of groups.
        others: Mean correlation of each measure with all other measures of tasks.
    """

    names: tuple[str, ...]
    groups: tuple[str, ...]
    matrix: NDArray[np.float64]
    models: int
    blocks: tuple[Block, ...]
    others: tuple[Block, ...]


_TASKS = "all tasks"


def heat_map(reports: Sequence[BaseReport], extra: Extra | None = None) -> HeatMap:
    """Correlations over encoders between the scores of tasks, and with further scores.

    Args:
        reports: One report per encoder.
        extra: Further scores by encoder: BLEU, heads, hours.
    """
    return correlations(*heat_map_columns(reports, extra), fewest=FEWEST_MODELS)


def heat_map_columns(
    reports: Sequence[BaseReport], extra: Extra | None = None
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Scores by measure and encoder, and the group of each measure."""
    columns: dict[str, dict[str, float]] = {}
    groups: dict[str, str] = {}
    for measure in measures(reports):
        if measure.headline:
            columns[measure.title] = {name: cell.value for name, cell in measure.cells.items()}
            groups[measure.title] = measure.kind
    encoders = {report.encoder for report in reports}
    for encoder, figures in (extra or {}).items():
        if encoder not in encoders:
            raise ValueError(
                f"extra: there is no report of {encoder!r}; there are {', '.join(sorted(encoders))}"
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
        columns: Value of each model, by column.
        groups: Group of each column; those of `KINDS` are measures of tasks.
        fewest: Minimum number of models.
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
    task_indices = [i for i, name in enumerate(names) if groups[name] in KINDS]
    kinds: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        kinds.setdefault(groups[name], []).append(i)
    if len({groups[names[i]] for i in task_indices}) > 1:
        kinds[_TASKS] = task_indices
    blocks = []
    for i, (first_kind, rows) in enumerate(kinds.items()):
        for second_kind, others in list(kinds.items())[i:]:
            if second_kind == _TASKS and first_kind in KINDS:
                continue  # part of it
            blocks.append(_block(matrix, first_kind, second_kind, rows, others))
    alone = (_block(matrix, name, _TASKS, [i], task_indices) for i, name in enumerate(names))
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
    """An encoder's quality and speed, and whether it is on the Pareto front."""

    encoder: str
    speed: float
    cell: Cell
    front: bool
    speeds: Interval  # of the slowest and the fastest task


class TradeOff(NamedTuple):
    """Quality against speed.

    Attributes:
        label: Measure of quality.
        points: The encoders, the fastest first.
        left_out: Encoders without a point, and why.
    """

    label: str
    points: tuple[Point, ...]
    left_out: dict[str, str]


def trade_offs(reports: Sequence[BaseReport]) -> list[TradeOff]:
    """Quality against sentences per second, for each kind of task.

    Quality is over the tasks that all encoders have. Speeds must be measured in one run on several tasks,
    which gives their spread.

    Args:
        reports: One report per encoder.
    """
    runs = Counter(report.facts.get("run") for report in reports if "sentences_per_second" in report.facts)
    run = runs.most_common(1)[0][0] if runs else None
    left_out = {}
    speeds: dict[str, tuple[float, Interval]] = {}
    for report in reports:
        speed = report.facts.get("sentences_per_second")
        if not speed:
            left_out[report.encoder] = "its speed was not measured: its embeddings were cached"
        elif report.facts.get("run") != run:
            left_out[report.encoder] = "its speed was measured in another run"
        elif "speed_of_tasks" not in report.facts:
            left_out[report.encoder] = "its speed was measured once, so its spread is unknown"
        else:
            speeds[report.encoder] = float(speed), Interval(*map(float, report.facts["speed_of_tasks"]))
    trades = []
    for kind in KINDS:
        label, cells = _shared_quality(reports, kind)
        points = {name: (speeds[name][0], cells[name].value) for name in speeds if name in cells}
        if points:
            front = pareto_front(points)
            ordered = sorted(points, key=lambda name: -points[name][0])
            entries = tuple(
                Point(name, speeds[name][0], cells[name], name in front, speeds[name][1]) for name in ordered
            )
            trades.append(TradeOff(label, entries, left_out))
    return trades


def _shared_quality(reports: Sequence[BaseReport], kind: str) -> tuple[str, dict[str, Cell]]:
    """Average over the tasks of a kind that all encoders have; the score itself for a single task."""
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
        averages = BaseReport(report.encoder, results, facts=report.facts).averages
        widest = max(averages, key=lambda average: len(average.tasks), default=None)
        if widest is None:  # a kind without averages: the mean of the headline scores
            label = f"mean of {', '.join(measure.title for measure in shared)}"
            values = [measure.cells[report.encoder].value for measure in shared]
            cells[report.encoder] = Cell(float(np.mean(values)))
        else:
            label = widest.label
            cells[report.encoder] = Cell(widest.value, widest.interval)
    return f"{label}, {shared[0].unit}", cells


class Chart(NamedTuple):
    """Curves of several encoders with the same axes.

    Attributes:
        name: Name of the curves, such as the task.
        x_label: Label of the x axis.
        y_label: Label of the y axis.
        curves: Curves by encoder.
    """

    name: str
    x_label: str
    y_label: str
    curves: dict[str, Curve]

    @property
    def logarithmic(self) -> bool:
        """Whether the x axis is logarithmic."""
        return all(curve.logarithmic for curve in self.curves.values())


def charts(reports: Sequence[BaseReport]) -> list[Chart]:
    """Curves of all reports by name and axes."""
    by_key: dict[tuple[str, str, str], Chart] = {}
    for report in reports:
        for name, curve in report.curves.items():
            key = (name, curve.x_label, curve.y_label)
            by_key.setdefault(key, Chart(*key, {})).curves[report.encoder] = curve
    return list(by_key.values())


def pareto_front(points: Mapping[str, tuple[float, float]]) -> set[str]:
    """Names of the points that no other point dominates."""
    return {
        name
        for name, (x, y) in points.items()
        if not any(u >= x and v >= y and (u, v) != (x, y) for u, v in points.values())
    }
