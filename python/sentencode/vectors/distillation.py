"""Word vectors that tell another encoder's embeddings of sentences, in closed form."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from ..checks import checked_float, checked_int, checked_smoothing, checked_words
from ..encoder_rows import EncoderRows, Rows, cache_folder
from ..errors import FormatError, ZeroRowsWarning
from ..files import read_archive, whole_file
from ..text.corpus import Corpus, repeatable
from ..text.inputs import is_blank
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from .stages import StageProgress, stage
from .tables import Storage, table_of

__all__ = ["PENALTIES", "RIDGES", "Solution", "distill", "teacher_key", "teacher_rows"]

_LOG = logging.getLogger("sentencode")

PENALTIES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # beyond the ends as long as it gets better
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # the fewer sentences, the larger
_FREE = 1e12  # a ridge that leaves nothing free; larger ones would overflow
_TOLERANCE = 1e-5  # of the residual
_AT_ONCE = 2048  # sentences that the teacher gets, and whose rows are one file
_HELD_OUT = 4096  # sentences at most on which the penalty is chosen
_COLUMNS = 32  # of the teacher's rows, on which it is chosen
_PROBES = 32  # sentences by which a teacher is known
_ALIKE = 1e-4  # what rounding may change in rows of length one
_FORGOTTEN = 7 * 24 * 3600  # seconds after which an unfinished solution is removed


class Solution(NamedTuple):
    """The student's table, and what `Student` tells of it, where the rest is described."""

    table: _core.WordVectors
    penalty: float
    ridge: float
    untold: dict[float, float]
    words_alone: float | None
    sentences: int
    unseen: int
    residual: float
    iterations: int


def distill(
    teacher: Any,
    sentences: Any,
    words: Iterable[str] | None,
    *,
    max_words: int,
    max_sentences: int | None,
    dim: int | None,
    a: float | None,
    penalty: float | None,
    ridge: float | None,
    tokenizer: Any,
    lowercase: bool,
    storage: Storage,
    cache: Any,
    progress: bool | StageProgress | None,
) -> Solution:
    """What `WordVectors.distill` does, where the arguments are described, and how it went."""
    max_words = checked_int("max_words", max_words, 1)
    max_sentences = None if max_sentences is None else checked_int("max_sentences", max_sentences, 1)
    dim = None if dim is None else checked_int("dim", dim, 1)
    smoothing = checked_smoothing("distill", a)
    penalty = None if penalty is None else checked_float("penalty", penalty, 0.0)
    ridge = None if ridge is None else min(_FREE, checked_float("ridge", ridge, 0.0, above=True))
    if not isinstance(tokenizer, Tokenizer):
        tokenizer = Tokenizer(tokenizer, lowercase=lowercase)
    texts = _texts(sentences)
    vocabulary = _vocabulary(texts, words, max_words, tokenizer)
    if not vocabulary.counts.any():
        raise ValueError(f"none of the {len(vocabulary)} words is in any of the {len(texts)} sentences")
    weights = np.ones(len(vocabulary), np.float32)
    if smoothing is not None:
        counted = table_of(vocabulary.words, weights[:, None], vocabulary.counts)
        weights = _core.Frequencies.from_counts(counted).sif_weights(smoothing)

    read = _sample(texts, max_sentences)
    embedder = _embedder(teacher, cache, read)
    with stage("teacher: words", progress, "words") as report:
        own = _rows(embedder, list(vocabulary.words), report, dim)
    known = own.any(axis=1)
    _tell_of_zeros(embedder, np.logical_not(known), vocabulary.words, "words")
    own[known] -= own[known].mean(axis=0)
    with stage("teacher: sentences", progress, "sentences") as report:
        learnt, held = _sums(embedder, read, vocabulary, tokenizer, weights, own.shape[1], report)
    if learnt.sentences + held.sentences == 0:
        raise ValueError(f"none of the words is in any of the {len(read)} sentences that the teacher read")

    if ridge is None:
        ridge = _ridge(learnt, held, own)
    untold: dict[float, float] = {}
    words_alone: float | None = None
    if penalty is None:
        if held.sentences == 0:
            raise ValueError(
                f"too few of the {len(read)} sentences have known words for some to be held out: give more, "
                "or a penalty"
            )
        with stage("choosing the penalty", progress, "penalties") as report:
            prior = _core.mapped(own, learnt.moments(own).map(ridge))
            untold, words_alone = _tried(learnt, held, prior, report)
        penalty = min(untold, key=lambda one: untold[one])
        _LOG.info("penalty %g leaves %.3f of held-out rows untold", penalty, untold[penalty])
    learnt.merge(held)
    prior = _core.mapped(own, learnt.moments(own).map(ridge))
    del own
    with stage("solving", progress, "steps") as report:
        found, residual, iterations = _solved(learnt, prior, penalty, embedder.cache, report)
    if residual > _TOLERANCE:
        _LOG.warning(
            "the student is not quite the solution: after %d steps the residual is %.1e of the right side's "
            "length, and not %g; with a larger penalty it converges",
            iterations,
            residual,
            _TOLERANCE,
        )
    if dim is not None and dim < found.shape[1]:
        found = _core.mapped(found, learnt.moments(found).axes(dim))
    found *= weights[:, None]  # the plain average is the student then
    table = table_of(vocabulary.words, found, vocabulary.counts, storage=storage)
    unseen = sum(count == 0 for count in learnt.counts())
    return Solution(
        table, penalty, ridge, untold, words_alone, learnt.sentences, unseen, residual, iterations
    )


