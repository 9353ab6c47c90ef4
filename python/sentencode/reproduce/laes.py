"""Paper 004 again: tables I and II and figure 2, with the published figures beside ours.

Every encoder is fitted to the training sentences of the benchmark. A pair's score is the cosine of its two
rows; what is reported is Pearson's correlation of these with the gold scores. Numbers of components and of
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

from .._figures import new_figure, rendered
from ..checks import checked_int
from ..encoder import Encoder
from ..evaluation import Task, bootstrap_difference, bootstrap_interval, cosine_of_pairs, load_task, pearson
from ..linear import LAES, SIF, USIF
from ..linear.selection import Selection
from ..vectors import WordVectors
from .papers import published
from .results_folder import Result, Results, as_json, file_identity
from .rows import chosen, computed
from .tables import MISSING, between, differing, number, printed_tables

__all__ = ["ROWS", "TASKS", "Grids", "Report", "reproduce"]

TASKS = {"SICKRelatedness": "SICK", "STSBenchmark": "STSBenchmark"}  # and what the paper calls them
SPLITS = ("train", "dev", "test")
BASELINE = "SIF"  # what other rows are compared with, pair by pair


@dataclass(frozen=True)
class Grids:
    """The sizes among which the development set chooses. The defaults are the paper's."""

    hidden: Sequence[int] = (150, 300, 600, 1200, 2400)  # LAES-HID and -RECO
    residual: Sequence[int] = tuple(range(1, 151))  # LAES-RES and -BRES
    components: int = 150  # SIF: from 0, the weighted average, up to so many


# --- the rows of the tables ---


class Benchmark:
    """A task, and what is fitted to its sentences when it is first asked for."""

    def __init__(
        self,
        task: Task,
        vectors: WordVectors,
        grids: Grids,
        *,
        frequencies: Any = None,
        tokenizer: Any = "words",
        a: float = 1e-3,
        max_length: int = 64,
    ) -> None:
        self.task = task
        self.vectors = vectors
        self.grids = grids
        self._common = {"frequencies": frequencies, "tokenizer": tokenizer}
        self._a = a
        self._max_length = max_length

    def sentences(self, split: str) -> list[str]:
        """Both sides of all pairs."""
        first, second = self.task[split].sentences
        return first + second

    def sif(self, split: str) -> SIF:
        """SIF with the directions of a split, from which any number can be selected."""
        encoder = SIF(self.vectors, a=self._a, **self._common)
        encoder.fit(self.sentences(split))
        return encoder

    def usif(self, split: str) -> USIF:
        """The same of uSIF, which has five."""
        encoder = USIF(self.vectors, **self._common)
        encoder.fit(self.sentences(split))
        return encoder

    @functools.cached_property
    def laes(self) -> LAES:
        """Residuals in both directions. It keeps the sums from which other modes and sizes are solved for."""
        encoder = LAES(
            self.vectors,
            hidden=max(self.grids.residual),
            mode="residual",
            direction="both",
            a=self._a,
            max_length=self._max_length,
            **self._common,
        )
        encoder.fit(self.sentences("train"))
        return encoder

    @functools.cached_property
    def large_laes(self) -> LAES:
        """States of as many units as the grid has, forward."""
        return self.laes.variant(hidden=max(self.grids.hidden), mode="hidden", direction="forward")

    def select(self, encoder: SIF | LAES, sizes: Iterable[int], split: str = "dev") -> Selection:
        """What does best on a split."""
        return encoder.select(self.task[split].pairs, self.task[split].labels, sizes)


@dataclass(frozen=True)
class Choice:
    """The encoder of each split, and what was chosen on the development set."""

    encoders: Mapping[str, Encoder]
    n_h: int | None = None
    combine: str | None = None
    curves: Mapping[str, Any] | None = None  # what the choice was made by

    @classmethod
    def of(cls, selection: Selection, **curves: Selection) -> Choice:
        """The best of a selection on the development set, fitted to the training sentences."""
        combine = selection.variant if selection.variant in ("sum", "concat") else None
        shown: dict[str, Any] = {"n_h": selection.settings.tolist()}
        for split, other in {"dev": selection, **curves}.items():
            shown[split] = {name: _numbers(curve) for name, curve in other.curves.items()}
        return cls(dict.fromkeys(SPLITS, selection.encoder), selection.setting, combine, shown)


