"""Which encoder to use: every encoder with its defaults, by what there is to learn from.

There is no paper. One table is for labelled examples of several numbers; the other for text, for translations
and for a teacher, where encoders are evaluated by cosines, and with a classifier on top.
"""

from __future__ import annotations

import functools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._figures import new_figure
from ..checks import checked_float, checked_int
from ..evaluation import Decontaminator, Split, Task
from ..evaluation.metrics import intervals
from ..text.corpus import Corpus
from ..threads import num_threads
from ..vectors import WordVectors
from .choose_rows import BASELINE, SEED, WHITENING_SENTENCES, Bench, Row, encoders, learners
from .evaluator import Evaluator, headlines, speed_of, tasks_there
from .experiment import Experiment
from .report import Report, Table
from .results_folder import Result, Results, as_json, file_identity, slug
from .rows import computed
from .tables import TableText, differing, mean_score, number, rounded, score

__all__ = ["FAMILY", "experiment", "reproduce"]

File = str | os.PathLike[str]
LABELLED = ("MR", "TREC", "SICKEntailment", "SST2")
COSINE = ("STSBenchmarkCosine", "SICKCosine")
YEARS = ("STS12", "STS13", "STS14", "STS15")
CLASSIFIED = ("MR", "CR", "TREC")
FEW = 1000  # examples below which a row has several samples

# --- tables ---

_SHORT = {"STSBenchmarkCosine": "STSB", "SICKCosine": "SICK", "SICKEntailment": "SICK-E"}


def _seconds(value: float | None) -> str:
    return number(value, 1 if value is None or value < 10 else 0)


@dataclass(frozen=True)
class _Shown(Table):
    """What both tables have.

    Attributes:
        rows: Rows.
        labelled: Whether the rows learn from labels.
    """

    rows: Sequence[str]
    labelled: bool

    def results(self, report: Report) -> list[Result]:
        """The results of the table's rows, those of a page with other numbers of examples or minutes too."""
        rows = [result for result in report.results if "missing" not in result]
        return [result for result in rows if ("learner" in result) == self.labelled]

    def tasks(self, report: Report, tasks: Sequence[str]) -> list[str]:
        """The tasks that any row has a score of."""
        return [task for task in tasks if any(task in row["scores"] for row in self.results(report))]

    def notes(self, report: Report) -> Iterator[str]:
        """How the figures were computed."""
        if not (results := self.results(report)):
            return
        threads = " or ".join(map(str, sorted({result["threads"] for result in results})))
        which = "With labels" if self.labelled else "Without labels"
        yield f"{which}, sentences per second: raw text in, {threads} threads, the median of seven."
        there = {result["row"] for result in report.results}
        if absent := [row for row in self.rows if row not in there]:
            yield f"Not run: {_grouped(absent)}."


