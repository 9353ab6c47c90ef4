"""Folders that workers write to: on this machine, or wherever fsspec writes."""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .. import _core
from .._extras import require
from ..files import as_name, whole_file

__all__ = ["Folder", "real_path"]

_COPIED = 1 << 22  # bytes at a time


class Folder:
    """Files by their names. Each is there whole or not at all: it is written under another name and renamed.

    Args:
        path: A folder, or a URL that fsspec knows.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = as_name(path)
        self.path = name.rstrip("/") if "://" in name else os.path.abspath(name)

    @property
    def is_local(self) -> bool:
        """Whether it is one of this machine, and not a URL."""
        return "://" not in self.path

    def name_of(self, name: str) -> str:
        """The path or URL of a file."""
        return f"{self.path}/{name}"

    def _fs(self) -> tuple[Any, str]:
        fs, inner = require("fsspec", "scale").core.url_to_fs(self.path)
        return fs, inner

    def make(self) -> None:
        """Makes it, where it is not there."""
        if self.is_local:
            os.makedirs(self.path, exist_ok=True)
        else:
            fs, inner = self._fs()
            fs.makedirs(inner, exist_ok=True)

    def names(self) -> list[str]:
        """The files in it, sorted; none where it is not there."""
        if self.is_local:
            return sorted(os.listdir(self.path)) if os.path.isdir(self.path) else []
        fs, inner = self._fs()
        fs.invalidate_cache(inner)
        if not fs.exists(inner):
            return []
        return sorted(name.rpartition("/")[2] for name in fs.ls(inner, detail=False))

    def size(self, name: str) -> int | None:
        """The bytes of a file; None where there is none."""
        try:
            if self.is_local:
                return os.stat(self.name_of(name)).st_size
            fs, inner = self._fs()
            return int(fs.size(f"{inner}/{name}"))
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """Removes a file, where there is one."""
        if self.is_local:
            with _absent_is_fine():
                os.unlink(self.name_of(name))
            return
        fs, inner = self._fs()
        with _absent_is_fine():
            fs.rm_file(f"{inner}/{name}")

    def inside(self, name: str) -> Folder:
        """A folder in it."""
        return Folder(self.name_of(name))

    def remove_all(self) -> None:
        """Removes it, with all that is in it."""
        with _absent_is_fine():
            if self.is_local:
                shutil.rmtree(self.path)
            else:
                fs, inner = self._fs()
                fs.invalidate_cache(inner)
                fs.rm(inner, recursive=True)

    def remove_leftovers(self) -> None:
        """Removes what killed writers have left."""
        if self.is_local:
            _core.remove_leftovers(self.path)
            return
        for name in self.names():
            if name.startswith(_WRITING):
                self.remove(name)

    @contextmanager
    def writing(self, name: str) -> Iterator[Summed]:
        """Opens a file to be written; it has its name when the block ends without an error."""
        if self.is_local:
            with whole_file(self.name_of(name)) as file:
                # Not buffered: a full disk is told of by the write that it stops, not by a later one.
                yield Summed(getattr(file, "raw", file), self.name_of(name))
            return
        fs, inner = self._fs()
        # An engine may try a task twice at a time, on machines whose processes have the same numbers.
        part = f"{inner}/{_WRITING}{uuid.uuid4().hex}-{name}"
        try:
            with fs.open(part, "wb") as file:
                yield Summed(file, self.name_of(name))
            fs.mv(part, f"{inner}/{name}")
        except BaseException:
            with suppress(Exception):  # what was wrong before is what is to be told
                fs.rm_file(part)
            raise

    def write(self, name: str, content: bytes) -> None:
        """Writes a file."""
        with self.writing(name) as file:
            file.write(content)

    def read(self, name: str) -> bytes:
        """The content of a file."""
        if self.is_local:
            with open(self.name_of(name), "rb") as file:
                return file.read()
        fs, inner = self._fs()
        content: bytes = fs.cat_file(f"{inner}/{name}")
        return content

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other jobs out; of this machine's folders alone."""
        if not self.is_local:
            yield
            return
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(f"another job is writing to {self.path}") from None
            except OSError:
                pass  # a file system without locks
            yield
        finally:
            os.close(descriptor)

    def __repr__(self) -> str:
        return f"Folder({self.path!r})"


def real_path(path: str) -> str:
    """A path or URL as it compares with others: without links, and as a path where it is one of this machine.

    Example:
        >>> real_path("file:///tmp/../usr/")
        '/usr'
    """
    if "://" in path:
        fs, path = require("fsspec", "scale").core.url_to_fs(path)
        if "file" not in ((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol):
            return str(fs.unstrip_protocol(path)).rstrip("/")
    return os.path.realpath(path)


_WRITING = ".writing-"  # what names of files that are not finished begin with, at a URL


@contextmanager
def _absent_is_fine() -> Iterator[None]:
    with suppress(FileNotFoundError):
        yield


class Summed:
    """A file that is written, and the checksum of what was. Errors have its name.

    Args:
        file: Where bytes go.
        name: What errors call it.
    """

    closed = False

    def __init__(self, file: Any, name: str) -> None:
        self.file, self.name = file, name
        self.bytes = self.checksum = 0

    def write(self, data: Any) -> int:
        """Writes all of it."""
        view = memoryview(data).cast("B")
        self.bytes += len(view)
        self.checksum = zlib.crc32(view, self.checksum)
        left = view
        while left:
            left = left[self._write(left) :]
        return len(view)

    def _write(self, data: memoryview) -> int:
        try:
            return int(self.file.write(data))
        except OSError as error:
            if error.filename is None:
                error.filename = self.name
            raise

    def flush(self) -> None:
        """Nothing waits here."""

    def tell(self) -> int:
        """How many bytes were written."""
        return self.bytes

    def writable(self) -> bool:
        """It is."""
        return True

    def readable(self) -> bool:
        """It is not."""
        return False

    def seekable(self) -> bool:
        """It is not."""
        return False

    def close(self) -> None:
        """Whoever opened it closes it."""
