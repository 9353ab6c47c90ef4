"""Classifiers of embeddings, and the ways in which SentEval validates them.

The splits, the penalties and the rounding are SentEval's, so that figures can stand beside published ones.
What a classifier is and where it stops is the protocol's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._extras import require
from ...checks import checked_float, checked_int, checked_str
from ...generators import isolated_generators
from ...memory import free_memory
from ...threads import num_threads
from .early_stopping import train_epoch, train_until_no_better
from .solver import ends, fit_logistic

__all__ = ["Classified", "Examples", "Fit", "check_device", "check_splits", "classify", "stratified"]

Labels = NDArray[np.int64]
Places = NDArray[np.int64]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Examples:
    """Embeddings, and which of them, or which pairs of them, the examples are.

    Attributes:
        embeddings: `(m, d)`, one row for each distinct sentence.
        sides: For each sentence of an example, which row it is: one array, or two for pairs.
        parts: What a classifier sees of a pair.
        labels: The class of each example.
        classes: How many there are.
    """

    embeddings: NDArray[np.float32]
    sides: tuple[Places, ...]
    parts: tuple[str, ...]
    labels: Labels
    classes: int

    def features(self, rows: Places | slice = slice(None)) -> NDArray[np.float32]:
        """The rows that a classifier sees, `(n, dim)`."""
        u, *v = (self.embeddings[side[rows]] for side in self.sides)
        if not v:
            return np.ascontiguousarray(u)
        made = {"u": u, "v": v[0], "|u-v|": np.abs(u - v[0]), "u*v": u * v[0]}
        return np.concatenate([made[part] for part in self.parts], axis=1)

    def check_memory(self, gigabytes: float | None) -> None:
        """Whether there is room for the features of all examples, and again for those that are trained on.

        Args:
            gigabytes: How much they may take. None: what is free.

        Raises:
            MemoryError: There is not.
        """
        width = self.embeddings.shape[1] * (len(self.parts) if len(self.sides) == 2 else 1)
        needed = 2 * 4e-9 * len(self.labels) * width
        room = free_memory() / 1e9 if gigabytes is None else gigabytes
        if needed > room:
            raise MemoryError(
                f"the features of {len(self.labels)} examples, {width} numbers each, need {needed:.3g} GB: "
                f"they are held, and copied where they are trained on; there are {room:.3g} GB; take "
                "the protocol optimum or fast, which make features of pairs when they use them"
            )


class Fit(NamedTuple):
    """One classifier to be trained: on these examples, with this penalty.

    `valid` are those on which a classifier that stops early looks; None: it takes some of its own.
    """

    train: Places
    penalty: float
    valid: Places | None = None


class Classifier(Protocol):
    """How classifiers are trained."""

    def penalties(self, validation: str) -> Sequence[float]:
        """Those that are tried, in SentEval's order: the first of equally good ones is taken."""

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """The classes that each of the trained classifiers gives to all examples."""


class Predictions(NamedTuple):
    """What classifiers predict, and how near to their optimum they ended, where a solver tells.

    Attributes:
        classes: `(fits, n)`.
        gradients: The gradient's largest element at each end; not a number where it is not known.
        gaps, iterations, short: As those of `LogisticSolutions`.
    """

    classes: NDArray[np.integer[Any]]
    gradients: NDArray[np.floating[Any]]
    gaps: NDArray[np.floating[Any]] | None = None
    iterations: NDArray[np.int64] | None = None
    short: NDArray[np.bool_] | None = None


# In SentEval's order of its scikit-learn classifiers. C, the weight of the losses.
_C = {
    "nested": tuple(2.0**t for t in range(-2, 4)),
    "folds": tuple(2.0**t for t in range(-1, 6)),
    "dev": tuple(2.0**t for t in range(-2, 4)),
    "none": (1e9,),
}


# What each way of validation needs.
_SPLITS = {"nested": ("all",), "folds": ("train", "test"), "dev": ("train", "dev", "test")}


