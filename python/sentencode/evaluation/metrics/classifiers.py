"""Classifiers on top of embeddings: logistic regression and SentEval's MLP, with SentEval's penalties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._extras import require
from ...checks import checked_float, checked_int, checked_str
from ...generators import isolated_generators
from ...memory import free_memory
from ...threads import num_threads
from .early_stopping import train_epoch, train_with_early_stopping
from .solver import fit_logistic

__all__ = ["Adam", "Classifier", "Examples", "Fit", "Optimum", "Predictions", "ScikitLearn", "check_device"]

Labels = NDArray[np.int64]
Indices = NDArray[np.int64]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Examples:
    """Embeddings and labels of the examples of a task.

    Attributes:
        embeddings: Embeddings of the distinct sentences `(m, d)`.
        sides: Indices of the examples' sentences in `embeddings`: one array, or two for pairs.
        parts: Features of a pair.
        labels: Class of each example.
        classes: Number of classes.
    """

    embeddings: NDArray[np.float32]
    sides: tuple[Indices, ...]
    parts: tuple[str, ...]
    labels: Labels
    classes: int

    def features(self, examples: Indices | slice = slice(None)) -> NDArray[np.float32]:
        """Features of the examples, `(n, dim)`."""
        u, *v = (self.embeddings[side[examples]] for side in self.sides)
        if not v:
            return np.ascontiguousarray(u)
        parts = {"u": u, "v": v[0], "|u-v|": np.abs(u - v[0]), "u*v": u * v[0]}
        return np.concatenate([parts[part] for part in self.parts], axis=1)

    def check_memory(self, gigabytes: float | None) -> None:
        """Check that memory can hold the features of all examples twice, as training copies its part of them.

        Args:
            gigabytes: Memory that the features may take. None: the free memory.
        """
        width = self.embeddings.shape[1] * (len(self.parts) if len(self.sides) == 2 else 1)
        needed = 2 * 4e-9 * len(self.labels) * width
        available = free_memory() / 1e9 if gigabytes is None else gigabytes
        if needed > available:
            raise MemoryError(
                f"the features of {len(self.labels)} examples of {width} dimensions and the training copies "
                f"need {needed:.3g} GB, but {available:.3g} GB are available; use the protocol optimum or "
                "fast, which compute the features of pairs on the fly"
            )


class Fit(NamedTuple):
    """Training examples and penalty of one classifier, and the examples for early stopping.

    If `valid` is None, a classifier that stops early holds out a part of its training examples.
    """

    train: Indices
    penalty: float
    valid: Indices | None = None


class Classifier(Protocol):
    """Trains classifiers."""

    def penalties(self, validation: str) -> Sequence[float]:
        """Grid of the penalty, in SentEval's order: the first of equally good ones is chosen."""

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """Train a classifier for each fit and predict the classes of all examples."""


class Predictions(NamedTuple):
    """Predictions of several classifiers, and how well they converged.

    Attributes:
        classes: Predicted classes `(fits, n)`.
        gradients: Largest element of each final gradient; NaN if unknown.
        gaps, iterations, short: As in `LogisticSolutions`; None if unknown.
    """

    classes: NDArray[np.integer[Any]]
    gradients: NDArray[np.floating[Any]]
    gaps: NDArray[np.floating[Any]] | None = None
    iterations: NDArray[np.int64] | None = None
    short: NDArray[np.bool_] | None = None


# Grids of C, the weight of the losses, of SentEval's scikit-learn classifiers.
_C = {
    "nested": tuple(2.0**t for t in range(-2, 4)),
    "folds": tuple(2.0**t for t in range(-1, 6)),
    "dev": tuple(2.0**t for t in range(-2, 4)),
    "none": (1e9,),
}