def teacher_key(teacher: Any, sentences: list[str]) -> str:
    """What tells a teacher from others, as its cached rows are told apart: its fingerprint, or some rows.

    Args:
        teacher: Anything with `encode`.
        sentences: Which it may be asked for.

    Returns:
        The same in every process for the same teacher and sentences.
    """
    return str(_embedder(teacher, True, [text for text in sentences if not is_blank(text)]).key)


def teacher_rows(
    teacher: Any, sentences: list[str], *, cache: Any = True, progress: bool | StageProgress | None = None
) -> Rows:
    """A teacher's rows of texts [n, d], kept as those that `distill` asks for.

    Args:
        teacher: As for `distill`, like all that follows.
        sentences: Texts; none is blank.
        cache: Whether, or in which folder, rows are kept.
        progress: Whether to show it.
    """
    with stage("teacher: sentences", progress, "sentences") as report:
        return _rows(_embedder(teacher, cache, sentences), sentences, report, None)


def _texts(sentences: Any) -> list[str]:
    """All distinct sentences that have text, in their order."""
    corpus = repeatable(sentences)
    if not isinstance(corpus, Corpus):
        corpus = Corpus(corpus)
    texts: dict[str, None] = {}
    for i, text in enumerate(corpus):
        if not isinstance(text, str):
            raise TypeError(
                f"sentences must be texts, which a teacher reads; number {i} is {type(text).__name__}"
            )
        if not is_blank(text):
            texts[text] = None
    if not texts:
        raise ValueError("there are no sentences to distil from")
    return list(texts)


def _vocabulary(
    texts: list[str], words: Iterable[str] | None, max_words: int, tokenizer: Tokenizer
) -> Vocabulary:
    counted = Vocabulary.from_corpus(texts, tokenizer, max_size=max_words if words is None else None)
    if words is None:
        return counted
    given = checked_words("words", words)
    if not given:
        raise ValueError("words is empty")
    # As sentences are cut: what is found in none of them that way would have a row in vain.
    cut = tokenizer(list(given))
    chosen = dict.fromkeys(tokens[0] for tokens in cut if len(tokens) == 1)
    if never := [word for word, tokens in zip(given, cut, strict=True) if len(tokens) != 1]:
        warnings.warn(
            f"{len(never)} of {len(given)} words are left out, as {never[0]!r:.60}: the tokenizer makes no "
            "single token of them",
            UserWarning,
            stacklevel=4,
        )
    if not chosen:
        raise ValueError("none of the words is a single token of the tokenizer")
    return Vocabulary({word: counted.get(word, 0) for word in chosen}, min_count=0)


def _embedder(teacher: Any, cache: Any, texts: list[str]) -> EncoderRows:
    folder = cache_folder(cache, "teachers")
    embedder = EncoderRows(teacher, cache=folder, tokens=False, varied=False)
    if folder is not None and embedder.key is None:
        embedder.key = _key_of(embedder, folder, texts[:_AT_ONCE])  # which more sentences do not change
    return embedder


