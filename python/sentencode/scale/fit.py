"""Fitting to files on any engine: sums of shards, merged in a tree."""

from __future__ import annotations

import os
import pickle
import re
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ..checks import checked_str
from ..encoder import in_blocks
from ..errors import FormatError
from ..files import without_link
from ..linear import LAES
from ..linear.base import LinearEncoder
from ..progress import progress as progress_bar
from ..text.inputs import counted_from
from ..vectors import WordVectors
from .engines import Engine, engine_of, running
from .folders import Folder
from .inputs import inputs_of
from .opened import computing
from .shards import Columns, Shard, read, shards_of
from .sizes import bytes_of

__all__ = [
    *("Group", "Merging", "Paths"),
    *("fit", "learn", "map_shards", "merged", "scratch_folder", "statistics_bytes"),
]

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
_Encoder = TypeVar("_Encoder", bound=LinearEncoder)

_ROWS = 1 << 16  # sentences that are learnt from at a time
_FAN_IN = 8  # files that are merged by one task
_SMALL = 1 << 26  # bytes of sums: of smaller ones there may be more than workers
_BESIDE = 1 << 28  # bytes of a worker beside its sums: Python, text, words' vectors in use
_JOB = re.compile(r"sentencode-[0-9a-f]{32}")  # the folder of a job, within the one that the user names
_GROUPS = 4  # of shards for each worker, where sums are small: so that no worker waits for another


def fit(
    encoder: _Encoder,
    inputs: Paths,
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    threads: int | None = None,
    column: str = "text",
    shard_size: int | str = "64MB",
    scratch: str | os.PathLike[str] | None = None,
    memory: int | str | None = None,
    shorten: bool = False,
    show_progress_bar: bool | None = None,
) -> _Encoder:
    r"""Fits a linear encoder to files, on this machine or on a cluster: as its `fit` does, but for rounding.

    Each task reads some shards and sums what the encoder learns from; sums go to a file each and are merged,
    eight at a time, by further tasks, until one is left, which this process solves. What is learnt depends on
    shards, their order and the engine by rounding alone: 1e-7 of the sums. The sums of a lost worker are
    made again, and each file is merged once.

    Args:
        encoder: A `SIF`, `USIF` or `LAES`. What it had learnt is forgotten.
        inputs: As for `encode`.
        engine: As for `encode`.
        workers: Likewise.
        threads: Likewise.
        column: Likewise.
        shard_size: Likewise.
        scratch: A folder or URL for the sums, which all machines read and write; they are removed at the end,
            and what a stopped job has left of them before. None: a temporary one of this machine.
        memory: What a worker may use: bytes, or as in "8GB". None: not limited here. Sums have the size that
            `statistics_bytes` tells, and a worker holds up to three of them.
        shorten: Whether to lower `max_length` of a LAES until it fits into `memory`; else that is an error.
        show_progress_bar: Whether to show one. None: if the logger "sentencode" shows information.

    Returns:
        The encoder itself, fitted.

    Raises:
        TypeError: If it is no such encoder.
        ValueError: If there is nothing to fit to, or the sums do not fit into `memory`.
        FormatError: If an input cannot be read; the message says where.
        OSError: If a file cannot be read or written.
        RuntimeError: If a worker is lost again and again.

    Example:
        >>> import pathlib, tempfile, sentencode as se
        >>> vectors = se.WordVectors.from_dict({"the": [3, 1], "cat": [1, 2], "dog": [1, -2]})
        >>> path = pathlib.Path(tempfile.mkdtemp(), "in.txt")
        >>> _ = path.write_text("the cat\nthe dog\nthe\n")
        >>> sif = se.scale.fit(se.SIF(vectors, a=None), path, workers=1, shard_size=10)
        >>> sif.components_.round(2)
        array([[0.95, 0.31]], dtype=float32)
    """
    if not isinstance(encoder, LinearEncoder) or not encoder._learns:
        raise TypeError(f"fit: expected a SIF, USIF or LAES that learns, got {encoder!r:.60}")
    most = None if memory is None else bytes_of("memory", memory)
    if most is not None:
        _check_memory(encoder, most, shorten)
    columns = Columns(checked_str("column", column))
    shards, columns = shards_of(inputs_of(inputs), columns, bytes_of("shard_size", shard_size))
    runner = engine_of(engine, workers=workers, threads=threads)
    fresh: Any = type(encoder)(**encoder.get_params(deep=False))
    fresh._forget()  # checks the parameters
    small = statistics_bytes(fresh) <= _SMALL
    with scratch_folder(scratch) as folder, progress_bar(show_progress_bar, "fit", "B") as bar:
        template = _Template.of(fresh, folder)
        names = map_shards(
            runner, folder, shards, _Sum(template, columns, folder, runner.threads), bar, few=not small
        )
        for name in merged(runner, folder, names, _Merge(template, folder, runner.threads)):
            fresh._add_statistics(folder.read(name))
    fresh._finish()
    encoder._take(fresh)
    return encoder


