"""Tables I and II and figure 2 of paper 004, next to the published figures.

Every encoder is fitted to the training sentences of the benchmark. The score of a pair is the cosine of its
embeddings; the tables have Pearson's correlation with the gold scores. The numbers of components and of
hidden units are chosen on the development set, from the paper's grids.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._figures import new_figure
from ..checks import checked_int
from ..encoder import Encoder
from ..evaluation import Task, bootstrap_difference, bootstrap_interval, cosine_of_pairs, load_task, pearson
from ..files import as_path
from ..linear import LAES, SIF, USIF, Average
from ..linear.selection import Selection
from ..saved import load
from ..vectors import WordVectors
from .experiment import Experiment
from .papers import published
from .report import Report as CommonReport
from .report import Table
from .results_folder import Result, Results, file_identity, results_json
from .rows import computed
from .tables import MISSING, TableText, differing, score

__all__ = ["FAMILY", "ROWS", "TASKS", "Grids", "Report", "reproduce"]

TASKS = {"SICKRelatedness": "SICK", "STSBenchmark": "STSBenchmark"}  # task -> the paper's name
SPLITS = ("train", "dev", "test")
BASELINE = "SIF"  # of the paired differences in table I
PAIRS = (  # further paired differences
    ("LAES-RES", "uSIF"),
    ("LAES-RES", "SIF, evaluated set"),
    ("LAES-BRES", "LAES-RES"),
    ("LAES-RECO", "Weighted average"),
)


@dataclass(frozen=True)
class Grids:
    """The sizes to choose from on the development set. The defaults are the paper's."""

    hidden: Sequence[int] = (150, 300, 600, 1200, 2400)  # LAES-HID and -RECO
    residual: Sequence[int] = tuple(range(1, 151))  # LAES-RES and -BRES
    components: int = 150  # SIF: from 0, the weighted average, up to so many


# --- the rows of the tables ---


@dataclass
class Benchmark:
    """A task, and the encoders that are fitted to its sentences on first use.

    Attributes:
        task: The task.
        vectors: Word vectors.
        grids: Sizes to choose from.
        max_length: Number of words of a sentence that LAES is fitted to, at most.
        options: `frequencies` and `tokenizer` of all encoders.
    """

    task: Task
    vectors: WordVectors
    grids: Grids
    max_length: int
    options: Mapping[str, Any]

    def sentences(self, split: str) -> list[str]:
        """Both sides of all pairs."""
        first, second = self.task[split].sentences
        return first + second

    def sif(self, split: str) -> SIF:
        """SIF fitted to a split."""
        encoder: SIF = SIF(self.vectors, **self.options).fit(self.sentences(split))
        return encoder

    def usif(self, split: str) -> USIF:
        """The encoder uSIF fitted to a split."""
        encoder: USIF = USIF(self.vectors, **self.options).fit(self.sentences(split))
        return encoder

    @functools.cached_property
    def laes(self) -> LAES:
        """LAES with residuals in both directions; other modes and sizes are solved from its sums."""
        encoder = LAES(
            self.vectors,
            hidden=max(self.grids.residual),
            direction="both",
            max_length=self.max_length,
            **self.options,
        )
        encoder.fit(self.sentences("train"))
        return encoder

    @functools.cached_property
    def large_laes(self) -> LAES:
        """LAES with forward states of the largest size of the grid."""
        return self.laes.variant(hidden=max(self.grids.hidden), mode="hidden", direction="forward")

    def select(self, encoder: SIF | LAES, sizes: Iterable[int], split: str = "dev") -> Selection:
        """The best size on a split."""
        return encoder.select(self.task[split].pairs, self.task[split].labels, sizes)


@dataclass(frozen=True)
class Choice:
    """The encoder of each split, and the setting chosen on the development set."""

    encoders: Mapping[str, Encoder]
    n_h: int | None = None
    combine: str | None = None
    curves: Mapping[str, Any] | None = None  # scores of all sizes

    @classmethod
    def of(cls, selection: Selection, **curves: Selection) -> Choice:
        """The best of a selection on the development set, fitted to the training sentences."""
        combine = selection.variant if selection.variant in ("sum", "concat") else None
        shown: dict[str, Any] = {"n_h": selection.settings.tolist()}
        for split, other in {"dev": selection, **curves}.items():
            shown[split] = {name: _finite(curve) for name, curve in other.curves.items()}
        return cls(dict.fromkeys(SPLITS, selection.encoder), selection.setting, combine, shown)


