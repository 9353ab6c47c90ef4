"""Labelled examples of a reproduction: training, validation and test sets."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..evaluation import Kind, Labelled, Split, Task, TaskResult, bootstrap_mean, read_labelled
from ..evaluation.metrics.intervals import Interval
from ..evaluation.metrics.results import SplitPredictions
from ..evaluation.statistics.joint_bootstrap import keys_of
from ..files import as_path
from ..text.tokenizer import Tokenizer
from .results_folder import file_identity

__all__ = ["Examples", "Labels", "evaluated_labels", "labels_of", "labels_of_files", "labels_of_task"]

File = str | os.PathLike[str]
_SIDES = ("s1", "s2", "labels")  # files of a folder of SentEval


class Examples(NamedTuple):
    """Sentences or pairs with their labels, as for `fit`."""

    sentences: list[Any]
    labels: Any


@dataclass(frozen=True, eq=False)
class Labels:
    """A corpus of labelled examples.

    Attributes:
        train: Training examples.
        valid: Validation examples.
        tests: Name of a score -> test examples.
        facts: What identifies the examples in the settings.
    """

    train: Examples
    valid: Examples
    tests: Mapping[str, Examples] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def tasks(self) -> list[Task]:
        """The corpus as tasks for frozen embeddings of controls, with Penn Treebank tokens."""
        classes = sorted(set(self.train.labels), key=str)
        pairs = isinstance(self.train.sentences[0], tuple)
        features: Any = ("u", "v", "|u-v|", "u*v") if pairs else ()
        kind = Kind("classification", "dev", pairs, features, tokenized=True)
        common = {"train": self.train, "dev": self.valid}
        return [
            Task(
                name,
                {split: _split(examples, classes) for split, examples in {**common, "test": test}.items()},
                kind,
                tuple(map(str, classes)),
            )
            for name, test in self.tests.items()
        ]


def labels_of_files(
    train: Sequence[File],
    valid: Sequence[File],
    tests: Mapping[str, File],
    *,
    held_out: int,
    most: int | None = None,
    seed: int = 0,
) -> Labels:
    """Reads labelled examples, see `labels_of`.

    Args:
        train: Training files for `read_labelled`, or `FOLDER:SPLIT` of a folder with SentEval's files.
        valid: Validation files. None: examples of the first training file are held out.
        tests: Name of a score -> test file.
        held_out: Number of held-out examples without validation files.
        most: Largest number of training examples. None: all.
        seed: Seed of the selection.

    Raises:
        FormatError: A file has another format.
        ValueError: No example is left.
    """
    labels = labels_of(
        [_read(file) for file in train],
        _joined([_read(file) for file in valid]) if valid else None,
        {name: Examples(*_read(file)[:2]) for name, file in tests.items()},
        held_out=held_out,
        most=most,
        seed=seed,
    )
    files = {"train": train, "valid": valid, "test": list(tests.values())}
    identities = {
        split: [identity for path in paths for identity in _identities(path)]
        for split, paths in files.items()
    }
    return replace(labels, facts={"files": identities, **labels.facts})


def labels_of_task(task: Task, name: str, *, most: int | None = None, seed: int = 0) -> Labels:
    """The examples of a task with the splits "train", "dev" and "test", see `labels_of`."""
    splits = {
        name: Examples(
            list(split.sentences[0] if len(split.sentences) == 1 else split.pairs), split.labels.tolist()
        )
        for name, split in task.splits.items()
    }
    labels = labels_of(
        [Labelled(*splits["train"], 0)],
        splits["dev"],
        {name: splits["test"]},
        held_out=0,
        most=most,
        seed=seed,
    )
    return replace(labels, facts={"task": task.name, **labels.facts})


def labels_of(
    train: Sequence[Labelled],
    valid: Examples | None,
    tests: Mapping[str, Examples],
    *,
    held_out: int,
    most: int | None = None,
    seed: int = 0,
) -> Labels:
    """Splits examples so that no training example shares its (first) sentence with validation or test.

    Sentences are equal if their letters and digits are. Pairs with the same premise stay together.

    Args:
        train: Parts of the training examples.
        valid: Validation examples. None: examples of the first part of `train` are held out.
        tests: Name -> test examples.
        held_out: Approximate number of held-out examples.
        most: Largest number of training examples. None: all.
        seed: Seed of the selection.

    Raises:
        ValueError: No example is left.
    """
    tested = {_key(example) for test in tests.values() for example in test.sentences}
    parts = [
        [(_key(example), example, label) for example, label in zip(part.sentences, part.labels, strict=True)]
        for part in train
    ]
    untested = [[row for row in part if row[0] not in tested] for part in parts]
    facts: dict[str, Any] = {"seed": seed, "also_tested": sum(map(len, parts)) - sum(map(len, untested))}
    rng = random.Random(seed)
    validation_count = 0
    if valid is None:
        keys = sorted({key for key, *_ in untested[0]})
        rng.shuffle(keys)
        groups: dict[str, list[Any]] = {}
        for key, *row in untested[0]:
            groups.setdefault(key, []).append(row)
        selected: list[Any] = []
        while keys and len(selected) < held_out:
            selected += groups[keys.pop()]
        validation_count = len(selected)
        valid = Examples(*([row[i] for row in selected] for i in (0, 1)))
    validated = {_key(example) for example in valid.sentences}
    rows = [row for part in untested for row in part if row[0] not in validated]
    facts["also_validated"] = sum(map(len, untested)) - len(rows) - validation_count
    if most is not None and most < len(rows):
        rows = [rows[i] for i in sorted(rng.sample(range(len(rows)), most))]
    if not rows or not valid.sentences:
        raise ValueError(
            f"there must be examples to train and to validate on, got {len(rows)} and {len(valid.sentences)}"
        )
    facts |= {"train": len(rows), "valid": len(valid.sentences)}
    facts |= {name: len(test.sentences) for name, test in tests.items()}
    return Labels(Examples([row[1] for row in rows], [row[2] for row in rows]), valid, tests, facts)


def evaluated_labels(encoder: Any, labels: Labels, *, resamples: int) -> dict[str, TaskResult]:
    """The results of an encoder's own classifier on the test examples, in the form of `evaluate`.

    Args:
        encoder: Fitted encoder with a classifier.
        labels: Corpus with test examples.
        resamples: Number of bootstrap resamples.

    Raises:
        ValueError: The class of a test example is not in the training examples.
    """
    number = {name: i for i, name in enumerate(encoder.classes_.tolist())}
    dev = 100 * encoder.score(*labels.valid)
    results = {}
    for name, test in labels.tests.items():
        if unknown := set(test.labels) - set(number):
            raise ValueError(f"{name}: no training example is of the class {min(unknown, key=str)!r}")
        gold = np.array([number[label] for label in test.labels], np.int64)
        predicted = encoder.predict_proba(test.sentences).argmax(axis=1).astype(np.int64)
        low, high = bootstrap_mean(predicted == gold, resamples=resamples)
        figures = {
            "devacc": round(dev, 2),
            "acc": round(100 * float((predicted == gold).mean()), 2),
            "ndev": len(labels.valid.labels),
            "ntest": len(gold),
        }
        keys = keys_of(_split(test, list(number)))
        predictions = SplitPredictions("test", np.arange(len(gold)), predicted, gold, keys=keys)
        intervals = {"acc": Interval(100 * low, 100 * high)}
        results[name] = TaskResult(name, figures, intervals, {"test": predictions}, {"classes": list(number)})
    return results


def _read(file: File) -> Labelled:
    folder, split = _split_of(file)
    return read_labelled(folder, split=split)


def _split_of(file: File) -> tuple[Path, str | None]:
    """A file and None, or a folder and the name of its split."""
    path = as_path(file)
    folder, colon, split = os.fspath(path).rpartition(":")
    return (Path(folder), split) if colon and not path.exists() else (path, None)


def _identities(file: File) -> list[dict[str, str]]:
    folder, split = _split_of(file)
    if split is None:
        return [file_identity(folder)]
    return [file_identity(path) for side in _SIDES if (path := folder / f"{side}.{split}").exists()]


def _joined(parts: Sequence[Labelled]) -> Examples:
    return Examples(
        [example for part in parts for example in part.sentences],
        [label for part in parts for label in part.labels],
    )


def _key(example: Any) -> str:
    """The letters and digits of the (first) sentence of an example."""
    text = example if isinstance(example, str) else example[0]
    return re.sub(r"[\W_]+", "", text.casefold()) or text


def _split(examples: Examples, classes: Sequence[Any]) -> Split:
    tokenizer = Tokenizer("words", lowercase=False)
    pairs = isinstance(examples.sentences[0], tuple)
    sides = zip(*examples.sentences, strict=True) if pairs else [examples.sentences]
    number = {name: i for i, name in enumerate(classes)}
    labels = np.array([number[label] for label in examples.labels], np.int64)
    return Split(tuple([" ".join(tokens) for tokens in tokenizer(list(side))] for side in sides), labels)
