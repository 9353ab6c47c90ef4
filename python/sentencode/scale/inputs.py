"""What a job reads: files of text and tables, here or wherever fsspec reads."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from .. import _core
from .._extras import require
from ..errors import FormatError
from ..files import as_name

__all__ = [
    "AT_ONCE",
    "BOM",
    "FORMATS",
    "Input",
    "ending",
    "identity_at",
    "inputs_of",
    "is_url",
    "opened",
    "unchanged",
]

AT_ONCE = 16  # files that are looked at together
_SAMPLES, _SAMPLE = 64, 1 << 16  # of a file, which tell it from others


@dataclass(frozen=True)
class Input:
    """A file, and what tells whether it has changed.

    Args:
        path: Its absolute path, or its URL.
        format: "text", "csv", "tsv", "jsonl" or "parquet".
        packed: "gzip", "xz", "zstd", or "" for none.
        bytes: Its size.
        identity: Of a local file a hash of 64 places of it, and when it was last modified where these are not
            all of it; else what its file system has for that.
        seen: What tells at little cost whether it is still the same: its size, then what is known of it, the
            surest first.
    """

    path: str
    format: str
    packed: str
    bytes: int
    identity: str
    seen: tuple[tuple[str, str], ...]


def is_url(path: str) -> bool:
    """Whether fsspec is to read it. "file://" stands for a path, too."""
    return "://" in path


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """A file or a URL, to be read."""
    if not is_url(path):
        with open(path, "rb") as file:
            yield file
        return
    with require("fsspec", "scale").open(path, "rb") as file:
        yield file


def inputs_of(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Input]:
    """The files that paths, folders, globs and URLs are, in order, those of a folder by their names.

    What begins with "_" or "." in a folder is not read: Spark and others keep there what is none of their
    data. Folders of partitions (`_month=5`) may begin with "_".

    Args:
        paths: One or more.

    Returns:
        The files.

    Raises:
        OSError: If one of them is not there.
        FormatError: If one is of a kind, or packed in a way, that is not read.
    """
    names: list[str] = []
    for path in [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths:
        names += _expanded(as_name(path))
    if not names:
        raise ValueError("there is no input")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(_input, names))


_HIDDEN = re.compile(r"/(\.|_(?![^/]*=))")
_MARKS = re.compile(r"[*?[]")  # of globs


def _expanded(path: str) -> list[str]:
    if is_url(path):
        root, names = _below(path)
    else:
        whole = os.path.abspath(path)
        root = whole if os.path.exists(whole) else _MARKS.split(whole)[0]
        names = [os.path.abspath(name) for name in _core.expand_paths(path)]
    # The name of what was given may begin as it likes, and what stands before the mark of a glob, too.
    shown = sorted(name for name in names if not _HIDDEN.search(name, max(len(root) - 1, 0)))
    if not shown:
        raise FileNotFoundError(2, "all files of it are hidden" if names else "there is no such file", path)
    return shown


def _below(url: str) -> tuple[str, list[str]]:
    """What the URLs of all files of it begin with, and these URLs, on the same host as it is."""
    fs, inner = require("fsspec", "scale").core.url_to_fs(url)
    fs.invalidate_cache()  # of an earlier job in this process
    if fs.exists(inner):
        scheme, _, place = url.partition("://")
        root, place = f"{scheme}://{place.rstrip('/')}", inner.rstrip("/")
        found = fs.find(inner)  # itself, where it is a file
    else:
        root, place = (_MARKS.split(one)[0] for one in (url, inner))
        found = []
        for name, info in fs.glob(inner, detail=True).items():
            found += fs.find(name) if info["type"] == "directory" else [name]
    return root, [root + name[len(place) :] for name in found if name.startswith(place)]


_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_OTHERS = {b"Obj\x01": "Avro", b"ARROW1": "Arrow"}
BOM = b"\xef\xbb\xbf"  # of UTF-8, which may stand before the first line
_HEAD, _PARQUET = 10, b"PAR1"
FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
FORMATS |= dict.fromkeys((".json", ".jsonl", ".ndjson"), "jsonl")
_ENDINGS = (".gz", ".xz", ".zst", ".zstd")


def _input(path: str) -> Input:
    if is_url(path):
        fs, inner = require("fsspec", "scale").core.url_to_fs(path)
        info = fs.info(inner)
        if info.get("size") is None:
            raise FormatError(f"{path}: its server does not tell its size, which is needed to cut it")
        size = int(info["size"])
        kind, packed = _kind(path, size, lambda begin, end: fs.cat_file(inner, start=begin, end=end))
        return Input(path, kind, packed, size, identity_at(fs, inner), _seen(info))
    with open(path, "rb") as file:

        def part(begin: int, end: int) -> bytes:
            file.seek(begin)
            return file.read(end - begin)

        status = os.fstat(file.fileno())
        kind, packed = _kind(path, status.st_size, part)
        return Input(path, kind, packed, status.st_size, _identity(file, status), _seen(_info(status)))


def _kind(path: str, size: int, part: Callable[[int, int], bytes]) -> tuple[str, str]:
    """Of a file the format, and how it is packed. Parquet is known by its content: Hive's has no ending."""
    kind = FORMATS.get(ending(path), "text")
    head = part(0, min(_HEAD, size)) if size else b""
    if head.startswith(_PARQUET) and kind != "parquet" and part(size - 4, size).endswith(_PARQUET):
        kind = "parquet"
    if head.startswith((b"PK\x03\x04", b"BZh")) and kind != "parquet":
        raise FormatError(f"{path}: is packed by zip or bzip2; gzip, xz and zstd are read")
    if (other := next((name for magic, name in _OTHERS.items() if head.startswith(magic)), None)) is not None:
        raise FormatError(f"{path}: is a file of {other}; text, csv, JSON lines and Parquet are read")
    if kind == "jsonl" and head.removeprefix(BOM).lstrip().startswith(b"["):
        raise FormatError(f"{path}: expected a JSON object in each line, got one array")
    return kind, next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")


