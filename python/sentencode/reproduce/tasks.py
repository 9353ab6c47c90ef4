"""A student compared with its teacher and with others on tasks beyond similarity.

There is no paper. Clusters, topics, reviews, searches and pairs of SentEval and of plain text are encoded by
all encoders alike; of each split at most `limit` examples, because teachers are slow.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..checks import checked_int
from ..evaluation import baseline
from ..linear import Average
from ..saved import load
from ..vectors import WordVectors
from .choose_rows import wordllama
from .distill import CONTROL, Bench
from .evaluator import Evaluator, tasks_there
from .experiment import Experiment
from .report import Report, Table
from .results_folder import Result, Results, file_identity
from .rows import NotAvailableError, computed, random_vectors
from .tables import TableText, number, score

__all__ = ["FAMILY", "ROWS", "TASKS", "Row", "reproduce"]

SEARCHES = ("WikipediaSearch", "COCOSearch", "Multi30kGerman", "Multi30kFrench", "Multi30kCzech")
# Task -> what its figure is.
TASKS = {
    "STSBenchmarkCosine": "Pearson",
    "SICKCosine": "Pearson",
    "MRPCPairs": "average precision",
    "SICKPairs": "average precision",
    "SNLIPairs": "average precision",
    "BBCClustering": "V-measure",
    "BBCNeighbours": "accuracy",
    "BBCFewShot": "accuracy",
    "IMDB": "accuracy",
    **dict.fromkeys(SEARCHES, "nDCG@10"),
}
_LEAST = 10  # points that the teacher is above the control, where a share is shown
_SUM = "all, without Spearman and translations"
TEACHER = "teacher"


@dataclass
class _Encoders:
    """What the rows share: the files of the encoders."""

    bench: Bench
    student: str | os.PathLike[str] | None

    @functools.cached_property
    def trained(self) -> Any:
        """The student."""
        if self.student is None:
            raise NotAvailableError("no student was given")
        return load(self.student)

    def random(self) -> Average:
        """Random vectors of the student's words, or else of the built-in ones, with the same dimensions."""
        like: Any = Average(WordVectors.default()) if self.student is None else self.trained
        return random_vectors(like)


@dataclass(frozen=True)
class Row:
    """A row of the results.

    Attributes:
        make: Makes the encoder.
        tasks: Tasks that it is evaluated on.
    """

    make: Callable[[_Encoders], Any]
    tasks: Sequence[str] = field(default_factory=lambda: list(TASKS))


ROWS = {
    TEACHER: Row(lambda e: e.bench.teacher),
    "student": Row(lambda e: e.trained),
    "built-in vectors": Row(lambda e: Average(WordVectors.default())),
    "model2vec": Row(lambda e: e.bench.model2vec()),
    "WordLlama": Row(lambda e: wordllama()),
    "word vectors, weighted mean": Row(lambda e: Average(e.bench.vectors, a=1e-3)),
    "BM25": Row(lambda e: baseline("bm25"), SEARCHES),
    CONTROL: Row(lambda e: e.random()),
}


@dataclass(frozen=True)
class _Scores(Table):
    """Scores of all encoders, one task a line."""

    rows: Sequence[str]

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        by_row = {row: report.of(row)[0]["scores"] for row in self.rows if report.of(row)}
        lines = [
            [_name(column, figure), *(score(scores.get(column)) for scores in by_row.values())]
            for column, figure in _columns(by_row.values())
        ]
        if lines:
            yield "Scores", ["task", *by_row], lines

    def notes(self, report: Report) -> Iterator[str]:
        """What was evaluated."""
        yield f"At most {report.settings['limit']:,} examples of each split, or searches, evenly spaced."
        yield "Searches: BM25 compares words, all others embeddings by their cosine."


@dataclass(frozen=True)
class _Shares(Table):
    """Shares of what the teacher is above the untrained control."""

    rows: Sequence[str]

    def content(self, report: Report) -> Iterator[TableText]:
        """The table, if there are both a teacher and a control."""
        if not report.of(TEACHER) or not report.of(CONTROL):
            return
        by_row = {row: report.of(row)[0]["scores"] for row in self.rows if report.of(row)}
        teacher, control = by_row.pop(TEACHER), by_row.pop(CONTROL)
        lines = []
        for column, figure in _columns([teacher]):
            if teacher[column]["value"] - control[column]["value"] >= _LEAST:
                shares = (_share(scores, teacher, control, [column]) for scores in by_row.values())
                lines.append([_name(column, figure), *map(number, shares)])
        averaged = [task for task in TASKS if task in teacher and not task.startswith("Multi30k")]
        if averaged:
            shares = (_share(scores, teacher, control, averaged) for scores in by_row.values())
            lines.append([_SUM, *map(number, shares)])
        if lines:
            yield "Percent of the teacher's score above random vectors", ["task", *by_row], lines

    def notes(self, report: Report) -> Iterator[str]:
        """How shares are computed."""
        yield (
            "Percent of the teacher's score above random vectors: of the sum over tasks in the last line. "
            f"Tasks where the teacher is less than {_LEAST} points above are only part of the sum."
        )