@dataclass(frozen=True)
class Optimum:
    """Logistic regression at its optimum, all of them solved together."""

    tolerance: float = 1e-5
    device: str = "cpu"

    def __post_init__(self) -> None:
        checked_float("tolerance", self.tolerance, 0, above=True)
        check_device(self.device)

    def penalties(self, validation: str) -> Sequence[float]:
        """C."""
        return _C[validation]

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """Solves all in one go: problems that train on the same rows share a fold."""
        number: dict[bytes, int] = {}
        folds: list[NDArray[np.bool_]] = []
        problems = []
        for fit in fits:
            key = fit.train.tobytes()
            if key not in number:
                number[key] = len(folds)
                chosen = np.zeros(len(examples.labels), dtype=np.bool_)
                chosen[fit.train] = True
                folds.append(chosen)
            problems.append((number[key], fit.penalty))
        pairs = examples.sides if len(examples.sides) == 2 else None
        found = fit_logistic(
            examples.embeddings,
            examples.labels,
            np.stack(folds),
            problems,
            classes=examples.classes,
            places=None if pairs else examples.sides[0],
            pairs=pairs,
            parts=examples.parts,
            tolerance=self.tolerance,
            device=self.device,
            on_progress=on_progress,
        )
        if not np.isfinite(found.gradients).all():
            raise ValueError("no optimum was found: the features are too large or too small for float32")
        return Predictions(found.predictions, found.gradients, found.gaps, found.iterations, found.short)


