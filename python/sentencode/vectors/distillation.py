"""Distils another encoder into word vectors, in closed form."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..checks import check_independent, checked_float, checked_int, checked_smoothing
from ..encoder_rows import Embeddings, EncoderRows, cache_folder
from ..errors import FormatError, ZeroRowsWarning
from ..files import read_archive, whole_file
from ..progress import is_interactive, say
from ..text.corpus import Corpus, repeatable
from ..text.inputs import is_blank
from ..text.tokenizer import Tokenizer
from .stages import StageProgress, stage
from .student_words import StudentWords, Words, student_words
from .tables import Storage, table_of

__all__ = ["PENALTIES", "RIDGES", "Student", "distill", "say_result", "teacher_key", "teacher_rows"]

_LOG = logging.getLogger("sentencode")

PENALTIES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # continued at either end while the error falls
RIDGES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # few sentences need large ones
_MAX_RIDGE = 1e12  # fixes the map entirely; larger ones would overflow
_TOLERANCE = 1e-5  # of the residual
_COARSE = 1e-3  # the same while held-out sentences are compared
_BATCH = 2048  # sentences that the teacher encodes at once, and of one cache file
_UNKNOWN = 0.02  # fraction of unknown words from which on it warns
_HELD_OUT = 4096  # at most so many sentences choose the penalty
_COLUMNS = 32  # dimensions of the teacher on which it is chosen
_PROBES = 32  # sentences whose embeddings identify a teacher
_ROUNDING = 1e-4  # relative difference of embeddings that are the same but for rounding
_EXPIRY = 7 * 24 * 3600  # seconds after which an unfinished solution is removed


@dataclass(frozen=True)
class Student:
    """A distilled encoder, and how well it was fitted.

    Attributes:
        vectors: The word vectors, multiplied by the word weights: the student is
            `Average(vectors, tokenizer=tokenizer)`.
        penalty: Lambda.
        ridge: Ridge of the map of the teacher's word embeddings.
        unexplained: For each lambda that was tried, the fraction of the variance of the teacher's held-out
            embeddings that the student does not explain, on 32 dimensions; empty if lambda was given.
        words_alone: The same for the teacher's mapped embeddings of single words; None if lambda was given.
        cosine: Mean cosine of the student's embeddings of held-out sentences and the teacher's, less their
            mean; None if lambda was given.
        sentences: Number of sentences with known words.
        unseen: Number of words that no sentence has; they keep the teacher's mapped embedding.
        unknown: Fraction of the words of held-out sentences that have no vector.
        residual: Residual of the solution, relative to the right-hand side.
        iterations: Iterations of conjugate gradients.
        tokenizer: The tokenizer that the vectors are for.
    """

    vectors: Any
    penalty: float
    ridge: float
    unexplained: dict[float, float]
    words_alone: float | None
    cosine: float | None
    sentences: int
    unseen: int
    unknown: float
    residual: float
    iterations: int
    tokenizer: Tokenizer

    @property
    def summary(self) -> str:
        """What it is, and how good, in one or two lines."""
        size = f"{len(self.vectors):,} words, {self.vectors.dim} dimensions"
        text = f"{size}, from {self.sentences:,} sentences; {self.unseen:,} words are in none of them"
        if self.unknown:
            text += f"; {100 * self.unknown:.1f} % of the words of held-out sentences have no vector"
        if self.cosine is None:
            return text
        return (
            f"{text}\nOn sentences that it was not fitted to, its embeddings have a cosine of "
            f"{self.cosine:.2f} with the teacher's on average, where 1 is the teacher "
            f"(lambda {self.penalty:g})."
        )

    @property
    def untold(self) -> dict[float, float]:
        """The old name of `unexplained`."""
        warnings.warn("Student.untold is now Student.unexplained", DeprecationWarning, stacklevel=2)
        return self.unexplained


def distill(
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
    cache: Any = True,
    progress: bool | StageProgress | None = None,
) -> Student:
    """`WordVectors.distill`, which describes the arguments, with a report of the fit.

    The default of `words` is "both" here if the teacher's tokenizer is one of WordPiece and `tokenizer` and
    `lowercase` have their defaults: words without a vector are split into pieces.
    """
    max_words = checked_int("max_words", max_words, 1)
    max_sentences = None if max_sentences is None else checked_int("max_sentences", max_sentences, 1)
    dim = None if dim is None else checked_int("dim", dim, 1)
    smoothing = checked_smoothing("distill", a)
    penalty = None if penalty is None else checked_float("penalty", penalty, 0.0)
    ridge = None if ridge is None else min(_MAX_RIDGE, checked_float("ridge", ridge, 0.0, above=True))
    if not isinstance(tokenizer, Tokenizer):
        tokenizer = Tokenizer(tokenizer, lowercase=lowercase)
    texts = _texts(sentences)
    plain = tokenizer.split == "punctuation" and tokenizer.lowercase
    chosen = student_words(teacher, texts, words, max_words, tokenizer, plain)
    vocabulary, tokenizer = chosen.vocabulary, chosen.tokenizer
    if not vocabulary.counts.any():
        raise ValueError(f"none of the {len(vocabulary)} words is in any of the {len(texts)} sentences")
    weights = np.ones(len(vocabulary), np.float32)
    if smoothing is not None:
        counted = table_of(vocabulary.words, weights[:, None], vocabulary.counts)
        weights = _core.Frequencies.from_counts(counted).sif_weights(smoothing)

    sample = _sample(texts, max_sentences)
    embedder = _embedder(teacher, cache, sample)
    with stage("teacher: words", progress, "words") as report:
        word_embeddings = _embeddings(embedder, chosen.texts, report, dim)
    if chosen.special:
        word_embeddings[[word in chosen.special for word in vocabulary.words]] = 0
    nonzero = word_embeddings.any(axis=1)
    # A few of the words that the caller has not listed may be unknown to the teacher.
    listed = words is not None and not isinstance(words, str)
    if not chosen.pieces and (listed or nonzero.mean() < 1 - _UNKNOWN):
        _warn_of_zeros(embedder, np.logical_not(nonzero), vocabulary.words, "words")
    word_embeddings[nonzero] -= word_embeddings[nonzero].mean(axis=0)
    with stage("teacher: sentences", progress, "sentences") as report:
        is_held_out = _held_out(len(sample))
        train, held_out, held_rows = _sums(
            embedder, sample, is_held_out, chosen, weights, word_embeddings.shape[1], report
        )
    if train.sentences + held_out.sentences == 0:
        raise ValueError(f"none of the words is in any of the {len(sample)} sentences that the teacher read")

    unknown = chosen.unknown([sample[i] for i in np.flatnonzero(is_held_out)])
    if unknown > _UNKNOWN:
        warnings.warn(
            f"{100 * unknown:.1f} % of the words of held-out sentences have no vector and are ignored: give "
            "more sentences or a list of words, or take word pieces for them (sentencode.distill.distill)",
            UserWarning,
            stacklevel=3,
        )

    if ridge is None:
        ridge = _best_ridge(train, held_out, word_embeddings)
    unexplained: dict[float, float] = {}
    words_alone: float | None = None
    cosine: float | None = None
    if penalty is None:
        if held_out.sentences == 0:
            raise ValueError(
                f"none of the {len(sample)} sentences can be held out, which takes 20 of them with known "
                "words: give more sentences, or a penalty"
            )
        with stage("choosing the penalty", progress, "penalties") as report:
            prior = _core.mapped(word_embeddings, train.moments(word_embeddings).map(ridge))
            unexplained, words_alone = _try_penalties(train, held_out, prior, report)
        penalty = min(unexplained, key=unexplained.__getitem__)
        with stage("scoring on held-out sentences", progress, "steps") as report:
            table = train.solve(prior, penalty=penalty, tolerance=_COARSE, progress=report)[0]
        average = _core.Average(table_of(vocabulary.words, table), tokenizer.core(), weights)
        cosine = _cosine(average, tokenizer, held_rows, train.mean())
        del table, average
        _LOG.info("penalty %g: %.3f of the held-out variance unexplained", penalty, unexplained[penalty])
    train.merge(held_out)
    prior = _core.mapped(word_embeddings, train.moments(word_embeddings).map(ridge))
    del word_embeddings
    with stage("solving", progress, "steps") as report:
        table, residual, iterations = _solve(train, prior, penalty, embedder.cache, report)
    if residual > _TOLERANCE:
        _LOG.warning(
            "conjugate gradients did not converge: after %d steps the relative residual is %.1e, above the "
            "tolerance %g; a larger penalty converges faster",
            iterations,
            residual,
            _TOLERANCE,
        )
    if dim is not None and dim < table.shape[1]:
        table = _core.mapped(table, train.moments(table).axes(dim))
    table *= weights[:, None]  # makes the plain average the student
    core = table_of(vocabulary.words, table, vocabulary.counts, storage=storage)
    unseen = sum(count == 0 for count in train.counts())
    return Student(
        core,
        penalty,
        ridge,
        unexplained,
        words_alone,
        cosine,
        train.sentences,
        unseen,
        unknown,
        residual,
        iterations,
        tokenizer,
    )


def say_result(student: Student, progress: bool | StageProgress | None, encoder: str) -> None:
    """Says how good a student is, where progress is shown, and what evaluates it: `encoder`, in Python."""
    if progress is None or progress is True:
        following = f'Evaluate it: sentencode.evaluate({encoder}, ["STSBenchmark"], data="SentEval/data")'
        say(progress is True or is_interactive(), f"student: {student.summary}\n{following}")


def teacher_key(teacher: Any, sentences: list[str]) -> str:
    """Return what identifies a teacher in the cache: its fingerprint, or a hash of some embeddings.

    Args:
        teacher: An encoder with `encode`.
        sentences: Sentences that it may be asked to encode.

    Returns:
        The same string in every process for the same teacher and sentences.
    """
    return str(_embedder(teacher, True, [text for text in sentences if not is_blank(text)]).key)


def teacher_rows(
    teacher: Any, sentences: list[str], *, cache: Any = True, progress: bool | StageProgress | None = None
) -> Embeddings:
    """Return a teacher's embeddings of sentences [n, d], cached as those of `distill`.

    Args:
        teacher: As for `WordVectors.distill`.
        sentences: Texts, none of them blank.
        cache: As for `WordVectors.distill`.
        progress: As for `WordVectors.distill`.
    """
    with stage("teacher: sentences", progress, "sentences") as report:
        return _embeddings(_embedder(teacher, cache, sentences), sentences, report, None)


def _texts(sentences: Any) -> list[str]:
    """Distinct sentences that are not blank, in order."""
    corpus = repeatable(sentences)
    if not isinstance(corpus, Corpus):
        corpus = Corpus(corpus)
    texts: dict[str, None] = {}
    for i, text in enumerate(corpus):
        if not isinstance(text, str):
            raise TypeError(
                f"sentences must be strings, which a teacher reads; sentence {i} is {type(text).__name__}"
            )
        if not is_blank(text):
            texts[text] = None
    if not texts:
        raise ValueError("there are no sentences to distil from")
    return list(texts)


def _embedder(teacher: Any, cache: Any, texts: list[str]) -> EncoderRows:
    check_independent("distill: the teacher", teacher)
    folder = cache_folder(cache, "teachers")
    embedder = EncoderRows(teacher, cache=folder, tokens=False, varied=False)
    if folder is not None and embedder.key is None:
        embedder.key = _key_of(embedder, folder, texts[:_BATCH])  # more sentences keep the key
    return embedder


def _key_of(embedder: EncoderRows, folder: Path, texts: list[str]) -> str:
    """Return a key for a teacher without a fingerprint.

    It is a hash of its embeddings of some sentences, of every length, and of all these as one text, which may
    exceed its maximum length.
    """
    by_length = sorted(texts, key=lambda text: (len(text), text))
    positions = np.unique(np.linspace(0, len(texts) - 1, min(_PROBES, len(texts))).astype(int))
    sample = [by_length[i] for i in positions]
    probes = embedder([*sample, " ".join(sample)] if len(sample) > 1 else sample)
    norms = np.linalg.norm(probes, axis=1, keepdims=True)
    for path in sorted(folder.glob("teacher-*.npy")):
        try:
            stored = np.load(path, allow_pickle=False)
        except (OSError, EOFError, ValueError):
            continue  # damaged
        if stored.shape == probes.shape and (np.abs(stored - probes) <= _ROUNDING * norms).all():
            return path.stem
    path = folder / f"teacher-{hashlib.sha256(probes.tobytes()).hexdigest()[:32]}.npy"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            np.save(file, probes)
    except OSError as error:
        _LOG.warning("the teacher's embeddings are not cached: %s cannot be written: %s", path, error)
    return path.stem


def _sample(texts: list[str], count: int | None) -> list[str]:
    """Return a random sample of the texts, ordered by their hashes.

    The order depends neither on the corpus's order nor on `count`, so that cached batches stay valid.
    """
    shuffled = sorted(
        texts, key=lambda text: hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest()
    )
    return shuffled if count is None else shuffled[:count]


def _encode(
    embedder: EncoderRows, texts: list[str], report: Any
) -> Iterator[tuple[npt.NDArray[np.int64], Embeddings]]:
    """Yield the indices and the embeddings of each batch."""
    batches = []
    for first in range(0, len(texts), _BATCH):  # the longest first, which saves padding
        batch = texts[first : first + _BATCH]
        indices = first + np.argsort([-len(text) for text in batch], kind="stable")
        batches.append((indices, [texts[i] for i in indices]))
    # Cached batches take no time, and would make the estimate of the rest too low.
    costs = [0 if embedder.file_of(batch) else len(batch) for _, batch in batches]
    done, total = 0, max(1, sum(costs))
    for (indices, batch), cost in zip(batches, costs, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroRowsWarning)  # `_warn_of_zeros` does, with the texts
            embeddings = embedder(batch)
        yield indices, embeddings
        done += cost
        if report is not None and (cost or batch is batches[-1][1]):
            report(done or total, total)


def _embeddings(embedder: EncoderRows, texts: list[str], report: Any, dim: int | None) -> Embeddings:
    embeddings: Embeddings | None = None
    for indices, rows in _encode(embedder, texts, report):
        if embeddings is None:
            if dim is not None and dim > rows.shape[1]:
                raise ValueError(f"dim must be at most the {rows.shape[1]} of {embedder.name}, got {dim}")
            embeddings = np.empty((len(texts), rows.shape[1]), np.float32)
        embeddings[indices] = rows
    assert embeddings is not None
    return embeddings


def _held_out(count: int) -> npt.NDArray[np.bool_]:
    """A random twentieth."""
    held_out = np.zeros(count, bool)
    size = min(_HELD_OUT, count // 20)
    held_out[np.random.default_rng(20181111).choice(count, size, replace=False)] = True
    return held_out


def _sums(
    embedder: EncoderRows,
    texts: list[str],
    is_held_out: npt.NDArray[np.bool_],
    words: StudentWords,
    weights: npt.NDArray[np.float32],
    dim: int,
    report: Any,
) -> tuple[_core.Distillation, _core.Distillation, dict[str, Embeddings]]:
    """Sums over the training sentences, and over the held-out ones; the embeddings of these."""
    tokenizer = words.tokenizer
    train, held_out = (
        _core.Distillation(words.vocabulary.core, tokenizer.core(), weights, dim) for _ in range(2)
    )
    zero = np.zeros(len(texts), bool)
    first, varies = None, False
    held_rows: dict[str, Embeddings] = {}
    for indices, rows in _encode(embedder, texts, report):
        first = rows[0].copy() if first is None else first
        varies = varies or bool((rows != first).any())
        nonzero = rows.any(axis=1)
        zero[indices] = ~nonzero
        held = is_held_out[indices]
        for sums, mask in ((held_out, nonzero & held), (train, nonzero & ~held)):
            batch = tokenizer.prepare([texts[i] for i in indices[mask]])
            sums.add(batch, np.ascontiguousarray(rows[mask]))
        held_rows |= {texts[indices[i]]: rows[i].copy() for i in np.flatnonzero(nonzero & held)}
    _warn_of_zeros(embedder, zero, texts, "sentences")
    if len(texts) > 1 and not varies:
        raise ValueError(f"{embedder.name} returned the same embedding for all {len(texts)} sentences")
    return train, held_out, held_rows


def _cosine(
    student: _core.Average,
    tokenizer: Tokenizer,
    teacher: dict[str, Embeddings],
    mean: npt.NDArray[np.float64],
) -> float:
    """Mean cosine of the embeddings of sentences with the teacher's, less their mean; zeros count as 0."""
    rows = np.empty((len(teacher), student.dim), np.float32)
    student.encode_into(tokenizer.prepare(list(teacher)), rows)
    truth = np.stack(list(teacher.values())) - mean
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(truth, axis=1)
    return float(np.mean((rows * truth).sum(axis=1) / np.maximum(norms, np.finfo(np.float32).tiny)))


