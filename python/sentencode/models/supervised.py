"""Learning from labelled sentences, pairs and triples: the data side of heads, for every family."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .. import _core, _nn
from ..nn.module import in_core
from ..search import lengths_of
from ..text.corpus import Corpus
from ..text.inputs import column_names, to_batch
from ..text.vocabulary import Vocabulary
from ..training import Batcher, Examples
from .heads import Classifier, Head, HeadModule, RowRegression, made_head
from .task import SentenceTask, Task, WordVectorsOf

__all__ = ["Supervised", "SupervisedModel", "sides_of"]

_FIELDS: dict[int, tuple[str, ...]] = {
    1: ("tokens",),
    2: ("first", "second"),
    3: ("first", "second", "third"),
}


class SupervisedModel(nn.Module):
    """A network whose rows a head learns from, as the trainer sees it.

    Args:
        network: Any network of an encoder.
        core: The same as the core sees it.
        head: What learns.
        words: Vectors, whether they are words' own, ids and characters of all words that are trained on.
    """

    def __init__(
        self, network: Any, core: Any, head: HeadModule, words: tuple[Tensor, Tensor, Tensor, Tensor | None]
    ) -> None:
        super().__init__()
        self.network, self.head = network, head
        self._cpp = _nn.SupervisedModel(core, head._cpp, *words)

    @in_core
    def loss(self, batch: Any) -> Any:
        """The loss of a batch. Trainers ask C++ for it.

        Args:
            batch: As trainers have it.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("SupervisedModel.loss is computed in C++, where trainers ask for it")


class _Ids:
    """What a family asks of examples where it makes a network: which ids its own would have."""

    def __init__(self, task: Task, count: int) -> None:
        self._words, self._count = len(task.vocabulary), count
        names = [getattr(task, "end", None)]
        if getattr(task, "unknown_words", None) == "symbol":
            names.append("<unk>")
        self._symbols = {name: self._words + i for i, name in enumerate(n for n in names if n)}

    def vocabulary_size(self) -> int:
        return self._words + len(self._symbols)

    def symbols(self) -> dict[str, int]:
        return self._symbols

    def __len__(self) -> int:
        return self._count


