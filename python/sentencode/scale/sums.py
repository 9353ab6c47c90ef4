"""Map and reduce: workers sum shards into files, and the files are merged in a tree."""

from __future__ import annotations

import os
import re
import socket
import tempfile
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from ..errors import FormatError
from ..text.inputs import counted_from
from .engines import Engine, running
from .folders import Folder
from .opened import computing
from .shards import Columns, Shard, read

__all__ = ["Paths", "Sum", "add_sums", "scratch_folder"]

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
_Sum = TypeVar("_Sum", bound="Sum")

_ROWS = 1 << 16  # sentences added at a time
_FAN_IN = 8  # files merged by one task
_GROUPS = 4  # groups of shards per worker, so that no worker waits for another
_JOB = re.compile(r"sentencode-(?:([0-9a-f]{8})-)?[0-9a-f]{32}")  # folder of a job of a machine


class Sum(Protocol):
    """A sum over sentences, such as counts of words."""

    def adding(self) -> AbstractContextManager[Callable[[Any], object]]:
        """A context with a function that adds a batch of sentences."""
        ...

    def add(self, content: bytes) -> None:
        """Adds another sum."""
        ...

    def content(self) -> bytes:
        """The sum as bytes."""
        ...


@contextmanager
def scratch_folder(scratch: str | os.PathLike[str] | None) -> Iterator[Folder]:
    """A new folder for the files of one job, removed at the end.

    Args:
        scratch: Parent folder or URL. Folders of stopped jobs of this machine are removed from a folder, but
            not from a URL, where a job may still run. None: a temporary folder.

    Raises:
        BlockingIOError: Another job of this machine uses it.
        FileExistsError: It holds other files.
    """
    if scratch is None:
        with tempfile.TemporaryDirectory(prefix="sentencode-") as name:
            yield Folder(name)
        return
    folder = Folder(scratch)
    folder.make()
    with folder.locked():
        jobs = {name: _JOB.fullmatch(name) for name in folder.names() if not name.startswith(".")}
        if others := [name for name, job_name in jobs.items() if not job_name]:
            raise FileExistsError(
                17, f"there are files, such as {others[0]}: give an empty folder", folder.path
            )
        machine = f"{zlib.crc32(socket.gethostname().encode()):08x}"
        for name, job_name in jobs.items() if folder.is_local else ():
            if job_name and job_name[1] in (None, machine):  # the lock may not work between machines
                folder.inside(name).remove_all()
        job = folder.inside(f"sentencode-{machine}-{uuid.uuid4().hex}")
        try:
            job.make()
            yield job
        finally:
            job.remove_all()


def add_sums(
    total: _Sum,
    new: Callable[[], Sum],
    runner: Engine,
    folder: Folder,
    shards: list[Shard],
    columns: Columns,
    on_progress: Callable[[int, int], None] | None,
    *,
    large: bool,
) -> _Sum:
    """Adds the sentences of all shards to a sum.

    The result depends on the shards and their order, not on which worker finishes first.

    Args:
        total: Sum that is added to.
        new: Picklable function that returns an empty sum.
        runner: Engine of the workers.
        folder: Folder of the job's files.
        shards: Shards to read.
        columns: Columns to read.
        on_progress: Called with the bytes read so far, and all bytes.
        large: Whether the sums are large: then there are no more of them than workers.
    """
    task = _Task(new, folder, columns, runner.threads)
    count = runner.workers * (1 if large else _GROUPS)
    groups = [Group(number, tuple(part)) for number, part in enumerate(_groups(shards, count))]
    size, done = sum(shard.size for shard in shards), 0
    with running(runner, task, groups) as results:
        for i, _ in results:
            done += sum(shard.size for shard in groups[i].shards)
            if on_progress is not None:
                on_progress(done, size)
    names = [group.name for group in groups]
    level = 0
    while len(names) > _FAN_IN:
        level += 1
        merges = [
            Merge(f"merged-{level}-{i:05d}", tuple(names[begin : begin + _FAN_IN]))
            for i, begin in enumerate(range(0, len(names), _FAN_IN))
        ]
        with running(runner, task, merges) as results:
            for i, _ in results:
                for name in merges[i].names:
                    folder.remove(name)
        names = [merge.name for merge in merges]
    for name in names:
        _add_file(total, folder, name)
    return total


@dataclass(frozen=True)
class Group:
    """Shards that one task sums."""

    number: int
    shards: tuple[Shard, ...]

    @property
    def name(self) -> str:
        """Name of the file with the sum."""
        return f"sums-{self.number:05d}"

    def __str__(self) -> str:
        return f"{len(self.shards)} shards from {self.shards[0]}"


@dataclass(frozen=True)
class Merge:
    """Files that one task merges into another."""

    name: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"merging {', '.join(self.names)}"


@dataclass(frozen=True)
class _Task:
    """Sums a group of shards, or merges files, in a worker."""

    new: Callable[[], Sum]
    folder: Folder
    columns: Columns
    threads: int | None

    def __call__(self, task: Group | Merge) -> None:
        with computing(self.threads):
            total = self.new()
            if isinstance(task, Merge):
                for name in task.names:
                    _add_file(total, self.folder, name)
            else:
                with total.adding() as add:
                    for shard in task.shards:
                        _add_shard(shard, self.columns, add)
            self.folder.write(task.name, total.content())


def _add_shard(shard: Shard, columns: Columns, add: Callable[[Any], object]) -> None:
    done = 0
    for texts, _ in read(shard, columns, _ROWS):
        texts = texts.drop_null() if hasattr(texts, "drop_null") else [t for t in texts if t is not None]
        try:
            with counted_from(done):
                add(texts)
        except (TypeError, ValueError) as error:
            raise FormatError(f"{shard}: {error}") from error
        done += len(texts)


def _add_file(total: Sum, folder: Folder, name: str) -> None:
    content = folder.read(name)
    try:
        total.add(content)
    except (ValueError, KeyError) as error:
        raise FormatError(f"{folder.name_of(name)}: is damaged: {error}") from error


def _groups(shards: list[Shard], count: int) -> list[list[Shard]]:
    """Splits shards into at most `count` runs of about the same size."""
    size = max(sum(shard.size for shard in shards), 1)
    groups: dict[int, list[Shard]] = {}
    done = 0
    for shard in shards:
        number = min(count - 1, (done + shard.size // 2) * count // size)
        groups.setdefault(number, []).append(shard)
        done += shard.size
    return list(groups.values())
