"""Embeddings of any encoder, Sentencode's or another: checked, and cached on disk."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import mmap
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import __version__ as sentencode_version
from .cache import cache_dir
from .encoder import Encoder, code_of_tokenizer
from .errors import NotFittedError
from .files import as_path, refuse_link, whole_file

__all__ = ["DegenerateEncoderError", "Embeddings", "EncoderRows", "cache_folder", "has_own_tokenizer"]

Embeddings = NDArray[np.float32]

_LOG = logging.getLogger("sentencode")

_PAGE = 4096  # bytes
_FORMAT = 2
_CHECKSUM = hashlib.sha256().digest_size  # bytes after the array, which NumPy ignores


class DegenerateEncoderError(ValueError):
    """An encoder failed, or returned no finite numbers, too few embeddings, or equal ones only."""


def _precision() -> str:
    """The precision of torch's autocast, as text; "" without autocast."""
    torch = sys.modules.get("torch")
    if torch is None:  # no network encodes then
        return ""
    kinds = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    return "".join(f" {kind} {torch.get_autocast_dtype(kind)}" for kind in kinds)


def cache_folder(cache: str | os.PathLike[str] | bool, name: str = "embeddings") -> Path | None:
    """The cache folder of embeddings: a given one, `name` in Sentencode's (True), or None (False)."""
    if cache is not True:
        return None if cache is False else as_path(cache)
    folder = cache_dir() / name
    refuse_link(folder)
    return folder


@dataclass
class EncoderRows:
    """Encodes sentences with an encoder of any kind.

    Args:
        encoder: An encoder of Sentencode; an object with `encode` (sentence-transformers, model2vec) or
            `transform` (scikit-learn); or a function from a list of sentences to their embeddings.
        name: Name in reports. None: the class.
        cache: Cache folder, by fingerprint and sentences; used if the encoder has a fingerprint, or `key`.
        key: Unique name of an encoder without a fingerprint.
        tokens: Whether to pass lists of tokens, as SentEval does. None: to Sentencode's encoders, except
            those of subwords and of tokenizers of other libraries, which do not split lists of tokens.
        varied: Whether equal embeddings of all sentences of a call are an error.

    Attributes:
        dim: Dimensions of an embedding; None before the first.
    """

    encoder: Any
    name: str | None = None
    cache: Path | None = None
    key: str | None = None
    tokens: bool | None = None
    varied: bool = True
    dim: int | None = field(default=None, init=False)
    _writable: bool = field(default=True, init=False, repr=False)

    def __post_init__(self) -> None:
        self._encode = _encode_of(self.encoder)
        if self.name is None:
            self.name = getattr(self.encoder, "__name__", type(self.encoder).__name__)
        if self.tokens is None:
            self.tokens = isinstance(self.encoder, Encoder) and not has_own_tokenizer(self.encoder)
        if self.key is None and callable(getattr(self.encoder, "fingerprint", None)):
            with contextlib.suppress(NotFittedError):  # `encode` raises it, where fitting is needed
                key = str(self.encoder.fingerprint())
                self.key = None if code_of_tokenizer(self.encoder) is None else key
        if self.cache is not None and self.key is not None:
            self._check_cache()

    def __call__(self, sentences: list[str]) -> Embeddings:
        """The embeddings of distinct sentences, float32 [n, d], perhaps a memory map.

        Args:
            sentences: Tokens separated by spaces.

        Raises:
            DegenerateEncoderError: The encoder failed, or did not return n finite, different embeddings.
        """
        path = self._path(sentences)
        cached = None if path is None else self._load(path, len(sentences))
        if cached is not None:
            self.dim = cached.shape[1]
            return cached
        rows = self._encoded(sentences)
        self._check_varied(rows)
        if path is not None and self._writable:
            self._save(path, rows)
        return rows

    def _check_cache(self) -> None:
        """Warns if the cache cannot be written, before anything is encoded."""
        assert self.cache is not None
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.cache):
                pass
        except OSError as error:
            self._writable = False  # it is still read
            _LOG.warning("embeddings are not cached: %s cannot be written: %s", self.cache, error)

    def _save(self, path: Path, rows: Embeddings) -> None:
        try:
            with whole_file(path) as file:
                np.save(file, rows)
                file.flush()
                file.write(_checksum(file.fileno()))
        except OSError as error:  # such as a full disk: the embeddings are still useful
            _LOG.warning("embeddings are not cached: %s cannot be written: %s", path, error)

    def _encoded(self, sentences: list[str]) -> Embeddings:
        batch = [sentence.split() for sentence in sentences] if self.tokens else sentences
        try:
            encoded = self._encode(batch)
        except Exception as error:
            raise DegenerateEncoderError(f"{self.name} raised {type(error).__name__}: {error}") from error
        rows = self._checked(encoded, len(sentences))
        self.dim = rows.shape[1]
        return rows

    def file_of(self, sentences: list[str]) -> Path | None:
        """The .npy file of the cached embeddings of these sentences, if there is one."""
        path = self._path(sentences)
        return path if path is not None and path.exists() else None

    def _path(self, sentences: list[str]) -> Path | None:
        if self.cache is None or self.key is None:
            return None
        # The format is part of the name, so that old files without a checksum do not count as damaged.
        # What another version of ours computes may differ; others' versions are their key's affair.
        ours = type(self.encoder).__module__.partition(".")[0] == __name__.partition(".")[0]
        version = sentencode_version if ours else ""
        digest = hashlib.sha256(f"{_FORMAT} {self.key} {self.tokens} {version}{_precision()}\n".encode())
        digest.update("\n".join(sentences).encode("utf-8", "surrogatepass"))
        return Path(self.cache) / f"{digest.hexdigest()}.npy"

    def _load(self, path: Path, count: int) -> Embeddings | None:
        """The embeddings of a file; None if it is missing or damaged."""
        try:
            with open(path, "rb") as file:  # before NumPy evaluates the header
                size = max(0, path.stat().st_size - _CHECKSUM)
                file.seek(size)
                if not size or file.read() != _checksum(file.fileno(), size):
                    raise ValueError("its checksum is not that of its content")
            rows = self._checked(np.lib.format.open_memmap(path, mode="r"), count)
            self._check_varied(rows)
            return rows
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, EOFError, ValueError) as error:
            _LOG.warning("%s is damaged, its sentences are encoded again: %s", path, error)
            return None

    def _checked(self, rows: Any, count: int) -> Embeddings:
        if isinstance(rows, (list, tuple)):
            rows = [_array(row) for row in rows]
        rows = _array(rows)
        if hasattr(rows, "toarray"):  # a sparse matrix
            rows = rows.toarray()
        try:
            array = np.asarray(rows)
            if array.dtype.kind == "O" and array.ndim == 0:
                raise TypeError(f"it is {type(rows).__name__}")
            if array.dtype.kind in "cSU":  # NumPy would drop imaginary parts, and parse text
                raise TypeError(f"its type is {array.dtype.type.__name__.rstrip('_')}")
            with np.errstate(over="ignore"):  # overflow becomes infinity, an error below
                embeddings = np.asarray(array, dtype=np.float32, order="C")
        except (TypeError, ValueError) as error:
            raise DegenerateEncoderError(f"{self.name} gave no array of numbers: {error}") from None
        if embeddings.ndim != 2 or embeddings.shape[0] != count or embeddings.shape[1] == 0:
            raise DegenerateEncoderError(
                f"{self.name} gave an array of shape {list(embeddings.shape)} for {count} sentences; "
                f"expected [{count}, d]"
            )
        if self.dim is not None and embeddings.shape[1] != self.dim:
            raise DegenerateEncoderError(
                f"{self.name} gave {embeddings.shape[1]} dimensions, and {self.dim} before"
            )
        finite = np.isfinite(embeddings).all(axis=1)
        if not finite.all():
            raise DegenerateEncoderError(
                f"{self.name} gave NaN or infinity for {np.count_nonzero(~finite)} of {count} sentences, "
                f"first for sentence {int(np.argmin(finite))}"
            )
        return embeddings

    def _check_varied(self, rows: Embeddings) -> None:
        if self.varied and len(rows) > 1 and (rows == rows[0]).all():
            raise DegenerateEncoderError(f"{self.name} gave the same embedding for all {len(rows)} sentences")


