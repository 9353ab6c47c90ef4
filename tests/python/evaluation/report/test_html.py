"""The HTML report: complete, self-contained, escaped."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
import reports as made

import sentencode as se
from sentencode.evaluation import Interval, Report, TaskResult, write_html
from sentencode.evaluation.report.markup import Markup, element
from sentencode.evaluation.report.measures import measures

EVIL = """<script>alert("1")</script> & 'co' </style>"""


class Page(HTMLParser):
    """A parsed page; refuses unbalanced tags."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.code, self.rows = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, attrs)
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append((dict(attrs), []))
        if tag not in ("img", "input", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.code.append(data)
            return
        self.text.append(data)
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1][1].append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def three():
    tasks = [made.classes(f1=True), made.scores(), made.scores("halves", ("dev", "test"))]
    names = (("good", 0.1), (EVIL, 0.6), ("worst", 1.5))
    return [made.report(name, noise, tasks) for name, noise in names]


def page(tmp_path, reports, **options):
    write_html(reports, tmp_path / "report.html", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    return Page((tmp_path / "report.html").read_text(encoding="utf-8"))


def with_recalls(reports):
    """The reports with results of image-caption retrieval."""
    extended, random = [], np.random.default_rng(0)
    for report in reports:
        values = {way: dict(zip(RECALLS, random.uniform(10, 90, 4).tolist(), strict=True)) for way in WAYS}
        figures = {"devacc": 300.0, "acc": [tuple(values[way].values()) for way in WAYS], **values}
        intervals = {
            f"{way}.{key}": Interval(value - 1, value + 1)
            for way in WAYS
            for key, value in values[way].items()
        }
        details = {"epochs": 7, "ranks": {way: np.arange(30_000) for way in WAYS}}
        result = TaskResult("ImageCaptionRetrieval", figures, intervals, details=details)
        extended.append(replace(report, results={**report.results, result.task: result}))
    return extended


RECALLS, WAYS = ("r1", "r5", "r10", "medr"), ("i2t", "t2i")


def test_every_figure_is_in_it(tmp_path, three):
    reports = with_recalls(three)
    shown = page(tmp_path, reports)
    text = " ".join(shown.text)
    all_measures = measures(reports)
    names = {(measure.part, measure.figure) for measure in all_measures if "Retrieval" in measure.task}
    assert names >= {(way, key) for way in WAYS for key in RECALLS}
    assert len(all_measures) > 20
    for measure in all_measures:
        form = ",.0f" if measure.unit == "count" else ".4f" if not measure.unit else ".2f"
        for cell in measure.cells.values():
            assert format(cell.value, form) in text, measure.label
            if cell.interval is not None:
                assert f"{cell.interval.low:.1f} to {cell.interval.high:.1f}" in text, measure.label


def marks_of(html):
    """Column -> encoder -> title of the marked cells of the first table."""
    heading, *rows = html.rows[:4]
    assert [row[0][0]["scope"] for row in rows] == ["row"] * 3
    return {
        column[1][0].removesuffix(", cosine"): {
            row[0][1][0]: row[i][0]["title"] for row in rows if row[i][0].get("class") == "best"
        }
        for i, column in enumerate(heading)
        if i
    }


def test_encoders_that_are_tied_with_the_best_are_marked(tmp_path):
    tasks = [made.classes(), made.classes("other", 80), made.scores(), made.nested()]
    names = (("poor", 3.0), ("good", 0.05), ("nearly good", 0.06))
    reports = [made.report(name, noise, tasks) for name, noise in names]
    html = page(tmp_path, reports)
    marks, ranking = marks_of(html), se.rank(reports, resamples=200)
    assert len(ranking) == len(marks) == 5  # with the mean of the classifications
    figures = {report.encoder: report["nested"]["acc"] for report in reports}
    assert any(figures[row.encoder] != row.score for row in ranking["nested"])  # folds of 5 and 6
    for task, rows in ranking.items():
        best = {row.encoder for row in rows if row.score == rows[0].score}
        tied = {name: "best" if name in best else "tied with the best" for name in ranking.tied(task)}
        assert {name: title.partition(";")[0] for name, title in marks[task].items()} == tied
    assert "tied with the best" in marks["similar"].values()
    assert "all that are tied with it" in "".join(html.text)


@pytest.mark.parametrize("way", ["no predictions", "other examples", "other scores"])
def test_without_predictions_of_the_same_examples_the_best_is_marked(tmp_path, way):
    names = (("poor", 3.0), ("good", 0.05), ("nearly good", 0.06))
    reports = [made.report(name, noise, [made.scores()]) for name, noise in names]
    best = max(reports, key=lambda report: report["similar"].figure("all.pearson.wmean"))
    result = best["similar"]
    if way == "no predictions":
        changed = replace(result, predictions={})
    elif way == "other examples":
        parts = {name: replace(part, gold=part.gold[::-1]) for name, part in result.predictions.items()}
        changed = replace(result, predictions=parts)
    else:
        changed = replace(result, figures={**result.figures, "all": {"pearson": {"wmean": 0.9999}}})
    best.results["similar"] = changed
    assert marks_of(page(tmp_path, reports)) == {"similar": {best.encoder: "best"}}


def test_recalls_have_a_table(tmp_path, three):
    shown = page(tmp_path, with_recalls(three))
    (start,) = (
        i
        for i, row in enumerate(shown.rows)
        if len(row) == 1 + 4 * 3 and "".join(row[1][1]).endswith("r1, percent")
    )
    heading, *rows = shown.rows[start : start + 3]
    assert ["".join(cell[1]).split(", ")[-1] for cell in heading[1:]] == ["percent"] * 9 + ["rank"] * 3
    assert ["".join(row[0][1]) for row in rows] == [
        "captions of an image (i2t)",
        "the image of a caption (t2i)",
    ]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "ImageCaptionRetrieval: recalls at 1, 5 and 10, and the median rank (medr)" in text
    assert "ImageCaptionRetrieval: cosines" not in text
    assert "similar: cosines against gold scores" in text
    assert "29,999" not in text  # no rank of every query
    assert "29999" not in text


def test_pages_load_no_other_files(tmp_path, three):
    html = page(tmp_path, three, extra={EVIL: {EVIL: 1.0}})
    for tag, attrs in html.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "image", "use"), tag
        for name, value in attrs.items():
            assert name not in ("srcset", "action", "data", "style"), (tag, name)
            assert name != "src" or value.startswith("data:image/svg+xml;base64,")
            assert not name.startswith("on"), (tag, name)
            assert name != "href" or value.startswith("#")
    code = " ".join(html.code)
    assert not re.search(r"https?:|//\w+\.|@import|url\(|fetch\(|XMLHttp|import\(", code)
    (policy,) = (meta for meta in html.all("meta") if "http-equiv" in meta)
    assert "default-src 'none'" in policy["content"]


