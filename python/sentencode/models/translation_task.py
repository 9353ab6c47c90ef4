"""The task of translation: sentences and their translations as examples."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..checks import checked_bool, checked_int
from ..text.corpus import Corpus, repeatable
from ..text.tokenizer import Tokenizer, chosen_tokenizer
from ..text.vocabulary import Vocabulary
from ..training import Batcher, Examples
from ..vectors import WordVectors
from .task import BEGIN, END, UNKNOWN, SentenceTask, WordVectorsOf, row_words, set_word_counts

__all__ = ["Translating", "parallel_texts", "translation_tokenizer"]

Floats = npt.NDArray[np.float32]


class Translating(SentenceTask):
    """Sentences and their translations.

    Each language has a word table of its own, and both are trained. Source ids are those of the words and of
    "<unk>"; target ids those of the words, of "</s>" and "<unk>" in either order, and of "<s>". Examples give
    both languages the same symbols if they have the same words, and then "<unk>" comes first.
    """

    parameters: ClassVar[Mapping[str, Any]] = {
        **SentenceTask.parameters,
        "features": 128,
        "vocabulary_size": 8000,
        "target_tokenizer": None,
        "target_vocabulary": None,
        "max_length": 50,
        "label_smoothing": 0.0,
        "sampled_words": 0,
        "trainable_words": True,
    }
    data = (*SentenceTask.data, "train_target", "valid_target")
    sized = (*SentenceTask.sized, "source_words")
    words_need_vectors = False

    def __init__(
        self, name: str, chosen: Mapping[str, Any], words: WordVectorsOf, tokenizer: Tokenizer
    ) -> None:
        super().__init__(name, chosen, words, tokenizer)
        other = chosen["target_tokenizer"]
        self.target_tokenizer = (
            tokenizer if other is None else translation_tokenizer(name, other, chosen["lowercase"])
        )
        self.target: Vocabulary | None = None  # stays None if a head is trained

    @classmethod
    def ids(cls, vocabulary_size: int) -> dict[str, int]:
        """The number of source ids."""
        return {"source_words": vocabulary_size + len(cls.symbols)}

    @staticmethod
    def target_symbols(size: int, end: int) -> tuple[str, str, str]:
        """The symbols of a target of `size` words in the order of their ids, given the id of "</s>"."""
        return (END, UNKNOWN, BEGIN) if end == size else (UNKNOWN, END, BEGIN)

    @staticmethod
    def target_ids(size: int, end: int) -> dict[str, int]:
        """The number of target ids, and the ids of "<s>" and "</s>"."""
        return {"words": size + 3, "begin": size + 2, "end": size if end == size else size + 1}

    def sizes(self, examples: Examples | None) -> dict[str, Any]:
        """The sizes of both tables."""
        features = self.words.dim
        if examples is None or self.target is None:
            words = 3 + checked_int("sampled_words", self.chosen["sampled_words"], 0)
            size = 1 if examples is None else len(self.vocabulary)
            return {"words": words, "features": features, "begin": 0, "end": 1, **self.ids(size)}
        target = self.target_ids(len(self.target), examples.symbols("target")[END])
        return {**target, "features": features, **self.ids(len(self.vocabulary))}

    def learn_vocabulary(self, sentences: Any, on_progress: Any) -> None:
        """Finds the source words, and what initialises their rows: their vectors, or random ones."""
        if not checked_bool("trainable_words", self.chosen["trainable_words"]):
            raise ValueError(
                f"{self.name}: trainable_words=False: both word tables are random where there are no "
                "vectors, and must be trained; fit(freeze=['source']) keeps the source's"
            )
        super().learn_vocabulary(sentences, on_progress)
        rows = _random_rows(len(self.vocabulary), self.words.dim, self.chosen["seed"])
        for i, word in enumerate(self.vocabulary.words):
            if word in self.words:
                rows[i] = self.words.vectors[word]
                if self.words.unit:
                    rows[i] /= max(np.linalg.norm(rows[i]), np.finfo(np.float32).tiny)
        vectors = WordVectors.from_array(self.vocabulary.words, rows, self.vocabulary.counts)
        self.words = WordVectorsOf(vectors.with_oov("zero"), unit=False)

    def examples(self, sentences: Any, y: Any, on_progress: Any) -> Examples:
        """Two fields, "source" and "target"."""
        if y is None:
            raise ValueError(f"{self.name}: give fit translations, too: fit(source, target)")
        if self.target is None:
            self.target = self._target_vocabulary(y)
        return Examples.build(
            sentences.files if isinstance(sentences, _Files) else _Pairs(sentences, y),
            {"source": self.vocabulary, "target": self.target},
            {"source": self.tokenizer, "target": self.target_tokenizer},
            fields=("source", "target"),
            end={"source": None, "target": END},
            unknown=UNKNOWN,
            unknown_words="symbol",
            min_length=self.chosen["min_length"],
            max_length=self.chosen["max_length"],
            on_progress=on_progress,
        )

    def _target_vocabulary(self, y: Any) -> Vocabulary:
        vocabulary = self.chosen["target_vocabulary"]
        if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            raise TypeError(f"target_vocabulary must be a Vocabulary, got {type(vocabulary).__name__}")
        if vocabulary is None:
            vocabulary = Vocabulary.from_corpus(y, self.target_tokenizer, min_count=self.chosen["min_count"])
        counts = {word: n for word, n in vocabulary.items() if word not in (BEGIN, END, UNKNOWN)}
        target = Vocabulary(counts, max_size=self.chosen["vocabulary_size"])
        if len(target) == 0:
            raise ValueError(f"{self.name}: the translations have no words")
        return target

    def prepare(self, network: Any, examples: Examples) -> None:
        """Loads the rows of both tables, and the target's word counts."""
        network.load_source_words(self.words.table(self.vocabulary, {len(self.vocabulary): UNKNOWN}))
        if self.target is None:
            return
        ids = self.target_ids(len(self.target), examples.symbols("target")[END])
        network.load_words(_random_rows(ids["words"], self.words.dim, self.chosen["seed"] + 1))
        set_word_counts(network, self.target, examples, "target", ids)

    def batcher(self, examples: Examples, *, validating: bool, rank: int, world: int) -> Batcher:
        """Batches by both lengths, or if they must be equal by the source's: few pairs agree in both."""
        if self.target is not None:
            equal = self.chosen["batching"] == "equal_length"
            self.length_fields = ("source",) if equal else ("source", "target")  # type: ignore[misc]
        return super().batcher(examples, validating=validating, rank=rank, world=world)

    def decisive(self, network: Any) -> dict[str, Any]:
        """Both vocabularies, and the initial rows of the source words."""
        if self.target is None:
            return super().decisive(network)
        words = json.dumps([self.target.words, self.target.counts.tolist()])
        target = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
        return {**super().decisive(network), "target": target}

    def attributes(self) -> dict[str, Any]:
        """The target's vocabulary and tokenizer."""
        return {"target_vocabulary_": self.target, "_target_tokenizer": self.target_tokenizer}

    @classmethod
    def saved_attributes(cls, encoder: Any) -> dict[str, Any]:
        """Words, their counts and the tokenizer of the target; nothing if a head was trained."""
        target = encoder.target_vocabulary_
        if target is None:
            return {}
        tokenizer = None if encoder.target_tokenizer is None else encoder._target_tokenizer.to_config()
        return {"words": target.words, "counts": target.counts.tolist(), "tokenizer": tokenizer}

    @classmethod
    def load_attributes(cls, encoder: Any, content: Any, *, trust: bool) -> None:
        """As in `Task`."""
        if content == {} and encoder.head is not None:
            encoder.target_vocabulary_, encoder._target_tokenizer = None, encoder._new_tokenizer()
            return
        if not isinstance(content, dict) or set(content) != {"words", "counts", "tokenizer"}:
            raise ValueError("params: more: expected words, counts and tokenizer of the target")
        encoder.target_vocabulary_ = Vocabulary(dict(zip(content["words"], content["counts"], strict=True)))
        if content["tokenizer"] is None:
            encoder._target_tokenizer = encoder._new_tokenizer()
        else:
            encoder._target_tokenizer = Tokenizer.from_config(content["tokenizer"], trust=trust)
            encoder.target_tokenizer = encoder._target_tokenizer

    @classmethod
    def fitted_sizes(cls, encoder: Any, config: Mapping[str, Any], vocabulary: Vocabulary) -> dict[str, int]:
        """The sizes of both tables; of the source's alone if a head was trained."""
        target = encoder.target_vocabulary_
        ids = {} if target is None else cls.target_ids(len(target), config["end"])
        return {**cls.ids(len(vocabulary)), **ids}

    @classmethod
    def table_words(cls, encoder: Any, vocabulary: Vocabulary, network: Any) -> dict[str, list[Any]]:
        """As in `Task`, for both languages."""
        tables = {"source_words": row_words(vocabulary, cls.symbols)}
        if (target := encoder.target_vocabulary_) is not None:
            tables["words"] = row_words(target, cls.target_symbols(len(target), network._config["end"]))
        return tables


