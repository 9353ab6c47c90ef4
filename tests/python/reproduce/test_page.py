"""Pages of results: those of the documentation, and one of a new run."""

from __future__ import annotations

import importlib.util
import json
import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

from sentencode.cli import main
from sentencode.evaluation import published
from sentencode.files import read_json
from sentencode.reproduce import nmt, page, pooling, rnn_cnn, tables

FOLDER = Path(__file__).parents[3] / "docs" / "results"
FILES = sorted(FOLDER.glob("*.json"))
PAGES = [path for path in FILES if page.has_page(path)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_of_the_documentation_are_up_to_date_and_begin_briefly(path):
    markdown = page.markdown(read_json(path), path.stem)
    assert markdown == path.with_suffix(".md").read_text()
    before_the_fold, _, _ = markdown.partition("<details")
    assert len(before_the_fold.split()) <= 900
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_the_index_and_the_readme_are_up_to_date():
    assert len(PAGES) >= 9
    assert len(FILES) >= len(PAGES) + 2
    table = page.index(FILES)
    assert table == page.index(FILES[::-1])  # in the order of the papers
    assert table in (FOLDER / "index.md").read_text()
    assert table.replace("](", "](docs/results/") in (FOLDER.parents[1] / "README.md").read_text()


def test_the_command_of_the_documentation_skips_files_without_a_page(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(page, "_has_picture", lambda _: False)
    monkeypatch.setattr(page, "_has_curves", lambda _: False)
    for path in FILES:
        shutil.copy(path, tmp_path)
    files = sorted(tmp_path.glob("*.json"))
    assert main(["reproduce", "page", *map(str, files), "--index"]) == 0
    shown = capsys.readouterr().out
    names = {path.name for path in PAGES}
    without = [path for path in files if path.name not in names]
    assert {"laes-50d.json", "nmt-8-epochs.json"} <= {path.name for path in without}
    for path in without:
        assert f"{path}: skipped, it has no page\n" in shown
    assert {path.stem for path in tmp_path.glob("*.md")} == {path.stem for path in PAGES}
    table = page.index(files)
    assert table in shown
    assert page.index([path for path in files if path not in without]) == table


def test_the_pages_of_a_paper_share_a_row(tmp_path):
    content = read_json(FOLDER / "laes.json")
    for name, paper, here in (("a", "P", 800), ("b", "P", 400), ("c", "P, Czech", 10)):
        content["page"] |= {"paper": paper, "budget": [["pairs", here, 1000]]}
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (line,) = page.index([tmp_path / f"{name}.json" for name in "abc"]).splitlines()[2:]
    assert line.startswith("| [P](b.md); [trained for longer](a.md); [Czech](c.md) | ")
    assert line.endswith(" | 40 %; 80 %; 1 % (pairs) |")


def test_the_index_counts_claims_without_a_published_figure_apart(tmp_path):
    finding = {"claim": "I", "row": "a", "other": "b", "tasks": ["SNLI"], "of": 1, "seeds": 1, "within": None}
    finding |= {"value": 1.0, "low": 0.5, "high": 1.5}
    verdicts = [("holds", 1.0), ("undecided", -1.0), ("holds", None), ("undecided", None)]
    findings = [{**finding, "verdict": verdict, "paper": paper} for verdict, paper in verdicts]
    by_hand = [["II", "a / b", "-", "2", "differs", ""], ["III", "a / b", "1 / 2", "2", "differs", ""]]
    content = {"family": "pooling", "settings": {}, "rows": [], "findings": findings}
    content["page"] = {"paper": "P", "budget": [["pairs", 1, 4]], "claims": by_hand}
    (tmp_path / "x.json").write_text(json.dumps(content))
    line = page.index([tmp_path / "x.json"]).splitlines()[-1]
    assert line == "| [P](x.md) | 1 | 1 | 1 | 1 hold, 1 fail, 1 undecided | 25 % (pairs) |"
    assert page._counted(content) == "1 claims: holds, 1 claims: undecided"


@pytest.mark.parametrize(
    ("module", "rows"),
    [(nmt, nmt.GRID["de"]), (rnn_cnn, list(rnn_cnn.ROWS)), (pooling, list(pooling.ROWS))],
    ids=["nmt", "rnn-cnn", "pooling"],
)
def test_one_command_computes_every_row_and_seed_of_a_page(module, rows, monkeypatch):
    family = module.FAMILY
    content = read_json(FOLDER / f"{family.name}.json")
    (command,) = content["page"]["commands"]
    arguments = {}

    def reproduce(**given):
        arguments.update(given)
        raise ValueError("nothing is computed")

    monkeypatch.setattr(module, "reproduce", reproduce)
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    assert main(words[1:]) == 1
    assert arguments["rows"] is None
    seeds = family._row_seeds(arguments["seeds"])
    stored = {}
    for result in content["rows"]:
        stored.setdefault(result["row"], []).append(result["seed"])
    for row, own in stored.items():
        assert row in rows
        assert own == (seeds[row] if family.rows[row].seeded else seeds[row][:1])


def test_pages_have_the_notes_of_folded_tables():
    content = read_json(FOLDER / "pooling.json")
    assert {"senteval", "fig2"} <= set(content["page"]["folded"])
    notes = page.markdown(content).rpartition("<summary>Notes")[2]
    assert "InferSent is max pooling" in notes
    assert "Head distance: " in notes


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([70.0], "all numbers"),
        ([70.0, 71.0], "the scores of each seed"),
        ([70.0, 70.0], "the means over seeds (the scores of each were not stored)"),
    ],
)
def test_pages_say_what_is_stored(values, stored):
    scores = [{"MR accuracy": {"value": value, "low": 60.0, "high": 80.0}} for value in values]
    rows = [{"row": "a", "seed": seed, "scores": one} for seed, one in enumerate(scores)]
    missing = {"row": "b", "missing": "no encoder was given"}
    assert page._stored({"rows": [*rows, missing]}) == page._stored({"rows": rows}) == stored
    assert (
        page._stored({"rows": [{**row, "minutes": 1} for row in rows]}) == f"{stored} and the training times"
    )