@dataclass(frozen=True)
class ScikitLearn:
    """scikit-learn's `LogisticRegression`, stopping where it stops.

    Attributes:
        solver: `"lbfgs"`, its default: at most 100 iterations. Or `"liblinear"`: one classifier against the
            rest for each class, intercepts penalised; its default before 2019, what published figures have.
        jobs: Processes. None: as many as this process may use threads (`num_threads`).
        memory: Gigabytes that features may take; None: what is free.
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
        """C."""
        return _C[validation]

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """Trains one after the other, by several processes."""
        joblib = require("joblib", "eval")
        require("sklearn", "eval")
        examples.check_memory(self.memory)
        x = examples.features()
        work = (joblib.delayed(self._one)(x, examples.labels, fit) for fit in fits)
        jobs = num_threads() if self.jobs is None else self.jobs
        classes = []
        for done, found in enumerate(joblib.Parallel(jobs, return_as="generator")(work), 1):
            classes.append(found)
            if on_progress:
                on_progress(done, len(fits))
        return Predictions(np.stack(classes), np.full(len(fits), np.nan))

    def _one(self, x: NDArray[np.float32], y: Labels, fit: Fit) -> Labels:
        import warnings

        from sklearn.linear_model import LogisticRegression
        from sklearn.multiclass import OneVsRestClassifier

        model = LogisticRegression(C=fit.penalty, solver=self.solver, random_state=1111)
        if self.solver == "liblinear" and len(np.unique(y[fit.train])) > 2:
            model = OneVsRestClassifier(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it did not converge is what this protocol is about
            model.fit(x[fit.train], y[fit.train])
        found: Labels = model.predict(x)
        return found


# scikit-learn's.
_SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
# As SentEval's options call them: as torch does.
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
_LEAST = {"nhid": 0, "batch_size": 1, "tenacity": 0, "epoch_size": 1, "max_epoch": 0}


@dataclass(frozen=True)
class Adam:
    """SentEval's own classifier, trained by Adam until it no longer does better on the validation examples.

    It runs on the CPU.

    Attributes:
        nhid: Hidden units; 0: none.
        optim: How it is trained, with settings of torch's as in `"sgd,lr=0.1"`.
        batch_size: Examples a step.
        tenacity: How many times the validation score may fail to rise.
        epoch_size: Epochs between two looks at it.
        max_epoch: Epochs at most.
        dropout: Of the hidden units.
        seed: Of everything random.
        reduction: `"mean"` of a batch's losses, as with today's torch; or `"sum"`, as with that of 2017, when
            published figures were made: the penalty weighs less then.
        memory: Gigabytes that features may take; None: what is free.
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
        for name, least in _LEAST.items():
            checked_int(name, getattr(self, name), least)
        checked_int("seed", self.seed, 0, 2**32 - 1)
        checked_float("dropout", self.dropout, 0, 1)
        _check_memory(self.memory)
        if self.reduction not in ("mean", "sum"):
            raise ValueError(f"reduction must be 'mean' or 'sum', got {self.reduction!r}")

    def _optimiser(self) -> tuple[str, dict[str, float]]:
        """Torch's class, and its settings."""
        name, *given = checked_str("optim", self.optim).split(",")
        if name not in _OPTIMISERS:
            raise ValueError(
                f"optim must be one of {', '.join(_OPTIMISERS)}, perhaps with settings, as in 'sgd,lr=0.1'; "
                f"got {self.optim!r}"
            )
        settings = {}
        for setting in given:
            key, _, value = setting.partition("=")
            try:
                settings[key.strip()] = float(value)
            except ValueError:
                raise ValueError(f"optim: expected settings as in 'sgd,lr=0.1', got {self.optim!r}") from None
        if name == "sgd" and "lr" not in settings:
            raise ValueError("optim: sgd needs a learning rate, as in 'sgd,lr=0.1'")
        return _OPTIMISERS[name], settings

    def penalties(self, validation: str) -> Sequence[float]:
        """The weight of the squared weights."""
        return (1e-9,) if validation == "none" else tuple(10.0**t for t in range(-5, -1))

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Progress | None) -> Predictions:
        """Trains one after the other."""
        torch = require("torch", "eval")
        examples.check_memory(self.memory)
        x = torch.tensor(examples.features())  # copied: the last digits depend on where memory begins
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
        if valid is None:  # a twentieth of the training examples
            order = random.permutation(len(train))
            cut = max(1, int(0.05 * len(train)))
            train, valid = train[order[cut:]], train[order[:cut]]
        train_x, train_y, valid_x, valid_y = x[train], y[train], x[valid], y[valid]
        linear = partial(nn.Linear, dtype=x.dtype)
        layers = [linear(x.shape[1], self.nhid or classes)]
        if self.nhid:
            layers += [nn.Dropout(self.dropout), nn.Sigmoid(), linear(self.nhid, classes)]
        model = nn.Sequential(*layers)
        name, settings = self._optimiser()
        optimiser = getattr(torch.optim, name)(model.parameters(), weight_decay=fit.penalty, **settings)
        loss_of = nn.CrossEntropyLoss(reduction=self.reduction)

        def epochs() -> None:
            model.train()
            for _ in range(self.epoch_size):
                train_epoch(model, optimiser, loss_of, train_x, train_y, self.batch_size, random)

        def score() -> float:
            model.eval()
            with torch.no_grad():
                return float((model(valid_x).argmax(1) == valid_y).double().mean())

        bounds = {"epochs": self.epoch_size, "tenacity": self.tenacity, "most": self.max_epoch}
        return train_until_no_better(epochs, score, lambda: deepcopy(model), **bounds).best.eval()


@dataclass(frozen=True, eq=False)
class Classified:
    """What validation found.

    Attributes:
        dev: SentEval's `devacc`, percent.
        test: Its `acc`, percent.
        places: The examples that were tested.
        predictions: Their classes.
        chosen: The penalty of each classifier that was tested.
        gradient: The largest gradient at any classifier's end; not a number where it is not known.
        majority: The accuracy of always saying the class that most training examples have, percent.
        details: How near to their optimum classifiers ended (`ends`), and the accuracies of outer folds.
    """

    dev: float
    test: float
    places: Places
    predictions: Labels
    chosen: tuple[float, ...]
    gradient: float
    majority: float
    details: dict[str, Any] = field(default_factory=dict)


