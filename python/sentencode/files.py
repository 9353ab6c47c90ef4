"""Files: written whole or not at all, and read with errors that name them."""

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
    "read_json",
    "read_text",
    "refuse_link",
    "whole_file",
    "without_link",
]

StrPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]

_RATIO, _ALWAYS = 200, 1 << 26  # how much more than the file, and how many bytes in any case


def as_name(path: StrPath) -> str:
    """A path as text, of whatever the system takes for one, bytes too.

    Raises:
        ValueError: If it has a NUL character, which the system takes for its end.
    """
    name = os.fsdecode(path)
    if "\0" in name:
        raise ValueError(f"embedded null byte in the path {name!r}")
    return name


def as_path(path: StrPath) -> Path:
    """The same as `pathlib` has it."""
    return Path(as_name(path))


def make_folder(path: StrPath, within: StrPath | None = None) -> Path:
    """Makes a folder that this library names, inside one that the user named.

    Args:
        path: The folder; those above it are made, too.
        within: The folder that the user named, which may be a link. None: the one above.

    Returns:
        Its path.

    Raises:
        OSError: If it cannot be made, or a part below `within` is a symbolic link: files would be written
            elsewhere.
    """
    folder = as_path(path)
    named = folder.parent if within is None else as_path(within)
    for part in (folder, *folder.parents):
        if part == named:
            break
        refuse_link(part)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def refuse_link(path: Path) -> None:
    """Raises an OSError if a path is a symbolic link."""
    if path.is_symlink():
        why = "is a symbolic link, which is followed only where you name it; remove it, or name its target"
        raise OSError(errno.ELOOP, why, str(path))


def without_link(path: StrPath) -> Path:
    """A path to be written inside a folder that the user named: a symbolic link there is removed.

    For functions that follow links because users call them too, such as `save` of an encoder.
    """
    place = as_path(path)
    if place.is_symlink():
        place.unlink(missing_ok=True)
    return place


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def whole_file(path: StrPath, *, follow_link: bool = False) -> Iterator[BinaryIO]:
    """Opens a file beside the path, which takes its place when it is written, and is removed if it is not.

    No other process or thread writes the same one: none reads half of it, and the last one stays. It is on
    the disk before it has its name; permissions of the one before are kept.

    Args:
        path: Where it shall stand.
        follow_link: Whether the file that a symbolic link names is replaced, and not the link: only for
            outputs that the user named.

    Yields:
        The file, open to be written and read.

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
        if error.filename is None and error.errno in _NO_ROOM and error.strerror == os.strerror(error.errno):
            error.filename = os.fspath(path)  # the system leaves it out once a file is open
        raise
    finally:
        target.discard()


def decoded(content: bytes, name: StrPath) -> str:
    """The text of a UTF-8 file.

    Args:
        content: What the file holds.
        name: What errors call it.

    Returns:
        The text, without a byte-order mark.

    Raises:
        FormatError: If it is not UTF-8, with the line and the byte.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{os.fsdecode(name)}, line {line}: byte {error.start} is not UTF-8: 0x{content[error.start]:02x}"
        ) from None


def read_text(path: StrPath) -> str:
    """The text of a UTF-8 file; a `FormatError` names it, the line and the byte where it is not."""
    return decoded(as_path(path).read_bytes(), path)


def read_json(path: StrPath) -> Any:
    """What a JSON file says; a `FormatError` names it, the line and the column where it is damaged."""
    text, name = read_text(path), os.fsdecode(path)
    try:
        return json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"{name}, {where}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of too many digits; lists in lists in lists
        raise FormatError(f"{name}: not JSON: {error}") from None


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def read_archive(path: StrPath, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Arrays of a NumPy archive (.npz), with what they say checked before memory is taken for it.

    Args:
        path: The archive.
        names: Which arrays; those that it lacks are left out.

    Returns:
        Arrays by their names.

    Raises:
        OSError: If the file cannot be read.
        FormatError: If it is damaged, needs pickle, or would unpack to more than 200 times its size and
            64 MiB.
    """
    found: dict[str, NDArray[Any]] = {}
    with open(path, "rb") as file:
        most = max(_ALWAYS, _RATIO * os.fstat(file.fileno()).st_size)
        name = os.fsdecode(path)
        try:
            with zipfile.ZipFile(file) as archive:
                members = {info.filename: info for info in archive.infolist()}
                chosen = [(one, members[f"{one}.npy"]) for one in names if f"{one}.npy" in members]
                size = sum(info.file_size for _, info in chosen)
                if size > most:
                    raise FormatError(
                        f"{name}: would unpack to {size:,} bytes; {most:,} are allowed for a file of its size"
                    )
                for one, info in chosen:
                    found[one] = _array(archive.read(info), f"{name}: array {one!r}")
        except FormatError:
            raise
        except Exception as error:  # of zipfile, of zlib, of NumPy: what damage leads to is endless
            why = f"{type(error).__name__}: {error}"
            raise FormatError(f"{name}: a damaged NumPy archive, or one that needs pickle: {why}") from error
    return found


def _array(content: bytes, name: str) -> NDArray[Any]:
    """What the bytes of a .npy file hold; its header asks for no more than there is."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise FormatError(f"{name}: version {version} of NumPy's format, expected 1.0 or 2.0")
    shape, _, dtype = read[version](file)
    if dtype.hasobject:
        raise ValueError("it holds Python's objects")
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    there = len(content) - file.tell()
    if min(shape, default=0) < 0 or size != there:
        raise FormatError(f"{name}: {there:,} bytes for {dtype} of shape {list(shape)}")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)
