"""A report of one or several encoders as one file that needs no other."""

from __future__ import annotations

import base64
import importlib.util
import math
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from ..._figures import rendered
from ...files import whole_file
from . import plots
from .charts import FEWEST_MODELS, Block, charts, correlations, heat_map_columns, trade_offs
from .findings import Findings
from .markup import Child, Markup, element
from .measures import CORRELATION, COUNT, PLAIN, Cell, Extra, Measure, averages, measures, renamed, unique
from .published import ANOTHER_PROTOCOL, PublishedFigure
from .tables import percent

__all__ = ["write_html"]

_PARTS = {
    "mean": "mean of subsets",
    "wmean": "mean of subsets, weighted by size",
    "pooled": "all pairs pooled",
}


_DIRECTIONS = {"i2t": "captions of an image (i2t)", "t2i": "the image of a caption (t2i)"}
_MOST_SHOWN = 50  # values in a row of a detail


def write_html(
    reports: Sequence[Findings], path: str | os.PathLike[str], *, extra: Extra | None = None
) -> None:
    """Writes one HTML file that shows reports beside each other, and beside what was published.

    It has tables that sort by a click, bars with intervals, the correlations between measures over encoders
    (of eight or more), quality against speed with the Pareto front, and how all of it was measured. It loads
    nothing: no network, no other file.

    Args:
        reports: One of each encoder; their names must differ.
        path: The file; it is written whole or not at all.
        extra: By encoder, what else is known of it, as `{"attn": {"BLEU": 31.2, "heads": 4}}`: columns of the
            correlations.

    Raises:
        ValueError: There is no report, two are of one name, or `extra` names an encoder that has none.

    Example:
        >>> import pathlib, tempfile
        >>> from sentencode.evaluation import Report, TaskResult, write_html
        >>> report = Report("mine", {"MR": TaskResult("MR", {"acc": 77.5, "ntest": 10662})})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_html([report], pathlib.Path(folder, "report.html"))
        ...     text = pathlib.Path(folder, "report.html").read_text(encoding="utf-8")
        >>> "77.50" in text
        True
    """
    given = unique(reports)
    text = _page(given, renamed(extra, reports, given))
    with whole_file(path, follow_link=True) as file:
        file.write(text.encode("utf-8", "backslashreplace"))  # names of files may be no UTF-8


