"""Published scores: their shape, and that printed averages are those of printed cells."""

from __future__ import annotations

import dataclasses
import pickle
from collections import defaultdict

import numpy as np
import pytest

from sentencode.evaluation import published, published_for
from sentencode.reproduce import published as reproduced

SENTEVAL = {
    *(
        "MR",
        "CR",
        "SUBJ",
        "MPQA",
        "SST2",
        "SST5",
        "TREC",
        "MRPC",
        "SNLI",
        "SICKEntailment",
        "SICKRelatedness",
    ),
    *("STSBenchmark", "STS12", "STS13", "STS14", "STS15", "STS16"),
}
OTHERS = {
    *(
        "average-6",
        "average-7",
        "average-8",
        "AvgAcc",
        "AvgSim",
        "HyTER",
        "COCO",
        "en-de",
        "en-cs",
        "training",
    ),
    *("MultiNLI-in", "MultiNLI-cross", "Yelp", "Age"),
}
RANGES = {
    "percent": (0, 100),
    "correlation": (-1, 1),
    "correlation x 100": (-100, 100),
    "BLEU": (0, 100),
    "index": (0, 1),
    "units": (1, 2400),
    "hours": (0, 1000),
    "minutes": (0, 100),
    "perplexity": (1, 1e4),
}
# How many figures each table prints: cells of its rows that hold one, counted in the papers.
SIZES = {
    ("000", "1"): 166,
    ("000", "2"): 24,
    ("000", "3"): 94,
    ("000", "section 4.4"): 4,
    ("001", "1"): 88,
    ("001", "2"): 227,
    ("001", "3"): 5,
    ("002", "1"): 23,
    ("002", "2"): 16,
    ("002", "3"): 14,
    ("002", "4"): 20,
    ("002", "section 5.2"): 2,
    ("003", "4"): 46,
    ("003", "5"): 25,
    ("003", "6"): 344,
    ("003", "7"): 131,
    ("004", "I"): 38,
    ("004", "II"): 10,
}
EIGHT = {
    "MR": 10662,
    "CR": 3775,
    "SUBJ": 10000,
    "MPQA": 10606,
    "SST2": 1821,
    "TREC": 500,
    "MRPC": 1725,
    "SICKEntailment": 4927,
}
SEVEN = {task: size for task, size in EIGHT.items() if task != "MRPC"}
SIX = {task: size for task, size in EIGHT.items() if task not in ("SST2", "SICKEntailment")}


def rows(paper, table):
    """(system, size, heads) -> (task, metric) -> value."""
    counts = defaultdict(dict)
    for figure in published(paper, table):
        if figure.split == "test":
            counts[figure.system, figure.size, figure.heads][figure.task, figure.metric] = figure.value
    return counts


def same_as_printed(printed, mean, digits, cells):
    """Whether a printed average agrees with the rounded cells."""
    return abs(printed - mean) <= 0.5 * 10**-digits + 0.5 * 10**-cells + 1e-9


def test_published_figures_are_complete():
    units = defaultdict(set)
    for figure in published():
        assert figure.task in SENTEVAL | OTHERS, figure
        assert figure.split in ("train", "dev", "test"), figure
        assert type(figure.value) is float, figure
        assert float(figure.printed) == figure.value, figure
        low, high = RANGES[figure.unit]
        assert low <= figure.value <= high, figure
        assert figure.system == figure.system.strip() != "", figure
        assert figure.caption, figure
        assert figure.caption.isascii(), figure
        assert type(figure.own) is bool, figure
        for setting in (figure.size, figure.heads):
            assert setting is None or (type(setting) is int and setting > 0), figure
        units[figure.metric].add(figure.unit)
    assert all(len(metric_units) == 1 for metric_units in units.values())


def test_published_figures_are_unique():
    cells = [(f.paper.id, f.table, f.system, f.size, f.heads, f.task, f.metric, f.split) for f in published()]
    assert len(set(cells)) == len(cells)


def test_every_table_is_complete():
    counts = defaultdict(int)
    for figure in published():
        counts[figure.paper.id, figure.table] += 1
    assert counts == SIZES


