"""What `fit` says: what it will do, how good the result is, and what could make it better."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import LearningRateWarning, MajorityWarning, StillImprovingWarning, TrainingWarning
from ..linear.table_report import LEAST_VALIDATED
from ..progress import DELAY, say
from ..training import Callback, History, Step, Validation
from ..training.advice import raised_loss, recent_gain

__all__ = ["FitReport"]

_LEARNT = 0.95  # accuracy on training examples above which more training may not make the model better


@dataclass
class FitReport(Callback):
    """Reports a training of an encoder.

    Attributes:
        name: The encoder's class.
        settings: Its parameters.
        shown: Whether lines are written if they are not logged.
        delay: Seconds of a training that has no lines.
        folder: Folder of the checkpoints, or None.
        train: Number of training examples.
        valid: Number of validation examples.
        classifies: Whether the head is a classifier.
        weighted: Whether its classes have weights.
        majority: Accuracy of always predicting the most frequent class, on the validation examples, or if
            there are none, on the training examples, unless classes have weights. NaN: unknown.
        untrained: Validation loss before the training; NaN: unknown.
    """

    name: str
    settings: dict[str, Any]
    shown: bool
    delay: float
    folder: str | None
    train: int
    valid: int
    classifies: bool = False
    weighted: bool = False
    majority: float = math.nan
    untrained: float = math.nan
    begin: float = field(default_factory=time.perf_counter)
    first: float = math.nan  # end of the first step
    done: int = 0  # steps of this run
    planned: bool = False

    def on_step(self, trainer: Any, step: Step) -> None:
        """Says what the training will do, as soon as it is known how long a step takes."""
        self.done += 1
        if self.done == 1:
            self.first = time.perf_counter()  # the first step is slower than others
        seconds = time.perf_counter() - self.first
        if self.planned or self.done < 3 or seconds < DELAY or trainer.rank != 0:
            return
        self.planned = True
        say(self.shown, self.plan(trainer, seconds / (self.done - 1)))

    def on_validation(self, trainer: Any, validation: Validation) -> None:
        """Notes the loss before the training."""
        if validation.step == 0:
            self.untrained = validation.loss

    def plan(self, trainer: Any, seconds: float) -> str:
        """One line: examples, steps, expected time, checkpoints.

        Args:
            trainer: The trainer.
            seconds: Of a step.
        """
        examples = f"{self.train:,} examples" + (f", {self.valid:,} for validation" if self.valid else "")
        left, limit = trainer.last_step - trainer.step, self.settings["max_minutes"]
        minutes = min(left * seconds / 60, math.inf if limit is None else limit)
        steps = f"up to {trainer.last_step:,} steps, " if left < 2**60 else ""
        folder = (
            f"checkpoints in {self.folder}: the same call continues a stopped run"
            if self.folder is not None
            else "no checkpoints: checkpoints=FOLDER makes a stopped run continue"
        )
        return f"{self.name}: {examples}; {steps}about {_time(60 * minutes)}; {folder}"

    def interrupted(self, trainer: Any) -> str:
        """What to do after Ctrl-C."""
        if self.folder is None:
            return (
                f"{self.name}: stopped after step {trainer.step:,}. In this process, fit(..., "
                'stop="now") makes the encoder of the weights so far; with checkpoints=FOLDER, the same call '
                "would continue"
            )
        return (
            f"{self.name}: stopped after step {trainer.step:,}, which is saved in {self.folder}. The same "
            'call continues there; with stop="now" it makes the encoder of the weights so far'
        )

    def result(self, trainer: Any, metric: str, higher: bool) -> None:
        """Says how good the result is.

        Args:
            trainer: The trainer.
            metric: "loss", "accuracy" or "metric".
            higher: Whether a higher score is better.
        """
        scores = list(trainer._core.scores)
        seconds = time.perf_counter() - self.begin
        if seconds < self.delay or trainer.rank != 0:
            return
        steps = f"{trainer.step:,} steps"
        if self.done < trainer.step:
            steps += f", {self.done:,} of them in this run"
        finite = [score for score in scores if not math.isnan(score)]
        if finite:
            name, other = {
                "accuracy": ("majority class", self.majority),
                "loss": ("untrained", self.untrained),
            }.get(metric, ("", math.nan))
            compared = "" if math.isnan(other) else f" ({name} {other:.4g})"
            best = (max if higher else min)(finite)
            text = f"validation {metric} {best:.4g}{compared}, the best of {len(scores):,} validations"
        elif not math.isnan(accuracy := self._training_accuracy(trainer.history)[0]):
            compared = "" if math.isnan(self.majority) else f" (majority class {self.majority:.4g})"
            dropped = " with word dropout" if self.settings["word_dropout"] else ""
            text = f"training accuracy {accuracy:.4g}{dropped}{compared}, not validated"
        elif history := trainer.history.steps:
            text = f"training loss {history[-1].loss:.4g} (first step {history[0].loss:.4g}), not validated"
        else:
            text = "not validated"
        say(self.shown, f"{self.name}: {text}; {steps}, {_time(seconds)}")

    def warn(self, trainer: Any, metric: str, higher: bool) -> None:
        """Warns where the result could be better.

        Args:
            trainer: The trainer, after its run.
            metric: As in `result`.
            higher: As in `result`.
        """
        history, settings, scores = trainer.history, self.settings, list(trainer._core.scores)
        learnt, count = self._training_accuracy(history)
        part, best = "training", learnt
        if scores:
            part, best, count = "validation", self._validation_accuracy(history, metric, scores), self.valid
        if count >= LEAST_VALIDATED and best <= self.majority:
            _warn(
                f"{self.name}: the {part} accuracy, {best:.3f}, is no better than always predicting "
                f"the most frequent class, {self.majority:.3f}: try another learning_rate "
                f"({settings['learning_rate']:g}), more max_epochs, a smaller network, or "
                "head=Classifier(class_weight='balanced') if classes are skewed",
                MajorityWarning,
            )
        rate = settings["learning_rate"]
        first, *later = history.validations or [None]
        if later and first.step == 0 and not any(validation.best for validation in later):
            _warn(
                f"{self.name}: no validation was better than that before the training, {metric} "
                f"{scores[0]:.4g}, so the initial weights are kept: a lower learning_rate ({rate:g}) or more "
                "examples may help",
                LearningRateWarning,
            )
            return
        if raised := raised_loss(history, self.untrained):
            _warn(
                f"{self.name}: learning_rate={rate:g} is too high: the training loss was {raised[0]:.4g} at "
                f"the start, then up to {raised[1]:.4g}, and is {raised[2]:.4g}",
                LearningRateWarning,
            )
            return
        limit = self._limit(trainer)
        if not scores and learnt > _LEARNT:
            return
        untrained = {"loss": self.untrained, "accuracy": self.majority}.get(metric, math.nan)
        if limit and (gain := recent_gain(history, scores, untrained, higher)):
            what = f"validation {metric}" if scores else "training loss"
            _warn(
                f"{self.name}: stopped while still improving ({what} {gain[0]:.4g}, then {gain[1]:.4g}): "
                f"give {limit}={2 * (settings[limit] or 1)}",  # without a limit, there is one epoch
                StillImprovingWarning,
            )

    def _validation_accuracy(self, history: History, metric: str, scores: list[float]) -> float:
        """A classifier's accuracy in the best validation, or NaN."""
        if metric == "accuracy":
            return math.nan if np.isnan(scores).all() else float(np.nanmax(scores))
        best = [validation.accuracy for validation in history.validations if validation.best]
        return best[-1] if best and not self.weighted else math.nan

    def _training_accuracy(self, history: History) -> tuple[float, int]:
        """A classifier's accuracy in the last fifth of the steps, or NaN; and how many examples they had."""
        last = history.steps[-max(1, len(history.steps) // 5) :] if self.classifies else []
        count = sum(step.examples for step in last)
        right = sum(step.accuracy * step.examples for step in last)
        return right / count if count else math.nan, count

    def _limit(self, trainer: Any) -> str | None:
        """The option that ended the training, if it is a limit."""
        if trainer.step < trainer.last_step:
            return "max_minutes" if self.settings["max_minutes"] and not trainer.stopped_early else None
        by_steps = self.settings["max_steps"] == trainer.last_step
        return "max_steps" if by_steps else "max_epochs"


def _warn(message: str, kind: type[TrainingWarning]) -> None:
    warnings.warn(message, kind, stacklevel=6)  # at the call of `fit`


def _time(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