def _grouped(rows: Sequence[str]) -> str:
    """Names of rows: those of an encoder together, as in "RAE (untrained; 3 minutes, whitened)"."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        encoder, _, which = row.partition(", ")
        groups.setdefault(encoder, []).append(which)
    return "; ".join(f"{name} ({'; '.join(which)})" if any(which) else name for name, which in groups.items())


def _costs(result: Result) -> list[str]:
    """The cells of seconds, speed and size."""
    size = result["megabytes"]
    return [
        _seconds(result["fit_seconds"]),
        rounded(result["sentences_per_second"]["median"]),
        number(size, 0 if size >= 10 else 1),
    ]


_COSTS = ("seconds to fit", "sentences/s", "MB")


@dataclass(frozen=True)
class _Labels(_Shown):
    """Accuracies with labelled examples, and their picture."""

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        tasks, lines = self.tasks(report, LABELLED), []
        for result in sorted(self.results(report), key=lambda result: result["examples"]):
            scores = [score(result["scores"].get(task)) for task in tasks]
            less = differing(mean_score(result.get("less", {}), tasks))
            mean = score(mean_score(result["scores"], tasks))
            line = [result["learner"], f"{result['examples']:,}", *scores, mean, less]
            lines.append([*line, *_costs(result)])
        if lines:
            header = ["encoder", "examples", *(_SHORT.get(task, task) for task in tasks), "mean"]
            yield "With labels", [*header, f"minus {BASELINE}", *_COSTS], lines

    def notes(self, report: Report) -> Iterator[str]:
        """How the figures were computed."""
        yield from super().notes(report)
        if not (results := self.results(report)):
            return
        yield (
            "With labels: accuracy in percent on SentEval's test examples, which the finished models predict "
            "once; of MR, which has no split, on every fifth example. The examples are the same for all "
            "encoders. Each holds out some of them, or cross-validates, to choose what its defaults leave "
            "open. Seconds to fit: the mean of the tasks."
        )
        if (samples := report.settings.get("samples", 1)) > 1:
            yield (
                f"Rows with fewer than {FEW:,} examples: means over {samples} random samples of the "
                "examples; intervals are over samples and test examples."
            )
        fewer = {
            f"{_SHORT.get(task, task)} {of['examples']:,}"
            for result in results
            for task, of in result["scores"].items()
            if of["examples"] < result["examples"]
        }
        if fewer:
            yield f"Where a task has fewer examples, all of them: {', '.join(sorted(fewer))}."

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """Mean accuracy against the number of examples."""
        tasks = self.tasks(report, LABELLED)
        curves: dict[str, list[tuple[int, Result, float]]] = {}
        for result in sorted(self.results(report), key=lambda result: result["examples"]):
            if (mean := mean_score(result["scores"], tasks)) is not None:
                speed = result["sentences_per_second"]["median"]
                curves.setdefault(result["learner"], []).append((result["examples"], mean, speed))
        if not curves:
            return
        figure, (axes,) = new_figure(9, 4.2)
        final = {name: points[-1][1]["value"] for name, points in curves.items()}
        for i, name in enumerate(sorted(curves, key=lambda name: -final[name])):
            x, means, speeds = zip(*curves[name], strict=True)
            y = np.array([mean["value"] for mean in means])
            ends = np.array([[abs(mean[end] - mean["value"]) for mean in means] for end in ("low", "high")])
            shift = 1 + 0.02 * (i - len(curves) / 2)
            label = f"{name} ({rounded(max(speeds))} sentences/s)"
            style = {"ls": "-" if i < 10 else "--", "lw": 1.5, "ms": 4}  # ten colours
            axes.errorbar(np.array(x) * shift, y, yerr=ends, marker="o", capsize=2, label=label, **style)
        ticks = sorted({point[0] for points in curves.values() for point in points})
        axes.set(xscale="log", xlabel="labelled examples (at most)")
        axes.set_ylabel(f"accuracy in percent,\nmean of {', '.join(_SHORT.get(t, t) for t in tasks)}")
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", fontsize=8)
        yield "labels", figure


@dataclass(frozen=True)
class _Encoders(_Shown):
    """Scores without labels, or with a classifier on top."""

    def content(self, report: Report) -> Iterator[TableText]:
        """The table."""
        cosine, years, classified = (self.tasks(report, tasks) for tasks in (COSINE, YEARS, CLASSIFIED))
        lines = []
        for result in self.results(report):
            scores = result["scores"]
            cells = [result["row"], result["learns"], str(result["dim"])]
            cells += [score(scores.get(task)) for task in cosine]
            cells += [score(mean_score(scores, years)), score(mean_score(scores, classified))]
            lines.append([*cells, *_costs(result), score(result.get("bleu"))])
        if lines:
            header = ["encoder", "learns from", "dim", *(_SHORT.get(task, task) for task in cosine)]
            header += [_range(years), f"mean of {', '.join(classified)}", *_COSTS, "BLEU"]
            yield "Without labels", header, lines

    def notes(self, report: Report) -> Iterator[str]:
        """How the figures were computed."""
        yield from super().notes(report)
        if self.results(report):
            yield (
                "Without labels: STSB, SICK and the STS years are Pearson's correlation x 100 between "
                f"cosines and the scores of the test pairs. {', '.join(CLASSIFIED)}: accuracy of logistic "
                f"regression on the embeddings, protocol {report.settings['protocol']}. BLEU of the "
                "validation sentences. Text and translations have no sentence of the tasks."
            )
        if any(row["row"].endswith("whitened") for row in self.results(report)):
            yield (
                f"Whitened: by about {WHITENING_SENTENCES:,} sentences, spread over the text; seconds to fit "
                "are those of the whitening, after the training of the row above."
            )


def _range(years: Sequence[str]) -> str:
    return f"{years[0]} to {years[-1].removeprefix('STS')}" if len(years) > 1 else "".join(years)


def experiment(examples: Sequence[int], minutes: Sequence[float]) -> Experiment:
    """The rows and tables for numbers of labelled examples and minutes of training on text."""
    labelled, others = learners(examples), encoders(minutes)
    return Experiment(
        name="choose",
        rows={**labelled, **others},
        tables={"labels": _Labels(list(labelled), True), "encoders": _Encoders(list(others), False)},
        remarks=("Encoders have their defaults, and the built-in vectors unless they say otherwise.",),
    )


FAMILY = experiment((500, 4000, 20_000), (3, 30))


# --- the reproduction ---


def reproduce(
    data: File,
    *,
    text: Sequence[File] | None = None,
    minutes: Sequence[float] = (3, 30),
    examples: Sequence[int] = (500, 4000, 20_000),
    samples: int = 1,
    student: File | None = None,
    teacher: str | None = None,
    pairs: Sequence[File] | None = None,
    pairs_valid: Sequence[File] | None = None,
    vectors: File | WordVectors | None = None,
    out: File,
    tables: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    resume: bool = False,
    protocol: str = "optimum",
    options: Mapping[str, Any] | None = None,
    resamples: int = 2000,
    partial: bool = False,
    show_progress_bar: bool = False,
) -> Report:
    """Trains and evaluates every encoder with its defaults.

    Args:
        data: SentEval's `data` folder. Tasks without files are left out.
        text: Files of sentences in order, one a line, for the encoders that learn from text. Sentences of the
            tasks are removed.
        minutes: Training times on the text.
        examples: Numbers of labelled training examples.
        samples: Number of random samples of the examples that rows with fewer than 1,000 examples average
            over.
        student: File of a student, as `WordVectors.distill` and `sentencode distill` make them.
        teacher: Name or folder of a sentence-transformers model, or file of a saved encoder.
        pairs: File of sentences, and file of their translations.
        pairs_valid: The same for BLEU.
        vectors: Word vectors to compare with.
        out: Folder for the results: one JSON file for each row, the reports, the tables, the picture.
        tables: `"labels"`, `"encoders"`. None: both.
        rows: Names of rows in small letters, as in `"trainedaverage-500-examples"`. None: those of the
            tables, without model2vec's trainer and `ParagraphVec`, which take long. Tables show all rows
            that `out` has.
        resume: Continue in a folder that holds results of the same settings.
        protocol: Protocol of `evaluate`, for classifiers on encoders.
        options: Options of the protocol.
        resamples: Number of bootstrap resamples.
        partial: Accept files whose size is not the published one.
        show_progress_bar: Show progress bars.

    Returns:
        The report.

    Raises:
        ValueError: There is no such table or row, or `out` holds results of other settings.
        FileExistsError: `out` holds results, and `resume` is False.
        FileNotFoundError: A file, or the files of all tasks, are missing.
    """
    examples = [checked_int(f"examples[{i}]", n, 2) for i, n in enumerate(examples)]
    minutes = [checked_float(f"minutes[{i}]", m, 0, above=True) for i, m in enumerate(minutes)]
    samples = checked_int("samples", samples, 1)
    family = experiment(examples, minutes)
    wanted_tables, wanted_rows = family.selected(tables, rows)
    if rows is None:
        wanted_rows = [name for name in wanted_rows if not family.rows[name].asked]
    evaluator = Evaluator(
        protocol=protocol, options=options or {}, resamples=resamples, show=show_progress_bar
    )
    tasks = tasks_there(list(dict.fromkeys((*COSINE, *YEARS, *CLASSIFIED, *LABELLED))), data, partial=partial)
    evaluator = replace(evaluator, tasks=[task for task in tasks if task.name not in LABELLED[2:]])
    labelled = [task for task in tasks if task.name in LABELLED]
    clean = Decontaminator(tasks)
    if vectors is not None and not isinstance(vectors, WordVectors):
        vectors = WordVectors.load(vectors)
    corpus = Corpus.from_files(text or ())
    files = {"text": corpus.files, "pairs": pairs, "pairs_valid": pairs_valid}
    settings = {
        "examples": examples,
        **({"samples": samples} if samples > 1 else {}),
        "minutes": minutes,
        "seed": SEED,
        **{name: [file_identity(file) for file in some or ()] for name, some in files.items()},
        "student": None if student is None else file_identity(student),
        "teacher": None if teacher is None else Path(teacher).name,
        "vectors": None if vectors is None else vectors.fingerprint,
        "labelled": {task.name: sum(map(len, task.splits.values())) for task in labelled},
        **evaluator.settings(),
    }
    bench = Bench(
        Results(out, settings, resume),
        evaluator,
        labelled,
        [line for document in corpus.documents() for line in (*clean(document), "")],
        _translated(pairs, clean),
        _translated(pairs_valid),
        student,
        teacher,
        vectors,
        show_progress_bar,
    )
    todo = (
        (name, name, functools.partial(_result, bench, name, family.rows[name], samples))
        for name in wanted_rows
    )
    done = computed("choose", todo, len(wanted_rows), bench.results, show=show_progress_bar)
    earlier = (bench.results.read(f"rows/{slug(name)}.json") for name in {*family.rows} - {*wanted_rows})
    done += [result for result in earlier if result is not None]
    done.sort(key=lambda result: list(family.rows).index(result["row"]))
    for result in done:
        if result.get("learner", BASELINE) != BASELINE:
            result["less"] = _less(bench, result)
    return family.write(bench.results, done, wanted_tables)


def _result(bench: Bench, name: str, row: Row, samples: int) -> Result:
    """The result of a row."""
    bench.facts = {}
    if row.examples:
        encoder, measured = _labelled(bench, name, row, samples if row.examples < FEW else 1)
    else:
        begin = time.perf_counter()
        encoder = row.make(bench)
        seconds = round(time.perf_counter() - begin, 3) if row.fits else None
        names = {*COSINE, *YEARS, *CLASSIFIED}
        tasks = [task for task in bench.evaluator.tasks if task.name in names]
        report = bench.evaluator(encoder, name, tasks, bench.results.report_of(name))
        measured = {"learns": row.learns, "dim": report.facts.get("dim"), "scores": headlines(report)}
        measured |= {"fit_seconds": seconds, **bench.facts}
    speed = speed_of(encoder, bench.sentences())
    costs = {"sentences_per_second": speed, "megabytes": _megabytes(encoder), "threads": num_threads()}
    return {"row": name, **measured, **costs}


def _labelled(bench: Bench, name: str, row: Row, samples: int) -> tuple[Any, Result]:
    """The encoder of the last task, and the accuracies of all: means over samples of the examples."""
    scores: Result = {}
    hits: dict[str, list[str]] = {}
    learner = row.make(bench)
    for task in bench.labelled:
        if task.kind.pairs and not learner.pairs:
            continue
        right, seconds = [], []
        for sample in range(samples):
            learner = row.make(bench)
            train, test = _split(task, row.examples, SEED + sample)
            texts, gold = zip(*test, strict=True)
            begin = time.perf_counter()
            learner.fit(*zip(*train, strict=True))
            seconds.append(time.perf_counter() - begin)
            right.append(learner.predict(texts) == np.array(gold))
        costs = {"examples": len(train), "seconds": round(statistics.fmean(seconds), 3)}
        scores[task.name] = {**_mean(bench, right), **costs}
        hits[task.name] = ["".join(map(str, of.astype(int))) for of in right]
    bench.results.write(_hits_of(name), as_json(hits))
    result = {"learner": row.learner, "examples": row.examples, "scores": scores}
    fit_seconds = statistics.fmean(score["seconds"] for score in scores.values())
    return learner.encoder, {**result, "fit_seconds": round(fit_seconds, 3)}


def _mean(bench: Bench, values: Sequence[Any]) -> Result:
    """The mean in percent of the values of test examples by sample; both are resampled for its interval."""
    means = intervals.resampled_means(values, bench.evaluator.resamples, intervals.SEED)
    low, high = intervals.percentile_interval(intervals.mean_of_runs(means, intervals.SEED), 0.95)
    parts = {"value": np.mean(values), "low": low, "high": high}
    return {key: round(100 * float(value), 4) for key, value in parts.items()}


def _hits_of(name: str) -> str:
    """The file that says which test examples of each task a row has right."""
    return f"reports/{slug(name)}.json"


def _split(task: Task, count: int, seed: int) -> tuple[list[Any], list[Any]]:
    """At most `count` random training examples, and the test examples, with their labels."""

    def examples(split: Split) -> list[Any]:
        sentences = split.pairs if task.kind.pairs else split.sentences[0]
        return list(zip(sentences, (task.classes[label] for label in split.labels), strict=True))

    if "all" in task.splits:
        every = examples(task["all"])
        train, test = [one for i, one in enumerate(every) if i % 5], every[::5]
    else:
        train, test = examples(task["train"]), examples(task["test"])
    some = np.random.default_rng(seed).permutation(len(train))[:count]
    return [train[i] for i in some], test


def _less(bench: Bench, result: Result) -> Result:
    """Task -> the difference to the baseline with the same examples."""
    name = f"{BASELINE}, {result['examples']} examples"
    ours, baseline = (bench.results.read(_hits_of(row)) or {} for row in (result["row"], name))

    def right(hits: Result, task: str) -> Any:
        samples = [hits[task]] if isinstance(hits[task], str) else hits[task]  # one, in earlier folders
        return np.array([list(map(int, of)) for of in samples])

    return {
        task: _mean(bench, right(ours, task) - right(baseline, task)) for task in ours if task in baseline
    }


def _translated(files: Sequence[File] | None, clean: Decontaminator | None = None) -> list[list[str]]:
    """The sentences of a file and of that of their translations, without those of tasks."""
    if not files:
        return []
    sides = [list(Corpus(os.fspath(file), keep_empty=True)) for file in files]
    if len({len(side) for side in sides}) > 1:
        counts = " and ".join(f"{len(side):,}" for side in sides)
        raise ValueError(f"{' and '.join(map(os.fsdecode, files))}: expected as many lines, got {counts}")
    pairs = [pair for pair in zip(*sides, strict=True) if clean is None or pair[0] not in clean]
    return [list(side) for side in zip(*pairs, strict=True)]


def _megabytes(encoder: Any) -> float:
    """The size of the file of an encoder, or of the parameters of a model of another library."""
    if hasattr(encoder, "parameters"):  # torch
        size = sum(parameter.numel() * parameter.element_size() for parameter in encoder.parameters())
    elif hasattr(encoder, "embedding"):  # model2vec
        size = encoder.embedding.nbytes
    else:
        with tempfile.TemporaryDirectory() as folder:
            encoder.save(path := Path(folder, "encoder"))
            size = path.stat().st_size
    return round(float(size) / 1e6, 2)
