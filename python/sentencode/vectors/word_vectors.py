"""Tables of words and their vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy.typing as npt

from .. import _core
from ..checks import checked_str, checked_words
from .distillation import distill
from .load import load
from .lookup import Lookup, Subwords
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

# What encoders take for vectors: the table itself, a file, a dict, or gensim's KeyedVectors.
Vectors: TypeAlias = "WordVectors | str | os.PathLike[str] | Mapping[str, npt.ArrayLike]"


class WordVectors(Lookup):
    """Words and their vectors, frozen: made once, then shared by all encoders that use them.

    Made by `load`, `from_array`, `from_dict` and `from_keyed_vectors`. A copy of it is itself; pickled, it is
    a reference to its file where it was read from its own format, else its content.

    Attributes:
        dim: How many numbers a vector has.
        words: The words, a sequence.
        counts: How often each word was counted where the vectors were trained (int64), or None.
        storage: How the numbers are stored: "float32", "float16" or "int8" (with one scale a word).
        oov: What stands for a word that is not there: "skip" (nothing), "zero", "mean" (of all vectors),
            "random" (a vector chosen by the word's spelling) or "subwords" (the mean of the vectors of its
            pieces, if the table has such).
        cased: Whether words with upper-case letters are part of the table. If not, text is lower-cased before
            it is looked up, unless the tokenizer says otherwise.
        path: The file that is mapped, or None.
        fingerprint: A SHA-256 of the content, as hexadecimal digits.

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
                "WordVectors are made by WordVectors.load, from_array, from_dict or from_keyed_vectors"
            )
        self._core = core

    # --- making

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
        """Vectors from a matrix with a row for each word. Everything is copied.

        Args:
            words: The words, each once.
            matrix: Numbers [n, dim], all finite.
            counts: How often each word was seen, if that is known; encoders take word frequencies from it.
            storage: How to store the numbers. None: float16 for a matrix of that type, else float32.
            oov: What stands for words that are not there.

        Returns:
            The vectors.

        Raises:
            ValueError: If words repeat, sizes do not match, or a number is not finite.

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
        """Vectors from a dict of them.

        Args:
            mapping: A vector for each word, all of one length.
            storage: How to store the numbers. None: as for `from_array`.
            oov: What stands for words that are not there.

        Returns:
            The vectors, in the order of the dict.

        Raises:
            ValueError: If vectors differ in length, or a number is not finite.

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
        """Vectors from gensim's `KeyedVectors` (version 4), with their counts and subwords where it has them.

        Args:
            keyed_vectors: A `gensim.models.KeyedVectors`, or a model that has one as `.wv`.
            storage: How to store the numbers. None: as for `from_array`.
            oov: What stands for words that are not there. None: as for `load`.

        Returns:
            The vectors.

        Raises:
            TypeError: If it is not of gensim 4.
        """
        return cls(table_of_gensim(keyed_vectors, storage=storage, oov=oov))

    @classmethod
    def of(cls, source: Vectors) -> WordVectors:
        """Vectors from whatever holds them: what encoders do with the `vectors` that they are given.

        Args:
            source: `WordVectors`, which are returned as they are; the path of a file (`load`); a dict
                (`from_dict`); or gensim's `KeyedVectors` (`from_keyed_vectors`).

        Returns:
            The vectors.

        Raises:
            TypeError: If it is something else.

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
        r"""Reads vectors from a file of any of the usual formats.

        These are GloVe's text, word2vec's text and binary, fastText's .vec and .bin, plain or packed by gzip,
        xz, zstd or zip; gensim's .kv; a NumPy archive; and the native file that `save` writes. Words with
        spaces are read right; of repeated words the first counts; bytes that are not UTF-8 are replaced. A
        pipe is read once, from its beginning to its end; what has to be mapped is refused there.

        fastText's .bin brings its subwords along: a word that is not in the file gets a vector from them.

        A parsed file of more than 8 MB is kept, in the native format, below `sentencode.cache_dir()`, and
        mapped from there the next time, as long as the file itself has not changed and the kept one is not
        damaged. The cache holds 16 GiB of these: those that were not used for longest go first.

        Args:
            path: The file.
            limit: Read only the first so many rows. Published files have frequent words first.
            words: Keep only these words.
            storage: How to store the numbers: "float32", "float16", "int8". None: as in the file, float32
                for text.
            oov: What stands for words that are not there: "skip", "zero", "mean", "random", "subwords". None:
                "subwords" where the file has them, else "skip".
            format: "auto" goes by the file's first bytes.
            member: The file of a zip archive that is meant, if it has several.
            dim: How many numbers a vector has, where that cannot be told: a text without a header line, most
                of whose first words hold spaces.
            cache: Whether to look into the cache and to keep what was parsed.
            progress: True for a progress bar, or a function of bytes read and bytes in all.
            verify: Whether to read a native file whole, to see that it is as it was written and that all
                numbers are finite: about a third of a second for a gigabyte in memory. Its words are always
                checked, others' formats always read whole.

        Returns:
            The vectors.

        Raises:
            FormatError: If the file is damaged or of another format; names the line or the byte.
            OSError: If it cannot be read.
            ValueError: If none of `words` is there.

        Example:
            >>> import pathlib, tempfile
            >>> import sentencode as se
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.txt"
            >>> _ = path.write_text("cat 1 0\nat name@domain.com 0 1\n. . . 1 1\ndog 0.9 0.1\n")
            >>> list(se.WordVectors.load(path))
            ['cat', 'at name@domain.com', '. . .', 'dog']
        """
        return cls(load(path, limit, words, storage, oov, format, dim, member, cache, progress, verify))

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
        """Trains vectors on a corpus, for languages and domains that have none.

        "ppmi" counts pairs of words in a window, takes their pointwise mutual information where it is
        positive, and decomposes it: no learning rate, no epochs, and the same vectors from the same text. Its
        memory grows with the distinct pairs, which `max_words` bounds, however long the text is. "word2vec"
        is skip-gram with negative sampling, by gensim; on several threads, runs differ a little.
        `docs/results/word-vectors.md` compares the two.

        Args:
            corpus: A file, a folder or a glob (one sentence a line, packed or not), a `Corpus`, or an
                iterable of sentences. It is read more than once: of an iterator a list is made.
            dim: How many numbers a vector has.
            method: "ppmi", or "word2vec", which needs `pip install 'sentencode[train]'`.
            window: How many words to either side count as neighbours; the nearer, the more.
            min_count: Rarer words are left out.
            max_words: At most so many words, the most frequent. None: no bound.
            tokenizer: A `Tokenizer`, or what one is made of.
            lowercase: Whether to lower-case, where `tokenizer` is no `Tokenizer` yet.
            smoothing: Of "ppmi": contexts are counted to this power.
            epochs: Of "word2vec": how often the corpus is gone through.
            storage: How to store the numbers: "float32", "float16", "int8".
            seed: Of all that is random.
            progress: True for progress bars, or a function of the stage's name, what is done, and the whole.

        Returns:
            The vectors, most frequent words first, with their counts.

        Raises:
            ImportError: If gensim is needed and not there.
            OSError: If a file cannot be read.
            ValueError: If an argument cannot be used, or the corpus has fewer words than `dim`.

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
        words: Iterable[str] | None = None,
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
        r"""Vectors whose averages imitate another encoder: a student, which encodes much faster.

        The table W is a closed form: W = argmin \|A W - (T - m)\|^2 + lambda \|W - W0\|^2. T are the
        teacher's embeddings of the sentences and m is their mean; A averages a sentence's words, weighted as
        SIF does; W0 are the teacher's embeddings of single words, centred, and mapped to fit. There are no
        epochs and no learning rate. `docs/distill.md` has the mathematics.

        The teacher takes most of the time. What it gave is kept, so that an interrupted call, or one with
        another lambda, goes on from there.

        Args:
            teacher: Any encoder: one of ours, of sentence-transformers, or a function from a list of
                sentences to their embeddings.
            sentences: A file, a folder or a glob (one sentence a line, packed or not), a `Corpus`, or an
                iterable of texts. They are held in memory. 20,000 do well, and more do a little better.
            words: The words that get vectors. None: those of the sentences. Words that no sentence has keep
                the teacher's embedding of the word, mapped: give many, so that few are unknown later.
            max_words: Where `words` is None: at most so many, the most frequent.
            max_sentences: How many sentences the teacher reads, chosen by chance; words are counted in all.
                None: all.
            dim: How many numbers a vector has: principal components of the sentences. None: the teacher's.
            a: The weights are a / (a + p(word)), p being how often the sentences have the word, as a share of
                the table's words. The vectors come multiplied by them. None: no weights.
            penalty: Lambda. None: the best of some on sentences that are held out.
            ridge: How much the map of the words' own embeddings is held back, towards a factor alone. None:
                the best of some, as for `penalty`.
            tokenizer: A `Tokenizer`, or what one is made of.
            lowercase: Whether to lower-case, where `tokenizer` is no `Tokenizer` yet.
            storage: How to store the numbers: "float32", "float16", "int8".
            cache: Where the teacher's embeddings are kept: a folder, below `sentencode.cache_dir()` (True),
                or nowhere (False). Teachers are told apart by their embeddings of some of the sentences.
            progress: True for progress bars, or a function of the stage's name, what is done, and the whole.

        Returns:
            The vectors, with the words' counts. `Average(vectors)` is the student: weights are in the vectors
            already, and those of SIF and others come on top.

        Raises:
            DegenerateEncoderError: If the teacher fails, or gives something else than finite numbers.
            ValueError: If there are no sentences, no words, or none of the words in any sentence.

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
        found = distill(
            teacher,
            sentences,
            words,
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
        return cls(found.table)

    @classmethod
    def default(cls, *, oov: OutOfVocabulary = "skip") -> WordVectors:
        """The small vectors that come with the package: English, lower-case, from public-domain books.

        They make every encoder usable without a download, and open in milliseconds, for their file is mapped.
        What they can do and what they cannot is told in `docs/default_vectors.md`.

        Args:
            oov: What stands for words that are not there.

        Returns:
            The vectors, with their counts.

        Example:
            >>> import sentencode as se
            >>> vectors = se.WordVectors.default()
            >>> "whale" in vectors, vectors.counts is not None
            (True, True)
        """
        return cls(_core.WordVectors.open(_DEFAULT, checked_str("oov", oov)))

    # --- variants

    def with_oov(self, oov: OutOfVocabulary) -> WordVectors:
        """The same vectors, sharing memory, with another policy for words that are not there.

        Args:
            oov: "skip", "zero", "mean", "random" or "subwords".

        Returns:
            The vectors.

        Raises:
            ValueError: If it is "subwords", and there are none.
        """
        return WordVectors(self._core.with_oov(checked_str("oov", oov)))

    def with_storage(self, storage: Storage) -> WordVectors:
        """The same vectors, stored another way; itself where they are stored so already.

        Args:
            storage: "float32", "float16" (half the memory, three digits) or "int8" (a quarter, two digits).

        Returns:
            The vectors.

        Raises:
            ValueError: If a number is too large for float16.
        """
        if checked_str("storage", storage) == self.storage:
            return self
        return WordVectors(self._core.with_storage(storage))

    def reduced(self, dim: int) -> WordVectors:
        """The same words with shorter vectors: their leading principal components.

        The table of this width whose inner products are nearest to those of the vectors. Nothing is centred.
        Subwords are left out.

        Args:
            dim: Numbers of a vector, at most as many as there are.

        Returns:
            The vectors.

        Raises:
            ValueError: If `dim` is out of range.

        Example:
            >>> import sentencode as se
            >>> se.WordVectors.default().reduced(50).dim
            50
        """
        return WordVectors(reduced_table(self._core, dim))

    def only(self, words: Iterable[str]) -> WordVectors:
        """The vectors of these words, in this table's order. Words that it does not hold are passed over.

        Args:
            words: The words to keep.

        Returns:
            A smaller table.

        Raises:
            TypeError: If it is one word, not several.
        """
        return WordVectors(self._core.only(checked_words("words", words)))

    # --- keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the native file, which `load` maps in milliseconds and whose memory processes share.

        Args:
            path: The file; one that exists is replaced when all is written.

        Raises:
            OSError: If the file cannot be written.
        """
        self._core.save(_core.link_target(path))

    def export(
        self,
        path: str | os.PathLike[str],
        format: Literal["glove", "word2vec", "word2vec_binary"] = "word2vec",
    ) -> None:
        """Writes the vectors for other programs; every number reads back the same.

        Args:
            path: The file; one that exists is replaced when all is written.
            format: "word2vec" (text with a header line, as gensim and fastText read it), "glove" (text
                without) or "word2vec_binary".

        Raises:
            ValueError: If a word cannot be written so, because it holds white space.
            OSError: If the file cannot be written.
        """
        self._core.write(_core.link_target(path), checked_str("format", format))

    def to_keyed_vectors(self) -> Any:
        """These vectors as gensim's `KeyedVectors`, with their counts where they are known.

        Returns:
            A `gensim.models.KeyedVectors`.

        Raises:
            ImportError: If gensim is not installed.
        """
        try:
            from gensim.models import KeyedVectors
        except ImportError as error:
            raise ImportError("KeyedVectors need gensim: pip install gensim") from error
        result = KeyedVectors(vector_size=self.dim, count=0)
        result.add_vectors(list(self.words), self.matrix())
        if self.counts is not None:
            for word, count in zip(self.words, self.counts.tolist(), strict=True):
                result.set_vecattr(word, "count", count)
        return result

    def __copy__(self) -> WordVectors:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> WordVectors:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is not None and not self._core.prefix:
            return _reopen, (os.path.abspath(self.path), self.oov, self.fingerprint)
        return _rebuild, (self._core.to_bytes(), self.oov)

    def __repr__(self) -> str:
        return f"WordVectors({len(self):,} words, dim={self.dim}, storage={self.storage!r}, oov={self.oov!r})"

    def _repr_html_(self) -> str:
        import html

        megabytes = len(self) * self.dim * {"float32": 4, "float16": 2, "int8": 1}[self.storage] / 1e6
        rows = {
            "words": f"{len(self):,}",
            "dim": f"{self.dim}",
            "storage": f"{self.storage}, {megabytes:,.1f} MB{', mapped' if self.path else ''}",
            "unknown words": self.oov,
            "counts": "no" if self.counts is None else f"yes, {int(self.counts.sum()):,} tokens",
            "first words": ", ".join(self.words[:8]),
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{key}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for key, value in rows.items()
        )
        return f"<table><caption>WordVectors</caption>{cells}</table>"


def _reopen(path: str, oov: str, fingerprint: str) -> WordVectors:
    """Unpickles vectors that were mapped: the same file must be there."""
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