def ending(path: str) -> str:
    """That of its name, in small letters, without the one of what it is packed by."""
    stem = Path((path.partition("?")[0] if path.startswith("http") else path).rpartition("/")[2])
    return (stem.with_suffix("") if stem.suffix.lower() in _ENDINGS else stem).suffix.lower()


# What file systems tell of a file, the surest first. Listings may tell less of it than it does itself.
_TELLS = [
    *("ETag", "etag", "Content-MD5"),
    *("Last-Modified", "LastModified", "last_modified", "mtime", "modificationTime", "created"),
]


def _seen(info: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    names = [name for name in ("size", *_TELLS) if info.get(name) is not None]
    return tuple((name, str(info[name]).strip('"')) for name in names)  # Azure quotes ETags now and then


def _info(status: os.stat_result) -> dict[str, int]:
    return {"size": status.st_size, "mtime": status.st_mtime_ns}


def identity_at(fs: Any, inner: str) -> str:
    """What tells a file at a URL from a later one of the same name.

    Args:
        fs: A file system of fsspec.
        inner: The file's name there.

    Returns:
        `ukey` of the file system. That of http is a hash of the URL alone: there it is the ETag, the time of
        modification and the size, as far as the server tells them.
    """
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
    if not any(name.startswith("http") for name in protocols):
        return str(fs.ukey(inner))
    known = _seen(fs.info(inner))
    told = ", ".join(f"{name} {value}" for name, value in known)
    return told if len(known) > 1 else f"{told or 'nothing'}, and no more is known"


@contextmanager
def unchanged(one: Input) -> Iterator[None]:
    """Around what reads an input: shards, read at many times, must be of the file that the driver saw."""
    _check_unchanged(one)
    try:
        yield
    except Exception:
        _check_unchanged(one)  # else it would be called damaged
        raise
    _check_unchanged(one)


def _check_unchanged(one: Input) -> None:
    if is_url(one.path):
        fs, inner = require("fsspec", "scale").core.url_to_fs(one.path)
        fs.invalidate_cache(inner)
        now = dict(_seen(fs.info(inner)))
    else:
        now = dict(_seen(_info(os.stat(one.path))))
    told = [(value, now[name]) for name, value in one.seen if name in now]
    if any(before != after for before, after in told[:2]):  # size, and the surest of all else
        raise FormatError(f"{one.path}: changed while it was read")


def _identity(file: BinaryIO, status: os.stat_result) -> str:
    size, digest = status.st_size, hashlib.sha256()
    whole = size <= _SAMPLES * _SAMPLE
    if whole:
        places = range(0, size, _SAMPLE)
    else:
        places = [i * (size - _SAMPLE) // (_SAMPLES - 1) for i in range(_SAMPLES)]  # type: ignore[assignment]
        digest.update(str(status.st_mtime_ns).encode())
    for place in places:
        file.seek(place)
        digest.update(file.read(_SAMPLE))
    return digest.hexdigest()
