"""What families are trained on: which data a training takes, and which network these ask for."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from .. import _core
from ..checks import checked_int, checked_str
from ..search import lengths_of
from ..text.corpus import Corpus
from ..text.inputs import one_column
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..training import Batcher, Examples
from ..vectors import WordVectors
from .python_network import alphabet_of

__all__ = ["Autoencoding", "SentenceTask", "Task", "WordVectorsOf"]

Floats = npt.NDArray[np.float32]
_BEGIN, _END, _UNKNOWN = "<s>", "</s>", "<unk>"


class WordVectorsOf:
    """What a task needs of words' vectors: those of the encoder, as it is told to use them."""

    def __init__(self, vectors: WordVectors, *, unit: bool) -> None:
        self.vectors, self.unit = vectors, unit

    def __contains__(self, word: str) -> bool:
        return word in self.vectors

    @property
    def dim(self) -> int:
        """Numbers in a vector."""
        return self.vectors.dim

    def table(self, vocabulary: Vocabulary, symbols: Mapping[int, str]) -> Floats:
        """The vectors of the words of a vocabulary, and of the symbols, by their ids behind it."""
        rows = np.empty((len(vocabulary) + len(symbols), self.dim), np.float32)
        rows[: len(vocabulary)] = self._rows(vocabulary.words)
        # Symbols that have no vectors get ones that are as long as those of words, the same every time.
        typical = lengths_of(rows[: len(vocabulary)]).mean() if len(vocabulary) else np.float32(1)
        for place, symbol in symbols.items():
            if symbol in self.vectors:
                rows[place] = self.vectors[symbol]
            elif symbol == _UNKNOWN and self.vectors.oov in ("zero", "mean"):
                rows[place] = self._rows([symbol])[0]
            else:
                drawn = np.random.default_rng(symbol == _END).standard_normal(self.dim)
                rows[place] = drawn * (typical / np.linalg.norm(drawn))
        if self.unit:
            rows /= np.maximum(lengths_of(rows)[:, None], np.finfo(np.float32).tiny)
        return rows

    def _rows(self, words: Sequence[str]) -> Floats:
        """The vectors of words; of unknown ones what stands for them where sentences are encoded, or zero."""
        core, rows = self.vectors._core, np.zeros((len(words), self.dim), np.float32)
        as_they_are = _core.Tokenizer("whitespace", lowercase=False, invalid="replace")
        ids, offsets = core.lookup(as_they_are, [[word] for word in words])
        found = np.flatnonzero(np.diff(offsets))
        listed = ids < core.row_count  # the others are made of their subwords
        rows[found[listed]] = core.rows(ids[listed].astype(np.int64))
        for place in found[~listed]:
            rows[place] = core.row_of_subwords(words[place])
        return rows


class Task(ABC):
    """What a training takes, and what becomes of it. One is made for each training of an encoder.

    Its parameters are keyword arguments of the encoder, which has them as attributes.

    Args:
        name: The encoder's class, for messages.
        chosen: All parameters of the encoder, presets applied.
        words: The vectors of words.
        cut: The tokenizer.
    """

    parameters: ClassVar[Mapping[str, Any]] = {}
    """Those of encoders that are this task's, with their defaults."""
    data: ClassVar[tuple[str, ...]] = ("train", "valid")
    """The keys that [data] of a TOML file may have."""
    symbols: ClassVar[int] = 0
    """Ids behind the vocabulary's words."""
    sized: ClassVar[tuple[str, ...]] = ("words", "features", "begin", "end")
    """What `sizes` may tell: options of networks that are no parameters."""
    takes_labels: ClassVar[bool] = False
    """Whether `y` is looked at."""
    length_fields: ClassVar[tuple[str, ...] | None] = None
    """The fields whose lengths say which examples share a batch; None: the first."""

    def __init__(self, name: str, chosen: Mapping[str, Any], words: WordVectorsOf, cut: Tokenizer) -> None:
        self.name, self.chosen, self.words, self.cut = name, chosen, words, cut
        self.vocabulary = Vocabulary({})

    @classmethod
    def unknown_id(cls, vocabulary: Vocabulary) -> int:
        """The id of words that are not of the vocabulary; -1 where there is none."""
        return -1

    @classmethod
    def ids(cls, known: int) -> dict[str, int]:
        """Those of `sizes` that a vocabulary of so many words decides: how many ids there are, and which."""
        return {"words": known + cls.symbols}

    def read_words(self) -> WordVectors:
        """The vectors of words that encoding looks at: those given."""
        return self.words.vectors

    def attributes(self) -> dict[str, Any]:
        """What an encoder keeps of the training besides."""
        return {}

    @abstractmethod
    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """What a network is made with that depends on the data; None: before any was read, the least."""

    @abstractmethod
    def learn_vocabulary(self, sentences: Any, on_progress: Any) -> None:
        """Looks at what is trained on, before its examples are made."""

    @abstractmethod
    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Examples of what is trained on, or validated on."""

    def prepare(self, network: Any, examples: Examples) -> None:  # noqa: B027
        """Fills what of a fresh network depends on the words."""

    def decisive(self, network: Any) -> dict[str, Any]:
        """What decides, beside the network's options and the ids, what is learnt; for checkpoints."""
        return {}

    @abstractmethod
    def batcher(self, examples: Examples, *, validating: bool, rank: int, world: int) -> Batcher:
        """How examples share batches."""


