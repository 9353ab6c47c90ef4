# Written by tools/stubs.py: change the bindings, then run `make stubs`.
"""
The compiled half of sentencode that needs no torch.
"""

from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import os
from sentencode.errors import DivergedError
from sentencode.errors import FormatError
from sentencode.errors import NotFittedError
import typing

__all__: list[str] = [
    "AtomicFile",
    "Average",
    "BatchLoader",
    "Batcher",
    "CommonDirections",
    "ContentDigest",
    "CooccurrenceCounter",
    "CorpusReader",
    "Distillation",
    "DivergedError",
    "Encoder",
    "ExampleBuilder",
    "ExampleFile",
    "ExampleOptions",
    "FieldOptions",
    "FormatError",
    "Frequencies",
    "LAES",
    "LinearEncoder",
    "LoadOptions",
    "Moments",
    "NearestRows",
    "Neighbour",
    "NotFittedError",
    "SIF",
    "SentenceBatch",
    "SparseMatrix",
    "Tokenizer",
    "USIF",
    "Vocabulary",
    "VocabularyCounter",
    "WordVectors",
    "bootstrap",
    "build_examples",
    "build_info",
    "characters_of",
    "control_groups",
    "cosine_of_pairs",
    "digest_of_files",
    "embed",
    "encoder_config",
    "encoder_from_bytes",
    "examples_key",
    "expand_paths",
    "link_target",
    "load_encoder",
    "mapped",
    "normalize_rows",
    "num_threads",
    "pearson",
    "percentile_interval",
    "read_vectors",
    "remove_leftovers",
    "remove_unused",
    "set_num_threads",
    "similarities",
    "spearman",
    "split_sentences",
    "tuple_of",
]

class AtomicFile:
    """
    A file that is there whole or not at all.
    """
    def __init__(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None: ...
    def commit(self) -> None: ...
    def discard(self) -> None: ...
    @property
    def descriptor(self) -> int:
        """
        To be written to, and not closed.
        """

class Tokenizer:
    """
    How text is cut into tokens; a value.
    """
    @staticmethod
    def from_json(json: str) -> Tokenizer: ...
    def __call__(self, sentences: typing.Any) -> list[list[str]]:
        """
        The tokens of each sentence, found on all threads.
        """
    def __eq__(self, arg0: typing.Any) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, split: str, *, lowercase: bool, invalid: str, name: str = "") -> None: ...
    def to_json(self) -> str: ...
    @property
    def invalid(self) -> str: ...
    @property
    def lowercase(self) -> bool: ...
    @property
    def name(self) -> str: ...
    @property
    def split(self) -> str: ...

class SentenceBatch:
    """
    Some sentences of a corpus, which every fit takes as they are.
    """
    def __len__(self) -> int: ...
    def to_list(self) -> list[str]:
        """
        The sentences as a list of str.
        """
    @property
    def starts_document(self) -> list[bool]:
        """
        For each sentence whether a document begins with it.
        """

class CorpusReader:
    """
    Reads files of one sentence a line, once, in constant memory.
    """
    def __init__(
        self,
        paths: collections.abc.Sequence[str | bytes | os.PathLike[str] | os.PathLike[bytes]],
        *,
        keep_empty: bool,
    ) -> None: ...
    def next(
        self,
        max_sentences: typing.SupportsInt | typing.SupportsIndex,
        max_bytes: typing.SupportsInt | typing.SupportsIndex | None = None,
    ) -> SentenceBatch | None:
        """
        The next SentenceBatch, or None at the end. It ends with the sentence that fills max_bytes.
        """
    @property
    def bytes_read(self) -> int: ...
    @property
    def bytes_total(self) -> int: ...
    @property
    def sentences_read(self) -> int: ...