def test_names_are_escaped(tmp_path, three):
    html = page(tmp_path, three)
    assert len(html.all("script")) == len(html.all("style")) == 1
    assert "alert" not in " ".join(html.code)
    assert EVIL in "".join(html.text)


def test_accessibility(tmp_path, three):
    html = page(tmp_path, three)
    assert html.all("html") == [{"lang": "en"}]
    assert len(html.all("h1")) == 1
    assert len(html.all("table")) == len(html.all("caption")) > 3
    assert all(image["alt"] for image in html.all("img"))
    assert all(head["scope"] in ("row", "col") for head in html.all("th"))
    assert {link["href"][1:] for link in html.all("a")} == {section["id"] for section in html.all("section")}


def test_rows_are_as_long_as_headings(tmp_path, three):
    html = page(tmp_path, three)
    length = 0
    for row in html.rows:
        heading = row[0][0]["scope"] == "col"
        length = len(row) if heading else length
        assert len(row) == length


def svg_text(image):
    """The texts of a chart in the page."""
    code = base64.b64decode(image["src"].partition(",")[2])
    return [element.text for element in ElementTree.fromstring(code).iter() if element.tag.endswith("}text")]


def test_charts_show_names_as_they_are(tmp_path, three):
    pytest.importorskip("matplotlib")
    named = replace(three[0], encoder="\udcff $x^$ \x00")
    texts = [text for image in page(tmp_path, [*three, named]).all("img") for text in svg_text(image)]
    assert {EVIL, r"\udcff $x^$ \x00"} <= set(texts)