class Supervised(Task):
    """Examples of one sentence, two or three, that a head learns from, whatever the family of the network.

    Words are read as encoding reads them: all that have a vector or an id, and others as the vectors' policy
    says. So the words of examples have places of their own, which are not the network's ids.

    Args:
        of: The family's own task.
        head: What learns.
    """

    def __init__(self, of: SentenceTask, head: Head) -> None:
        super().__init__(of.name, of.chosen, of.words, of.cut)
        self.of, self.head = of, head
        self.takes_labels = head.labels is not None  # type: ignore[misc]
        self.symbols = of.symbols  # type: ignore[misc]
        self.learnt: Any = None  # of labels
        self.sides = 0  # sentences of an example
        self.places = Vocabulary({})  # of all words that are read
        self.targets: list[npt.NDArray[np.float32]] = []

    def read_words(self) -> Any:
        """As the family does."""
        return self.of.read_words()

    def attributes(self) -> dict[str, Any]:
        """As the family does."""
        return self.of.attributes()

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """As the family does."""
        return self.of.sizes(None if examples is None else _Ids(self.of, len(examples)))  # type: ignore[arg-type]

    def learn_vocabulary(self, sentences: Any, on_progress: Any, also: Any = ()) -> None:
        """The family's vocabulary; and all words that are read, of what is validated on, too.

        Args:
            sentences: Columns of sentences to train on.
            on_progress: Told of how much was read.
            also: Columns of others.
        """
        self._check_sides(sentences)
        train = [sentence for side in sentences for sentence in side]
        self.of.learn_vocabulary(train, on_progress)
        self.vocabulary = self.of.vocabulary
        every = [*train, *(sentence for side in also for sentence in side)]
        counts = dict(Vocabulary.from_corpus(every, self.cut))
        words = list(counts)
        read = self._rows(words)[1] | np.array([word in self.vocabulary for word in words], bool)
        self.places = Vocabulary({word: counts[word] for word, kept in zip(words, read, strict=True) if kept})
        if len(self.places) == 0:
            raise ValueError(f"{self.name}: none of the {len(words)} words of the sentences has a vector")

    def _check_sides(self, sides: Sequence[Any]) -> None:
        count, fits = len(sides), self.head.sentences
        if count not in fits:
            kind = type(self.head).__name__
            raise ValueError(
                f"{self.name}: {kind} learns from examples of {' or '.join(map(str, fits))} sentences, got "
                f"{count}" + (": pairs are tuples, as in [(first, second), ...]" if count == 1 else "")
            )
        if self.sides not in (0, count):
            raise ValueError(
                f"{self.name}: valid has examples of {count} sentences, those to train on {self.sides}"
            )
        self.sides = count

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Places of words, and labels. What is too long is cut; what has no word that is read is left out."""
        self._check_sides(sentences)
        what = "y" if self.learnt is None else "the y of valid"
        if self.takes_labels and y is None:
            raise ValueError(
                f"{self.name}: {type(self.head).__name__} requires y to be passed, but the target "
                f"{what.removeprefix('the ')} is None"
            )
        if self.learnt is None and self.takes_labels:
            self.learnt = self.head.learn(y)
        labels = self.head.numbers(y, self.learnt, what)
        count = len(sentences[0])
        if labels is not None and len(labels) != count:
            raise ValueError(f"{what} must have a label for each of {count} examples, got {len(labels)}")
        if isinstance(self.head, RowRegression):
            assert labels is not None
            begin = sum(map(len, self.targets))
            self.targets.append(labels)
            labels = np.arange(begin, begin + count)
        columns = [*sentences, *([] if labels is None else [labels.tolist()])]
        return Examples.build(
            list(zip(*columns, strict=True)) if len(columns) > 1 else sentences[0],
            self.places,
            self.cut,
            fields=_FIELDS[self.sides],
            labels=None if labels is None else self.head.labels,
            unknown_words="drop_word",
            max_length=self.chosen["max_length"],
            too_long="truncate",
            on_progress=on_progress,
        )

    def prepare(self, network: Any, examples: Examples) -> None:
        """As the family does."""
        self.of.prepare(network, _Ids(self.of, len(examples)))  # type: ignore[arg-type]

    def _rows(self, words: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """What stands for words where sentences are encoded [n, E], and whether anything does."""
        read = WordVectorsOf(self.of.read_words(), unit=self.words.unit)
        rows = read._rows(words)
        if read.unit:
            rows /= np.maximum(lengths_of(rows)[:, None], np.finfo(np.float32).tiny)
        plain = _core.Tokenizer("whitespace", lowercase=False, invalid="replace")
        _, offsets = read.vectors._core.lookup(plain, [[word] for word in words])
        return rows, np.diff(offsets) > 0

    def model(self, network: Any, core: Any, examples: Examples, device: torch.device) -> SupervisedModel:
        """What is trained.

        Args:
            network: The network, on its device.
            core: The same as the core sees it.
            examples: To train on.
            device: That device.
        """
        words, vectors = self.places.words, self.of.read_words()
        rows, found = self._rows(words)
        known = np.array([word in vectors for word in words], bool) | (found & (vectors.oov == "subwords"))
        ids = {word: i for i, word in enumerate(self.vocabulary.words)}
        other = type(self.of).unknown_id(self.vocabulary)
        numbers = np.array([ids.get(word, other) for word in words], np.int64)
        characters = _core.characters_of(words, core.alphabet, core.characters) if core.characters else None
        like = next(iter(network.parameters()))
        head = made_head(self.head, int(network.dim), self.sides, self.learnt, int(self.chosen["seed"])).to(
            device
        )
        if isinstance(self.head, Classifier):
            labels = examples.labels
            assert labels is not None
            weights = self.head.weights(labels.astype(np.int64), self.learnt)
            head._cpp.set_class_weights(torch.from_numpy(weights))
        if isinstance(self.head, RowRegression):
            head._cpp.set_targets(torch.from_numpy(np.concatenate(self.targets)).to(device))
        return SupervisedModel(
            network,
            core,
            head,
            (
                torch.from_numpy(rows).to(like),
                torch.from_numpy(known).to(device),
                torch.from_numpy(numbers).to(device),
                None if characters is None else torch.from_numpy(characters).to(device),
            ),
        )

    def forget(self, model: SupervisedModel) -> None:
        """Drops what only training needs.

        Args:
            model: What was trained.
        """
        if isinstance(self.head, RowRegression):
            model.head._cpp.set_targets(torch.empty(0, self.learnt, dtype=torch.float32))

    def decisive(self, network: Any) -> dict[str, Any]:
        """The vocabularies, the vectors, the head, and what its labels are."""
        digest = hashlib.sha256(self._rows(self.places.words)[0].tobytes())
        digest.update(json.dumps(self.places.words).encode("utf-8", "surrogatepass"))
        for rows in self.targets:
            digest.update(rows.tobytes())
        return {
            **self.of.decisive(network),
            "head": self.head.to_config(),
            "labels": self.learnt,
            "read": digest.hexdigest(),
        }

    def batcher(self, examples: Examples, *, validating: bool, rank: int, world: int) -> Batcher:
        """As the family does, by the lengths of all sentences; pairs equally long in both are few."""
        equal = self.chosen["batching"] == "equal_length"
        self.of.length_fields = examples.fields[:1] if equal else examples.fields  # type: ignore[misc]
        return self.of.batcher(examples, validating=validating, rank=rank, world=world)


def sides_of(sentences: Any, fits: Sequence[int] = (1,)) -> list[Any]:
    """Examples as columns: all first sentences, all second ones, ...

    Args:
        sentences: Sentences; tuples of two or three; an array or data frame with as many columns; or the name
            of a text file.
        fits: How many sentences an example may have: where one is none of these, lists are no tokens.

    Raises:
        ValueError: If examples differ in how many sentences they have.
    """
    if isinstance(sentences, str | os.PathLike):
        return [list(Corpus(sentences, keep_empty=True))]
    if (names := column_names(sentences)) is not None:
        return [list(to_batch(sentences[name])) for name in names]
    found = sentences.tolist() if isinstance(sentences, np.ndarray) else list(sentences)
    if not found:
        raise ValueError("there is no sentence to learn from")
    rows = isinstance(sentences, np.ndarray) and sentences.ndim == 2
    if not rows and not isinstance(found[0], tuple) and (1 in fits or not isinstance(found[0], list)):
        _check_tokens(found)
        return [found]
    wide = len(found[0])
    for i, row in enumerate(found):
        if not isinstance(row, tuple | list) or len(row) != wide or wide not in _FIELDS:
            raise ValueError(
                f"sentences[{i}] is {row!r:.60}; expected a tuple of {wide if wide in _FIELDS else '1 to 3'} "
                "sentences, as sentences[0]"
            )
    return [list(column) for column in zip(*found, strict=True)]


def _check_tokens(found: Iterable[Any]) -> None:
    for i, row in enumerate(found):
        if isinstance(row, list) and any(isinstance(token, str) and len(token.split()) > 1 for token in row):
            raise ValueError(
                f"sentences[{i}] is {row!r:.60}: a list is the tokens of one sentence; a pair is a tuple"
            )
