"""Trains a table of word vectors with a head, and chooses by validation how."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..threads import num_threads

__all__ = ["Best", "Split", "TableTraining", "Trial", "classes_of"]

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
Split = tuple[Indices, Indices]

_PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)  # C of the linear head on the initial table
_UNCHOSEN_PENALTY = 1.0  # without held-out examples
_MOST_ROWS = 50_000  # examples that it is fitted to


@dataclass(frozen=True)
class Trial:
    """How a model was trained.

    Attributes:
        loss: Mean validation loss; with cross-validation, the mean over the parts.
        epochs: Passes over the examples; 0: the table is the initial one.
        word_dropout: Probability that a word was left out.
        c: Inverse penalty of the linear head that training began with; None for heads without weights.
        accuracy: Mean validation accuracy, with the weights of the classes; None for other heads.
        training_loss: Mean loss of the last pass over the training examples; None: there was none.
    """

    loss: float
    epochs: int
    word_dropout: float
    c: float | None
    accuracy: float | None = None
    training_loss: float | None = None


@dataclass(frozen=True)
class Best:
    """The best model so far: how it was trained, its table (None: the initial one) and its head."""

    trial: Trial
    table: Floats | None
    head: Any


def classes_of(y: Floats) -> tuple[Indices, Floats]:
    """The classes of labels [n, classes], and the weights of the examples, which are not all zero."""
    weights = y.sum(axis=1)
    return y.argmax(axis=1), weights if weights.any() else np.ones_like(weights)


def _rank(trial: Trial) -> tuple[float, float, int]:
    """Of equal losses the same is chosen however threads run."""
    return trial.loss, trial.word_dropout, trial.epochs


class TableTraining:
    """Trials on the same examples.

    Args:
        examples: Examples of the core, whose words are rows of the table.
        table: Initial vectors [V, D].
        y: Labels of the core [n, Y].
        head: Keywords of `_core.TableHead`.
        options: Keywords of `_core.TableTrainer`, without `word_dropout` and `steps`.
        max_epochs: Passes over the examples, at most.
        patience: Passes without improvement after which a trial ends.
        deadline: `time.monotonic()` after which nothing new is begun.
        on_progress: Called with examples that were processed and their total, or None.
    """

    def __init__(
        self,
        examples: Any,
        table: Floats,
        y: Floats,
        head: dict[str, Any],
        options: dict[str, Any],
        *,
        max_epochs: int,
        patience: int,
        deadline: float,
        on_progress: Callable[[int, int], None] | None,
    ) -> None:
        self.examples, self.table, self.y, self.options = examples, table, y, options
        self.max_epochs, self.patience, self.deadline = max_epochs, patience, deadline
        self.head = head
        self.best: Best | None = None
        self.trials: list[Trial] = []
        self._on_progress, self._done, self._total = on_progress, 0, 0
        self._lock, self._stopped = threading.Lock(), threading.Event()

    @property
    def is_classifier(self) -> bool:
        """Whether the head is a classifier."""
        return bool(self.head["kind"] == "Classifier")

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline

    def run(self, splits: Sequence[Split], word_dropouts: tuple[float, ...], refit: bool) -> None:
        """Run all trials, and then, with `refit`, train on all examples as in the best one.

        Args:
            splits: Examples to train on, and others to choose by; several for cross-validation. The losses of
                a trial are means over splits, and its model is that of the first.
            word_dropouts: Values to try.
            refit: Whether to train on all examples in the end, as without held-out ones.
        """
        each = sum(len(train) for train, _ in splits)
        everything = np.concatenate(splits[0])
        self._total = self.max_epochs * (len(word_dropouts) * each + refit * len(everything))
        if not any(len(held_out) for _, held_out in splits):  # there is nothing to choose by
            c = _UNCHOSEN_PENALTY if self.head.get("outputs") else None
            self._total = self.max_epochs * len(everything)
            self._refit(everything, Trial(math.nan, self.max_epochs, word_dropouts[0], c))
            assert self.best is not None
            self.trials.append(self.best.trial)
            return
        trial, heads = self._fit_heads(splits, _PENALTIES)
        self._offer(Best(trial, None, heads[0]))
        with ThreadPoolExecutor(min(num_threads(), len(word_dropouts))) as pool:
            try:
                trials = [
                    pool.submit(self._train, splits, heads, replace(trial, word_dropout=dropout))
                    for dropout in word_dropouts
                ]
                for run in trials:
                    run.result()
            finally:  # also if interrupted
                self._stopped.set()
                self.trials.sort(key=lambda trial: (trial.word_dropout, trial.epochs))
        self._stopped.clear()
        assert self.best is not None
        if refit and not self.is_late:
            self._refit(everything, self.best.trial)
        self._report(self._total - self._done)

    def _offer(self, model: Best) -> None:
        with self._lock:
            self.trials.append(model.trial)
            if self.best is None or _rank(model.trial) < _rank(self.best.trial):
                self.best = model

    def _report(self, examples: int) -> None:
        with self._lock:
            self._done += examples
            if self._on_progress is not None:
                self._on_progress(self._done, self._total)

    def _trainer(self, head: Any, examples: Indices, word_dropout: float) -> Any:
        batches = -(-len(examples) // self.options["batch_size"])
        return _core.TableTrainer(
            self.examples,
            self.table,
            head,
            **self.options,
            word_dropout=word_dropout,
            steps=max(1, self.max_epochs * batches),
        )

    def _fit_heads(self, splits: Sequence[Split], penalties: tuple[float, ...]) -> tuple[Trial, list[Any]]:
        """The linear head of each split on the initial table; a head without weights as it is."""
        fitted = [self._fit_head(train, held_out, penalties) for train, held_out in splits]
        losses = np.mean([[loss for loss, _ in heads] for heads in fitted], axis=0)  # [penalties]
        best = int(losses.argmin())
        c = penalties[best] if self.head.get("outputs") else None
        heads = [heads[best][1] for heads in fitted]
        trial = Trial(float(losses[best]), 0, 0.0, c)
        if self.is_classifier and all(len(held_out) for _, held_out in splits):
            probes = [self._trainer(head, train, 0.0) for head, (train, _) in zip(heads, splits, strict=True)]
            trial = replace(trial, accuracy=self._accuracy(probes, splits))
        return trial, heads

    def _accuracy(self, trainers: Sequence[Any], splits: Sequence[Split]) -> float:
        """The mean accuracy of a classifier on the held-out examples."""
        accuracies = []
        for trainer, (_, held_out) in zip(trainers, splits, strict=True):
            classes, weights = classes_of(self.y[held_out])
            predicted = trainer.head.predict(trainer.embeddings(held_out)).argmax(axis=1)
            accuracies.append(np.average(predicted == classes, weights=weights))
        return float(np.mean(accuracies))

    def _fit_head(
        self, train: Indices, held_out: Indices, penalties: tuple[float, ...]
    ) -> list[tuple[float, Any]]:
        """The held-out loss and the head for each penalty."""
        head = _core.TableHead(**self.head)
        probe = self._trainer(head, train, 0.0)
        if not self.head.get("outputs"):
            return [(probe.mean_loss(held_out), head)]
        some = np.random.default_rng(self.options["seed"]).permutation(train)[:_MOST_ROWS]
        u, y = probe.embeddings(some), self.y[some]
        held_out_u = probe.embeddings(held_out)
        squares = np.mean([np.mean(np.square(side, dtype=np.float64)) for side in u])
        head = _core.TableHead(**{**self.head, "unit": float(np.sqrt(squares)) or 1.0})
        fitted = []
        for c in penalties:
            head.fit(u, y, c)
            copy = _core.TableHead(**head.config)
            copy.weights = head.weights
            fitted.append((head.loss(held_out_u, self.y[held_out]) / max(1, len(held_out)), copy))
        return fitted

    def _train(self, splits: Sequence[Split], heads: list[Any], start: Trial) -> None:
        trainers = [
            self._trainer(head, train, start.word_dropout)
            for head, (train, _) in zip(heads, splits, strict=True)
        ]
        least, worse = np.inf, 0
        for epoch in range(1, self.max_epochs + 1):
            losses, training_losses = [], []
            for trainer, (train, held_out) in zip(trainers, splits, strict=True):
                if self._stopped.is_set() or self.is_late:
                    return
                training_losses.append(trainer.epoch(train))
                self._report(len(train))
                losses.append(trainer.mean_loss(held_out))
            accuracy = self._accuracy(trainers, splits) if self.is_classifier else None
            loss, training_loss = float(np.mean(losses)), float(np.mean(training_losses))
            trial = replace(start, loss=loss, epochs=epoch, accuracy=accuracy, training_loss=training_loss)
            self._offer(Best(trial, trainers[0].table, trainers[0].head))
            worse = 0 if trial.loss < least else worse + 1
            least = min(least, trial.loss)
            if worse >= self.patience:
                return

    def untrained_loss(self, examples: Indices) -> float:
        """The mean loss of the initial table with the best head."""
        assert self.best is not None
        return float(self._trainer(self.best.head, examples, 0.0).mean_loss(examples))

    def _refit(self, everything: Indices, trial: Trial) -> None:
        """As the best trial, with all examples; the schedule of rates ends where it ended."""
        penalties = _PENALTIES if trial.c is None else (trial.c,)
        _, (head,) = self._fit_heads([(everything, everything[:0])], penalties)
        if trial.epochs == 0:
            self.best = Best(trial, None, head)
            return
        trainer = self._trainer(head, everything, trial.word_dropout)
        for epoch in range(trial.epochs):
            if self.is_late:
                if self.best is not None:
                    return  # it was trained without the held-out examples
                trial = replace(trial, epochs=epoch)
                break
            trainer.epoch(everything)
            self._report(len(everything))
        self.best = Best(trial, trainer.table, trainer.head)
