"""Training on labelled sentences, pairs and triples: the data of heads, for every family."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .. import _nn
from ..checks import checked_int
from ..distributed import communicator as all_processes
from ..labels import check_count
from ..nn.module import in_core
from ..text.vocabulary import Vocabulary
from ..training import Batcher, Examples
from .heads import Classifier, Head, HeadModule, RowRegression, made_head
from .linear_map import chosen_map
from .task import SentenceTask, Task, WordVectorsOf, batch_size_of

__all__ = ["Supervised", "SupervisedModel"]

_FIELDS: dict[int, tuple[str, ...]] = {
    1: ("tokens",),
    2: ("first", "second"),
    3: ("first", "second", "third"),
}


_MAPPED = 5000  # sentences at most that initialise the projection of a RowRegression
_DROPPED = 0.01  # fraction of examples without known words above which a warning is issued


class SupervisedModel(nn.Module):
    """A network and the head that is trained on its embeddings.

    Args:
        network: The network of any encoder.
        core: The same in C++.
        head: The head.
        words: Vectors, known, ids and characters of all words of the examples, as in `Words`.
        word_dropout: Probability that a word is left out of an example in training.
    """

    def __init__(
        self,
        network: Any,
        core: Any,
        head: HeadModule,
        words: tuple[Tensor, Tensor, Tensor, Tensor | None],
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.network, self.head = network, head
        self._cpp = _nn.SupervisedModel(core, head._cpp, *words, word_dropout)

    @in_core
    def loss(self, batch: Any) -> Any:
        """Not available in Python: trainers call the loss in C++.

        Args:
            batch: A batch of a trainer.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("SupervisedModel.loss is computed in C++, where trainers call it")