def weighted_average(b: Benchmark) -> Choice:
    """SIF without removing a component."""
    return Choice(dict.fromkeys(SPLITS, b.select(b.sif("train"), [0]).encoder))


def sif(b: Benchmark) -> Choice:
    """Components of the training sentences. The test curve is for figure 2 only."""
    encoder, sizes = b.sif("train"), range(b.grids.components + 1)
    return Choice.of(b.select(encoder, sizes), test=b.select(encoder, sizes, "test"))


def sif_evaluated(b: Benchmark) -> Choice:
    """Components of the evaluated sentences, as in SIF's paper."""
    fitted = {split: b.sif(split) for split in SPLITS}
    selection = b.select(fitted["dev"], range(b.grids.components + 1))
    encoders = {split: b.select(fitted[split], [selection.setting], split).encoder for split in SPLITS}
    return replace(Choice.of(selection), encoders=encoders)


def usif(b: Benchmark) -> Choice:
    """Components of the training sentences."""
    encoder = b.usif("train")
    return Choice(dict.fromkeys(SPLITS, encoder), encoder.components)


def usif_evaluated(b: Benchmark) -> Choice:
    """Components of the evaluated sentences, as in uSIF's public code."""
    encoders = {split: b.usif(split) for split in SPLITS}
    return Choice(encoders, encoders["test"].components)


def laes_hid(b: Benchmark) -> Choice:
    """Section V.A."""
    return Choice.of(b.select(b.large_laes, b.grids.hidden))


def laes_reco(b: Benchmark) -> Choice:
    """Section V.B."""
    return Choice.of(b.select(b.large_laes.variant(mode="reconstruction"), b.grids.hidden))


def laes_res(b: Benchmark) -> Choice:
    """Section V.C. The test curve is for figure 2 only."""
    encoder = b.laes.variant(direction="forward")
    return Choice.of(b.select(encoder, b.grids.residual), test=b.select(encoder, b.grids.residual, "test"))


def laes_bres(b: Benchmark) -> Choice:
    """Section V.D: the better of sum and concatenation."""
    return Choice.of(b.select(b.laes, b.grids.residual))


def laes_bres_cat(b: Benchmark) -> Choice:
    """Section V.D: concatenation, as in table II."""
    selection = b.select(b.laes, b.grids.residual)
    hidden = int(selection.settings[int(np.nanargmax(selection.curves["concat"]))])
    encoder = b.laes.variant(hidden=hidden, combine="concat")
    return Choice.of(replace(selection, variant="concat", setting=hidden, encoder=encoder))


def built_in(_: Benchmark) -> Choice:
    """Not in the paper: the average of the built-in vectors, a student of a transformer."""
    return Choice(dict.fromkeys(SPLITS, Average(WordVectors.default())))


def given(encoder: Encoder, _: Benchmark) -> Choice:
    """Not in the paper: an encoder that was fitted to other data."""
    return Choice(dict.fromkeys(SPLITS, encoder))


ROWS: dict[str, Callable[[Benchmark], Choice]] = {
    "Weighted average": weighted_average,
    "SIF": sif,
    "SIF, evaluated set": sif_evaluated,
    "uSIF": usif,
    "uSIF, evaluated set": usif_evaluated,
    "LAES-HID": laes_hid,
    "LAES-RECO": laes_reco,
    "LAES-RES": laes_res,
    "LAES-BRES": laes_bres,
    "LAES-BRES (cat)": laes_bres_cat,
    "Average of the built-in vectors": built_in,
}

# --- the tables ---

_FIGURE_ROWS = ("SIF", "LAES-RES")  # in figure 2


class Report(CommonReport):
    """The results of a reproduction, one for each row and task."""

    @property
    def cells(self) -> Sequence[Result]:
        """The results."""
        return self.results

    def cell(self, row: str, task: str) -> Result | None:
        """The result of a row on a task; None if it was not computed."""
        return next(iter(self.of(row, task=task)), None)

    def json(self, page: Mapping[str, Any] | None = None) -> str:
        """Everything except the scores of single pairs."""
        cells = [{k: v for k, v in cell.items() if k not in ("cosines", "gold")} for cell in self.results]
        return results_json(self.family, self.settings, page, cells=cells)


