"""Rows of tables: their encoders, the selection of rows, and their computation one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from ..checks import checked_float, checked_int
from ..linear import Average
from ..vectors import WordVectors
from .results_folder import Result, Results, slug

__all__ = [
    "NO_STEP",
    "NotAvailableError",
    "Row",
    "Size",
    "Todo",
    "checked_seeds",
    "chosen",
    "computed",
    "random_vectors",
    "untrained",
]


NO_STEP = 1e-30  # a learning rate that leaves the weights unchanged
SizeType = TypeVar("SizeType", bound="Size")


class NotAvailableError(Exception):
    """The reason why a row cannot be computed here."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How encoders are trained. Families add the sizes of their networks.

    Attributes:
        training: Training parameters of all encoders.
        corpus_training: Corpus -> further training parameters, for the encoders that are trained on it.
        examples: Corpus -> largest number of training examples, if it has labels, or of a "sample" (`Row`).
        steps: Steps of each training. None: as many as `minutes` allow, or as `training` says.
        minutes: Training time of all rows together, in equal parts. None: `steps` count.
        word_dim: Dimension that word vectors are reduced to. None: they are not reduced.
        valid_sentences: Largest number of validation sentences.
        probe: Number of steps whose time is measured to derive the number of steps from `minutes`.
    """

    training: Mapping[str, Any] = field(default_factory=dict)
    corpus_training: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    examples: Mapping[str, int] = field(default_factory=dict)
    steps: int | None = None
    minutes: float | None = None
    word_dim: int | None = None
    valid_sentences: int = 4000
    probe: int = 40

    def limited(self, minutes: float | None, steps: int | None) -> Size:
        """The size with another end of trainings, if one is given."""
        if minutes is not None and steps is not None:
            raise ValueError("give minutes or steps, not both")
        if minutes is not None:
            return replace(self, minutes=checked_float("minutes", minutes, 0, above=True), steps=None)
        if steps is not None:
            return replace(self, steps=checked_int("steps", steps, 1), minutes=None)
        return self

    def with_epochs(self: SizeType, epochs: int | None) -> SizeType:
        """The size with another number of epochs of every training, if one is given."""
        if epochs is None:
            return self
        corpus_training = {
            name: {**options, "max_epochs": epochs} for name, options in self.corpus_training.items()
        }
        return replace(
            self, training={**self.training, "max_epochs": epochs}, corpus_training=corpus_training
        )


@dataclass(frozen=True)
class Row:
    """A row of a table: an encoder that is trained, or a control.

    Attributes:
        kind: Class in `sentencode.models`; "" for a control without a network.
        options: Constructor arguments besides those of the size.
        sized: Constructor argument -> attribute of the `Size`.
        trained: Whether the encoder is trained.
        make: Makes an encoder without a network from word vectors.
        fitted: Whether that encoder is fitted to all training sentences, or to an evenly spaced "sample".
        normalize: Preset -> value of `encode(..., normalize=)` in the evaluation.
        corpus: Corpus that the encoder is trained on; "" for the common one.
        printed: The paper's name of the row, where that is another one.
        further: Whether the row is evaluated on the family's further tasks, too.
        tasks: SentEval's tasks that the row is evaluated on. None: the family's.
        texts: Whether the encoder gets texts in the evaluation, and not SentEval's tokens.
        chosen: Parameters that are chosen by validation, where the family has values of them.
        expanded: Whether the learnt word table is expanded to all vectors before the evaluation.
        vectors: Whether the word table is initialised with the word vectors, and not at random.
        joined: Rows whose encoders are trained apart and concatenated, each embedding divided by its length.
        asked: Whether the row is only computed if it is named.
    """

    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    sized: Mapping[str, str] = field(default_factory=lambda: {"hidden": "hidden"})
    trained: bool = True
    make: Callable[[Any], Any] | None = None
    fitted: bool | Literal["sample"] = False
    normalize: Mapping[str, str] = field(default_factory=dict)
    corpus: str = ""
    printed: str = ""
    further: bool = False
    tasks: Sequence[str] | None = None
    texts: bool = False
    chosen: Sequence[str] = ()
    expanded: bool = False
    vectors: bool = True
    joined: Sequence[Row] = ()
    asked: bool = False

    @property
    def seeded(self) -> bool:
        """Whether the row depends on the training seed."""
        return bool(self.kind or self.joined)


def random_vectors(like: Any) -> Average:
    """An average of random vectors of the same words and dimensions.

    Args:
        like: An average of word vectors.
    """
    shape = (len(like.vectors), like.vectors.dim)
    table = np.random.default_rng(1111).normal(size=shape).astype(np.float32)
    return Average(WordVectors.from_array(like.vectors.words, table), tokenizer=like.tokenizer)


def untrained(row: Row) -> Row:
    """The untrained control of a row: the same network at its initialisation."""
    return replace(row, trained=False, printed="", expanded=False)


def chosen(wanted: Sequence[str] | None, known: Sequence[str], what: str) -> list[str]:
    """The wanted names in the order of the known ones; None: all.

    Raises:
        ValueError: A name is unknown.
    """
    if wanted is None:
        return list(known)
    slugs = {slug(name): name for name in known}
    for name in wanted:
        if slug(name) not in slugs:
            raise ValueError(f"no {what} is named {name!r}; there are {', '.join(slugs)}")
    selected = {slug(name) for name in wanted}
    return [name for slug, name in slugs.items() if slug in selected]


def checked_seeds(seeds: Sequence[int]) -> list[int]:
    """The seeds.

    Raises:
        ValueError: Two are equal, or there are none.
    """
    checked = [checked_int(f"seeds[{i}]", seed, 0, 2**63 - 1) for i, seed in enumerate(seeds)]
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"seeds must be different numbers, at least one, got {checked}")
    return checked


Todo = tuple[str, str, Callable[[], Result]]  # a row, the name of its file, and its computation


def computed(family: str, todo: Iterable[Todo], count: int, results: Results, *, show: bool) -> list[Result]:
    """Computes the rows that the folder of results does not hold yet, with a progress bar.

    The result of a row that cannot be computed here has the reason as `missing`. It is not stored, so a
    resumed run tries again.

    Args:
        family: Name of the progress bar.
        todo: The rows.
        count: Number of rows.
        results: Folder of results.
        show: Show the progress bar.
    """
    from tqdm import tqdm

    rows = []
    with tqdm(total=count, desc=f"reproduce {family}", unit="row", disable=not show) as bar:
        for row, name, compute in todo:
            bar.set_postfix_str(row)
            try:
                rows.append(results.get(name, compute))
            except NotAvailableError as reason:
                rows.append({"row": row, "missing": str(reason)})
            bar.update()
    return rows
