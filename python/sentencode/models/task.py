"""Tasks: how data become examples and batches, and how they size and initialise a network."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from .. import _core, _nn
from ..checks import checked_int, checked_str
from ..search import lengths_of
from ..text.corpus import Corpus
from ..text.inputs import one_column
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..training import Batcher, Examples
from ..vectors import WordVectors
from .python_network import alphabet_of

__all__ = [
    *("BEGIN", "END", "UNKNOWN", "Autoencoding", "SentenceTask", "Task", "WordVectorsOf", "row_words"),
    "set_word_counts",
]

Floats = npt.NDArray[np.float32]
BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
_ROWS = 1 << 16  # vectors, and _IDS ids, in memory at a time
_IDS = 1 << 24


class WordVectorsOf:
    """The word vectors of an encoder.

    Args:
        vectors: The word vectors.
        unit: Whether they are divided by their lengths.
    """

    def __init__(self, vectors: WordVectors, *, unit: bool) -> None:
        self.vectors, self.unit = vectors, unit

    def __contains__(self, word: str) -> bool:
        return word in self.vectors

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self.vectors.dim

    def weights(self) -> Floats | None:
        """The inverse length of each vector, with which encoding multiplies it; None without `unit`."""
        if not self.unit:
            return None
        core, count = self.vectors._core, self.vectors._core.row_count
        norms = [
            lengths_of(core.rows(np.arange(begin, min(begin + _ROWS, count))))
            for begin in range(0, count, _ROWS)
        ]
        weights: Floats = 1 / np.maximum(np.concatenate(norms), np.finfo(np.float32).tiny, dtype=np.float32)
        return weights

    def table(self, vocabulary: Vocabulary, symbols: Mapping[int, str]) -> Floats:
        """The vectors of a vocabulary's words, and of symbols by their ids, which follow those of the words.

        Symbols without a vector get random ones of the words' mean length, the same in every call.
        """
        rows = np.empty((len(vocabulary) + len(symbols), self.dim), np.float32)
        rows[: len(vocabulary)] = self._rows(vocabulary.words)
        mean_length = lengths_of(rows[: len(vocabulary)]).mean() if len(vocabulary) else np.float32(1)
        for i, symbol in symbols.items():
            if symbol in self.vectors:
                rows[i] = self.vectors[symbol]
            elif symbol == UNKNOWN and self.vectors.oov in ("zero", "mean"):
                rows[i] = self._rows([symbol])[0]
            else:
                random = np.random.default_rng(symbol == END).standard_normal(self.dim)
                rows[i] = random * (mean_length / np.linalg.norm(random))
        if self.unit:
            rows /= np.maximum(lengths_of(rows)[:, None], np.finfo(np.float32).tiny)
        return rows

    def _rows(self, words: Sequence[str]) -> Floats:
        """The vectors of words; of words without one the policy's substitute, or zero."""
        rows: Floats = _nn.read_words(words, self.vectors._core)[1].numpy()
        return rows