def test_figures_cannot_be_changed():
    figure = published("004", "I")[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        figure.value = 100.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        figure.paper.year = 2020
    assert pickle.loads(pickle.dumps(figure)) == figure
    assert len(set(published())) == len(published())


def test_selection():
    assert published("000") + published("001") == published()[: len(published("000")) + len(published("001"))]
    assert {figure.table for figure in published("002")} == {"1", "2", "3", "4", "section 5.2"}
    with pytest.raises(
        ValueError, match="paper '5' is not among the published ones; there are 000, 001, 002"
    ):
        published("5")
    with pytest.raises(ValueError, match="table 'III' is not among the published ones; there are I, II"):
        published("004", "III")


def test_published_for():
    values = [figure.value for figure in published_for("MR", "accuracy")]
    assert values == sorted(values, reverse=True)
    assert len(values) == 51
    assert values[0] == 86.9  # BYTE m-LSTM
    (manual,) = [f for f in published_for("en-cs", "manual_wins") if f.system == "cs-MAXPOOL"]
    assert manual.printed == "3.0"
    assert published_for("STSBenchmark", "cosine_pearson", split="dev")[0].printed == "81.4"
    assert published_for("my task", "accuracy") == ()


@pytest.mark.parametrize(("tasks", "name"), [(EIGHT, "average-8"), (SEVEN, "average-7"), (SIX, "average-6")])
def test_averages_of_paper_000(tasks, name):
    """Table 2 follows from table 1, and the macro column of table 3 from its cells."""
    table_1, table_3 = rows("000", "1"), rows("000", "3")
    checked = 0
    for table, cells_of in ((rows("000", "2"), table_1), (table_3, table_3)):
        for row, averages in table.items():
            for metric, weights in (("macro", [1] * len(tasks)), ("micro", [*tasks.values()])):
                if (name, metric) not in averages:
                    continue
                cells = [cells_of[row][task, "accuracy"] for task in tasks]
                mean = np.average(cells, weights=weights)
                assert same_as_printed(averages[name, metric], mean, 1, 1), (row, metric, mean)
                checked += 1
    assert checked == {"average-8": 14, "average-7": 4, "average-6": 12}[name]


def test_tables_of_paper_000_agree():
    one, three = (rows("000", table)["mean-max AAE", None, None] for table in "13")
    assert one.items() <= three.items()
    assert rows("000", "3")["LSTM SDAE", None, None] == rows("000", "1")["SDAE", None, None]


def test_tables_of_paper_001_agree():
    small = rows("001", "2")["small RNN-CNN, BookCorpus", 1200, None]
    for cell, value in rows("001", "1")["predict-all-words CNN", None, None].items():
        assert small[cell] == value


def test_tables_of_paper_002_agree():
    """The proposed model's row of tables 1 to 3 is the best of table 4."""
    best = defaultdict(float)
    for row in rows("002", "4").values():
        for cell, value in row.items():
            best[cell] = max(best[cell], value)
    for table, name in (("1", "1200D BiLSTM "), ("2", "BiLSTM "), ("3", "BiLSTM ")):
        for cell, value in rows("002", table)[f"{name}generalized pooling", None, None].items():
            assert value == best[cell]


def test_averages_of_paper_003():
    checked = 0
    for row, cells in rows("003", "7").items():
        accuracies = [
            value for (task, metric), value in cells.items() if metric == "accuracy" and task in SENTEVAL
        ]
        similarities = [value for (_, metric), value in cells.items() if metric in ("pearson", "spearman")]
        if ("AvgAcc", "accuracy") in cells:
            assert len(accuracies) == 10
            digits = 2 if row[0] == "most frequent class" else 1
            assert same_as_printed(cells["AvgAcc", "accuracy"], np.mean(accuracies), digits, 1), row
            checked += 1
        if ("AvgSim", "correlation") in cells:
            assert len(similarities) == 14
            assert same_as_printed(cells["AvgSim", "correlation"], np.mean(similarities), 2, 2), row
            checked += 1
    assert checked == 9


def test_tables_of_paper_003_agree():
    six = rows("003", "6")
    for row, cells in rows("003", "7").items():
        for cell in {("SNLI", "accuracy"), ("AvgAcc", "accuracy"), ("AvgSim", "correlation")} & {*cells}:
            if row in six:
                assert cells[cell] == six[row][cell]
    # The systems of tables 4 and 5 that have a representation are those of table 6.
    translated = {row for table in "45" for row in rows("003", table)}
    has_vector = {row for row in six if row[0].startswith(("de-", "cs-"))}
    assert {row for row in translated if row[1] is not None} == has_vector
    # Table 6 is sorted by AvgAcc, tables 4 and 5 by BLEU on the test set.
    for language in ("cs", "de"):
        averages = [
            cells["AvgAcc", "accuracy"] for row, cells in six.items() if row[0].startswith(f"{language}-")
        ]
        assert averages == sorted(averages, reverse=True)
    for table, pair in (("4", "en-de"), ("5", "en-cs")):
        scores = [cells[pair, "bleu"] for cells in rows("003", table).values()]
        assert scores == sorted(scores, reverse=True)


def test_reproduction_takes_its_figures_from_here():
    tables = reproduced("laes")["tables"]
    for figure in published("004"):
        cell = tables[figure.table][figure.system][figure.task]
        assert cell["n_h" if figure.metric == "n_h" else figure.split] == figure.value
    assert reproduced("laes")["citation"] == figure.paper.citation
