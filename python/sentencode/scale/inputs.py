"""Input files of jobs: text and tables, local ones and those of fsspec."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
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
    *("AT_ONCE", "BOM", "FORMATS", "Input"),
    *("ending", "identity_at", "inputs_of", "is_url", "listed", "opened", "unchanged"),
]

AT_ONCE = 16  # files that are inspected in parallel
_SAMPLES, _SAMPLE = 64, 1 << 16  # number and bytes of the samples of a file that are hashed


@dataclass(frozen=True)
class Input:
    """An input file and its identity.

    Args:
        path: Absolute path, or URL.
        format: "text", "csv", "tsv", "jsonl" or "parquet".
        packed: Compression: "gzip", "xz", "zstd", or "" for none.
        bytes: Size.
        identity: Hash of a local file's samples, and of its modification time if they are not the whole file;
            for a URL, `identity_at`.
        seen: Cheap evidence of changes: the size, then other properties, the most reliable first.
    """

    path: str
    format: str
    packed: str
    bytes: int
    identity: str
    seen: tuple[tuple[str, str], ...]


def is_url(path: str) -> bool:
    """Whether fsspec reads a path; it may be a "file://" URL."""
    return "://" in path


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Opens a path or URL to be read."""
    if not is_url(path):
        with open(path, "rb") as file:
            yield file
        return
    with require("fsspec", "scale").open(path, "rb") as file:
        yield file


def listed(inputs: Any) -> list[Any]:
    """The paths of inputs as a list; TypeError for what is no files, such as a data frame."""
    if isinstance(inputs, (str, bytes, os.PathLike)):
        return [inputs]
    if isinstance(inputs, Mapping) or hasattr(inputs, "columns") or not isinstance(inputs, Iterable):
        raise TypeError(
            f"inputs must be files, got a {type(inputs).__name__}; for a data frame use BatchEncoder"
        )
    return list(inputs)


def inputs_of(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Input]:
    """The files of paths, folders, globs and URLs, in order; those of a folder sorted by name.

    Names that start with "_" or "." are skipped in folders: Spark and others store metadata there. Folders of
    partitions (`_month=5`) may start with "_".

    Raises:
        OSError: A file is missing.
        FormatError: A file has an unsupported format or compression.
    """
    names: list[str] = []
    for path in listed(paths):
        names += _expanded(as_name(path))
    if not names:
        raise ValueError("there is no input")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(_input, names))


_HIDDEN = re.compile(r"/(\.|_(?![^/]*=))")
_WILDCARD = re.compile(r"[*?[]")


def _expanded(path: str) -> list[str]:
    if is_url(path):
        root, names = _below(path)
    else:
        absolute = os.path.abspath(path)
        root = absolute if os.path.exists(absolute) else _WILDCARD.split(absolute)[0]
        names = [os.path.abspath(name) for name in _core.expand_paths(path)]
    # The given path itself, and the part of a glob before its first wildcard, may start with "_" or ".".
    shown = sorted(name for name in names if not _HIDDEN.search(name, max(len(root) - 1, 0)))
    if not shown:
        raise FileNotFoundError(2, "all files of it are hidden" if names else "there is no such file", path)
    return shown


def _below(url: str) -> tuple[str, list[str]]:
    """The common prefix of the URLs of all files below a URL, and these URLs."""
    fs, inner = require("fsspec", "scale").core.url_to_fs(url)
    fs.invalidate_cache()  # it may be of an earlier job
    if fs.exists(inner):
        scheme, _, location = url.partition("://")
        root, prefix = f"{scheme}://{location.rstrip('/')}", inner.rstrip("/")
        names = fs.find(inner)  # the file itself, or all files of a folder
    else:
        root, prefix = (_WILDCARD.split(name)[0] for name in (url, inner))
        names = []
        for name, info in fs.glob(inner, detail=True).items():
            names += fs.find(name) if info["type"] == "directory" else [name]
    return root, [root + name[len(prefix) :] for name in names if name.startswith(prefix)]


_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_OTHERS = {b"Obj\x01": "Avro", b"ARROW1": "Arrow", b"\x93NUMPY": "NumPy"}
BOM = b"\xef\xbb\xbf"  # of UTF-8
_HEAD, _PARQUET = 10, b"PAR1"
FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
FORMATS |= dict.fromkeys((".json", ".jsonl", ".ndjson"), "jsonl")
_ENDINGS = (".gz", ".xz", ".zst", ".zstd")