@dataclass(frozen=True)
class Optimum:
    """Logistic regression at its optimum; all problems of a task are solved together."""

    tolerance: float = 1e-5
    device: str = "cpu"

    def __post_init__(self) -> None:
        checked_float("tolerance", self.tolerance, 0, above=True)
        check_device(self.device)

    def penalties(self, validation: str) -> Sequence[float]:
        """Grid of C."""
        return _C[validation]

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """Solve all problems at once; those with the same training examples share a fold."""
        fold_of: dict[bytes, int] = {}  # training examples -> index of the fold
        folds: list[NDArray[np.bool_]] = []
        problems = []
        for fit in fits:
            key = fit.train.tobytes()
            if key not in fold_of:
                fold_of[key] = len(folds)
                fold = np.zeros(len(examples.labels), dtype=np.bool_)
                fold[fit.train] = True
                folds.append(fold)
            problems.append((fold_of[key], fit.penalty))
        pairs = examples.sides if len(examples.sides) == 2 else None
        solutions = fit_logistic(
            examples.embeddings,
            examples.labels,
            np.stack(folds),
            problems,
            classes=examples.classes,
            indices=None if pairs else examples.sides[0],
            pairs=pairs,
            parts=examples.parts,
            tolerance=self.tolerance,
            device=self.device,
            on_progress=on_progress,
        )
        if not np.isfinite(solutions.gradients).all():
            raise ValueError("no optimum was found: the features are too large or too small for float32")
        return Predictions(
            solutions.predictions, solutions.gradients, solutions.gaps, solutions.iterations, solutions.short
        )