def statistics_bytes(encoder: LinearEncoder) -> int:
    """How large the sums are that an encoder learns from: what one worker sends, at most.

    SIF and uSIF: 8 n^2 bytes, for word vectors of n numbers. LAES: 4 n^2 L (L + 1) for each direction, L
    being `max_length`, or the longest sentence if that is shorter.

    Args:
        encoder: A linear encoder.

    Returns:
        Bytes.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.default()
        >>> from sentencode.scale import statistics_bytes
        >>> statistics_bytes(se.SIF(vectors)), statistics_bytes(se.LAES(vectors, max_length=64))
        (175232, 364482560)
    """
    n = encoder._word_vectors.dim
    if not isinstance(encoder, LAES):
        return 8 * n * n
    length, directions = encoder.max_length, 2 if encoder.direction == "both" else 1
    return directions * 4 * n * n * length * (length + 1)


def _check_memory(encoder: LinearEncoder, most: int, shorten: bool) -> None:
    """Refuses sums that a worker cannot hold, or makes them smaller."""
    # A file that is read, what is made of it, and what it is added to.
    needed = _BESIDE + 3 * statistics_bytes(encoder)
    if needed <= most:
        return
    if not isinstance(encoder, LAES):
        raise ValueError(f"memory: a worker needs {needed:,} bytes for the sums, and may use {most:,}")
    given = encoder.max_length
    for length in range(given - 1, 0, -1):
        encoder.max_length = length
        if _BESIDE + 3 * statistics_bytes(encoder) <= most:
            break
    else:
        encoder.max_length = given
        raise ValueError(f"memory: a worker needs more than {most:,} bytes, even for sentences of one word")
    if not shorten:
        length, encoder.max_length = encoder.max_length, given
        raise ValueError(
            f"memory: with max_length={given} a worker needs {needed:,} bytes for the sums of a LAES, and "
            f"may use {most:,}; max_length={length} fits (shorten=True takes it)"
        )
    warnings.warn(f"max_length was {given}; with this memory it is {length}", UserWarning, stacklevel=3)


@contextmanager
def scratch_folder(scratch: str | os.PathLike[str] | None) -> Iterator[Folder]:
    """A new folder for the files of one job, which is removed at its end.

    Args:
        scratch: Where to make it: a folder or URL. Folders that stopped jobs have left there are removed, but
            not at a URL, where nothing shows whether a job still runs. None: a temporary folder.

    Raises:
        BlockingIOError: If another job of this machine uses it.
        FileExistsError: If it holds anything else.
    """
    if scratch is None:
        with tempfile.TemporaryDirectory(prefix="sentencode-") as name:
            yield Folder(name)
        return
    folder = Folder(scratch)
    folder.make()
    with folder.locked():
        names = [name for name in folder.names() if not name.startswith(".")]
        if others := [name for name in names if not _JOB.fullmatch(name)]:
            raise FileExistsError(
                17, f"there are files, such as {others[0]}: give an empty folder", folder.path
            )
        for name in names if folder.is_local else ():
            folder.inside(name).remove_all()
        job = folder.inside(f"sentencode-{uuid.uuid4().hex}")
        try:
            job.make()
            yield job
        finally:
            job.remove_all()


def map_shards(
    runner: Engine,
    folder: Folder,
    shards: list[Shard],
    work: Callable[[Group], int],
    bar: Any,
    *,
    few: bool,
) -> list[str]:
    """Has each group of shards summed into a file.

    Args:
        runner: The engine.
        folder: Where the files are.
        shards: All of them.
        work: Of a group: writes its file and returns how many sentences it read.
        bar: Called with the bytes that were read, and all; or None.
        few: Whether there are to be no more files than workers.

    Returns:
        The names of the files, in the order of the shards.
    """
    count = runner.workers * (1 if few else _GROUPS)
    groups = [Group(number, tuple(part)) for number, part in enumerate(_shared_out(shards, count))]
    total, done = sum(shard.size for shard in shards), 0
    with running(runner, work, groups) as results:
        for place, _ in results:
            done += sum(shard.size for shard in groups[place].shards)
            if bar is not None:
                bar(done, total)
    return [group.file for group in groups]