def test_without_matplotlib_there_are_tables(tmp_path, three, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = page(tmp_path, made.eight(three))
    text = " ".join(html.text)
    assert text.count("Charts need matplotlib: pip install 'sentencode[plot]'.") == 1
    assert not html.all("img")
    assert "Mean and deviation of the correlations" in text
    assert "sentences per second" in text


def whole(name, value, tasks):
    return Report(name, {task: TaskResult(task, {"acc": value, "ntest": 100}) for task in tasks})


def test_published_scores_are_shown(tmp_path):
    eight = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC", "SICKEntailment")
    similar = TaskResult("STSBenchmark", {"pearson": 0.71}, {"pearson": Interval(0.7, 0.72)})
    report = whole("mine", 80.5, eight)
    report.results["STSBenchmark"] = similar
    html = page(tmp_path, [report])
    heading = ["".join(text) for _, text in html.rows[0]]
    assert heading[1:10] == [
        *(f"{task}acc, percent" for task in eight),
        "STSBenchmark, learntpearson, correlation x 100",
    ]
    assert "macro of 8" in " ".join(heading)
    rows = {"".join(row[0][1]): row for row in html.rows if len(row) == len(heading)}
    name = next(name for name in rows if name.startswith("mean-max AAE "))
    cells = rows[name]
    assert "Zhang et al. (2018)" in name
    assert "".join(cells[1][1]) == "78.7 ‡"  # marked: another protocol
    assert "‡ Published under another protocol" in " ".join(html.text)
    assert cells[1][0]["title"].startswith("Minghua Zhang")
    infersent = next(row for name, row in rows.items() if name.startswith("InferSent, 4096"))
    assert "".join(infersent[9][1]) == "76 ‡"  # printed .76
    kinds = {tuple(row["class"].split()) for row in html.all("tr") if "class" in row}
    assert kinds == {("published", "own"), ("published", "other")}
    assert [choice["value"] for choice in html.all("input")] == ["none", "own", "all"]


def test_published_cosines_have_no_protocol_mark(tmp_path):
    """Only AvgSim has the mark, as two of its tasks are learnt."""
    pair = {"pearson": (0.5, 0.0), "spearman": (0.5, 0.0)}
    means = {"pearson": {"wmean": 0.5}, "spearman": {"wmean": 0.5}}
    report = Report(
        "mine",
        {f"STS{y}": TaskResult(f"STS{y}", {"a": pair, "b": pair, "all": means}) for y in range(12, 17)},
    )
    for name in ("SICKRelatedness", "STSBenchmark"):
        report.results[name] = TaskResult(name, {"pearson": 0.5, "spearman": 0.5})
    html = page(tmp_path, [report])
    heading = ["".join(text) for _, text in html.rows[0]]
    assert heading[1].startswith("STS12, cosine")
    (column,) = (i for i, text in enumerate(heading) if text.startswith("AvgSim, learnt and cosine"))
    rows = {"".join(row[0][1]): row for row in html.rows if len(row) == len(heading)}
    bag = next(row for name, row in rows.items() if name.startswith("GloVe-BOW"))
    assert "".join(bag[1][1]) == "52"
    assert "".join(bag[column][1]).endswith(" ‡")


def test_protocols_are_part_of_names_where_they_differ(tmp_path):
    """In rows and charts, also for the same encoder under two protocols."""
    reports = [
        Report("mine", {"MR": TaskResult("MR", {"acc": 70.0 + i})}, facts={"protocol": protocol})
        for i, protocol in enumerate(("optimum", "liblinear"))
    ]
    html = page(tmp_path, reports, extra={"mine": {"hours": 3}})
    names = {row[0][0].get("data-value") for row in html.rows}
    assert {"mine (optimum)", "mine (liblinear)"} <= names
    (bars,) = map(svg_text, html.all("img"))
    assert {"mine (optimum)", "mine (liblinear)"} <= set(bars)
    with pytest.raises(ValueError, match="2 reports are of an encoder called 'mine'"):
        write_html([reports[0], reports[0]], tmp_path / "report.html")


def test_incomplete_averages_do_not_have_a_papers_name(tmp_path):
    seven = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC")
    text = " ".join(page(tmp_path, [whole("mine", 80.5, seven)]).text)
    assert "mean of MR, CR, SUBJ, MPQA, SST2, TREC" in text
    assert "macro" not in text
    assert "AvgAcc" not in text


def test_correlations_need_eight(tmp_path, three):
    text = " ".join(page(tmp_path, three).text)
    assert "need at least 8 encoders to be meaningful; this report has 3." in text
    eight = made.eight(three)
    html = page(tmp_path, eight, extra={report.encoder: {"BLEU": i} for i, report in enumerate(eight)})
    (alt,) = (image["alt"] for image in html.all("img") if image["alt"].startswith("Heat map"))
    assert "BLEU and kind" in alt
    assert "BLEU and all tasks" in " ".join(html.text)
    with pytest.raises(ValueError, match="extra: there is no report of 'nobody'"):
        write_html(three[:2], tmp_path / "report.html", extra={"nobody": {"BLEU": 1}})


def test_speed(tmp_path, three):
    html = page(tmp_path, three)
    (alt,) = (image["alt"] for image in html.all("img") if image["alt"].startswith("Scatter"))
    assert "(on the front)" in alt
    for kind in ("kind acc, percent", "halves, cosine test pearson, correlation x 100"):
        speed = r"[\d.]+ at [\d,]+ sentences per second \([\d,]+ to [\d,]+ by task\)"
        assert re.search(f"good, [^:;]*: {speed}", alt), kind
    for key, why in (("run", "its speed was measured in another run"), ("speed_of_tasks", "measured once")):
        without = {name: value for name, value in three[0].facts.items() if name != key}
        text = " ".join(page(tmp_path, [replace(three[0], facts=without), *three[1:]]).text)
        assert re.search(f"good: not shown, [^.]*{why}", text)


def test_notes(tmp_path, three):
    def broken(sentences):
        return np.full((len(sentences), 2), np.nan)

    failed = se.evaluate(broken, made.classes(), name="broken")
    failed.skipped["MR"] = "files are missing"
    failed.facts["protocol"] = "liblinear"
    partial = made.report("partial", 0.3)
    partial["kind"].details |= {"partial": True, "gradient": 3e-4, "tolerance": 1e-5, "short": 2}
    text = "".join(page(tmp_path, [three[0], failed, partial]).text)
    assert "The protocols differ (fast, liblinear)" in text
    assert "kind: no figure, broken gave NaN or infinity" in text
    assert "MR: not run, files are missing" in text
    assert text.count("did not converge: kind 2 of ") == 1
    assert "(gradient up to 3.0e-04, tolerance 1e-05, gap up to " in text
    assert "kind: the number of examples is not the published one." in text
    assert f"{partial['kind']['acc']:.2f} †" in text


def test_figures_that_are_no_numbers(tmp_path):
    strange = Report("odd", {"mine": TaskResult("mine", {"acc": float("nan"), "devacc": float("inf")})})
    below = Report("low", {"mine": TaskResult("mine", {"acc": 3.0})})
    assert "not a number" in " ".join(page(tmp_path, [strange, below]).text)
    assert "No task has a figure" in " ".join(page(tmp_path, [Report("none")]).text)


def test_names_must_differ(tmp_path, three):
    with pytest.raises(ValueError, match="2 reports are of an encoder called 'good'"):
        three[0].to_html(tmp_path / "report.html", [three[0]])
    with pytest.raises(ValueError, match="there is no report to show"):
        write_html([], tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_reports_from_files_have_the_same_page(tmp_path, three):
    for i, report in enumerate(three):
        report.to_json(tmp_path / f"{i}.json")
    read = [Report.load(tmp_path / f"{i}.json") for i in range(3)]
    three[0].to_html(tmp_path / "a.html", three[1:])
    read[0].to_html(tmp_path / "b.html", read[1:])
    assert (tmp_path / "a.html").read_text() == (tmp_path / "b.html").read_text()


def test_elements_escape():
    assert element("p", "a<b", title='"') == '<p title="&quot;">a&lt;b</p>'
    assert (
        element("p", [Markup("<b></b>"), None, ["&"]], id=None, class_="x") == '<p class="x"><b></b>&amp;</p>'
    )


BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def in_browser(path, folder):
    """The page after its scripts have run, and the console."""
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *(f"--user-data-dir={folder}", "--enable-logging=stderr", "--virtual-time-budget=5000"),
            *("--dump-dom", path.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return Page(done.stdout), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.timeout(300)
@pytest.mark.skipif(BROWSER is None, reason="no browser without a window is there")
def test_in_a_browser(three, tmp_path):
    """When opened, and after clicks on a heading, the theme and the published scores."""
    path = tmp_path / "report.html"
    mr = TaskResult("MR", {"acc": 77.0}, {"acc": Interval(76, 78)})  # which papers have too
    for i, report in enumerate(three):
        report.results["MR"] = replace(mr, figures={"acc": 70.0 + i})
    try:
        write_html(three, path)
    finally:
        for report in three:
            del report.results["MR"]
    shown, console = in_browser(path, tmp_path / "profile")
    assert console == []
    (table,) = (attrs for attrs in shown.all("table") if attrs.get("id") == "headlines")
    assert table["class"].split() == ["sortable", "hide-others"]  # the script chose
    names = [row[0][0]["data-value"] for row in shown.rows if row and row[0][0].get("scope") == "row"][:3]
    assert names == [report.encoder for report in three]

    click = """<script>
        document.querySelectorAll("#headlines thead button")[3].click();
        document.querySelector("input[value=none]").click();
        document.querySelector("button.theme").click();
    </script></body>"""
    text = path.read_text(encoding="utf-8")
    assert text.count("</body>") == 1
    path.write_text(text.replace("</body>", click), encoding="utf-8")
    shown, console = in_browser(path, tmp_path / "profile")
    assert console == []
    (table,) = (attrs for attrs in shown.all("table") if attrs.get("id") == "headlines")
    assert "hide-published" in table["class"].split()
    assert shown.all("html")[0]["data-theme"] in ("dark", "light")
    sorted_by = [attrs for attrs in shown.all("th") if "aria-sort" in attrs]
    assert [attrs["aria-sort"] for attrs in sorted_by] == ["descending"]
    values = [
        float(row[3][0]["data-value"])
        for row in shown.rows
        if len(row) > 3 and row[0][0].get("data-value") in names and "data-value" in row[3][0]
    ][:3]
    assert values == sorted(values, reverse=True)
    assert len(values) == 3


@pytest.mark.timeout(300)
@pytest.mark.skipif(BROWSER is None, reason="no browser without a window is there")
def test_browser_errors_are_detected(three, tmp_path):
    """The test above can fail."""
    path = tmp_path / "report.html"
    write_html(three, path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("</body>", "<script>nothing.there()</script></body>"), encoding="utf-8")
    _, console = in_browser(path, tmp_path / "profile")
    assert any("nothing is not defined" in line for line in console)
