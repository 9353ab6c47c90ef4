"""A task in memory: its kind and its examples."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...checks import checked_int
from ...text.inputs import to_batch

__all__ = ["Feature", "Kind", "Split", "Task", "digest_of"]

Feature = Literal["u", "v", "|u-v|", "u*v"]
Labels = NDArray[np.float64] | NDArray[np.int64]
Question = Literal[
    "classification",
    "relatedness",
    "similarity",
    "retrieval",
    "groups",
    "clustering",
    "neighbours",
    "few_shot",
    "duplicates",
    "search",
]

Validation = Literal["nested", "folds", "dev"]

_INDEX_LABELS = (
    "classification",
    "groups",
    "retrieval",
    "clustering",
    "neighbours",
    "few_shot",
    "duplicates",
    "search",
)  # kinds whose labels are indices
_OF_PAIRS = ("relatedness", "similarity", "duplicates")
_OF_ONE_SPLIT = ("groups", "clustering", "neighbours", "few_shot", "duplicates")
_EXACT = 2**53  # integers up to this are exact in float64


@dataclass(frozen=True)
class Kind:
    """Kind of a task: what is predicted, from which features, and how it is validated.

    Attributes:
        question: `"classification"`: the class of a sentence or pair. `"relatedness"`: a score of each pair,
            by a trained regression. `"similarity"`: a score of each pair, by the cosine of its embeddings.
            `"retrieval"`: the image of a caption, and the captions of an image. `"groups"`: whether the
            embeddings of a group of sentences are close. `"clustering"`: whether clusters are classes.
            `"neighbours"`: the class of a sentence, by its nearest other one. `"few_shot"`: the class of a
            sentence, by a classifier that was trained on 16 examples of each class. `"duplicates"`: whether
            pairs of class 1 have the greatest cosines. `"search"`: the documents with a query's label, in the
            splits `"queries"` and `"documents"`.
        validation: How penalties are selected and classifiers tested. `"nested"`: nested cross-validation of
            the split `"all"`. `"folds"`: cross-validation of `"train"`, test on `"test"`. `"dev"`: selection
            on `"dev"`, test on `"test"`. None: nothing is trained.
        pairs: Whether an example is a pair of sentences.
        features: Features of an example with the embeddings u and v, concatenated.
        f1: Whether the F1 score of class 1 is reported with the accuracy.
        subsets: Whether the splits are subsets of one test set, whose scores are averaged.
        penalised: Whether the penalty is searched; it is nearly 0 for SNLI.
        settings: Settings of SentEval's own classifier (`senteval-torch`) that the task overrides: for SNLI,
            `(("max_epoch", 15), ("epoch_size", 1))`.
        second_first: Whether SentEval sorts examples by the second sentence first, and ties by the names of
            their classes, not by their indices, as for SNLI.
        tokenized: Whether the sentences are tokens separated by spaces, as in SentEval's files. If not,
            Sentencode's encoders receive strings, too.

    Raises:
        ValueError: There is no such question or validation, or classification has none.
    """

    question: Question
    validation: Validation | None = None
    pairs: bool = False
    features: tuple[Feature, ...] = ()
    f1: bool = False
    subsets: bool = False
    penalised: bool = True
    settings: tuple[tuple[str, int], ...] = ()
    second_first: bool = False
    tokenized: bool = False

    def __post_init__(self) -> None:
        if self.question not in get_args(Question):
            choices = ", ".join(map(repr, get_args(Question)))
            raise ValueError(f"question must be one of {choices}, got {self.question!r:.40}")
        is_required = self.question == "classification"
        if self.validation not in get_args(Validation) and (is_required or self.validation is not None):
            verb = "requires a" if is_required else "has no such"
            raise ValueError(
                f"{self.question} {verb} validation: 'nested', 'folds' or 'dev', got {self.validation!r:.40}"
            )


@dataclass(frozen=True, eq=False)
class Split:
    """Examples of a task.

    Attributes:
        sentences: A tuple of a list of sentences, or of two lists for pairs; also columns, as `encode` takes
            them. A sentence may be empty.
        labels: Gold label of each example: a score (float64), or the number (int64) of a class, a group, or a
            row of `images`. Lists and other numeric types are converted.
        images: Features of the images (float32), one row per image, if the sentences are captions.

    Raises:
        ValueError: The numbers of sentences and labels differ, or labels are not finite.
        TypeError: Labels are not numbers, or sentences are not strings.
    """

    sentences: tuple[list[str], ...]
    labels: Labels
    images: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _numeric(self.labels))
        if not isinstance(self.sentences, tuple) or any(isinstance(side, str) for side in self.sentences):
            raise TypeError(
                "sentences must be a tuple of one or two lists, as in Split((texts,), labels), got "
                f"{type(self.sentences).__name__}"
            )
        sides = tuple(list(to_batch(side, f"sentences[{k}]")) for k, side in enumerate(self.sentences))
        for k, side in enumerate(sides):
            for i, text in enumerate(side):
                if not isinstance(text, str):
                    raise TypeError(
                        f"sentences[{k}][{i}] is {type(text).__name__} ({text!r:.40}); expected str"
                    )
        object.__setattr__(self, "sentences", sides)
        lengths = [len(side) for side in self.sentences]
        if any(length != len(self.labels) for length in lengths):
            raise ValueError(
                f"a split must have as many sentences as labels, got {' and '.join(map(str, lengths))} "
                f"sentences and {len(self.labels)} labels"
            )

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        first = ", ".join(f"{side[0]!r:.40}" for side in self.sentences if side)
        return (
            f"Split({len(self)} examples, first {first}: {self.labels[0]})"
            if len(self)
            else "Split(no examples)"
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Examples as pairs of sentences."""
        if len(self.sentences) != 2:
            raise ValueError("the examples of this task are single sentences, not pairs")
        return list(zip(*self.sentences, strict=True))

    def by_length(self, *, second_first: bool = False, names: Sequence[str] = ()) -> Split:
        """The examples in SentEval's order, which determines its folds and batches.

        They are sorted by the number of tokens of the first sentence, then of the second, then by label; ties
        keep their order.

        Args:
            second_first: Sort by the second sentence first.
            names: Names of the classes, to sort labels by. Empty: sort by their indices.

        Example:
            >>> import numpy as np
            >>> from sentencode.evaluation import Split
            >>> Split((["so it is", "no", "yes"],), np.array([0, 1, 0])).by_length().sentences
            (['yes', 'no', 'so it is'],)
        """
        lengths = [np.array([len(sentence.split()) for sentence in side]) for side in self.sentences]
        labels = np.argsort(np.argsort(names))[self.labels] if len(names) else self.labels
        keys: list[NDArray[Any]] = [*(lengths[::-1] if second_first else lengths), labels]
        return self.at(np.lexsort(keys[::-1]))  # the last key is the primary one

    def at(self, indices: NDArray[np.int64]) -> Split:
        """The examples with these indices, in this order."""
        sentences = tuple([side[i] for i in indices] for side in self.sentences)
        return replace(self, sentences=sentences, labels=self.labels[indices])