def _key_of(embedder: EncoderRows, folder: Path, texts: list[str]) -> str:
    """What tells a teacher without a fingerprint.

    Its rows of some of the sentences, of every length, and of all these together, which are longer than what
    it may read at most.
    """
    by_length = sorted(texts, key=lambda text: (len(text), text))
    places = np.unique(np.linspace(0, len(texts) - 1, min(_PROBES, len(texts))).astype(int))
    some = [by_length[i] for i in places]
    probes = embedder([*some, " ".join(some)] if len(some) > 1 else some)
    lengths = np.linalg.norm(probes, axis=1, keepdims=True)
    for path in sorted(folder.glob("teacher-*.npy")):
        try:
            kept = np.load(path, allow_pickle=False)
        except (OSError, EOFError, ValueError):
            continue  # another one is written
        if kept.shape == probes.shape and (np.abs(kept - probes) <= _ALIKE * lengths).all():
            return path.stem
    path = folder / f"teacher-{hashlib.sha256(probes.tobytes()).hexdigest()[:32]}.npy"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            np.save(file, probes)
    except OSError as error:
        _LOG.warning("the teacher's rows will not be found again: %s cannot be written: %s", path, error)
    return path.stem


def _sample(texts: list[str], count: int | None) -> list[str]:
    """So many of the texts, by chance.

    They come in the order of their hashes, so that neither their place in the corpus nor `count` moves them
    to another piece.
    """
    found = sorted(
        texts, key=lambda text: hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest()
    )
    return found if count is None else found[:count]


def _pieces(texts: list[str]) -> Iterator[npt.NDArray[np.int64]]:
    """Numbers of sentences that the teacher gets at once, the longest first: it pads few of them."""
    for first in range(0, len(texts), _AT_ONCE):
        piece = texts[first : first + _AT_ONCE]
        yield first + np.argsort([-len(text) for text in piece], kind="stable")


def _encoded(
    embedder: EncoderRows, texts: list[str], report: Any
) -> Iterator[tuple[npt.NDArray[np.int64], Rows]]:
    """The teacher's rows, some at once. Progress is told in characters: each takes about the same time."""
    pieces = [(numbers, [texts[i] for i in numbers]) for numbers in _pieces(texts)]
    # What is kept takes no time, and would make the rest look quick.
    left = [0 if embedder.file_of(piece) else sum(map(len, piece)) for _, piece in pieces]
    done, whole = 0, max(1, sum(left))
    for (numbers, piece), more in zip(pieces, left, strict=True):
        yield numbers, embedder(piece)
        done += more
        if report is not None and (more or piece is pieces[-1][1]):
            report(done or whole, whole)


def _rows(embedder: EncoderRows, texts: list[str], report: Any, dim: int | None) -> Rows:
    found: Rows | None = None
    for numbers, rows in _encoded(embedder, texts, report):
        if found is None:
            if dim is not None and dim > rows.shape[1]:
                raise ValueError(f"dim must be at most the {rows.shape[1]} of {embedder.name}, got {dim}")
            found = np.empty((len(texts), rows.shape[1]), np.float32)
        found[numbers] = rows
    assert found is not None
    return found


