"""The rows of any encoder, ours or not: asked for, checked, and kept on disk."""

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
from .encoder import Encoder
from .errors import NotFittedError
from .files import as_path, refuse_link, whole_file

__all__ = ["DegenerateEncoderError", "EncoderRows", "Rows", "cache_folder"]

Rows = NDArray[np.float32]

_LOG = logging.getLogger("sentencode")

_PAGE = 4096  # bytes
_FORMAT = 2
_CHECKSUM = hashlib.sha256().digest_size  # bytes behind the array, which NumPy does not look at


class DegenerateEncoderError(ValueError):
    """An encoder failed, or gave what cannot be judged: no numbers, too few rows, or the same row always."""


def _precision() -> str:
    """What torch's autocast makes of networks now: "" for nothing."""
    torch = sys.modules.get("torch")
    if torch is None:  # then no network encodes
        return ""
    kinds = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    return "".join(f" {kind} {torch.get_autocast_dtype(kind)}" for kind in kinds)


def cache_folder(cache: str | os.PathLike[str] | bool, own: str = "embeddings") -> Path | None:
    """Where rows are kept: in a folder, in that of Sentencode's cache (True), or nowhere (False)."""
    if cache is not True:
        return None if cache is False else as_path(cache)
    folder = cache_dir() / own
    refuse_link(folder)
    return folder