class Supervised(Task):
    """Examples of one, two or three sentences that a head is trained on, for networks of every family.

    Words are read as encoding reads them. The ids of examples are therefore those of all words that are read,
    `read_vocabulary`, not the network's.

    Args:
        family: The task of the network's family.
        head: The head.
        max_words: Maximal number of words of a sentence that encoding reads.
    """

    def __init__(self, family: SentenceTask, head: Head, max_words: int) -> None:
        super().__init__(family.name, family.chosen, family.words, family.tokenizer)
        self.max_words = max_words
        self.family, self.head = family, head
        self.word_dropout = float(self.chosen["word_dropout"])
        self.takes_labels = head.labels is not None  # type: ignore[misc]
        self.symbols = family.symbols  # type: ignore[misc]
        self.label_info: Any = None  # of the training labels: the classes, or the width of target embeddings
        self.sides = 0  # sentences of an example
        self.read_vocabulary = Vocabulary({})
        self.targets: list[npt.NDArray[np.float32]] = []

    def read_words(self) -> Any:
        """As in the family."""
        return self.family.read_words()

    def attributes(self) -> dict[str, Any]:
        """As in the family."""
        return self.family.attributes()

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """As in the family."""
        return self.family.sizes(examples)

    def learn_vocabulary(self, sentences: Any, on_progress: Any, also: Any = ()) -> None:
        """Finds the family's vocabulary, and all words that are read, also for validation.

        Args:
            sentences: Columns of training sentences.
            on_progress: Called with the number of sentences read.
            also: Columns of validation sentences.
        """
        self._check_sides(sentences)
        train = [sentence for side in sentences for sentence in side]
        self.family.learn_vocabulary(train, on_progress)
        self.vocabulary = self.family.vocabulary
        every = [*train, *(sentence for side in also for sentence in side)]
        counts = Vocabulary.from_corpus(every, self.tokenizer)
        read = self._read(counts.words)[0].tolist()
        self.read_vocabulary = Vocabulary(
            {word: counts[word] for word, is_read in zip(counts.words, read, strict=True) if is_read}
        )
        if len(self.read_vocabulary) == 0:
            raise ValueError(f"{self.name}: none of the {len(counts)} words of the sentences has a vector")

    def _check_sides(self, sides: Sequence[Any]) -> None:
        count, allowed = len(sides), self.head.sentences
        if count not in allowed:
            kind = type(self.head).__name__
            raise ValueError(
                f"{self.name}: {kind} learns from examples of {' or '.join(map(str, allowed))} sentences, "
                f"got {count}"
                + (": pairs and triples are tuples, as in [(first, second), ...]" if count == 1 else "")
            )
        if self.sides not in (0, count):
            raise ValueError(
                f"{self.name}: valid has examples of {count} sentences, the training data of {self.sides}"
            )
        self.sides = count

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Ids of words that are read, and labels. Long sentences are truncated, empty ones dropped."""
        self._check_sides(sentences)
        what = "y" if self.label_info is None else "the y of valid"
        if self.takes_labels and y is None:
            raise ValueError(
                f"{self.name}: {type(self.head).__name__} requires y to be passed, but the target "
                f"{what.removeprefix('the ')} is None"
            )
        if self.label_info is None and self.takes_labels:
            self.label_info = self.head.learn(y)
        labels = self.head.numbers(y, self.label_info, what)
        count = len(sentences[0])
        if labels is not None:
            check_count(labels, count, what)
        if isinstance(self.head, RowRegression):
            assert labels is not None
            begin = sum(map(len, self.targets))
            self.targets.append(labels)
            labels = np.arange(begin, begin + count)
        columns = [*sentences, *([] if labels is None else [labels.tolist()])]
        examples = Examples.build(
            list(zip(*columns, strict=True)) if len(columns) > 1 else sentences[0],
            self.read_vocabulary,
            self.tokenizer,
            fields=_FIELDS[self.sides],
            labels=None if labels is None else self.head.labels,
            unknown_words="drop_word",
            max_length=self._max_length(),
            too_long="truncate",
            on_progress=on_progress,
        )
        self._check_dropped(examples, count, what)
        return examples

    def _max_length(self) -> int:
        """Maximal number of words of a training sentence: encoding reads no more either."""
        length = self.chosen["max_length"]
        return self.max_words if length is None else min(checked_int("max_length", length, 1), self.max_words)

    def _check_dropped(self, examples: Examples, count: int, what: str) -> None:
        """Warns of examples without known words; raises an error if they are a whole class."""
        dropped = count - len(examples)
        if dropped and what == "y" and isinstance(self.head, Classifier):
            left = np.unique(np.asarray(examples.labels, np.int64))
            if gone := sorted(set(range(len(self.label_info))) - set(left.tolist())):
                raise ValueError(
                    f"{self.name}: no example of the class {self.label_info[gone[0]]!r} has known words"
                )
        if dropped > _DROPPED * count and all_processes().rank == 0:
            kind = "training" if what == "y" else "validation"
            warnings.warn(
                f"{self.name}: {dropped:,} of {count:,} {kind} examples are left out, because one of their "
                "sentences has no known word",
                UserWarning,
                stacklevel=7,  # at the call of `fit`
            )

    def prepare(self, network: Any, examples: Examples) -> None:
        """As in the family."""
        self.family.prepare(network, examples)

    def _read(
        self, words: Sequence[str], **characters: Any
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
        """What encoding reads of words: see `_nn.read_words`."""
        read = WordVectorsOf(self.family.read_words(), unit=self.words.unit)
        return _nn.read_words(
            words,
            read.vectors._core,
            read.weights(),
            self.vocabulary.words,
            type(self.family).unknown_id(self.vocabulary),
            **characters,
        )

    def model(self, network: Any, core: Any, examples: Examples, device: torch.device) -> SupervisedModel:
        """The network with a new head.

        Args:
            network: The network, on its device.
            core: The same in C++.
            examples: The training data.
            device: The device.
        """
        _, vectors, known, ids, characters = self._read(
            self.read_vocabulary.words, characters=core.characters, alphabet=core.alphabet
        )
        head = made_head(
            self.head, int(network.dim), self.sides, self.label_info, int(self.chosen["seed"])
        ).to(device)
        if isinstance(self.head, Classifier):
            labels = examples.labels
            assert labels is not None
            weights = self.head.weights(labels.astype(np.int64), self.label_info)
            head._cpp.set_class_weights(torch.from_numpy(weights))
        if isinstance(self.head, RowRegression):
            head._cpp.set_targets(torch.from_numpy(np.concatenate(self.targets)).to(device))
        like = next(iter(network.parameters()), None)  # a network may have no parameters
        model = SupervisedModel(
            network,
            core,
            head,
            (
                vectors.to(device if like is None else like),
                known.to(device),
                ids.to(device),
                None if characters is None else characters.to(device),
            ),
            self.word_dropout,
        )
        if isinstance(self.head, RowRegression):
            self._initialise_projection(model, examples, device)
        return model

    def _initialise_projection(
        self, model: SupervisedModel, examples: Examples, device: torch.device
    ) -> None:
        """Maps the untrained network's embeddings to the targets by ridge regression, if there is a map."""
        projection = getattr(model.head, "projection", None)
        if projection is None:
            return
        embeddings: list[npt.NDArray[np.float64]] = []
        numbers: list[int] = []  # of the targets
        seen: set[bytes] = set()
        for batch in Batcher(examples, mode="sorted_buffer", seed=int(self.chosen["seed"])):
            assert batch.labels is not None
            ids, lengths = (next(iter(field.values())) for field in (batch.ids, batch.lengths))
            fields = [(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))]
            z = model._cpp.embed(fields).cpu().double().numpy()  # [B, dim]
            new = []  # of equal sentences one: held-out sentences must differ from the others
            for i, (row, length) in enumerate(zip(ids, lengths, strict=True)):
                if (key := row[:length].tobytes()) not in seen:
                    seen.add(key)
                    new.append(i)
            embeddings.append(z[new])
            numbers += [int(batch.labels[i]) for i in new]
            if len(numbers) >= _MAPPED:
                break
        targets = self.targets[0][numbers].astype(np.float64)  # of the training data
        a, b = chosen_map(np.concatenate(embeddings), targets)
        with torch.no_grad():
            projection.weight.copy_(torch.from_numpy(a.T))
            projection.bias.copy_(torch.from_numpy(b))

    def forget(self, model: SupervisedModel) -> None:
        """Drops what only training needs.

        Args:
            model: The trained model.
        """
        if isinstance(self.head, RowRegression):
            model.head._cpp.set_targets(torch.empty(0, self.label_info, dtype=torch.float32))

    def decisive(self, network: Any) -> dict[str, Any]:
        """The vocabularies, the word vectors, the head and its labels."""
        words = self.read_vocabulary.words
        digest = hashlib.sha256(self._read(words)[1].numpy().tobytes())
        digest.update(json.dumps(words).encode("utf-8", "surrogatepass"))
        for rows in self.targets:
            digest.update(rows.tobytes())
        return {
            **self.family.decisive(network),
            "head": self.head.to_config(),
            "labels": self.label_info,
            "read": digest.hexdigest(),
            **({"word_dropout": self.word_dropout} if self.word_dropout else {}),
        }

    def batcher(self, examples: Examples, *, validating: bool, rank: int, world: int) -> Batcher:
        """As in the family, by the lengths of all sentences, or if they must be equal by the first."""
        equal = self.chosen["batching"] == "equal_length"
        if self.head.compares_examples and (validating or equal):
            size = batch_size_of(self.chosen["batch_size"], len(examples))
            order = {"shuffle": False} if validating else {"seed": self.chosen["seed"]}
            return Batcher(examples, mode="plain", batch_size=size or 64, rank=rank, world=world, **order)
        self.family.length_fields = examples.fields[:1] if equal else examples.fields  # type: ignore[misc]
        return self.family.batcher(examples, validating=validating, rank=rank, world=world)