def _sums(
    embedder: EncoderRows,
    texts: list[str],
    vocabulary: Vocabulary,
    tokenizer: Tokenizer,
    weights: npt.NDArray[np.float32],
    dim: int,
    report: Any,
) -> tuple[_core.Distillation, _core.Distillation]:
    """What is learnt from, and what is held out: a twentieth of the sentences, chosen by chance."""
    learnt, held = (_core.Distillation(vocabulary.core, tokenizer.core(), weights, dim) for _ in range(2))
    is_held = np.zeros(len(texts), bool)
    count = min(_HELD_OUT, len(texts) // 20)
    is_held[np.random.default_rng(20181111).choice(len(texts), count, replace=False)] = True
    empty = np.zeros(len(texts), bool)
    for numbers, rows in _encoded(embedder, texts, report):
        told = rows.any(axis=1)
        empty[numbers] = ~told
        for sums, which in ((held, told & is_held[numbers]), (learnt, told & ~is_held[numbers])):
            chosen = tokenizer.prepare([texts[i] for i in numbers[which]])
            sums.add(chosen, np.ascontiguousarray(rows[which]))
    _tell_of_zeros(embedder, empty, texts, "sentences")
    return learnt, held


def _ridge(learnt: _core.Distillation, held: _core.Distillation, own: Rows) -> float:
    """How much the map of the words' own rows is held back, by the held-out rows; much, if there are none."""
    if held.sentences == 0:
        return max(RIDGES)
    moments, mean = learnt.moments(own), learnt.mean()
    return min(RIDGES, key=lambda ridge: held.error(_core.mapped(own, moments.map(ridge)), mean))


def _solved(
    sums: _core.Distillation, prior: Rows, penalty: float, folder: Path | None, report: Any
) -> tuple[Rows, float, int]:
    """The solution. Columns are kept as they are found, until it is whole: who is stopped goes on there."""
    if folder is None:
        return sums.solve(prior, penalty=penalty, tolerance=_TOLERANCE, progress=report)
    digest = sums.digest(prior, penalty=penalty, tolerance=_TOLERANCE)
    name = f"solving-{hashlib.sha256(f'{digest} {_core.__version__}'.encode()).hexdigest()[:32]}"
    writable = True

    def kept(first: int) -> tuple[Rows, float, int] | None:
        try:
            found = read_archive(folder / f"{name}-{first}.npz", ("table", "residual", "iterations"))
            return found["table"], float(found["residual"]), int(found["iterations"])
        except (OSError, FormatError, KeyError, TypeError, ValueError):
            return None  # not there, or damaged: found again

    def keep(first: int, table: Rows, residual: float, iterations: int) -> None:
        nonlocal writable
        try:
            if writable:
                with whole_file(folder / f"{name}-{first}.npz") as file:
                    np.savez(file, table=table, residual=residual, iterations=iterations)
        except OSError as error:
            writable = False
            _LOG.warning("an interrupted solution would begin anew: %s cannot be written: %s", folder, error)

    solution = sums.solve(prior, penalty=penalty, tolerance=_TOLERANCE, kept=kept, keep=keep, progress=report)
    for path in folder.glob("solving-*.npz"):
        with contextlib.suppress(OSError):
            if path.name.startswith(name) or time.time() - path.stat().st_mtime > _FORGOTTEN:
                path.unlink()
    return solution


def _tell_of_zeros(
    embedder: EncoderRows, empty: npt.NDArray[np.bool_], texts: Sequence[str], what: str
) -> None:
    if not empty.any():
        return
    first = texts[int(np.argmax(empty))]
    if empty.all():
        raise ValueError(f"{embedder.name} gave zeros for all {len(texts)} {what}")
    warnings.warn(
        f"{embedder.name} gave zeros for {np.count_nonzero(empty)} of {len(texts)} {what}, "
        f"as for {first!r:.60}: nothing is learnt from these",
        ZeroRowsWarning,
        stacklevel=4,
    )


def _tried(
    learnt: _core.Distillation, held: _core.Distillation, prior: Rows, report: Any
) -> tuple[dict[float, float], float]:
    """How much of the held-out rows each lambda leaves untold, and the prior, by some of their columns."""
    which = np.unique(np.linspace(0, prior.shape[1] - 1, min(_COLUMNS, prior.shape[1])).astype(int)).tolist()
    some, others = learnt.of_columns(which), held.of_columns(which)
    begin, mean = np.ascontiguousarray(prior[:, which]), some.mean()
    untold: dict[float, float] = {}

    def look(penalty: float) -> None:
        table, _, _ = some.solve(begin, penalty=penalty, tolerance=1e-3)
        untold[penalty] = others.error(table, mean)

    for i, penalty in enumerate(PENALTIES):
        look(penalty)
        if report is not None:
            report(i + 1, len(PENALTIES))
    for factor, edge in ((4.0, max), (0.25, min)):
        while (best := min(untold, key=lambda one: untold[one])) == edge(untold) and 1e-6 < best < 1e6:
            look(best * factor)
    return untold, others.error(begin, mean)