def _input(path: str) -> Input:
    if is_url(path):
        fs, inner = require("fsspec", "scale").core.url_to_fs(path)
        info = fs.info(inner)
        if info.get("size") is None:
            raise FormatError(
                f"{path}: its server does not report its size, which is needed to split it into shards"
            )
        size = int(info["size"])
        kind, packed = _kind(path, size, lambda begin, end: fs.cat_file(inner, start=begin, end=end))
        return Input(path, kind, packed, size, identity_at(fs, inner), _seen(info))
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.ESPIPE, "is no file that can be split into shards: copy its text into one", path)
    with open(path, "rb") as file:

        def part(begin: int, end: int) -> bytes:
            file.seek(begin)
            return file.read(end - begin)

        status = os.fstat(file.fileno())
        kind, packed = _kind(path, status.st_size, part)
        return Input(path, kind, packed, status.st_size, _identity(file, status), _seen(_info(status)))


def _kind(path: str, size: int, part: Callable[[int, int], bytes]) -> tuple[str, str]:
    """Format and compression of a file. Parquet is recognized by content: files of Hive have no suffix."""
    kind = FORMATS.get(ending(path), "text")
    head = part(0, min(_HEAD, size)) if size else b""
    if head.startswith(_PARQUET) and kind != "parquet" and part(size - 4, size).endswith(_PARQUET):
        kind = "parquet"
    if head.startswith((b"PK\x03\x04", b"BZh")) and kind != "parquet":
        raise FormatError(f"{path}: is compressed by zip or bzip2; gzip, xz and zstd are supported")
    if (other := next((name for magic, name in _OTHERS.items() if head.startswith(magic)), None)) is not None:
        raise FormatError(f"{path}: is a file of {other}; text, csv, JSON lines and Parquet are supported")
    if kind == "jsonl" and head.removeprefix(BOM).lstrip().startswith(b"["):
        raise FormatError(f"{path}: expected a JSON object in each line, got one array")
    return kind, next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")


def ending(path: str) -> str:
    """The suffix of a path or URL in lower case, without the suffix of its compression."""
    stem = Path((path.partition("?")[0] if path.startswith("http") else path).rpartition("/")[2])
    return (stem.with_suffix("") if stem.suffix.lower() in _ENDINGS else stem).suffix.lower()


# Properties of files in file systems, the most reliable first. Listings may have fewer of them.
_PROPERTIES = [
    *("ETag", "etag", "Content-MD5"),
    *("Last-Modified", "LastModified", "last_modified", "mtime", "modificationTime", "created"),
]


def _seen(info: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    names = [name for name in ("size", *_PROPERTIES) if info.get(name) is not None]
    return tuple((name, str(info[name]).strip('"')) for name in names)  # Azure sometimes quotes ETags


def _info(status: os.stat_result) -> dict[str, int]:
    return {"size": status.st_size, "mtime": status.st_mtime_ns}


def identity_at(fs: Any, inner: str) -> str:
    """The identity of a file at a URL, which changes when the file does.

    It is `ukey` of the file system. For http, where that is a hash of the URL, it is the ETag, the
    modification time and the size, as far as the server reports them.

    Args:
        fs: File system of fsspec.
        inner: Name of the file there.
    """
    protocols = (fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol
    if not any(name.startswith("http") for name in protocols):
        return str(fs.ukey(inner))
    properties = _seen(fs.info(inner))
    text = ", ".join(f"{name} {value}" for name, value in properties)
    # Manifests have this text.
    return text if len(properties) > 1 else f"{text or 'nothing'}, and no more is known"


@contextmanager
def unchanged(one: Input) -> Iterator[None]:
    """Raises FormatError if an input has changed since the job was started, before or after the block."""
    _check_unchanged(one)
    try:
        yield
    except Exception:
        _check_unchanged(one)  # otherwise it would seem damaged
        raise
    _check_unchanged(one)


def _check_unchanged(one: Input) -> None:
    if is_url(one.path):
        fs, inner = require("fsspec", "scale").core.url_to_fs(one.path)
        fs.invalidate_cache(inner)
        now = dict(_seen(fs.info(inner)))
    else:
        now = dict(_seen(_info(os.stat(one.path))))
    pairs = [(value, now[name]) for name, value in one.seen if name in now]
    if any(before != after for before, after in pairs[:2]):  # the size, and the most reliable property
        raise FormatError(f"{one.path}: changed while it was read")


def _identity(file: BinaryIO, status: os.stat_result) -> str:
    size, digest = status.st_size, hashlib.sha256()
    offsets: Iterable[int] = range(0, size, _SAMPLE)
    if size > _SAMPLES * _SAMPLE:
        offsets = [i * (size - _SAMPLE) // (_SAMPLES - 1) for i in range(_SAMPLES)]
        digest.update(str(status.st_mtime_ns).encode())
    for offset in offsets:
        file.seek(offset)
        digest.update(file.read(_SAMPLE))
    return digest.hexdigest()
