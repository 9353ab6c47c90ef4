"""What a task is once it is read: its kind and its examples."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Feature", "Kind", "Split", "Task", "digest_of"]

Feature = Literal["u", "v", "|u-v|", "u*v"]
Labels = NDArray[np.float64] | NDArray[np.int64]

_NUMBERED = ("classification", "groups", "retrieval")  # whose labels are no scores
_EXACT = 2**53  # whole numbers up to this are the same in float64


@dataclass(frozen=True)
class Kind:
    """What a task asks, and how it is answered: all that whoever runs it has to distinguish.

    Attributes:
        question: `"classification"`: which class a sentence or a pair is of. `"relatedness"`: a score of
            each pair, learnt. `"similarity"`: a score of each pair, by the cosine of its two vectors.
            `"retrieval"`: which image belongs to a caption, and the reverse. `"groups"`: whether the
            sentences of a group lie near each other.
        validation: How the settings of what is learnt are chosen, and what judges it. `"nested"`: the split
            `"all"` is cut into folds, and what is not held out into folds again. `"folds"`: `"train"` is
            cut into folds, `"test"` judges. `"dev"`: `"dev"` chooses, `"test"` judges. None: nothing is
            learnt.
        pairs: Whether an example is a pair of sentences.
        features: What a classifier sees of an example with the vectors u and v, side by side.
        f1: Whether the F1 score of class 1 is reported with the accuracy.
        subsets: Whether the splits are subsets of one test, whose scores are averaged.
        penalised: Whether a penalty of weights is chosen; SNLI has next to none.
        settings: What SentEval changes in its own classifier (`senteval-torch`) for the task, whatever it was
            told: as for SNLI, `(("max_epoch", 15), ("epoch_size", 1))`.
        second_first: Whether SentEval sorts the examples by their second sentence first, and equally long
            ones by the names of their classes, not by their numbers: SNLI's.

    Raises:
        ValueError: Classification has no validation.
    """

    question: Literal["classification", "relatedness", "similarity", "retrieval", "groups"]
    validation: Literal["nested", "folds", "dev"] | None = None
    pairs: bool = False
    features: tuple[Feature, ...] = ()
    f1: bool = False
    subsets: bool = False
    penalised: bool = True
    settings: tuple[tuple[str, int], ...] = ()
    second_first: bool = False

    def __post_init__(self) -> None:
        if self.question == "classification" and self.validation is None:
            raise ValueError("classification needs a validation: 'nested', 'folds' or 'dev', got None")


@dataclass(frozen=True, eq=False)
class Split:
    """Some examples of a task.

    Attributes:
        sentences: One list of sentences; or two lists, where the examples are pairs. A sentence is its
            tokens with one space between them, as `" ".join(line.split())` makes it; it may be empty.
        labels: What is right for each example: scores (float64), or numbers (int64) of classes, of groups,
            or of rows of `images`. Lists and numbers of other types become these.
        images: One row of features (float32) an image, where the sentences are captions.

    Raises:
        ValueError: There are not as many sentences as labels, or labels are not finite.
        TypeError: Labels are no numbers.
    """

    sentences: tuple[list[str], ...]
    labels: Labels
    images: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _numbers(self.labels))
        lengths = [len(side) for side in self.sentences]
        if any(length != len(self.labels) for length in lengths):
            raise ValueError(
                f"a split must have as many sentences as labels, got {' and '.join(map(str, lengths))} "
                f"sentences and {len(self.labels)} labels"
            )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The examples as pairs of sentences."""
        if len(self.sentences) != 2:
            raise ValueError("the examples of this task are single sentences, not pairs")
        return list(zip(*self.sentences, strict=True))

    def by_length(self, *, second_first: bool = False, names: Sequence[str] = ()) -> Split:
        """The same examples in the order in which SentEval cuts them into folds, and draws its batches.

        That is by the number of tokens, of the first sentence and then of the second, and then by label;
        examples that are alike in these keep their order. Other orders make other folds.

        Args:
            second_first: Begin with the second sentence.
            names: Of the classes, by which labels are sorted. Empty: by their numbers.

        Returns:
            The sorted split.

        Example:
            >>> import numpy as np
            >>> from sentencode.evaluation import Split
            >>> Split((["so it is", "no", "yes"],), np.array([0, 1, 0])).by_length().sentences
            (['yes', 'no', 'so it is'],)
        """
        lengths = [np.array([len(sentence.split()) for sentence in side]) for side in self.sentences]
        labels = np.argsort(np.argsort(names))[self.labels] if len(names) else self.labels
        keys: list[NDArray[Any]] = [*(lengths[::-1] if second_first else lengths), labels]
        order = np.lexsort(keys[::-1])  # its last key is the first to count
        sentences = tuple([side[i] for i in order] for side in self.sentences)
        return replace(self, sentences=sentences, labels=self.labels[order])