def merged(runner: Engine, folder: Folder, names: list[str], work: Callable[[Merging], None]) -> list[str]:
    """Merges files, `_FAN_IN` at a time, in an order that does not depend on who is done first.

    Args:
        runner: The engine.
        folder: Where they are.
        names: The files; each is removed when it is merged.
        work: Merges some into one.

    Returns:
        The files that are left, a few at most: this process merges them itself.
    """
    level = 0
    while len(names) > _FAN_IN:
        level += 1
        tasks = [
            Merging(f"merged-{level}-{i:05d}", tuple(names[begin : begin + _FAN_IN]))
            for i, begin in enumerate(range(0, len(names), _FAN_IN))
        ]
        with running(runner, work, tasks) as results:
            for place, _ in results:
                for name in tasks[place].names:
                    folder.remove(name)
        names = [task.name for task in tasks]
    return names


@dataclass(frozen=True)
class Group:
    """Shards that one task sums up."""

    number: int
    shards: tuple[Shard, ...]

    @property
    def file(self) -> str:
        """The name of the file with the sums."""
        return f"sums-{self.number:05d}"

    def __str__(self) -> str:
        return f"{len(self.shards)} shards from {self.shards[0]}"


@dataclass(frozen=True)
class Merging:
    """Files that one task merges into another."""

    name: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"merging {', '.join(self.names)}"


def _shared_out(shards: list[Shard], count: int) -> list[list[Shard]]:
    """At most so many runs of shards, of about the same size."""
    total = sum(shard.size for shard in shards)
    groups: list[list[Shard]] = []
    done, last = 0, -1
    for shard in shards:
        place = min(count - 1, (done + shard.size // 2) * count // max(total, 1))
        if place != last:
            groups.append([])
            last = place
        groups[-1].append(shard)
        done += shard.size
    return groups


@dataclass(frozen=True)
class _Template:
    """An encoder to be fitted: a pickle in the scratch folder, which a worker reads once.

    Its name is this job's own: workers live longer than a job, and know it by its name.
    """

    folder: Folder
    name: str

    @classmethod
    def of(cls, encoder: LinearEncoder, folder: Folder) -> _Template:
        table = encoder._word_vectors
        if table.path is None:  # else its pickle would hold it
            if not folder.is_local:
                raise ValueError(
                    "the word vectors are in memory alone: save them where every machine reads them, and "
                    "load them from there (WordVectors.save, load)"
                )
            path = without_link(folder.name_of("vectors.sentencode"))
            table.save(path)
            table = WordVectors.load(path)
        bare = type(encoder)(**{**encoder.get_params(deep=False), "vectors": table})
        name = f"encoder-{uuid.uuid4().hex}"
        folder.write(name, pickle.dumps(bare))
        return cls(folder, name)

    def new(self) -> Any:
        """An encoder that has learnt nothing."""
        key = self.folder.name_of(self.name)
        if key not in _templates:
            _templates.clear()  # of jobs before
            _templates[key] = pickle.loads(self.folder.read(self.name))
        known = _templates[key]
        return known._sibling(type(known), **known.get_params(deep=False))


_templates: dict[str, Any] = {}


@dataclass(frozen=True)
class _Sum:
    template: _Template
    columns: Columns
    folder: Folder
    threads: int | None

    def __call__(self, group: Group) -> int:
        with computing(self.threads):
            encoder = self.template.new()
            encoder._forget()
            done = 0
            with encoder._learning() as take:
                for shard in group.shards:
                    done += learn(shard, self.columns, partial(in_blocks, take=take))
            self.folder.write(group.file, encoder._statistics_to_bytes())
        return done


def learn(shard: Shard, columns: Columns, take: Callable[[Any], Any]) -> int:
    """Has all sentences of a shard learnt from; returns how many these are."""
    done = 0
    for texts, _ in read(shard, columns, _ROWS):
        texts = texts.drop_null() if hasattr(texts, "drop_null") else [t for t in texts if t is not None]
        try:
            with counted_from(done):
                take(texts)
        except (TypeError, ValueError) as error:
            raise FormatError(f"{shard}: {error}") from error
        done += len(texts)
    return done


@dataclass(frozen=True)
class _Merge:
    template: _Template
    folder: Folder
    threads: int | None

    def __call__(self, task: Merging) -> None:
        with computing(self.threads):
            encoder = self.template.new()
            encoder._forget()
            for name in task.names:
                encoder._add_statistics(self.folder.read(name))
            self.folder.write(task.name, encoder._statistics_to_bytes())
