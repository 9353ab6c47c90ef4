"""Rows of tables: what they are made of, which of them are wanted, and how they are computed one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..checks import checked_float, checked_int
from .results_folder import Result, Results, slug

__all__ = ["NotAvailableError", "Row", "Size", "Todo", "checked_seeds", "chosen", "computed", "untrained"]


class NotAvailableError(Exception):
    """A row cannot be computed here, and why."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How encoders are trained; a family adds how wide they are.

    Attributes:
        training: Parameters that all of them share.
        of_corpus: By the names of corpora, what else those have that are trained on them.
        examples: By the names of labelled corpora, at most so many to train on.
        steps: Of each training; None: as many as there is time for, or as `training` says.
        minutes: Of training for all rows of the tables together, a share for each; None: `steps` count, if
            they are given.
        word_dim: Words' vectors are reduced to so many numbers; None: they stay as they are.
        valid_sentences: At most so many are read to validate on.
        probe: Steps whose time tells how many there will be.
    """

    training: Mapping[str, Any] = field(default_factory=dict)
    of_corpus: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    examples: Mapping[str, int] = field(default_factory=dict)
    steps: int | None = None
    minutes: float | None = None
    word_dim: int | None = None
    valid_sentences: int = 4000
    probe: int = 40

    def limited(self, minutes: float | None, steps: int | None) -> Size:
        """The same with another end of trainings, if one is given."""
        if minutes is not None and steps is not None:
            raise ValueError("give minutes or steps, not both")
        if minutes is not None:
            return replace(self, minutes=checked_float("minutes", minutes, 0, above=True), steps=None)
        if steps is not None:
            return replace(self, steps=checked_int("steps", steps, 1), minutes=None)
        return self


@dataclass(frozen=True)
class Row:
    """A row of a table: an encoder that is trained, or a control.

    Attributes:
        kind: Its class in `sentencode.models`; "" for one that is not made of a network.
        options: What its constructor is given besides what the size says.
        sized: Its parameter -> what it is in a `Size`.
        trained: Whether it is.
        make: Of a control that is not made of a network: makes it of word vectors.
        normalize: Preset -> how it is judged with that, as `encode(..., normalize=)` of the encoder takes it.
        corpus: Which of the family's other corpora it is trained on; "" for the one of all rows.
        printed: What the paper calls it, where that is another name.
        further: Whether it is judged on the family's further tasks, too.
        tasks: Which of SentEval's it is judged on. None: the family's.
        texts: Whether it is given texts there, which it cuts itself, and not SentEval's tokens.
        chosen: Parameters of which validation chooses, where the family is given values of them.
        expanded: Whether its learnt table of words is expanded to all vectors before it is judged.
        vectors: Whether its words begin with the vectors that are given, and not by chance.
    """

    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    sized: Mapping[str, str] = field(default_factory=lambda: {"hidden": "hidden"})
    trained: bool = True
    make: Callable[[Any], Any] | None = None
    normalize: Mapping[str, str] = field(default_factory=dict)
    corpus: str = ""
    printed: str = ""
    further: bool = False
    tasks: Sequence[str] | None = None
    texts: bool = False
    chosen: Sequence[str] = ()
    expanded: bool = False
    vectors: bool = True


def untrained(row: Row) -> Row:
    """The control of a row: the same network, as training would begin with it."""
    return replace(row, trained=False, printed="", expanded=False)


def chosen(wanted: Sequence[str] | None, known: Sequence[str], what: str) -> list[str]:
    """Those of the known names that are wanted, in their own order; None: all.

    Raises:
        ValueError: One is not known.
    """
    if wanted is None:
        return list(known)
    slugs = {slug(name): name for name in known}
    for name in wanted:
        if slug(name) not in slugs:
            raise ValueError(f"no {what} is named {name!r}; there are {', '.join(slugs)}")
    asked = {slug(name) for name in wanted}
    return [name for slug, name in slugs.items() if slug in asked]


def checked_seeds(seeds: Sequence[int]) -> list[int]:
    """The seeds, if they differ.

    Raises:
        ValueError: Two are the same, or there are none.
    """
    checked = [checked_int(f"seeds[{i}]", seed, 0, 2**63 - 1) for i, seed in enumerate(seeds)]
    if not checked or len(set(checked)) < len(checked):
        raise ValueError(f"seeds must be different numbers, at least one, got {checked}")
    return checked


Todo = tuple[str, str, Callable[[], Result]]  # a row, the name of its file, and what computes it


def computed(family: str, todo: Iterable[Todo], count: int, results: Results, *, show: bool) -> list[Result]:
    """Computes rows that the folder of results does not hold yet, under a progress bar.

    A row that cannot be computed here says why, as `missing`. That is not kept: a resume tries again.

    Args:
        family: What the bar is called.
        todo: Rows, taken one after the other.
        count: How many they are.
        results: The folder.
        show: Whether to show the bar.
    """
    from tqdm import tqdm

    found = []
    with tqdm(total=count, desc=f"reproduce {family}", unit="row", disable=not show) as bar:
        for row, name, compute in todo:
            bar.set_postfix_str(row)
            try:
                found.append(results.get(name, compute))
            except NotAvailableError as reason:
                found.append({"row": row, "missing": str(reason)})
            bar.update()
    return found