@dataclass(frozen=True, eq=False)
class Task:
    """A task with its examples.

    Attributes:
        name: Name of the task, as in SentEval.
        splits: Splits by name: `"train"`, `"dev"` and `"test"`, or `"all"`, or names of subsets.
        kind: Kind of the task; a question alone for kinds without further settings.
        classes: Names of the classes or groups, in the order of their indices; empty for other labels.
        partial: Whether the sizes of the files are not those that were published.

    Raises:
        ValueError: There is no split, or one has no example; or labels are not indices of classes, groups or
            images, or examples are not pairs, if the kind of task requires them.
    """

    name: str
    splits: Mapping[str, Split]
    kind: Kind
    classes: tuple[str, ...] = ()
    partial: bool = False

    def __post_init__(self) -> None:
        kind: Any = self.kind
        if isinstance(kind, str):
            object.__setattr__(self, "kind", Kind(kind))  # type: ignore[arg-type]  # which it checks
        kinds: Any = (("name", str), ("splits", Mapping), ("kind", Kind))
        for field, expected in kinds:
            if not isinstance(value := getattr(self, field), expected):
                raise TypeError(f"Task: {field} must be a {expected.__name__}, got {type(value).__name__}")
        if not self.splits:
            raise ValueError(f"{self.name}: a task must have at least one split")
        for name, split in self.splits.items():
            if not len(split):
                raise ValueError(f"{self.name}: the split {name!r} has no examples")
        self._check_shape()
        convert = _indices if self.kind.question in _INDEX_LABELS else _scores
        labels = {name: convert(f"{self.name}, {name}", split.labels) for name, split in self.splits.items()}
        if any(labels[name] is not split.labels for name, split in self.splits.items()):
            splits = {name: replace(split, labels=labels[name]) for name, split in self.splits.items()}
            object.__setattr__(self, "splits", splits)

    def _check_shape(self) -> None:
        question, names = self.kind.question, ", ".join(self.splits)
        if question in _OF_ONE_SPLIT and len(self.splits) != 1:
            raise ValueError(f"{self.name}: {question} has one split, got {names}")
        if question == "search" and set(self.splits) != {"queries", "documents"}:
            raise ValueError(f"{self.name}: search has the splits queries and documents, got {names}")
        if self.kind.subsets and "all" in self.splits:
            raise ValueError(
                f"{self.name}: a subset must not be named 'all', which is the name of the scores of all "
                f"subsets, got {names}"
            )
        sides = 2 if question in _OF_PAIRS or (question == "classification" and self.kind.pairs) else 1
        for name, split in self.splits.items():
            if len(split.sentences) != sides:
                expected = "pairs of sentences" if sides == 2 else "single sentences"
                hint = ", or pairs=True in its Kind" if question == "classification" and sides == 1 else ""
                raise ValueError(
                    f"{self.name}, {name}: {question} needs {expected}{hint}; there are "
                    f"{len(split.sentences)} lists of sentences"
                )

    def __getitem__(self, split: str) -> Split:
        return self.splits[split]

    def sample(self, size: int) -> Task:
        """The task with at most `size` examples of each split, evenly spaced.

        Of searches, groups and images, `size` are kept, with all their sentences. Groups and the images of
        each split are numbered again from 0.

        Args:
            size: Number of examples, searches, groups or images.

        Example:
            >>> from sentencode.evaluation import Kind, Split, Task
            >>> letters = Split((list("abcdef"),), [0, 0, 0, 1, 1, 1])
            >>> Task("letters", {"all": letters}, Kind("clustering")).sample(3)["all"].sentences
            (['a', 'c', 'e'],)
        """
        checked_int("size", size, 1)
        question, classes = self.kind.question, self.classes
        kept = _some_labels(np.concatenate([split.labels for split in self.splits.values()]), size)
        if question == "search":
            splits = {name: _labelled(split, kept) for name, split in self.splits.items()}
        elif question == "groups":
            splits = {name: _numbered(split, kept) for name, split in self.splits.items()}
            classes = tuple(classes[i] for i in kept if i < len(classes))
        elif question == "retrieval":
            splits = {
                name: _numbered(split, _some_labels(split.labels, size))
                for name, split in self.splits.items()
            }
        else:
            splits = {name: split.at(_evenly(len(split), size)) for name, split in self.splits.items()}
        smaller = any(len(splits[name]) < len(split) for name, split in self.splits.items())
        return replace(self, splits=splits, classes=classes, partial=self.partial or smaller)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(split)}" for name, split in self.splits.items())
        return f"Task({self.name!r}, {sizes})"