@dataclass(frozen=True)
class ScikitLearn:
    """scikit-learn's `LogisticRegression` with its default stopping rule.

    Attributes:
        solver: `"lbfgs"`, the default: at most 100 iterations. `"liblinear"`: one-vs-rest with penalised
            intercepts, the default before 2019, which published scores used. Or another solver.
        jobs: Number of processes. None: the number of threads that this process may use (`num_threads`).
        memory: Gigabytes that features may take. None: the free memory.
    """

    solver: str = "lbfgs"
    jobs: int | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        if self.solver not in _SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(_SOLVERS)}, got {self.solver!r}")
        if self.jobs is not None:
            checked_int("jobs", self.jobs, 1)
        _check_memory(self.memory)

    def penalties(self, validation: str) -> Sequence[float]:
        """Grid of C."""
        return _C[validation]

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """Train the classifiers in several processes."""
        joblib = require("joblib", "eval")
        require("sklearn", "eval")
        examples.check_memory(self.memory)
        x = examples.features()
        work = (joblib.delayed(self._predictions)(x, examples.labels, fit) for fit in fits)
        jobs = num_threads() if self.jobs is None else self.jobs
        classes = []
        for done, predicted in enumerate(joblib.Parallel(jobs, return_as="generator")(work), 1):
            classes.append(predicted)
            if on_progress:
                on_progress(done, len(fits))
        return Predictions(np.stack(classes), np.full(len(fits), np.nan))

    def _predictions(self, x: NDArray[np.float32], y: Labels, fit: Fit) -> Labels:
        import warnings

        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier

        model = LogisticRegression(C=fit.penalty, solver=self.solver, random_state=1111)
        if self.solver == "liblinear" and len(np.unique(y[fit.train])) > 2:
            model = OneVsRestClassifier(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the default stopping rule does not wait for convergence
            model.fit(x[fit.train], y[fit.train])
        predicted: Labels = model.predict(x)
        return predicted


_SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
# torch's classes, by SentEval's names.
_OPTIMISERS = {
    "adadelta": "Adadelta",
    "adagrad": "Adagrad",
    "adam": "Adam",
    "adamax": "Adamax",
    "asgd": "ASGD",
    "rmsprop": "RMSprop",
    "rprop": "Rprop",
    "sgd": "SGD",
}
_MINIMA = {"nhid": 0, "batch_size": 1, "tenacity": 0, "epoch_size": 1, "max_epoch": 0}


@dataclass(frozen=True)
class Adam:
    """SentEval's own classifier: logistic regression or an MLP, trained with early stopping on the CPU.

    Attributes:
        nhid: Number of hidden units; 0 for logistic regression.
        optim: Optimiser of torch, perhaps with settings, as in `"sgd,lr=0.1"`.
        batch_size: Examples per step.
        tenacity: How many times the validation accuracy may fail to improve.
        epoch_size: Epochs between two validations.
        max_epoch: Maximum number of epochs.
        dropout: Dropout probability of the hidden units.
        seed: Seed of initialisation, batches and dropout.
        reduction: `"mean"` of the losses of a batch, as in today's torch; or `"sum"`, as in torch of 2017,
            which published scores used, and which makes the penalty relatively smaller.
        memory: Gigabytes that features may take. None: the free memory.
    """

    nhid: int = 0
    optim: str = "adam"
    batch_size: int = 64
    tenacity: int = 5
    epoch_size: int = 4
    max_epoch: int = 200
    dropout: float = 0.0
    seed: int = 1111
    reduction: str = "mean"
    memory: float | None = None

    def __post_init__(self) -> None:
        self._optimiser()
        for name, minimum in _MINIMA.items():
            checked_int(name, getattr(self, name), minimum)
        checked_int("seed", self.seed, 0, 2**32 - 1)
        checked_float("dropout", self.dropout, 0, 1)
        _check_memory(self.memory)
        if self.reduction not in ("mean", "sum"):
            raise ValueError(f"reduction must be 'mean' or 'sum', got {self.reduction!r}")

    def _optimiser(self) -> tuple[str, dict[str, float]]:
        """Name and settings of torch's optimiser."""
        name, *pairs = checked_str("optim", self.optim).split(",")
        if name not in _OPTIMISERS:
            raise ValueError(
                f"optim must be one of {', '.join(_OPTIMISERS)}, perhaps with settings, as in 'sgd,lr=0.1'; "
                f"got {self.optim!r}"
            )
        settings = {}
        for pair in pairs:
            key, _, value = pair.partition("=")
            try:
                settings[key.strip()] = float(value)
            except ValueError:
                raise ValueError(f"optim: expected settings as in 'sgd,lr=0.1', got {self.optim!r}") from None
        if name == "sgd" and "lr" not in settings:
            raise ValueError("optim: sgd needs a learning rate, as in 'sgd,lr=0.1'")
        return _OPTIMISERS[name], settings

    def penalties(self, validation: str) -> Sequence[float]:
        """Grid of the weight decay."""
        return (1e-9,) if validation == "none" else tuple(10.0**t for t in range(-5, -1))

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """Train the classifiers one after the other."""
        torch = require("torch", "eval")
        examples.check_memory(self.memory)
        x = torch.tensor(examples.features())  # a copy: the last digits depend on the alignment
        y = torch.from_numpy(examples.labels)
        classes = []
        for done, fit in enumerate(fits, 1):
            with isolated_generators(self.seed):
                model = self._trained(torch, x, y, examples.classes, fit)
            with torch.no_grad():
                classes.append(model(x).argmax(1).numpy())
            if on_progress:
                on_progress(done, len(fits))
        return Predictions(np.stack(classes), np.full(len(fits), np.nan))

    def _trained(self, torch: Any, x: Any, y: Any, classes: int, fit: Fit) -> Any:
        from copy import deepcopy
        from functools import partial

        nn = torch.nn
        random = np.random.RandomState(self.seed)
        train, valid = fit.train, fit.valid
        if valid is None:  # 5 % of the training examples
            order = random.permutation(len(train))
            held_out = max(1, int(0.05 * len(train)))
            train, valid = train[order[held_out:]], train[order[:held_out]]
        train_x, train_y, valid_x, valid_y = x[train], y[train], x[valid], y[valid]
        linear = partial(nn.Linear, dtype=x.dtype)
        layers = [linear(x.shape[1], self.nhid or classes)]
        if self.nhid:
            layers += [nn.Dropout(self.dropout), nn.Sigmoid(), linear(self.nhid, classes)]
        model = nn.Sequential(*layers)
        name, settings = self._optimiser()
        optimiser = getattr(torch.optim, name)(model.parameters(), weight_decay=fit.penalty, **settings)
        loss_function = nn.CrossEntropyLoss(reduction=self.reduction)

        def epochs() -> None:
            model.train()
            for _ in range(self.epoch_size):
                train_epoch(model, optimiser, loss_function, train_x, train_y, self.batch_size, random)

        def score() -> float:
            model.eval()
            with torch.no_grad():
                return float((model(valid_x).argmax(1) == valid_y).double().mean())

        bounds = {"epochs": self.epoch_size, "tenacity": self.tenacity, "max_epochs": self.max_epoch}
        return train_with_early_stopping(epochs, score, lambda: deepcopy(model), **bounds).best.eval()


def check_device(device: str) -> None:
    """Check that torch can compute on a device."""
    if checked_str("device", device) == "cpu":
        return
    torch = require("torch", "eval")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).partition("\n")[0]
        raise ValueError(f"device: torch cannot compute on {device!r}: {why}") from error


def _check_memory(gigabytes: float | None) -> None:
    if gigabytes is not None:
        checked_float("memory", gigabytes, 0, above=True)
