"""What all encoders have in common, whatever their family."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from . import _core
from ._extras import require
from .checks import checked_int
from .errors import NotFittedError, ZeroRowsWarning
from .estimator import Estimator
from .progress import progress
from .search import Hits, Measure, semantic_search, similarity, similarity_pairwise
from .text.corpus import Corpus, repeatable
from .text.inputs import TEXT_AT_ONCE, batches, counted_from, filled, is_blank, is_single, unit_of

__all__ = ["Encoder", "in_blocks", "is_numeric"]

Rows = npt.NDArray[Any]
_CHUNK = 1 << 16  # sentences between two looks at the progress bar
_MANY, _MANY_SHARE = 20, 0.25  # rows of zeros, and their share of all, of which users are told

# Keywords of sentence-transformers that mean nothing here, and the values with which they ask for nothing.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "prompt": (None, ""),
    "prompt_name": (None,),
    "task": (None,),
    "output_value": ("sentence_embedding",),
    "truncate_dim": (None,),
    "pool": (None,),
    "chunk_size": (None,),
}


class Encoder(Estimator):
    """Sentences in, one row each out.

    Everywhere sentences are taken, they may be: a list, tuple, NumPy array, pandas or polars Series, pyarrow
    array, column of a data set, table of one column, `Corpus`, `pathlib.Path` of a text file with one
    sentence a line, or any iterable; of strings, of bytes (UTF-8), or of lists of tokens. Where rows are
    asked for, each line of a path has one, also a line without text; `fit` passes those over.

    A sentence's row never depends on the other sentences, on the size of batches or on the number of threads,
    but for rounding: at most 1e-6 of its length, or of the longest word vector's where rows are differences,
    as SIF's are. An empty sentence, and one of which no word is known, has a row of zeros.
    """

    # What a family fills in.

    @property
    def dim(self) -> int:
        """The length of a row."""
        raise NotImplementedError

    def _encode_into(self, batch: Any, out: npt.NDArray[np.float32]) -> None:
        """Fills `out` [n, dim], whose rows are contiguous, for a batch of `text.inputs`."""
        raise NotImplementedError

    @property
    def _takes_lists(self) -> bool:
        """Whether `_encode_into` cuts a list itself, and works while it looks at the next piece."""
        return False

    def _partial_fit(self, batch: Any) -> None:
        """Learns from a batch of `text.inputs`."""
        raise NotImplementedError

    def _together(self, *sides: Any) -> tuple[Encoder, tuple[Any, ...]]:
        """Who encodes sentences that are encoded or compared together, and these: it itself, as they are."""
        return self, sides

    def _forget(self) -> None:
        """Drops all that was learnt, and checks the parameters."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Ends `fit`: what can be known only when all sentences were seen."""

    def _take(self, fresh: Any) -> None:
        """Takes what another of this kind, with the same parameters, has just learnt."""
        parameters = self._defaults()
        vars(self).update({name: value for name, value in vars(fresh).items() if name not in parameters})

    # Learning.

    def fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Learns from sentences, and forgets all that was learnt before.

        If that fails or is interrupted, the encoder stays as it was: unfitted, or with what it had learnt.

        Args:
            sentences: Many sentences, or the name of a text file, a folder or a glob. They are read once, in
                constant memory.
            y: Ignored.
            show_progress_bar: Whether to show one. None: if the logger "sentencode" shows information.

        Returns:
            The encoder itself.

        Raises:
            ValueError: If a parameter cannot be used.
        """
        fresh = type(self)(**self.get_params(deep=False))
        fresh._forget()
        fresh.partial_fit(sentences, show_progress_bar=show_progress_bar)
        fresh._finish()
        self._take(fresh)
        return self

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Learns from further sentences.

        They are taken in blocks of 65,536 sentences; of a stream or a file, a block ends where it has 16
        million characters. If that fails or is interrupted, the blocks before stay learnt, and of the block
        in hand nothing is.

        Args:
            sentences: As for `fit`.
            y: Ignored.
            show_progress_bar: As for `fit`.

        Returns:
            The encoder itself.
        """
        with self._learning() as take:
            in_blocks(sentences, take, show_progress_bar)
        return self

    @contextmanager
    def _learning(self) -> Iterator[Callable[[Any], None]]:
        """What learns from blocks of sentences, while the context lasts."""
        yield self._partial_fit

    def merge(self, other: Any) -> Any:
        """Takes over what another encoder with the same parameters has learnt, as if from its sentences.

        Args:
            other: It stays as it is.

        Returns:
            The encoder itself.

        Raises:
            NotImplementedError: If this kind of encoder cannot.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot be merged")

    # Encoding.

    def encode(
        self,
        sentences: Any,
        batch_size: int | None = None,
        *,
        show_progress_bar: bool | None = None,
        normalize_embeddings: bool = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        precision: Literal["float32", "float16"] | None = "float32",
        device: Any = None,
        out: Rows | None = None,
        missing: Literal["error", "zero", "nan"] = "error",
        **others: Any,
    ) -> Any:
        """Turns sentences into rows of numbers.

        There is a row for each sentence. Of a `pathlib.Path` there is one for each line; that of a line
        without text is zero.

        The keywords are those of sentence-transformers, so that an encoder can stand in for one of its
        models.

        Args:
            sentences: One sentence (`str` or `bytes`), or many.
            batch_size: How many sentences are taken at a time. Changes nothing in the result; None leaves it
                to us.
            show_progress_bar: Whether to show one. None: if the logger "sentencode" shows information.
            normalize_embeddings: Whether to divide each row by its length; rows of zeros stay.
            convert_to_numpy: If neither this nor `convert_to_tensor` is set, the result is a list of tensors.
            convert_to_tensor: Whether to return a tensor of PyTorch.
            precision: Of the result: "float32" (None, too) or "float16".
            device: Where a tensor goes. The work itself is done where the encoder lives.
            out: An array or memory map [n, dim] of float32 or float16 that is filled and returned.
            missing: What becomes of a sentence that is `None`, or NaN or NA, in a list or a column: an error,
                a row of zeros, or a row of NaN. Of a stream a list is made, unless it is an error.
            **others: Further keywords of sentence-transformers, with the value that asks for nothing.

        Returns:
            [n, dim], C-contiguous; [dim] for one sentence.

        Raises:
            NotFittedError: If the encoder has to be fitted first.
            TypeError: If something among the sentences is none, or a keyword is unknown.
            ValueError: If `out` does not fit, or a keyword asks for what there is not.

        Warns:
            ZeroRowsWarning: Once for an encoder, if it knows no word of many sentences.
        """
        self._check_fitted()
        _refuse(others)
        if convert_to_tensor and out is not None:
            raise ValueError("encode: out and convert_to_tensor exclude each other")
        tensors = convert_to_tensor or not convert_to_numpy
        if device is not None and str(device) not in ("cpu", "auto") and not tensors:
            raise ValueError(
                f"encode: device={str(device)!r} is only where a tensor goes, with convert_to_tensor=True; "
                f"it does not say where {type(self).__name__} itself computes"
            )
        single = is_single(sentences)
        absent: list[int] = []
        if isinstance(sentences, os.PathLike):
            sentences = Corpus(sentences, keep_empty=True)
        elif _checked_missing(missing) != "error" and not single and not isinstance(sentences, Corpus):
            sentences, absent = filled(sentences)
        encoder, (sentences,) = self._together([sentences] if single else sentences)
        rows = encoder._encode_all(
            sentences,
            batch_size,
            show_progress_bar,
            normalize_embeddings,
            _checked_dtype(precision, out),
            out,
        )
        if missing == "nan":
            rows[absent] = np.nan
        if tensors:
            rows = _tensor(rows, device)
        if single:
            return rows[0]
        return rows if convert_to_numpy or convert_to_tensor else list(rows)

    def encode_iter(self, sentences: Any, chunk_size: int | None = None, **options: Any) -> Iterator[Any]:
        """Encodes a stream, in memory that does not grow with it.

        Args:
            sentences: Many sentences, from anywhere; a generator, say.
            chunk_size: How many are encoded at a time. None: 4,096, or fewer where they are so long that
                their text would be more than 16 million characters.
            **options: Of `encode`.

        Yields:
            Arrays of at most `chunk_size` rows, in order.

        Example:
            >>> import numpy as np, sentencode as se
            >>> encoder = se.Average(se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32)))
            >>> stream = (text for text in ["cat", "dog", "cat dog"])
            >>> [rows.shape for rows in encoder.encode_iter(stream, chunk_size=2)]
            [(2, 2), (1, 2)]
        """
        return self._chunks(sentences, chunk_size, 4096, **options)

    def _chunks(self, sentences: Any, size: int | None, default: int, **options: Any) -> Iterator[Any]:
        """`encode_iter`, of chunks of `default` sentences or less where the user gives no size."""
        self._check_fitted()
        if is_single(sentences):
            raise TypeError(f"encode_iter: sentences is one {type(sentences).__name__}; expected several")
        if isinstance(sentences, os.PathLike):
            sentences = Corpus(sentences, keep_empty=True)
        size, text = (default, TEXT_AT_ONCE) if size is None else (size, None)
        done = 0
        for batch in batches(sentences, size, text=text):
            with counted_from(done):
                rows = self.encode(batch, **options)
            yield rows
            done += len(batch)

    def _encode_all(
        self,
        sentences: Any,
        batch_size: int | None,
        show_progress_bar: bool | None,
        normalize: bool,
        dtype: npt.DTypeLike,
        out: Rows | None,
    ) -> Rows:
        count = _count(sentences)
        size = _CHUNK if batch_size is None else checked_int("encode: batch_size", batch_size, 1)
        if out is not None:
            _check_out(out, count, self.dim)
        elif count is not None:
            out = np.empty((count, self.dim), dtype=dtype)
        blocks = []  # where the number of sentences is not known before
        done = unknown = 0
        shown = progress(show_progress_bar, "encode", unit_of(sentences))
        with shown as bar:
            if batch_size is None and bar is None and count is not None and self._takes_lists:
                size = max(count, 1)
            text = TEXT_AT_ONCE if batch_size is None else None
            for batch in batches(sentences, size, text=text, on_progress=bar):
                end = done + len(batch)
                if out is None:
                    block = np.empty((len(batch), self.dim), dtype=dtype)
                    blocks.append(block)
                elif end > len(out):
                    raise ValueError(f"encode: out has {len(out)} rows, and there are more sentences")
                else:
                    block = out[done:end]
                with counted_from(done):
                    self._encode_block(batch, block, normalize)
                unknown += _count_unknown(batch, block)
                done = end
                shown.encoded(done)
        self._tell_of_unknown(unknown, done)
        if out is None:
            return np.concatenate(blocks) if blocks else np.empty((0, self.dim), dtype=dtype)
        if done < len(out):
            raise ValueError(f"encode: out has {len(out)} rows, and there are {done} sentences")
        return out

    def _tell_of_unknown(self, unknown: int, rows: int) -> None:
        if unknown < _MANY or unknown < _MANY_SHARE * rows or self in _TOLD:
            return
        _TOLD.add(self)
        warnings.warn(
            f"{type(self).__name__}.encode: {unknown:,} of {rows:,} rows ({unknown / rows:.0%}) are zero, "
            "for no word of their sentences is known. Perhaps the text is in another language than the word "
            "vectors, in another case (lowercase=), or cut otherwise (tokenizer=)",
            ZeroRowsWarning,
            stacklevel=4,
        )

    def _encode_block(self, batch: Any, block: Rows, normalize: bool) -> None:
        direct = block.dtype == np.float32 and block.flags.c_contiguous
        rows = block if direct else np.empty(block.shape, dtype=np.float32)
        self._encode_into(batch, rows)
        if normalize:
            _core.normalize_rows(rows)
        if not direct:
            block[:] = rows

    def _check_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError(
                f"this {type(self).__name__} has not been fitted: call fit with training sentences first"
            )

    # Comparing.

    def similarity(self, a: Any, b: Any, measure: Measure = "cosine") -> Any:
        """The similarity of everything in `a` with everything in `b`.

        Args:
            a: Sentences or their rows; one or many.
            b: Likewise.
            measure: "cosine" (with a row of zeros it is 0) or "dot", the inner product.

        Returns:
            An array, float32 [n, m]. If `a` or `b` is a tensor, a tensor on its device, without a gradient.

        Example:
            >>> import numpy as np, sentencode as se
            >>> encoder = se.Average(se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32)))
            >>> encoder.similarity("cat", ["cat cat", "dog", "cat dog"]).round(3)
            array([[1.   , 0.   , 0.707]], dtype=float32)
        """
        return similarity(*self._embedded_sides(a, b), measure)

    def similarity_pairwise(self, a: Any, b: Any, measure: Measure = "cosine") -> Any:
        """The similarity of each of `a` with the same of `b`.

        Args:
            a: Sentences or their rows; one or many.
            b: As many.
            measure: "cosine" (with a row of zeros it is 0) or "dot", the inner product.

        Returns:
            An array, float32 [n]. If `a` or `b` is a tensor, a tensor on its device, without a gradient.
        """
        return similarity_pairwise(*self._embedded_sides(a, b), measure)

    def semantic_search(
        self,
        queries: Any,
        corpus: Any,
        top_k: int = 10,
        *,
        measure: Measure = "cosine",
        batch_size: int | None = None,
    ) -> Hits:
        """What in a corpus is most similar to each query.

        A corpus of sentences is encoded and searched block by block: neither its rows nor the similarities
        are ever held whole. Whoever searches it often encodes it once and passes the rows, or a memory map
        of them.

        Args:
            queries: Sentences or their rows; one or many.
            corpus: Sentences (also a stream of them) or their rows.
            top_k: How many; where the corpus has fewer, all.
            measure: "cosine" (with a row of zeros it is 0) or "dot", the inner product.
            batch_size: How many sentences of the corpus are encoded at a time.

        Returns:
            Indices and scores [q, top_k], or [top_k] for one query, best first. `to_dicts` gives what
            sentence-transformers' function of this name returns.

        Example:
            >>> import numpy as np, sentencode as se
            >>> encoder = se.Average(se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32)))
            >>> indices, scores = encoder.semantic_search("dog", ["cat", "dog dog", "cat dog"], top_k=2)
            >>> indices
            array([1, 2])
        """
        if not is_numeric(corpus):
            corpus = self._chunks(corpus, batch_size, _CHUNK // 4)
        return semantic_search(self._embedded(queries), corpus, top_k, measure=measure)

    def _embedded_sides(self, a: Any, b: Any) -> tuple[Any, Any]:
        if is_numeric(a) or is_numeric(b):
            return self._embedded(a), self._embedded(b)
        encoder, (a, b) = self._together(a, b)
        return encoder.encode(a), encoder.encode(b)

    def _embedded(self, values: Any) -> Any:
        return values if is_numeric(values) else self.encode(values)

    def fingerprint(self) -> str:
        """A hash of all that rows depend on: parameters, vectors, what was learnt.

        Returns:
            Hexadecimal digits, the same for the same encoder, today and after saving and loading.
        """
        digest = hashlib.sha256(type(self).__name__.encode())
        _feed(digest, self._identity())
        return digest.hexdigest()

    def _identity(self) -> Any:
        """Numbers, strings, arrays and collections of them that rows depend on."""
        return vars(self)

    # The names that others use.

    device: Any = "cpu"
    """Where embeddings are computed. Functions of sentence-transformers move their tensors there."""

    @property
    def similarity_fn_name(self) -> str:
        """The measure of `similarity`, "cosine", as sentence-transformers calls it."""
        return "cosine"

    @property
    def model_card_data(self) -> _NoModelCard:
        """Where sentence-transformers' evaluators report to. Nothing is kept there: they return it all."""
        return _NoModelCard(self)

    def eval(self) -> Any:
        """The encoder itself: there is no other mode. Evaluators of sentence-transformers call this."""
        return self

    def get_embedding_dimension(self) -> int:
        """The length of a row, as sentence-transformers calls it."""
        return self.dim

    def get_sentence_embedding_dimension(self) -> int:
        """The length of a row, as sentence-transformers used to call it."""
        return self.dim

    def encode_query(self, sentences: Any, *args: Any, **options: Any) -> Any:
        """`encode`, by the name that sentence-transformers has for queries.

        Args:
            sentences: One sentence, or many.
            *args: Of `encode`.
            **options: Of `encode`.

        Returns:
            What `encode` returns.
        """
        return self.encode(sentences, *args, **options)

    def encode_document(self, sentences: Any, *args: Any, **options: Any) -> Any:
        """`encode`, by the name that sentence-transformers has for documents.

        Args:
            sentences: One sentence, or many.
            *args: Of `encode`.
            **options: Of `encode`.

        Returns:
            What `encode` returns.
        """
        return self.encode(sentences, *args, **options)

    def transform(self, sentences: Any) -> Any:
        """Encodes, as a step of scikit-learn's pipelines.

        Args:
            sentences: Many sentences.

        Returns:
            float32 [n, dim], or what `set_output` chose.
        """
        if is_single(sentences):
            raise ValueError(f"transform: expected several sentences, got one {type(sentences).__name__}")
        return self._output(self.encode(sentences), sentences)

    def fit_transform(self, sentences: Any, y: Any = None) -> Any:
        """Fits to sentences and encodes them.

        Args:
            sentences: Many sentences. Of an iterator, which could be read only once, a list is made.
            y: Ignored.

        Returns:
            float32 [n, dim], or what `set_output` chose.
        """
        sentences = repeatable(sentences, keep_empty=True)
        return self.fit(sentences, y).transform(sentences)

    def _columns(self) -> int:
        return self.dim