def _evenly(count: int, size: int) -> NDArray[np.int64]:
    """At most `size` evenly spaced indices below `count`."""
    return np.arange(min(count, size)) * count // min(count, size)


def _some_labels(labels: Labels, size: int) -> NDArray[Any]:
    """At most `size` of the distinct labels, evenly spaced."""
    distinct = np.unique(labels)
    return distinct[_evenly(len(distinct), size)]


def _labelled(split: Split, kept: NDArray[Any]) -> Split:
    """The examples with these labels."""
    return split.at(np.flatnonzero(np.isin(split.labels, kept)))


def _numbered(split: Split, kept: NDArray[Any]) -> Split:
    """The examples with these sorted labels, which are numbered again from 0, and their images."""
    some = _labelled(split, kept)
    images = None if split.images is None else split.images[kept]
    return replace(some, labels=np.searchsorted(kept, some.labels), images=images)


def _numeric(labels: Any) -> Labels:
    """Labels as float64 or int64, without loss."""
    array = np.asarray(labels)
    if array.dtype.kind not in "biuf":
        first = (
            f"got {labels[0]!r:.40} ({type(labels[0]).__name__})" if len(array.shape) else f"got {labels!r}"
        )
        raise TypeError(f"labels must be numbers, {first}; number classes from 0")
    if array.ndim != 1:
        raise ValueError(f"labels must be one number for each example, got an array {list(array.shape)}")
    converted: Labels
    if array.dtype.kind == "f":
        converted = array.astype(np.float64, copy=False)
    else:
        converted = array.astype(np.int64, copy=False)
    for i in np.flatnonzero(~np.isfinite(converted))[:1]:
        raise ValueError(f"labels must be finite, but labels[{i}] is {converted[i]}")
    for i in np.flatnonzero(converted != array)[:1]:
        raise ValueError(f"labels must fit {converted.dtype}, but labels[{i}] is {array[i]}")
    return converted


def _indices(where: str, labels: Labels) -> NDArray[np.int64]:
    """Labels as indices of classes, groups or images."""
    for i in np.flatnonzero((labels != np.floor(labels)) | (labels < 0) | (labels > _EXACT))[:1]:
        raise ValueError(
            f"{where}: labels must be indices of classes, groups or images, but labels[{i}] is {labels[i]}"
        )
    return labels.astype(np.int64, copy=False)


def _scores(where: str, labels: Labels) -> NDArray[np.float64]:
    for i in np.flatnonzero(np.abs(labels) > _EXACT)[:1] if labels.dtype.kind == "i" else ():
        raise ValueError(f"{where}: scores must fit float64, but labels[{i}] is {labels[i]}")
    return labels.astype(np.float64, copy=False)


def digest_of(task: Task) -> str:
    """Digest of a task's kind, classes and examples."""
    # Defaults are left out, so that fields added in future versions do not change digests. That of
    # `tokenized` was True.
    values = ((field, getattr(task.kind, field.name)) for field in fields(task.kind))
    defaults = {"tokenized": True}
    kind = {f.name: value for f, value in values if value != defaults.get(f.name, f.default)}
    digest = hashlib.sha256(repr((kind, task.classes)).encode())
    for name, split in task.splits.items():
        digest.update(f"\n{name} {split.labels.dtype} {len(split)}\n".encode())
        digest.update(np.ascontiguousarray(split.labels).tobytes())
        for side in split.sentences:
            digest.update("\n".join(side).encode("utf-8", "surrogatepass"))
        if split.images is not None:
            digest.update(np.ascontiguousarray(split.images).tobytes())
    return digest.hexdigest()
