"""How good a trained table is, and what could make it better."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import (
    LearningRateWarning,
    MajorityWarning,
    StillImprovingWarning,
    TrainingWarning,
    ZeroRowsWarning,
)
from ..progress import DELAY, say
from .table_training import Split, TableTraining, Trial, classes_of

__all__ = ["LEAST_VALIDATED", "TableReport", "planned", "unknown_advice"]

LEAST_VALIDATED = 20  # examples; the accuracy on fewer says little
_MANY_UNKNOWN = 0.01  # of the examples
_GAIN = 0.05  # of the whole improvement: a last epoch that gains more could be followed by others


class TableReport:
    """Compares a trained table with the initial one, and with the majority class.

    Args:
        training: The training.
        trial: How its model was trained.
        labels: Labels of a classifier [n, classes], or None.
        splits: Examples to train on, and held-out ones.
    """

    def __init__(
        self,
        training: TableTraining,
        trial: Trial,
        labels: npt.NDArray[np.float32] | None,
        splits: Sequence[Split],
    ) -> None:
        self.training, self.trial, self.initial = training, trial, training.trials[0]
        self.train = splits[0][0]
        self.held_out = sum(len(held_out) for _, held_out in splits)
        self.is_weighted = labels is not None and bool((labels.sum(axis=1) != 1).any())
        self.majority = None if labels is None else _majority(labels, splits)

    def result(self) -> str:
        """How good the result is, in a line."""
        trial, initial = self.trial, self.initial
        score = f"loss {trial.loss:.4g} (initial vectors {initial.loss:.4g})"
        if self.majority is not None:
            others = f"initial vectors {initial.accuracy:.3f}, majority class {self.majority:.3f}"
            score = f"accuracy {trial.accuracy:.3f} ({others})"
        how = f"{trial.epochs} epochs, word dropout {trial.word_dropout:g}" if trial.epochs else "kept"
        late = ", ended by max_minutes" if self.training.is_late else ""
        return f"held-out {score}; vectors: {how}{late}"

    def advice(self, max_minutes: float | None) -> Iterator[tuple[str, type[TrainingWarning]]]:
        """Yield warnings.

        Args:
            max_minutes: Limit of the training.
        """
        trial, majority = self.trial, self.majority
        if majority is not None and self.held_out >= LEAST_VALIDATED and (trial.accuracy or 0) <= majority:
            yield (
                f"on {self.held_out} held-out examples, the accuracy is {trial.accuracy:.3f}, no better than "
                f"always predicting the most frequent class, {majority:.3f}: give more examples or other "
                "vectors"
                + ("" if self.is_weighted else ", or class_weight='balanced' if classes are skewed"),
                MajorityWarning,
            )
        if trial.epochs == 0 and (raised := self._raised_loss()):
            options = self.training.options
            yield (
                f"learning_rate={options['learning_rate']:g} or head_learning_rate="
                f"{options['head_learning_rate']:g} is too high: the training loss was {raised[0]:.4g} with "
                f"the initial vectors, and {raised[1]:.4g} in epoch {raised[2]}",
                LearningRateWarning,
            )
        tried = [other for other in self.training.trials if other.word_dropout == trial.word_dropout]
        losses = [other.loss for other in tried if other.epochs]
        if len(losses) < 3 or trial.epochs != len(losses):
            return
        by_epochs = trial.epochs == self.training.max_epochs
        gain, whole = min(losses[:-1]) - losses[-1], self.initial.loss - losses[-1]
        if (by_epochs or self.training.is_late) and gain > _GAIN * whole > 0:
            more = (
                f"max_epochs={2 * trial.epochs}" if by_epochs else f"max_minutes={2 * (max_minutes or 0):g}"
            )
            yield (
                f"stopped while still improving (held-out loss {min(losses[:-1]):.4g}, then "
                f"{losses[-1]:.4g}): give {more}",
                StillImprovingWarning,
            )

    def _raised_loss(self) -> tuple[float, float, int] | None:
        """The training loss of the initial table and at the end of a trial, if all trials raised it."""
        trials = [other for other in self.training.trials if other.training_loss is not None]
        if not trials:
            return None
        least = min(trials, key=lambda other: other.training_loss or 0.0)
        before = self.training.untrained_loss(self.train)
        assert least.training_loss is not None
        return (before, least.training_loss, least.epochs) if least.training_loss > before else None


def unknown_advice(
    sides: Sequence[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]], known: int
) -> Iterator[tuple[str, type[UserWarning]]]:
    """Yield a warning if many examples have a sentence without known words.

    Args:
        sides: Ids of the words and offsets of the examples [n + 1], for each sentence of an example.
        known: Number of known words; ids from here on are those of unknown ones.
    """
    before = [np.concatenate([[0], np.cumsum(ids < known)])[offsets] for ids, offsets in sides]
    zero = np.logical_or.reduce([np.diff(counts) == 0 for counts in before])
    if zero.mean() > _MANY_UNKNOWN:
        yield (
            f"{zero.sum():,} of {len(zero):,} examples have a sentence without known words, whose embedding "
            "is zero: do the word vectors have the text's language and case (lowercase=)?",
            ZeroRowsWarning,
        )


def planned(
    bar: Callable[[int, int], None],
    name: str,
    show: bool,
    splits: Sequence[Split],
    max_epochs: int,
    max_minutes: float | None,
) -> Callable[[int, int], None]:
    """A progress bar that says after a second what the training will do, and how long all epochs take.

    Args:
        bar: Moves the bar.
        name: Name of the encoder.
        show: Whether the line is written if it is not logged.
        splits: Examples to train on, and held-out ones.
        max_epochs: Passes over the examples, at most.
        max_minutes: Limit of the training.
    """
    begin, is_said = time.monotonic(), False
    train, held_out = splits[0]
    parts = f" in each of {len(splits)} parts" if len(splits) > 1 else ""
    examples = f"{len(train):,} examples, {len(held_out):,} held out{parts}"

    def moved(done: int, total: int) -> None:
        nonlocal is_said
        seconds = time.monotonic() - begin
        if not is_said and seconds >= DELAY and done > 0:
            is_said = True
            most = min(seconds / done * total, math.inf if max_minutes is None else 60 * max_minutes)
            say(show, f"{name}: {examples}; up to {max_epochs} epochs in about {most:.0f} s")
        bar(done, total)

    return moved


def _majority(labels: npt.NDArray[np.float32], splits: Sequence[Split]) -> float:
    """Accuracy on the held-out examples of always predicting the most frequent class."""
    shares = []
    for train, held_out in splits:
        classes, weights = classes_of(labels[train])
        majority = np.bincount(classes, weights=weights).argmax()
        classes, weights = classes_of(labels[held_out])
        shares.append(np.average(classes == majority, weights=weights))
    return float(np.mean(shares))
