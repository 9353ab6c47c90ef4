from __future__ import annotations

import json
import resource

import pytest

from sentencode.reproduce import published
from sentencode.reproduce.results_folder import Results
from sentencode.reproduce.rows import chosen
from sentencode.reproduce.tables import markdown_table, text_table


def test_results_are_computed_once(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"test": 0.5}

    first = Results(tmp_path / "out", {"seed": 1}).get("LAES-BRES, STSBenchmark", compute)
    again = Results(tmp_path / "out", {"seed": 1}, resume=True).get("LAES-BRES, STSBenchmark", compute)
    assert first == again
    assert first["test"] == 0.5
    assert first["seconds"] >= 0
    assert len(calls) == 1
    stored = json.loads((tmp_path / "out" / "rows" / "laes-bres-stsbenchmark.json").read_text())
    assert stored == first


def test_a_failed_result_leaves_no_file(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    results = Results(tmp_path, {})
    with pytest.raises(KeyboardInterrupt):
        results.get("a row", interrupted)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["settings.json"]
    assert Results(tmp_path, {}, resume=True).get("a row", lambda: {"x": 1})["x"] == 1


def test_a_failed_write_leaves_the_old_file(tmp_path):
    results = Results(tmp_path, {})
    results.write("table.md", "old")
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))  # as if the disk were full
    try:
        with pytest.raises(OSError, match="File too large"):
            results.write("table.md", "new" * 4096)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    assert (tmp_path / "table.md").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["settings.json", "table.md"]


def test_results_are_not_overwritten(tmp_path):
    Results(tmp_path, {"seed": 1})
    with pytest.raises(FileExistsError, match="holds results: resume to keep them"):
        Results(tmp_path, {"seed": 1})


def test_settings_must_be_the_same(tmp_path):
    Results(tmp_path, {"seed": 1, "vectors": "a", "grid": (1, 2)})
    Results(tmp_path, {"seed": 1, "vectors": "a", "grid": (1, 2)}, resume=True)
    changes = "other settings: extra was None and is 0; vectors was 'a' and is 'b'"
    with pytest.raises(ValueError, match=changes):
        Results(tmp_path, {"seed": 1, "vectors": "b", "grid": (1, 2), "extra": 0}, resume=True)


def test_without_a_folder_no_result_is_stored():
    results = Results(None, {})
    results.write("x", "y")
    assert [results.get("a", lambda: {"n": 1})["n"], results.get("a", lambda: {"n": 2})["n"]] == [1, 2]


def test_chosen():
    known = ["Weighted average", "SIF", "LAES-RES"]
    assert chosen(None, known, "row") == known
    assert chosen(["laes-res", "weighted-average"], known, "row") == ["Weighted average", "LAES-RES"]
    assert chosen(["SIF"], known, "row") == ["SIF"]
    with pytest.raises(ValueError, match="no row is named 'lstm'; there are weighted-average, sif, laes-res"):
        chosen(["lstm"], known, "row")


def test_tables():
    rows = [["SIF", "72.2"], ["LAES-BRES", "9.0"]]
    assert text_table(["model", "test"], rows) == "model      test\nSIF        72.2\nLAES-BRES   9.0\n"
    assert markdown_table(["model", "test"], rows) == (
        "| model | test |\n| --- | ---: |\n| SIF | 72.2 |\n| LAES-BRES | 9.0 |\n"
    )


def test_published_figures_of_paper_004():
    """Against the table as the paper prints it: its columns, read from left to right."""
    table = published("laes")["tables"]["I"]
    columns = [("SICKRelatedness", name) for name in ("n_h", "train", "dev", "test")]
    columns += [("STSBenchmark", name) for name in ("n_h", "train", "dev", "test")]
    printed = {
        "LAES-HID": "2400 41.8 36.7 40.6 2400 30.0 40.5 35.0",
        "LAES-RECO": "2400 72.9 70.5 71.9 2400 69.1 71.5 63.2",
        "LAES-RES": "2 73.2 71.3 72.5 120 76.2 80.2 71.8",
        "LAES-BRES": "1 73.5 71.6 72.9 84 76.5 81.4 72.3",
    }
    for row, figures in printed.items():
        assert " ".join(str(table[row][task][name]) for task, name in columns) == figures
    assert table["SIF"]["SICKRelatedness"] == {"n_h": 1, "test": 72.2}
    assert table["SIF"]["STSBenchmark"] == {"n_h": 15, "test": 72.0}
    assert table["uSIF"] == {"STSBenchmark": {"n_h": 5, "test": 71.5}}
