"""Counts words and co-occurrences in files, on any engine."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from .. import _core
from ..checks import checked_str
from ..progress import progress as progress_bar
from ..sizes import bytes_of
from ..text.inputs import Progress
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary, vocabulary_bounds
from ..vectors import WordVectors
from ..vectors.train import pair_counter, train
from .arrow import pyarrow
from .engines import Engine, engine_of
from .folders import Folder
from .inputs import inputs_of
from .shards import Columns, shards_of
from .sums import Paths, add_sums, scratch_folder

__all__ = ["count_words", "train_vectors"]


def count_words(
    inputs: Paths,
    tokenizer: Any = "words",
    *,
    min_count: int = 1,
    max_size: int | None = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    threads: int | None = None,
    column: str = "text",
    shard_size: int | str = "64MB",
    scratch: str | os.PathLike[str] | None = None,
    show_progress_bar: bool | None = None,
) -> Vocabulary:
    r"""Counts the words of files, on this machine or on a cluster: as `Vocabulary.from_corpus` does.

    The result is exactly that of one process: rare words are dropped after all are counted, so a worker's
    memory grows with its distinct words. `Frequencies(vocabulary)` turns counts into frequencies.

    Args:
        inputs: As for `encode`.
        tokenizer: A `Tokenizer`, or its first argument.
        min_count: Minimum count of a word.
        max_size: Maximum number of words; the most frequent ones stay.
        engine: As for `encode`.
        workers: Likewise.
        threads: Likewise.
        column: Likewise.
        shard_size: Likewise.
        scratch: As for `fit`.
        show_progress_bar: Likewise.

    Returns:
        The vocabulary.

    Example:
        >>> import pathlib, tempfile, sentencode as se
        >>> path = pathlib.Path(tempfile.mkdtemp(), "in.txt")
        >>> _ = path.write_text("a man\na plan\n")
        >>> dict(se.scale.count_words(path, "whitespace", workers=1))
        {'a': 2, 'man': 1, 'plan': 1}
    """
    tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
    with progress_bar(show_progress_bar, "count", "B") as bar:
        job = _Job(inputs, engine, workers, threads, column, shard_size, scratch)
        return job.words(tokenizer, min_count, max_size, bar)


def train_vectors(
    inputs: Paths,
    dim: int = 300,
    *,
    window: int = 5,
    min_count: int = 5,
    max_words: int | None = 100_000,
    tokenizer: Any = "words",
    lowercase: bool = True,
    smoothing: float = 0.75,
    storage: Any = "float32",
    seed: int = 20181111,
    progress: Any = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    threads: int | None = None,
    column: str = "text",
    shard_size: int | str = "64MB",
    scratch: str | os.PathLike[str] | None = None,
) -> WordVectors:
    r"""Trains word vectors on files, by "ppmi": `WordVectors.train`, with workers that count.

    Workers count words and co-occurrences; this process factorizes their matrix. Memory grows with the number
    of distinct pairs, which `max_words` bounds.

    Args:
        inputs: As for `encode`. They are read twice.
        dim: As for `WordVectors.train`.
        window: Likewise.
        min_count: Likewise.
        max_words: Likewise.
        tokenizer: Likewise.
        lowercase: Likewise.
        smoothing: Likewise.
        storage: Likewise.
        seed: Likewise.
        progress: Likewise.
        engine: As for `encode`.
        workers: Likewise.
        threads: Likewise.
        column: Likewise.
        shard_size: Likewise.
        scratch: As for `fit`.

    Returns:
        The vectors, most frequent words first, with their counts.

    Example:
        >>> import pathlib, tempfile, sentencode as se
        >>> path = pathlib.Path(tempfile.mkdtemp(), "in.txt")
        >>> _ = path.write_text("the cat sat on the mat\nthe dog sat on the mat\n" * 5)
        >>> se.scale.train_vectors(path, dim=2, window=2, workers=1, shard_size=100)
        WordVectors(6 words, dim=2, storage='float32', oov='skip')
    """
    job = _Job(inputs, engine, workers, threads, column, shard_size, scratch)
    table = train(
        None,
        dim,
        method="ppmi",
        window=window,
        min_count=min_count,
        max_words=max_words,
        tokenizer=tokenizer,
        lowercase=lowercase,
        smoothing=smoothing,
        epochs=1,
        storage=storage,
        seed=seed,
        progress=progress,
        counting=job,
    )
    return WordVectors(table)


class _Job:
    """Counts words and pairs of files with an engine; a `vectors.train.Counting`."""

    def __init__(
        self,
        inputs: Paths,
        engine: str | Engine,
        workers: int | None,
        threads: int | None,
        column: str,
        shard_size: int | str,
        scratch: str | os.PathLike[str] | None,
    ) -> None:
        columns = Columns(checked_str("column", column))
        self.shards, self.columns = shards_of(inputs_of(inputs), columns, bytes_of("shard_size", shard_size))
        self.runner = engine_of(engine, workers=workers, threads=threads)
        self.scratch = scratch

    def words(
        self, tokenizer: Tokenizer, min_count: int, max_size: int | None, report: Progress | None
    ) -> Vocabulary:
        """As `vectors.train.Counting.words`."""
        bounds = vocabulary_bounds(min_count, max_size)
        with scratch_folder(self.scratch) as folder:
            words: _Words = self._sum(partial(_Words, tokenizer), folder, report)
            return words.vocabulary(*bounds)

    def pairs(
        self, vocabulary: Vocabulary, tokenizer: Tokenizer, window: int, report: Progress | None
    ) -> _core.SparseMatrix:
        """As `vectors.train.Counting.pairs`."""
        with scratch_folder(self.scratch) as folder:
            words = _Words(tokenizer)
            words.add_vocabulary(vocabulary)
            folder.write(_VOCABULARY, words.content())
            pairs: _Pairs = self._sum(partial(_no_pairs, folder, tokenizer, window), folder, report)
            return pairs.counter.finish()

    def _sum(self, new: Callable[[], Any], folder: Folder, report: Progress | None) -> Any:
        return add_sums(new(), new, self.runner, folder, self.shards, self.columns, report, large=True)


class _Words:
    """Counts of words, a `Sum`; its bytes are an Arrow stream."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        arrow = pyarrow()
        self.tokenizer = tokenizer
        self.schema = arrow.schema([("word", arrow.large_string()), ("count", arrow.int64())])
        self.table, self.total = self.schema.empty_table(), 0

    @contextmanager
    def adding(self) -> Iterator[Callable[[Any], None]]:
        """A context with a function that adds sentences."""
        counter = _core.VocabularyCounter(self.tokenizer.core())
        yield lambda texts: counter.add(self.tokenizer.prepare(texts))
        self.add_vocabulary(Vocabulary._of(counter.finish(min_count=1, max_size=0)))

    def add_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Adds the counts of a vocabulary."""
        arrow = pyarrow()
        words = arrow.array(vocabulary.words, type=arrow.large_string())
        table = arrow.table([words, arrow.array(vocabulary.counts)], schema=self.schema)
        self._add(table, vocabulary.total)

    def add(self, content: bytes) -> None:
        """Adds counts of another process."""
        table = pyarrow().ipc.open_stream(content).read_all()
        self._add(table.cast(self.schema), int(table.schema.metadata[b"total"]))

    def _add(self, table: Any, total: int) -> None:
        arrow = pyarrow()
        self.total += total
        sums = arrow.concat_tables([self.table, table]).group_by("word").aggregate([("count", "sum")])
        self.table = arrow.table([sums["word"], sums["count_sum"]], schema=self.schema)

    def content(self) -> bytes:
        """The counts as bytes."""
        arrow = pyarrow()
        table = self.table.replace_schema_metadata({"total": str(self.total)})
        buffer = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(buffer, table.schema) as writer:
            writer.write_table(table)
        return bytes(buffer.getvalue())

    def vocabulary(self, min_count: int, max_size: int) -> Vocabulary:
        """The words with at least `min_count` occurrences, at most `max_size` (0: all)."""
        counts = np.ascontiguousarray(self.table.column("count").to_numpy())
        words = _core.Vocabulary(self.table.column("word").to_pylist(), counts, self.total)
        return Vocabulary._of(words.pruned(min_count, max_size))


_VOCABULARY = "vocabulary"  # file of the words whose pairs are counted


class _Pairs:
    """Counts of pairs of words, a `Sum`; its bytes are a NumPy archive."""

    def __init__(self, tokenizer: Tokenizer, counter: _core.CooccurrenceCounter) -> None:
        self.tokenizer, self.counter = tokenizer, counter

    @contextmanager
    def adding(self) -> Iterator[Callable[[Any], None]]:
        """A context with a function that adds sentences."""
        yield lambda texts: self.counter.add(self.tokenizer.prepare(texts))

    def add(self, content: bytes) -> None:
        """Adds counts of another process."""
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            self.counter.add_counts(arrays["values"], arrays["columns"], arrays["offsets"])

    def content(self) -> bytes:
        """The counts as bytes; the counter is empty then."""
        values, columns, offsets = self.counter.finish().arrays()
        buffer = io.BytesIO()
        np.savez(buffer, values=values, columns=columns, offsets=offsets)
        return buffer.getvalue()


def _no_pairs(folder: Folder, tokenizer: Tokenizer, window: int) -> _Pairs:
    """Empty counts of the pairs of the job's words."""
    words = _Words(tokenizer)
    words.add(folder.read(_VOCABULARY))
    return _Pairs(tokenizer, pair_counter(words.vocabulary(0, 0), tokenizer, window))
