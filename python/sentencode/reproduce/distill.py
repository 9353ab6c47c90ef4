"""Students of a teacher compared with the teacher, with model2vec's student of it, and with word vectors.

There is no paper. The tables have the scores of closed-form distillation on similarity and classification,
the speed of each encoder, and the contribution of its parts. Every similarity score is a cosine; nothing is
trained on the pairs of a task.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import statistics
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._figures import new_figure
from ..distill import Student, distill, teacher_key, teacher_named
from ..evaluation import Decontaminator
from ..linear import LAES, SIF, USIF, Average
from ..text.corpus import Corpus
from ..text.inputs import is_blank
from ..text.tokenizer import Tokenizer
from ..text.vocabulary import Vocabulary
from ..threads import num_threads
from ..vectors import WordVectors
from .evaluator import Evaluator, headlines, paired, speed_of, tasks_there
from .experiment import Experiment
from .report import Report, Table
from .results_folder import Result, Results, file_identity
from .rows import NotAvailableError, computed, random_vectors
from .tables import MISSING, TableText, differing, number, rounded, score

__all__ = ["FAMILY", "ROWS", "Row", "reproduce"]

SIMILARITY = ("SICKCosine", "STSBenchmarkCosine", "STS12", "STS13", "STS14", "STS15", "STS16")
CLASSIFICATION = ("MR", "CR", "SST2", "TREC", "MRPC", "SICKEntailment")
YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
STUDENT, CONTROL = "student", "random vectors"
_INFINITE = 1e12  # a ridge, or lambda, that leaves no freedom
_FITTED = 50_000  # sentences that SIF and others are fitted to


@dataclass
class Bench:
    """What the rows share.

    Attributes:
        source: The teacher, or its name.
        sentences: Sentences to distil from.
        words: Words of the students' vocabulary. None: the default.
        word_vectors: Word vectors to compare with. None: none.
        bfloat16: Whether the teacher encodes the sentences in bfloat16.
        show: Show progress bars.
        last: Student of the current row.
    """

    source: Any
    sentences: Sequence[str]
    words: Sequence[str] | None
    word_vectors: WordVectors | None
    bfloat16: bool
    show: bool
    last: Student | None = None
    _plain: Student | None = None

    @functools.cached_property
    def teacher(self) -> Any:
        """The teacher in float32."""
        return teacher_named(self.source) if isinstance(self.source, str) else self.source

    @functools.cached_property
    def reader(self) -> Any:
        """The teacher that encodes the sentences to distil from."""
        return teacher_named(self.source, bfloat16=True) if self.bfloat16 else self.teacher

    def student(self, **options: Any) -> Student:
        """A student; the one with default options is computed once."""
        defaults: dict[str, Any] = {"a": 1e-3, "tokenizer": "punctuation"}
        plain = {**defaults, **options} == defaults
        if plain and self._plain is not None:
            self.last = self._plain
        else:
            options = {"words": "words" if self.words is None else self.words, **options}
            self.last = distill(self.reader, self.sentences, progress=self.show, **options)
            self._plain = self.last if plain else self._plain
        return self.last

    @property
    def vectors(self) -> WordVectors:
        """The word vectors to compare with."""
        if self.word_vectors is None:
            raise NotAvailableError("no word vectors were given")
        return self.word_vectors

    def model2vec(self) -> Any:
        """Model2vec's student of the teacher: embeddings of its word pieces, without sentences."""
        if not isinstance(self.source, str) or Path(self.source).is_file():
            raise NotAvailableError("model2vec requires the name of a sentence-transformers model")
        if importlib.util.find_spec("model2vec") is None:
            raise NotAvailableError("model2vec is not installed: pip install 'model2vec[distill]'")
        try:
            return importlib.import_module("model2vec.distill").distill(self.source)
        except Exception as error:  # the other rows are computed nevertheless
            raise NotAvailableError(f"model2vec: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Row:
    """A row of the tables.

    Attributes:
        make: Makes the encoder.
        tasks: Tasks that the encoder is evaluated on.
        part: Whether the row shows the contribution of a part of the method.
        charted: Whether the picture shows the row.
    """

    make: Callable[[Bench], Any]
    tasks: tuple[str, ...] = SIMILARITY
    part: bool = True
    charted: bool = False


def _averaged(student: Student, tokenizer: str = "punctuation") -> Average:
    return Average(student.vectors, tokenizer=tokenizer)


def _variant(tokenizer: str = "punctuation", **options: Any) -> Row:
    return Row(lambda b: _averaged(b.student(tokenizer=tokenizer, **options), tokenizer))


def _share(parts: int) -> Row:
    return Row(lambda b: _averaged(b.student(max_sentences=max(1, len(b.sentences) // parts))))


def _fitted(make: Callable[[WordVectors], Any]) -> Row:
    return Row(lambda b: make(b.student().vectors).fit(b.sentences[:_FITTED]))


def _words_of_sentences(b: Bench) -> Average:
    size = None if b.words is None else len(b.words)
    counted = Vocabulary.from_corpus(b.sentences, Tokenizer("punctuation", lowercase=True), max_size=size)
    return _averaged(b.student(words=counted.words))


def _pieces(words: Literal["wordpieces", "both"]) -> Row:
    """Word pieces of the teacher, or whole words and pieces for all others."""

    def make(b: Bench) -> Average:
        sizes = {} if b.words is None else {"max_words": len(b.words)}
        try:
            student = b.student(words=words, **sizes)
        except (NotImplementedError, ValueError) as error:  # the teacher has no pieces that we can reproduce
            raise NotAvailableError(str(error)) from error
        return Average(student.vectors, tokenizer=student.tokenizer)

    return Row(make)


def _whitened(b: Bench) -> Average:
    """The student with its principal components divided by the fourth root of their variance."""
    student = b.student()
    embeddings = _averaged(student).encode(b.sentences[:_FITTED]).astype(np.float64)
    values, axes = np.linalg.eigh(embeddings.T @ embeddings / len(embeddings))
    positive = values > 1e-6 * values[-1]
    vectors = student.vectors
    table = vectors.matrix(vectors.words) @ (axes[:, positive] * values[positive] ** -0.25)
    whitened = WordVectors.from_array(vectors.words, table.astype(np.float32), vectors.counts)
    return Average(whitened, tokenizer="punctuation")


_ALL = SIMILARITY + CLASSIFICATION

ROWS = {
    "teacher": Row(lambda b: b.teacher, _ALL, part=False, charted=True),
    STUDENT: Row(lambda b: _averaged(b.student()), _ALL, part=False, charted=True),
    "student, 256 dimensions": Row(lambda b: _averaged(b.student(dim=256)), _ALL, part=False),
    "student, 128 dimensions, int8": Row(
        lambda b: _averaged(b.student(dim=128, storage="int8")), _ALL, part=False
    ),
    "model2vec": Row(lambda b: b.model2vec(), _ALL, part=False, charted=True),
    "word vectors, weighted mean": Row(lambda b: Average(b.vectors, a=1e-3), _ALL, part=False, charted=True),
    "built-in vectors": Row(lambda b: Average(WordVectors.default()), _ALL, part=False, charted=True),
    CONTROL: Row(lambda b: random_vectors(Average(WordVectors.default())), _ALL, part=False),
    "single words": _variant(penalty=_INFINITE, ridge=_INFINITE),
    "single words, mapped": _variant(penalty=_INFINITE),
    "student, not mapped": _variant(ridge=_INFINITE),
    "student, 1/4 of the sentences": _share(4),
    "student, 1/16 of the sentences": _share(16),
    "student, 1/64 of the sentences": _share(64),
    "student, its sentences' words": Row(_words_of_sentences),
    "student, word pieces": _pieces("wordpieces"),
    "student, words and pieces": _pieces("both"),
    "student, Penn Treebank tokens": _variant(tokenizer="words"),
    "student, a = 1e-2": _variant(a=1e-2),
    "student, a = 1e-4": _variant(a=1e-4),
    "student, no weights": _variant(a=None),
    "student, half whitened": Row(_whitened),
    "student, SIF": _fitted(lambda v: SIF(v, a=None)),
    "student, uSIF": _fitted(lambda v: USIF(v)),
    "student, LAES": _fitted(lambda v: LAES(v, hidden=50, a=None)),
}


# --- the tables ---

_SHORT = {"SICKCosine": "SICK", "STSBenchmarkCosine": "STSB", "SICKEntailment": "SICK-E"}
_DIFFERENCES = ("SICKCosine", "STSBenchmarkCosine")  # columns of the table of parts


@dataclass(frozen=True)
class _Table(Table):
    """What both tables have."""

    rows: Sequence[str]

    def notes(self, report: Report) -> Iterator[str]:
        """How the figures were computed."""
        yield (
            "SICK, STSB and the STS years: Pearson's correlation x 100 between cosines and the scores of the "
            "test pairs; of a year the mean of its subsets, weighted by their sizes. The other tasks: "
            f"accuracy of a classifier, protocol {report.settings['protocol']}."
        )
        yield (
            "Minus student: differences over the same resampled examples; the mean is over all cosine tasks, "
            "of Pearson's and Spearman's correlations."
        )
        threads = sorted({result["threads"] for result in report.results if "threads" in result})
        counts = " or ".join(map(str, threads))
        yield f"Sentences per second: raw text in, {counts} threads, the median of seven."
        if (removed := report.settings.get("removed")) and removed["sentences"]:
            tasks = ", ".join(f"{name} {n:,}" for name, n in removed.items() if name != "sentences")
            yield f"{removed['sentences']:,} sentences of the tasks were removed first ({tasks})."
        if report.settings["bfloat16"]:
            yield "The teacher encoded the sentences in bfloat16; it was evaluated in float32."

    def results(self, report: Report) -> list[Result]:
        """The results of the rows of the table."""
        return [result for row in self.rows for result in report.of(row)]


def _tasks_of(results: Sequence[Result], tasks: Sequence[str] = _ALL) -> list[str]:
    """The tasks that any of the results has a score of."""
    return [task for task in tasks if any(task in result["scores"] for result in results)]


@dataclass(frozen=True)
class _Encoders(_Table):
    """Scores and speed of the students, their teacher and other encoders; their picture."""

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        if not (results := self.results(report)):
            return
        columns = _tasks_of(results)
        teacher, control = (
            next((result["years"] for result in report.of(name)), None) for name in ("teacher", CONTROL)
        )
        lines = []
        for result in results:
            mean = result["years"]
            fractions = [_fraction(mean, teacher, low) for low in (0.0, control)]
            scores = [score(result["scores"].get(task)) for task in columns]
            speed = result.get("sentences_per_second")
            per_second = f"{speed['median']:,.0f}" if speed else MISSING
            lines.append([result["row"], str(result["dim"]), *scores, number(mean), *fractions, per_second])
        header = ["encoder", "dim", *(_SHORT.get(task, task) for task in columns)]
        header += ["STS years", "of the teacher's", f"above {CONTROL}", "sentences/s"]
        yield "Students, their teacher, and others", header, lines

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """Quality against speed: the mean of the similarity tasks, and sentences per second."""
        points = []
        for result in self.results(report):
            scores = [result["scores"][task]["value"] for task in _tasks_of([result], SIMILARITY)]
            if scores and ROWS[result["row"]].charted:
                points.append(
                    (result["row"], result["sentences_per_second"]["median"], statistics.fmean(scores))
                )
        figure, (axes,) = new_figure(6.4, 3.6)
        for name, x, y in points:
            ours = not name.startswith(("teacher", "model2vec"))
            color = "#1f6f8b" if ours else "#b5651d" if name == "teacher" else "#8a8a8a"
            axes.plot(x, y, "o" if ours else "s", color=color)
            label = f"teacher, {_teacher_name(report.settings)}" if name == "teacher" else name
            crowded = any(0 < other - y < 4 and 0.2 < at / x < 5 for _, at, other in points)
            side: Any = {"xytext": (0, -8 if crowded else 8), "va": "top" if crowded else "bottom"}
            text = f"{label}\n{rounded(x)} a second"
            axes.annotate(
                text, (x, y), textcoords="offset points", ha="center", color=color, fontsize=9, **side
            )
        axes.set(xscale="log")
        axes.set_xlabel("sentences a second, raw text in", fontsize=9)
        axes.set_ylabel("cosine similarity: Pearson × 100,\nmean of the tasks", fontsize=9)
        axes.tick_params(which="both", labelsize=9)
        axes.margins(0.25, 0.2)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        yield "quality-speed", figure


@dataclass(frozen=True)
class _Parts(_Table):
    """Similarity scores without a part of the method, and differences to the student."""

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        if not (results := self.results(report)):
            return
        columns = _tasks_of(results, SIMILARITY)
        lines = []
        for result in results:
            scores = [score(result["scores"].get(task)) for task in columns]
            less = [differing(result.get("less", {}).get(task)) for task in (*_DIFFERENCES, "mean")]
            lines.append([result["row"], *scores, number(result["years"]), *less])
        header = ["encoder", *(_SHORT.get(task, task) for task in columns), "STS years"]
        header += [f"{name} minus student" for name in (*map(_SHORT.__getitem__, _DIFFERENCES), "mean")]
        yield "Contribution of the parts", header, lines


def _fraction(mean: float | None, teacher: float | None, low: float | None) -> str:
    """`mean` in percent of the teacher's, both less `low`."""
    if mean is None or teacher is None or low is None or teacher == low:
        return MISSING
    return f"{100 * (mean - low) / (teacher - low):.1f} %"


def _teacher_name(settings: Mapping[str, Any]) -> str:
    teacher = settings["teacher"]
    if isinstance(teacher, dict):
        return str(teacher.get("file", teacher.get("class")))
    return Path(teacher).name


FAMILY = Experiment(
    name="distill",
    rows=ROWS,
    tables={
        "encoders": _Encoders([name for name, row in ROWS.items() if not row.part]),
        "parts": _Parts([name for name, row in ROWS.items() if row.part or name == STUDENT]),
    },
    renamed={
        "student, 256 numbers": "student, 256 dimensions",
        "student, 128 numbers, int8": "student, 128 dimensions, int8",
        "student, cut as Penn Treebank": "student, Penn Treebank tokens",
    },
)


def reproduce(
    data: str | os.PathLike[str],
    teacher: Any,
    sentences: Any,
    *,
    words: Sequence[str] | str | os.PathLike[str] | None = None,
    vectors: str | os.PathLike[str] | WordVectors | None = None,
    out: str | os.PathLike[str],
    tables: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    resume: bool = False,
    bfloat16: bool = False,
    protocol: str = "optimum",
    options: Mapping[str, Any] | None = None,
    resamples: int = 2000,
    partial: bool = False,
    show_progress_bar: bool = False,
) -> Report:
    """Distils a teacher in several ways and evaluates each student, the teacher and other encoders.

    Args:
        data: SentEval's `data` folder. Tasks without files are left out.
        teacher: Name or folder of a sentence-transformers model, file of a saved encoder, or an encoder (then
            model2vec's rows are left out).
        sentences: Files of sentences, as for `distill`. Those of the tasks are removed. The teacher's
            embeddings of the others are stored in Sentencode's cache.
        words: Words of the students' vocabulary, or a file of them. None: the default of
            `WordVectors.distill`.
        vectors: Word vectors to compare with.
        out: Folder for the results: one JSON file for each row, the reports, the tables, the picture.
        tables: `"encoders"`, `"parts"`. None: all.
        rows: Names of `ROWS` in small letters, as in `"student-sif"`. None: all rows of the tables.
        resume: Continue in a folder that holds results of the same settings.
        bfloat16: Encode the sentences with the teacher in bfloat16, which is two to three times as fast on
            some processors. The teacher is evaluated in float32.
        protocol: Protocol of `evaluate`, for classification.
        options: Options of the protocol.
        resamples: Number of bootstrap resamples.
        partial: Accept files whose size is not the published one.
        show_progress_bar: Show progress bars.

    Returns:
        The report.

    Raises:
        ValueError: There is no such table or row, a task failed, or `out` holds results of other settings.
        FileExistsError: `out` holds results, and `resume` is False.
        FileNotFoundError: A file of sentences, or the files of all tasks, are missing.
        ImportError: The teacher requires sentence-transformers, which is not installed.
    """
    if tables is not None and "intervals" in tables:
        warnings.warn("the table intervals is part of the other tables", DeprecationWarning, stacklevel=2)
        tables = [name for name in tables if name != "intervals"] or None
    wanted_tables, wanted_rows = FAMILY.selected(tables, rows)
    evaluator = Evaluator(
        protocol=protocol, options=options or {}, resamples=resamples, show=show_progress_bar
    )
    if isinstance(sentences, str | os.PathLike):
        sentences = [sentences]
    corpus = sentences if isinstance(sentences, Corpus) else Corpus.from_files(sentences)
    texts = list(dict.fromkeys(corpus))
    if all(map(is_blank, texts)):
        raise ValueError(
            f"there are no sentences to distil from in {', '.join(corpus.files) or 'the corpus'}"
        )
    evaluator = replace(evaluator, tasks=tasks_there(_ALL, data, partial=partial))
    clean = Decontaminator(evaluator.tasks)
    texts = list(clean(texts))
    if isinstance(teacher, os.PathLike):
        teacher = os.fspath(teacher)
    if bfloat16 and (not isinstance(teacher, str) or Path(teacher).is_file()):
        raise ValueError("bfloat16 is for teachers of sentence-transformers that are given by their name")
    listed = [word.rstrip("\n") for word in Corpus(words)] if isinstance(words, str | os.PathLike) else words
    if vectors is not None and not isinstance(vectors, WordVectors):
        vectors = WordVectors.load(vectors)
    settings = {
        "teacher": _identity(teacher, texts),
        "bfloat16": bfloat16,
        "sentences": [file_identity(file) for file in corpus.files],
        "removed": {"sentences": clean.removed, **clean.by_task},
        "words": None if listed is None else hashlib.sha256("\n".join(listed).encode()).hexdigest(),
        "vectors": None if vectors is None else vectors.fingerprint,
        **evaluator.settings(),
    }
    results = Results(out, settings, resume)
    bench = Bench(teacher, texts, listed, vectors, bfloat16, show_progress_bar)
    todo = ((name, name, functools.partial(_result, bench, results, name, evaluator)) for name in wanted_rows)
    computed_rows = computed("distill", todo, len(wanted_rows), results, show=show_progress_bar)
    for row in computed_rows:
        if "missing" not in row:
            years = [row["scores"][year]["value"] for year in YEARS if year in row["scores"]]
            row["years"] = statistics.fmean(years) if years else None
            if STUDENT in wanted_rows and ROWS[row["row"]].part:
                row["less"] = _less(results, row["row"], evaluator.resamples)
    return FAMILY.write(results, computed_rows, wanted_tables)


def _result(bench: Bench, results: Results, name: str, evaluator: Evaluator) -> Result:
    """The result of a row."""
    bench.last = None
    encoder = ROWS[name].make(bench)
    tasks = [task for task in evaluator.tasks if task.name in ROWS[name].tasks]
    report = evaluator(encoder, name, tasks, results.report_of(name))
    result: Result = {"row": name, "threads": num_threads(), "dim": report.facts.get("dim")}
    result["scores"] = headlines(report)
    result["sentences_per_second"] = speed_of(encoder, bench.sentences)
    if (student := bench.last) is not None:
        result["student"] = {
            "words": len(student.vectors),
            "sentences": student.sentences,
            "penalty": student.penalty,
            "ridge": student.ridge,
            "unexplained": student.unexplained.get(student.penalty),
            "words_alone": student.words_alone,
            "cosine": student.cosine,
        }
    return result


def _less(results: Results, name: str, resamples: int) -> Result:
    """The differences of a row to the student, over the same resampled examples."""
    differences: Result = {}
    for column, one in paired(results.report_of(name), results.report_of(STUDENT), resamples).items():
        if column.endswith(" pearson"):
            differences[column.removesuffix(" pearson")] = one
        elif column.endswith(" average"):
            differences["mean"] = one
    return differences


def _identity(teacher: Any, sentences: list[str]) -> Any:
    """The identity of a teacher: its name, file or fingerprint, or else its embeddings of some sentences."""
    if isinstance(teacher, str):
        return file_identity(teacher) if Path(teacher).is_file() else teacher
    fingerprint = getattr(teacher, "fingerprint", None)
    if callable(fingerprint):
        return str(fingerprint())
    return {"class": type(teacher).__name__, "rows": teacher_key(teacher, sentences)}
