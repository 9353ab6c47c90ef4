"""The base class of all encoders."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .checks import checked_int, is_column_of_rows
from .encode_arguments import check_keywords, checked_missing, output_of, to_tensor
from .encode_rows import encode_rows
from .errors import NotFittedError
from .progress import progress
from .quantization import Precision
from .search import Hits, Measure, semantic_search, similarity, similarity_pairwise
from .sentence_transformers_names import SentenceTransformersNames
from .text.corpus import Corpus, repeatable
from .text.inputs import (
    TEXT_AT_ONCE,
    batches,
    column_names,
    counted_from,
    filled,
    is_single,
    renamed,
    unit_of,
)

__all__ = ["Encoder", "in_blocks", "is_numeric"]

Rows = npt.NDArray[Any]
_CHUNK = 1 << 16  # sentences between two updates of the progress bar
_ITER = 4096  # sentences per chunk of `encode_iter`


class Encoder(SentenceTransformersNames):
    """Base class of encoders, which map sentences to embeddings.

    Sentences may be a list, tuple, NumPy array, pandas or polars Series, pyarrow array, column of a data set,
    table of one column, `Corpus`, `pathlib.Path` of a text file with one sentence per line, or any iterable;
    of strings, of bytes (UTF-8), or of lists of tokens. Empty lines of a path have embeddings; `fit` skips
    them.

    The embedding of a sentence does not depend on other sentences, on the batch size or on the number of
    threads, except for rounding: at most 1e-6 of its norm, or of the largest norm of a word vector for
    encoders that subtract, such as SIF. A sentence without a known word has a zero embedding.
    """

    # Implemented by subclasses.

    @property
    def dim(self) -> int:
        """Dimensions of an embedding."""
        raise NotImplementedError

    def _encode_into(self, batch: Any, out: npt.NDArray[np.float32]) -> None:
        """Writes the embeddings of a batch of `text.inputs` to `out` [n, dim], whose rows are contiguous."""
        raise NotImplementedError

    @property
    def _takes_lists(self) -> bool:
        """Whether `_encode_into` splits a list itself, and encodes one piece while it prepares the next."""
        return False

    def _partial_fit(self, batch: Any) -> None:
        """Trains on a batch of `text.inputs`."""
        raise NotImplementedError(f"{type(self).__name__} has no partial_fit: call fit with all sentences")

    def _together(self, *sides: Any) -> tuple[Encoder, tuple[Any, ...]]:
        """The encoder and the lists of sentences to encode jointly: by default, both unchanged."""
        return self, sides

    def _forget(self) -> None:
        """Discards what was learnt, and checks the parameters."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Completes `fit` after all sentences."""

    def _take(self, fresh: Any) -> None:
        """Adopts the fitted state of an encoder with the same parameters."""
        parameters = self._defaults()
        vars(self).update({name: value for name, value in vars(fresh).items() if name not in parameters})

    # Fitting.

    def fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Fits the encoder to sentences, and discards earlier fits.

        After an error or an interruption, the encoder is unchanged.

        Args:
            sentences: Sentences, or the name of a text file, a folder or a glob; read once, in constant
                memory.
            y: Ignored.
            show_progress_bar: Whether to show a progress bar. None: if the logger "sentencode" shows
                information, or, after a second, in a terminal or a notebook.

        Returns:
            The encoder itself.

        Raises:
            ValueError: A parameter is invalid.
        """
        fresh = type(self)(**self.get_params(deep=False))
        fresh._forget()
        fresh.partial_fit(sentences, show_progress_bar=show_progress_bar)
        fresh._finish()
        self._take(fresh)
        return self

    def partial_fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Fits the encoder to more sentences.

        They are read in blocks of 65,536 sentences, or at most 16 million characters of a stream or file.
        After an error or an interruption, the encoder has learnt from all complete blocks.

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
        """A context with the function that trains on a block of sentences."""
        yield self._partial_fit

    def merge(self, other: Any) -> Any:
        """Adds the sums of another encoder with the same parameters, as if fitted to its sentences, too.

        Args:
            other: Encoder that is not changed.

        Returns:
            The encoder itself.

        Raises:
            NotImplementedError: Encoders of this class cannot be merged.
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
        precision: Precision | None = "float32",
        truncate_dim: int | None = None,
        ranges: npt.ArrayLike | None = None,
        device: Any = None,
        out: Rows | None = None,
        missing: Literal["error", "zero", "nan"] = "error",
        **others: Any,
    ) -> Any:
        """Returns the embedding of each sentence.

        A `pathlib.Path` has one embedding per line; that of an empty line is zero. Keywords are those of
        sentence-transformers, so that an encoder can replace one of its models.

        Args:
            sentences: One sentence (`str` or `bytes`), or several.
            batch_size: Number of sentences per batch; does not change the result.
            show_progress_bar: Whether to show a progress bar. None: if the logger "sentencode" shows
                information.
            normalize_embeddings: Whether to normalize each embedding to length 1, after its truncation; zero
                embeddings stay.
            convert_to_numpy: If this and `convert_to_tensor` are false, the result is a list of tensors.
            convert_to_tensor: Whether to return a PyTorch tensor.
            precision: "float32" (None, too), "float16", "int8", "uint8", or "binary" or "ubinary", one bit
                for each dimension; see `quantize_embeddings`.
            truncate_dim: Number of dimensions that are kept, the first ones.
            ranges: For int8 and uint8: the range of each dimension, which `calibrate` returns. Embeddings
                can only be compared if they were quantized with the same ranges.
            device: Device of a tensor; not that of the computation.
            out: Array or memory map [n, dim] to fill and return, of the type of `precision`, or of float16.
            missing: For a sentence that is `None`, NaN or NA in a list or a column: "error", a "zero" or a
                "nan" embedding. Unless "error", a stream is read into a list.
            **others: More keywords of sentence-transformers, with values that have no effect.

        Returns:
            [n, dim], C-contiguous; [dim] for one sentence. Of packed bits, ceil(dim / 8) bytes.

        Raises:
            NotFittedError: The encoder is not fitted.
            TypeError: A sentence has another type, or a keyword is unknown.
            ValueError: `out` has another shape or type, or another keyword is invalid or not supported.

        Warns:
            ZeroRowsWarning: Many sentences have no known word; once per encoder.
        """
        self._check_fitted()
        check_keywords(others)
        if convert_to_tensor and out is not None:
            raise ValueError("encode: out and convert_to_tensor exclude each other")
        tensors = convert_to_tensor or not convert_to_numpy
        if device is not None and str(device) not in ("cpu", "auto") and not tensors:
            raise ValueError(
                f"encode: device={str(device)!r} is only the device of a tensor (convert_to_tensor=True); "
                f"it does not change where {type(self).__name__} computes"
                + (f": encoder.to({str(device)!r}) does" if hasattr(self, "to") else "")
            )
        single = is_single(sentences)
        absent: list[int] = []
        if isinstance(sentences, os.PathLike):
            sentences = Corpus(sentences, keep_empty=True)
        elif checked_missing(missing) != "error" and not single and not isinstance(sentences, Corpus):
            sentences, absent = filled(sentences)
        encoder, (sentences,) = self._together([sentences] if single else sentences)
        output = output_of(
            encoder.dim,
            precision,
            out,
            missing,
            truncate_dim=truncate_dim,
            normalize=normalize_embeddings,
            ranges=ranges,
        )
        rows = encode_rows(encoder, sentences, batch_size, show_progress_bar, output, out)
        if missing == "nan":
            rows[absent] = np.nan
        if tensors:
            rows = to_tensor(rows, device)
        if single:
            return rows[0]
        return rows if convert_to_numpy or convert_to_tensor else list(rows)

    def calibrate(
        self, sentences: Any, *, normalize_embeddings: bool = False, truncate_dim: int | None = None
    ) -> npt.NDArray[np.float32]:
        """Returns the range of each dimension, which int8 and uint8 divide into 256 steps.

        Save the ranges next to the embeddings that are quantized with them (`np.save`): embeddings of all
        batches, and `semantic_search`, need the same. A few thousand typical sentences suffice.

        Args:
            sentences: Typical sentences; a stream is read in constant memory.
            normalize_embeddings: As for `encode`.
            truncate_dim: As for `encode`.

        Returns:
            Least and largest value of each dimension, float32 [2, dim].

        Raises:
            ValueError: There are no sentences.

        Example:
            >>> import numpy as np, sentencode as se
            >>> encoder = se.Average(se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32)))
            >>> ranges = encoder.calibrate(["cat", "dog", "dog dog"])
            >>> encoder.encode(["cat", "cat dog"], precision="int8", ranges=ranges)
            array([[ 126, -128],
                   [  -1,   -1]], dtype=int8)
        """
        ranges = None
        options = {"normalize_embeddings": normalize_embeddings, "truncate_dim": truncate_dim}
        for rows in self._chunks("calibrate: sentences", sentences, None, _ITER, **options):
            block = np.stack([rows.min(axis=0), rows.max(axis=0)])
            ranges = (
                block
                if ranges is None
                else np.stack([np.minimum(ranges[0], block[0]), np.maximum(ranges[1], block[1])])
            )
        if ranges is None:
            raise ValueError("calibrate: there are no sentences")
        return ranges

    def encode_iter(self, sentences: Any, chunk_size: int | None = None, **options: Any) -> Iterator[Any]:
        """Encodes a stream in constant memory.

        Args:
            sentences: Sentences, for example of a generator.
            chunk_size: Number of sentences per chunk. None: 4,096, but at most 16 million characters.
            **options: Keywords of `encode`, checked by the call itself.

        Yields:
            Embeddings of at most `chunk_size` sentences, in order.

        Example:
            >>> import numpy as np, sentencode as se
            >>> encoder = se.Average(se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32)))
            >>> stream = (text for text in ["cat", "dog", "cat dog"])
            >>> [rows.shape for rows in encoder.encode_iter(stream, chunk_size=2)]
            [(2, 2), (1, 2)]
        """
        if chunk_size is not None:
            chunk_size = checked_int("encode_iter: chunk_size", chunk_size, 1)
        return self._chunks("encode_iter: sentences", sentences, chunk_size, _ITER, **options)

    def _chunks(
        self, what: str, sentences: Any, size: int | None, default: int, **options: Any
    ) -> Iterator[Any]:
        """`encode_iter` of the argument `what`; chunks of at most `default` sentences if `size` is None."""
        self._check_fitted()
        if is_single(sentences):
            raise TypeError(f"{what} is one {type(sentences).__name__}; expected several")
        self.encode([], **{**options, "out": None, "show_progress_bar": False})  # checks the options
        if isinstance(sentences, os.PathLike):
            sentences = Corpus(sentences, keep_empty=True)
        size, text = (default, TEXT_AT_ONCE) if size is None else (size, None)

        def encoded() -> Iterator[Any]:
            done = 0
            with renamed(what.rpartition(" ")[2]):
                for batch in batches(sentences, size, text=text):
                    with counted_from(done):
                        rows = self.encode(batch, **options)
                    yield rows
                    done += len(batch)

        return encoded()

    def _check_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError(
                f"this {type(self).__name__} has not been fitted: call fit with training sentences first"
            )

    # Comparing.

    def similarity(self, a: Any, b: Any, measure: Measure = "cosine") -> Any:
        """The similarities of all pairs of sentences of `a` and `b`.

        Args:
            a: Sentences or embeddings, one or several.
            b: Likewise.
            measure: "cosine" (0 for zero embeddings) or "dot", the inner product.

        Returns:
            float32 [n, m]; a tensor without gradient, on the same device, if `a` or `b` is a tensor.

        Example:
            >>> import numpy as np, sentencode as se
            >>> encoder = se.Average(se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32)))
            >>> encoder.similarity("cat", ["cat cat", "dog", "cat dog"]).round(3)
            array([[1.   , 0.   , 0.707]], dtype=float32)
        """
        return similarity(*self._embedded_sides(a, b), measure)

    def similarity_pairwise(self, a: Any, b: Any, measure: Measure = "cosine") -> Any:
        """The similarities of corresponding sentences of `a` and `b`.

        Args:
            a: Sentences or embeddings, one or several.
            b: As many.
            measure: "cosine" (0 for zero embeddings) or "dot", the inner product.

        Returns:
            float32 [n]; a tensor without gradient, on the same device, if `a` or `b` is a tensor.
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
        ranges: npt.ArrayLike | None = None,
        rescore: Any = None,
        rescore_multiplier: int = 4,
    ) -> Hits:
        """The sentences of a corpus that are most similar to each query.

        A corpus of sentences is encoded and searched block by block, in constant memory. To search it
        repeatedly, encode it once and pass the embeddings, or a memory map of them.

        Args:
            queries: Sentences or embeddings, one or several.
            corpus: Sentences, also as a stream, or embeddings in any precision, also as a stream of blocks.
            top_k: Number of results; all, if the corpus has fewer.
            measure: "cosine" (0 for zero embeddings) or "dot", the inner product.
            batch_size: Number of sentences of the corpus per block.
            ranges: Ranges that an int8 or uint8 corpus was encoded with.
            rescore: Embeddings of the corpus in float32 or float16, which decide the order of the results:
                see the function `semantic_search`.
            rescore_multiplier: Candidates per result that are rescored.

        Returns:
            Indices and scores [q, top_k], or [top_k] for one query, best first. `to_dicts` converts them to
            the result of sentence-transformers' function of this name.

        Example:
            >>> import numpy as np, sentencode as se
            >>> encoder = se.Average(se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32)))
            >>> indices, scores = encoder.semantic_search("dog", ["cat", "dog dog", "cat dog"], top_k=2)
            >>> indices
            array([1, 2])
        """
        if batch_size is not None:
            batch_size = checked_int("semantic_search: batch_size", batch_size, 1)
        first = corpus
        if isinstance(corpus, Iterator):
            pieces = [*islice(corpus, 1)]
            first = [piece for piece in pieces if not isinstance(piece, float)]  # NaN is a missing sentence
            corpus = chain(pieces, corpus)
        if not is_numeric(first):
            corpus = self._chunks("semantic_search: corpus", corpus, batch_size, _CHUNK // 4)
        return semantic_search(
            self._embedded("queries", queries),
            corpus,
            top_k,
            measure=measure,
            ranges=ranges,
            rescore=rescore,
            rescore_multiplier=rescore_multiplier,
        )

    def _embedded_sides(self, a: Any, b: Any) -> tuple[Any, Any]:
        if is_numeric(a) or is_numeric(b):
            return self._embedded("a", a), self._embedded("b", b)
        encoder, (a, b) = self._together(a, b)
        return encoder._embedded("a", a), encoder._embedded("b", b)

    def _embedded(self, name: str, values: Any) -> Any:
        if is_numeric(values):
            return values
        with renamed(name):
            return self.encode(values)

    def fingerprint(self) -> str:
        """A hexadecimal hash of everything that embeddings depend on; saving and loading keeps it.

        The code of a tokenizer is part of it, unless it cannot be hashed.
        """
        digest = hashlib.sha256(type(self).__name__.encode())
        _update(digest, self._identity())
        if code := code_of_tokenizer(self):
            digest.update(code.encode())
        return digest.hexdigest()

    def _identity(self) -> Any:
        """Everything that embeddings depend on: numbers, strings, arrays, collections of them."""
        return vars(self)

    def transform(self, sentences: Any) -> Any:
        """The embeddings of sentences, float32 [n, dim] or as `set_output` chose, for scikit-learn."""
        if is_single(sentences):
            raise ValueError(f"transform: expected several sentences, got one {type(sentences).__name__}")
        return self._output(self.encode(sentences), sentences)

    def fit_transform(self, sentences: Any, y: Any = None) -> Any:
        """Fits the encoder to sentences, and returns their embeddings as `transform` does.

        Args:
            sentences: Sentences; an iterator is read into a list.
            y: Ignored.
        """
        sentences = repeatable(sentences, keep_empty=True)
        return self.fit(sentences, y).transform(sentences)

    def _columns(self) -> int:
        return self.dim


def in_blocks(
    sentences: Any, take: Callable[[Any], None], show_progress_bar: bool | None = None, size: int = _CHUNK
) -> None:
    """Calls `take` with blocks of at most `size` sentences, as described in `Encoder.partial_fit`."""
    with progress(show_progress_bar, "fit", unit_of(sentences), interactive=True) as bar:
        done = 0
        for batch in batches(sentences, size, text=TEXT_AT_ONCE, on_progress=bar):
            with counted_from(done):
                take(batch)
            done += len(batch)


def _update(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, bytes):
        digest.update(value)
    elif isinstance(value, dict):
        for key in sorted(value):
            digest.update(f"{key}:".encode())
            _update(digest, value[key])
    elif isinstance(value, list | tuple):
        digest.update(f"{len(value)}".encode())
        for item in value:
            _update(digest, item)
    else:
        digest.update(repr(value).encode())


def code_of_tokenizer(encoder: Any) -> str | None:
    """Return `Tokenizer.code_digest` of an encoder, or of the encoders that it is made of."""
    inner = [*getattr(encoder, "encoders", ()), getattr(encoder, "encoder", None)]
    codes = [getattr(getattr(encoder, "tokenizer_", None), "code_digest", "")]
    codes += [code_of_tokenizer(one) for one in inner if isinstance(one, Encoder)]
    return None if None in codes else " ".join(filter(None, codes))


def is_numeric(values: Any) -> bool:
    """Whether values are embeddings, one or several, not sentences."""
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    if hasattr(values, "detach") or is_column_of_rows(values):  # a tensor, or a column of a data frame
        return True
    if column_names(values):
        dtypes = [*getattr(values, "dtypes", ())]
        return bool(dtypes) and all(map(_is_number, dtypes))
    return isinstance(values, (float, int)) or _is_number(getattr(values, "dtype", None))


def _is_number(dtype: Any) -> bool:
    """Whether a type of NumPy, pandas or polars is one of numbers."""
    if hasattr(dtype, "kind"):
        return dtype.kind in tuple("fiub")
    return hasattr(dtype, "is_numeric") and bool(dtype.is_numeric())