def _best_ridge(
    train: _core.Distillation, held_out: _core.Distillation, word_embeddings: Embeddings
) -> float:
    """The ridge with the lowest held-out error; the largest, if no sentence is held out."""
    if held_out.sentences == 0:
        return max(RIDGES)
    moments, mean = train.moments(word_embeddings), train.mean()
    return min(
        RIDGES, key=lambda ridge: held_out.error(_core.mapped(word_embeddings, moments.map(ridge)), mean)
    )


def _solve(
    sums: _core.Distillation, prior: Embeddings, penalty: float, folder: Path | None, report: Any
) -> tuple[Embeddings, float, int]:
    """The solution, its residual and the iterations. Solved columns are cached until all of them are."""
    if folder is None:
        return sums.solve(prior, penalty=penalty, tolerance=_TOLERANCE, progress=report)
    digest = sums.digest(prior, penalty=penalty, tolerance=_TOLERANCE)
    name = f"solving-{hashlib.sha256(f'{digest} {_core.__version__}'.encode()).hexdigest()[:32]}"
    writable = True

    def load(first: int) -> tuple[Embeddings, float, int] | None:
        try:
            arrays = read_archive(folder / f"{name}-{first}.npz", ("table", "residual", "iterations"))
            return arrays["table"], float(arrays["residual"]), int(arrays["iterations"])
        except (OSError, FormatError, KeyError, TypeError, ValueError):
            return None  # missing or damaged: solved again

    def save(first: int, table: Embeddings, residual: float, iterations: int) -> None:
        nonlocal writable
        try:
            if writable:
                with whole_file(folder / f"{name}-{first}.npz") as file:
                    np.savez(file, table=table, residual=residual, iterations=iterations)
        except OSError as error:
            writable = False
            _LOG.warning(
                "the solution cannot be resumed if interrupted: %s cannot be written: %s", folder, error
            )

    solution = sums.solve(prior, penalty=penalty, tolerance=_TOLERANCE, load=load, save=save, progress=report)
    for path in folder.glob("solving-*.npz"):
        with contextlib.suppress(OSError):
            if path.name.startswith(name) or time.time() - path.stat().st_mtime > _EXPIRY:
                path.unlink()
    return solution