class SentenceTask(Task):
    """Sentences by themselves, each with a label where the network learns one.

    A network is made with `words`, how many ids there are, and `features`, the width of words' vectors. If it
    has a method `load_words`, this gets the vectors of all ids. Batches have one field, "tokens".
    """

    parameters: ClassVar[Mapping[str, Any]] = {
        "vocabulary": None,
        "vocabulary_size": 21_583,
        "min_count": 1,
        "min_length": 1,
        "max_length": None,
        "batch_size": 64,
        "batching": "equal_length",
        "max_tokens": None,
    }
    symbols = 1  # for unknown words
    takes_labels = True
    end: ClassVar[str | None] = None
    unknown_words: ClassVar[Literal["symbol", "drop_word", "drop_example"]] = "symbol"
    words_need_vectors: ClassVar[bool] = True
    """Whether only words that have a vector get an id."""
    reads_other_words: ClassVar[bool] = True
    """Whether encoding looks at the vectors of words that have no id. A network that makes words' rows itself
    may have left the vectors' space: such words are then unknown, until `expand_vocabulary`."""

    @classmethod
    def unknown_id(cls, vocabulary: Vocabulary) -> int:
        """That of their symbol, which comes behind the words and the end."""
        return len(vocabulary) + (cls.end is not None) if cls.unknown_words == "symbol" else -1

    def read_words(self) -> WordVectors:
        """Those given, or the part of them that has ids."""
        given = self.words.vectors
        return given if self.reads_other_words else WordVectors(given._core.only(self.vocabulary.words))

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """`words` and `features`."""
        words = 2 if examples is None else examples.vocabulary_size()
        return {"words": words, "features": self.words.dim}

    def learn_vocabulary(self, sentences: Any, on_progress: Any) -> None:
        """The words that have ids: the most frequent ones of those that have vectors."""
        given, least = self.chosen["vocabulary"], self.chosen["min_count"]
        if given is not None:
            if not isinstance(given, Vocabulary):
                raise TypeError(f"vocabulary must be a Vocabulary, got {type(given).__name__}")
            counts = dict(given)
        else:
            counts = dict(
                Vocabulary.from_corpus(sentences, self.cut, min_count=least, on_progress=on_progress)
            )
        known = {
            word: count for word, count in counts.items() if word in self.words or not self.words_need_vectors
        }
        for symbol in (_BEGIN, _END):
            known.pop(symbol, None)  # they have places of their own
        found = Vocabulary(known, max_size=self.chosen["vocabulary_size"])
        if not counts and given is None:
            often = "" if least <= 1 else f" min_count={least} times"
            raise ValueError(f"{self.name}: there is no sentence that has a word{often}")
        if len(found) == 0:
            raise ValueError(f"{self.name}: none of the {len(counts)} words of the sentences has a vector")
        self.vocabulary = found

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Ids, and labels where there are any."""
        labels: Literal["int64", "float32"] | None = None
        if self.takes_labels and y is not None:
            values = np.asarray(one_column(y, "y"))
            if values.ndim != 1 or values.dtype.kind not in "iubf":
                raise ValueError(
                    f"y must be numbers, one for each sentence, got {values.dtype} {list(values.shape)}"
                )
            labels = "float32" if values.dtype.kind == "f" else "int64"
            if isinstance(sentences, str | os.PathLike):
                sentences = Corpus(sentences)
            sentences = _Labelled(sentences, values.tolist())
        return Examples.build(
            sentences,
            self.vocabulary,
            self.cut,
            fields=None if labels is None else ("tokens",),
            labels=labels,
            end=self.end,
            unknown_words=self.unknown_words,
            min_length=self.chosen["min_length"],
            max_length=self.chosen["max_length"],
            on_progress=on_progress,
        )

    def prepare(self, network: Any, examples: Examples) -> None:
        """Gives the network the words' vectors, if it wants them."""
        if callable(getattr(network, "load_words", None)):
            symbols = {place: symbol for symbol, place in examples.symbols().items()}
            with torch.no_grad():
                network.load_words(torch.from_numpy(self.words.table(self.vocabulary, symbols)))
        if callable(getattr(network, "load_characters", None)):
            alphabet, most = alphabet_of(network)
            with torch.no_grad():
                network.load_characters(torch.from_numpy(self._characters(examples, alphabet, most)))

    def _characters(self, examples: Examples, alphabet: str, most: int) -> npt.NDArray[np.int64]:
        """Those of all ids [words, most]; symbols have none."""
        found = np.zeros((examples.vocabulary_size(), most), np.int64)
        found[: len(self.vocabulary)] = _core.characters_of(self.vocabulary.words, alphabet, most)
        return found

    def decisive(self, network: Any) -> dict[str, Any]:
        """The vocabulary, and the vectors."""
        words = json.dumps([self.vocabulary.words, self.vocabulary.counts.tolist()])
        rows = self.words.table(self.vocabulary, {})
        return {
            "unit_words": self.words.unit,
            **({} if self.words.vectors.oov == "skip" else {"oov": self.words.vectors.oov}),
            "vocabulary": hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest(),
            "vectors": hashlib.sha256(rows.tobytes()).hexdigest(),
        }

    def batcher(self, examples: Examples, *, validating: bool, rank: int, world: int) -> Batcher:
        """Batches by `batching`; those to validate on in their order."""
        if validating:
            return Batcher(examples, batch_size=256, shuffle=False, rank=rank, world=world)
        most = self.chosen["max_tokens"]
        mode = checked_str("batching", self.chosen["batching"])
        if (most is not None) != (mode == "token_budget"):
            raise ValueError(f"max_tokens={most} and batching={mode!r}: a token budget needs both")
        return Batcher(
            examples,
            mode=mode,  # type: ignore[arg-type]
            length_fields=self.length_fields,
            batch_size=None if mode == "token_budget" else self.chosen["batch_size"],
            max_tokens=most,
            seed=self.chosen["seed"],
            rank=rank,
            world=world,
        )