def _columns(scores: Any) -> Iterator[tuple[str, str]]:
    """Columns of the scores and their figures: of similarity also Spearman's correlation."""
    for task, figure in TASKS.items():
        for column, shown in ((task, figure), (f"{task} spearman", "Spearman")):
            if any(column in one for one in scores):
                yield column, shown


def _name(column: str, figure: str) -> str:
    return f"{column.partition(' ')[0]}, {figure}"


def _share(scores: Result, teacher: Result, control: Result, columns: Sequence[str]) -> float | None:
    """Percent of the teacher's score above the control, summed over columns."""
    if any(column not in scores for column in columns):
        return None
    gain, whole = (
        sum(float(one[column]["value"] - control[column]["value"]) for column in columns)
        for one in (scores, teacher)
    )
    return 100 * gain / whole if whole > 0 else None


FAMILY = Experiment(
    name="tasks",
    rows=ROWS,
    tables={"scores": _Scores(list(ROWS)), "shares": _Shares(list(ROWS))},
)


def reproduce(
    data: str | os.PathLike[str],
    teacher: str | os.PathLike[str],
    *,
    student: str | os.PathLike[str] | None = None,
    vectors: str | os.PathLike[str] | WordVectors | None = None,
    out: str | os.PathLike[str],
    tables: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    resume: bool = False,
    limit: int = 2000,
    resamples: int = 2000,
    partial: bool = False,
    show_progress_bar: bool = False,
) -> Report:
    """Evaluates a student, its teacher and others on similarity, pairs, topics, reviews and searches.

    Args:
        data: Folder of the tasks, as for `evaluate`. Tasks without files are left out.
        teacher: Name or folder of a sentence-transformers model, or file of a saved encoder.
        student: File of a saved student.
        vectors: Word vectors to compare with.
        out: Folder for the results: one JSON file for each row, the reports, the tables.
        tables: `"scores"`, `"shares"`. None: all.
        rows: Names of `ROWS` in small letters, as in `"built-in-vectors"`. None: all.
        resume: Continue in a folder that holds results of the same settings.
        limit: Largest number of examples of each split, or of searches.
        resamples: Number of bootstrap resamples.
        partial: Accept files whose size is not the published one.
        show_progress_bar: Show progress bars.

    Returns:
        The report.

    Raises:
        ValueError: There is no such table or row, a task failed, or `out` holds results of other settings.
        FileExistsError: `out` holds results, and `resume` is False.
        FileNotFoundError: The files of all tasks are missing.
    """
    wanted_tables, wanted_rows = FAMILY.selected(tables, rows)
    limit = checked_int("limit", limit, 1)
    test = {name: ["test"] for name in TASKS if name.endswith("Cosine")}
    tasks = [task.sample(limit) for task in tasks_there(TASKS, data, partial=partial, splits=test)]
    evaluator = Evaluator(tasks, resamples=resamples, show=show_progress_bar)
    source = os.fspath(teacher)
    if vectors is not None and not isinstance(vectors, WordVectors):
        vectors = WordVectors.load(vectors)
    settings = {
        "teacher": file_identity(source) if Path(source).is_file() else source,
        "student": None if student is None else file_identity(student),
        "vectors": None if vectors is None else vectors.fingerprint,
        "limit": limit,
        **evaluator.settings(),
    }
    results = Results(out, settings, resume)
    encoders = _Encoders(Bench(source, (), None, vectors, False, show_progress_bar), student)
    todo = (
        (name, name, functools.partial(_result, encoders, results, name, evaluator)) for name in wanted_rows
    )
    done = computed("tasks", todo, len(wanted_rows), results, show=show_progress_bar)
    return FAMILY.write(results, done, wanted_tables)


def _result(encoders: _Encoders, results: Results, name: str, evaluator: Evaluator) -> Result:
    """The result of a row."""
    encoder = ROWS[name].make(encoders)
    tasks = [task for task in evaluator.tasks if task.name in ROWS[name].tasks]
    report = evaluator(encoder, name, tasks, results.report_of(name))
    scores: Result = {}
    for task, key, value, interval in report.rows(several=True):
        correlated = key.rpartition(".")[2]
        if key == report[task].headline or correlated == "spearman":
            column = f"{task} spearman" if correlated == "spearman" else task
            scores[column] = {"value": round(value, 4)}
            if interval is not None:
                scores[column] |= {"low": round(interval.low, 4), "high": round(interval.high, 4)}
    return {"row": name, "dim": report.facts.get("dim"), "scores": scores}