@dataclass(frozen=True)
class _Table1(Table):
    """Table I, one for each task: all splits, with the published figures in columns of their own."""

    rows: Sequence[str]

    def content(self, report: CommonReport) -> Iterator[TableText]:
        """The tables."""
        figures = published("laes")["tables"]["I"]
        splits = (column for split in SPLITS for column in (f"{split} paper", split))
        header = ["model", "n_h paper", "n_h", *splits, f"minus {BASELINE}"]
        for task, name in TASKS.items():
            lines = []
            others = (result["row"] for result in report.results if result["row"] not in ROWS)
            rows = dict.fromkeys([*self.rows, *others])
            for cell in [cell for row in rows for cell in report.of(row, task=task)]:
                row = cell["row"]
                paper = figures.get(row.partition(",")[0], {}).get(
                    task, {}
                )  # "SIF, evaluated set" is SIF there
                line = [row, _published(paper, "n_h"), _chosen(cell)]
                for split in SPLITS:
                    line += [_published(paper, split), _percent(cell, split)]
                lines.append([*line, differing(cell.get("less"))])
            if lines:
                yield f"Table I, {name}, cosine: Pearson x 100", header, lines


@dataclass(frozen=True)
class _Table2(Table):
    """Table II: the test sets of both tasks."""

    rows: Sequence[str]

    def content(self, report: CommonReport) -> Iterator[TableText]:
        """The table."""
        lines = []
        for row in filter(report.of, self.rows):
            figures = published("laes")["tables"]["II"][row]
            paper = [_published(figures.get(task, {}), name) for task in TASKS for name in ("test", "n_h")]
            lines.append([f"{row}, paper", *paper])
            ours = [row]
            for task in TASKS:
                cells = report.of(row, task=task)
                ours += [_percent(cells[0], "test"), _chosen(cells[0])] if cells else [MISSING] * 2
            lines.append(ours)
        if lines:
            header = ["model", *(column for name in TASKS.values() for column in (name, "n_h"))]
            yield "Table II, test sets, cosine: Pearson x 100", header, lines


@dataclass(frozen=True)
class _Differences(Table):
    """Differences on the test sets between rows, over the same resamples."""

    rows: Sequence[str]

    def content(self, report: CommonReport) -> Iterator[TableText]:
        """The table, if there is a difference."""
        lines = []
        for row, other in PAIRS:
            cells = [cell for task in TASKS for cell in report.of(row, task=task)]
            differences = [cell.get("minus", {}).get(other) for cell in cells]
            if any(differences):
                lines.append([f"{row} minus {other}", *map(differing, differences)])
        if lines:
            yield "Differences on the test sets: Pearson x 100", ["rows", *TASKS.values()], lines


@dataclass(frozen=True)
class _Figure2(Table):
    """Figure 2: the test set of STSBenchmark against n_h, for SIF and LAES-RES."""

    rows: Sequence[str]

    def pictures(self, report: CommonReport) -> Iterator[tuple[str, Any]]:
        """The figure, if both rows were computed."""
        cells = [cell for row in self.rows for cell in report.of(row, task="STSBenchmark")]
        if len(cells) < len(self.rows):
            return
        figure, (axes,) = new_figure(7, 4.2)
        for cell, colour in zip(cells, ("tab:orange", "tab:blue"), strict=True):
            row = cell["row"]
            (curve,) = cell["curves"]["test"].values()
            points = [
                (x, 100 * y)
                for x, y in zip(cell["curves"]["n_h"], curve, strict=True)
                if x > 0 and y is not None
            ]
            axes.plot(*zip(*points, strict=True), color=colour, label=row)
            best = dict(points).get(cell["n_h"])
            if best is not None:
                label = f"{row}: n_h = {cell['n_h']}, chosen on dev"
                axes.plot(cell["n_h"], best, "o", color=colour, fillstyle="none", markersize=8, label=label)
        axes.set_xlabel("n_h: components taken away (SIF), hidden units (LAES-RES)")
        axes.set_ylabel("Pearson x 100 of cosines, STSBenchmark test")
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
        yield "figure-2", figure