def classify(
    classifier: Classifier,
    examples: Examples,
    splits: dict[str, Places],
    validation: str,
    folds: int,
    *,
    penalised: bool = True,
    on_progress: Progress | None = None,
) -> Classified:
    """Chooses penalties and judges, as SentEval does for a task of this kind.

    Args:
        classifier: What is trained.
        examples: All examples of the task.
        splits: Which of them are `"all"`, or `"train"`, `"dev"` and `"test"`.
        validation: `"nested"`, `"folds"` or `"dev"`: see `Kind`.
        folds: How many.
        penalised: Whether there is a penalty to choose. SNLI has none.
        on_progress: Called with the number of classifiers that are trained, and of all.

    Returns:
        What was found.

    Raises:
        ValueError: A split is missing, or no class has as many examples as there are folds.
    """
    check_splits(splits, validation)
    grid = classifier.penalties(validation if penalised else "none")
    if validation == "nested":
        outer = [
            (splits["all"][a], splits["all"][b]) for a, b in stratified(examples.labels[splits["all"]], folds)
        ]
    else:
        outer = [(splits["train"], splits["test"])]
    inner: list[list[tuple[Places, Places]]] = []
    for train, _ in outer:
        if validation == "dev":
            inner.append([(train, splits["dev"])])
        else:
            inner.append([(train[a], train[b]) for a, b in stratified(examples.labels[train], folds)])

    fits = [Fit(train, c, valid) for cut in inner for train, valid in cut for c in grid]
    total = len(fits) + (0 if validation == "dev" else len(outer))
    found = classifier.predict(examples, fits, _counted(on_progress, 0, total))
    right = found.classes == examples.labels
    scores = np.array([right[i, fit.valid].mean() for i, fit in enumerate(fits)])
    # Rounded before the best is chosen, as the original does: near ties go to the smaller penalty's C.
    means = [np.round(100 * s.reshape(-1, len(grid)).mean(0), 2) for s in np.split(scores, len(outer))]
    chosen = [int(np.argmax(mean)) for mean in means]

    valid = splits.get("dev") if validation == "dev" else None
    finals = [Fit(train, grid[c], valid) for (train, _), c in zip(outer, chosen, strict=True)]
    if validation == "dev":  # was trained already
        last, trained = Predictions(found.classes[chosen], found.gradients[chosen]), [found]
    else:
        last = classifier.predict(examples, finals, _counted(on_progress, len(fits), total))
        trained = [found, last]
    tests = [test for _, test in outer]
    predicted = [last.classes[i, test] for i, test in enumerate(tests)]
    accuracies = [
        round(100 * float(np.mean(classes == examples.labels[test])), 2)
        for classes, test in zip(predicted, tests, strict=True)
    ]
    commonest = [np.bincount(examples.labels[train]).argmax() for train, _ in outer]
    majority = [examples.labels[test] == one for test, one in zip(tests, commonest, strict=True)]
    return Classified(
        dev=round(float(np.mean([mean.max() for mean in means])), 2),
        test=round(float(np.mean(accuracies)), 2),
        places=np.concatenate(tests),
        predictions=np.concatenate(predicted).astype(np.int64),
        chosen=tuple(grid[c] for c in chosen),
        gradient=float(max(one.gradients.max() for one in trained)),
        majority=round(100 * float(np.mean(np.concatenate(majority))), 2),
        details=ends(*trained) | ({"accuracies": accuracies} if validation == "nested" else {}),
    )


def check_device(device: str) -> None:
    """Whether torch can compute there.

    Raises:
        ValueError: It cannot.
    """
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


def check_splits(splits: Iterable[str], validation: str) -> None:
    """Whether all are there that a way of validation needs.

    Example:
        >>> check_splits(["train", "test"], "dev")
        Traceback (most recent call last):
        ValueError: needs the splits train, dev, test; there are train, test
    """
    needed, there = _SPLITS[validation], list(splits)
    if not set(needed) <= set(there):
        raise ValueError(f"needs the splits {', '.join(needed)}; there are {', '.join(there) or 'none'}")


def stratified(labels: Labels, folds: int) -> list[tuple[Places, Places]]:
    """SentEval's folds: what is trained on and what is held out of each."""
    most = int(np.bincount(labels).max())
    if most < folds:
        raise ValueError(f"{folds} folds need a class of as many examples; the largest of these has {most}")
    selection = require("sklearn.model_selection", "eval")
    cut = selection.StratifiedKFold(n_splits=folds, shuffle=True, random_state=1111)
    return list(cut.split(np.zeros((len(labels), 1)), labels))


def _counted(on_progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if on_progress is None else lambda done, _: on_progress(before + done, total)
