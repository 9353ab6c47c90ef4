"""Output files that grow on disk, so that the same command continues interrupted work."""

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

__all__ = ["PartFile", "Whole", "check_targets", "part_file", "whole_lines", "work_files"]

# (file, rows, size) -> number of complete rows and their end, for at most `rows` rows within `size` bytes.
Whole = Callable[[FileIO, int, int], tuple[int, int]]

_SAVE_FIRST, _SAVE_EVERY = 0.1, 2.0  # seconds
_BLOCK = 1 << 20  # bytes read at a time
_STATE_BYTES = 1 << 13  # disk space that the state file may need


def check_targets(
    target: Path,
    inputs: Iterable[str | Path | None],
    overwrite: bool,
    texts: Iterable[str | Path | None],
) -> None:
    """Checks a target and its unfinished file; arguments as for `sources.check_output`."""
    inputs, texts = list(inputs), list(texts)
    sources.check_output(target, inputs, overwrite, texts=texts)
    for path in work_files(target):
        sources.check_output(path, inputs, overwrite=True, texts=texts)


@contextmanager
def part_file(
    target: Path, made_from: Mapping[str, Any], whole: Whole, *, restart: bool = False
) -> Iterator[PartFile]:
    """Opens and locks the unfinished file of a target, positioned after its complete rows.

    Rows are appended to `target` + ".part"; `target` + ".part.json" has the number of rows on disk and
    `made_from`. A file named `target` is always complete.

    Args:
        target: Output file.
        made_from: Everything that rows depend on, as JSON values.
        whole: Finds complete rows in the unfinished file.
        restart: Whether to discard earlier work.

    Yields:
        The unfinished file.

    Raises:
        BlockingIOError: Another process writes it.
        ValueError: Earlier work was made from something else.
    """
    target = Path(_core.link_target(target))
    part, state = work_files(target)
    with _locked(part) as file:
        _core.AtomicFile(state).discard()  # left by a process that was killed
        unfinished = PartFile(target, file, dict(made_from), whole)
        unfinished.resume(restart)
        try:
            yield unfinished
        except BaseException as error:
            with suppress(OSError):  # the last saved state still holds
                unfinished.interrupt(error)
            raise


class PartFile:
    """An unfinished file with `rows` complete rows; arguments as for `part_file`.

    It is unbuffered, so that a full disk stops the write that fails.
    """

    def __init__(self, target: Path, file: FileIO, made_from: dict[str, Any], whole: Whole) -> None:
        self.target, self.rows = target, 0
        self._part, self._state = work_files(target)
        self._file, self._made_from, self._whole = file, made_from, whole
        self._saved, self._wait = time.monotonic(), _SAVE_FIRST

    def resume(self, restart: bool) -> None:
        """Continues after the rows of the saved state."""
        self._truncate(0 if restart else self._saved_rows(), os.fstat(self._file.fileno()).st_size)

    def append(self, content: bytes, rows: int) -> None:
        """Writes rows, and saves the state from time to time."""
        self._write(content)
        self.rows += rows
        if time.monotonic() - self._saved > self._wait:
            self._save()
            self._saved, self._wait = time.monotonic(), min(2 * self._wait, _SAVE_EVERY)

    def interrupt(self, error: BaseException) -> None:
        """Saves the state when an error ends the work."""
        if not _is_at(self._file, self._part):  # it is finished
            return
        # Bytes after the last row may be a part of one. On a full disk, rows make room for the state.
        room = _STATE_BYTES if isinstance(error, OSError) else 0
        self._truncate(self.rows, max(0, os.fstat(self._file.fileno()).st_size - room))
        self._save()

    def finish(self, header: bytes = b"", write: Callable[[Path, BinaryIO], None] | None = None) -> None:
        """Makes the unfinished file the target.

        Args:
            header: Replaces the first bytes.
            write: Writes the target, given the unfinished file's path. None: renames the file.
        """
        if header:
            self._file.seek(0)
            self._write(header)
        self._flush()
        # The target appears last: once it exists, the command is not repeated and removes nothing.
        if write is None:
            self._state.unlink(missing_ok=True)
            os.replace(self._part, self.target)  # before the lock is released
            return
        with whole_file(self.target) as output:
            write(self._part, output)
            output.flush()
            os.fsync(output.fileno())  # reports a full disk while the rows still exist
            self._part.unlink()
            self._state.unlink(missing_ok=True)

    def _saved_rows(self) -> int:
        """The number of rows of the saved state; 0 without one."""
        try:
            state = read_json(self._state)
            rows = int(state.pop("rows"))
        except FileNotFoundError:
            return 0
        except (ValueError, KeyError, AttributeError, TypeError):
            raise ValueError(f"{self._state}: is damaged; --overwrite starts over") from None
        for name in {**self._made_from, **state}:  # options that are not set have no value
            before, now = state.get(name), self._made_from.get(name)
            if before != now:
                raise ValueError(
                    f"{self._part}: was made with {name} = {before}, now {now}; --overwrite starts over"
                )
        return rows

    def _truncate(self, rows: int, size: int) -> None:
        """Truncates the file to at most `rows` complete rows within `size` bytes."""
        with self._named():
            self.rows, end = self._whole(self._file, rows, size)
            self._file.truncate(end)
            self._file.seek(end)

    def _save(self) -> None:
        """Saves the state, after the rows that it counts."""
        self._flush()
        with whole_file(self._state) as file:
            file.write(json.dumps({**self._made_from, "rows": self.rows}, indent=1).encode())

    def _write(self, content: bytes) -> None:
        unwritten = memoryview(content)
        with self._named():
            while unwritten:
                unwritten = unwritten[self._file.write(unwritten) :]

    def _flush(self) -> None:
        with self._named():
            os.fsync(self._file.fileno())

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Adds the file's name to errors; the system omits it for open files."""
        try:
            yield
        except OSError as error:
            error.filename = str(self._part)
            raise


def whole_lines(file: FileIO, rows: int, size: int) -> tuple[int, int]:
    """The `Whole` of text, where a row is a line."""
    file.seek(0)
    lines = end = offset = 0
    while lines < rows and (block := file.read(min(_BLOCK, size - offset))):
        count = block.count(b"\n")
        if lines + count > rows:  # the last row ends in this block
            count, last = rows - lines, -1
            for _ in range(count):
                last = block.index(b"\n", last + 1)
        else:
            last = block.rfind(b"\n")
        lines, end, offset = lines + count, offset + last + 1 if count else end, offset + len(block)
    return lines, end


def work_files(target: Path) -> tuple[Path, Path]:
    """The unfinished file and its state file."""
    target = Path(_core.link_target(target))
    return Path(f"{target}.part"), Path(f"{target}.part.json")


@contextmanager
def _locked(path: Path) -> Iterator[FileIO]:
    """Opens a file to be read and written, without truncation, for this process alone."""

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
        if not _is_at(file, path):  # another process has just finished this file
            raise BlockingIOError(busy)
        yield file


def _is_at(file: FileIO, path: Path) -> bool:
    """Whether an open file still has this path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
