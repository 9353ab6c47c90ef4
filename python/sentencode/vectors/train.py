"""Training word vectors on a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from .. import _core
from .._extras import require
from ..checks import checked_int
from ..text.corpus import Corpus, repeatable
from ..text.inputs import TEXT_AT_ONCE, Progress, unit_of
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..threads import num_threads
from .stages import StageProgress, stage
from .tables import Storage, table_of

__all__ = ["Counting", "Epochs", "pair_counter", "train"]

_SENTENCES = 1 << 15  # in a batch


def train(
    corpus: Any,
    dim: int,
    *,
    method: Literal["ppmi", "word2vec"],
    window: int,
    min_count: int,
    max_words: int | None,
    tokenizer: Any,
    lowercase: bool,
    smoothing: float,
    epochs: int,
    storage: Storage,
    seed: int,
    progress: bool | StageProgress | None,
    counting: Counting | None = None,
) -> _core.WordVectors:
    """`WordVectors.train`, which describes the arguments. `counting` replaces `corpus` for "ppmi"."""
    if method not in ("ppmi", "word2vec"):
        raise ValueError(f"method must be 'ppmi' or 'word2vec', got {method!r}")
    dim = checked_int("dim", dim, 1)
    window = checked_int("window", window, 1, 2**31 - 1)
    min_count = checked_int("min_count", min_count, 1)
    max_words = None if max_words is None else checked_int("max_words", max_words, 1)
    epochs = checked_int("epochs", epochs, 1)
    seed = checked_int("seed", seed, 0, 2**64 - 1)
    if not isinstance(smoothing, Real):
        raise TypeError(f"smoothing must be a number, got {smoothing!r:.40} ({type(smoothing).__name__})")
    if method == "word2vec":
        require("gensim", "train")  # fails before the corpus is read
    if counting is None:
        corpus = repeatable(corpus)
        counting = _LocalCounting(corpus if isinstance(corpus, Corpus) else Corpus(corpus))
    elif method != "ppmi":
        raise ValueError(f"method={method!r} needs text; only 'ppmi' can be trained from counts")
    if not isinstance(tokenizer, Tokenizer):
        tokenizer = Tokenizer(tokenizer, lowercase=lowercase)

    unit = unit_of(counting.corpus) if isinstance(counting, _LocalCounting) else "B"
    with stage("counting words", progress, unit) as report:
        vocabulary = counting.words(tokenizer, min_count, max_words, report)
    if len(vocabulary) < dim:
        raise ValueError(
            f"the corpus has {len(vocabulary)} words that occur {min_count} times or more: too few for "
            f"vectors of dim={dim}; give more text, a smaller dim or a smaller min_count"
        )
    if method == "ppmi":
        with stage("counting pairs", progress, unit) as report:
            counts = counting.pairs(vocabulary, tokenizer, window, report)
        with stage("decomposing", progress) as report:
            matrix = _core.embed(counts, dim, smoothing=smoothing, seed=seed, progress=report)
    else:
        assert isinstance(counting, _LocalCounting)
        matrix = _word2vec(counting.corpus, vocabulary, tokenizer, dim, window, epochs, seed, progress)
    return table_of(vocabulary.words, matrix, vocabulary.counts, storage=storage)


def pair_counter(vocabulary: Vocabulary, tokenizer: Tokenizer, window: int) -> _core.CooccurrenceCounter:
    """Return a counter of pairs of the vocabulary's words."""
    return _core.CooccurrenceCounter(vocabulary.core, tokenizer.core(), window=window, weight="linear")


class Counting(Protocol):
    """Counts words of a corpus, and pairs of them."""

    def words(
        self, tokenizer: Tokenizer, min_count: int, max_size: int | None, report: Progress | None
    ) -> Vocabulary:
        """Return the counted words."""
        ...

    def pairs(
        self, vocabulary: Vocabulary, tokenizer: Tokenizer, window: int, report: Progress | None
    ) -> _core.SparseMatrix:
        """Return the counted pairs."""
        ...


class _LocalCounting:
    """Counts in this process."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def words(
        self, tokenizer: Tokenizer, min_count: int, max_size: int | None, report: Progress | None
    ) -> Vocabulary:
        return Vocabulary.from_corpus(
            self.corpus, tokenizer, min_count=min_count, max_size=max_size, on_progress=report
        )

    def pairs(
        self, vocabulary: Vocabulary, tokenizer: Tokenizer, window: int, report: Progress | None
    ) -> _core.SparseMatrix:
        counter = pair_counter(vocabulary, tokenizer, window)
        for batch in self.corpus.batches(_SENTENCES, text=TEXT_AT_ONCE, on_progress=report):
            counter.add(tokenizer.prepare(batch))
        return counter.finish()


def _word2vec(
    corpus: Corpus,
    vocabulary: Vocabulary,
    tokenizer: Tokenizer,
    dim: int,
    window: int,
    epochs: int,
    seed: int,
    progress: bool | StageProgress | None,
) -> npt.NDArray[np.float32]:
    """Skip-gram with negative sampling, by gensim."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=dim,
        window=window,
        min_count=1,  # the vocabulary is counted already
        sg=1,
        negative=5,
        sample=1e-4,
        seed=seed % 2**32,
        workers=num_threads(),
    )
    model.build_vocab_from_freq(dict(vocabulary.most_common()))
    sentences = Epochs(corpus, tokenizer, epochs, progress)
    model.train(sentences, total_words=vocabulary.total, epochs=epochs)
    vectors: npt.NDArray[np.float32] = model.wv[vocabulary.words]
    return vectors


class Epochs:
    """The corpus as token lists, with a progress bar per epoch."""

    def __init__(
        self, corpus: Corpus, tokenizer: Tokenizer, epochs: int, progress: bool | StageProgress | None
    ) -> None:
        self.corpus, self.tokenizer, self.epochs, self.progress = corpus, tokenizer, epochs, progress
        self.epoch = 0

    def __iter__(self) -> Iterator[list[str]]:
        self.epoch += 1
        with stage(f"epoch {self.epoch} of {self.epochs}", self.progress, unit_of(self.corpus)) as report:
            for batch in self.corpus.batches(_SENTENCES, text=TEXT_AT_ONCE, on_progress=report):
                tokens: Any = self.tokenizer(batch)
                yield from tokens
