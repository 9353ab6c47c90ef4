"""Reading vectors from files of any format, through the cache."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..cache import cache_dir
from ..checks import checked_int, checked_str, checked_words
from ..errors import FormatError

if TYPE_CHECKING:
    from .word_vectors import OutOfVocabulary, Storage, WordVectors

__all__ = ["load"]

_log = logging.getLogger("sentencode")
_CACHED_FROM = 8_000_000  # bytes; smaller files are parsed as fast as a cache is looked at
_CACHE_VERSION = 1  # of what the parser makes of a file

Progress = Callable[[int, int], None]


def load(
    path: str | os.PathLike[str],
    limit: int | None,
    words: Iterable[str] | None,
    storage: Storage | None,
    oov: OutOfVocabulary,
    format: str,
    dim: int | None,
    cache: bool,
    progress: bool | Progress | None,
) -> WordVectors:
    """See `WordVectors.load`."""
    from .word_vectors import WordVectors

    path = os.path.expanduser(os.fspath(path))
    limit = None if limit is None else checked_int("limit", limit, 1)
    dim = None if dim is None else checked_int("dim", dim, 1)
    format, oov = checked_str("format", format), checked_str("oov", oov)  # type: ignore[assignment]
    storage = None if storage is None else checked_str("storage", storage)  # type: ignore[assignment]
    keep = None if words is None else sorted(set(checked_words("words", words)))
    with open(path, "rb") as file:  # so that a file which is not there is the usual FileNotFoundError
        head = file.read(9)
    if format == "npz" or (format == "auto" and head[:4] == b"PK\x03\x04"):
        vectors = _load_npz(path, limit, storage, oov, dim)
        vectors = vectors if keep is None else vectors.only(keep)
    else:
        native = format == "native" or (format == "auto" and _is_native(head))
        cached = None
        if cache and not native and os.path.getsize(path) >= _CACHED_FROM:
            cached = _cache_file(path, [limit, keep, storage, format, dim])
        core = _open_cached(cached, oov)
        if core is None:
            with _Bar(path, progress) as bar:
                core, report = _core.read_vectors(path, format, limit or 0, keep, storage, oov, dim or 0, bar)
            if report["duplicates"] or report["repaired"]:
                _log.info("%s: %s", path, ", ".join(f"{count:,} {what}" for what, count in report.items()))
            if cached is not None and len(core):
                core = _store_cached(core, cached, oov)
        vectors = WordVectors(core)
    if keep is not None and not len(vectors):
        raise ValueError(f"{path} holds none of the {len(keep):,} words asked for")
    return vectors


def _is_native(head: bytes) -> bool:
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32


class _Bar:
    """A progress bar, a function of the user's own, or nothing."""

    def __init__(self, path: str, progress: bool | Progress | None) -> None:
        self._path = path
        self._progress = progress
        self._bar: Any = None

    def __enter__(self) -> Progress | None:
        if self._progress is not True:
            return self._progress or None
        from tqdm.auto import tqdm

        name = os.path.basename(self._path)
        self._bar = tqdm(total=os.path.getsize(self._path), unit="B", unit_scale=True, desc=name)
        return lambda done, total: self._bar.update(done - self._bar.n)

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()


# --- the cache


def _cache_file(path: str, options: list[Any]) -> Path:
    """Where the parsed file is kept: named by its path, by its state, and by what was asked of it."""
    info = os.stat(path)
    state = [info.st_size, info.st_mtime_ns, _CACHE_VERSION]
    parts = [os.path.abspath(path), state, options]
    names = [
        hashlib.sha256(json.dumps(part).encode("utf-8", "surrogateescape")).hexdigest()[:20] for part in parts
    ]
    return cache_dir() / "vectors" / f"{names[0]}-{names[2]}-{names[1]}.vectors"


def _open_cached(file: Path | None, oov: str) -> _core.WordVectors | None:
    if file is None or not file.exists():
        return None
    try:
        return _core.WordVectors.open(str(file), oov)
    except (OSError, FormatError) as error:
        _log.warning("the cached vectors cannot be used and are read again: %s", error)
        return None


def _store_cached(core: _core.WordVectors, file: Path, oov: str) -> _core.WordVectors:
    """Saves the vectors and gives the mapped ones, which all processes share; or gives them as they are."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        core.save(str(file))
        path, options, _ = file.name.split("-")
        for outdated in file.parent.glob(f"{path}-{options}-*"):
            if outdated != file:
                outdated.unlink(missing_ok=True)
        return _core.WordVectors.open(str(file), oov)
    except OSError as error:
        _log.warning("the parsed vectors cannot be cached, so that the next load takes as long: %s", error)
        return core


# --- NumPy archives


def _load_npz(
    path: str, limit: int | None, storage: Storage | None, oov: OutOfVocabulary, dim: int | None
) -> WordVectors:
    """Arrays `words` (bytes of UTF-8, one word a line), `vectors` [n, dim] and, if there, `counts` [n]."""
    from .word_vectors import WordVectors

    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in ("words", "vectors", "counts") if name in archive}
        except Exception as error:  # of zipfile, of zlib, of NumPy: what damage leads to is endless
            why = f"{type(error).__name__}: {error}"
            raise FormatError(f"{path}: a damaged NumPy archive, or one that needs pickle: {why}") from error
    missing = {"words", "vectors"} - set(arrays)
    if missing:
        raise FormatError(f"{path}: has no array {' and '.join(map(repr, sorted(missing)))}")
    matrix, raw, counts = arrays["vectors"], arrays["words"], arrays.get("counts")
    if counts is not None and counts.shape != matrix.shape[:1]:
        raise FormatError(f"{path}: 'counts' has the shape {list(counts.shape)}, not that of the words")
    if raw.dtype == np.uint8:
        words = raw.tobytes().decode("utf-8", "replace").split("\n")
        if words and not words[-1]:
            words.pop()  # the last line may end too
    elif raw.dtype.kind == "U" and raw.ndim == 1:
        words = raw.tolist()
    else:
        raise FormatError(
            f"{path}: 'words' must be bytes (uint8) or strings [n], is {raw.dtype} of shape {list(raw.shape)}"
        )
    if matrix.ndim != 2 or len(matrix) != len(words):
        raise FormatError(f"{path}: {len(words)} words, but 'vectors' has the shape {list(matrix.shape)}")
    if dim is not None and matrix.shape[1] != dim:
        raise FormatError(f"{path}: has {matrix.shape[1]} numbers a word, expected {dim}")
    chosen = slice(limit)
    try:
        return WordVectors.from_array(
            words[chosen],
            matrix[chosen],
            None if counts is None else counts[chosen],
            storage=storage,
            oov=oov,
        )
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from error
