"""Trains a table of word vectors with a head, and chooses by validation how."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..threads import num_threads

__all__ = ["Best", "TableTraining", "Trial"]

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]

_PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)  # C of the linear head on the initial table
_MOST_ROWS = 50_000  # examples that it is fitted to


@dataclass(frozen=True)
class Trial:
    """How a model was trained.

    Attributes:
        loss: Mean loss of the validation examples.
        epochs: Passes over the examples; 0: the table is the initial one.
        word_dropout: Probability that a word was left out.
        c: Inverse penalty of the linear head that training began with; None for heads without weights.
    """

    loss: float
    epochs: int
    word_dropout: float
    c: float | None


@dataclass(frozen=True)
class Best:
    """The best model so far: how it was trained, its table (None: the initial one) and its head."""

    trial: Trial
    table: Floats | None
    head: Any


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

    def run(self, train: Indices, held_out: Indices, word_dropouts: tuple[float, ...], refit: bool) -> None:
        """Run all trials, and then, with `refit`, train on all examples as in the best one.

        Args:
            train: Examples to train on.
            held_out: Examples to choose by.
            word_dropouts: Values to try.
            refit: Whether to train on both in the end.
        """
        passes = self.max_epochs * len(word_dropouts)
        self._total = passes * len(train) + (self.max_epochs * len(train) if refit else 0)
        frozen = self._fit_head(train, held_out, _PENALTIES)
        self._offer(frozen)
        with ThreadPoolExecutor(min(num_threads(), len(word_dropouts))) as pool:
            try:
                trials = [
                    pool.submit(self._train, train, held_out, frozen, dropout) for dropout in word_dropouts
                ]
                for trial in trials:
                    trial.result()
            finally:  # also if interrupted
                self._stopped.set()
        self._stopped.clear()
        assert self.best is not None
        if refit and time.monotonic() < self.deadline:
            self._refit(np.concatenate([train, held_out]), self.best.trial)
        self._report(self._total - self._done)

    def _offer(self, model: Best) -> None:
        with self._lock:
            self.trials.append(model.trial)
            if self.best is None or model.trial.loss < self.best.trial.loss:
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

    def _fit_head(self, train: Indices, held_out: Indices, penalties: tuple[float, ...]) -> Best:
        """The best linear head on the initial table; the head itself if it has no weights."""
        probe = self._trainer(_core.TableHead(**self.head), train, 0.0)
        if not self.head.get("outputs"):
            head = _core.TableHead(**self.head)
            return Best(Trial(probe.mean_loss(held_out), 0, 0.0, None), None, head)
        some = np.random.default_rng(self.options["seed"]).permutation(train)[:_MOST_ROWS]
        u, y = probe.embeddings(some), self.y[some]
        held_out_u = probe.embeddings(held_out)
        squares = np.mean([np.mean(np.square(side, dtype=np.float64)) for side in u])
        head = _core.TableHead(**{**self.head, "unit": float(np.sqrt(squares)) or 1.0})
        best: Best | None = None
        for c in penalties:
            head.fit(u, y, c)
            loss = head.loss(held_out_u, self.y[held_out]) / max(1, len(held_out))
            if best is None or loss < best.trial.loss:
                copy = _core.TableHead(**head.config)
                copy.weights = head.weights
                best = Best(Trial(loss, 0, 0.0, c), None, copy)
        assert best is not None
        return best

    def _train(self, train: Indices, held_out: Indices, frozen: Best, word_dropout: float) -> None:
        trainer = self._trainer(frozen.head, train, word_dropout)
        least, worse = np.inf, 0
        for epoch in range(1, self.max_epochs + 1):
            if self._stopped.is_set() or time.monotonic() > self.deadline:
                return
            trainer.epoch(train)
            self._report(len(train))
            trial = Trial(trainer.mean_loss(held_out), epoch, word_dropout, frozen.trial.c)
            self._offer(Best(trial, trainer.table, trainer.head))
            worse = 0 if trial.loss < least else worse + 1
            least = min(least, trial.loss)
            if worse >= self.patience:
                return

    def _refit(self, everything: Indices, trial: Trial) -> None:
        """As the best trial, with all examples; the schedule of rates ends where it ended."""
        fitted = self._fit_head(everything, everything[:0], _PENALTIES if trial.c is None else (trial.c,))
        if trial.epochs == 0:
            self.best = Best(trial, None, fitted.head)
            return
        trainer = self._trainer(fitted.head, everything, trial.word_dropout)
        for _ in range(trial.epochs):
            trainer.epoch(everything)
            self._report(len(everything))
        self.best = Best(trial, trainer.table, trainer.head)
