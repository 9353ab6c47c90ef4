"""Tables of HTML reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .base import BaseReport
from .markup import Markup, element
from .measures import CORRELATION, COUNT, PLAIN, Cell, Measure, averages
from .published import ANOTHER_PROTOCOL, PublishedFigure
from .tables import percent
from .ties import tied_with_best

__all__ = ["heading", "headline_tables", "other_tables", "subset_tables", "table", "table_row"]

_PARTS = {
    "mean": "mean of subsets",
    "wmean": "mean of subsets, weighted by size",
    "pooled": "all pairs pooled",
}
_DIRECTIONS = {"i2t": "captions of an image (i2t)", "t2i": "the image of a caption (t2i)"}
_EMPTY = element("td", class_="none")


def headline_tables(reports: list[BaseReport], all_measures: list[Measure]) -> list[Markup]:
    """Encoders as rows, tasks and averages as columns, followed by the papers' systems."""
    columns = [measure for measure in all_measures if measure.headline] + averages(reports)
    if not columns:
        return [element("p", "No task has a figure.")]
    tied = tied_with_best(reports, columns) if len(reports) > 1 else [set[str]() for _ in columns]
    rows = []
    for report in reports:
        cells = [
            _cell(
                column,
                column.cells.get(report.encoder),
                _why_not(report, column),
                _mark(column, report, names),
            )
            for column, names in zip(columns, tied, strict=True)
        ]
        rows.append(table_row(report.encoder, cells))
    rows += _published_rows(columns)
    headings = [heading(column.title, _explained(column)) for column in columns]
    caption = (
        "Accuracies in percent, correlations times 100, below each its interval "
        f"({_confidence(reports)}, bootstrap). STS years: the mean of the subsets' Pearson correlations, "
        "weighted by size; the papers do not define theirs. Learnt: by a regression on the task's training "
        "pairs; cosine: without training; the two are not comparable."
    )
    if len(reports) > 1:
        caption += (
            " Underlined: the best of a column, and all that are tied with it: not significantly worse "
            f"({_confidence(reports)}, paired bootstrap, corrected by Holm's method). Scores without "
            "predictions of the same examples are not compared; then only the best is underlined."
        )
    if any(figure.learnt for column in columns for figure in column.published):
        caption += f" ‡ {ANOTHER_PROTOCOL}"
    scores = table("headlines", caption, [heading("encoder"), *headings], rows)
    choices = {"none": "none", "own": "the five papers' own systems", "all": "all systems of their tables"}
    controls = element(
        "fieldset",
        element("legend", "Published figures:"),
        (
            element(
                "label",
                element(
                    "input",
                    type="radio",
                    name="published",
                    value=value,
                    checked="checked" if value == "own" else None,
                ),
                f" {label}",
            )
            for value, label in choices.items()
        ),
        class_="controls",
    )
    return [controls if any(column.published for column in columns) else Markup(), scores]


def _mark(measure: Measure, report: BaseReport, tied: set[str]) -> str:
    """Whether an encoder is the best, or tied with it."""
    if report.encoder not in tied:
        return ""
    best = max(measure.cells[name].value for name in tied)
    return "best" if measure.cells[report.encoder].value == best else "tied with the best"


def _explained(measure: Measure) -> str:
    if measure.tasks:
        tasks = ", ".join(measure.tasks)
        unit = f"{measure.figure}, {measure.unit}"
        return unit if tasks in measure.task else f"{unit}; over {tasks}"
    return f"{' '.join(filter(None, (measure.part, measure.figure)))}, {measure.unit}"


def _why_not(report: BaseReport, measure: Measure) -> str:
    if measure.tasks:
        return "a task is missing"
    if measure.task in report.results:
        return report.results[measure.task].error or "no such figure"
    return report.skipped.get(measure.task, "not requested")


def _published_rows(columns: list[Measure]) -> list[Markup]:
    """A row for each system of a paper's tables."""
    systems: dict[tuple[Any, ...], dict[int, PublishedFigure]] = {}
    for i, column in enumerate(columns):
        for figure in column.published:
            key = (figure.paper.id, figure.system, figure.size or 0, figure.heads or 0)
            systems.setdefault(key, {}).setdefault(i, figure)
    rows = []
    for _, figures in sorted(systems.items(), key=lambda item: item[0]):
        first = next(iter(figures.values()))
        settings = [f"{first.size} dimensions" if first.size else "", _heads(first.heads)]
        tables = ", ".join(dict.fromkeys(figure.table for figure in figures.values()))
        notes = dict.fromkeys(figure.notes for figure in figures.values() if figure.notes)
        source = f"{_authors(first)}, table {tables}"
        label = ", ".join(filter(None, (first.system, *settings)))
        cells = [_published_cell(figures[i]) if i in figures else _EMPTY for i in range(len(columns))]
        own = "own" if any(figure.own for figure in figures.values()) else "other"
        rows.append(table_row(label, cells, small="; ".join([source, *notes]), class_=f"published {own}"))
    return rows


def _published_cell(figure: PublishedFigure) -> Markup:
    value, shown = _as_shown(figure)
    title = f"{figure.paper.citation} Table {figure.table}: {figure.printed}"
    if figure.learnt:
        title = f"{title}, under another protocol."
    bold = element("b", shown, " ‡" if figure.learnt else None)
    return element("td", bold, data_value=value, title=f"{title} {figure.notes}".strip())