class Task(ABC):
    """How training data become examples and batches. Each training of an encoder constructs one.

    The parameters of a task are keyword arguments and attributes of the encoder.

    Args:
        name: The encoder's class, for messages.
        chosen: All parameters of the encoder, presets applied.
        words: The word vectors.
        tokenizer: The tokenizer.
    """

    parameters: ClassVar[Mapping[str, Any]] = {}
    """The encoder's parameters that belong to this task, with their defaults."""
    data: ClassVar[tuple[str, ...]] = ("train", "valid")
    """The keys of [data] in a TOML file."""
    symbols: ClassVar[Any] = ()
    """The symbols whose ids follow those of the vocabulary's words, in order; or their number."""
    sized: ClassVar[tuple[str, ...]] = ("words", "features", "begin", "end")
    """The options of networks that `sizes` decides; they are no parameters."""
    takes_labels: ClassVar[bool] = False
    """Whether `y` is used."""
    length_fields: ClassVar[tuple[str, ...] | None] = None
    """The fields whose lengths decide which examples share a batch; None: the first."""

    def __init__(
        self, name: str, chosen: Mapping[str, Any], words: WordVectorsOf, tokenizer: Tokenizer
    ) -> None:
        self.name, self.chosen, self.words, self.tokenizer = name, chosen, words, tokenizer
        self.vocabulary = Vocabulary({})

    @property
    def cut(self) -> Tokenizer:
        """The old name of `tokenizer`."""
        warnings.warn("Task.cut is now called tokenizer", DeprecationWarning, stacklevel=2)
        return self.tokenizer

    @classmethod
    def unknown_id(cls, vocabulary: Vocabulary) -> int:
        """The id of words outside the vocabulary; -1: none."""
        return -1

    @classmethod
    def ids(cls, vocabulary_size: int) -> dict[str, int]:
        """The number of ids, `words`, and the ids of the `begin` and `end` symbols, if there are any."""
        ids = {symbol: vocabulary_size + i for i, symbol in enumerate(cls.symbols)}
        options = {"begin": BEGIN, "end": END}
        return {
            "words": vocabulary_size + len(cls.symbols),
            **{option: ids[symbol] for option, symbol in options.items() if symbol in ids},
        }

    def read_words(self) -> WordVectors:
        """The word vectors that encoding reads."""
        return self.words.vectors

    def attributes(self) -> dict[str, Any]:
        """Further attributes of the fitted encoder."""
        return {}

    @classmethod
    def saved_attributes(cls, encoder: Any) -> dict[str, Any]:
        """`attributes` of a fitted encoder, as JSON for its file."""
        return {}

    @classmethod
    def load_attributes(cls, encoder: Any, content: Any, *, trust: bool) -> None:
        """Sets `attributes` of an encoder, given `saved_attributes`; tokenizers are trusted as `load` says.

        Raises:
            ValueError: If the content is malformed.
        """
        if content != {}:
            raise ValueError(f"params: more: expected nothing, got {content!r:.40}")

    @classmethod
    def fitted_sizes(cls, encoder: Any, config: Mapping[str, Any], vocabulary: Vocabulary) -> dict[str, int]:
        """The network's options that follow from the vocabularies; `config` has those of the file."""
        return cls.ids(len(vocabulary))

    @classmethod
    def table_words(cls, encoder: Any, vocabulary: Vocabulary, network: Any) -> dict[str, list[Any]]:
        """The words of the rows of the network's word tables, by the option that is their number."""
        return {"words": row_words(vocabulary, cls.symbols)}

    @abstractmethod
    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """The network's options that depend on the data; None: before it was read, the smallest ones."""

    @abstractmethod
    def learn_vocabulary(self, sentences: Any, on_progress: Any) -> None:
        """Reads the training data once, before they become examples."""

    @abstractmethod
    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Examples of training or validation data."""

    def prepare(self, network: Any, examples: Examples) -> None:  # noqa: B027
        """Initialises the weights of a network that depend on the words."""

    def decisive(self, network: Any) -> dict[str, Any]:
        """What training depends on besides the network's options and the ids; checkpoints must agree."""
        return {}

    @abstractmethod
    def batcher(self, examples: Examples, *, validating: bool, rank: int, world: int) -> Batcher:
        """Batches of the examples."""