def test_a_page_of_a_new_run(tmp_path, capsys):
    scores = {"CR accuracy": {"value": 70.0, "low": 68.0, "high": 72.0}}
    content = {
        "family": "aae",
        "settings": {"tasks": ["CR"], "protocol": "optimum"},
        "rows": [{"row": "mean AAE", "seed": 0, "dim": 8, "scores": scores}],
    }
    (tmp_path / "results.json").write_text(json.dumps(content))
    assert main(["reproduce", "page", str(tmp_path / "results.json")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'results.md'}\n"
    markdown = (tmp_path / "results.md").read_text()
    assert published("000")[0].paper.title in markdown
    assert "| mean AAE, ours | - | 70.0 ± 2.0 |" in markdown
    assert "-curve.png" not in markdown
    missing = {"row": "DictRep", "missing": "WordNet is not installed"}
    assert "of several seeds" not in page.markdown({**content, "rows": [*content["rows"], missing]})
    scores = [{"STS14 pearson": r, "SICKRelatedness pearson": r} for r in (0.2, 0.3)]
    content["rows"][0]["curve"] = [[0, scores[0]], [640, scores[1]]]
    (tmp_path / "results.json").write_text(json.dumps(content))
    if importlib.util.find_spec("matplotlib") is not None:
        assert page.write_pages([tmp_path / "results.json"])[1] == tmp_path / "results-curve.png"
        assert "(results-curve.png)" in (tmp_path / "results.md").read_text()
        assert (tmp_path / "results-curve.png").read_bytes().startswith(b"\x89PNG")
    broken = [
        ({"family": None}, "does not name its family"),
        ({"family": "nonsense"}, "there is no family 'nonsense'"),
        ({"family": "bench"}, "there is no family 'bench'"),
        ({"family": "../aae"}, "there is no family '../aae'"),
        ({"page": {"paper": "P"}}, "page: a paper requires a budget"),
    ]
    for change, message in broken:
        (tmp_path / "results.json").write_text(json.dumps(content | change))
        assert main(["reproduce", "page", str(tmp_path / "results.json")]) == 1
        assert f"{tmp_path / 'results.json'}" in (error := capsys.readouterr().err)
        assert message in error


def test_the_best_scores_and_those_tied_with_it_are_marked():
    header = ["encoder", "examples", "score"]
    rows = [
        ["paper", "500", "90.0"],  # without an interval
        ["best", "500", "80.0 ± 3.0"],
        ["tied", "500", "75.0 ± 4.0"],  # hypot(3, 4) = 5
        ["worse", "500", "74.9 ± 4.0"],
        ["other examples", "4,000", "70.0 ± 1.0"],
        ["less with these", "4,000", "60.0 ± 1.0"],
    ]
    marked = {row[0] for row, was in zip(tables.best_marked(header, rows), rows, strict=True) if row != was}
    assert marked == {"best", "tied", "other examples"}
    assert tables.best_marked(header, rows, "{} =")[1][2] == "80.0 ± 3.0 ="
    assert tables.best_marked(header, rows[:2]) == rows[:2]  # nothing to compare with
    lines = [["task", "a", "b"], ["one", "80.0 ± 1.0", "70.0 ± 1.0"], ["two", "5.0 ± 1.0", "9.0 ± 1.0"]]
    marked = tables.best_marked(lines[0], lines[1:], "{} =")
    assert marked == [["one", "80.0 ± 1.0 =", "70.0 ± 1.0"], ["two", "5.0 ± 1.0", "9.0 ± 1.0 ="]]
