"""Counting words, and pairs of them, on any engine."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..checks import checked_str
from ..errors import FormatError
from ..progress import progress as progress_bar
from ..text.inputs import Progress
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary, vocabulary_bounds
from ..vectors import WordVectors
from ..vectors.train import pair_counter, train
from .arrow import pyarrow
from .engines import Engine, engine_of
from .fit import Group, Merging, Paths, learn, map_shards, merged, scratch_folder
from .folders import Folder
from .inputs import inputs_of
from .opened import computing
from .shards import Columns, shards_of
from .sizes import bytes_of

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

    A worker's memory grows with its distinct words; nothing is left out before all are counted, so that the
    result is exactly that of one process. `Frequencies(vocabulary)` makes frequencies of it.

    Args:
        inputs: As for `encode`.
        tokenizer: A `Tokenizer`, or what one is made of.
        min_count: Words seen less often are left out.
        max_size: At most so many words are kept, the most frequent ones.
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
    cut = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
    with progress_bar(show_progress_bar, "count", "B") as bar:
        job = _Job(inputs, engine, workers, threads, column, shard_size, scratch)
        return job.words(cut, min_count, max_size, bar)


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

    Words and pairs are counted by workers, and their counts merged; this process decomposes them. A worker's
    memory grows with its distinct pairs, which `max_words` bounds; so does this process's.

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
    """Files, and the engine that counts what is in them."""

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
            names = self._mapped(
                folder, _CountWords(folder, self.columns, tokenizer, self.runner.threads), report
            )
            names = merged(self.runner, folder, names, _MergeWords(folder, self.runner.threads))
            table, total = _merged_words(folder, names)
        return _vocabulary(table, total, *bounds)

    def pairs(
        self, vocabulary: Vocabulary, tokenizer: Tokenizer, window: int, report: Progress | None
    ) -> _core.SparseMatrix:
        """As `vectors.train.Counting.pairs`."""
        with scratch_folder(self.scratch) as folder:
            _write_words(folder, _VOCABULARY, vocabulary)
            known = _Pairs(folder, tokenizer, window, self.runner.threads)
            names = self._mapped(folder, _CountPairs(known, self.columns), report)
            names = merged(self.runner, folder, names, _MergePairs(known))
            counter = pair_counter(vocabulary, tokenizer, window)
            for name in names:
                _add_pairs(folder, name, counter)
            return counter.finish()

    def _mapped(self, folder: Folder, work: Callable[[Group], int], report: Progress | None) -> list[str]:
        return map_shards(self.runner, folder, self.shards, work, report, few=True)


# --- words: a table of Arrow in a file, and the number of all tokens beside it


def _write_words(folder: Folder, name: str, vocabulary: Vocabulary) -> None:
    arrow = pyarrow()
    words = arrow.array(vocabulary.words, type=arrow.large_string())
    table = arrow.table({"word": words, "count": arrow.array(vocabulary.counts)})
    _write_table(folder, name, table, vocabulary.total)


def _write_table(folder: Folder, name: str, table: Any, total: int) -> None:
    arrow = pyarrow()
    table = table.replace_schema_metadata({"total": str(total)})
    with folder.writing(name) as file, arrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def _merged_words(folder: Folder, names: list[str]) -> tuple[Any, int]:
    """All words of some files, each once, and the number of tokens."""
    arrow = pyarrow()
    kind = arrow.schema([("word", arrow.large_string()), ("count", arrow.int64())])
    table, total = kind.empty_table(), 0
    for name in names:
        more = arrow.ipc.open_stream(folder.read(name)).read_all()
        total += int(more.schema.metadata[b"total"])
        both = arrow.concat_tables([table, more.cast(kind)])
        sums = both.group_by("word").aggregate([("count", "sum")])
        table = arrow.table([sums["word"], sums["count_sum"]], schema=kind)
    return table, total


def _vocabulary(table: Any, total: int, min_count: int, max_size: int) -> Vocabulary:
    counts = np.ascontiguousarray(table.column("count").to_numpy())
    whole = _core.Vocabulary(table.column("word").to_pylist(), counts, total)
    return Vocabulary._of(whole.pruned(min_count, max_size))


@dataclass(frozen=True)
class _CountWords:
    folder: Folder
    columns: Columns
    tokenizer: Tokenizer
    threads: int | None

    def __call__(self, group: Group) -> int:
        with computing(self.threads):
            counter = _core.VocabularyCounter(self.tokenizer.core())
            done = sum(
                learn(shard, self.columns, lambda texts: counter.add(self.tokenizer.prepare(texts)))
                for shard in group.shards
            )
            counted = Vocabulary._of(counter.finish(min_count=1, max_size=0))
            _write_words(self.folder, group.file, counted)
        return done


@dataclass(frozen=True)
class _MergeWords:
    folder: Folder
    threads: int | None

    def __call__(self, task: Merging) -> None:
        _write_table(self.folder, task.name, *_merged_words(self.folder, list(task.names)))


# --- pairs: an archive of NumPy's arrays in a file

_VOCABULARY = "vocabulary"


@dataclass(frozen=True)
class _Pairs:
    """What all tasks count with."""

    folder: Folder
    tokenizer: Tokenizer
    window: int
    threads: int | None

    def counter(self) -> _core.CooccurrenceCounter:
        table, total = _merged_words(self.folder, [_VOCABULARY])
        return pair_counter(_vocabulary(table, total, 0, 0), self.tokenizer, self.window)

    def write(self, name: str, counter: _core.CooccurrenceCounter) -> None:
        values, columns, offsets = counter.finish().arrays()
        held = io.BytesIO()
        np.savez(held, values=values, columns=columns, offsets=offsets)
        self.folder.write(name, held.getvalue())


def _add_pairs(folder: Folder, name: str, counter: _core.CooccurrenceCounter) -> None:
    try:
        with np.load(io.BytesIO(folder.read(name)), allow_pickle=False) as arrays:
            counter.add_counts(arrays["values"], arrays["columns"], arrays["offsets"])
    except (ValueError, KeyError) as error:
        raise FormatError(f"{folder.name_of(name)}: is damaged: {error}") from error


@dataclass(frozen=True)
class _CountPairs:
    known: _Pairs
    columns: Columns

    def __call__(self, group: Group) -> int:
        with computing(self.known.threads):
            counter = self.known.counter()
            cut = self.known.tokenizer
            done = sum(
                learn(shard, self.columns, lambda texts: counter.add(cut.prepare(texts)))
                for shard in group.shards
            )
            self.known.write(group.file, counter)
        return done


@dataclass(frozen=True)
class _MergePairs:
    known: _Pairs

    def __call__(self, task: Merging) -> None:
        with computing(self.known.threads):
            counter = self.known.counter()
            for name in task.names:
                _add_pairs(self.known.folder, name, counter)
            self.known.write(task.name, counter)
