"""Reading files of word vectors, with a cache."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import stat
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..cache import cache_dir, limit_cache
from ..checks import checked_int, checked_str, checked_words
from ..errors import FormatError
from ..files import as_name, make_folder, read_archive
from ..pickles import PickledArray, PickledObject, read_pickle
from ..progress import bar
from .tables import OutOfVocabulary, Storage, table_of

__all__ = ["load"]

_log = logging.getLogger("sentencode")
_CACHED_FROM = 8_000_000  # bytes; smaller files are parsed as fast as they are found in the cache
_FIRST_NAME = 200  # bytes of a zip archive that contain its first file's name
_CACHE_VERSION = 2  # of the parser

Progress = Callable[[int, int], None]


def load(
    path: str | os.PathLike[str],
    limit: int | None,
    words: Iterable[str] | None,
    storage: Storage | None,
    oov: OutOfVocabulary | None,
    format: str,
    dim: int | None,
    member: str | None,
    cache: bool,
    progress: bool | Progress | None,
    verify: bool,
) -> _core.WordVectors:
    """`WordVectors.load`, which describes the arguments."""
    path = os.path.abspath(os.path.expanduser(as_name(path)))  # also after a change of the folder
    limit = None if limit is None else checked_int("limit", limit, 1)
    dim = None if dim is None else checked_int("dim", dim, 1)
    format = checked_str("format", format)
    oov = None if oov is None else checked_str("oov", oov)  # type: ignore[assignment]
    member = "" if member is None else checked_str("member", member)
    storage = None if storage is None else checked_str("storage", storage)  # type: ignore[assignment]
    keep = None if words is None else sorted(set(checked_words("words", words)))
    head = b""
    # The core reads pipes, which can be read only once. Missing files are a FileNotFoundError here.
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(
            errno.EISDIR,
            "is a folder, not a file of word vectors; sentencode.load opens a model's folder",
            path,
        )
    is_stream = not stat.S_ISREG(mode)
    if not is_stream:
        with open(path, "rb") as file:
            head = file.read(9)
    if is_stream and format in ("npz", "kv"):
        raise OSError(
            errno.ESPIPE, f"format={format!r} is not read as a stream: copy the pipe into a file", path
        )
    if format == "auto" and not member:
        format = "npz" if _is_npz(path, head) else "kv" if _is_pickle(head) else format
    if format in ("npz", "kv"):
        arrays = _load_npz(path) if format == "npz" else _load_kv(path)
        vectors = _table(path, *arrays, limit=limit, storage=storage, oov=oov, dim=dim)
        vectors = vectors if keep is None else vectors.only(keep)
    else:
        native = format == "native" or (format == "auto" and _is_native(head))
        if native and verify:
            _core.WordVectors.open(path, oov, verify=True)
        cached = None
        if cache and not native and not is_stream and os.path.getsize(path) >= _CACHED_FROM:
            cached = _cache_file(path, [limit, keep, storage, format, dim, *([member] if member else [])])
        core = _open_cached(cached, oov)
        if core is None:
            with _Bar(path, progress) as bar:
                core, report = _core.read_vectors(
                    path, format, limit or 0, keep, storage, oov, dim or 0, member, bar
                )
            if report["duplicates"] or report["repaired"]:
                _log.info("%s: %s", path, ", ".join(f"{count:,} {what}" for what, count in report.items()))
            if cached is not None and len(core):
                core = _store_cached(core, cached, oov)
        vectors = core
    if keep is not None and not len(vectors):
        raise ValueError(f"{path} has none of the {len(keep):,} words")
    return vectors


def _is_native(head: bytes) -> bool:
    return head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32


class _Bar:
    """A progress bar, the user's function, or None."""

    def __init__(self, path: str, progress: bool | Progress | None) -> None:
        self._path = path
        self._progress = progress
        self._bar: Any = None

    def __enter__(self) -> Progress | None:
        if self._progress is not True:
            return self._progress or None
        name = os.path.basename(self._path)
        self._bar = bar(total=os.path.getsize(self._path) or None, unit="B", unit_scale=True, desc=name)
        return lambda done, total: self._bar.update(done - self._bar.n)

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()


# --- the cache


def _cache_file(path: str, options: list[Any]) -> Path:
    """Cache file of a parsed file: named by its path, its state and the options."""
    info = os.stat(path)
    state = [info.st_size, info.st_mtime_ns, _CACHE_VERSION]
    parts = [os.path.abspath(path), state, options]
    names = [
        hashlib.sha256(json.dumps(part).encode("utf-8", "surrogateescape")).hexdigest()[:20] for part in parts
    ]
    return cache_dir() / "vectors" / f"{names[0]}-{names[2]}-{names[1]}.vectors"


def _open_cached(file: Path | None, oov: str | None) -> _core.WordVectors | None:
    if file is None or not file.exists():
        return None
    try:
        core = _core.WordVectors.open(file, oov, verify=True)
        with suppress(OSError):  # of another user's cache
            os.utime(file)  # the time of its last use
        return core
    except (OSError, FormatError) as error:
        _log.warning("the cached vectors cannot be used and are read again: %s", error)
        return None


