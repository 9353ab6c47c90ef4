"""The steps and validations of a training."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._extras import require
from ..checks import checked_int
from ..errors import FormatError
from ..files import as_path, read_text

__all__ = ["History", "Step", "Validation", "plot_loss"]


@dataclass(frozen=True)
class Step:
    """A step that was done. Sums and means are over all processes.

    Attributes:
        step: Number of steps done, from 1.
        epoch: Epoch of its first batch, from 0.
        loss: Mean loss.
        accuracy: Fraction of correct predictions; NaN where the model does not count them.
        learning_rate: Learning rate.
        norm: Norm of all gradients before clipping.
        examples: Number of examples.
        tokens: Number of tokens in all fields, without padding.
        seconds: Time since the previous step or validation.
        figures: Means of further values of the model, by name.
    """

    step: int
    epoch: int
    loss: float
    accuracy: float
    learning_rate: float
    norm: float
    examples: int
    tokens: int
    seconds: float
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Validation:
    """A validation.

    Attributes:
        step: Number of steps done before it.
        loss: Mean loss; NaN without validation batches.
        accuracy: Fraction of correct predictions, or NaN.
        score: Score that selects the best validation.
        best: Whether it is the best so far.
        decayed: Whether the learning rate decays after it.
        figures: Means of further values of the model, by name.
    """

    step: int
    loss: float
    accuracy: float
    score: float
    best: bool
    decayed: bool
    figures: dict[str, float] = field(default_factory=dict)


# A log has the columns of both kinds of events, maybe empty, then one for each figure of the model.
_FIELDS = {
    kind: [name for name in kind.__dataclass_fields__ if name != "figures"] for kind in (Step, Validation)
}
COLUMNS = ("event", *_FIELDS[Step], "score", "best", "decayed")
Event = Step | Validation


@dataclass
class History:
    """Steps and validations in order.

    Attributes:
        steps: The steps.
        validations: The validations.

    Example:
        >>> from sentencode.training import History, Step
        >>> history = History([Step(1, 0, 2.3, 0.1, 1e-3, 0.7, 64, 512, 0.01)])
        >>> history.steps[0].loss
        2.3
    """

    steps: list[Step] = field(default_factory=list)
    validations: list[Validation] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Appends a step or a validation."""
        if isinstance(event, Step):
            self.steps.append(event)
        else:
            self.validations.append(event)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> History:
        """Reads the file of a `CsvLog`.

        Args:
            path: File.

        Raises:
            FormatError: It is no such log.
        """
        history = cls()
        for event in read_log(as_path(path)):
            history.add(event)
        return history


def columns_of(event: Event) -> list[str]:
    """Return the columns of a log with such events."""
    return [*COLUMNS, *event.figures]


def row_of(event: Event, columns: Sequence[str] = COLUMNS) -> list[str]:
    """Return a line of a log; NaN is empty."""
    values: dict[str, Any] = {"event": "step" if isinstance(event, Step) else "validation"}
    values |= {**vars(event), **event.figures}
    return [_shown(values.get(column)) for column in columns]


def read_log(path: Path) -> Iterator[Event]:
    """Reads the events of a log, except for a last line without an end, which a kill leaves."""
    text = read_text(path)
    lines = text[: text.rfind("\n") + 1].splitlines()
    columns = lines[0].split(",") if lines else []
    if tuple(columns[: len(COLUMNS)]) != COLUMNS:
        shown = repr(lines[0][:60]) if lines else "empty"
        raise FormatError(
            f"{path}: not the log of a training: line 1 is {shown}, expected {','.join(COLUMNS)!r}"
        )
    for number, row in enumerate(csv.reader(lines[1:]), 2):
        try:
            values = dict(zip(columns, row, strict=True))
            kind: type[Step] | type[Validation] = {"step": Step, "validation": Validation}[values["event"]]
            types = kind.__dataclass_fields__
            figures = {name: _number(values[name]) for name in columns[len(COLUMNS) :]}
            yield kind(
                **{name: _READ[types[name].type](values[name]) for name in _FIELDS[kind]}, figures=figures
            )
        except (KeyError, ValueError):
            raise FormatError(f"{path}, line {number}: not a line of such a log: {row!r:.80}") from None


def _shown(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else repr(value).strip("'")


def _number(text: str) -> float:
    return float(text) if text else math.nan


_READ: dict[Any, Callable[[str], Any]] = {
    "int": int,
    "float": _number,
    "bool": {"True": True, "False": False}.__getitem__,
}


def plot_loss(source: History | str | os.PathLike[str], *, smooth: int = 1) -> Any:
    """Plots the training loss and the validation loss against the steps.

    Args:
        source: History of a trainer, or the path of a `CsvLog`.
        smooth: Steps to average the training loss over; the unsmoothed curve is drawn faintly.

    Returns:
        A `matplotlib.figure.Figure`: `figure.savefig("loss.pdf")`.

    Raises:
        ValueError: There is no step to plot.
        ImportError: matplotlib is not installed.

    Example:
        >>> from sentencode.training import History, Step, plot_loss
        >>> steps = [Step(i, 0, 1 / i, 0.5, 1e-3, 0.7, 64, 512, 0.01) for i in range(1, 9)]
        >>> figure = plot_loss(History(steps))
        >>> figure.axes[0].get_xlabel()
        'step'
    """
    history = source if isinstance(source, History) else History.from_csv(source)
    width = checked_int("smooth", smooth, 1)
    if not history.steps:
        raise ValueError("there is no step to plot")
    # Not pyplot's: no window, and nothing to close.
    figure = require("matplotlib.figure", "plot").Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    steps = [step.step for step in history.steps]
    losses = [step.loss for step in history.steps]
    if width > 1:
        axes.plot(steps, losses, color="C0", alpha=0.25, linewidth=0.8)
        losses = [
            math.fsum(part := losses[max(0, i + 1 - width) : i + 1]) / len(part) for i in range(len(losses))
        ]
    axes.plot(steps, losses, color="C0", label="training")
    points = [(v.step, v.loss) for v in history.validations if math.isfinite(v.loss)]
    if points:
        axes.plot(*zip(*points, strict=True), "o-", color="C1", markersize=4, label="validation")
    best = [validation for validation in history.validations if validation.best]
    if best:
        axes.axvline(best[-1].step, color="gray", linestyle="--", linewidth=1, label="best")
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    axes.grid(alpha=0.3)
    axes.legend(loc="best")
    return figure