@dataclass(frozen=True, eq=False)
class Task:
    """A task with its examples.

    Attributes:
        name: As SentEval calls it.
        splits: By name: `"train"`, `"dev"` and `"test"`, or `"all"`, or the names of subsets.
        kind: What is asked.
        classes: The names of the classes or groups, in the order of their numbers; empty where labels are
            none of these.
        partial: Whether the files were accepted without a look at their published sizes.

    Raises:
        ValueError: There is no split, or one has no example; or labels are no numbers of classes, groups or
            images where the kind of task needs these.
    """

    name: str
    splits: Mapping[str, Split]
    kind: Kind
    classes: tuple[str, ...] = ()
    partial: bool = False

    def __post_init__(self) -> None:
        if not self.splits:
            raise ValueError(f"{self.name}: a task needs at least one split")
        for name, split in self.splits.items():
            if not len(split):
                raise ValueError(f"{self.name}: the split {name!r} has no examples")
        of = _of_classes if self.kind.question in _NUMBERED else _of_scores
        labels = {name: of(f"{self.name}, {name}", split.labels) for name, split in self.splits.items()}
        if any(labels[name] is not split.labels for name, split in self.splits.items()):
            splits = {name: replace(split, labels=labels[name]) for name, split in self.splits.items()}
            object.__setattr__(self, "splits", splits)

    def __getitem__(self, split: str) -> Split:
        return self.splits[split]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(split)}" for name, split in self.splits.items())
        return f"Task({self.name!r}, {sizes})"


def _numbers(labels: Any) -> Labels:
    """Labels as float64 or int64, which changes none of them."""
    given = np.asarray(labels)
    if given.dtype.kind not in "biuf":
        first = (
            f"got {labels[0]!r:.40} ({type(labels[0]).__name__})" if len(given.shape) else f"got {labels!r}"
        )
        raise TypeError(f"labels must be numbers, {first}; of classes, number them from 0")
    if given.ndim != 1:
        raise ValueError(f"labels must be one number for each example, got an array {list(given.shape)}")
    found: Labels
    if given.dtype.kind == "f":
        found = given.astype(np.float64, copy=False)
    else:
        found = given.astype(np.int64, copy=False)
    for i in np.flatnonzero(~np.isfinite(found))[:1]:
        raise ValueError(f"labels must be finite, but labels[{i}] is {found[i]}")
    for i in np.flatnonzero(found != given)[:1]:
        raise ValueError(f"labels must fit {found.dtype}, but labels[{i}] is {given[i]}")
    return found


def _of_classes(where: str, labels: Labels) -> NDArray[np.int64]:
    """Numbers of classes, groups or images."""
    for i in np.flatnonzero((labels != np.floor(labels)) | (labels < 0) | (labels > _EXACT))[:1]:
        raise ValueError(
            f"{where}: labels must be whole numbers from 0, as of classes, but labels[{i}] is {labels[i]}"
        )
    return labels.astype(np.int64, copy=False)


def _of_scores(where: str, labels: Labels) -> NDArray[np.float64]:
    for i in np.flatnonzero(np.abs(labels) > _EXACT)[:1] if labels.dtype.kind == "i" else ():
        raise ValueError(f"{where}: scores must fit float64, but labels[{i}] is {labels[i]}")
    return labels.astype(np.float64, copy=False)


def digest_of(task: Task) -> str:
    """Tells a task's examples from all others.

    Example:
        >>> from sentencode.evaluation import Kind, Split, Task
        >>> kind = Kind("similarity", pairs=True)
        >>> one, two = (Task("mine", {"test": Split((["a"], [b]), [1.0])}, kind) for b in "ab")
        >>> digest_of(one) == digest_of(two)
        False
    """
    # Only what a kind has of its own: what all others will have one day changes none of today's digests.
    given = ((one, getattr(task.kind, one.name)) for one in fields(task.kind))
    kind = {one.name: value for one, value in given if value != one.default}
    digest = hashlib.sha256(repr((kind, task.classes)).encode())
    for name, split in task.splits.items():
        digest.update(f"\n{name} {split.labels.dtype} {len(split)}\n".encode())
        digest.update(np.ascontiguousarray(split.labels).tobytes())
        for side in split.sentences:
            digest.update("\n".join(side).encode("utf-8", "surrogatepass"))
        if split.images is not None:
            digest.update(np.ascontiguousarray(split.images).tobytes())
    return digest.hexdigest()