def translation_tokenizer(name: str, tokenizer: Any, lowercase: Any) -> Tokenizer:
    """The tokenizer of a language without word vectors. "auto" splits at white space and keeps the case.

    Args:
        name: The encoder's class, for messages.
        tokenizer: The parameter of that name.
        lowercase: The parameter of that name.
    """
    split = "whitespace" if isinstance(tokenizer, str) and tokenizer == "auto" else tokenizer
    chosen = chosen_tokenizer(name, split, lowercase, compounds=True)
    if chosen.lowercase == "auto":
        chosen = Tokenizer(chosen, lowercase=False, invalid=chosen.invalid)  # type: ignore[arg-type]
    return chosen


def parallel_texts(source: Any, target: Any) -> tuple[Any, Any]:
    """Both texts as iterables that can be read again. Every line of a file is a sentence.

    Args:
        source: Sentences, or the name of a text file.
        target: Their translations.
    """
    if all(isinstance(side, str | os.PathLike) for side in (source, target)):
        files = _Files(source, target)
        return files, Corpus(files.files["target"], keep_empty=True)
    return tuple(  # type: ignore[return-value]
        Corpus(side, keep_empty=True) if isinstance(side, str | os.PathLike) else repeatable(side)
        for side in (source, target)
    )


def _random_rows(count: int, features: int, seed: int) -> Floats:
    rows: Floats = np.random.default_rng(seed).standard_normal((count, features), np.float32)
    rows *= np.float32(features**-0.5)
    return rows


class _Files:
    """Parallel files; iterating yields the sentences of the source."""

    def __init__(self, source: Any, target: Any) -> None:
        self.files = {"source": os.fspath(source), "target": os.fspath(target)}

    def __iter__(self) -> Iterator[str]:
        return iter(Corpus(self.files["source"], keep_empty=True))


class _Pairs:
    """Sentences with their translations; can be read again."""

    def __init__(self, source: Any, target: Any) -> None:
        self.source, self.target = source, target

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        nothing = object()
        target = iter(self.target)
        for i, sentence in enumerate(self.source):
            if (translation := next(target, nothing)) is nothing:
                raise ValueError(f"sentence {i} has no translation: there are {i} translations")
            yield sentence, translation
        if next(target, nothing) is not nothing:
            raise ValueError("there are more translations than sentences")
