"""Files of rows that grow on the disk: an interrupted command, given again, continues where it stopped."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

from .. import _core
from ..files import read_json, refuse_link, whole_file
from . import sources

__all__ = ["PartFile", "Whole", "check_places", "part_file", "whole_lines"]

# At most so many rows within so many bytes of a file: how many are there whole, and where the last one ends.
Whole = Callable[[FileIO, int, int], tuple[int, int]]

_SAVE_FIRST, _SAVE_EVERY = 0.1, 2.0  # seconds
_BLOCK = 1 << 20  # bytes that are read at a time
_NOTE_ROOM = 1 << 13  # bytes; what the file with the state may take of a disk


def check_places(target: Path, inputs: Iterable[str | Path | None], overwrite: bool) -> None:
    """Refuses a target that cannot be written, or whose unfinished file is read, before any work."""
    inputs = list(inputs)
    sources.check_output(target, inputs, overwrite)
    for work in _places(target):
        sources.check_output(work, inputs, overwrite=True)


@contextmanager
def part_file(
    target: Path, made_from: Mapping[str, Any], whole: Whole, *, restart: bool = False
) -> Iterator[PartFile]:
    """Opens the unfinished file of a target, for this process alone, behind the rows that are there.

    Rows go to `target` + ".part"; `target` + ".part.json" says how many are on the disk and what they were
    made from. Whatever interrupts the work, no file named `target` is ever incomplete.

    Args:
        target: The file to be made.
        made_from: All that rows depend on, as JSON has it.
        whole: Finds whole rows in the unfinished file.
        restart: Whether to begin again rather than to continue.

    Yields:
        The file, to be appended to and finished.

    Raises:
        BlockingIOError: If another process writes it.
        ValueError: If there is earlier work that was made from something else.
    """
    target = Path(_core.link_target(target))
    part, note = _places(target)
    with _locked(part) as file:
        _core.AtomicFile(note).discard()  # and what a process that was killed has left of one
        made = PartFile(target, file, dict(made_from), whole)
        made.take_up(restart)
        try:
            yield made
        except BaseException as error:
            with suppress(OSError):  # what was saved before still holds
                made.leave(error)
            raise


class PartFile:
    """An unfinished file. It is not buffered: a full disk stops the write that it concerns, not a later one.

    Args:
        target: The file to be made.
        file: The unfinished one, locked.
        made_from: What rows are made from.
        whole: Finds whole rows.

    Attributes:
        rows: How many there are.
    """

    def __init__(self, target: Path, file: FileIO, made_from: dict[str, Any], whole: Whole) -> None:
        self.target, self.rows = target, 0
        self._part, self._note = _places(target)
        self._file, self._made_from, self._whole = file, made_from, whole
        self._saved, self._wait = time.monotonic(), _SAVE_FIRST

    def take_up(self, restart: bool) -> None:
        """Continues behind the rows that earlier work has saved."""
        self._keep(0 if restart else self._rows_noted(), os.fstat(self._file.fileno()).st_size)

    def append(self, data: bytes, rows: int) -> None:
        """Writes rows, and now and then how many there are."""
        self._write(data)
        self.rows += rows
        if time.monotonic() - self._saved > self._wait:
            self._save()
            self._saved, self._wait = time.monotonic(), min(2 * self._wait, _SAVE_EVERY)

    def leave(self, error: BaseException) -> None:
        """Saves how many rows there are when something interrupts the work."""
        if not _is_at(self._file, self._part):  # it has its name already
            return
        # Bytes behind the last row may be part of one. If the disk may be full, rows make room for the state.
        room = _NOTE_ROOM if isinstance(error, OSError) else 0
        self._keep(self.rows, max(0, os.fstat(self._file.fileno()).st_size - room))
        self._save()

    def finish(self, header: bytes = b"", write: Callable[[Path, BinaryIO], None] | None = None) -> None:
        """Gives the file its name.

        Args:
            header: What replaces its first bytes.
            write: Writes the target from the unfinished file. None: they are the same.
        """
        if header:
            self._file.seek(0)
            self._write(header)
        self._flush()
        # The file gets its name last: once it is there, nobody gives the command again that would remove
        # the rest.
        if write is None:
            self._note.unlink(missing_ok=True)
            os.replace(self._part, self.target)  # before the lock is given back
            return
        with whole_file(self.target) as made:
            write(self._part, made)
            made.flush()
            os.fsync(made.fileno())  # a full disk is reported while there are rows to continue with
            self._part.unlink()
            self._note.unlink(missing_ok=True)

    def _rows_noted(self) -> int:
        """How many rows earlier work has noted; 0 when there is none."""
        try:
            state = read_json(self._note)
            rows = int(state.pop("rows"))
        except FileNotFoundError:
            return 0
        except (ValueError, KeyError, AttributeError, TypeError):
            raise ValueError(f"{self._note}: is damaged; --overwrite starts over") from None
        for name, now in self._made_from.items():
            if state.get(name) != now:
                raise ValueError(
                    f"{self._part}: was made with {name} = {state.get(name)}, now {now}; "
                    "--overwrite starts over"
                )
        return rows

    def _keep(self, rows: int, size: int) -> None:
        """Cuts the file behind so many rows at most, within so many bytes."""
        with self._named():
            self.rows, end = self._whole(self._file, rows, size)
            self._file.truncate(end)
            self._file.seek(end)

    def _save(self) -> None:
        """Only rows that are on the disk are counted."""
        self._flush()
        with whole_file(self._note) as new:
            new.write(json.dumps({**self._made_from, "rows": self.rows}, indent=1).encode())

    def _write(self, data: bytes) -> None:
        """Writes all of it; the system may take less at a time."""
        left = memoryview(data)
        with self._named():
            while left:
                left = left[self._file.write(left) :]

    def _flush(self) -> None:
        with self._named():
            os.fsync(self._file.fileno())

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Gives errors the file's name, which the system leaves out once a file is open."""
        try:
            yield
        except OSError as error:
            error.filename = str(self._part)
            raise


def whole_lines(file: FileIO, rows: int, size: int) -> tuple[int, int]:
    """The `Whole` of text, a line a row."""
    file.seek(0)
    lines = end = place = 0
    while lines < rows and (block := file.read(min(_BLOCK, size - place))):
        count = block.count(b"\n")
        if lines + count > rows:  # the last line that is wanted ends in this block
            count, last = rows - lines, -1
            for _ in range(count):
                last = block.index(b"\n", last + 1)
        else:
            last = block.rfind(b"\n")
        lines, end, place = lines + count, place + last + 1 if count else end, place + len(block)
    return lines, end


def _places(target: Path) -> tuple[Path, Path]:
    """The unfinished file, and what it was made from."""
    target = Path(_core.link_target(target))
    return Path(f"{target}.part"), Path(f"{target}.part.json")


@contextmanager
def _locked(path: Path) -> Iterator[FileIO]:
    """Opens a file to be read and written, as it is, for this process alone."""

    def create(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_CREAT | os.O_NOFOLLOW, 0o666)

    refuse_link(path)
    with open(path, "r+b", buffering=0, opener=create) as file:
        busy = f"another process is writing {path}"
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(busy) from None
        except OSError:
            pass  # a file system without locks
        if not _is_at(file, path):  # the other process has ended, and this is its finished file
            raise BlockingIOError(busy)
        yield file


def _is_at(file: FileIO, path: Path) -> bool:
    """Whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
