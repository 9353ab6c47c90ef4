"""Labelled examples of a reproduction: to learn from, to validate on, and to be judged by."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..evaluation import Kind, Labelled, Split, Task, TaskResult, bootstrap_mean, read_labelled
from ..evaluation.metrics.intervals import Interval
from ..evaluation.metrics.results import Judged
from ..evaluation.statistics.joint_bootstrap import keys_of
from ..files import as_path
from ..text.tokenizer import Tokenizer
from .results_folder import file_identity

__all__ = ["Examples", "Labels", "judged_labels", "labels_of", "labels_of_files", "labels_of_task"]

File = str | os.PathLike[str]
_SIDES = ("s1", "s2", "labels")  # of a folder as SentEval has them


class Examples(NamedTuple):
    """Sentences or pairs, and a label for each, as `fit` takes them."""

    sentences: list[Any]
    labels: Any


@dataclass(frozen=True, eq=False)
class Labels:
    """A corpus of labelled examples.

    Attributes:
        train: Which are learnt from.
        valid: On which is validated.
        tests: By what figures are called, those that judge.
        facts: What decides which examples these are, as settings tell it.
    """

    train: Examples
    valid: Examples
    tests: Mapping[str, Examples] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def tasks(self) -> list[Task]:
        """The same as tasks of frozen embeddings, for controls; texts are cut as Penn Treebank does."""
        classes = sorted(set(self.train.labels), key=str)
        pairs = isinstance(self.train.sentences[0], tuple)
        kind = Kind("classification", "dev", pairs, ("u", "v", "|u-v|", "u*v") if pairs else ())
        common = {"train": self.train, "dev": self.valid}
        return [
            Task(
                name,
                {split: _split(of, classes) for split, of in {**common, "test": test}.items()},
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
        train: Files as `read_labelled` takes them. `FOLDER:SPLIT` is that split of a folder that has
            SentEval's files.
        valid: The like. None: some are held out of the first file to train on.
        tests: By what figures are called, a file each.
        held_out: How many, if there is no file to validate on.
        most: To train on; None: all.
        seed: Chooses these.

    Raises:
        FormatError: A file is not what it should be.
        ValueError: No example is left.
    """
    read = [_read(file) for file in train]
    both = [_joined([_read(file) for file in files]) if files else None for files in (valid, ())]
    found = labels_of(
        read,
        both[0],
        {name: Examples(*_read(file)[:2]) for name, file in tests.items()},
        held_out=held_out,
        most=most,
        seed=seed,
    )
    files = {"train": train, "valid": valid, "test": list(tests.values())}
    identities = {
        name: [identity for file in of for identity in _identities(file)] for name, of in files.items()
    }
    return Labels(found.train, found.valid, found.tests, {"files": identities, **found.facts})


def labels_of_task(task: Task, name: str, *, most: int | None = None, seed: int = 0) -> Labels:
    """The examples of a task that has splits "train", "dev" and "test", see `labels_of`."""
    splits = {
        split: Examples(list(of.sentences[0] if len(of.sentences) == 1 else of.pairs), of.labels.tolist())
        for split, of in task.splits.items()
    }
    found = labels_of(
        [Labelled(*splits["train"], 0)],
        splits["dev"],
        {name: splits["test"]},
        held_out=0,
        most=most,
        seed=seed,
    )
    return Labels(found.train, found.valid, found.tests, {"task": task.name, **found.facts})