def weighted_average(b: Benchmark) -> Choice:
    """No direction is taken away: SIF with no component."""
    return Choice(dict.fromkeys(SPLITS, b.select(b.sif("train"), [0]).encoder))


def sif(b: Benchmark) -> Choice:
    """Directions of the training sentences. The test curve is figure 2's; nothing is chosen by it."""
    encoder, sizes = b.sif("train"), range(b.grids.components + 1)
    return Choice.of(b.select(encoder, sizes), test=b.select(encoder, sizes, "test"))


def sif_evaluated(b: Benchmark) -> Choice:
    """Directions of the very sentences that are compared, as SIF's own paper computes them."""
    fitted = {split: b.sif(split) for split in SPLITS}
    selection = b.select(fitted["dev"], range(b.grids.components + 1))
    encoders = {split: b.select(fitted[split], [selection.setting], split).encoder for split in SPLITS}
    return replace(Choice.of(selection), encoders=encoders)


def usif(b: Benchmark) -> Choice:
    """Directions of the training sentences."""
    encoder = b.usif("train")
    return Choice(dict.fromkeys(SPLITS, encoder), encoder.components)


def usif_evaluated(b: Benchmark) -> Choice:
    """Directions of the very sentences that are compared, as uSIF's public code computes them."""
    encoders = {split: b.usif(split) for split in SPLITS}
    return Choice(encoders, encoders["test"].components)


def laes_hid(b: Benchmark) -> Choice:
    """Section V.A."""
    return Choice.of(b.select(b.large_laes, b.grids.hidden))


def laes_reco(b: Benchmark) -> Choice:
    """Section V.B."""
    return Choice.of(b.select(b.large_laes.variant(mode="reconstruction"), b.grids.hidden))


def laes_res(b: Benchmark) -> Choice:
    """Section V.C. The test curve is figure 2's; nothing is chosen by it."""
    encoder = b.laes.variant(direction="forward")
    return Choice.of(b.select(encoder, b.grids.residual), test=b.select(encoder, b.grids.residual, "test"))


def laes_bres(b: Benchmark) -> Choice:
    """Section V.D: the better of sum and concatenation."""
    return Choice.of(b.select(b.laes, b.grids.residual))


def laes_bres_cat(b: Benchmark) -> Choice:
    """Section V.D: concatenation, as in table II."""
    selection = b.select(b.laes, b.grids.residual)
    place = int(np.nanargmax(selection.curves["concat"]))
    hidden = int(selection.settings[place])
    encoder = b.laes.variant(hidden=hidden, combine="concat")
    return Choice.of(replace(selection, variant="concat", setting=hidden, encoder=encoder))


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
}
TABLES = {
    "I": [name for name in ROWS if name != "LAES-BRES (cat)"],
    "II": ["LAES-BRES (cat)"],
    "figure-2": ["SIF", "LAES-RES"],
}


