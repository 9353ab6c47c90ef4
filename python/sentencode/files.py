"""Files: atomic writes, and reads with errors that name the file."""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from . import _core
from .errors import FormatError

__all__ = [
    "as_name",
    "as_path",
    "decoded",
    "make_folder",
    "read_archive",
    "read_array",
    "read_json",
    "read_text",
    "refuse_link",
    "whole_file",
    "without_link",
]

StrPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_MAX_RATIO, _MIN_LIMIT = 200, 1 << 26  # limits of the uncompressed size of an archive


def as_name(path: StrPath) -> str:
    """A path as text; a ValueError if it has a NUL character, where the system would truncate it."""
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError(f"embedded null byte in the path {name!r}")
    return name


def as_path(path: StrPath) -> Path:
    """A path as a `pathlib.Path`, checked as by `as_name`."""
    return Path(as_name(path))


def make_folder(path: StrPath, within: StrPath | None = None) -> Path:
    """Creates a folder and its parents, below one that the user has named.

    Args:
        path: Folder to create.
        within: Folder that the user has named, which may be a link. None: the parent.

    Returns:
        Path of the folder.

    Raises:
        OSError: It cannot be created, or a part below `within` is a symbolic link that leads elsewhere.
    """
    folder = as_path(path)
    root = folder.parent if within is None else as_path(within)
    for part in (folder, *folder.parents):
        if part == root:
            break
        refuse_link(part)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def refuse_link(path: Path) -> None:
    """Raises an OSError if a path is a symbolic link."""
    if path.is_symlink():
        reason = "is a symbolic link, which is followed only if you name it; remove it, or name its target"
        raise OSError(errno.ELOOP, reason, str(path))


def without_link(path: StrPath) -> Path:
    """Removes a symbolic link at a path, for functions that follow links, such as `save` of an encoder."""
    target = as_path(path)
    if target.is_symlink():
        target.unlink(missing_ok=True)
    return target


_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def whole_file(path: StrPath, *, follow_link: bool = False) -> Iterator[BinaryIO]:
    """Opens a temporary file that replaces `path` after the block, or is removed after an error.

    Readers see the old or the new file, never a part; the last of several writers wins. The file is on
    disk before it gets its name, and keeps the permissions of the old one.

    Args:
        path: File to write.
        follow_link: Whether to replace the target of a symbolic link, not the link: only for outputs that the
            user has named.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with whole_file(pathlib.Path(folder, "a")) as file:
        ...         _ = file.write(b"all")
        ...     [one.name for one in pathlib.Path(folder).iterdir()]
        ['a']
    """
    target = _core.AtomicFile(_core.link_target(path) if follow_link else path)
    try:
        with open(target.descriptor, "w+b", closefd=False) as file:
            yield file
        target.commit()
    except OSError as error:
        if (
            error.filename is None
            and error.errno in _DISK_FULL
            and error.strerror == os.strerror(error.errno)
        ):
            error.filename = os.fspath(path)  # the system omits it for open files
        raise
    finally:
        target.discard()


def decoded(content: bytes, name: StrPath) -> str:
    """The UTF-8 text of `content` without a byte-order mark; `name` is the file in errors.

    Raises:
        FormatError: It is not UTF-8; the message has the line and the byte.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{os.fsdecode(name)}, line {line}: byte {error.start} is not UTF-8: 0x{content[error.start]:02x}"
        ) from None


def read_text(path: StrPath) -> str:
    """The text of a UTF-8 file; errors as of `decoded`."""
    return decoded(as_path(path).read_bytes(), path)


def read_json(path: StrPath) -> Any:
    """The content of a JSON file; a `FormatError` has the line and the column of damage."""
    text, name = read_text(path), os.fsdecode(path)
    try:
        return json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"{name}, {where}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # too many digits; deeply nested lists
        raise FormatError(f"{name}: not JSON: {error}") from None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def read_archive(path: StrPath, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Arrays of a NumPy archive (.npz) by name, with sizes checked before memory is allocated.

    Args:
        path: Archive.
        names: Names of the arrays; missing ones are skipped.

    Raises:
        OSError: The file cannot be read.
        FormatError: It is damaged, requires pickle, or unpacks to over 200 times its size and 64 MiB.
    """
    arrays: dict[str, NDArray[Any]] = {}
    with open(path, "rb") as file:
        most = max(_MIN_LIMIT, _MAX_RATIO * os.fstat(file.fileno()).st_size)
        name = os.fsdecode(path)
        try:
            with zipfile.ZipFile(file) as archive:
                members = {info.filename: info for info in archive.infolist()}
                chosen = [(key, members[f"{key}.npy"]) for key in names if f"{key}.npy" in members]
                size = sum(info.file_size for _, info in chosen)
                if size > most:
                    raise FormatError(
                        f"{name}: would unpack to {size:,} bytes; {most:,} are allowed for a file of its size"
                    )
                for one, info in chosen:
                    arrays[one] = _array(archive.read(info), f"{name}: array {one!r}")
        except FormatError:
            raise
        except Exception as error:  # of zipfile, zlib or NumPy
            reason = f"{type(error).__name__}: {error}"
            raise FormatError(
                f"{name}: a damaged NumPy archive, or one that needs pickle: {reason}"
            ) from error
    return arrays


def read_array(path: StrPath) -> NDArray[Any]:
    """The array of a .npy file; a `FormatError` if it is none."""
    name = as_name(path)
    content = Path(name).read_bytes()
    try:
        return _array(content, name)
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{name}: {error}") from None


def _array(content: bytes, name: str) -> NDArray[Any]:
    """The array of a .npy file, whose size is compared with its header."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise FormatError(f"{name}: version {version} of NumPy's format, expected 1.0 or 2.0")
    shape, _, dtype = read[version](file)
    if dtype.hasobject:
        raise ValueError("it contains Python objects")
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    actual = len(content) - file.tell()
    if min(shape, default=0) < 0 or size != actual:
        raise FormatError(f"{name}: {actual:,} bytes for {dtype} of shape {list(shape)}")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)
