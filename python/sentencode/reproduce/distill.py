"""Students of a teacher beside the teacher, model2vec's students of the same one, and word vectors.

There is no paper: the table says what closed-form distillation gives on similarity and classification, how
fast each encoder is, and which of its parts matter. Every similarity score is a cosine; nothing is trained on
a task's pairs.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._figures import new_figure, rendered
from ..distill import Student, distill, teacher_key, teacher_named
from ..files import make_folder, without_link
from ..linear import LAES, SIF, USIF, Average
from ..text.corpus import Corpus
from ..text.inputs import is_blank
from ..threads import num_threads
from ..vectors import WordVectors
from .judging import Judge, paired, speed_of, tasks_there
from .results_folder import Result, Results, as_json, file_identity, slug
from .rows import NotAvailableError, chosen, computed
from .tables import between, differing, number, printed_tables

__all__ = ["ROWS", "TABLES", "Report", "Row", "reproduce"]

SIMILARITY = ("SICKCosine", "STSBenchmarkCosine", "STS12", "STS13", "STS14", "STS15", "STS16")
CLASSIFICATION = ("MR", "CR", "SST2", "TREC", "MRPC", "SICKEntailment")
YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
TABLES = ("encoders", "parts", "intervals")
STUDENT = "student"
_FREE = 1e12  # a ridge, or lambda, that leaves nothing free
_FITTED = 50_000  # sentences, for what is fitted on top


class Bench:
    """What rows share: teacher, sentences, words, and the students that were made of them."""

    def __init__(
        self,
        teacher: Any,
        sentences: Sequence[str],
        words: Sequence[str] | None,
        vectors: WordVectors | None,
        *,
        bfloat16: bool,
        show: bool,
    ) -> None:
        self._teacher = teacher
        self.sentences = sentences
        self.words = words
        self._vectors = vectors
        self._bfloat16 = bfloat16
        self._show = show
        self._plain: Student | None = None
        self.last: Student | None = None  # what the row in hand is made of

    @functools.cached_property
    def teacher(self) -> Any:
        """As it was trained."""
        return teacher_named(self._teacher) if isinstance(self._teacher, str) else self._teacher

    @functools.cached_property
    def reader(self) -> Any:
        """The teacher as it reads the sentences."""
        return teacher_named(self._teacher, bfloat16=True) if self._bfloat16 else self.teacher

    def student(self, **options: Any) -> Student:
        """A student; the one without options is made once."""
        defaults: dict[str, Any] = {"a": 1e-3, "tokenizer": "punctuation"}
        plain = {**defaults, **options} == defaults
        if plain and self._plain is not None:
            self.last = self._plain
        else:
            given: dict[str, Any] = {"words": self.words, **options}
            self.last = distill(self.reader, self.sentences, progress=self._show, **given)
            self._plain = self.last if plain else self._plain
        return self.last

    @property
    def vectors(self) -> WordVectors:
        """Those to compare with."""
        if self._vectors is None:
            raise NotAvailableError("no word vectors were given")
        return self._vectors

    def model2vec(self) -> Any:
        """What model2vec makes of the same teacher: embeddings of its word pieces, without sentences."""
        if not isinstance(self._teacher, str) or Path(self._teacher).is_file():
            raise NotAvailableError("model2vec wants a model of sentence-transformers, by its name")
        if importlib.util.find_spec("model2vec") is None:
            raise NotAvailableError("model2vec is not installed: pip install 'model2vec[distill]'")
        theirs = importlib.import_module("model2vec.distill")
        try:
            return theirs.distill(self._teacher)
        except Exception as error:  # theirs: the other rows can be computed all the same
            raise NotAvailableError(f"model2vec: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Row:
    """A row of the tables.

    Attributes:
        make: Makes the encoder.
        tasks: Which it is judged on.
        part: Whether it shows what a part of the method is worth, beside the student.
        drawn: Whether the picture shows it.
    """

    make: Callable[[Bench], Any]
    tasks: tuple[str, ...] = SIMILARITY
    part: bool = True
    drawn: bool = False


def _averaged(student: Student, tokenizer: str = "punctuation") -> Average:
    return Average(student.vectors, tokenizer=tokenizer)


def _variant(tokenizer: str = "punctuation", **options: Any) -> Row:
    return Row(lambda b: _averaged(b.student(tokenizer=tokenizer, **options), tokenizer))


def _share(parts: int) -> Row:
    return Row(lambda b: _averaged(b.student(max_sentences=max(1, len(b.sentences) // parts))))


def _fitted(make: Callable[[WordVectors], Any]) -> Row:
    return Row(lambda b: make(b.student().vectors).fit(b.sentences[:_FITTED]))


def _own_words(b: Bench) -> Average:
    if b.words is None:
        raise NotAvailableError("no words were given: these are the student's own")
    return _averaged(b.student(words=None, max_words=len(b.words)))


def _whitened(b: Bench) -> Average:
    """Principal components, divided by the fourth root of their variance: halfway to equal ones."""
    student = b.student()
    rows = _averaged(student).encode(b.sentences[:_FITTED]).astype(np.float64)
    values, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    kept = values > 1e-6 * values[-1]
    vectors = student.vectors
    table = vectors.matrix(vectors.words) @ (axes[:, kept] * values[kept] ** -0.25)
    made = WordVectors.from_array(vectors.words, table.astype(np.float32), vectors.counts)
    return Average(made, tokenizer="punctuation")


_ALL = SIMILARITY + CLASSIFICATION

ROWS = {
    "teacher": Row(lambda b: b.teacher, _ALL, part=False, drawn=True),
    STUDENT: Row(lambda b: _averaged(b.student()), _ALL, part=False, drawn=True),
    "student, 256 numbers": Row(lambda b: _averaged(b.student(dim=256)), _ALL, part=False),
    "student, 128 numbers, int8": Row(
        lambda b: _averaged(b.student(dim=128, storage="int8")), _ALL, part=False
    ),
    "model2vec": Row(lambda b: b.model2vec(), _ALL, part=False, drawn=True),
    "word vectors, weighted mean": Row(lambda b: Average(b.vectors, a=1e-3), _ALL, part=False, drawn=True),
    "built-in vectors": Row(lambda b: Average(WordVectors.default()), _ALL, part=False, drawn=True),
    "single words": _variant(penalty=_FREE, ridge=_FREE),
    "single words, mapped": _variant(penalty=_FREE),
    "student, not mapped": _variant(ridge=_FREE),
    "student, 1/4 of the sentences": _share(4),
    "student, 1/16 of the sentences": _share(16),
    "student, 1/64 of the sentences": _share(64),
    "student, its sentences' words": Row(_own_words),
    "student, cut as Penn Treebank": _variant(tokenizer="words"),
    "student, a = 1e-2": _variant(a=1e-2),
    "student, a = 1e-4": _variant(a=1e-4),
    "student, no weights": _variant(a=None),
    "student, half whitened": Row(_whitened),
    "student, SIF": _fitted(lambda v: SIF(v, a=None)),
    "student, uSIF": _fitted(lambda v: USIF(v)),
    "student, LAES": _fitted(lambda v: LAES(v, hidden=50, a=None)),
}


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
    """Distils a teacher in many ways, and judges each student beside the teacher and its peers.

    Args:
        data: SentEval's `data` folder. Tasks whose files are there are judged.
        teacher: The name or folder of a model of sentence-transformers, the file of a saved encoder, or an
            encoder (then model2vec's rows are left out).
        sentences: Files of sentences, as `distill` takes them. The teacher's embeddings of them are kept
            below Sentencode's cache.
        words: The words that get vectors, or a file of them. None: those of the sentences.
        vectors: Word vectors to compare with.
        out: A folder for the results: one JSON file for each row, the reports, the tables, the picture.
        tables: Of `TABLES`. None: all.
        rows: Of `ROWS`, by their names in small letters, as in `"student-sif"`. None: all.
        resume: Whether to go on in a folder that holds results, made from the same things.
        bfloat16: Whether the teacher reads the sentences in bfloat16, which some processors do twice as fast.
            It is judged as it is.
        protocol: Of `evaluate`, for classification.
        options: Of the protocol.
        resamples: Of the bootstrap.
        partial: Whether to accept files of another size than was published.
        show_progress_bar: Whether to show them.

    Returns:
        The report.

    Raises:
        ValueError: There is no such table or row, a task failed, or `out` holds results of other settings.
        FileExistsError: `out` holds results, and `resume` is False.
        FileNotFoundError: A file of sentences, or the files of all tasks, are not there.
        ImportError: The teacher needs sentence-transformers, which is not installed.
    """
    wanted_tables = chosen(tables, TABLES, "table")
    wanted_rows = chosen(rows, list(ROWS), "row")
    judging: dict[str, Any] = {"protocol": protocol, "options": options or {}, "resamples": resamples}
    Judge(**judging)  # finds fault before anything is read
    if isinstance(sentences, str | os.PathLike):
        sentences = [sentences]
    corpus = sentences if isinstance(sentences, Corpus) else Corpus.from_files(sentences)
    texts = list(dict.fromkeys(corpus))
    if all(map(is_blank, texts)):
        raise ValueError(
            f"there are no sentences to distil from in {', '.join(corpus.files) or 'the corpus'}"
        )
    if isinstance(teacher, os.PathLike):
        teacher = os.fspath(teacher)
    if bfloat16 and (not isinstance(teacher, str) or Path(teacher).is_file()):
        raise ValueError("bfloat16 is for teachers of sentence-transformers that are given by their name")
    listed = [word.rstrip("\n") for word in Corpus(words)] if isinstance(words, str | os.PathLike) else words
    if vectors is not None and not isinstance(vectors, WordVectors):
        vectors = WordVectors.load(vectors)
    judge = Judge(tasks_there(_ALL, data, partial=partial), **judging, show=show_progress_bar)
    settings = {
        "teacher": _identity(teacher, texts),
        "bfloat16": bfloat16,
        "sentences": [file_identity(file) for file in corpus.files],
        "words": None if listed is None else hashlib.sha256("\n".join(listed).encode()).hexdigest(),
        "vectors": None if vectors is None else vectors.fingerprint,
        **judge.settings(),
    }
    results = Results(out, settings, resume)
    bench = Bench(
        teacher,
        texts,
        listed,
        vectors,
        bfloat16=bfloat16,
        show=show_progress_bar,
    )
    todo = ((name, name, functools.partial(_result, bench, results, name, judge)) for name in wanted_rows)
    found = computed("distill", todo, len(wanted_rows), results, show=show_progress_bar)
    compared = [row for row in found if "missing" not in row]
    if STUDENT in wanted_rows:
        for row in compared:
            if ROWS[row["row"]].part:
                row["less"] = _less(results, row["row"], judge.resamples)
    report = Report(found, results.settings, wanted_tables)
    results.write("tables.md", report.markdown())
    results.write("results.json", report.json())
    if importlib.util.find_spec("matplotlib") is not None:
        for kind in ("png", "svg"):
            results.write(f"quality-speed.{kind}", report.figure(kind))
    return report


def _result(bench: Bench, results: Results, name: str, judge: Judge) -> Result:
    """All that is said of a row."""
    bench.last = None
    encoder = ROWS[name].make(bench)
    path = _report_of(results, name)
    make_folder(path.parent)
    report = judge(encoder, name, [task for task in judge.tasks if task.name in ROWS[name].tasks])
    report.to_json(without_link(path))
    found: Result = {"row": name, "threads": num_threads(), "dim": report.facts.get("dim")}
    scores: Result = {}
    for task, result in report.items():
        interval = result.intervals.get(result.headline)
        scale = 1 if task in CLASSIFICATION else 100  # accuracies are percent already
        scores[task] = {"value": round(scale * result.figure(result.headline), 4)}
        if interval is not None:
            low, high = interval
            scores[task] |= {"low": round(scale * low, 4), "high": round(scale * high, 4)}
    found["scores"] = scores
    found["sentences_per_second"] = speed_of(encoder, bench.sentences)
    if (student := bench.last) is not None:
        found["student"] = {
            "words": len(student.vectors),
            "sentences": student.sentences,
            "penalty": student.penalty,
            "ridge": student.ridge,
            "untold": student.untold.get(student.penalty),
            "words_alone": student.words_alone,
        }
    return found


def _report_of(results: Results, name: str) -> Path:
    assert results.folder is not None
    return results.folder / "reports" / f"{slug(name)}.json"


def _less(results: Results, name: str, resamples: int) -> Result:
    """What a row has more than the student, by resamples of the same examples."""
    found: Result = {}
    both = [_report_of(results, one) for one in (name, STUDENT)]
    for column, score in paired(both[0], both[1], resamples).items():
        if column.endswith(" pearson"):
            found[column.removesuffix(" pearson")] = score
        elif column.endswith(" average"):
            found["mean"] = score
    return found


def _identity(teacher: Any, sentences: list[str]) -> Any:
    """What tells it from others: its name, file or fingerprint, or else its rows of some sentences."""
    if isinstance(teacher, str):
        return file_identity(teacher) if Path(teacher).is_file() else teacher
    fingerprint = getattr(teacher, "fingerprint", None)
    if callable(fingerprint):
        return str(fingerprint())
    return {"class": type(teacher).__name__, "rows": teacher_key(teacher, sentences)}


# --- what is shown of them ---

_SHORT = {"SICKCosine": "SICK", "STSBenchmarkCosine": "STSB", "SICKEntailment": "SICK-E"}
_TITLES = {
    "encoders": "Students, their teacher, and others",
    "parts": "What the parts are worth",
    "intervals": "95 % intervals",
}


@dataclass(frozen=True)
class Report:
    """The results of a reproduction.

    Attributes:
        results: One for each row, as they are kept in the folder of results.
        settings: All that decided what came out.
        tables: Which tables are shown.
    """

    results: Sequence[Result]
    settings: Mapping[str, Any]
    tables: Sequence[str] = TABLES

    def text(self) -> str:
        """The tables, for a terminal."""
        return self._printed(markdown=False)

    def markdown(self) -> str:
        """The tables as Markdown."""
        return self._printed(markdown=True)

    def json(self) -> str:
        """Settings and results."""
        return as_json({"settings": self.settings, "rows": list(self.results)})

    def years(self, result: Result) -> float | None:
        """The mean over the STS years that are there."""
        found = [result["scores"][year]["value"] for year in YEARS if year in result["scores"]]
        return statistics.fmean(found) if found else None

    def figure(self, kind: str = "png") -> bytes:
        """Quality against speed: the mean of the similarity tasks, and sentences a second.

        Args:
            kind: `"png"`, `"svg"`, or another format of matplotlib.

        Returns:
            The content of a file.

        Raises:
            ImportError: matplotlib is not installed.
        """
        import matplotlib as mpl

        with mpl.rc_context({"font.size": 9}):
            figure, (axes,) = new_figure(6.4, 3.6)
            for result, x, y in (drawn := list(self._drawn())):
                speed, name = result["sentences_per_second"], result["row"]
                ours = not name.startswith(("teacher", "model2vec"))
                color = "#1f6f8b" if ours else "#b5651d" if name == "teacher" else "#8a8a8a"
                ends = [[x - speed["low"]], [speed["high"] - x]]
                axes.errorbar(x, y, xerr=ends, fmt="o" if ours else "s", color=color, capsize=3)
                label = f"teacher, {self._teacher()}" if name == "teacher" else name
                crowded = any(0 < other - y < 4 and 0.2 < at / x < 5 for _, at, other in drawn)
                side: Any = {"xytext": (0, -8 if crowded else 8), "va": "top" if crowded else "bottom"}
                text = f"{label}\n{_rounded(x)} a second"
                axes.annotate(text, (x, y), textcoords="offset points", ha="center", color=color, **side)
            axes.set(xscale="log", xlabel="sentences a second, raw text in")
            axes.set_ylabel("cosine similarity: Pearson × 100,\nmean of the tasks")
            axes.margins(0.25, 0.2)
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
            return rendered(figure, kind)

    def _drawn(self) -> Iterator[tuple[Result, float, float]]:
        """What the picture shows: results, sentences a second, and the mean of the similarity tasks."""
        for result in self._of(part=False):
            scores = [result["scores"][task]["value"] for task in SIMILARITY if task in result["scores"]]
            if scores and ROWS[result["row"]].drawn:
                yield result, result["sentences_per_second"]["median"], statistics.fmean(scores)

    def _teacher(self) -> str:
        known = self.settings["teacher"]
        if isinstance(known, dict):
            return str(known.get("file", known.get("class")))
        return Path(known).name

    def _of(self, part: bool) -> list[Result]:
        return [r for r in self.results if "missing" not in r and ROWS[r["row"]].part is part]

    def _printed(self, markdown: bool) -> str:
        made = {"encoders": self._encoders, "parts": self._parts, "intervals": self._intervals}
        tables = [(_TITLES[name], *made[name]()) for name in self.tables]
        return printed_tables([table for table in tables if table[2]], self._notes(), markdown=markdown)

    def _columns(self, results: Sequence[Result]) -> list[str]:
        there = {task for result in results for task in result["scores"]}
        return [task for task in _ALL if task in there]

    def _encoders(self) -> tuple[list[str], list[list[str]]]:
        results = self._of(part=False)
        columns = self._columns(results)
        teacher = next((self.years(r) for r in results if r["row"] == "teacher"), None)
        rows = []
        for result in results:
            mean = self.years(result)
            share = "-" if mean is None or not teacher else f"{100 * mean / teacher:.1f} %"
            scores = [_shown(result["scores"].get(task)) for task in columns]
            speed = result["sentences_per_second"]["median"]
            rows.append([result["row"], str(result["dim"]), *scores, number(mean), share, f"{speed:,.0f}"])
        header = ["encoder", "dim", *(_SHORT.get(task, task) for task in columns)]
        return [*header, "STS years", "of the teacher's", "sentences/s"], rows

    def _parts(self) -> tuple[list[str], list[list[str]]]:
        student = [r for r in self.results if r["row"] == STUDENT and "missing" not in r]
        results = student + self._of(part=True)
        columns = [task for task in self._columns(results) if task in SIMILARITY]
        rows = []
        for result in results:
            scores = [_shown(result["scores"].get(task)) for task in columns]
            less = [differing(result.get("less", {}).get(task)) for task in (*_LESS, "mean")]
            rows.append([result["row"], *scores, number(self.years(result)), *less])
        header = ["encoder", *(_SHORT.get(task, task) for task in columns), "STS years"]
        return [*header, *(f"{_SHORT[task]} less student" for task in _LESS), "mean less student"], rows

    def _intervals(self) -> tuple[list[str], list[list[str]]]:
        results = [*self._of(part=False), *self._of(part=True)]
        columns = self._columns(results)
        rows = [[r["row"], *(between(r["scores"].get(task)) for task in columns)] for r in results]
        return ["encoder", *(_SHORT.get(task, task) for task in columns)], rows

    def _notes(self) -> Iterator[str]:
        yield (
            "SICK, STSB and the STS years: Pearson's correlation x 100 of cosines with the test pairs' "
            "scores; of a year the mean of its subsets, weighted by their sizes. The others: accuracy of a "
            f"classifier, protocol {self.settings['protocol']}."
        )
        yield (
            "Less student: differences on the same resampled examples; the mean is that of all cosine "
            "tasks, of Pearson's and Spearman's correlations together."
        )
        threads = sorted({result["threads"] for result in self.results if "threads" in result})
        counts = " or ".join(map(str, threads))
        yield f"Sentences a second: raw text in, {counts} threads, the median of seven."
        if self.settings["bfloat16"]:
            yield "The teacher read the sentences in bfloat16; it was judged in float32."
        for result in self.results:
            if "missing" in result:
                yield f"Left out: {result['row']} ({result['missing']})."


_LESS = ("SICKCosine", "STSBenchmarkCosine")


def _rounded(value: float) -> str:
    return (
        f"{value / 1e6:.2f} M"
        if value >= 1e6
        else f"{value / 1e3:.0f} k"
        if value >= 1e4
        else f"{value:,.0f}"
    )


def _shown(score: Mapping[str, float] | None) -> str:
    return number(None if score is None else score["value"])