class Vocabulary:
    """
    Words and how often each was seen, most frequent first.
    """
    @staticmethod
    def read(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> Vocabulary: ...
    def __init__(
        self,
        words: typing.Any,
        counts: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        total: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    def __len__(self) -> int: ...
    def find(self, word: str) -> int:
        """
        The word's place, or -1.
        """
    def pruned(
        self,
        min_count: typing.SupportsInt | typing.SupportsIndex,
        max_size: typing.SupportsInt | typing.SupportsIndex,
    ) -> Vocabulary: ...
    def write(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None: ...
    @property
    def counts(self) -> numpy.typing.NDArray[numpy.int64]: ...
    @property
    def total(self) -> int: ...
    @property
    def words(self) -> list[str]: ...

class VocabularyCounter:
    """
    Counts words batch by batch, on all threads.
    """
    def __init__(self, tokenizer: Tokenizer) -> None: ...
    def add(self, sentences: typing.Any) -> None: ...
    def finish(
        self,
        *,
        min_count: typing.SupportsInt | typing.SupportsIndex,
        max_size: typing.SupportsInt | typing.SupportsIndex,
    ) -> Vocabulary: ...
    def merge(self, other: VocabularyCounter) -> None: ...
    @property
    def sentences(self) -> int: ...

class WordVectors:
    """
    A frozen table of words and their rows.
    """
    @staticmethod
    def from_array(
        words: typing.Any,
        matrix: numpy.ndarray,
        counts: typing.Annotated[numpy.typing.ArrayLike, numpy.int64] | None,
        storage: str,
        oov: str,
    ) -> WordVectors: ...
    @staticmethod
    def from_bytes(bytes: bytes, oov: str | None) -> WordVectors: ...
    @staticmethod
    def open(
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes], oov: str | None, verify: bool = False
    ) -> WordVectors: ...
    def __len__(self) -> int: ...
    def find(self, word: str) -> int:
        """
        The word's row, -1 when it is not there, whatever the policy.
        """
    def fingerprint(self) -> str: ...
    def first(self, count: typing.SupportsInt | typing.SupportsIndex) -> WordVectors: ...
    def lookup(
        self,
        tokenizer: Tokenizer,
        sentences: typing.Any,
        max_tokens: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> tuple:
        """
        Ids of all sentences, and where each sentence's begin.
        """
    def matrix(self) -> numpy.typing.NDArray[numpy.float32]: ...
    def most_similar(
        self,
        query: typing.Annotated[numpy.typing.ArrayLike, numpy.float32],
        k: typing.SupportsInt | typing.SupportsIndex,
        exclude: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    ) -> list: ...
    def only(self, words: typing.Any) -> WordVectors: ...
    def row_of_subwords(self, word: str) -> typing.Any:
        """
        What is made of a word's subwords; None where there are none.
        """
    def rows(
        self, ids: typing.Annotated[numpy.typing.ArrayLike, numpy.int64]
    ) -> numpy.typing.NDArray[numpy.float32]: ...
    def save(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None: ...
    def to_bytes(self) -> bytes: ...
    def with_oov(self, oov: str) -> WordVectors: ...
    def with_storage(self, storage: str) -> WordVectors: ...
    def with_subwords(
        self,
        lengths: typing.Annotated[
            collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(2)"
        ],
        rows: numpy.ndarray,
    ) -> WordVectors: ...
    def words(
        self, begin: typing.SupportsInt | typing.SupportsIndex, end: typing.SupportsInt | typing.SupportsIndex
    ) -> list: ...
    def write(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes], format: str) -> None: ...
    @property
    def cased(self) -> bool: ...
    @property
    def compounds(self) -> bool: ...
    @property
    def counts(self) -> typing.Any: ...
    @property
    def dim(self) -> int: ...
    @property
    def oov(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def prefix(self) -> str: ...
    @property
    def row_count(self) -> int:
        """
        Words, and rows that stand for unknown ones.
        """
    @property
    def storage(self) -> str: ...
    @property
    def subwords(self) -> typing.Annotated[list[int], "FixedSize(3)"]:
        """
        The shortest, the longest, and the number of buckets: 0 where there are none.
        """

class Frequencies:
    """
    How probable the words of one table are, and all that were counted.
    """
    @staticmethod
    def from_counts(vectors: WordVectors) -> Frequencies: ...
    @staticmethod
    def from_vocabulary(vectors: WordVectors, vocabulary: Vocabulary) -> Frequencies: ...
    @staticmethod
    def zipf(vectors: WordVectors) -> Frequencies: ...
    def sif_weights(
        self, a: typing.SupportsFloat | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.float32]: ...
    def usif_weights(
        self, sentence_length: typing.SupportsFloat | typing.SupportsIndex
    ) -> numpy.typing.NDArray[numpy.float32]: ...
    @property
    def counted(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def probability(self) -> numpy.typing.NDArray[numpy.float64]: ...

class SparseMatrix:
    """
    Counts of pairs, by rows.
    """
    def arrays(
        self,
    ) -> tuple[
        numpy.typing.NDArray[numpy.float32],
        numpy.typing.NDArray[numpy.int32],
        numpy.typing.NDArray[numpy.int64],
    ]:
        """
        Copies of the values, columns and offsets: what scipy.sparse.csr_matrix takes.
        """
    @property
    def nonzeros(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]: ...

class CooccurrenceCounter:
    """
    Counts how often words stand near each other.
    """
    def __init__(
        self,
        vocabulary: Vocabulary,
        tokenizer: Tokenizer,
        *,
        window: typing.SupportsInt | typing.SupportsIndex,
        weight: str,
    ) -> None: ...
    def add(self, sentences: typing.Any) -> None: ...
    def add_counts(
        self,
        values: typing.Annotated[numpy.typing.ArrayLike, numpy.float32],
        columns: typing.Annotated[numpy.typing.ArrayLike, numpy.int32],
        offsets: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    ) -> None:
        """
        Adds what another counter of the same words has finished, as `arrays` gave it.
        """
    def finish(self) -> SparseMatrix:
        """
        The counts so far; the counter is empty then.
        """

class Moments:
    """
    What averages of words have to do with the teacher's rows.
    """
    def axes(
        self, count: typing.SupportsInt | typing.SupportsIndex
    ) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        """
        The averages' principal axes [dim, count].
        """
    def map(
        self, ridge: typing.SupportsFloat | typing.SupportsIndex
    ) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]:
        """
        The matrix [dim, dim] that brings the averages nearest to the teacher's rows.
        """
    @property
    def own(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]: ...
    @property
    def teacher(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, n]"]: ...

class Distillation:
    """
    Sums of a teacher's rows, and the word table that tells them best.
    """
    def __init__(
        self,
        vocabulary: Vocabulary,
        tokenizer: Tokenizer,
        weights: typing.Annotated[numpy.typing.ArrayLike, numpy.float32],
        dim: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def add(self, sentences: typing.Any, rows: numpy.ndarray) -> None: ...
    def counts(self) -> list[int]:
        """
        How often each word was seen.
        """
    def digest(
        self,
        prior: typing.Annotated[numpy.typing.ArrayLike, numpy.float32, "[m, n]"],
        *,
        penalty: typing.SupportsFloat | typing.SupportsIndex = 0.01,
        tolerance: typing.SupportsFloat | typing.SupportsIndex = 1e-05,
        iterations: typing.SupportsInt | typing.SupportsIndex = 200,
    ) -> str:
        """
        What tells the solution from that of another problem.
        """
    def error(
        self,
        table: typing.Annotated[numpy.typing.ArrayLike, numpy.float32, "[m, n]"],
        mean: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, 1]"],
    ) -> float:
        """
        The share of the teacher's rows, less `mean`, that the table does not tell.
        """
    def mean(self) -> typing.Annotated[numpy.typing.NDArray[numpy.float64], "[m, 1]"]:
        """
        Of the teacher's rows.
        """
    def merge(self, other: Distillation) -> None: ...
    def moments(self, table: typing.Annotated[numpy.typing.ArrayLike, numpy.float32, "[m, n]"]) -> Moments:
        """
        Of the sentences' averages of the table's rows.
        """
    def of_columns(
        self, which: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]
    ) -> Distillation: ...
    def solve(
        self,
        prior: typing.Annotated[numpy.typing.ArrayLike, numpy.float32, "[m, n]"],
        *,
        penalty: typing.SupportsFloat | typing.SupportsIndex = 0.01,
        tolerance: typing.SupportsFloat | typing.SupportsIndex = 1e-05,
        iterations: typing.SupportsInt | typing.SupportsIndex = 200,
        kept: typing.Any = None,
        keep: typing.Any = None,
        progress: typing.Any = None,
    ) -> tuple[typing.Annotated[numpy.typing.NDArray[numpy.float32], "[m, n]"], float, int]:
        """
        The table [words, dim], its residual, and the iterations. Some columns at once, and for these `kept` is asked first, by the number of the first, and `keep` gets what was found.
        """
    @property
    def sentences(self) -> int: ...
    @property
    def tokens(self) -> int: ...

class ExampleFile:
    """
    Examples as ids in one mapped file.
    """
    @staticmethod
    def open(
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes], verify: bool = True
    ) -> ExampleFile: ...
    def __len__(self) -> int: ...
    def ids(self, field: str) -> numpy.typing.NDArray[numpy.int32]: ...
    def offsets(self, field: str) -> numpy.typing.NDArray[numpy.int64]: ...
    def vocabulary_size(self, field: str) -> int: ...
    @property
    def by_length(self) -> numpy.typing.NDArray[numpy.uint32]: ...
    @property
    def config(self) -> str: ...
    @property
    def fields(self) -> list[str]: ...
    @property
    def key(self) -> str: ...
    @property
    def labels(self) -> typing.Any: ...
    @property
    def path(self) -> str: ...

class FieldOptions:
    """
    How texts become the ids of one field.
    """
    def __init__(
        self,
        *,
        name: str,
        tokenizer: Tokenizer,
        vocabulary: Vocabulary,
        begin: str,
        end: str,
        unknown_words: str,
        unknown: str,
        min_length: typing.SupportsInt | typing.SupportsIndex,
        max_length: typing.SupportsInt | typing.SupportsIndex,
        too_long: str,
    ) -> None: ...

class Neighbour:
    """
    A field made of what stands around a sentence.
    """
    def __init__(
        self,
        field: FieldOptions,
        *,
        offset: typing.SupportsInt | typing.SupportsIndex,
        words: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...

class ExampleOptions:
    """
    How a file of examples is made.
    """
    def __init__(
        self,
        *,
        fields: collections.abc.Sequence[FieldOptions],
        neighbours: collections.abc.Sequence[Neighbour],
        labels: str,
        source: str,
        shard_examples: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...

class ContentDigest:
    """
    A digest of sentences, batch after batch.
    """
    def __init__(self) -> None: ...
    def add(self, sentences: typing.Any) -> None: ...
    def add_bytes(self, bytes: bytes) -> None: ...
    def hex(self) -> str: ...

class ExampleBuilder:
    """
    Makes a file of examples, batch after batch.
    """
    def __init__(
        self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes], options: ExampleOptions, key: str
    ) -> None: ...
    def add(
        self,
        fields: list,
        *,
        starts_document: collections.abc.Sequence[bool],
        int_labels: typing.Annotated[numpy.typing.ArrayLike, numpy.int64] | None = None,
        float_labels: typing.Annotated[numpy.typing.ArrayLike, numpy.float32] | None = None,
    ) -> None: ...
    def finish(self) -> ExampleFile: ...
    @property
    def damage(self) -> str: ...
    @property
    def done(self) -> bool: ...
    @property
    def first_row(self) -> int: ...

class Batcher:
    """
    Cuts examples into batches.
    """
    def __init__(
        self,
        examples: ExampleFile,
        *,
        mode: str,
        length_fields: collections.abc.Sequence[str],
        batch_size: typing.SupportsInt | typing.SupportsIndex,
        bounds: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        buffer_batches: typing.SupportsInt | typing.SupportsIndex,
        max_tokens: typing.SupportsInt | typing.SupportsIndex,
        shuffle: bool,
        drop_short: bool,
        seed: typing.SupportsInt | typing.SupportsIndex,
        pad: typing.SupportsInt | typing.SupportsIndex,
        rank: typing.SupportsInt | typing.SupportsIndex,
        world: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def batch(
        self,
        epoch: typing.SupportsInt | typing.SupportsIndex,
        step: typing.SupportsInt | typing.SupportsIndex,
    ) -> tuple:
        """
        (epoch, step, total, numbers, [(ids, lengths, tokens), ...], int_labels, float_labels)
        """
    def numbers(
        self,
        epoch: typing.SupportsInt | typing.SupportsIndex,
        step: typing.SupportsInt | typing.SupportsIndex,
    ) -> numpy.typing.NDArray[numpy.int64]: ...
    @property
    def steps(self) -> int: ...

class BatchLoader:
    """
    Makes batches ahead of their use.
    """
    def __init__(
        self,
        batcher: Batcher,
        epoch: typing.SupportsInt | typing.SupportsIndex,
        step: typing.SupportsInt | typing.SupportsIndex,
        *,
        threads: typing.SupportsInt | typing.SupportsIndex,
        ahead: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def next(self) -> tuple: ...

class Encoder:
    """
    Sentences in, one row each out.
    """
    def encode_into(self, sentences: typing.Any, out: numpy.ndarray) -> None:
        """
        Fills float32 [n, dim] in place.
        """
    @property
    def dim(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def side_by_side(self) -> bool: ...

class LoadOptions:
    """
    How a saved encoder is opened.
    """
    def __init__(
        self, *, vectors: WordVectors = None, trust_vectors: bool = False, verify: bool = True
    ) -> None: ...

class LinearEncoder(Encoder):
    """
    An encoder over weighted words.
    """

    params: str
    def encode_into(self, sentences: typing.Any, out: numpy.ndarray) -> None:
        """
        Fills float32 [n, dim] in place. Solves first where there is something to solve.
        """
    def partial_fit(self, sentences: typing.Any) -> None:
        """
        Adds sentences to the statistics.
        """
    def save(
        self,
        path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
        *,
        vectors: bool = True,
        statistics: bool = False,
    ) -> None: ...
    def solve(self) -> None:
        """
        Makes parameters of the statistics, if any were added since the last time.
        """
    def to_bytes(self, statistics: bool) -> bytes:
        """
        Everything but the vectors; what is not solved yet stays so.
        """
    @property
    def fitted(self) -> bool: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def vectors(self) -> WordVectors: ...
    @property
    def weights(self) -> typing.Any: ...

class Average(LinearEncoder):
    """
    The mean of a sentence's weighted rows.
    """
    def __init__(
        self,
        vectors: WordVectors,
        tokenizer: Tokenizer,
        weights: typing.Annotated[numpy.typing.ArrayLike, numpy.float32] | None = None,
    ) -> None: ...

class CommonDirections(LinearEncoder):
    """
    Sentence means without their leading directions.
    """
    def merge(self, other: CommonDirections) -> None: ...
    def select(
        self,
        first: typing.Any,
        second: typing.Any,
        scores: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        largest: typing.SupportsInt | typing.SupportsIndex,
    ) -> dict:
        """
        Pearson correlations of the pairs' cosines with the scores, for 0 to `largest` components.
        """
    def set_statistics(self, statistics: dict) -> None: ...
    def statistics(self) -> typing.Any:
        """
        The second moment and count of the means seen; None: loaded without.
        """
    @property
    def components(self) -> int: ...
    @property
    def directions(self) -> numpy.typing.NDArray[numpy.float32]: ...
    @property
    def factors(self) -> numpy.typing.NDArray[numpy.float32]: ...
    @property
    def singular_values(self) -> numpy.typing.NDArray[numpy.float32]: ...

class SIF(CommonDirections):
    """
    Means less their leading directions.
    """
    def __init__(
        self,
        vectors: WordVectors,
        tokenizer: Tokenizer,
        weights: typing.Annotated[numpy.typing.ArrayLike, numpy.float32] | None,
        *,
        components: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def with_components(self, components: typing.SupportsInt | typing.SupportsIndex) -> SIF: ...

class USIF(CommonDirections):
    """
    Means less shares of their leading directions.
    """
    def __init__(
        self,
        vectors: WordVectors,
        tokenizer: Tokenizer,
        weights: typing.Annotated[numpy.typing.ArrayLike, numpy.float32] | None,
        *,
        components: typing.SupportsInt | typing.SupportsIndex,
        normalize: str,
    ) -> None: ...
    @property
    def normalize(self) -> str: ...

class LAES(LinearEncoder):
    """
    The linear autoencoder for sequences.
    """
    def __init__(
        self,
        vectors: WordVectors,
        tokenizer: Tokenizer,
        weights: typing.Annotated[numpy.typing.ArrayLike, numpy.float32] | None,
        *,
        hidden: typing.SupportsInt | typing.SupportsIndex,
        mode: str,
        direction: str,
        combine: str,
        center: bool,
        state: str,
        max_length: typing.SupportsInt | typing.SupportsIndex,
    ) -> None: ...
    def decode(
        self,
        state: typing.Annotated[numpy.typing.ArrayLike, numpy.float32],
        length: typing.SupportsInt | typing.SupportsIndex,
        direction: str,
    ) -> numpy.typing.NDArray[numpy.float32]: ...
    def merge(self, other: LAES) -> None: ...
    def parameters(self, direction: str) -> dict:
        """
        A, B, U (of state 'projection'), singular_values, center, longest and rank of one direction.
        """
    def reconstruction_error(
        self,
        sentences: typing.Any,
        hidden: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        direction: str,
    ) -> list[float]:
        """
        |X - X~| / |X| for every hidden size.
        """
    def resized(
        self, hidden: typing.SupportsInt | typing.SupportsIndex, direction: str, combine: str
    ) -> LAES: ...
    def select(
        self,
        first: typing.Any,
        second: typing.Any,
        scores: typing.Annotated[numpy.typing.ArrayLike, numpy.float64],
        hidden: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    ) -> list:
        """
        Pearson correlations of the pairs' cosines with the scores, for every hidden size and combination.
        """
    def set_statistics(self, statistics: dict) -> None: ...
    def states(self, sentence: typing.Any, direction: str) -> numpy.typing.NDArray[numpy.float32]:
        """
        The state after each known word, in the order of reading.
        """
    def statistics(self) -> typing.Any:
        """
        The sums behind each direction; None: loaded without.
        """
    def variant(
        self, hidden: typing.SupportsInt | typing.SupportsIndex, mode: str, direction: str, combine: str
    ) -> LAES: ...
    @property
    def options(self) -> dict: ...
    @property
    def sentences_seen(self) -> int: ...
    @property
    def solved(self) -> bool:
        """
        Whether parameters know all that the statistics know.
        """
    @property
    def tokens_seen(self) -> int: ...

class NearestRows:
    """
    The rows of a stream that are most similar to each of some queries.
    """
    def __init__(
        self, queries: numpy.ndarray, k: typing.SupportsInt | typing.SupportsIndex, similarity: str
    ) -> None: ...
    def add(self, rows: numpy.ndarray) -> None:
        """
        The next rows of the stream.
        """
    def result(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.float32]]:
        """
        Indices int64 and similarities float32, both [queries, min(k, rows)], best first.
        """
    @property
    def rows(self) -> int: ...

def bootstrap(
    x: numpy.typing.NDArray[numpy.float64],
    y: numpy.typing.NDArray[numpy.float64],
    correlation: str,
    resamples: typing.SupportsInt | typing.SupportsIndex,
    seed: typing.SupportsInt | typing.SupportsIndex,
) -> numpy.typing.NDArray[numpy.float64]: ...
def build_examples(
    builder: ExampleBuilder,
    files: collections.abc.Sequence[
        collections.abc.Sequence[str | bytes | os.PathLike[str] | os.PathLike[bytes]]
    ],
    progress: typing.Any = None,
) -> ExampleFile: ...
def build_info() -> dict[str, str]:
    """
    What was built: version, compiler, the library behind dense products, and the torch of `_nn` ('' without). And what it uses here: OpenBLAS's kernel, and the instructions of the core's own loops.
    """

def characters_of(
    words: typing.Any, alphabet: str, most: typing.SupportsInt | typing.SupportsIndex
) -> numpy.typing.NDArray[numpy.int64]:
    """
    The ids of words' first characters [n, most]: 0 behind the last, 1 of those not in the alphabet.
    """

def control_groups(
    controller: str, root: str | bytes | os.PathLike[str] | os.PathLike[bytes] = "/"
) -> list[str]:
    """
    The folders of the control groups that may limit this process; see control_groups.h.
    """

def cosine_of_pairs(a: numpy.ndarray, b: numpy.ndarray) -> numpy.typing.NDArray[numpy.float64]: ...
def digest_of_files(
    files: collections.abc.Sequence[
        collections.abc.Sequence[str | bytes | os.PathLike[str] | os.PathLike[bytes]]
    ],
) -> str: ...
def embed(
    counts: SparseMatrix,
    dim: typing.SupportsInt | typing.SupportsIndex,
    *,
    smoothing: typing.SupportsFloat | typing.SupportsIndex = 0.75,
    shift: typing.SupportsFloat | typing.SupportsIndex = 0.0,
    exponent: typing.SupportsFloat | typing.SupportsIndex = 0.0,
    length: typing.SupportsFloat | typing.SupportsIndex = 0.5,
    iterations: typing.SupportsInt | typing.SupportsIndex = 4,
    oversampling: typing.SupportsInt | typing.SupportsIndex = 32,
    seed: typing.SupportsInt | typing.SupportsIndex = 20181111,
    progress: typing.Any = None,
) -> typing.Annotated[numpy.typing.NDArray[numpy.float32], "[m, n]"]:
    """
    Vectors [words, dim] from counts, which are used up: left singular vectors of positive PMI.
    """

def encoder_config(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """
    What a saved encoder says of itself, as JSON: kind, config, params.
    """

def encoder_from_bytes(bytes: str, vectors: WordVectors) -> LinearEncoder:
    """
    The encoder that to_bytes was called on.
    """

def examples_key(options: ExampleOptions, sources: str) -> str: ...
def expand_paths(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> list[str]: ...
def link_target(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """
    The file that a name chosen by the user leads to.
    """

def load_encoder(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], options: LoadOptions = ...
) -> Encoder:
    """
    Any saved encoder, as the class that it was saved from.
    """

def mapped(
    table: typing.Annotated[numpy.typing.ArrayLike, numpy.float32, "[m, n]"],
    map: typing.Annotated[numpy.typing.ArrayLike, numpy.float64, "[m, n]"],
) -> typing.Annotated[numpy.typing.NDArray[numpy.float32], "[m, n]"]:
    """
    Their product.
    """

def normalize_rows(rows: numpy.ndarray) -> None:
    """
    Divides every row by its length, in place; a zero row stays zero.
    """

def num_threads() -> int: ...
def pearson(x: numpy.typing.NDArray[numpy.float64], y: numpy.typing.NDArray[numpy.float64]) -> float: ...
def percentile_interval(
    values: numpy.typing.NDArray[numpy.float64], confidence: typing.SupportsFloat | typing.SupportsIndex
) -> tuple[float, float]: ...
def read_vectors(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes],
    format: str,
    limit: typing.SupportsInt | typing.SupportsIndex,
    only: typing.Any,
    storage: str | None,
    oov: str | None,
    dim: typing.SupportsInt | typing.SupportsIndex,
    member: str,
    progress: typing.Any,
) -> tuple:
    """
    The vectors, and how many rows were read, repeated, repaired.
    """

def remove_leftovers(folder: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
    """
    Removes what killed writers of a folder's files left there.
    """

def remove_unused(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> bool:
    """
    Removes a file unless a process has it mapped, or writes it.
    """

def set_num_threads(threads: typing.SupportsInt | typing.SupportsIndex) -> None: ...
def similarities(a: numpy.ndarray, b: numpy.ndarray, similarity: str) -> numpy.typing.NDArray[numpy.float32]:
    """
    The similarity of every row of a with every row of b.
    """

def spearman(x: numpy.typing.NDArray[numpy.float64], y: numpy.typing.NDArray[numpy.float64]) -> float: ...
def split_sentences(text: str) -> list[str]: ...
def tuple_of(
    list: list,
    begin: typing.SupportsInt | typing.SupportsIndex,
    end: typing.SupportsInt | typing.SupportsIndex,
) -> tuple:
    """
    list[begin:end] as a tuple, without a list in between.
    """

__version__: str
