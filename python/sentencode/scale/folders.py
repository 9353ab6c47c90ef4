"""Folders that workers write: local ones, and those of fsspec."""

from __future__ import annotations

import fcntl
import io
import logging
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .. import _core
from .._extras import require
from ..files import as_name, whole_file

__all__ = ["Folder", "real_path"]

_LOG = logging.getLogger("sentencode")
_NO_REPLACING = {"hdfs", "webhdfs", "viewfs"}  # they refuse to move a file to the name of another
# Prefixes of names at URLs: of an unfinished file, and of one that is being replaced.
_WRITING, _REPLACED = ".writing-", ".replaced-"


class Folder:
    """A folder whose files are written under temporary names and renamed, so that they are complete.

    Args:
        path: Path, or URL of fsspec.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = as_name(path)
        self.path = name.rstrip("/") if "://" in name else os.path.abspath(name)

    @property
    def is_local(self) -> bool:
        """Whether this is a path, not a URL."""
        return "://" not in self.path

    def name_of(self, name: str) -> str:
        """Path or URL of a file."""
        return f"{self.path}/{name}"

    def _fs(self) -> tuple[Any, str]:
        fs, inner = require("fsspec", "scale").core.url_to_fs(self.path)
        return fs, inner

    def make(self) -> None:
        """Creates the folder if it is missing."""
        if self.is_local:
            os.makedirs(self.path, exist_ok=True)
        else:
            fs, inner = self._fs()
            fs.makedirs(inner, exist_ok=True)

    def names(self) -> list[str]:
        """Sorted names of its files; empty if it is missing."""
        if self.is_local:
            return sorted(os.listdir(self.path)) if os.path.isdir(self.path) else []
        fs, inner = self._fs()
        fs.invalidate_cache(inner)
        if not fs.exists(inner):
            return []
        return sorted(name.rpartition("/")[2] for name in fs.ls(inner, detail=False))

    def size(self, name: str) -> int | None:
        """Size of a file in bytes; None if it is missing."""
        try:
            if self.is_local:
                return os.stat(self.name_of(name)).st_size
            fs, inner = self._fs()
            return int(fs.size(f"{inner}/{name}"))
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """Removes a file if it exists."""
        if self.is_local:
            with suppress(FileNotFoundError):
                os.unlink(self.name_of(name))
            return
        fs, inner = self._fs()
        with suppress(FileNotFoundError):
            fs.rm_file(f"{inner}/{name}")

    def inside(self, name: str) -> Folder:
        """A subfolder."""
        return Folder(self.name_of(name))

    def remove_all(self) -> None:
        """Removes the folder and its content, or as much as possible: workers may still be writing."""
        failure: Exception | None = None
        for pause in (0.2, 1.0, 0.0):
            try:
                if self.is_local:
                    shutil.rmtree(self.path)
                else:
                    fs, inner = self._fs()
                    fs.invalidate_cache(inner)
                    fs.rm(inner, recursive=True)
                return
            except FileNotFoundError as error:
                if not self.is_local or not os.path.exists(self.path):
                    return
                failure = error
            except Exception as error:  # the error of a job is the one to report
                failure = error
            time.sleep(pause)
        _LOG.warning("%s cannot be removed: %s", self.path, failure)

    def remove_leftovers(self) -> None:
        """Removes temporary files of killed writers, and restores a file that one was replacing."""
        if self.is_local:
            _core.remove_leftovers(self.path)
            return
        names = self.names()
        for name in names:
            if name.startswith(_REPLACED) and name.removeprefix(_REPLACED) not in names:
                fs, inner = self._fs()
                fs.mv(f"{inner}/{name}", f"{inner}/{name.removeprefix(_REPLACED)}")
            elif name.startswith((_WRITING, _REPLACED)):
                self.remove(name)

    @contextmanager
    def writing(self, name: str) -> Iterator[Summed]:
        """Opens a file to be written; it gets its name when the block ends without an error."""
        if self.is_local:
            with whole_file(self.name_of(name)) as file:
                # Unbuffered, so that the write that fills the disk raises the error.
                yield Summed(getattr(file, "raw", file), self.name_of(name))
            return
        fs, inner = self._fs()
        # An engine may run a task twice at a time, on machines with equal process ids.
        part = f"{inner}/{_WRITING}{uuid.uuid4().hex}-{name}"
        try:
            with fs.open(part, "wb") as file:
                yield Summed(file, self.name_of(name))
            if _NO_REPLACING.intersection(_protocols(fs)):
                _replace(fs, part, inner, name)
            else:
                fs.mv(part, f"{inner}/{name}")
        except BaseException:
            with suppress(Exception):  # the first error is the one to report
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
        """Locks a local folder against other jobs."""
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


def _replace(fs: Any, part: str, folder: str, name: str) -> None:
    """Moves a file to a name that may be another's. One of the two files remains, whatever happens."""
    target, old = f"{folder}/{name}", f"{folder}/{_REPLACED}{name}"
    replaces = fs.exists(target)
    if replaces:
        if fs.exists(old):
            fs.rm_file(old)
        fs.mv(target, old)
    try:
        fs.mv(part, target)
        if not fs.exists(target):  # WebHDFS reports no failure
            raise OSError(5, "the file system did not move a file to this name", target)
    except BaseException:
        if replaces:
            fs.mv(old, target)
        raise
    if replaces:
        fs.rm_file(old)


def _protocols(fs: Any) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def real_path(path: str) -> str:
    """A path without links, or a normalized URL; local URLs become paths.

    Example:
        >>> real_path("file:///tmp/../usr/")
        '/usr'
    """
    if "://" in path:
        fs, path = require("fsspec", "scale").core.url_to_fs(path)
        if "file" not in _protocols(fs):
            return str(fs.unstrip_protocol(path)).rstrip("/")
    return os.path.realpath(path)


class Summed(io.RawIOBase):
    """A writable file with the size and checksum of its content; errors have its name."""

    def __init__(self, file: Any, name: str) -> None:
        self.file, self.name = file, name
        self.bytes = self.checksum = 0

    def write(self, data: Any) -> int:
        """Writes all of it."""
        view = memoryview(data).cast("B")
        self.bytes += len(view)
        self.checksum = zlib.crc32(view, self.checksum)
        unwritten = view
        while unwritten:
            unwritten = unwritten[self._write(unwritten) :]
        return len(view)

    def _write(self, data: memoryview) -> int:
        try:
            return int(self.file.write(data))
        except OSError as error:
            if error.filename is None:
                error.filename = self.name
            raise

    def tell(self) -> int:
        """Number of bytes written."""
        return self.bytes

    def writable(self) -> bool:
        """True."""
        return True