def _heads(count: int | None) -> str:
    return "" if count is None else f"{count} head{'s' if count > 1 else ''}"


def _authors(figure: PublishedFigure) -> str:
    first = figure.paper.authors.replace(" and ", ", ").split(", ")[0].split()[-1]
    return f"{first} et al. ({figure.paper.year})"


def _as_shown(figure: PublishedFigure) -> tuple[float, str]:
    """A published score, times 100 for correlations, with the printed digits."""
    if figure.unit != "correlation":
        return figure.value, figure.printed
    digits = max(len(figure.printed.partition(".")[2]) - 2, 0)
    return 100 * figure.value, f"{100 * figure.value:.{digits}f}"


def subset_tables(all_measures: list[Measure], names: list[str]) -> list[Markup]:
    """A table for each task with parts, which are its rows."""
    tables = []
    for task in dict.fromkeys(measure.task for measure in all_measures if measure.part):
        task_measures = [measure for measure in all_measures if measure.task == task and measure.part]
        rows: dict[str, dict[str, Measure]] = {}
        for measure in task_measures:
            figure, _, kind = measure.figure.partition(".")
            name = _PARTS.get(kind, kind) if kind else _DIRECTIONS.get(measure.part, measure.part)
            rows.setdefault(name, {})[figure] = measure
        units = {figure: measure.unit for row in rows.values() for figure, measure in row.items()}
        sized = units.pop("nsamples", None) is not None
        headings = [heading("pairs")] if sized else []
        headings += [heading(name, f"{figure}, {unit}") for figure, unit in units.items() for name in names]
        lines = []
        for part, row in rows.items():
            cells = [
                _cell(row[f], row[f].cells.get(name), "no figure") if f in row else _EMPTY
                for f in units
                for name in names
            ]
            if sized:
                counted = row["nsamples"].cells.values() if "nsamples" in row else ()
                cells.insert(0, _sizes_cell({int(cell.value) for cell in counted}))
            lines.append(table_row(part, cells))
        scored = task_measures[0].scored or "cosine"
        what = f"{'cosines' if scored == 'cosine' else scored} against gold scores"
        if CORRELATION not in units.values():
            what = "recalls at 1, 5 and 10, and the median rank (medr)"
        scores = table(None, f"{task}: {what}", [heading("part"), *headings], lines)
        tables += [element("h3", task), scores]
    return tables


def _sizes_cell(sizes: set[int]) -> Markup:
    if not sizes:
        return _EMPTY
    return element("td", " or ".join(f"{size:,}" for size in sorted(sizes)), data_value=float(max(sizes)))


def other_tables(all_measures: list[Measure], names: list[str]) -> list[Markup]:
    """Scores that the tables above do not show."""
    left = [measure for measure in all_measures if not measure.part and not measure.headline]
    if not left:
        return []
    rows = [
        table_row(
            measure.label,
            [_cell(measure, measure.cells.get(name), "no figure") for name in names],
            small=measure.unit,
        )
        for measure in left
    ]
    caption = "dev: the score that selected settings; ndev and ntest: numbers of examples"
    return [table(None, caption, [heading("figure"), *map(heading, names)], rows)]


def _cell(measure: Measure, cell: Cell | None, why_not: str, mark: str = "") -> Markup:
    if cell is None:
        return element("td", "–", class_="none", title=why_not)
    if not math.isfinite(cell.value):
        return element("td", "not a number", class_="none")
    inner = [element("b", _number(cell.value, measure.unit), " †" if cell.partial else None)]
    if cell.deviation is not None:
        inner.append(element("small", f"± {_number(cell.deviation, measure.unit)}"))
    if cell.interval is not None:
        digits = 4 if measure.unit == PLAIN else 1
        inner.append(element("small", f"{cell.interval.low:.{digits}f} to {cell.interval.high:.{digits}f}"))
    return element(
        "td",
        inner,
        data_value=repr(cell.value),
        class_="best" if mark else None,
        title="; ".join(filter(None, [mark, "" if cell.p is None else f"p = {cell.p:.3g}"])) or None,
    )


def _number(value: float, unit: str) -> str:
    if unit == COUNT:
        return f"{value:,.0f}"
    return f"{value:.4f}" if unit == PLAIN else f"{value:.2f}"


def heading(text: str, small: str = "") -> Markup:
    """A column's heading, whose button sorts the table."""
    return element(
        "th",
        element("button", text, type="button"),
        element("small", small) if small else None,
        scope="col",
    )


def table_row(name: str, cells: Sequence[Markup], *, small: str = "", class_: str | None = None) -> Markup:
    """A row with its name in the first column."""
    below = element("small", f" {small}") if small else None
    return element("tr", element("th", name, below, scope="row", data_value=name), cells, class_=class_)


def table(key: str | None, caption: str, headings: list[Markup], rows: list[Markup]) -> Markup:
    """A sortable table."""
    content = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", headings)),
        element("tbody", rows),
        class_="sortable",
        id=key,
    )
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _confidence(reports: list[BaseReport]) -> str:
    levels = sorted({float(report.facts.get("confidence", 0.95)) for report in reports})
    return " or ".join(map(percent, levels))