class Autoencoding(SentenceTask):
    """Sentences that are written again: of known words, each with an end."""

    parameters: ClassVar[Mapping[str, Any]] = {
        **SentenceTask.parameters,
        "min_length": 4,
        "max_length": 32,
        "label_smoothing": None,
        "sampled_words": 0,
        "trainable_words": False,
    }
    symbols = 2
    takes_labels = False
    end = _END
    unknown_words = "drop_example"

    @classmethod
    def ids(cls, known: int) -> dict[str, int]:
        """The words, their end, and the symbol before them."""
        return {"words": known + cls.symbols, "begin": known + 1, "end": known}

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """All that are written: the words, their end, and the symbol before them, an id no example has."""
        least = checked_int("sampled_words", self.chosen["sampled_words"], 0)
        return {**self.ids(least if examples is None else len(self.vocabulary)), "features": self.words.dim}

    def prepare(self, network: Any, examples: Examples) -> None:
        """Words' vectors, and how frequent they are, which sampled ones are drawn by."""
        end, begin = examples.symbols()[_END], examples.vocabulary_size()
        network.load_words(self.words.table(self.vocabulary, {begin: _BEGIN, end: _END}))
        counts = np.zeros(begin + 1, np.int64)
        counts[: len(self.vocabulary)] = self.vocabulary.counts
        counts[end] = len(examples)
        network.set_word_counts(torch.from_numpy(counts))

    def decisive(self, network: Any) -> dict[str, Any]:
        """The vocabulary, and the vectors of all that is written."""
        rows = network.state_dict()["table.weight"].cpu().numpy()
        return {**super().decisive(network), "vectors": hashlib.sha256(rows.tobytes()).hexdigest()}


class _Labelled:
    """Sentences and their labels, row by row, as often as is asked."""

    def __init__(self, sentences: Any, labels: Sequence[Any]) -> None:
        self.sentences, self.labels = sentences, labels

    def __iter__(self) -> Any:
        return zip(self.sentences, self.labels, strict=True)