def _warn_of_zeros(
    embedder: EncoderRows, zero: npt.NDArray[np.bool_], texts: Sequence[str], what: str
) -> None:
    if not zero.any():
        return
    first = texts[int(np.argmax(zero))]
    if zero.all():
        raise ValueError(f"{embedder.name} returned zeros for all {len(texts)} {what}")
    warnings.warn(
        f"{embedder.name} returned zeros for {np.count_nonzero(zero)} of {len(texts)} {what}, which are "
        f"skipped; the first is {first!r:.60}",
        ZeroRowsWarning,
        stacklevel=4,
    )


def _try_penalties(
    train: _core.Distillation, held_out: _core.Distillation, prior: Embeddings, report: Any
) -> tuple[dict[float, float], float]:
    """Held-out error of each lambda, and of the prior, on some dimensions."""
    dims = np.unique(np.linspace(0, prior.shape[1] - 1, min(_COLUMNS, prior.shape[1])).astype(int)).tolist()
    train, held_out = train.columns(dims), held_out.columns(dims)
    prior, mean = np.ascontiguousarray(prior[:, dims]), train.mean()
    errors: dict[float, float] = {}

    def try_penalty(penalty: float) -> None:
        table, _, _ = train.solve(prior, penalty=penalty, tolerance=_COARSE)
        errors[penalty] = held_out.error(table, mean)

    for i, penalty in enumerate(PENALTIES):
        try_penalty(penalty)
        if report is not None:
            report(i + 1, len(PENALTIES))
    for factor, edge in ((4.0, max), (0.25, min)):
        while (best := min(errors, key=errors.__getitem__)) == edge(errors) and 1e-6 < best < 1e6:
            try_penalty(best * factor)
    return errors, held_out.error(prior, mean)