def _page(reports: list[Findings], extra: Extra | None) -> str:
    names = [report.encoder for report in reports]
    title = f"Evaluation of {names[0] if len(names) == 1 else f'{len(names)} encoders'}"
    found = measures(reports)
    drawn = importlib.util.find_spec("matplotlib") is not None
    sections: dict[str, tuple[str, Sequence[Child]]] = {
        "figures": ("Figures", _headlines(reports, found)),
        "bars": ("Bars", _bars(reports, found) if drawn else []),
        "subsets": ("Subsets and splits", _subsets(found, names)),
        "all": ("All other figures", _others(found, names)),
        "curves": ("Curves", _curves(reports) if drawn else []),
        "correlations": ("Correlations between measures", _correlations(reports, extra, drawn)),
        "speed": ("Quality and speed", _speed(reports, drawn)),
        "protocols": ("Protocols and notes", _protocols(reports, extra)),
    }
    # No other file may be loaded, whatever the names of encoders are.
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", _resource("report.css")),
    )
    body = element(
        "body",
        element(
            "header",
            element("button", "light / dark", type="button", class_="theme"),
            element("h1", title),
            element("p", ", ".join(names)) if len(names) > 1 else None,
            None if drawn else element("p", "Charts need matplotlib: pip install 'sentencode[plot]'."),
            _differences(reports),
            element(
                "nav",
                (element("a", name, href=f"#{key}") for key, (name, shown) in sections.items() if shown),
                aria_label="Sections",
            ),
        ),
        element(
            "main",
            (
                element("section", element("h2", name), shown, id=key)
                for key, (name, shown) in sections.items()
                if shown
            ),
        ),
        element("script", _resource("report.js")),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _resource(name: str) -> Markup:
    return Markup(resources.files("sentencode").joinpath(f"data/{name}").read_text(encoding="utf-8"))


def _differences(reports: list[Findings]) -> Markup | None:
    """A warning where reports were not made in the same way."""
    protocols = {str(report.facts.get("protocol")) for report in reports}
    if len(protocols) < 2:
        return None
    text = f"The encoders were judged by different protocols ({', '.join(sorted(protocols))}): their figures "
    return element("p", f"{text}do not compare.", class_="warning")


# --- tables


def _headlines(reports: list[Findings], found: list[Measure]) -> list[Markup]:
    """Encoders as rows, tasks and averages as columns, and below them the papers' systems."""
    columns = [measure for measure in found if measure.headline] + averages(reports)
    if not columns:
        return [element("p", "No task has a figure.")]
    best = [_best(column) if len(reports) > 1 else None for column in columns]
    rows = []
    for report in reports:
        cells = [
            _cell(column, column.cells.get(report.encoder), _why_not(report, column), best=top)
            for column, top in zip(columns, best, strict=True)
        ]
        rows.append(_row(report.encoder, cells))
    rows += _published_rows(columns)
    headings = [_heading(column.title, _explained(column)) for column in columns]
    caption = (
        "Accuracies in percent, correlations times 100, below each its interval "
        f"({_confidence(reports)}, bootstrap). STS years: the mean of the subsets' Pearson correlations, "
        "weighted by their sizes; the papers do not tell how theirs is formed. Learnt: by a regression on "
        "the task's training pairs; cosine: with nothing trained; the two do not compare."
    )
    if any(figure.learnt for column in columns for figure in column.published):
        caption += f" ‡ {ANOTHER_PROTOCOL}"
    table = _table("headlines", caption, [_heading("encoder"), *headings], rows)
    choices = {"none": "none", "own": "the five papers' own systems", "all": "all systems they print"}
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
    return [controls if any(column.published for column in columns) else Markup(), table]


def _best(measure: Measure) -> float | None:
    values = [cell.value for cell in measure.cells.values() if math.isfinite(cell.value)]
    return max(values, default=None)


def _explained(measure: Measure) -> str:
    if measure.tasks:
        tasks = ", ".join(measure.tasks)
        unit = f"{measure.figure}, {measure.unit}"
        return unit if tasks in measure.task else f"{unit}; over {tasks}"
    return f"{' '.join(filter(None, (measure.part, measure.figure)))}, {measure.unit}"


def _why_not(report: Findings, measure: Measure) -> str:
    if measure.tasks:
        return "a task is missing"
    if measure.task in report.results:
        return report.results[measure.task].error or "no such figure"
    return report.skipped.get(measure.task, "not asked for")


def _published_rows(columns: list[Measure]) -> list[Markup]:
    """A row for each system that a paper prints, whichever of its tables it is in."""
    systems: dict[tuple[Any, ...], dict[int, PublishedFigure]] = {}
    for i, column in enumerate(columns):
        for figure in column.published:
            key = (figure.paper.id, figure.system, figure.size or 0, figure.heads or 0)
            systems.setdefault(key, {}).setdefault(i, figure)
    rows = []
    for _, figures in sorted(systems.items(), key=lambda item: item[0]):
        one = next(iter(figures.values()))
        settings = [f"{one.size} dimensions" if one.size else "", _heads(one.heads)]
        tables = ", ".join(dict.fromkeys(figure.table for figure in figures.values()))
        notes = dict.fromkeys(figure.notes for figure in figures.values() if figure.notes)
        source = f"{_authors(one)}, table {tables}"
        label = ", ".join(filter(None, (one.system, *settings)))
        cells = []
        for i in range(len(columns)):
            if i in figures:
                figure = figures[i]
                value, shown = _as_shown(figure)
                title = f"{figure.paper.citation} Table {figure.table}: {figure.printed}"
                if figure.learnt:
                    title = f"{title}, under another protocol."
                bold = element("b", shown, " ‡" if figure.learnt else None)
                cells.append(element("td", bold, data_value=value, title=f"{title} {figure.notes}".strip()))
            else:
                cells.append(element("td", class_="none"))
        own = "own" if any(figure.own for figure in figures.values()) else "other"
        rows.append(_row(label, cells, small="; ".join([source, *notes]), class_=f"published {own}"))
    return rows


def _heads(count: int | None) -> str:
    return "" if count is None else f"{count} head{'s' if count > 1 else ''}"


def _authors(figure: PublishedFigure) -> str:
    first = figure.paper.authors.replace(" and ", ", ").split(", ")[0].split()[-1]
    return f"{first} et al. ({figure.paper.year})"


def _as_shown(figure: PublishedFigure) -> tuple[float, str]:
    """A figure times 100 where it is a correlation, with the digits that were printed and no more."""
    if figure.unit != "correlation":
        return figure.value, figure.printed
    digits = max(len(figure.printed.partition(".")[2]) - 2, 0)
    return 100 * figure.value, f"{100 * figure.value:.{digits}f}"


def _subsets(found: list[Measure], names: list[str]) -> list[Markup]:
    """One table for each task of several parts: its parts as rows."""
    tables = []
    for task in dict.fromkeys(measure.task for measure in found if measure.part):
        of_task = [measure for measure in found if measure.task == task and measure.part]
        rows: dict[str, dict[str, Measure]] = {}
        for measure in of_task:
            figure, _, kind = measure.figure.partition(".")
            name = _PARTS.get(kind, kind) if kind else _DIRECTIONS.get(measure.part, measure.part)
            rows.setdefault(name, {})[figure] = measure
        units = {figure: measure.unit for row in rows.values() for figure, measure in row.items()}
        sized = units.pop("nsamples", None) is not None
        headings = [_heading("pairs")] if sized else []
        headings += [_heading(name, f"{figure}, {unit}") for figure, unit in units.items() for name in names]
        lines = []
        for part, row in rows.items():
            cells = [
                _cell(row[f], row[f].cells.get(name), "no figure")
                if f in row
                else element("td", class_="none")
                for f in units
                for name in names
            ]
            if sized:
                counted = row["nsamples"].cells.values() if "nsamples" in row else ()
                cells.insert(0, _sizes_cell({int(cell.value) for cell in counted}))
            lines.append(_row(part, cells))
        scored = of_task[0].scored or "cosine"
        what = f"{'cosines' if scored == 'cosine' else scored} against the scores that people gave"
        if CORRELATION not in units.values():
            what = "recalls at 1, 5 and 10, and the median rank (medr)"
        table = _table(None, f"{task}: {what}", [_heading("part"), *headings], lines)
        tables += [element("h3", task), table]
    return tables


def _sizes_cell(sizes: set[int]) -> Markup:
    if not sizes:
        return element("td", class_="none")
    return element("td", " or ".join(f"{size:,}" for size in sorted(sizes)), data_value=float(max(sizes)))


def _others(found: list[Measure], names: list[str]) -> list[Markup]:
    """What the two kinds of tables above do not show."""
    left = [measure for measure in found if not measure.part and not measure.headline]
    if not left:
        return []
    rows = [
        _row(
            measure.label,
            [_cell(measure, measure.cells.get(name), "no figure") for name in names],
            small=measure.unit,
        )
        for measure in left
    ]
    caption = "dev: the figure by which settings were chosen; ndev and ntest: how many examples"
    return [_table(None, caption, [_heading("figure"), *map(_heading, names)], rows)]


def _cell(measure: Measure, cell: Cell | None, why_not: str, *, best: float | None = None) -> Markup:
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
        class_="best" if cell.value == best else None,
        title=None if cell.p is None else f"p = {cell.p:.3g}",
    )


