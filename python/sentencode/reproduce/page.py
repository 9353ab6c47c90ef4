"""A page of results, as Markdown and a picture, from the `results.json` of a reproduction.

The numbers come from the results. A key `page` of the file holds what a person has to add:

| key | content |
| --- | --- |
| title, paper, verdict | the heading, the paper's short name, the same on all its pages, the conclusion |
| date, machine, commands | how the results were computed |
| budget | rows `[what, here, paper]`: how much of the paper's budget was used |
| setup | rows `[what, here, paper]` of other differences |
| claims | claims that are no findings: name, compared rows, paper, ours, verdict, why |
| why | claim, or compared rows -> what a verdict does not say |
| picture, alt | `points` with `labels` and a `line`, or `report`; without, the findings; its description |
| tables, folded | names of tables that are open, and of those that are folded |
| extra | tables with `title`, `header`, `rows`, which do not follow from the results |
| notes | sentences |
"""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._figures import new_figure, rendered
from ..errors import FormatError
from ..evaluation import published as published_figures
from ..files import as_path, read_json, whole_file
from . import claims
from .papers import PAPERS
from .report import Report
from .tables import MISSING, best_marked, filled_columns, markdown_table

__all__ = ["has_page", "index", "markdown", "write_pages"]

Content = dict[str, Any]
_BAR = 20  # characters
_ALT = "Differences: the paper's, ours with 95 % intervals, and what training gave"
_PAPER, _VERDICT = map(claims.CLAIM_HEADER.index, ("paper", "verdict"))
_VERDICTS = {"holds": "hold", "differs": "fail", "undecided": "undecided"}  # verdict -> its name in counts


def has_page(file: str | os.PathLike[str]) -> bool:
    """Whether a `results.json` has a key `page`. Files that only add to another page have none."""
    return "page" in read_json(as_path(file))


