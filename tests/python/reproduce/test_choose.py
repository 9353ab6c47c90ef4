"""The comparison of all encoders, on a tiny benchmark."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import sentencode as se
from sentencode.cli import main
from sentencode.evaluation import load_task
from sentencode.files import read_json
from sentencode.reproduce import choose, choose_rows, evaluator, page
from sentencode.reproduce.rows import NotAvailableError

sys.path.insert(0, str(Path(__file__).parent))
from small import BAD, GOOD, fill, sentence, word_vectors  # a module of this folder

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # too few examples
LABELLED = ["average-logistic-regression-16-examples", "trainedaverage-16-examples"]
LABELLED += ["student-trainedaverage-16-examples", "average-logistic-regression-24-examples"]
ENCODERS = ["built-in-vectors", "sif", "student", "teacher", "model2vec"]


@pytest.fixture(scope="module", autouse=True)
def hardly_timed():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator, "_TIMED", 0.005)
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The benchmark with SICK, text, a student, and translations."""
    root = tmp_path_factory.mktemp("choose")
    fill(root, word_vectors())
    rng = np.random.default_rng(3)
    sick = root / "data" / "downstream" / "SICK"
    sick.mkdir()
    for split in ("train", "trial", "test_annotated"):
        lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
        for i in range(30):
            first = sentence(rng, (GOOD, BAD)[i % 2])
            second, label = (first, "ENTAILMENT") if i % 3 else (sentence(rng), "NEUTRAL")
            lines.append(f"{i}\t{first}\t{second}\t{rng.uniform(1, 5):.1f}\t{label}")
        (sick / f"SICK_{split}.txt").write_text("\n".join(lines) + "\n")
    se.Average(word_vectors()).save(root / "student.sentencode")
    stsb = (root / "data" / "downstream" / "STS" / "STSBenchmark" / "sts-test.csv").read_text()
    tested = stsb.splitlines()[0].split("\t")[5]
    (root / "text.txt").write_text(f"{tested}\n" + (root / "books.txt").read_text())
    return root


def arguments(files):
    student = str(files / "student.sentencode")
    return [
        *("reproduce", "choose", "--data", str(files / "data"), "--partial", "--quiet"),
        *("--text", str(files / "text.txt"), "--examples", "16", "24", "--samples", "2", "--minutes", "0.01"),
        *("--student", student, "--teacher", student, "--resamples", "20"),
    ]