def labels_of(
    train: Sequence[Labelled],
    valid: Examples | None,
    tests: Mapping[str, Examples],
    *,
    held_out: int,
    most: int | None = None,
    seed: int = 0,
) -> Labels:
    """Splits examples so that none to train on has a (first) sentence of those to validate on, or to test.

    Sentences are the same if their letters and digits are. Pairs of a premise stay together.

    Args:
        train: Parts to train on; some of the first one are held out if there is no `valid`.
        valid: To validate on, if there are such.
        tests: To test, by names.
        held_out: About how many are held out.
        most: To train on; None: all.
        seed: Chooses these.

    Raises:
        ValueError: No example is left.
    """
    tested = {_key(one) for test in tests.values() for one in test.sentences}
    parts = [
        [(_key(one), one, label) for one, label in zip(part.sentences, part.labels, strict=True)]
        for part in train
    ]
    left = [[row for row in part if row[0] not in tested] for part in parts]
    facts: dict[str, Any] = {"seed": seed, "also_tested": sum(map(len, parts)) - sum(map(len, left))}
    chance = random.Random(seed)
    held = 0
    if valid is None:
        keys = sorted({key for key, *_ in left[0]})
        chance.shuffle(keys)
        of_key: dict[str, list[Any]] = {}
        taken: list[str] = []
        for key, *row in left[0]:
            of_key.setdefault(key, []).append(row)
        while keys and held < held_out:
            taken.append(keys.pop())
            held += len(of_key[taken[-1]])
        valid = Examples(*([row[i] for key in taken for row in of_key[key]] for i in (0, 1)))
    validated = {_key(one) for one in valid.sentences}
    kept = [row for part in left for row in part if row[0] not in validated]
    facts["also_validated"] = sum(map(len, left)) - len(kept) - held
    if most is not None and most < len(kept):
        kept = [kept[i] for i in sorted(chance.sample(range(len(kept)), most))]
    if not kept or not valid.sentences:
        raise ValueError(
            f"there must be examples to train and to validate on, got {len(kept)} and {len(valid.sentences)}"
        )
    found = Examples([row[1] for row in kept], [row[2] for row in kept])
    facts |= {"train": len(kept), "valid": len(valid.sentences)}
    facts |= {name: len(test.sentences) for name, test in tests.items()}
    return Labels(found, valid, tests, facts)


def judged_labels(encoder: Any, labels: Labels, *, resamples: int) -> dict[str, TaskResult]:
    """What an encoder's own classifier says of the examples that test it, as `evaluate` tells of tasks.

    Args:
        encoder: Fitted, with a classifier.
        labels: Whose tests are asked.
        resamples: Of the bootstrap.

    Raises:
        ValueError: An example's class is none that was learnt.
    """
    number = {name: i for i, name in enumerate(encoder.classes_.tolist())}
    dev = 100 * encoder.score(*labels.valid)
    found = {}
    for name, test in labels.tests.items():
        if unknown := set(test.labels) - set(number):
            raise ValueError(f"{name}: no training example is of the class {min(unknown, key=str)!r}")
        gold = np.array([number[label] for label in test.labels], np.int64)
        said = encoder.predict_proba(test.sentences).argmax(axis=1).astype(np.int64)
        low, high = bootstrap_mean(said == gold, resamples=resamples)
        figures = {
            "devacc": round(dev, 2),
            "acc": round(100 * float((said == gold).mean()), 2),
            "ndev": len(labels.valid.labels),
            "ntest": len(gold),
        }
        keys = keys_of(_split(test, list(number)))
        judged = Judged("test", np.arange(len(gold)), said, gold, keys=keys)
        intervals = {"acc": Interval(100 * low, 100 * high)}
        found[name] = TaskResult(name, figures, intervals, {"test": judged}, {"classes": list(number)})
    return found


def _read(file: File) -> Labelled:
    folder, split = _split_of(file)
    return read_labelled(folder, split=split)


def _split_of(file: File) -> tuple[Path, str | None]:
    """A file; or a folder and the name of its split."""
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
        [one for part in parts for one in part.sentences], [one for part in parts for one in part.labels]
    )


def _key(example: Any) -> str:
    """What tells the first sentence of an example, or the only one, from others."""
    text = example if isinstance(example, str) else example[0]
    return re.sub(r"[\W_]+", "", text.casefold()) or text


def _split(examples: Examples, classes: Sequence[Any]) -> Split:
    cut = Tokenizer("words", lowercase=False)
    pairs = isinstance(examples.sentences[0], tuple)
    sides = zip(*examples.sentences, strict=True) if pairs else [examples.sentences]
    number = {name: i for i, name in enumerate(classes)}
    labels = np.array([number[label] for label in examples.labels], np.int64)
    return Split(tuple([" ".join(tokens) for tokens in cut(list(side))] for side in sides), labels)