def in_blocks(sentences: Any, take: Callable[[Any], None], show_progress_bar: bool | None = None) -> None:
    """Calls `take` with sentences in blocks, as `Encoder.partial_fit` says."""
    with progress(show_progress_bar, "fit", unit_of(sentences)) as bar:
        done = 0
        for batch in batches(sentences, _CHUNK, text=TEXT_AT_ONCE, on_progress=bar):
            with counted_from(done):
                take(batch)
            done += len(batch)


class _NoModelCard:
    """Takes what sentence-transformers' evaluators would write on a model's card."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    @property
    def base_model(self) -> str:
        """What caches of embeddings identify the encoder by: its fingerprint."""
        return self._encoder.fingerprint()

    def set_evaluation_metrics(self, *args: Any, **options: Any) -> None:
        """Does nothing."""


_TOLD: WeakSet[Encoder] = WeakSet()  # encoders about whose rows of zeros users were told


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, bytes):
        digest.update(value)
    elif isinstance(value, dict):
        for key in sorted(value):
            digest.update(f"{key}:".encode())
            _feed(digest, value[key])
    elif isinstance(value, list | tuple):
        digest.update(f"{len(value)}".encode())
        for item in value:
            _feed(digest, item)
    else:
        digest.update(repr(value).encode())


def _count_unknown(batch: Any, block: Rows) -> int:
    """How many rows are zero though their sentences have text; 0 where they are few."""
    zero = np.flatnonzero(block[:, 0] == 0) if block.shape[1] else np.empty(0, int)
    if len(zero) < _MANY_SHARE * len(block):
        return 0
    zero = zero[~block[zero].any(axis=1)]
    texts = batch.to_list() if hasattr(batch, "to_list") else batch
    return sum(not is_blank(texts[i]) for i in zero)


def _checked_missing(missing: str) -> str:
    if missing not in ("error", "zero", "nan"):
        raise ValueError(f"encode: missing must be 'error', 'zero' or 'nan', got {missing!r}")
    return missing


def _count(sentences: Any) -> int | None:
    if getattr(sentences, "shape", None) == ():  # it has the method, but no length
        raise TypeError("sentences is an array without dimensions; expected one sentence or several")
    return len(sentences) if hasattr(sentences, "__len__") else None


def _refuse(others: dict[str, Any]) -> None:
    for name, value in others.items():
        if name not in _NEUTRAL:
            raise TypeError(
                f"encode() has no keyword {name!r}; it knows batch_size, show_progress_bar, "
                "normalize_embeddings, convert_to_numpy, convert_to_tensor, precision, device, out, missing"
            )
        if not any(type(value) is type(neutral) and value == neutral for neutral in _NEUTRAL[name]):
            raise ValueError(
                f"encode: {name}={value!r} is sentence-transformers' and cannot be had here; "
                f"leave it out or pass {_NEUTRAL[name][0]!r}"
            )


def _checked_dtype(precision: str | None, out: Rows | None) -> npt.DTypeLike:
    if precision not in ("float32", "float16", None):
        raise ValueError(f"encode: precision must be 'float32' or 'float16', got {precision!r}")
    return out.dtype if isinstance(out, np.ndarray) else precision or "float32"


def _check_out(out: Any, count: int | None, dim: int) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"encode: out must be a NumPy array or memory map, got a {type(out).__name__}")
    if out.dtype not in (np.float32, np.float16):
        raise ValueError(f"encode: out must be of float32 or float16, got {out.dtype}")
    rows = "number of sentences" if count is None else count
    if out.ndim != 2 or out.shape[1] != dim or (count is not None and out.shape[0] != count):
        raise ValueError(f"encode: out must have the shape [{rows}, {dim}], got {list(out.shape)}")
    if not out.flags.writeable:
        raise ValueError("encode: out is read-only; a memory map needs the mode 'r+' or 'w+'")


def _tensor(rows: Rows, device: Any) -> Any:
    try:
        torch = require("torch", "nn")
    except ImportError:
        raise ImportError("tensors need PyTorch: pip install 'sentencode[nn]'") from None
    tensor = torch.from_numpy(rows)
    return tensor if device in (None, "auto") else tensor.to(device)


def is_numeric(values: Any) -> bool:
    """Whether these are rows, or one, and not sentences."""
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    if hasattr(values, "detach"):  # a tensor
        return True
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    return isinstance(values, (float, int)) or (kind is not None and kind in "fiub")