def _number(value: float, unit: str) -> str:
    if unit == COUNT:
        return f"{value:,.0f}"
    return f"{value:.4f}" if unit == PLAIN else f"{value:.2f}"


def _heading(text: str, small: str = "") -> Markup:
    return element(
        "th",
        element("button", text, type="button"),
        element("small", small) if small else None,
        scope="col",
    )


def _row(name: str, cells: Sequence[Markup], *, small: str = "", class_: str | None = None) -> Markup:
    below = element("small", f" {small}") if small else None
    return element("tr", element("th", name, below, scope="row", data_value=name), cells, class_=class_)


def _table(key: str | None, caption: str, headings: list[Markup], rows: list[Markup]) -> Markup:
    table = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", headings)),
        element("tbody", rows),
        class_="sortable",
        id=key,
    )
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _confidence(reports: list[Findings]) -> str:
    levels = sorted({float(report.facts.get("confidence", 0.95)) for report in reports})
    return " or ".join(map(percent, levels))


# --- charts


def _chart(caption: str, figure: Any, description: str) -> Markup:
    """A chart as a picture in the page, with what it shows in words for those who do not see it."""
    code = base64.b64encode(rendered(figure, "svg")).decode("ascii")
    picture = element("img", src=f"data:image/svg+xml;base64,{code}", alt=description)
    return element("figure", element("figcaption", caption), picture)


