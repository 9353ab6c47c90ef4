"""A minimal family, with and without optional attributes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import sentencode as se
from sentencode.cli import reproduce
from sentencode.cli.errors import UsageError
from sentencode.evaluation import published
from sentencode.reproduce import published as tables_of
from sentencode.reproduce import rows
from sentencode.reproduce.controls import CONTROLS
from sentencode.reproduce.family import Family
from sentencode.reproduce.papers import PAPERS, printed
from sentencode.reproduce.rows import Row, Size
from sentencode.reproduce.score_tables import Differences, Scores

sys.path.insert(0, str(Path(__file__).parent))
from small import QUICK, fill, word_vectors  # a module of this folder

SIZE = Size(training={"vocabulary_size": 30, "batch_size": 8}, steps=2, valid_sentences=10)
FAMILY = Family(
    name="rnn-cnn",
    rows={
        "ours": Row("RAE", {"pooling": "mean", "hidden": 8}, {}, printed="predict-all-words CNN"),
        **CONTROLS,
        "nowhere": Row(trained=False, make=lambda vectors: not_here()),
    },
    sizes={"cpu": SIZE},
    tables={
        "1": Scores("Table 1", "1", rows=("ours", "average of words")),
        "less": Differences("Less the average"),
    },
    tasks=("CR", "TREC"),
    columns=("TREC accuracy", "SST2 accuracy", "CR accuracy", "training hours", "STS14 pearson"),
    names={"training hours": "hours"},
    baseline="average of words",
    measure=lambda bench, encoder, result: {"training hours": {"value": result.get("minutes", 0) / 60}},
)


def not_here():
    raise rows.NotAvailableError("it cannot be made here")


@pytest.fixture(scope="module")
def vectors():
    return word_vectors()


@pytest.fixture(scope="module")
def report(vectors, tmp_path_factory):
    folder = tmp_path_factory.mktemp("family")
    fill(folder, vectors)
    return FAMILY.reproduce(
        folder / "data",
        vectors,
        [folder / "books.txt"],
        [folder / "valid.txt"],
        out=folder / "out",
        seeds=[0, 1],
        **QUICK,
    )


def lines_of(markdown, first):
    lines = [line.strip("| ").split(" | ") for line in markdown.splitlines() if line.startswith("|")]
    return [line[1:] for line in lines if line[0] == first]


def test_our_rows_are_below_the_published_ones(report):
    markdown = report.markdown()
    header = next(line for line in markdown.splitlines() if line.startswith("| encoder"))
    assert header == "| encoder | TREC | SST2 | CR | hours | STS14 |"
    figures = {
        f"{figure.task} {figure.metric}": figure.printed
        for figure in published("001", "1")
        if figure.system == "predict-all-words CNN"
    }
    (paper,) = lines_of(markdown, "predict-all-words CNN, paper")
    sst, sts = f"{figures['SST2 accuracy']} ‡", figures["STS14 pearson"]
    assert paper == [f"{figures['TREC accuracy']} ‡", sst, "-", "-", sts]
    (ours,) = lines_of(markdown, "ours, ours (2 seeds)")
    scores = report.scores("ours")
    intervals = report.intervals("ours")
    halves = [
        (intervals[f"{t} accuracy"]["high"] - intervals[f"{t} accuracy"]["low"]) / 2 for t in ("TREC", "CR")
    ]
    cells = [
        f"{scores[f'{t} accuracy']:.1f} ± {half:.1f}" for t, half in zip(("TREC", "CR"), halves, strict=True)
    ]
    assert ours == [f"**{cells[0]}**", "-", f"**{cells[1]}**", "0.0", "-"]


def test_differences_are_paired(report):
    less = {result["row"]: result.get("less") for result in report.results}
    assert less["average of words"] is None
    averages = report.scores("average of words")
    for result in report.of("ours"):
        difference = result["less"]["TREC accuracy"]
        expected = result["scores"]["TREC accuracy"]["value"] - averages["TREC accuracy"]
        assert difference["value"] == pytest.approx(expected, abs=0.01)
        assert difference["low"] <= difference["value"] <= difference["high"]
    (line,) = lines_of(report.markdown().partition("Less the average")[2], "mean and max of words")
    value = less["mean and max of words"]["TREC accuracy"]
    assert line[0] == f"{value['value']:+.1f} ({value['low']:+.1f} to {value['high']:+.1f})"


def test_a_row_that_cannot_be_computed_is_reported(report):
    assert "Left out: nowhere (it cannot be made here)." in report.text()
    assert report.of("nowhere") == []


@pytest.mark.parametrize(
    ("seeds", "ours"),
    [([0, 1], [0, 1]), ({"": [3], "ours": [0, 1]}, [0, 1]), ({"ours": [7]}, [7]), ({"": [5]}, [5])],
)
def test_seeds_by_row(seeds, ours):
    row_seeds = FAMILY._row_seeds(seeds)
    todo = FAMILY._todo(SimpleNamespace(result=print), list(FAMILY.rows), row_seeds)
    assert [label for row, label, _ in todo if row == "ours"] == [f"ours {seed}" for seed in ours]
    assert [label for row, label, _ in todo if row != "ours"] == [row for row in FAMILY.rows if row != "ours"]


@pytest.mark.parametrize(
    ("seeds", "message"),
    [({"other": [0]}, "no row is named 'other'"), ({"ours": [1, 1]}, "seeds must be different numbers")],
)
def test_wrong_seeds_by_row(seeds, message):
    with pytest.raises(ValueError, match=message):
        FAMILY._row_seeds(seeds)


def test_seeds_of_the_command():
    assert reproduce._seeds(["0", "1", "ours=2,3"]) == {"": [0, 1], "ours": [2, 3]}
    with pytest.raises(UsageError, match="--seeds: expected N, or ROW=N,N, got 'ours'"):
        reproduce._seeds(["ours"])


def test_a_user_defined_size_keeps_its_type():
    assert replace(SIZE, steps=3).limited(None, 5).steps == 5
    assert SIZE.limited(1.5, None) == replace(SIZE, steps=None, minutes=1.5)


@pytest.mark.parametrize("family", PAPERS)
def test_every_family_has_its_published_figures(family):
    tables = tables_of(family)
    figures = published(PAPERS[family])
    assert tables["citation"] == figures[0].paper.citation
    count = sum(len(of) for rows in tables["tables"].values() for row in rows.values() for of in row.values())
    assert count == len(figures)  # none hides another


def test_rows_of_one_name_are_distinguished():
    table = tables_of("nmt")["tables"]["4"]
    assert table["de-ATTN-ATTN, 2400, 12 heads"]["en-de"] == {"bleu dev": 36.2, "bleu": 34.8}
    assert "de-ATTN" in table
    assert printed("003", "4")["de-ATTN-ATTN, 2400, 12 heads"] == {
        "en-de bleu": "34.8",
        "en-de bleu dev": "36.2",
    }


def test_no_such_family():
    with pytest.raises(ValueError, match="no paper is of the family 'bert'; there are aae, rnn-cnn"):
        tables_of("bert")


def test_encoders_have_a_tokenizer(vectors):
    assert se.Average(vectors).tokenizer_.split in ("words", "punctuation")
    fitted = se.SIF(vectors, tokenizer="whitespace").fit(["the film was nice", "a film"])
    assert fitted.tokenizer_("the film") == ["the", "film"]
    with pytest.raises(se.NotFittedError):
        se.SIF(vectors).tokenizer_  # noqa: B018
    assert np.isfinite(fitted.encode("the film")).all()