FAMILY = Experiment(
    name="laes",
    rows=ROWS,
    tables={
        "I": _Table1([name for name in ROWS if name != "LAES-BRES (cat)"]),
        "II": _Table2(["LAES-BRES (cat)"]),
        "differences": _Differences(list(dict.fromkeys(row for pair in PAIRS for row in pair))),
        "figure-2": _Figure2(_FIGURE_ROWS),
    },
    report_class=Report,
)


def reproduce(
    data: str | os.PathLike[str],
    vectors: str | os.PathLike[str] | WordVectors,
    *,
    frequencies: Any = None,
    encoders: Sequence[str | os.PathLike[str]] | None = None,
    tables: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    grids: Grids | None = None,
    tokenizer: str = "words",
    max_length: int = 64,
    resamples: int = 2000,
    seed: int = 1111,
    partial: bool = False,
    show_progress_bar: bool = False,
) -> Report:
    """Computes tables I and II and figure 2 of paper 004.

    Args:
        data: SentEval's `data` folder, with SICK and STSBenchmark.
        vectors: Word vectors, or their file.
        frequencies: Source of the word probabilities, as for `SIF`. None: the counts of the vectors, or their
            order where they have none.
        encoders: Files of saved encoders to compare with: rows by the names of the files.
        tables: Names of tables: `"I"`, `"II"`, `"differences"`, `"figure-2"`. None: all.
        rows: Names of `ROWS` in small letters, as in `"laes-bres"`. None: all rows of the tables.
        out: Folder for the results: one JSON file for each row and task, written when it is computed, then
            the tables as `tables.md` and `results.json`, and the figure. None: nothing is written.
        resume: Continue in a folder that holds results of the same settings.
        grids: Sizes to choose from. None: the paper's.
        tokenizer: `"words"` or `"whitespace"`. Words are lower-cased if the vectors hold none with capitals.
        max_length: Number of words of a sentence that LAES is fitted to, at most.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.
        partial: Accept files whose number of pairs is not the published one.
        show_progress_bar: Show a progress bar.

    Returns:
        The report.

    Raises:
        ValueError: There is no such table or row, `out` holds results of other settings, or two of `encoders`
            have the same name.
        FileExistsError: `out` holds results, and `resume` is False.
        FormatError: A file of the data, the vectors or an encoder has another format.
        ImportError: The figure requires matplotlib, which is not installed.
    """
    grids = grids or Grids()
    max_length = checked_int("max_length", max_length, 1)
    resamples = checked_int("resamples", resamples, 1)
    seed = checked_int("seed", seed, 0, 2**64 - 1)
    wanted_tables, wanted_rows = FAMILY.selected(tables, rows)
    others = [(as_path(file).stem, functools.partial(given, load(file))) for file in encoders or ()]
    makers: dict[str, Callable[[Benchmark], Choice]] = {**ROWS, **dict(others)}
    if len(makers) < len(ROWS) + len(others):
        names = ", ".join(name for name, _ in others)
        raise ValueError(f"encoders: files must be named differently, and not as a row, got {names}")
    wanted_rows += [name for name, _ in others]
    if tables is not None and "figure-2" in wanted_tables and not {*_FIGURE_ROWS} <= {*wanted_rows}:
        raise ValueError(f"figure 2 requires the rows {' and '.join(_FIGURE_ROWS)}")
    needs_matplotlib = out is not None and "figure-2" in wanted_tables and {*_FIGURE_ROWS} <= {*wanted_rows}
    if needs_matplotlib and importlib.util.find_spec("matplotlib") is None:
        raise ImportError(
            "figure 2 requires matplotlib: pip install 'sentencode[plot]', or omit it from the tables"
        )
    if not isinstance(vectors, WordVectors):
        vectors = WordVectors.load(vectors)
    tasks = {name: load_task(name, data, partial=partial) for name in TASKS}
    settings = {
        "vectors": {"words": len(vectors), "dim": vectors.dim, "fingerprint": vectors.fingerprint},
        "frequencies": _identity(frequencies),
        "tokenizer": tokenizer,
        "grids": {
            "hidden": list(grids.hidden),
            "residual": list(grids.residual),
            "components": grids.components,
        },
        "max_length": max_length,
        "resamples": resamples,
        "seed": seed,
        "pairs": {name: {split: len(task[split]) for split in SPLITS} for name, task in tasks.items()},
    }
    if encoders:
        settings["encoders"] = [file_identity(file) for file in encoders]
    results = Results(out, settings, resume)
    options = {"frequencies": frequencies, "tokenizer": tokenizer}
    todo = (  # one task after the other, because the encoders fitted to one are large
        (
            f"{TASKS[name]}, {row}",
            f"{row} {name}",
            functools.partial(_cell, benchmark, row, makers[row], resamples, seed),
        )
        for name, task in tasks.items()
        for benchmark in [Benchmark(task, vectors, grids, max_length, options)]
        for row in wanted_rows
    )
    cells = computed("laes", todo, len(tasks) * len(wanted_rows), results, show=show_progress_bar)
    _differences(cells, resamples, seed)
    report = FAMILY.write(results, cells, wanted_tables)
    assert isinstance(report, Report)
    return report