def _bars(reports: list[Findings], found: list[Measure]) -> list[Markup]:
    if not any(measure.headline for measure in found):
        return []
    caption = "The scores of the table above, with their intervals"
    return [_chart(caption, plots.bars(reports), "Bars of the scores in the table above")]


def _curves(reports: list[Findings]) -> list[Markup]:
    shown = charts(reports)
    if not shown:
        return []
    description = "; ".join(
        f"{encoder}, {chart.y_label} of {chart.name} by {chart.x_label}: "
        + ", ".join(f"{y:.2f} at {x:,.10g}" for x, y in zip(curve.x, curve.y, strict=True))
        for chart in shown
        for encoder, curve in chart.curves.items()
    )
    return [_chart("Bands are intervals.", plots.curves(reports), f"Curves. {description}")]


def _correlations(reports: list[Findings], extra: Extra | None, drawn: bool) -> list[Markup]:
    columns, groups = heat_map_columns(reports, extra)
    models = len(set().union(*columns.values()))
    if models < FEWEST_MODELS:
        text = (
            f"Correlations between measures need at least {FEWEST_MODELS} encoders, for over fewer they say "
            f"next to nothing; figures of {models} are here."
        )
        return [element("p", text)]
    heat = correlations(columns, groups, fewest=FEWEST_MODELS)
    if len(heat.names) < 2:
        return [element("p", "There is one measure: nothing to correlate it with.")]
    intro = (
        f"Pearson's correlation over {heat.models} encoders between what tables show of tasks"
        f"{' and the columns that were added' if extra else ''}. Over few encoders a correlation is "
        "uncertain, however large."
    )
    parts = [element("p", intro)]
    if drawn:
        description = "; ".join(
            f"{name} and {other} {heat.matrix[i, j]:.2f}"
            for i, name in enumerate(heat.names)
            for j, other in enumerate(heat.names[:i])
            if math.isfinite(heat.matrix[i, j])
        )
        figure = plots.heat_map(reports, extra)
        parts.append(_chart("The sign is a hue, the size its strength.", figure, f"Heat map. {description}"))
    parts.append(_block_table("Mean and deviation of the correlations of all pairs, by block", heat.blocks))
    return [*parts, _block_table("Each measure with all tasks but itself", heat.others)]


def _block_table(caption: str, blocks: Sequence[Block]) -> Markup:
    headings = [_heading(text) for text in ("measures", "mean", "deviation", "pairs")]
    rows = []
    for block in blocks:
        name = f"within {block.first}" if block.first == block.second else f"{block.first} and {block.second}"
        values = [(block.mean, "+.2f"), (block.deviation, ".2f")]
        cells = [
            element("td", format(value, form), data_value=repr(value))
            if math.isfinite(value)
            else element("td", "–", class_="none")
            for value, form in values
        ]
        rows.append(_row(name, [*cells, element("td", str(block.pairs), data_value=str(block.pairs))]))
    return _table(None, caption, headings, rows)