class SentenceTask(Task):
    """Single sentences, each with a label if the network learns from labels.

    A network is constructed with `words`, the number of ids, and `features`, the width of word vectors. If
    it has a method `load_words`, this gets the vectors of all ids. Batches have one field, "tokens".
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
    symbols: ClassVar[Any] = (UNKNOWN,)
    takes_labels = True
    end: ClassVar[str | None] = None
    unknown_words: ClassVar[Literal["symbol", "drop_word", "drop_example"]] = "symbol"
    words_need_vectors: ClassVar[bool] = True
    """Whether only words with a vector get an id."""
    reads_other_words: ClassVar[bool] = True
    """Whether encoding reads the vectors of words without an id. A network that trains its own word table may
    have left the space of the vectors: such words are then unknown, until `expand_vocabulary`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        defined = vars(cls)
        changed = defined.keys() & {"end", "unknown_words", "symbols"}
        if changed and not isinstance(defined.get("symbols"), tuple):
            unknown = UNKNOWN if cls.unknown_words == "symbol" else None
            cls.symbols = tuple(symbol for symbol in (cls.end, unknown) if symbol is not None)

    @classmethod
    def unknown_id(cls, vocabulary: Vocabulary) -> int:
        """The id of "<unk>"; -1 where there is none."""
        return len(vocabulary) + cls.symbols.index(UNKNOWN) if UNKNOWN in cls.symbols else -1

    def read_words(self) -> WordVectors:
        """The word vectors, or those of the words with ids."""
        vectors = self.words.vectors
        return vectors if self.reads_other_words else WordVectors(vectors._core.only(self.vocabulary.words))

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """`words` and `features`."""
        words = 2 if examples is None else len(self.vocabulary) + len(self.symbols)
        return {"words": words, "features": self.words.dim}

    def learn_vocabulary(self, sentences: Any, on_progress: Any) -> None:
        """Finds the words that get ids: the most frequent ones of those that have vectors."""
        vocabulary, least = self.chosen["vocabulary"], self.chosen["min_count"]
        if vocabulary is not None:
            if not isinstance(vocabulary, Vocabulary):
                raise TypeError(f"vocabulary must be a Vocabulary, got {type(vocabulary).__name__}")
            counts = dict(vocabulary)
        else:
            counts = dict(
                Vocabulary.from_corpus(sentences, self.tokenizer, min_count=least, on_progress=on_progress)
            )
        symbols = {BEGIN, END, *self.symbols}
        with_ids = {
            word: count
            for word, count in counts.items()
            if word not in symbols and (word in self.words or not self.words_need_vectors)
        }
        self.vocabulary = Vocabulary(with_ids, max_size=self.chosen["vocabulary_size"])
        if not counts and vocabulary is None:
            often = "" if least <= 1 else f" min_count={least} times"
            raise ValueError(f"{self.name}: there is no sentence that has a word{often}")
        if len(self.vocabulary) == 0:
            raise ValueError(f"{self.name}: none of the {len(counts)} words of the sentences has a vector")

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Sentences as ids, with their labels if there are any."""
        labels: Literal["int64", "float32"] | None = None
        if self.takes_labels and y is not None:
            values = np.asarray(one_column(y, "y"))
            if values.ndim != 1 or values.dtype.kind not in "iubf":
                raise ValueError(
                    f"y must be numbers, one for each sentence, got {values.dtype} {list(values.shape)}"
                )
            labels = "float32" if values.dtype.kind == "f" else "int64"
            values = values.astype(np.int64) if values.dtype.kind == "b" else values
            if isinstance(sentences, str | os.PathLike):
                sentences = Corpus(sentences)
            sentences = _Labelled(sentences, values.tolist())
        return Examples.build(
            sentences,
            self.vocabulary,
            self.tokenizer,
            fields=None if labels is None else ("tokens",),
            labels=labels,
            end=self.end,
            unknown_words=self.unknown_words,
            min_length=self.chosen["min_length"],
            max_length=self.chosen["max_length"],
            on_progress=on_progress,
        )

    def prepare(self, network: Any, examples: Examples) -> None:
        """Loads word vectors and characters into a network that has `load_words` or `load_characters`."""
        size = len(self.vocabulary)
        if callable(getattr(network, "load_words", None)):
            symbols = {size + i: symbol for i, symbol in enumerate(self.symbols)}
            with torch.no_grad():
                network.load_words(torch.from_numpy(self.words.table(self.vocabulary, symbols)))
        if callable(getattr(network, "load_characters", None)):
            alphabet, most = alphabet_of(network)
            characters = np.zeros((size + len(self.symbols), most), np.int64)  # symbols have none
            characters[:size] = _core.characters_of(self.vocabulary.words, alphabet, most)
            with torch.no_grad():
                network.load_characters(torch.from_numpy(characters))

    def decisive(self, network: Any) -> dict[str, Any]:
        """The vocabulary and the word vectors."""
        words = json.dumps([self.vocabulary.words, self.vocabulary.counts.tolist()])
        rows = self.words.table(self.vocabulary, {})
        return {
            "unit_words": self.words.unit,
            **({} if self.words.vectors.oov == "skip" else {"oov": self.words.vectors.oov}),
            "vocabulary": hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest(),
            "vectors": hashlib.sha256(rows.tobytes()).hexdigest(),
        }

    def batcher(self, examples: Examples, *, validating: bool, rank: int, world: int) -> Batcher:
        """Batches by `batching`; for validation in the order of the examples."""
        if validating:
            return Batcher(examples, batch_size=256, shuffle=False, rank=rank, world=world)
        most, size = self.chosen["max_tokens"], self.chosen["batch_size"]
        mode = checked_str("batching", self.chosen["batching"])
        if mode == "buckets":
            raise ValueError("batching='buckets': encoders have no bounds of lengths; use 'sorted_buffer'")
        if (most is not None) != (mode == "token_budget"):
            raise ValueError(f"max_tokens={most} and batching={mode!r}: a token budget needs both")
        return Batcher(
            examples,
            mode=mode,  # type: ignore[arg-type]
            length_fields=self.length_fields,
            batch_size=None if mode == "token_budget" else batch_size_of(size, len(examples)),
            max_tokens=most,
            seed=self.chosen["seed"],
            rank=rank,
            world=world,
        )


class Autoencoding(SentenceTask):
    """Sentences that the network reconstructs. Those with unknown words are left out; each has an end."""

    parameters: ClassVar[Mapping[str, Any]] = {
        **SentenceTask.parameters,
        "min_length": 4,
        "max_length": 32,
        "vocabulary_size": 8000,
        "label_smoothing": 0.0,
        "sampled_words": 0,
        "trainable_words": False,
    }
    symbols = (END, BEGIN)  # examples have no begin symbol
    takes_labels = False
    end = END
    unknown_words = "drop_example"

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """The words and both symbols."""
        least = checked_int("sampled_words", self.chosen["sampled_words"], 0)
        return {**self.ids(least if examples is None else len(self.vocabulary)), "features": self.words.dim}

    def prepare(self, network: Any, examples: Examples) -> None:
        """Loads word vectors and word counts."""
        ids = self.ids(len(self.vocabulary))
        network.load_words(self.words.table(self.vocabulary, {ids["begin"]: BEGIN, ids["end"]: END}))
        set_word_counts(network, self.vocabulary, examples, "tokens", ids)

    def decisive(self, network: Any) -> dict[str, Any]:
        """The vocabulary, and the vectors of words and symbols."""
        rows = network.state_dict()["table.weight"].cpu().numpy()
        return {**super().decisive(network), "vectors": hashlib.sha256(rows.tobytes()).hexdigest()}


def batch_size_of(size: Any, examples: int) -> Any:
    """A number of examples; of "auto" the power of two from 16 to 128 that makes about 64 batches."""
    if not isinstance(size, str) or size != "auto":
        return size
    return min(128, max(16, 2 ** round(math.log2(max(1, examples) / 64))))


def set_word_counts(
    network: Any, vocabulary: Vocabulary, examples: Examples, field: str, ids: Mapping[str, int]
) -> None:
    """Gives a network the counts of the words that it generates: sampled softmax samples by them.

    Args:
        network: A network that `ids` sizes.
        vocabulary: The words that it generates.
        examples: The training data.
        field: A field whose words have this vocabulary.
        ids: The number of `words`, and the id of `end`.
    """
    counts = np.ones(ids["words"], np.int64)
    counts[: len(vocabulary)] = vocabulary.counts
    counts[ids["end"]] = len(examples)
    unknown = examples.symbols(field).get(UNKNOWN) if field in examples.fields else None
    if unknown is not None:  # it stands for many words, each of which is a target
        targets = examples.ids(field)
        counts[unknown] = sum(
            np.count_nonzero(targets[begin : begin + _IDS] == unknown)
            for begin in range(0, len(targets), _IDS)
        )
    network.set_word_counts(torch.from_numpy(counts))


def row_words(vocabulary: Vocabulary, symbols: Sequence[str]) -> list[Any]:
    """What each row of a word table stands for: a word, or a symbol as a tuple, which no word equals."""
    return [*vocabulary.words, *((symbol,) for symbol in symbols)]


class _Labelled:
    """Sentences with their labels; can be read again."""

    def __init__(self, sentences: Any, labels: Sequence[Any]) -> None:
        self.sentences, self.labels = sentences, labels

    def __iter__(self) -> Iterator[Any]:
        count = 0
        for count, sentence in enumerate(self.sentences, 1):
            if count > len(self.labels):
                raise ValueError(f"y has {len(self.labels)} labels, but there are more sentences")
            yield sentence, self.labels[count - 1]
        if count < len(self.labels):
            raise ValueError(f"y has {len(self.labels)} labels, but there are {count} sentences")
