"""How an encoder's score grows with the number of training examples."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import checked_float, checked_int
from ..encoder_rows import cache_folder
from .data import Task, digest_of, load_task
from .embeddings import Embedder
from .metrics.classifiers import Classifier, Examples, Fit, Places, Predictions, check_splits, stratified
from .metrics.protocols import Protocol, protocol_named
from .metrics.results import Curve, TaskResult
from .progress import Bars
from .runner import Encoded, check_installed, encode_task, judge_task
from .statistics.seeds import over_runs

__all__ = ["learning_curve"]

_SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
_REPEATS = 5

# By the key of the figure.
_SHOWN = {
    "acc": (1, "accuracy, percent"),
    "pearson": (100, "Pearson's correlation of learnt scores x 100"),
    "t2i.r1": (1, "recall at 1 of images, percent"),
}


def learning_curve(
    encoder: Any,
    task: str | Task,
    data: str | os.PathLike[str] | None = None,
    *,
    sizes: Sequence[float] = _SHARES,
    protocol: str | Protocol = "optimum",
    options: dict[str, Any] | None = None,
    repeats: int | None = None,
    seed: int = 1111,
    key: str | None = None,
    tokens: bool | None = None,
    cache: str | os.PathLike[str] | bool = True,
    partial: bool = False,
    confidence: float = 0.95,
    resamples: int = 2000,
    show_progress_bar: bool | None = None,
) -> Curve:
    """The score of a task against the number of examples that its classifier is trained on.

    Each repetition draws an order of the training examples, in which every beginning has about all classes'
    shares; a size is such a beginning, so that small sets are parts of larger ones. Penalties are chosen
    anew for each, as the protocol does. Where a task has no test split, repetition i is tested on the i-th of
    SentEval's folds, and trained on the others.

    Args:
        encoder: As `evaluate` takes it.
        task: One with a classifier, learnt relatedness, or images and captions.
        data: SentEval's `data` folder; needed for a name.
        sizes: Numbers of examples (whole numbers), or shares of all (up to 1.0).
        protocol: As `evaluate` takes it.
        options: The same.
        repeats: How many orders are drawn. None: five, or one a fold where there are fewer.
        seed: Decides which.
        key: As in `evaluate`.
        tokens: As in `evaluate`.
        cache: As in `evaluate`.
        partial: As in `evaluate`.
        confidence: Of the intervals, which cover other tested examples and other training examples of the
            same task; with all training examples of a task that has a test split, the former alone.
        resamples: Of the bootstrap.
        show_progress_bar: None: where the log shows information.

    Returns:
        The means over repetitions. `report.curves["TREC"] = curve` puts it into a report.

    Raises:
        ValueError: The task has nothing that is learnt, sizes are out of range or too small for the folds.

    Example:
        >>> import numpy as np, sentencode as se
        >>> from sentencode.evaluation import Kind, Split, Task, learning_curve
        >>> words = ["cat", "dog", "sun", "sky"] * 25
        >>> split = Split((words,), np.array([0, 0, 1, 1] * 25))
        >>> task = Task("mine", {"all": split}, Kind("classification", "nested", features=("u",)))
        >>> vectors = se.WordVectors.from_array(["cat", "dog", "sun", "sky"], np.eye(4, dtype=np.float32))
        >>> curve = learning_curve(se.Average(vectors), task, sizes=[20, 40], protocol="fast", cache=False)
        >>> curve.x, curve.y
        ((20.0, 40.0), (100.0, 100.0))
    """
    chosen = protocol_named(protocol, **(options or {}))
    if repeats is not None:
        checked_int("repeats", repeats, 1)
    checked_int("resamples", resamples, 1)
    checked_float("confidence", confidence, 0, 1, above=True, below=True)
    folder = cache_folder(cache)
    if isinstance(task, str):
        if data is None:
            raise ValueError(f"learning_curve: data is missing: the folder that the files of {task} are in")
        task = load_task(task, data, partial=partial)
    if task.kind.validation is None:
        raise ValueError(f"learning_curve: nothing is learnt in {task.name}")
    check_splits(task.splits, task.kind.validation)
    check_installed(task.kind, chosen)
    seeded = chosen.seeded(task.kind.question)
    encoded = encode_task(task, Embedder(encoder, None, folder, key, tokens))
    cuts = _cuts(encoded.task, chosen.folds, repeats, seed)
    least = min(len(train) for train, _ in cuts)
    numbers = sorted({_number(size, least) for size in sizes})
    if not numbers:
        raise ValueError("learning_curve: sizes is empty")
    judging: dict[str, Any] = {"confidence": confidence, "resamples": resamples}
    points: list[tuple[TaskResult, str]] = []
    # All training examples are the same set, in whatever order.
    whole = {} if task.kind.validation == "nested" else {least: cuts[:1]}
    orders = {number: whole.get(number, cuts) for number in numbers}
    total = len(seeded) * sum(map(len, orders.values()))
    with Bars(show_progress_bar, total, f"learning curve of {task.name}", "training") as bars:
        for number, of_number in orders.items():
            bars.show(f"{number} examples")
            runs = []
            for train, test in of_number:
                for one in seeded:
                    runs.append(_run(encoded, train[:number], test, one, judging))
                    bars.finish()
            result = over_runs(runs, **judging)
            points.append((result, result.headline))
    scale, label = _SHOWN[points[0][1]]
    intervals = [result.intervals[headline] for result, headline in points]
    return Curve(
        tuple(numbers),
        tuple(scale * result.figure(headline) for result, headline in points),
        tuple(scale * interval.low for interval in intervals),
        tuple(scale * interval.high for interval in intervals),
        y_label=label,
        logarithmic=True,
        data=digest_of(task),
    )


def _number(size: float, most: int) -> int:
    number = round(size * most) if isinstance(size, float) else checked_int("sizes", size, 1)
    if not 1 <= number <= most:
        raise ValueError(
            f"learning_curve: sizes must be from 1 to the {most} training examples, or shares of them up to "
            f"1.0, got {size}"
        )
    return number


def _cuts(task: Task, folds: int, repeats: int | None, seed: int) -> list[tuple[Places, Places | None]]:
    """For each repetition, training examples in the order in which they are taken, and a fold to test on."""
    random = np.random.default_rng(seed)
    if task.kind.validation != "nested":
        labels = task["train"].labels
        return [(_order(labels, random), None) for _ in range(repeats or _REPEATS)]
    repeats = repeats or min(_REPEATS, folds)
    labels = np.asarray(task["all"].labels, dtype=np.int64)
    outer = stratified(labels, folds)
    if repeats > folds:
        raise ValueError(f"learning_curve: {task.name} has {folds} folds to test on, got repeats={repeats}")
    return [(train[_order(labels[train], random)], test) for train, test in outer[:repeats]]


def _order(labels: NDArray[Any], random: np.random.Generator) -> Places:
    """A random order whose every beginning has about the shares of all classes; scores are no classes."""
    shuffled = random.permutation(len(labels))
    if labels.dtype.kind == "f":
        return shuffled
    of_class = labels[shuffled]
    counts = np.bincount(of_class)
    by_class = np.argsort(of_class, kind="stable")
    rank = np.empty(len(labels))
    rank[by_class] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return shuffled[np.argsort((rank + random.random(len(labels))) / counts[of_class], kind="stable")]


@dataclass(frozen=True)
class _OfNested:
    """A classifier that tries the penalties of tasks without a test split, although it is given one."""

    classifier: Classifier

    def penalties(self, validation: str) -> Sequence[float]:
        return self.classifier.penalties("nested")

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Any) -> Predictions:
        return self.classifier.predict(examples, fits, on_progress)


def _run(
    encoded: Encoded, train: Places, test: Places | None, protocol: Protocol, judging: dict[str, Any]
) -> TaskResult:
    part = _part(encoded, train, test)
    if test is not None:
        protocol = replace(protocol, classifier=_OfNested(protocol.classifier))
    with warnings.catch_warnings():  # of few examples, some classes have fewer than there are folds
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        result = judge_task(part, protocol, **judging)
    if test is None:
        return result
    (judged,) = result.judged.values()  # whose places count from the fold's first example
    result.judged = {"all": replace(judged, split="all", places=test[judged.places])}
    return result


def _part(encoded: Encoded, train: Places, test: Places | None) -> Encoded:
    """The task with some of its training examples, in SentEval's order, and a fold as its test split."""
    task, train = encoded.task, np.sort(train)
    places = encoded.by_split()
    chosen: dict[str, tuple[str, Places | slice]] = {name: (name, slice(None)) for name in task.splits}
    if test is None:
        chosen["train"] = ("train", train)
    else:
        chosen = {"train": ("all", train), "test": ("all", test)}
    splits, rows = {}, []
    for name, (source, rows_of) in chosen.items():
        split = task[source]
        splits[name] = replace(
            split,
            sentences=tuple([""] * len(split.labels[rows_of]) for _ in split.sentences),
            labels=split.labels[rows_of],
        )
        rows += [side[rows_of] for side in places[source]]
    kind = task.kind if test is None else replace(task.kind, validation="folds")
    return replace(encoded, task=replace(task, splits=splits, kind=kind), places=rows)