def write_pages(files: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Writes the page of each `results.json`, and its picture, next to it.

    Args:
        files: Files as `sentencode reproduce` writes them.

    Returns:
        The written files.

    Raises:
        ImportError: A page has a picture, and matplotlib is not installed.
        FormatError: A file has no results of a known family, as those of older versions.
    """
    written: list[Path] = []
    for path in map(as_path, files):
        content = _complete(_read(path))
        outputs = {path.with_suffix(".md"): markdown(content, path.stem).encode()}
        if _has_picture(content):
            outputs[path.with_suffix(".png")] = _picture(content)
        if _has_curves(content):
            outputs[path.with_name(f"{path.stem}-curve.png")] = _report(content, ("curve",)).figure()
        for output, data in outputs.items():
            with whole_file(output) as file:
                file.write(data)
        written += outputs
    return written


def markdown(content: Content, name: str = "results") -> str:
    """The page as Markdown.

    Args:
        content: Content of a `results.json`.
        name: Name of the page's picture and of its JSON file, without the suffix.
    """
    page, content = content.get("page", {}), _complete(content)
    parts = [
        f"# {page.get('title') or _citation(content)}",
        f"**{page.get('verdict') or _counted(content)}**",
    ]
    if _has_picture(content):
        parts.append(f"![{page.get('alt', _ALT)}]({name}.png)")
    if _has_curves(content):
        parts.append(f"![Scores against sentences seen in training]({name}-curve.png)")
    shown, rest = _claims(content)
    if shown:
        rules = [claims.rules(content["findings"])] if content["findings"] else []
        parts += ["## Claims", *rules, _text_table(claims.CLAIM_HEADER, shown)]
    if "budget" in page:
        parts += ["## Share of the paper's budget", _text_table(["", "here", "paper", "used"], _budget(page))]
    report, folded = (
        _report(content, page.get(key, default)) for key, default in (("tables", None), ("folded", ()))
    )
    for one, opened in ((report, True), (folded, False)):
        tables = (table for table in one.content() if table[2])
        parts += [_details(title, _table(header, rows), opened=opened) for title, header, rows in tables]
    if rest:
        parts.append(
            _details("Claims without a published difference", _text_table(claims.CLAIM_HEADER, rest))
        )
    for table in page.get("extra", ()):
        body = [_table(table["header"], table["rows"]), *table.get("notes", ())]
        parts.append(_details(table["title"], "\n".join(body)))
    parts.append(_details("How it was run", "\n".join(_run(content, name))))
    notes = dict.fromkeys([*page.get("notes", ()), *report.notes(), *folded.notes()])
    parts.append(_details("Notes", "".join(f"- {note}\n" for note in notes)))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def index(files: Sequence[str | os.PathLike[str]]) -> str:
    """The table of all papers: their pages, counts of verdicts, the share of the paper's budget.

    Verdicts on claims without a published figure have a column of their own. Papers are in the order of their
    numbers. Cells have the counts of each page: first of that with the paper's shortest name and the least
    share of the budget.

    Args:
        files: As for `write_pages`; those without a page or a paper are left out.
    """
    papers: dict[str, list[tuple[Path, Content]]] = {}
    contents = [(path, _read(path)) for path in map(as_path, files)]
    for path, content in sorted(contents, key=lambda one: _paper(one[1])):
        if "paper" in content.get("page", {}):
            papers.setdefault(_paper(content), []).append((path, _complete(content)))
    rows = []
    for pages in papers.values():
        pages.sort(key=lambda one: (len(one[1]["page"]["paper"]), _share(one[1])))
        name = pages[0][1]["page"]["paper"]
        cells: list[list[str]] = []
        for path, content in pages:
            further = content["page"]["paper"].removeprefix(name).strip(", ") or "trained for longer"
            cells.append([f"[{further if cells else name}]({path.stem}.md)", *_index_cells(content)])
        *columns, of = zip(*cells, strict=True)
        row = ["; ".join(MISSING if set(one) == {MISSING} else one) for one in columns]
        rows.append([*row[:-1], f"{row[-1]} ({'; '.join(dict.fromkeys(of))})"])
    header = [
        "paper",
        *_VERDICTS.values(),
        "claims without a published figure",
        "share of the paper's budget",
    ]
    return _text_table(header, rows)


def _index_cells(content: Content) -> list[str]:
    """The counts of verdicts of a page, the share of the paper's budget, and of what it is."""
    published, others = Counter[str](), Counter[str]()
    for cells in itertools.chain(*_claims(content)):
        (others if cells[_PAPER] == MISSING else published)[cells[_VERDICT]] += 1
    further = [f"{others[verdict]} {name}" for verdict, name in _VERDICTS.items() if others[verdict]]
    (what, *_), used = content["page"]["budget"][0], _budget(content["page"])[0][-1]
    return [
        *(str(published[verdict]) for verdict in _VERDICTS),
        ", ".join(further) or MISSING,
        used.split("`")[-1].strip(),
        what,
    ]


def _paper(content: Content) -> str:
    """The number of the paper; families without one come last."""
    return PAPERS.get(content["family"], str(content["family"]))


def _share(content: Content) -> float:
    """The share of the paper's budget, by the first row of the budget."""
    _, here, paper = content["page"]["budget"][0]
    return float(here / paper)


def _read(path: Path) -> Content:
    """The content of a `results.json`.

    Raises:
        FormatError: It has no results of a known family, or a page of a paper without a budget.
    """
    content: Content = read_json(path)
    if not isinstance(content, dict) or content.get("family") is None:
        raise FormatError(f"{path} does not name its family: run sentencode reproduce with --resume once")
    if _family(content) is None:
        raise FormatError(f"{path}: there is no family {content['family']!r}")
    if not {"rows", "cells"} & content.keys():
        raise FormatError(f"{path} has no rows")
    if "paper" in (page := content.get("page", {})) and not page.get("budget"):
        raise FormatError(f"{path}: page: a paper requires a budget, [[what, here, in the paper], ...]")
    return content


def _family(content: Content) -> Any:
    """The family of the results; None if there is none of that name."""
    module = str(content["family"]).replace("-", "_")
    if not module.isidentifier() or importlib.util.find_spec(f"{__package__}.{module}") is None:
        return None
    return getattr(importlib.import_module(f".{module}", __package__), "FAMILY", None)


def _complete(content: Content) -> Content:
    """The content with the findings of tables, which follow from the rows."""
    stored = [finding for finding in content.get("findings", ()) if "unit" not in finding]
    report = _report(content, None)
    tables = (finding for table in report.tables.values() for finding in table.findings(report))
    return {**content, "findings": [*stored, *tables]}


def _report(content: Content, tables: Sequence[str] | None) -> Report:
    results = content.get("rows", content.get("cells"))
    report: Report = _family(content).report(
        results, content["settings"], tables, content.get("findings", ())
    )
    return report


def _citation(content: Content) -> str:
    family = content["family"]
    if family not in PAPERS:
        return f"sentencode reproduce {family}"
    return published_figures(PAPERS[family])[0].paper.citation.rstrip(".")


def _counted(content: Content) -> str:
    """The counts of verdicts, as a sentence."""
    counts = Counter(finding["verdict"] for finding in _published(content))
    return ", ".join(f"{count} claims: {verdict}" for verdict, count in counts.most_common()) or "Results"


def _published(content: Content) -> list[Content]:
    """The findings with a published difference; all findings if none has one."""
    findings: list[Content] = content["findings"]
    return [finding for finding in findings if finding.get("paper") is not None] or findings


def _claims(content: Content) -> tuple[list[list[str]], list[list[str]]]:
    """The cells of the claims; those that the paper has a difference for, and the others."""
    page = content.get("page", {})
    parts: tuple[list[list[str]], list[list[str]]] = ([], [])
    for finding in content["findings"]:
        cells = claims.claim_cells(finding)
        why = page.get("why", {})
        cells[-1] = "; ".join(filter(None, [cells[-1], why.get(cells[1], why.get(cells[0]))]))
        parts[finding.get("paper") is None].append(cells)
    shown, rest = parts if parts[0] else (parts[1], [])
    added = [[*cells[:3], MISSING, MISSING, *cells[3:]] for cells in page.get("claims", ())]
    return [*shown, *added], rest


def _budget(page: Content) -> list[list[str]]:
    """Rows of the budget, with the used share as a bar and in percent."""
    rows = []
    for what, here, paper in page["budget"]:
        share = here / paper
        bar = ("█" * max(1, round(_BAR * min(1, share)))).ljust(_BAR, "░")
        percent = f"{share:.0%}" if share > 0.1 else f"{100 * share:.2g}%"
        rows.append([what, f"{here:,}", f"{paper:,}", f"`{bar}` {percent}".replace("%", " %")])
    return rows


def _run(content: Content, name: str) -> Iterator[str]:
    """The commands, the date and the machine, and what differs from the paper."""
    page = content.get("page", {})
    if "date" in page:
        yield f"Date: {page['date']}. Machine: {page['machine']}.\n"
    for command in page.get("commands", ()):
        yield f"```\n{command}\n```\n"
    yield f"[{name}.json]({name}.json) has {_stored(content)}."
    yield f"`sentencode reproduce page {name}.json` writes this page.\n"
    if "setup" in page:
        yield _text_table(["", "here", "paper"], page["setup"])


def _stored(content: Content) -> str:
    """What the JSON file has."""
    results = content["rows"] if "rows" in content else content["cells"]
    results = [result for result in results if "missing" not in result]
    runs: dict[str, list[Content]] = {}  # scores of each seed
    for result in results if any(result.get("seed") for result in results) else ():
        scores = {name: one["value"] for name, one in result["scores"].items() if "low" in one}
        runs.setdefault(result["row"], []).append(scores)
    several = [scores for scores in runs.values() if len(scores) > 1]
    each = [any(one != scores[0] for one in scores) for scores in several]
    numbers = "all numbers" if not several else "the scores of each seed"
    if not all(each):
        numbers = "the means over seeds (the scores of each were not stored)"
        numbers = "the scores of each seed, and of some rows " * any(each) + numbers
    return numbers + " and the training times" * any("minutes" in result for result in results)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    header, rows = filled_columns(header, rows)
    return markdown_table(header, best_marked(header, rows))


def _text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text, with all columns aligned left."""
    return _table(header, rows).replace("---:", "---")


def _details(title: str, body: str, *, opened: bool = False) -> str:
    """A section that readers open and close."""
    return f"<details{' open' * opened}>\n<summary>{title}</summary>\n\n{body.strip()}\n\n</details>"


# Pictures.


def _has_picture(content: Content) -> bool:
    return bool(content["findings"] or content.get("page", {}).get("picture"))


def _has_curves(content: Content) -> bool:
    return any(result.get("curve") for result in content.get("rows", ()))


def _picture(content: Content) -> bytes:
    """The page's picture as PNG."""
    spec = content.get("page", {}).get("picture")
    if spec == "report":
        return _report(content, None).figure()
    if spec is not None:
        return rendered(_points(**spec), "png")
    return rendered(claims.forest_plot(_published(content)), "png")


def _points(points: Sequence[tuple[str, float, int]], labels: Mapping[str, str], line: float) -> Any:
    """A figure of points, each a name, a value and a colour, one below the other, and a vertical line."""
    figure, (axes,) = new_figure(7, 0.9 + 0.26 * len(points))
    axes.set(**labels)
    for y, (_, value, group) in enumerate(points):
        axes.plot(value, y, "o", color=f"C{group}")
        axes.annotate(str(value), (value, y), (6, -3), textcoords="offset points", fontsize=8)
    axes.set_yticks(range(len(points)), [name for name, *_ in points], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.grid(alpha=0.3)
    axes.axvline(line, color="0.6", lw=0.8)
    return figure