@dataclass
class EncoderRows:
    """Gives the rows of sentences, by an encoder of any kind.

    Args:
        encoder: One of ours; anything with `encode` (sentence-transformers, model2vec), or with `transform`
            (scikit-learn); or a function from a list of sentences to their rows.
        name: What it is called in reports. None: its class.
        cache: A folder in which rows are kept, by the encoder's fingerprint and the sentences: of encoders
            that have a fingerprint, and of others when `key` stands for one.
        key: What tells this encoder from all others.
        tokens: Give lists of tokens, as SentEval does, and not strings. None: to our own encoders.
        varied: Whether it is an error if all sentences of a call have the same row.

    Attributes:
        dim: How many numbers a row has; None before the first.
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
            self.tokens = isinstance(self.encoder, Encoder)
        if self.key is None and callable(getattr(self.encoder, "fingerprint", None)):
            with contextlib.suppress(NotFittedError):  # of one that learns nothing; others say so in encode
                self.key = str(self.encoder.fingerprint())
        if self.cache is not None and self.key is not None:
            self._check_cache()

    def __call__(self, sentences: list[str]) -> Rows:
        """The rows of distinct sentences, `(n, d)`, float32.

        Args:
            sentences: Tokens with a space between them.

        Returns:
            Their rows, maybe a memory map.

        Raises:
            DegenerateEncoderError: The encoder failed, or what it gave are not that many rows of finite
                numbers, or all are the same.
        """
        path = self._path(sentences)
        kept = None if path is None else self._kept(path, len(sentences))
        if kept is not None:
            self.dim = kept.shape[1]
            return kept
        rows = self._encoded(sentences)
        self._check_varied(rows)
        if path is not None and self._writable:
            self._keep(path, rows)
        return rows

    def _check_cache(self) -> None:
        """Whether rows can be kept, before they are computed."""
        assert self.cache is not None
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.cache):
                pass
        except OSError as error:
            self._writable = False  # what is in it is read all the same
            _LOG.warning("rows are not kept: %s cannot be written: %s", self.cache, error)

    def _keep(self, path: Path, rows: Rows) -> None:
        try:
            with whole_file(path) as file:
                np.save(file, rows)
                file.flush()
                file.write(_checksum(file.fileno()))
        except OSError as error:  # as of a full disk: the rows are there, and worth more than the file
            _LOG.warning("rows are not kept: %s cannot be written: %s", path, error)

    def _encoded(self, sentences: list[str]) -> Rows:
        given = [sentence.split() for sentence in sentences] if self.tokens else sentences
        try:
            encoded = self._encode(given)
        except Exception as error:
            raise DegenerateEncoderError(f"{self.name} raised {type(error).__name__}: {error}") from error
        rows = self._checked(encoded, len(sentences))
        self.dim = rows.shape[1]
        return rows

    def file_of(self, sentences: list[str]) -> Path | None:
        """The .npy file in which the rows of these sentences are kept; None where they are not.

        Args:
            sentences: As they were encoded.

        Returns:
            The file.
        """
        path = self._path(sentences)
        return path if path is not None and path.exists() else None

    def _path(self, sentences: list[str]) -> Path | None:
        if self.cache is None or self.key is None:
            return None
        # Files of another format have other names: what comes without a checksum is not taken for damaged.
        # What another version of ours computes may differ; others' versions are their key's affair.
        ours = type(self.encoder).__module__.partition(".")[0] == __name__.partition(".")[0]
        version = sentencode_version if ours else ""
        digest = hashlib.sha256(f"{_FORMAT} {self.key} {self.tokens} {version}{_precision()}\n".encode())
        digest.update("\n".join(sentences).encode("utf-8", "surrogatepass"))
        return Path(self.cache) / f"{digest.hexdigest()}.npy"

    def _kept(self, path: Path, count: int) -> Rows | None:
        """The rows of a file; None if there is none, or if it is not what was written."""
        try:
            with open(path, "rb") as file:  # before the header is read, which NumPy takes for Python code
                size = max(0, path.stat().st_size - _CHECKSUM)
                file.seek(size)
                if not size or file.read() != _checksum(file.fileno(), size):
                    raise ValueError("its checksum is not that of its content")
            rows = np.lib.format.open_memmap(path, mode="r")
            found = self._checked(rows, count)
            self._check_varied(found)
            return found
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, EOFError, ValueError) as error:
            _LOG.warning("%s is damaged, its sentences are encoded again: %s", path, error)
            return None

    def _checked(self, rows: Any, count: int) -> Rows:
        if isinstance(rows, (list, tuple)):
            rows = [_of_tensor(row) for row in rows]
        rows = _of_tensor(rows)
        if hasattr(rows, "toarray"):  # a sparse matrix
            rows = rows.toarray()
        try:
            given = np.asarray(rows)
            if given.dtype.kind == "O" and given.ndim == 0:
                raise TypeError(f"it is {type(rows).__name__}")
            if given.dtype.kind in "cSU":  # NumPy would take the real part, or read numbers
                raise TypeError(f"its type is {given.dtype.type.__name__.rstrip('_')}")
            with np.errstate(over="ignore"):  # becomes infinity, and is found below
                found = np.asarray(given, dtype=np.float32, order="C")
        except (TypeError, ValueError) as error:
            raise DegenerateEncoderError(f"{self.name} gave no array of numbers: {error}") from None
        if found.ndim != 2 or found.shape[0] != count or found.shape[1] == 0:
            raise DegenerateEncoderError(
                f"{self.name} gave an array of the shape {list(found.shape)} for {count} sentences; "
                f"expected [{count}, d]"
            )
        if self.dim is not None and found.shape[1] != self.dim:
            raise DegenerateEncoderError(
                f"{self.name} gave rows of {found.shape[1]} numbers, and of {self.dim} before"
            )
        finite = np.isfinite(found).all(axis=1)
        if not finite.all():
            raise DegenerateEncoderError(
                f"{self.name} gave NaN or infinity for {np.count_nonzero(~finite)} of {count} sentences, the "
                f"first of them number {int(np.argmin(finite))}"
            )
        return found

    def _check_varied(self, rows: Rows) -> None:
        if self.varied and len(rows) > 1 and (rows == rows[0]).all():
            raise DegenerateEncoderError(f"{self.name} gave the same row for all {len(rows)} sentences")


def _of_tensor(rows: Any) -> Any:
    """A tensor as an array, perhaps one of a type that NumPy lacks, or with a gradient; all else as it is."""
    return rows.detach().cpu().float().numpy() if hasattr(rows, "detach") else rows


def _checksum(file: int, size: int = 0) -> bytes:
    """Of a file's first bytes (0: of all): SHA-256 of the sums of its pages, at the speed of memory.

    Bits that flip change a page's sum, pages that are lost or misplaced their order. It is no signature: who
    wants to forge a page can.
    """
    with mmap.mmap(file, size, access=mmap.ACCESS_READ) as mapped:
        whole = len(mapped) // _PAGE * _PAGE
        words = np.frombuffer(mapped, dtype="<u8", count=whole // 8)
        sums = np.add.reduce(words.reshape(-1, _PAGE // 8), axis=1)
        digest = hashlib.sha256(sums)
        digest.update(mapped[whole:])
        del words  # else the map could not be closed
    return digest.digest()


def _encode_of(encoder: Any) -> Callable[[Any], Any]:
    if isinstance(encoder, Encoder):  # others may have a `fitted` of another meaning
        encoder._check_fitted()
    for method in ("encode", "transform"):
        # A str has an encode too.
        if callable(getattr(encoder, method, None)) and not isinstance(encoder, str):
            return _quiet(getattr(encoder, method))
    if callable(encoder):
        return _quiet(encoder)
    raise TypeError(
        "an encoder has encode or transform, or is a function from sentences to rows; got "
        f"{type(encoder).__name__}"
    )


def _quiet(encode: Callable[..., Any]) -> Callable[[Any], Any]:
    """Without a progress bar of its own for every task, where it knows that keyword."""
    import inspect

    try:
        known = "show_progress_bar" in inspect.signature(encode).parameters
    except (TypeError, ValueError):
        known = False
    return (lambda sentences: encode(sentences, show_progress_bar=False)) if known else encode
