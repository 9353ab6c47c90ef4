"""Word vectors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy.typing as npt

from .. import _core
from ..checks import checked_str, checked_words
from ..errors import FormatError
from ..text.tokenizer import chosen_tokenizer
from .distillation import distill, say_result
from .load import load
from .lookup import Lookup, Subwords
from .student_words import Words
from .tables import (
    OutOfVocabulary,
    Storage,
    is_gensim,
    reduced_table,
    table_of,
    table_of_dict,
    table_of_gensim,
)
from .train import train

__all__ = ["Subwords", "Vectors", "WordVectors"]

_DEFAULT = os.path.join(os.path.dirname(__file__), os.pardir, "data", "default_vectors.sentencode")

# The argument `vectors` of encoders: a table, a file, a dict, or gensim's KeyedVectors.
Vectors: TypeAlias = "WordVectors | str | os.PathLike[str] | Mapping[str, npt.ArrayLike]"


class WordVectors(Lookup):
    """An immutable table of words and their vectors, shared by all encoders that use it.

    Created by `load`, `from_array`, `from_dict`, `from_keyed_vectors`, `train`, `distill` and `default`.
    Copies are the object itself. A pickle contains the vectors, or a reference to their file if that has the
    native format.

    Attributes:
        dim: Dimension of the vectors.
        words: Sequence of the words.
        counts: Counts of the words in the training corpus (int64), or None.
        storage: "float32", "float16" or "int8" (with one scale per word).
        oov: Representation of unknown words: "skip" (none), "zero", "mean" (of all vectors), "random" (a
            vector chosen by the word's hash) or "subwords" (the mean of the vectors of its subwords, if the
            table has them).
        cased: Whether words of the table have upper-case letters. If not, text is lower-cased before lookup,
            unless the tokenizer is configured otherwise.
        path: The mapped file, or None.
        fingerprint: SHA-256 of the content, in hexadecimal.

    Example:
        >>> import numpy as np
        >>> import sentencode as se
        >>> vectors = se.WordVectors.from_array(["cat", "dog", "car"], np.array([[1, 0], [0.9, 0.1], [0, 1]]))
        >>> vectors
        WordVectors(3 words, dim=2, storage='float32', oov='skip')
        >>> vectors["cat"]
        array([1., 0.], dtype=float32)
        >>> "dog" in vectors, "cow" in vectors
        (True, False)
        >>> [word for word, similarity in vectors.most_similar("cat")]
        ['dog', 'car']
    """

    __slots__ = ()

    def __init__(self, core: _core.WordVectors) -> None:
        if not isinstance(core, _core.WordVectors):
            raise TypeError(
                "WordVectors are created by WordVectors.load, from_array, from_dict or from_keyed_vectors"
            )
        self._core = core

    @classmethod
    def from_array(
        cls,
        words: Sequence[str],
        matrix: npt.ArrayLike,
        counts: npt.ArrayLike | None = None,
        *,
        storage: Storage | None = None,
        oov: OutOfVocabulary = "skip",
    ) -> WordVectors:
        """Copy words and a matrix of their vectors.

        Args:
            words: Distinct words.
            matrix: Vectors [n, dim], all finite.
            counts: Counts of the words [n], from which encoders take word frequencies.
            storage: Storage type. None: float16 for a matrix of that type, else float32.
            oov: Representation of unknown words.

        Raises:
            ValueError: Words repeat, sizes do not match, or a value is not finite.

        Example:
            >>> import sentencode as se
            >>> se.WordVectors.from_array(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], oov="zero").dim
            2
        """
        return cls(table_of(words, matrix, counts, storage=storage, oov=oov))

    @classmethod
    def from_dict(
        cls,
        mapping: Mapping[str, npt.ArrayLike],
        *,
        storage: Storage | None = None,
        oov: OutOfVocabulary = "skip",
    ) -> WordVectors:
        """Copy a dict of words and vectors.

        Args:
            mapping: A vector [dim] for each word.
            storage: Storage type, as for `from_array`.
            oov: Representation of unknown words.

        Raises:
            ValueError: Vectors differ in dimension, or a value is not finite.

        Example:
            >>> import sentencode as se
            >>> se.WordVectors.from_dict({"yes": [1, 0], "no": [0, 1]})["no"]
            array([0., 1.], dtype=float32)
        """
        return cls(table_of_dict(mapping, storage=storage, oov=oov))

    @classmethod
    def from_keyed_vectors(
        cls, keyed_vectors: Any, *, storage: Storage | None = None, oov: OutOfVocabulary | None = None
    ) -> WordVectors:
        """Copy gensim's `KeyedVectors` (version 4), with their counts and subwords, if any.

        Args:
            keyed_vectors: A `gensim.models.KeyedVectors`, or a model with one as `.wv`.
            storage: Storage type, as for `from_array`.
            oov: Representation of unknown words, as for `load`.

        Raises:
            TypeError: It is not of gensim 4.
        """
        return cls(table_of_gensim(keyed_vectors, storage=storage, oov=oov))

    @classmethod
    def of(cls, source: Vectors) -> WordVectors:
        """Convert to `WordVectors`, as encoders do with their argument `vectors`.

        Args:
            source: `WordVectors`, which are returned unchanged; the path of a file (`load`); a dict
                (`from_dict`); or gensim's `KeyedVectors` (`from_keyed_vectors`).

        Raises:
            TypeError: It is something else.

        Example:
            >>> import sentencode as se
            >>> se.WordVectors.of({"yes": [1, 0], "no": [0, 1]})
            WordVectors(2 words, dim=2, storage='float32', oov='skip')
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, (str, bytes, os.PathLike)):
            return cls.load(source)
        if isinstance(source, Mapping):
            return cls.from_dict(source)
        if is_gensim(source):
            return cls.from_keyed_vectors(source)
        raise TypeError(
            "vectors must be WordVectors, the path of a file, a dict of vectors or gensim's KeyedVectors, "
            f"got a {type(source).__name__}"
        )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        limit: int | None = None,
        words: Iterable[str] | None = None,
        storage: Storage | None = None,
        oov: OutOfVocabulary | None = None,
        format: Literal["auto", "text", "word2vec_binary", "fasttext", "native", "npz", "kv"] = "auto",
        dim: int | None = None,
        member: str | None = None,
        cache: bool = True,
        progress: bool | Callable[[int, int], None] | None = None,
        verify: bool = False,
    ) -> WordVectors:
        r"""Read a file of word vectors.

        Formats are GloVe's text, word2vec's text and binary, fastText's .vec and .bin (with subwords), plain
        or compressed by gzip, xz, zstd or zip; gensim's .kv; NumPy archives; and the native format of `save`.
        Words may contain spaces; the first of repeated words counts; invalid UTF-8 is replaced. Pipes are
        read once; formats that must be mapped cannot be read from them.

        Parsed files of more than 8 MB are cached in the native format in `sentencode.cache_dir()`, and mapped
        the next time, unless the file has changed or the cached one is damaged. The cache has a limit of 16
        GiB, above which the least recently used files are removed.

        Args:
            path: File or pipe.
            limit: Number of rows to read. Published files have frequent words first.
            words: The words to keep.
            storage: Storage type: "float32", "float16", "int8". None: as in the file, float32 for text.
            oov: Representation of unknown words: "skip", "zero", "mean", "random", "subwords". None:
                "subwords" if the file has them, else "skip".
            format: File format. "auto": according to its first bytes.
            member: File of a zip archive that has several.
            dim: Dimension of the vectors. Only needed for text without a header line, if most of its first
                words contain spaces.
            cache: Whether to use the cache.
            progress: True for a progress bar, or a function of the bytes read and the total.
            verify: Whether to verify the checksums of all rows of a native file, and that they are finite: a
                third of a second per gigabyte in memory. Its words are always verified.

        Raises:
            FormatError: The file is damaged or of another format; names the line or the byte.
            OSError: It cannot be read.
            ValueError: It has none of `words`.

        Example:
            >>> import pathlib, tempfile
            >>> import sentencode as se
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.txt"
            >>> _ = path.write_text("cat 1 0\nat name@domain.com 0 1\n. . . 1 1\ndog 0.9 0.1\n")
            >>> list(se.WordVectors.load(path))
            ['cat', 'at name@domain.com', '. . .', 'dog']
        """
        try:
            return cls(load(path, limit, words, storage, oov, format, dim, member, cache, progress, verify))
        except FormatError as error:
            if "not one of word vectors" in str(error):
                raise FormatError(f"{error}; sentencode.load reads encoders") from None
            raise

    @classmethod
    def train(
        cls,
        corpus: Any,
        dim: int = 300,
        *,
        method: Literal["ppmi", "word2vec"] = "ppmi",
        window: int = 5,
        min_count: int = 5,
        max_words: int | None = 100_000,
        tokenizer: Any = "words",
        lowercase: bool = True,
        smoothing: float = 0.75,
        epochs: int = 5,
        storage: Storage = "float32",
        seed: int = 20181111,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> WordVectors:
        """Train word vectors on a corpus.

        "ppmi" counts pairs of words in a window and computes the SVD of their positive pointwise mutual
        information. It has no learning rate and no epochs, and is deterministic. Its memory depends on the
        number of distinct pairs, which `max_words` limits. "word2vec" is gensim's skip-gram with negative
        sampling; with several threads it is not deterministic. `docs/results/word-vectors.md` compares them.

        Args:
            corpus: A file, a folder or a glob (one sentence per line, compressed or not), a `Corpus`, or an
                iterable of sentences. Iterators are copied to a list, as the corpus is read more than once.
            dim: Dimension of the vectors.
            method: "ppmi", or "word2vec", which needs `pip install 'sentencode[train]'`.
            window: Words on either side that are contexts; closer ones have more weight.
            min_count: Minimum count of a word.
            max_words: Maximum of words, the most frequent ones. None: no limit.
            tokenizer: A `Tokenizer`, or its argument.
            lowercase: Whether to lower-case, unless `tokenizer` is a `Tokenizer`.
            smoothing: Exponent of context counts, for "ppmi".
            epochs: Passes over the corpus, for "word2vec".
            storage: Storage type: "float32", "float16", "int8".
            seed: Seed of random numbers.
            progress: True for progress bars, or a function of the stage's name, the progress, and the total.
                None: in a terminal or a notebook, bars after a second.

        Returns:
            The vectors, most frequent words first, with their counts.

        Raises:
            ImportError: gensim is needed, but not installed.
            OSError: A file cannot be read.
            ValueError: An argument is invalid, or the corpus has fewer words than `dim`.

        Example:
            >>> import sentencode as se
            >>> text = ["the cat sat on the mat", "the dog sat on the mat", "a cat and a dog ran"] * 5
            >>> vectors = se.WordVectors.train(text, dim=4, window=2)
            >>> vectors
            WordVectors(9 words, dim=4, storage='float32', oov='skip')
            >>> vectors.words[0], int(vectors.counts[0])
            ('the', 20)
        """
        table = train(
            corpus,
            dim,
            method=method,
            window=window,
            min_count=min_count,
            max_words=max_words,
            tokenizer=tokenizer,
            lowercase=lowercase,
            smoothing=smoothing,
            epochs=epochs,
            storage=storage,
            seed=seed,
            progress=progress,
        )
        return cls(table)

    @classmethod
    def distill(
        cls,
        teacher: Any,
        sentences: Any,
        words: Words = None,
        *,
        max_words: int = 60_000,
        max_sentences: int | None = None,
        dim: int | None = None,
        a: float | None = 1e-3,
        penalty: float | None = None,
        ridge: float | None = None,
        tokenizer: Any = "punctuation",
        lowercase: bool = True,
        storage: Storage = "float32",
        cache: bool | str | os.PathLike[str] = True,
        progress: bool | Callable[[str, int, int], None] | None = None,
    ) -> WordVectors:
        r"""Fit word vectors whose averages approximate the embeddings of another encoder, the teacher.

        W = argmin \|A W - (T - m)\|^2 + lambda \|W - W0\|^2, in closed form. T are the teacher's embeddings
        of the sentences and m is their mean; A averages the words of a sentence with SIF's weights; W0 are
        the teacher's embeddings of single words, centred and mapped by ridge regression. `docs/distill.md`
        derives it.

        The teacher takes most of the time. Its embeddings are cached, so that an interrupted call, or one
        with another lambda, does not compute them again.

        Args:
            teacher: An encoder of Sentencode or sentence-transformers, or a function from a list of sentences
                to their embeddings.
            sentences: A file, a folder or a glob (one sentence per line, compressed or not), a `Corpus`, or
                an iterable of texts. They are held in memory. 20,000 are enough; more are slightly better.
            words: The words of the table. None or "words": those of the sentences, most frequent first, then
                whole words of the teacher's own tokenizer, then 50,000 frequent English words if the
                sentences are English. Words that no sentence has get the teacher's mapped embedding.
                "wordpieces": the tokens of the teacher's own tokenizer. "both": whole words, and those pieces
                for all others, so that no word is unknown. Both need that tokenizer, which vectors do not
                have: take `encoder` of `sentencode.distill.distill` instead.
            max_words: Maximum of words, unless they are listed.
            max_sentences: Size of the random sample of sentences that the teacher encodes; words are counted
                in all. None: all.
            dim: Dimension of the vectors, by principal components. None: the teacher's.
            a: Words have the weights a / (a + p(word)), where p is the relative frequency in the sentences.
                The vectors are multiplied by them. None: no weights.
            penalty: Lambda. None: the best of several on held-out sentences.
            ridge: Ridge of the map of word embeddings, which shrinks it towards a scalar. None: the best of
                several on held-out sentences.
            tokenizer: A `Tokenizer`, or its argument.
            lowercase: Whether to lower-case, unless `tokenizer` is a `Tokenizer`.
            storage: Storage type: "float32", "float16", "int8".
            cache: Cache of the teacher's embeddings: a folder, one in `sentencode.cache_dir()` (True), or
                none (False). Teachers are identified by their embeddings of some sentences.
            progress: True for progress bars, or a function of the stage's name, the progress, and the total.
                None: in a terminal or a notebook, bars after a second, and lines with the result.

        Returns:
            The vectors, with counts of the words. They include the weights, so `Average(vectors)` is the
            student, if it chooses the same tokenizer.

        Raises:
            DegenerateEncoderError: The teacher fails, or its embeddings are not finite.
            ValueError: There are no sentences, no words, or no sentence has any of the words.

        Warns:
            UserWarning: `Average(vectors)` chooses another tokenizer.

        Example:
            >>> import numpy as np
            >>> import sentencode as se
            >>> teacher = se.Average({"cat": [1.0, 0.0], "dog": [0.8, 0.2], "car": [0.0, 1.0]})
            >>> sentences = ["cat dog", "dog car", "cat car car", "dog", "car cat"]
            >>> vectors = se.WordVectors.distill(teacher, sentences, a=None, penalty=1e-6, cache=False)
            >>> student = se.Average(vectors)
            >>> bool(student.similarity(["cat"], ["dog"])[0, 0] > student.similarity(["cat"], ["car"])[0, 0])
            True
        """
        student = distill(
            teacher,
            sentences,
            "words" if words is None else words,
            max_words=max_words,
            max_sentences=max_sentences,
            dim=dim,
            a=a,
            penalty=penalty,
            ridge=ridge,
            tokenizer=tokenizer,
            lowercase=lowercase,
            storage=storage,
            cache=cache,
            progress=progress,
        )
        say_result(student, progress, "sentencode.Average(vectors)")
        vectors = cls(student.vectors)
        auto = chosen_tokenizer("", "auto", "auto", compounds=vectors.compounds)
        cores = [one.core(lowercase=not vectors.cased) for one in (auto, student.tokenizer)]
        if len({(core.split, core.lowercase) for core in cores}) > 1:
            warnings.warn(
                "WordVectors.distill: Average(vectors) chooses another tokenizer than the student's, "
                f"{student.tokenizer!r}, so its embeddings differ; take "
                "sentencode.distill.distill(...).encoder, or pass tokenizer= to Average",
                UserWarning,
                stacklevel=2,
            )
        return vectors

    @classmethod
    def default(cls, *, oov: OutOfVocabulary = "skip") -> WordVectors:
        """Open the small vectors of the package: English, lower-case, a student of all-MiniLM-L6-v2.

        They are mapped in milliseconds. `docs/default_vectors.md` describes their quality.

        Args:
            oov: Representation of unknown words.

        Example:
            >>> import sentencode as se
            >>> vectors = se.WordVectors.default()
            >>> "whale" in vectors, vectors.counts is not None
            (True, True)
        """
        return cls(_core.WordVectors.open(_DEFAULT, checked_str("oov", oov)))

    def with_oov(self, oov: OutOfVocabulary) -> WordVectors:
        """Return the same table with another representation of unknown words. Shares memory.

        Args:
            oov: "skip", "zero", "mean", "random" or "subwords".

        Raises:
            ValueError: It is "subwords", and the table has none.
        """
        return WordVectors(self._core.with_oov(checked_str("oov", oov)))

    def with_storage(self, storage: Storage) -> WordVectors:
        """Return the same table in another storage type, or itself.

        Args:
            storage: "float32", "float16" (half the memory, three digits) or "int8" (a quarter, two digits).

        Raises:
            ValueError: A value is too large for float16.
        """
        if checked_str("storage", storage) == self.storage:
            return self
        return WordVectors(self._core.with_storage(storage))

    def reduced(self, dim: int) -> WordVectors:
        """Return the leading principal components of the vectors, without centring. Subwords are removed.

        Args:
            dim: New dimension, at most the current one.

        Raises:
            ValueError: `dim` is out of range.

        Example:
            >>> import sentencode as se
            >>> se.WordVectors.default().reduced(50).dim
            50
        """
        return WordVectors(reduced_table(self._core, dim))

    def only(self, words: Iterable[str]) -> WordVectors:
        """Return the table of some words, in this table's order.

        Args:
            words: The words to keep. Unknown ones are ignored.

        Raises:
            TypeError: It is a string.
        """
        return WordVectors(self._core.only(checked_words("words", words)))

    def __copy__(self) -> WordVectors:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> WordVectors:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is not None and not self._core.prefix:
            return _reopen, (os.path.abspath(self.path), self.oov, self.fingerprint)
        return _rebuild, (self._core.to_bytes(), self.oov)


def _reopen(path: str, oov: str, fingerprint: str) -> WordVectors:
    """Unpickle a reference to a file, which must not have changed."""
    try:
        core = _core.WordVectors.open(path, oov)
    except OSError as error:
        raise type(error)(
            error.errno, f"these word vectors were pickled as a reference to {path}, which cannot be read"
        ) from error
    if core.fingerprint() != fingerprint:
        raise ValueError(
            f"these word vectors were pickled as a reference to {path}, which has changed since: "
            f"fingerprint {core.fingerprint()[:12]}, expected {fingerprint[:12]}"
        )
    return WordVectors(core)


def _rebuild(content: bytes, oov: str) -> WordVectors:
    return WordVectors(_core.WordVectors.from_bytes(content, oov))