@pytest.fixture(scope="module")
def out(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "choose"
    assert main([*arguments(files), "--out", str(out), "--rows", *LABELLED, *ENCODERS]) == 0
    return out


def test_rows_and_tables(out, files):
    results = {row["row"]: row for row in read_json(out / "results.json")["rows"]}
    trained = results["TrainedAverage, 16 examples"]
    assert set(trained["scores"]) == {"TREC", "SICKEntailment"}
    assert trained["scores"]["TREC"]["examples"] == 16
    assert trained["scores"]["TREC"]["value"] > 90
    assert trained["megabytes"] > 1
    assert trained["fit_seconds"] > 0
    hits = read_json(out / "reports" / "trainedaverage-16-examples.json")["TREC"]
    others = read_json(out / "reports" / "average-logistic-regression-16-examples.json")["TREC"]
    assert len(hits) == len(others) == 2 < len(hits[0])
    sums = [sum(of.count("1") for of in all_of) for all_of in (hits, others)]
    difference = 100 / (2 * len(hits[0])) * (sums[0] - sums[1])
    assert trained["scores"]["TREC"]["value"] == pytest.approx(50 / len(hits[0]) * sums[0], abs=0.01)
    assert trained["less"]["TREC"]["value"] == pytest.approx(difference, abs=0.01)
    assert "less" not in results["average, logistic regression, 16 examples"]
    assert results["SIF"]["learns"] == "text"
    assert results["built-in vectors"]["fit_seconds"] is None
    assert {"STSBenchmarkCosine", "SICKCosine", "CR", "TREC"} == set(results["student"]["scores"])
    assert results["student"]["scores"] == results["teacher"]["scores"]
    tables = (out / "tables.md").read_text()
    assert "| TrainedAverage | 16 |" in tables
    assert "| minus average, logistic regression |" in tables
    assert "Left out: model2vec (model2vec" in tables
    assert "Not run: " in tables
    assert "means over 2 random samples of the examples" in tables
    assert "LAES" in tables.partition("Not run: ")[2]


def test_only_few_examples_have_several_samples(files, tmp_path, monkeypatch):
    monkeypatch.setattr(choose, "FEW", 20)
    rows = ["trainedaverage-24-examples", "trainedaverage-16-examples"]
    options = {"partial": True, "examples": [16, 24], "minutes": [0.01], "resamples": 20, "rows": rows}
    choose.reproduce(files / "data", out=tmp_path / "out", samples=2, **options)
    counts = [len(read_json(tmp_path / "out" / "reports" / f"{row}.json")["TREC"]) for row in rows]
    assert counts == [1, 2]
    task = load_task("TREC", files / "data", partial=True)
    (train, test), (others, same) = (choose._split(task, 16, seed) for seed in (0, 1))
    assert test == same
    assert sorted(train) != sorted(others)
    with pytest.raises(ValueError, match="samples must be at least 1, got 0"):
        choose.reproduce(files / "data", out=tmp_path / "none", samples=0, **options)


def test_results_are_resumed_and_shown_on_a_page(out, files, capsys):
    before = (out / "tables.md").read_text()
    sif = out / "rows" / "sif.json"
    stored = sif.read_text()
    sif.unlink()
    command = [*arguments(files), "--out", str(out), "--rows", *LABELLED, *ENCODERS]
    assert main(command) == 1
    assert "resume" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert json.loads(sif.read_text())["scores"] == json.loads(stored)["scores"]
    assert [line[:30] for line in (out / "tables.md").read_text().splitlines()] == [
        line[:30] for line in before.splitlines()
    ]
    assert main([*command, "--resume", "--resamples", "30"]) == 1
    assert "resamples was 20 and is 30" in capsys.readouterr().err
    assert main([*command[:-1], "--resume"]) == 0  # the others are shown nevertheless
    assert "| model2vec" not in (out / "tables.md").read_text()
    assert "| student, TrainedAverage | 16 |" in (out / "tables.md").read_text()
    markdown = page.markdown(read_json(out / "results.json"), "choose")
    assert "# sentencode reproduce choose" in markdown
    assert "| student, TrainedAverage | 16 |" in markdown
    pytest.importorskip("matplotlib")
    assert (out / "labels.png").exists()


def test_neural_rows_and_what_is_missing(files, tmp_path):
    rows = ["generalizedpooling-16-examples", "meanmaxaae-untrained", "meanmaxaae-0-01-minutes"]
    options = {"partial": True, "examples": [16], "minutes": [0.01], "resamples": 20, "rows": rows}
    report = choose.reproduce(files / "data", text=[files / "text.txt"], out=tmp_path / "a", **options)
    results = {result["row"]: result for result in report.results}
    assert results["MeanMaxAAE, untrained"]["fit_seconds"] is None
    assert results["MeanMaxAAE, 0.01 minutes"]["fit_seconds"] > 0
    assert not any((tmp_path / "a" / "work").iterdir())  # the checkpoints
    assert results["GeneralizedPooling, 16 examples"]["less"] == {}  # the baseline was not run
    report = choose.reproduce(files / "data", out=tmp_path / "b", **options | {"rows": [rows[2], "laes"]})
    assert {result["missing"] for result in report.results} == {"no text was given"}
    with pytest.raises(ValueError, match=r"minutes\[0\]"):
        choose.reproduce(files / "data", out=tmp_path / "c", **options | {"minutes": [0]})


def test_text_and_translations_have_no_sentences_of_the_tasks(files, tmp_path, monkeypatch):
    seen = {}

    def made(bench):
        seen["text"], seen["pairs"], seen["valid"] = bench.text, bench.pairs, bench.pairs_valid
        raise NotAvailableError("only looked at")

    monkeypatch.setattr(choose_rows, "_translation", made)
    text = (files / "text.txt").read_text().splitlines()
    target = tmp_path / "target.txt"
    target.write_text("\n".join(f"{i}" for i in range(len(text))) + "\n")
    both = [files / "text.txt", target]
    arguments = {"partial": True, "rows": ["compoundnmt"], "text": both[:1], "pairs": both}
    choose.reproduce(files / "data", out=tmp_path / "out", pairs_valid=both, **arguments)
    assert text[0] not in seen["text"]
    assert text[0] not in seen["pairs"][0]
    assert "0" not in seen["pairs"][1]
    assert seen["valid"][0] == text
    with pytest.raises(ValueError, match=r"valid.txt and .*expected as many lines, got 20 and 41"):
        choose.reproduce(
            files / "data",
            out=tmp_path / "other",
            **arguments | {"pairs": [files / "valid.txt", target]},
        )


def test_trainer_of_model2vec_is_run_only_if_it_is_named(files, tmp_path, monkeypatch):
    seen = []

    def computed(_name, todo, *_, **__):
        seen[:] = [row for row, *_ in todo]
        return []

    monkeypatch.setattr(choose, "computed", computed)
    options = {"partial": True, "examples": [16], "minutes": [0.01]}
    choose.reproduce(files / "data", out=tmp_path / "all", **options)
    assert "TrainedAverage, 16 examples" in seen
    assert "model2vec's trainer, 16 examples" not in seen
    choose.reproduce(
        files / "data", out=tmp_path / "one", rows=["model2vec-s-trainer-16-examples"], **options
    )
    assert seen == ["model2vec's trainer, 16 examples"]