def _store_cached(core: _core.WordVectors, file: Path, oov: str | None) -> _core.WordVectors:
    """Save the vectors and return the mapped ones, which processes share; if that fails, the vectors."""
    try:
        make_folder(file.parent)
        core.save(file)
        mapped = _core.WordVectors.open(file, oov)
        _clean_cache(file)
        return mapped
    except OSError as error:
        _log.warning("the parsed vectors cannot be cached, so that the next load takes as long: %s", error)
        return core


def _clean_cache(new: Path) -> None:
    """Remove leftovers of killed writers, outdated files, and the oldest above the limit, unless in use."""
    _core.remove_leftovers(new.parent)
    path, options, _ = new.name.split("-")
    for file in new.parent.glob(f"{path}-{options}-*.vectors"):
        if file != new:
            _core.remove_unused(file)
    limit_cache(new.parent, "*.vectors")


# --- NumPy archives and gensim's files

# Words, matrix and counts.
Arrays = tuple[list[str], npt.NDArray[Any], npt.NDArray[Any] | None]


def _is_npz(path: str, head: bytes) -> bool:
    """Whether it is a zip archive of arrays, not of text."""
    if head[:4] != b"PK\x03\x04":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except Exception:  # damaged: an error follows when it is read
        with open(path, "rb") as file:
            return b".npy" in file.read(_FIRST_NAME)


def _load_npz(path: str) -> Arrays:
    """Read the arrays `words` (UTF-8, one word per line), `vectors` [n, dim] and optionally `counts` [n]."""
    arrays = read_archive(path, ("words", "vectors", "counts"))
    missing = {"words", "vectors"} - set(arrays)
    if missing:
        raise FormatError(f"{path}: has no array {' and '.join(map(repr, sorted(missing)))}")
    matrix, raw, counts = arrays["vectors"], arrays["words"], arrays.get("counts")
    if raw.dtype == np.uint8:
        words = raw.tobytes().decode("utf-8", "replace").split("\n")
        if words and not words[-1]:
            words.pop()  # the last line may end with a line feed
    elif raw.dtype.kind == "U" and raw.ndim == 1:
        words = raw.tolist()
    else:
        raise FormatError(
            f"{path}: 'words' must be bytes (uint8) or strings [n], is {raw.dtype} of shape {list(raw.shape)}"
        )
    return words, matrix, counts


def _is_pickle(head: bytes) -> bool:
    return len(head) > 1 and head[0] == 0x80 and 2 <= head[1] <= 5


_KEYED = "gensim.models.keyedvectors"
_GENSIM = (f"{_KEYED}.KeyedVectors", f"{_KEYED}.Word2VecKeyedVectors", f"{_KEYED}.Vocab")


def _load_kv(path: str) -> Arrays:
    """Read files of gensim's `KeyedVectors.save`: a pickle, and large arrays in their own files."""
    with open(path, "rb") as file:
        try:
            content = read_pickle(path, file, kinds="fiu", classes=_GENSIM)
        except FormatError as error:
            raise FormatError(
                f"{error}; gensim's files must be written by KeyedVectors.save (save model.wv), those of "
                "fastText by gensim.models.fasttext.save_facebook_model"
            ) from error
    keyed = content.attributes if isinstance(content, PickledObject) else {}
    try:
        words = keyed["index_to_key"] if "index_to_key" in keyed else keyed["index2word"]
        matrix = _gensim_array(path, keyed, "vectors")
        counts = keyed.get("expandos", {}).get("count")
        if isinstance(counts, PickledArray):
            counts = counts.array()
        elif keyed.get("vocab"):  # version 3
            counts = np.array([keyed["vocab"][word].attributes["count"] for word in words], np.int64)
        if not all(isinstance(word, str) for word in words):
            raise TypeError("a word that is no str")
    except OSError:
        raise
    except Exception as error:  # missing or of another type
        raise FormatError(
            f"{path}: a pickle, but not of gensim's KeyedVectors: {type(error).__name__}: {error}"
        ) from error
    return list(words), matrix, counts


def _gensim_array(path: str, keyed: dict[str, Any], name: str) -> npt.NDArray[Any]:
    if name in keyed.get("__numpys", ()):
        array: npt.NDArray[Any] = np.load(f"{path}.{name}.npy", mmap_mode="r", allow_pickle=False)
        return array
    return keyed[name].array()  # type: ignore[no-any-return]


def _table(
    path: str,
    words: list[str],
    matrix: npt.NDArray[Any],
    counts: npt.NDArray[Any] | None,
    *,
    limit: int | None,
    storage: Storage | None,
    oov: OutOfVocabulary | None,
    dim: int | None,
) -> _core.WordVectors:
    """The vectors. Errors are FormatErrors that name the file."""
    if counts is not None and counts.shape != matrix.shape[:1]:
        raise FormatError(f"{path}: 'counts' has the shape {list(counts.shape)}, not that of the words")
    if matrix.ndim != 2 or len(matrix) != len(words):
        raise FormatError(f"{path}: {len(words)} words, but 'vectors' has the shape {list(matrix.shape)}")
    if dim is not None and matrix.shape[1] != dim:
        raise FormatError(f"{path}: has vectors of dimension {matrix.shape[1]}, expected {dim}")
    chosen = slice(limit)
    try:
        return table_of(
            words[chosen],
            matrix[chosen],
            None if counts is None else counts[chosen],
            storage=storage,
            oov=oov or "skip",
        )
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from error