def _speed(reports: list[Findings], drawn: bool) -> list[Child]:
    trades = trade_offs(reports)
    compared = any(len(trade.points) > 1 for trade in trades)
    shown = []
    if compared and drawn:
        caption = "Filled: on the Pareto front, no encoder is both quicker and better."
        description = "; ".join(
            f"{p.encoder}, {trade.label}: {p.cell.value:.2f} at {p.speed:,.0f} sentences per second "
            f"({p.speeds.low:,.0f} to {p.speeds.high:,.0f} by task){' (on the front)' if p.front else ''}"
            for trade in trades
            for p in trade.points
        )
        shown.append(_chart(caption, plots.scatter(reports), f"Scatter plot. {description}"))
    elif not compared:
        text = (
            "Quality against speed needs two encoders whose speed was measured in one run, of several tasks."
        )
        shown.append(element("p", text))
    facts = [
        (report.encoder, f"{report.facts['sentences_per_second']:,.0f} sentences per second")
        for report in reports
        if report.facts.get("sentences_per_second")
    ]
    left_out = trades[0].left_out if trades else {}
    notes = (element("p", f"{name}: not shown, {why}.") for name, why in left_out.items())
    return [*shown, _definitions(facts), *notes]


# --- notes


def _protocols(reports: list[Findings], extra: Extra | None) -> list[Child]:
    shown: list[Child] = [
        element(
            "p",
            "Averages bear a paper's name only where all of its tasks are there. † Files of another size "
            "than published were accepted. – has a reason, which its title tells.",
        )
    ]
    for report in reports:
        facts = [(key.replace("_", " "), _fact(value)) for key, value in report.facts.items()]
        facts += [(key, _fact(value)) for key, value in (extra or {}).get(report.encoder, {}).items()]
        notes = [
            element("p", f"{task}: no figure, {result.error}", class_="warning")
            for task, result in report.results.items()
            if result.error is not None
        ]
        partial = [name for name, result in report.results.items() if result.details.get("partial")]
        if partial:
            text = f"Files of another size than published were accepted: {', '.join(partial)}."
            notes.append(element("p", text, class_="warning"))
        for task, result in report.results.items():
            if undefined := result.details.get("undefined"):
                text = f"{task}: correlations of {', '.join(undefined)} do not exist and count as 0."
                notes.append(element("p", text, class_="warning"))
        if short := report.short():
            notes.append(element("p", short, class_="warning"))
        notes += [element("p", f"{task}: not run, {why}") for task, why in report.skipped.items()]
        shown += [element("h3", report.encoder), _definitions(facts), *notes, _details(report)]
    return shown


def _details(report: Findings) -> Markup | None:
    """How each task was judged: penalties, gradients, seconds; no values of single examples."""
    rows = {
        name: {key: value for key, value in result.details.items() if _longest(value) <= _MOST_SHOWN}
        for name, result in report.results.items()
        if result.details
    }
    keys = list(dict.fromkeys(key for details in rows.values() for key in details))
    if not keys:
        return None
    lines = [
        _row(
            name,
            [_detail(details[key]) if key in details else element("td", class_="none") for key in keys],
        )
        for name, details in rows.items()
    ]
    headings = [_heading("task"), *(_heading(key.replace("_", " ")) for key in keys)]
    return _table(None, f"How {report.encoder} was judged", headings, lines)


def _longest(value: Any) -> int:
    """The length of the longest row in it."""
    if isinstance(value, Mapping):
        return max(map(_longest, value.values()), default=0)
    return len(value) if isinstance(value, list | tuple | np.ndarray) else 0


def _detail(value: Any) -> Markup:
    """A cell; of what is long, as a hash, the beginning."""
    shown = _fact(value)
    if len(shown) <= 60:
        return element("td", shown, data_value=_sort_key(value))
    return element("td", f"{shown[:12]}…", title=shown, data_value=_sort_key(value))


def _sort_key(value: Any) -> str | None:
    return repr(float(value)) if isinstance(value, int | float) and math.isfinite(value) else None


def _definitions(facts: list[tuple[str, str]]) -> Markup | None:
    if not facts:
        return None
    return element("dl", ((element("dt", key), element("dd", value)) for key, value in facts))


_FORMATS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "yes" if value else "no",
    int: lambda value: f"{value:,}",
    float: lambda value: f"{value:.6g}",
}


def _fact(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_fact, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_fact(one)}" for key, one in value.items())
    return _FORMATS.get(type(value), str)(value)