def reproduce(
    data: str | os.PathLike[str],
    vectors: str | os.PathLike[str] | WordVectors,
    *,
    frequencies: Any = None,
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
        frequencies: Where the probabilities of words come from, as `SIF` takes them. None: the vectors'
            counts, or their order where they have none.
        tables: Of `TABLES`: `"I"`, `"II"`, `"figure-2"`. None: all.
        rows: Of `ROWS`, by their names in small letters, as in `"laes-bres"`. None: all of the tables.
        out: A folder for the results: one JSON file for each row and task as soon as it is computed, then all
            tables as `tables.md` and `results.json`, and the figure. None: nothing is written.
        resume: Whether to go on in a folder that holds results, made from the same things.
        grids: Other sizes to choose from than the paper's.
        tokenizer: `"words"` or `"whitespace"`. Words are lower-cased if the vectors hold none with capitals.
        max_length: LAES is fitted to at most so many words of a sentence.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
        partial: Whether to accept files with other numbers of pairs than were published.
        show_progress_bar: Whether to show one.

    Returns:
        The report.

    Raises:
        ValueError: There is no such table or row, or `out` holds results of other settings.
        FileExistsError: `out` holds results, and `resume` is False.
        FormatError: The data or the vectors are not what they should be.
        ImportError: The figure is wanted, but matplotlib is not installed.
    """
    grids = grids or Grids()
    max_length = checked_int("max_length", max_length, 1)
    resamples = checked_int("resamples", resamples, 1)
    seed = checked_int("seed", seed, 0, 2**64 - 1)
    wanted_tables = chosen(tables, list(TABLES), "table")
    wanted_rows = chosen(rows, [row for row in ROWS if any(row in TABLES[t] for t in wanted_tables)], "row")
    can_draw = {*TABLES["figure-2"]} <= {*wanted_rows}
    if tables is not None and "figure-2" in wanted_tables and not can_draw:
        raise ValueError(f"figure 2 needs the rows {' and '.join(TABLES['figure-2'])}")
    draws = out is not None and can_draw and "figure-2" in wanted_tables
    if draws and importlib.util.find_spec("matplotlib") is None:
        raise ImportError(
            "figure 2 needs matplotlib: pip install 'sentencode[plot]', or leave it out of the tables"
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
    results = Results(out, settings, resume)
    given = {"frequencies": frequencies, "tokenizer": tokenizer, "max_length": max_length}
    todo = (  # one task after the other, for what was fitted to one is large
        (f"{TASKS[name]}, {row}", f"{row} {name}", functools.partial(_cell, benchmark, row, resamples, seed))
        for name, task in tasks.items()
        for benchmark in [Benchmark(task, vectors, grids, **given)]
        for row in wanted_rows
    )
    cells = computed("laes", todo, len(tasks) * len(wanted_rows), results, show=show_progress_bar)
    report = Report(cells, results.settings, wanted_tables, drawn=draws)
    if tables_there := report.markdown():  # none where only the figure was asked for
        results.write("tables.md", tables_there)
    results.write("results.json", report.json())
    if draws:
        for kind in ("png", "svg"):
            results.write(f"figure-2.{kind}", report.figure(kind))
    return report


def _cell(b: Benchmark, row: str, resamples: int, seed: int) -> Result:
    """All that a row says of a task; numbers for every split, and every pair of the test set."""
    choice = ROWS[row](b)
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
            split: dict(zip(values, _numbers(values.values()), strict=True))
            for split, values in splits.items()
        },
        "curves": choice.curves,
        "cosines": np.round(cosines, 7).tolist(),  # of the last split, the test set
        "gold": gold.tolist(),
    }


def _numbers(values: Iterable[float]) -> list[float | None]:
    """As JSON has them, which knows no NaN: where cosines are all equal there is no correlation."""
    return [None if math.isnan(value) else round(float(value), 7) for value in values]


def _identity(frequencies: Any) -> Any:
    """What tells frequencies apart: a file by its content."""
    if not isinstance(frequencies, str | os.PathLike) or frequencies in ("counts", "zipf"):
        return frequencies
    return file_identity(frequencies)


# --- what is shown of them ---


@dataclass(frozen=True)
class Report:
    """The results of a reproduction.

    Attributes:
        cells: One for each row and task, as they are kept in the folder of results.
        settings: All that decided what came out.
        tables: Which tables are shown.
        drawn: Whether the figure lies in the folder of results.
    """

    cells: Sequence[Result]
    settings: Mapping[str, Any]
    tables: Sequence[str] = tuple(TABLES)
    drawn: bool = False

    def cell(self, row: str, task: str) -> Result | None:
        """The results of a row on a task, if they were computed."""
        return next((cell for cell in self.cells if (cell["row"], cell["task"]) == (row, task)), None)

    def text(self) -> str:
        """The tables, for a terminal."""
        return self._printed(markdown=False)

    def markdown(self) -> str:
        """The tables as Markdown."""
        return self._printed(markdown=True)

    def json(self) -> str:
        """Everything but the scores of single pairs."""
        kept = [{k: v for k, v in cell.items() if k not in ("cosines", "gold")} for cell in self.cells]
        return as_json({"settings": self.settings, "cells": kept})

    def figure(self, kind: str = "png") -> bytes:
        """Figure 2: the test set of STSBenchmark against n_h, for SIF and LAES-RES.

        Args:
            kind: `"png"`, `"svg"`, or another format of matplotlib.

        Returns:
            The content of a file.

        Raises:
            ValueError: One of the two rows was not computed.
            ImportError: matplotlib is not installed.
        """
        figure, (axes,) = new_figure(7, 4.2)
        for row, colour in zip(TABLES["figure-2"], ("tab:orange", "tab:blue"), strict=True):
            cell = self.cell(row, "STSBenchmark")
            if cell is None:
                raise ValueError(f"figure 2 needs the row {row}")
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
        return rendered(figure, kind)

    def _printed(self, markdown: bool) -> str:
        return printed_tables(self._tables(), markdown=markdown)

    def _tables(self) -> Iterator[tuple[str, list[str], list[list[str]]]]:
        for task, name in TASKS.items():
            if "I" in self.tables and (rows := list(self._table_1(task))):
                header = ["model", "n_h paper", "n_h"]
                header += [column for split in SPLITS for column in (f"{split} paper", split)]
                header += ["95 % interval", f"less {BASELINE}"]
                yield f"Table I, {name}, cosine: Pearson x 100", header, rows
        if "II" in self.tables and (rows := list(self._table_2())):
            header = [
                "model",
                *(column for name in TASKS.values() for column in (name, "n_h", "95 % interval")),
            ]
            yield "Table II, test sets, cosine: Pearson x 100", header, rows

    def _table_1(self, task: str) -> Iterator[list[str]]:
        figures = published("laes")["tables"]["I"]
        for row in TABLES["I"]:
            cell = self.cell(row, task)
            if cell is None:
                continue
            paper = figures.get(row.partition(",")[0], {}).get(task, {})  # "SIF, evaluated set" is SIF there
            line = [row, _published(paper, "n_h"), _chosen(cell)]
            for split in SPLITS:
                line += [_published(paper, split), _percent(cell["splits"][split]["pearson"])]
            yield [*line, _interval(cell), self._less_baseline(cell)]

    def _less_baseline(self, cell: Result) -> str:
        """How much better than SIF on the test set, from the same pairs drawn for both."""
        baseline = self.cell(BASELINE, cell["task"])
        if baseline is None or baseline is cell:
            return MISSING
        low, high = bootstrap_difference(
            cell["cosines"],
            baseline["cosines"],
            cell["gold"],
            resamples=self.settings["resamples"],
            seed=self.settings["seed"],
        )
        both = [other["splits"]["test"]["pearson"] for other in (cell, baseline)]
        if None in both:
            return MISSING
        return differing({"value": 100 * (both[0] - both[1]), "low": 100 * low, "high": 100 * high})

    def _table_2(self) -> Iterator[list[str]]:
        found = [row for row in TABLES["II"] if any(self.cell(row, task) for task in TASKS)]
        if not found:
            return
        for row, figures in published("laes")["tables"]["II"].items():
            line = [f"{row}, paper"]
            for task in TASKS:
                line += [
                    _published(figures.get(task, {}), "test"),
                    _published(figures.get(task, {}), "n_h"),
                    MISSING,
                ]
            yield line
        for row in found:
            line = [row]
            for task in TASKS:
                cell = self.cell(row, task)
                line += [MISSING] * 3 if cell is None else [_test(cell), _chosen(cell), _interval(cell)]
            yield line


def _published(figures: Mapping[str, float], name: str) -> str:
    return str(figures.get(name, MISSING))


def _percent(value: float | None) -> str:
    return number(None if value is None else 100 * value)


def _test(cell: Result) -> str:
    return _percent(cell["splits"]["test"]["pearson"])


def _interval(cell: Result) -> str:
    test = cell["splits"]["test"]
    return between({key: 100 * test[key] for key in ("low", "high") if test[key] is not None})


def _chosen(cell: Result) -> str:
    return " ".join(str(cell[name]) for name in ("n_h", "combine") if cell[name] is not None) or MISSING
