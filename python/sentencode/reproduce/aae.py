"""Paper 000 again: tables 1 to 3 and the time of training, with the published figures beside ours.

Every row of table 3 is trained on the same sentences with the same words, for the same time (or the same
number of steps), and judged by `evaluate`; so are three controls that are not trained. A row goes on from its
checkpoint where a run was stopped.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..checks import checked_float, checked_int
from ..evaluation import Task, TaskResult, evaluate
from ..evaluation import published as published_figures
from ..evaluation.averages import PAPER_TASKS, macro_and_micro
from ..evaluation.protocols import protocol_named
from ..evaluation.published import ANOTHER_PROTOCOL
from ..text.corpus import Corpus
from ..text.vocabulary import Vocabulary
from ..threads import num_threads
from ..training import CsvLog, History
from ..vectors import WordVectors
from .frame import (
    Result,
    Results,
    as_json,
    chosen,
    file_identity,
    markdown_table,
    progress_bar,
    slug,
    tasks_there,
    text_table,
)

if TYPE_CHECKING:
    from ..models import NeuralEncoder

__all__ = ["ROWS", "SIZES", "TABLES", "TASKS", "Report", "Row", "Size", "reproduce"]

PAPER = "000"
TABLES = ("1", "2", "3", "cost")
# Of tables 1 and 3, and two more that tell encoders apart. Those whose files are there are judged.
TASKS = (
    *("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SICKEntailment"),
    *("SICKRelatedness", "STSBenchmark", "STS14"),
)
_PROBE = 40  # steps that tell how long one takes, of which the first ones do not count
_PROBE_SKIPS = 10
_VALIDATIONS = 10  # in a training, and checkpoints


@dataclass(frozen=True)
class Size:
    """How large networks are, and how they are trained.

    Attributes:
        hidden: Width of what one pooling gives, and of the baselines' states.
        filters: Of the convolutional baseline, for each window.
        training: Parameters that all of them share.
        steps: Of each training; None: as many as there is time for.
        minutes: Of training for all rows of the table together, a share for each; None: `steps` count.
        valid_sentences: At most so many are read to validate on.
        probe: Steps whose time tells how many there will be.
    """

    hidden: int
    filters: int
    training: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    minutes: float | None = None
    valid_sentences: int = 4000
    probe: int = _PROBE


SIZES = {
    "cpu": Size(
        hidden=512,
        filters=200,
        training={
            "vocabulary_size": 15_000,
            "learning_rate": 1e-3,
            "schedule": "linear",
            "warmup": 300,
            "sampled_words": 2000,
            "label_smoothing": 0.0,  # of both presets: a sampled softmax excludes it
        },
        minutes=70,
    ),
    "paper": Size(hidden=2048, filters=800, steps=100_000),
}


@dataclass(frozen=True)
class Row:
    """A row of table 3, or a control.

    Attributes:
        kind: Its class in `sentencode.models`; "" for one that is not made of a network.
        options: What its constructor is given besides what the size says.
        sized: Its parameter -> what it is in a `Size`.
        trained: Whether it is.
    """

    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    sized: Mapping[str, str] = field(default_factory=lambda: {"hidden": "hidden"})
    trained: bool = True


# By the names that the paper gives them.
ROWS = {
    **{
        f"{name} {twin}": Row(kind, {"pooling": pooling})
        for twin, kind in (("AAE", "MeanMaxAAE"), ("RAE", "RAE"))
        for name, pooling in (("mean", "mean"), ("max", "max"), ("mean-max", "mean_max"))
    },
    "LSTM SDAE": Row("LSTMSDAE"),
    "CNN-LSTM AE": Row("CNNLSTMAE", sized={"hidden": "hidden", "filters": "filters"}),
    "average of words": Row(trained=False),
    "mean and max of words": Row(trained=False),
    "untrained mean-max AAE": Row("MeanMaxAAE", {"pooling": "mean_max"}, trained=False),
}
_TRAINED = [name for name, row in ROWS.items() if row.trained]


# --- the rows ---


class _Bench:
    """What all rows share: words, sentences, tasks, and where results go."""

    def __init__(
        self,
        vectors: WordVectors,
        train: Corpus,
        valid: Corpus,
        tasks: Sequence[Task],
        size: Size,
        results: Results,
        *,
        shared: Mapping[str, Any],
        protocol: str,
        options: Mapping[str, Any],
        resamples: int,
        show: bool,
    ) -> None:
        self.vectors = vectors
        self.train = train
        self.tasks = tasks
        self.size = size
        self.results = results
        self.shared = dict(shared)
        self.judging: dict[str, Any] = {
            "protocol": protocol,
            "options": dict(options),
            "resamples": resamples,
        }
        self.show = show
        sentences = list(valid)
        apart = max(1, -(-len(sentences) // size.valid_sentences))
        self.valid = sentences[::apart]  # of all parts of the files
        self._vocabulary: Vocabulary | None = None

    @property
    def folder(self) -> Path:
        assert self.results.folder is not None
        return self.results.folder

    def network(self, row: Row, seed: int, **more: Any) -> NeuralEncoder:
        """A row's encoder, not trained."""
        from .. import models

        kind = getattr(models, row.kind)
        sized = {name: getattr(self.size, of) for name, of in row.sized.items()}
        given = {**self.size.training, **self.shared, **row.options, **sized, "max_epochs": None, **more}
        made: NeuralEncoder = kind(self.vectors, seed=seed, **given)
        return made

    def vocabulary(self, like: NeuralEncoder) -> Vocabulary:
        """The words that are written: counted once for all rows."""
        if self._vocabulary is None:
            path = self.folder / "vocabulary.txt"
            if not path.exists():
                found = like._vocabulary_of(self.train, like._new_tokenizer(), None)
                part = path.with_suffix(".part")
                found.write(part)
                part.replace(path)
            self._vocabulary = Vocabulary.read(path)
        return self._vocabulary

    def steps(self, row: Row, name: str, seed: int) -> int:
        """How many steps there is time for: measured once, then kept."""
        if self.size.steps is not None and self.size.minutes is None:
            return self.size.steps
        assert self.size.minutes is not None
        plan = self.results.read(f"work/{name}/plan.json")
        if plan is None:
            probe = self.network(row, seed, max_steps=self.size.probe)
            probe.set_params(vocabulary=self.vocabulary(probe))
            probe.fit(self.train, show_progress_bar=self.show)
            seconds = [step.seconds for step in probe.history_.steps]
            each = statistics.fmean(seconds[min(_PROBE_SKIPS, len(seconds) - 1) :])
            share = 60 * self.size.minutes / len(_TRAINED)
            plan = {"seconds_a_step": each, "steps": max(_VALIDATIONS, int(share / each))}
            self.results.write(f"work/{name}/plan.json", as_json(plan))
        return int(plan["steps"])

    def trained(self, row: Row, name: str, seed: int) -> tuple[NeuralEncoder, History]:
        """The encoder and all that its training told, even where that was stopped in between."""
        from ..saved import load

        saved, log = self.folder / "encoders" / f"{name}.sentencode", self.folder / "logs" / f"{name}.csv"
        if not saved.exists():
            steps = self.steps(row, name, seed)
            warmup = min(int(self.size.training.get("warmup", 0)), steps // 5)
            encoder = self.network(
                row, seed, max_steps=steps, warmup=warmup, validate_every=-(-steps // _VALIDATIONS)
            )
            encoder.set_params(vocabulary=self.vocabulary(encoder))
            for path in (saved, log):
                path.parent.mkdir(exist_ok=True)
            encoder.fit(
                self.train,
                valid=self.valid,
                checkpoints=self.folder / "work" / name / "checkpoints",
                callbacks=[CsvLog(log)],
                show_progress_bar=self.show,
            )
            encoder.save(saved)
            shutil.rmtree(self.folder / "work" / name)
        encoder = load(saved)
        return encoder, History.from_csv(log)

    def untrained(self, row: Row, seed: int) -> NeuralEncoder:
        """The encoder as training would begin with it."""
        encoder = self.network(row, seed, max_steps=1)
        encoder.set_params(vocabulary=self.vocabulary(encoder))
        cut = encoder._new_tokenizer()
        words = encoder._vocabulary_of(self.train, cut, None)
        examples = encoder._examples_of(self.valid, words, cut, None)
        encoder._adopt(encoder._new_network(examples, words).eval(), words, cut)
        return encoder

    def result(self, name: str, row: Row, seed: int) -> Result:
        """All that is said of a row."""
        found: Result = {"row": name, "seed": seed, "threads": num_threads()}
        label = slug(f"{name} {seed}")
        encoder: Any
        if row.trained:
            encoder, history = self.trained(row, label, seed)
            found |= _of_training(history)
        elif row.kind:
            encoder = self.untrained(row, seed)
        elif name == "average of words":
            from ..linear import Average

            encoder = Average(self.vectors)
        else:
            encoder = _MeanMaxOfWords(self.vectors)
        if row.kind:
            sizes = {key: p.numel() for key, p in encoder.network.named_parameters() if p.requires_grad}
            softmax = sum(count for key, count in sizes.items() if key.startswith("softmax."))
            found["parameters"] = {
                "with_softmax": sum(sizes.values()),
                "without_softmax": sum(sizes.values()) - softmax,
            }
            config = encoder.get_params(deep=False)
            found["config"] = {key: config[key] for key in config if key not in ("vectors", "vocabulary")}
            found["config"] |= {"class": row.kind, "tokenizer": encoder._cut.to_config()}
        begin = time.perf_counter()
        report = evaluate(
            encoder,
            self.tasks,
            name=f"{name}, seed {seed}" if row.kind else name,
            out=self._report(label),
            cache=False,
            tokens=True,
            show_progress_bar=self.show,
            **self.judging,
        )
        found["evaluation_minutes"] = (time.perf_counter() - begin) / 60
        found["dim"] = report.facts.get("dim")
        failed = {task: result.error for task, result in report.items() if result.error is not None}
        if failed:
            raise ValueError(f"{name}: {'; '.join(f'{task}: {error}' for task, error in failed.items())}")
        found["scores"] = {
            f"{task} {metric}": score
            for task, result in report.items()
            for metric, score in _scores(result).items()
        }
        return found

    def _report(self, label: str) -> Path:
        folder = self.folder / "reports"
        folder.mkdir(exist_ok=True)
        return folder / f"{label}.json"


class _MeanMaxOfWords:
    """The mean and the maximum of words' vectors: what a pooling alone gives."""

    def __init__(self, vectors: WordVectors) -> None:
        self.vectors = vectors

    def fingerprint(self) -> str:
        return f"mean and max of {self.vectors.fingerprint}"

    def encode(self, sentences: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
        known = [[word for word in self._words(tokens) if word in self.vectors] for tokens in sentences]
        places = {word: i for i, word in enumerate(dict.fromkeys(itertools.chain.from_iterable(known)))}
        table = self.vectors.matrix(list(places))  # [words, d]
        rows = np.zeros((len(sentences), 2 * self.vectors.dim), np.float32)
        for row, words in zip(rows, known, strict=True):
            if words:
                found = table[[places[word] for word in words]]  # [T, d]
                row[: self.vectors.dim], row[self.vectors.dim :] = found.mean(0), found.max(0)
        return rows

    def _words(self, tokens: Sequence[str]) -> Sequence[str]:
        return tokens if self.vectors.cased else [token.lower() for token in tokens]


def _of_training(history: History) -> Result:
    seconds = sum(step.seconds for step in history.steps)
    sentences = sum(step.examples for step in history.steps)
    found: Result = {
        "steps": history.steps[-1].step,
        "sentences": sentences,
        "minutes": seconds / 60,
        "sentences_per_second": sentences / seconds,
        "minutes_per_1000_batches": 1000 * seconds / 60 / len(history.steps),
    }
    for best in [validation for validation in history.validations if validation.best][-1:]:
        found["dev"] = {"step": best.step, "loss": best.loss, "accuracy": best.accuracy}
    return found


def _scores(result: TaskResult) -> Result:
    """The figures that the tables show, by the paper's names, each with its interval."""
    keys = {
        "accuracy": "acc",
        "f1": "f1",
        "pearson": "all.pearson.wmean" if "all" in result.figures else "pearson",
        "spearman": "all.spearman.wmean" if "all" in result.figures else "spearman",
    }
    found: Result = {}
    for metric, key in keys.items():
        try:
            value = result.figure(key)
        except (KeyError, ValueError):
            continue
        interval = result.intervals.get(key)
        found[metric] = {
            "value": value,
            **({} if interval is None else {"low": interval.low, "high": interval.high}),
        }
    return found


# --- all of them ---


def reproduce(
    data: str | os.PathLike[str],
    vectors: str | os.PathLike[str] | WordVectors,
    train: Sequence[str | os.PathLike[str]],
    valid: Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str],
    size: str | Size = "cpu",
    minutes: float | None = None,
    steps: int | None = None,
    tables: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    preset: str = "paper",
    unit_words: bool = False,
    device: str = "auto",
    resume: bool = False,
    protocol: str = "optimum",
    options: Mapping[str, Any] | None = None,
    resamples: int = 2000,
    partial: bool = False,
    show_progress_bar: bool = False,
) -> Report:
    """Trains and judges the rows of paper 000's table 3, beside three controls.

    Args:
        data: SentEval's `data` folder. Tasks of `TASKS` whose files are there are judged.
        vectors: Word vectors, or their file.
        train: Files of sentences to train on.
        valid: Files of sentences to validate on.
        out: A folder for the results: one JSON file for each row and seed in `rows`, reports in `reports`,
            encoders, logs of the training; all tables as `tables.md` and `results.json`.
        size: "cpu", "paper", or one of your own.
        minutes: Of training for the eight trained rows together, one seed each: every row has an eighth,
            whichever rows are asked for. From the time of its first steps follows how many it takes. Judging
            comes on top. None: the size's.
        steps: Of each training, in place of time.
        tables: Of `TABLES`. None: all.
        rows: Of `ROWS`, as in `"mean-max-aae"`. None: all.
        seeds: Each row with a network is trained once with each; tables show means.
        preset: As of `MeanMaxAAE`.
        unit_words: As of `MeanMaxAAE`.
        device: As of `MeanMaxAAE`.
        resume: Whether to go on in a folder that holds results, made from the same things.
        protocol: Of `evaluate`.
        options: Of the protocol.
        resamples: Of the bootstrap.
        partial: Whether to accept files of another size than was published.
        show_progress_bar: Whether to show them.

    Returns:
        The report.

    Raises:
        ValueError: There is no such size, table or row, a task failed, or `out` holds results of other
            settings.
        FileExistsError: `out` holds results, and `resume` is False.
        FileNotFoundError: A file of sentences, or the files of all tasks, are not there.
        FormatError: The data or the vectors are not what they should be.
    """
    wanted_tables = chosen(tables, TABLES, "table")
    wanted_rows = chosen(rows, list(ROWS), "row")
    seeds = [checked_int(f"seeds[{i}]", seed, 0, 2**63 - 1) for i, seed in enumerate(seeds)]
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds must be different numbers, at least one, got {seeds}")
    resamples = checked_int("resamples", resamples, 1)
    of_size = _sized(size, minutes, steps)
    protocol_named(protocol, **(options or {}))
    shared = {"preset": preset, "unit_words": unit_words, "device": device}
    _check_networks([ROWS[name] for name in wanted_rows], shared)
    corpora = {name: Corpus.from_files(files) for name, files in (("train", train), ("valid", valid))}
    if not isinstance(vectors, WordVectors):
        vectors = WordVectors.load(vectors)
    tasks = tasks_there(TASKS, data, partial=partial)
    settings = {
        "size": asdict(of_size),
        "preset": preset,
        "unit_words": unit_words,
        "vectors": {"words": len(vectors), "dim": vectors.dim, "fingerprint": vectors.fingerprint},
        **{name: [file_identity(file) for file in corpus.files] for name, corpus in corpora.items()},
        "tasks": {task.name: sum(len(split) for split in task.splits.values()) for task in tasks},
        "protocol": protocol,
        "options": dict(options or {}),
        "resamples": resamples,
    }
    results = Results(out, settings, resume)
    bench = _Bench(
        vectors,
        corpora["train"],
        corpora["valid"],
        tasks,
        of_size,
        results,
        shared=shared,
        protocol=protocol,
        options=options or {},
        resamples=resamples,
        show=show_progress_bar,
    )
    runs, found = list(_runs(wanted_rows, seeds)), []
    with progress_bar("aae", len(runs), show=show_progress_bar) as bar:
        for name, seed in runs:
            bar.set_postfix_str(name)
            row = ROWS[name]
            label = f"{name} {seed}" if row.kind else name
            found.append(results.get(label, functools.partial(bench.result, name, row, seed)))
            bar.update()
    report = Report(found, results.settings, wanted_tables)
    results.write("tables.md", report.markdown())
    results.write("results.json", report.json())
    return report


def _runs(rows: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[str, int]]:
    """What is to be computed: controls first, which take no time."""
    for name in sorted(rows, key=lambda name: ROWS[name].trained):
        for seed in seeds if ROWS[name].kind else seeds[:1]:
            yield name, seed


def _check_networks(rows: Sequence[Row], shared: Mapping[str, Any]) -> None:
    """What rows share is found fault with before anything is read."""
    from .. import models

    word = WordVectors.from_array(["a"], np.ones((1, 1), np.float32))
    for row in rows:
        if row.kind:
            network: NeuralEncoder = getattr(models, row.kind)(word, **shared)
            network.settings()
            network._device()


def _sized(size: str | Size, minutes: float | None, steps: int | None) -> Size:
    if isinstance(size, str):
        if size not in SIZES:
            raise ValueError(f"size must be one of {', '.join(SIZES)}, got {size!r}")
        size = SIZES[size]
    if minutes is not None and steps is not None:
        raise ValueError("give minutes or steps, not both")
    if minutes is not None:
        return replace(size, minutes=checked_float("minutes", minutes, 0, above=True), steps=None)
    if steps is not None:
        return replace(size, steps=checked_int("steps", steps, 1), minutes=None)
    return size


# --- what is shown of them ---

_SHORT = {
    "SICKEntailment accuracy": "SICK-E",
    "SICKRelatedness pearson": "SICK-R, learnt",
    "STSBenchmark pearson": "STSB, learnt",
    "STS14 pearson": "STS14 r, cosine",
    "STS14 spearman": "STS14 rho, cosine",
    "MRPC f1": "MRPC F1",
}
_COLUMNS = (  # of tables 1 and 3, then ours
    *("MR accuracy", "CR accuracy", "SUBJ accuracy", "MPQA accuracy", "SST2 accuracy", "TREC accuracy"),
    *("MRPC accuracy", "MRPC f1", "SICKEntailment accuracy", "SICKRelatedness pearson"),
    *("STS14 pearson", "STS14 spearman", "SST5 accuracy", "STSBenchmark pearson"),
)
_MARK = "‡"
_CONTROLS = [name for name, row in ROWS.items() if not row.trained]
_TITLES = {
    "1": "Table 1: SentEval's tasks, accuracy and F1 in percent, Pearson's r",
    "2": "Table 2: macro and micro averages of accuracy",
    "3": "Table 3: poolings, and recurrent networks in place of attention",
    "cost": "Section 4.4: parameters, and time of training",
}
_Table = Callable[[Sequence[str], Iterator[list[str]]], str]


@dataclass(frozen=True)
class Report:
    """The results of a reproduction.

    Attributes:
        results: One for each row and seed, as they are kept in the folder of results.
        settings: All that decided what came out.
        tables: Which tables are shown.
    """

    results: Sequence[Result]
    settings: Mapping[str, Any]
    tables: Sequence[str] = TABLES

    def text(self) -> str:
        """The tables, for a terminal: in ASCII alone."""
        return self._tables(text_table, "{}\n").replace(_MARK, "*")

    def markdown(self) -> str:
        """The tables as Markdown."""
        return self._tables(markdown_table, "### {}\n\n")

    def json(self) -> str:
        """Settings and results."""
        return as_json({"settings": self.settings, "rows": list(self.results)})

    def of(self, row: str) -> list[Result]:
        """The results of a row, one for each seed."""
        return [result for result in self.results if result["row"] == row]

    def scores(self, row: str) -> dict[str, float]:
        """What a row has in each column, as the paper prints it: the mean of its seeds."""
        found = self.of(row)
        columns = found[0]["scores"] if found else {}
        return {
            column: statistics.fmean(result["scores"][column]["value"] for result in found)
            for column in columns
        }

    # The tables.

    def _tables(self, table: Any, title: str) -> str:
        made = {"1": self._table_1, "2": self._table_2, "3": self._table_3, "cost": self._cost}
        parts = []
        for name in self.tables:
            header, rows = made[name]()
            parts.append(title.format(_TITLES[name]) + table(header, rows))
            if name == "3":
                header, rows = self._intervals()
                parts.append(title.format("95 % intervals of our figures") + table(header, rows))
        return "\n".join([*parts, *(f"{note}\n" for note in self._notes())])

    def _columns(self) -> list[str]:
        """Those of the paper, and ours where there are figures."""
        there = {column for result in self.results for column in result["scores"]}
        printed = {f"{figure.task} {figure.metric}" for figure in published_figures(PAPER)}
        return [column for column in _COLUMNS if column in there | printed]

    def _line(self, name: str, row: str) -> list[str]:
        scores = self.scores(row)
        return [name, *(_shown(column, scores.get(column)) for column in self._columns())]

    def _ours(self, row: str) -> str:
        seeds = len(self.of(row))
        return f"{row}, ours" + (f" ({seeds} seeds)" if seeds > 1 else "")

    def _table_1(self) -> tuple[list[str], list[list[str]]]:
        columns = self._columns()
        rows = [
            [system, *(_marked(column, figures) for column in columns)]
            for system, figures in _printed("1").items()
        ]
        rows += [self._line(self._ours(row), row) for row in ("mean-max AAE", *_CONTROLS) if self.of(row)]
        return ["encoder", *map(_name, columns)], rows

    def _table_3(self) -> tuple[list[str], list[list[str]]]:
        columns = self._columns()
        printed = _printed("3")
        rows = []
        for row in ROWS:
            if row in printed:
                rows.append([f"{row}, paper", *(_marked(column, printed[row]) for column in columns)])
            if self.of(row):
                rows.append(self._line(self._ours(row), row))
        return ["encoder", *map(_name, columns)], rows

    def _intervals(self) -> tuple[list[str], list[list[str]]]:
        columns = [column for column in self._columns() if any(column in r["scores"] for r in self.results)]
        rows = []
        for row in ROWS:
            several = len(self.of(row)) > 1
            for result in self.of(row):
                name = f"{row}, seed {result['seed']}" if several else row
                rows.append([name, *(_interval(column, result["scores"].get(column)) for column in columns)])
        return ["encoder", *map(_name, columns)], rows

    def _common(self) -> list[str]:
        """The tasks of the paper's averages that are there."""
        there = {column.partition(" ")[0] for result in self.results for column in result["scores"]}
        return [task for task in PAPER_TASKS[0] if task in there]

    def _table_2(self) -> tuple[list[str], list[list[str]]]:
        """The paper's averages, then those of the tasks that are there: for all that have them."""
        common = self._common()
        own = len(common) > 1 and tuple(common) not in PAPER_TASKS
        columns = [f"{kind} {len(tasks)}" for tasks in PAPER_TASKS for kind in ("macro", "micro")]
        columns += [f"{kind} of {' '.join(common)}" for kind in ("macro", "micro")] * own

        def ends(accuracies: Mapping[str, float]) -> list[str]:
            return [_average(accuracies, common, kind) for kind in ("macro", "micro")] * own

        def marked(cells: list[str]) -> list[str]:  # all are of accuracies
            return [cell if cell == "-" else f"{cell} {_MARK}" for cell in cells]

        rows = []
        averages = _printed("2")
        for system, figures in _printed("1").items():
            accuracies = _accuracies(figures)
            if system in averages or macro_and_micro(accuracies, common):
                names = [
                    f"average-{len(tasks)} {kind}" for tasks in PAPER_TASKS for kind in ("macro", "micro")
                ]
                there = averages.get(system, {})
                cells = [*(there.get(name, "-") for name in names), *ends(accuracies)]
                rows.append([system, *marked(cells)])
        for row in ROWS:
            if self.of(row):
                accuracies = _accuracies(self.scores(row))
                line = [
                    _average(accuracies, tasks, kind) for tasks in PAPER_TASKS for kind in ("macro", "micro")
                ]
                rows.append([self._ours(row), *line, *ends(accuracies)])
        return ["encoder", *columns], rows

    def _cost(self) -> tuple[list[str], list[list[str]]]:
        header = [
            *("encoder", "dim", "parameters", "with softmax", "steps", "sentences", "sentences/s", "minutes"),
            *("minutes / 1000 batches", "dev loss", "dev accuracy"),
        ]
        rows = [
            [f"{figure.system}, paper", *["-"] * 7, figure.printed, "-", "-"]
            for figure in published_figures(PAPER, "section 4.4")
        ]
        for row in ROWS:
            for result in self.of(row):
                if "parameters" not in result:
                    continue
                name = f"{row}, seed {result['seed']}" if len(self.of(row)) > 1 else row
                counts, dev = result["parameters"], result.get("dev")
                line = [name, str(result["dim"])]
                line += [f"{counts[key] / 1e6:.2f} M" for key in ("without_softmax", "with_softmax")]
                if dev is None:
                    line += ["-"] * 7
                else:
                    line += [f"{result[key]:,}" for key in ("steps", "sentences")]
                    line += [f"{result['sentences_per_second']:.0f}", f"{result['minutes']:.1f}"]
                    line += [f"{result['minutes_per_1000_batches']:.2f}"]
                    line += [f"{dev['loss']:.3f}", f"{100 * dev['accuracy']:.1f}"]
                rows.append(line)
        return header, rows

    def _notes(self) -> Iterator[str]:
        judged = ", ".join(self.settings["tasks"])
        yield f"Judged on {judged}; protocol {self.settings['protocol']}."
        yield "STS14 is the mean of its subsets, weighted by their sizes."
        if {"1", "2", "3"} & set(self.tables):
            yield f"{_MARK} {ANOTHER_PROTOCOL}"
            yield (
                "Learnt: a regression was trained on the task's training pairs; cosine: nothing was trained. "
                "The two do not compare."
            )
        if "2" in self.tables and tuple(self._common()) not in PAPER_TASKS:
            yield "The last two averages of table 2, over the tasks that are there, are ours in every line."
        if "cost" in self.tables:
            yield 'Parameters are those that are trained; the paper says "about 39 million" of its own.'
            yield "Times are of training steps, without validations."


def _printed(table: str) -> dict[str, dict[str, str]]:
    """A published table: system -> column -> figure as printed."""
    found: dict[str, dict[str, str]] = {}
    for figure in published_figures(PAPER, table):
        found.setdefault(figure.system, {})[f"{figure.task} {figure.metric}"] = figure.printed
    return found


def _marked(column: str, printed: Mapping[str, str]) -> str:
    """A figure of the paper, marked where it depends on a protocol that is another one than ours."""
    if column not in printed:
        return "-"
    return f"{printed[column]} {_MARK}" if column in _learnt() else printed[column]


@functools.cache
def _learnt() -> frozenset[str]:
    return frozenset(f"{figure.task} {figure.metric}" for figure in published_figures(PAPER) if figure.learnt)


def _name(column: str) -> str:
    return _SHORT.get(column, column.partition(" ")[0])


def _is_share(column: str) -> bool:
    return column.endswith((" accuracy", " f1"))


def _shown(column: str, value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if _is_share(column) else f"{value:.3f}"


def _interval(column: str, score: Mapping[str, float] | None) -> str:
    if score is None or "low" not in score:
        return "-"
    return f"{_shown(column, score['low'])} to {_shown(column, score['high'])}"


def _accuracies(figures: Mapping[str, str] | Mapping[str, float]) -> dict[str, float]:
    columns = {column: column.removesuffix(" accuracy") for column in figures if column.endswith(" accuracy")}
    return {task: float(figures[column]) for column, task in columns.items()}


def _average(accuracies: Mapping[str, float], tasks: Sequence[str], kind: str) -> str:
    both = macro_and_micro(accuracies, tasks) if tasks else None
    return "-" if both is None else f"{both[kind == 'micro']:.1f}"