def _array(rows: Any) -> Any:
    """A tensor of any type as an array; other values unchanged."""
    return rows.detach().cpu().float().numpy() if hasattr(rows, "detach") else rows


def _checksum(file: int, size: int = 0) -> bytes:
    """SHA-256 of the sums of pages of a file's first `size` bytes (0: all), at the speed of memory.

    It detects flipped bits and lost or misplaced pages, but no forgery.
    """
    with mmap.mmap(file, size, access=mmap.ACCESS_READ) as mapped:
        whole = len(mapped) // _PAGE * _PAGE
        words = np.frombuffer(mapped, dtype="<u8", count=whole // 8)
        sums = np.add.reduce(words.reshape(-1, _PAGE // 8), axis=1)
        digest = hashlib.sha256(sums)
        digest.update(mapped[whole:])
        del words  # or the map could not be closed
    return digest.digest()


def has_own_tokenizer(encoder: Any) -> bool:
    """Whether an encoder of Sentencode splits text otherwise than into words."""
    try:
        return encoder.tokenizer_.split in ("subwords", "external")
    except (AttributeError, NotFittedError):
        return False


def _encode_of(encoder: Any) -> Callable[[Any], Any]:
    if isinstance(encoder, type):
        name = encoder.__name__
        raise TypeError(f"the encoder is a class, {name}; expected an object of it, such as {name}(...)")
    if isinstance(encoder, Encoder):  # `fitted` of others may have another meaning
        encoder._check_fitted()
    for method in ("encode", "transform"):
        if callable(getattr(encoder, method, None)) and not isinstance(encoder, str):  # str.encode
            return _quiet(getattr(encoder, method))
    if callable(encoder):
        return _quiet(encoder)
    raise TypeError(
        "an encoder has encode or transform, or is a function from sentences to embeddings; got "
        f"{type(encoder).__name__}"
    )


def _quiet(encode: Callable[..., Any]) -> Callable[[Any], Any]:
    """The function without its own progress bar, if it has that keyword."""
    import inspect

    try:
        has_bar = "show_progress_bar" in inspect.signature(encode).parameters
    except (TypeError, ValueError):
        has_bar = False
    return (lambda sentences: encode(sentences, show_progress_bar=False)) if has_bar else encode
