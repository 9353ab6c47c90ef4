"""Learning curves: the score of an encoder against the number of training examples."""

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
from .metrics.classifiers import Classifier, Examples, Fit, Indices, Predictions
from .metrics.protocols import Protocol, protocol_named
from .metrics.results import Curve, TaskResult
from .metrics.validation import check_splits, stratified_folds
from .progress import ProgressBar
from .runner import Encoded, check_installed, encode_task, score_task
from .statistics.seeds import over_runs

__all__ = ["learning_curve"]

_FRACTIONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
_REPEATS = 5

# Scale and label of the y axis, by the key of the headline score.
_Y_AXIS = {
    "acc": (1, "accuracy, percent"),
    "pearson": (100, "Pearson's correlation of learnt scores x 100"),
    "t2i.r1": (1, "recall at 1 of images, percent"),
}


def learning_curve(
    encoder: Any,
    task: str | Task,
    data: str | os.PathLike[str] | None = None,
    *,
    sizes: Sequence[float] = _FRACTIONS,
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
    """Score of a task against the number of training examples of its classifier.

    Each repetition shuffles the training examples such that every prefix is nearly stratified; each size is a
    prefix, so that smaller sets are subsets of larger ones. Penalties are chosen for each, as in the
    protocol. Without a test split, repetition i is tested on the i-th of SentEval's folds, and trained on the
    others.

    Args:
        encoder: Encoder, as for `evaluate`.
        task: A task with a classifier, learnt relatedness, or images and captions, or its name.
        data: SentEval's `data` folder; required for a name.
        sizes: Numbers of examples (`int`), or fractions of all (`float`, up to 1.0).
        protocol: Protocol, as for `evaluate`.
        options: Options of the protocol, as for `evaluate`.
        repeats: Number of repetitions. None: five, or the number of folds, if smaller.
        seed: Seed of the shuffling.
        key: As for `evaluate`.
        tokens: As for `evaluate`.
        cache: As for `evaluate`.
        partial: As for `evaluate`.
        confidence: Confidence level of the intervals. They account for the choice of test examples and of
            training examples; of test examples only, where all examples of a training split are used.
        resamples: Number of bootstrap resamples.
        show_progress_bar: Whether to show a progress bar. None: if the log shows information.

    Returns:
        The means over repetitions. `report.curves["TREC"] = curve` adds it to a report.

    Raises:
        ValueError: The task trains nothing, or sizes are out of range or too small for the folds.

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
        raise ValueError(f"learning_curve: {task.name} trains nothing")
    check_splits(task.splits, task.kind.validation)
    check_installed(task.kind, chosen)
    seeded = chosen.seeded(task.kind.question)
    encoded = encode_task(task, Embedder(encoder, None, folder, key, tokens))
    shuffles = _shuffles(encoded.task, chosen.folds, repeats, seed)
    largest = min(len(train) for train, _ in shuffles)
    counts = sorted({_count(size, largest) for size in sizes})
    if not counts:
        raise ValueError("learning_curve: sizes is empty")
    bootstrap: dict[str, Any] = {"confidence": confidence, "resamples": resamples}
    results: list[TaskResult] = []
    # All examples of a training split are one set, whatever their order: no repetitions.
    once = {} if task.kind.validation == "nested" else {largest: shuffles[:1]}
    repetitions = {count: once.get(count, shuffles) for count in counts}
    total = len(seeded) * sum(map(len, repetitions.values()))
    with ProgressBar(show_progress_bar, total, f"learning curve of {task.name}", "training") as bar:
        for count, repeated in repetitions.items():
            bar.show(f"{count} examples")
            runs = []
            for train, test in repeated:
                for with_seed in seeded:
                    runs.append(_run(encoded, train[:count], test, with_seed, bootstrap))
                    bar.finish()
            results.append(over_runs(runs, **bootstrap))
    scale, label = _Y_AXIS[results[0].headline]
    intervals = [result.intervals[result.headline] for result in results]
    return Curve(
        tuple(counts),
        tuple(scale * result.figure(result.headline) for result in results),
        tuple(scale * interval.low for interval in intervals),
        tuple(scale * interval.high for interval in intervals),
        y_label=label,
        logarithmic=True,
        data=digest_of(task),
    )


def _count(size: float, largest: int) -> int:
    count = round(size * largest) if isinstance(size, float) else checked_int("sizes", size, 1)
    if not 1 <= count <= largest:
        raise ValueError(
            f"learning_curve: sizes must be from 1 to the {largest} training examples, or fractions up to "
            f"1.0, got {size}"
        )
    return count


def _shuffles(task: Task, folds: int, repeats: int | None, seed: int) -> list[tuple[Indices, Indices | None]]:
    """Shuffled training examples of each repetition, and the test fold, if the task has no test split."""
    random = np.random.default_rng(seed)
    if task.kind.validation != "nested":
        targets = task["train"].labels
        if task.kind.question != "relatedness":
            targets = targets.astype(np.int64)
        return [(_order(targets, random), None) for _ in range(repeats or _REPEATS)]
    repeats = repeats or min(_REPEATS, folds)
    labels = np.asarray(task["all"].labels, dtype=np.int64)
    outer = stratified_folds(labels, folds)
    if repeats > folds:
        raise ValueError(f"learning_curve: {task.name} has {folds} folds to test on, got repeats={repeats}")
    return [(train[_order(labels[train], random)], test) for train, test in outer[:repeats]]


def _order(labels: NDArray[Any], random: np.random.Generator) -> Indices:
    """A random order whose prefixes are nearly stratified by class."""
    shuffled = random.permutation(len(labels))
    if labels.dtype.kind == "f":  # scores, not classes
        return shuffled
    shuffled_labels = labels[shuffled]
    counts = np.bincount(shuffled_labels)
    by_class = np.argsort(shuffled_labels, kind="stable")
    rank = np.empty(len(labels))
    rank[by_class] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return shuffled[np.argsort((rank + random.random(len(labels))) / counts[shuffled_labels], kind="stable")]


@dataclass(frozen=True)
class _NestedGrid:
    """A classifier with the grid of nested cross-validation, although it gets a test split."""

    classifier: Classifier

    def penalties(self, validation: str) -> Sequence[float]:
        return self.classifier.penalties("nested")

    def predict(self, examples: Examples, fits: Sequence[Fit], on_progress: Any) -> Predictions:
        return self.classifier.predict(examples, fits, on_progress)


def _run(
    encoded: Encoded, train: Indices, test: Indices | None, protocol: Protocol, bootstrap: dict[str, Any]
) -> TaskResult:
    part = _part(encoded, train, test)
    if test is not None:
        protocol = replace(protocol, classifier=_NestedGrid(protocol.classifier))
    with warnings.catch_warnings():  # small subsets have rare classes
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        result = score_task(part, protocol, **bootstrap)
    if test is None:
        return result
    (predictions,) = result.predictions.values()  # its indices are relative to the fold
    result.predictions = {"all": replace(predictions, split="all", indices=test[predictions.indices])}
    return result


def _part(encoded: Encoded, train: Indices, test: Indices | None) -> Encoded:
    """The task with a subset of its training examples, in SentEval's order, and a fold as its test split."""
    task, train = encoded.task, np.sort(train)
    sentences = encoded.by_split()
    subsets: dict[str, tuple[str, Indices | slice]] = {name: (name, slice(None)) for name in task.splits}
    if test is None:
        subsets["train"] = ("train", train)
    else:
        subsets = {"train": ("all", train), "test": ("all", test)}
    splits, indices = {}, []
    for name, (source, subset) in subsets.items():
        split = task[source]
        labels = split.labels[subset]
        blank = tuple([""] * len(labels) for _ in split.sentences)  # only their embeddings are read
        splits[name] = replace(split, sentences=blank, labels=labels)
        indices += [side[subset] for side in sentences[source]]
    kind = task.kind if test is None else replace(task.kind, validation="folds")
    return replace(encoded, task=replace(task, splits=splits, kind=kind), indices=indices)
