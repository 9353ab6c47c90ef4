"""Self-contained HTML reports of one or several encoders."""

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
from .base import BaseReport
from .charts import FEWEST_MODELS, Block, charts, correlations, heat_map_columns, trade_offs
from .html_tables import heading, headline_tables, other_tables, subset_tables, table, table_row
from .markup import Child, Markup, element
from .measures import Extra, Measure, measures, renamed, unique

__all__ = ["write_html"]

_MAX_VALUES = 50  # of a detail that is shown


def write_html(
    reports: Sequence[BaseReport], path: str | os.PathLike[str], *, extra: Extra | None = None
) -> None:
    """Write a self-contained HTML file that compares reports with each other and with published scores.

    It has sortable tables, bars with intervals, correlations between measures over encoders (of eight or
    more), quality against speed with the Pareto front, and the protocols. Charts need matplotlib; without it
    the file has tables only.

    Args:
        reports: One report per encoder; their names must differ.
        path: The file, which is written atomically.
        extra: Further scores by encoder, as `{"attn": {"BLEU": 31.2, "heads": 4}}`, for the correlations.

    Raises:
        ValueError: There is no report, two have the same name, or `extra` names an encoder without a report.

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
    named = unique(reports)
    text = _page(named, renamed(extra, reports, named))
    with whole_file(path, follow_link=True) as file:
        file.write(text.encode("utf-8", "backslashreplace"))  # names of files may be invalid UTF-8


def _page(reports: list[BaseReport], extra: Extra | None) -> str:
    names = [report.encoder for report in reports]
    title = f"Evaluation of {names[0] if len(names) == 1 else f'{len(names)} encoders'}"
    all_measures = measures(reports)
    charts = importlib.util.find_spec("matplotlib") is not None
    sections: dict[str, tuple[str, Sequence[Child]]] = {
        "figures": ("Figures", headline_tables(reports, all_measures)),
        "bars": ("Bars", _bars(reports, all_measures) if charts else []),
        "subsets": ("Subsets and splits", subset_tables(all_measures, names)),
        "all": ("All other figures", other_tables(all_measures, names)),
        "curves": ("Curves", _curves(reports) if charts else []),
        "correlations": ("Correlations between measures", _correlations(reports, extra, charts)),
        "speed": ("Quality and speed", _speed(reports, charts)),
        "protocols": ("Protocols and notes", _protocols(reports, extra)),
    }
    # Load no other file, even if names of encoders contain markup.
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
            None if charts else element("p", "Charts need matplotlib: pip install 'sentencode[plot]'."),
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


def _differences(reports: list[BaseReport]) -> Markup | None:
    """A warning if protocols differ."""
    protocols = {str(report.facts.get("protocol")) for report in reports}
    if len(protocols) < 2:
        return None
    text = f"The protocols differ ({', '.join(sorted(protocols))}): the scores are not comparable."
    return element("p", text, class_="warning")


# --- charts


def _chart(caption: str, figure: Any, description: str) -> Markup:
    """A chart as an embedded SVG image with alternative text."""
    code = base64.b64encode(rendered(figure, "svg")).decode("ascii")
    picture = element("img", src=f"data:image/svg+xml;base64,{code}", alt=description)
    return element("figure", element("figcaption", caption), picture)


def _bars(reports: list[BaseReport], all_measures: list[Measure]) -> list[Markup]:
    if not any(measure.headline for measure in all_measures):
        return []
    caption = "The scores of the table above, with their intervals"
    return [_chart(caption, plots.bars(reports), "Bars of the scores in the table above")]


def _curves(reports: list[BaseReport]) -> list[Markup]:
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


def _correlations(reports: list[BaseReport], extra: Extra | None, charts: bool) -> list[Markup]:
    columns, groups = heat_map_columns(reports, extra)
    models = len(set().union(*columns.values()))
    if models < FEWEST_MODELS:
        text = (
            f"Correlations between measures need at least {FEWEST_MODELS} encoders to be meaningful; this "
            f"report has {models}."
        )
        return [element("p", text)]
    heat = correlations(columns, groups, fewest=FEWEST_MODELS)
    if len(heat.names) < 2:
        return [element("p", "There is only one measure.")]
    intro = (
        f"Pearson's correlation over {heat.models} encoders between the scores of tasks"
        f"{' and further scores' if extra else ''}. Over few encoders even large correlations are uncertain."
    )
    parts = [element("p", intro)]
    if charts:
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
    headings = [heading(text) for text in ("measures", "mean", "deviation", "pairs")]
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
        rows.append(table_row(name, [*cells, element("td", str(block.pairs), data_value=str(block.pairs))]))
    return table(None, caption, headings, rows)


def _speed(reports: list[BaseReport], charts: bool) -> list[Child]:
    trades = trade_offs(reports)
    compared = any(len(trade.points) > 1 for trade in trades)
    shown = []
    if compared and charts:
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


def _protocols(reports: list[BaseReport], extra: Extra | None) -> list[Child]:
    shown: list[Child] = [
        element(
            "p",
            "Averages have a paper's name only if all of its tasks are complete. † Files of another size "
            "than published were accepted. The tooltip of – has the reason.",
        )
    ]
    for report in reports:
        facts = [(key.replace("_", " "), _fact(value)) for key, value in report.facts.items()]
        facts += [(key, _fact(value)) for key, value in (extra or {}).get(report.encoder, {}).items()]
        notes = [element("p", text, class_="warning") for text in report.warnings()]
        notes += [element("p", f"{task}: not run, {why}") for task, why in report.skipped.items()]
        shown += [element("h3", report.encoder), _definitions(facts), *notes, _details(report)]
    return shown


def _details(report: BaseReport) -> Markup | None:
    """Details of each task: penalties, gradients, seconds, without values of single examples."""
    rows = {
        name: {key: value for key, value in result.details.items() if _longest(value) <= _MAX_VALUES}
        for name, result in report.results.items()
        if result.details
    }
    keys = list(dict.fromkeys(key for details in rows.values() for key in details))
    if not keys:
        return None
    lines = [
        table_row(
            name,
            [_detail(details[key]) if key in details else element("td", class_="none") for key in keys],
        )
        for name, details in rows.items()
    ]
    headings = [heading("task"), *(heading(key.replace("_", " ")) for key in keys)]
    return table(None, f"Details of the evaluation of {report.encoder}", headings, lines)


def _longest(value: Any) -> int:
    """Length of the longest row in a detail."""
    if isinstance(value, Mapping):
        return max(map(_longest, value.values()), default=0)
    return len(value) if isinstance(value, list | tuple | np.ndarray) else 0


def _detail(value: Any) -> Markup:
    """A cell; long values, such as hashes, are shortened."""
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