def _cell(b: Benchmark, row: str, make: Callable[[Benchmark], Choice], resamples: int, seed: int) -> Result:
    """The results of a row on a task: scores of every split, and of every pair of the test set."""
    choice = make(b)
    splits = {}
    for split, encoder in choice.encoders.items():
        gold = b.task[split].labels
        cosines = cosine_of_pairs(*(encoder.encode(side) for side in b.task[split].sentences))
        low, high = bootstrap_interval(cosines, gold, resamples=resamples, seed=seed)
        splits[split] = {"pearson": pearson(cosines, gold), "low": low, "high": high}
    return {
        "row": row,
        "task": b.task.name,
        "n_h": choice.n_h,
        "combine": choice.combine,
        "splits": {
            split: dict(zip(values, _finite(values.values()), strict=True))
            for split, values in splits.items()
        },
        "curves": choice.curves,
        "cosines": np.round(cosines, 7).tolist(),  # of the last split, the test set
        "gold": gold.tolist(),
    }


def _finite(values: Iterable[float]) -> list[float | None]:
    """Rounded values for JSON, with None for NaN: equal cosines have no correlation."""
    return [None if math.isnan(value) else round(float(value), 7) for value in values]


def _identity(frequencies: Any) -> Any:
    """The identity of frequencies in the settings: of a file, its content."""
    if not isinstance(frequencies, str | os.PathLike) or frequencies in ("counts", "zipf"):
        return frequencies
    return file_identity(frequencies)


def _differences(cells: Sequence[Result], resamples: int, seed: int) -> None:
    """Adds differences on the test set over the same resamples: to the baseline, and those of `PAIRS`."""
    by_row = {(cell["row"], cell["task"]): cell for cell in cells}

    def difference(cell: Result, row: str) -> Result | None:
        other = by_row.get((row, cell["task"]), cell)
        both = [scores["splits"]["test"]["pearson"] for scores in (cell, other)]
        if other is cell or None in both:
            return None
        scores = (cell["cosines"], other["cosines"], cell["gold"])
        low, high = bootstrap_difference(*scores, resamples=resamples, seed=seed)
        return {"value": 100 * (both[0] - both[1]), "low": 100 * low, "high": 100 * high}

    for cell in cells:
        if less := difference(cell, BASELINE):
            cell["less"] = less
        others = (other for row, other in PAIRS if row == cell["row"])
        minus = {other: less for other in others if (less := difference(cell, other))}
        if minus:
            cell["minus"] = minus


def _published(figures: Mapping[str, float], name: str) -> str:
    return str(figures.get(name, MISSING))


def _percent(cell: Result, split: str) -> str:
    """Pearson's correlation times 100; of the test set with its interval."""
    values = {"pearson": "value", **({"low": "low", "high": "high"} if split == "test" else {})}
    figures = {name: cell["splits"][split].get(key) for key, name in values.items()}
    return score({name: 100 * value for name, value in figures.items() if value is not None})


def _chosen(cell: Result) -> str:
    return " ".join(str(cell[name]) for name in ("n_h", "combine") if cell[name] is not None) or MISSING
