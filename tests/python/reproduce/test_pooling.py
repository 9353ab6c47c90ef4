"""Reproduction of the paper on generalized pooling at a tiny size, from labelled examples to figures."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import sentencode as se
from sentencode.cli import main
from sentencode.evaluation import Labelled, Report, paired_t_test, published
from sentencode.reproduce import evaluator, heads, pooling
from sentencode.reproduce.controls import average_of_first
from sentencode.reproduce.labelled import Examples, labels_of, labels_of_files

sys.path.insert(0, str(Path(__file__).parent))
from small import BAD, GOOD, QUICK, fill, sentence, word_vectors  # a module of this folder

TINY = pooling.Size(
    **{"pairs": 4, "single": 4, "student": 3, "infersent": 4},
    training={
        **{"layers": 1, "character_filters": 2, "heads": 5, "max_epochs": 2, "batch_size": 8},
        "head": {"kind": "Classifier", "hidden": 6, "dropout": 0.0},
    },
    corpus_training={"ratings": {"max_epochs": 3, "max_length": 4}},
    examples={"ratings": 20, "teacher": 20},
    word_dim=4,
)
MAX, GENERALIZED = "max pooling, NLI", "generalized pooling, NLI"
ATTENTION_PENALTY, NO_PENALTY = (
    "generalized pooling, penalty on attention matrices, NLI",
    "generalized pooling, no penalty, NLI",
)
ONE_HEAD = "generalized pooling, no penalty, 1 head, NLI"
RATINGS = "last pooling, ratings"
CONTROLS = ["average of words, NLI", "untrained max pooling, NLI", "untrained generalized pooling, NLI"]
CONTROLS += ["average of the first 100 words, ratings"]
INFERSENT = "InferSent, NLI"
ROWS = [MAX, GENERALIZED, ATTENTION_PENALTY, NO_PENALTY, ONE_HEAD, RATINGS, INFERSENT, *CONTROLS]
CLASSES = ("entailment", "neutral", "contradiction")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("pooling")
    fill(root, word_vectors())
    rng = np.random.default_rng(3)
    for name, n in (("train", 40), ("valid", 8), ("test", 12)):
        premises = [sentence(rng) for _ in range(n)]
        rows = [f"{label}\t{premise}\t{sentence(rng)}" for premise in premises for label in CLASSES]
        (root / f"nli.{name}.tsv").write_text("gold_label\tsentence1\tsentence2\n" + "\n".join(rows) + "\n")
    for name, n in (("train", 60), ("test", 20)):
        rows = [f"{i % 3}\t{name} {i} {sentence(rng, (GOOD, BAD, ['film'])[i % 3])}" for i in range(n)]
        (root / f"ratings.{name}.tsv").write_text("\n".join(rows) + "\n")
    se.Average(word_vectors()).save(root / "teacher.sentencode")
    return root


def label_files(folder):
    return {
        "nli": {
            "train": [folder / "nli.train.tsv"],
            "valid": [folder / "nli.valid.tsv"],
            "test": [folder / "nli.test.tsv"],
        },
        "ratings": {"train": [folder / "ratings.train.tsv"], "test": [folder / "ratings.test.tsv"]},
    }


@pytest.fixture(autouse=True)
def few_validation_examples(monkeypatch):
    monkeypatch.setattr(pooling, "_HELD_OUT_DEFAULT", 10)
    monkeypatch.setattr(evaluator, "_TIMED", 0.005)


def reproduce(folder, out, **more):
    arguments = {"size": TINY, "rows": ROWS, "seeds": (0, 1), "labels": label_files(folder), **QUICK, **more}
    return pooling.reproduce(folder / "data", word_vectors(), out=out, **arguments)


@pytest.fixture(scope="module")
def reproduction(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "pooling"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "_HELD_OUT_DEFAULT", 10)
        return reproduce(folder, out), out


def nli_examples():
    """Two training files that share premises, and a test set."""
    first = Labelled([(f"premise {i // 3}", f"one {i}") for i in range(60)], ["yes", "no"] * 30, 0)
    second = Labelled([(f"Premise {i}.", f"two {i}") for i in range(30)], ["no"] * 30, 0)
    return [first, second], {"T": Examples([("premise 0", "x"), ("premise 29", "y")], ["yes", "no"])}


def test_pairs_of_a_premise_stay_together():
    files, tests = nli_examples()
    labels = labels_of(files, None, tests, held_out=12, seed=5)
    train, valid, test = (
        {premise.lower().strip(".") for premise, _ in examples.sentences}
        for examples in (labels.train, labels.valid, tests["T"])
    )
    assert not train & valid
    assert not train & test
    assert not valid & test
    assert len(labels.valid.sentences) == 12 == labels.facts["valid"]
    assert all(hypothesis.startswith("one") for _, hypothesis in labels.valid.sentences)  # of the first file
    assert labels.facts["also_tested"] == 3 + 2  # premises 0 and 29, of both files
    assert labels.facts["also_validated"] == 4  # of the second file
    assert labels.facts["train"] == len(labels.train.labels) == 90 - 5 - 12 - 4
    again = labels_of(files, None, tests, held_out=12, seed=5)
    assert (again.train, again.valid) == (labels.train, labels.valid)
    other = labels_of(files, None, tests, held_out=12, seed=6)
    assert other.valid != labels.valid
    few = labels_of(files, None, tests, held_out=12, most=20, seed=5)
    assert len(few.train.sentences) == 20
    assert set(few.train.sentences) < set(labels.train.sentences)
    label_of = dict(zip(labels.train.sentences, labels.train.labels, strict=True))
    assert [label_of[pair] for pair in few.train.sentences] == list(few.train.labels)


def test_validation_examples_are_used():
    files, tests = nli_examples()
    valid = Examples([("premise 3", "v")], ["yes"])
    labels = labels_of(files, valid, tests, held_out=12)
    assert labels.valid == valid
    assert labels.facts["also_validated"] == 4
    with pytest.raises(ValueError, match="examples to train and to validate on, got 0 and 1"):
        labels_of([Labelled(["premise"], ["yes"], 0)], Examples(["premise"], ["yes"]), {}, held_out=1)


def test_folders_with_sentevals_files(tmp_path):
    for side, lines in {"s1": "a b\nc\nd", "s2": "e\nf\ng", "labels": "yes\nno\nyes"}.items():
        (tmp_path / f"{side}.dev").write_text(lines + "\n")
    labels = labels_of_files([f"{tmp_path}:dev"], [], {}, held_out=1)
    assert sorted([*labels.train.sentences, *labels.valid.sentences]) == [
        ("a b", "e"),
        ("c", "f"),
        ("d", "g"),
    ]
    assert [file["file"] for file in labels.facts["files"]["train"]] == ["s1.dev", "s2.dev", "labels.dev"]


def test_rows_are_evaluated_by_their_own_classifier(reproduction, folder):
    report, out = reproduction
    assert {result["row"] for result in report.results} == set(ROWS)
    test = se.evaluation.read_labelled(folder / "nli.test.tsv")
    for result in report.results:
        if result["row"] in CONTROLS:
            test_set = "Ratings" if "ratings" in result["row"] else "SNLI"
            assert set(result["scores"]) == {f"{test_set} accuracy"}  # by a regression on frozen embeddings
            continue
        epochs = 3 if result["row"] == RATINGS else 2
        assert len(result["validations"]) == epochs
        assert result["sentences"] == epochs * (20 if result["row"] == RATINGS else 120)
        encoder = se.load(out / "encoders" / result["encoder"])
        if result["row"] != RATINGS:
            expected = 100 * encoder.score(test.sentences, test.labels)
            assert result["scores"]["SNLI accuracy"]["value"] == pytest.approx(expected, abs=0.01)
            evaluated = Report.load(out / "reports" / f"{result['encoder'].removesuffix('.sentencode')}.json")
            predictions = evaluated["SNLI"].predictions["test"]
            assert (encoder.classes_[predictions.predicted] == encoder.predict(test.sentences)).all()
            assert (encoder.classes_[predictions.gold] == test.labels).all()
    infersent = se.load(out / "encoders" / "infersent-nli-0.sentencode").settings()
    assert (infersent["layers"], infersent["characters"], infersent["optimizer"]) == (1, False, "sgd")
    assert (infersent["pooling"], infersent["learning_rate"], infersent["head"].hidden) == ("max", 0.1, 512)
    assert "TREC accuracy" in report.scores(INFERSENT)
    ratings = report.settings["labels"]["ratings"]
    assert (ratings["train"], ratings["valid"], ratings["Ratings"]) == (20, 10, 20)
    encoder = se.load(out / "encoders" / "last-pooling-ratings-0.sentencode")
    assert encoder.get_params()["max_length"] == 4
    assert encoder.network.dim == 8
    assert len(report.of("average of words, NLI")) == 1
    assert len(report.of("untrained max pooling, NLI")) == 2
    dims = [report.of(row)[0]["dim"] for row in ("untrained generalized pooling, NLI", GENERALIZED)]
    assert dims == [40, 40]


def test_the_papers_widths():
    """Section 4.2: 600 units for SNLI, else 300; InferSent has 2,048."""
    size = pooling.SIZES["paper"]
    for row in (row for row in pooling.ROWS.values() if row.kind and row.corpus != "teacher"):
        options = {**size.training, **size.corpus_training.get(row.corpus, {}), **row.options}
        sized = {name: getattr(size, attribute) for name, attribute in row.sized.items()}
        settings = se.GeneralizedPooling(
            word_vectors(), **{"preset": "paper", **options, **sized}, device="cpu"
        ).settings()
        hidden, width = settings["hidden"], 600 if row.corpus == "nli" else 300
        if row.options.get("preset") == "infersent":
            assert (hidden, settings["head"].hidden) == (2048, 512)
        else:
            assert (hidden, settings["attention_hidden"], settings["head"].hidden) == (width, width, width)


def test_the_average_of_the_first_words():
    encoder = average_of_first(2).make(word_vectors())
    texts = [["the", "film", "fine"], ["great"]]
    expected = se.Average(word_vectors()).encode([["the", "film"], ["great"]])
    np.testing.assert_array_equal(encoder.encode(texts), expected)


def test_tables_have_one_line_for_several_corpora(reproduction):
    report, _ = reproduction
    lines = [line.strip("| ").split(" | ") for line in report.markdown().splitlines() if line.startswith("|")]
    (line,) = [line for line in lines if line[0] == "last pooling, ours (2 seeds)" and len(line) > 2]
    assert line[-1].startswith(f"{report.scores(RATINGS)['Ratings accuracy']:.1f} ± ")
    systems = {figure.system for table in "14" for figure in published("002", table)}
    assert {line[0].removesuffix(", paper") for line in lines if "BiLSTM" in line[0]} <= systems | {
        figure.system for figure in published("002", "3")
    }
    assert {
        "1200D BiLSTM max pooling, paper",
        "4096D BiLSTM max pooling (Conneau et al., 2017), paper",
        "InferSent, ours (2 seeds)",
    } <= {line[0] for line in lines}
    assert "‡" not in report.markdown()  # both use the encoders' classifiers
    assert "Labelled examples, nli: train 120, valid 24, SNLI 36" in report.markdown()
    assert {"penalty on attention", "no penalty"} <= {
        part for line in lines for part in ("penalty on attention", "no penalty") if part in line[0]
    }


def test_findings_have_paired_tests(reproduction):
    report, out = reproduction
    findings = {(finding["row"], finding["other"]): finding for finding in report.findings}
    assert set(findings) == {
        (GENERALIZED, MAX),
        (GENERALIZED, NO_PENALTY),
        (NO_PENALTY, ONE_HEAD),
    }
    correct = []
    for row in ("generalized-pooling-nli", "max-pooling-nli"):
        of_seeds = [
            Report.load(out / "reports" / f"{row}-{seed}.json")["SNLI"].predictions["test"] for seed in (0, 1)
        ]
        correct.append(np.mean([test.predicted == test.gold for test in of_seeds], axis=0))
    p = findings[GENERALIZED, MAX]["p"]
    assert p["examples"] == pytest.approx(paired_t_test(*correct).p_one_tailed)
    assert "seeds" not in p  # two are too few
    assert f"| {p['examples']:.2g} |" in report.markdown()


def test_figures_are_plotted(reproduction, folder):
    report, out = reproduction
    curves = {(kind, heads): curve for kind, heads, curve in pooling.FIGURE_1.curves(report)}
    assert set(curves) == {("vectors", 1), ("vectors", 5)}
    runs = [[accuracy for *_, accuracy in result["validations"]] for result in report.of(NO_PENALTY)]
    assert curves["vectors", 5] == pytest.approx(100 * np.mean(runs, axis=0))
    first = report.of(NO_PENALTY)[0]
    encoder = se.load(out / "encoders" / first["encoder"])
    texts = [pair[1] for pair in se.evaluation.read_labelled(folder / "nli.test.tsv").sentences]
    expected = np.mean([encoder.head_distance(text) for text in texts])
    assert first["scores"]["head distance"]["value"] == pytest.approx(expected, abs=1e-5)
    (weight,) = (
        w for name, w in encoder.network.named_parameters() if name.endswith("pooling.hidden.weight")
    )
    w = weight.detach().numpy().reshape(5, -1)
    squares = [((w[i] - w[j]) ** 2).sum() for i in range(5) for j in range(i)]
    assert first["parameter_distance"]["end"] == pytest.approx(np.mean(squares), rel=1e-4)
    assert first["parameter_distance"]["start"] == pytest.approx(4 * 4 * 8 / (4 + 8), rel=0.3)
    penalised = report.of(ATTENTION_PENALTY)[0]
    assert penalised["figures"]["first"]["active"] == 1.0
    assert report.of(GENERALIZED)[0]["figures"]["first"].keys() == {"penalty", "active"}
    if importlib.util.find_spec("matplotlib") is not None:
        for name in ("fig1", "fig2-nli"):
            assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        svg = (out / "fig2-nli.svg").read_text()
        assert "mean distance of heads" in svg
        assert "martin" in svg.lower()
        assert not (out / "fig2-ratings.png").exists()


@pytest.mark.parametrize(("features", "hidden", "expected"), [(200, 100, 267), (1200, 600, 1600)])
def test_parameter_matrices_start_beyond_the_margin(features, hidden, expected):
    distance = heads.first_distance(features, hidden, 5)
    assert distance == pytest.approx(expected, rel=0.01)  # 4 H D / (H + D) of Xavier's initialisation


def test_a_second_call_computes_nothing_and_other_settings_are_refused(reproduction, folder):
    report, out = reproduction
    before = (out / "results.json").read_bytes()
    assert reproduce(folder, out, resume=True).results == report.results
    assert (out / "results.json").read_bytes() == before
    for change in (
        {"margin": 2.0},
        {"mu_grid": (1.0,)},
        {"epochs": 1},
        {"labels": {"nli": label_files(folder)["nli"]}},
    ):
        with pytest.raises(ValueError, match="made with other settings"):
            reproduce(folder, out, resume=True, **change)


def test_validation_chooses_the_penaltys_weight(folder, tmp_path):
    arguments = {
        "rows": [ATTENTION_PENALTY, MAX],
        "mu_grid": (10.0, 0.1),
        "seeds": (0, 1),
        "tables": ["4", "fig2"],
    }
    report = reproduce(folder, tmp_path / "out", **arguments)
    result, second = report.of(ATTENTION_PENALTY)
    assert set(result["tried"]) == {"mu 10.0", "mu 0.1"}
    best = max(result["tried"], key=result["tried"].get)
    assert result["taken"] == best
    assert result["config"]["mu"] == second["config"]["mu"] == float(best.removeprefix("mu "))
    assert set(second["tried"]) == {best} == {second["taken"]}  # chosen with the first seed
    assert max(accuracy for *_, accuracy in result["validations"]) == result["tried"][best]
    encoder = se.load(tmp_path / "out" / "encoders" / result["encoder"])
    assert encoder.get_params()["mu"] == result["config"]["mu"]
    assert not any("tried" in result for result in report.of(MAX))
    assert f"| {ATTENTION_PENALTY}, seed 1 | {best.removeprefix('mu ')} |" in report.markdown()


def test_students_are_evaluated_by_their_predicted_embeddings(folder, tmp_path):
    rows = ["teacher", "max pooling, taught", "average of words, not taught"]
    arguments = {"rows": rows, "tables": ["students"], "seeds": (0,), "labels": {}}
    with pytest.raises(ValueError, match="a teacher requires sentences"):
        reproduce(folder, tmp_path / "none", **arguments, teacher="teacher.sentencode")
    taught = {"teacher": str(folder / "teacher.sentencode"), "sentences": [folder / "books.txt"]}
    report = reproduce(folder, tmp_path / "out", **arguments, **taught)
    (teacher,), (student,), (words,) = (report.of(row) for row in rows)
    assert (teacher["dim"], student["dim"], words["dim"]) == (6, 6, 4)
    encoder = se.load(tmp_path / "out" / "encoders" / student["encoder"])
    task = se.evaluation.load_task("STSBenchmarkCosine", folder / "data", partial=True)
    pairs = task.splits["test"]
    predicted = [encoder.predict(side).astype(np.float32) for side in pairs.sentences]
    cosines = se.evaluation.cosine_of_pairs(*predicted)
    pearson = student["scores"]["STSBenchmarkCosine pearson"]["value"]
    assert pearson == pytest.approx(np.corrcoef(cosines, pairs.labels)[0, 1], abs=1e-5)
    assert student["scores"]["sentences/s speed"]["value"] > 0
    without = reproduce(folder, tmp_path / "without", **arguments)
    assert "Left out: teacher (no teacher was given)." in without.text()
    assert "Left out: max pooling, taught (the corpus teacher is missing)." in without.text()


def test_wrong_corpora(folder, tmp_path):
    nli = label_files(folder)["nli"]
    with pytest.raises(ValueError, match="no corpus is named 'snli'; there are nli, multinli, ratings, age"):
        reproduce(folder, tmp_path / "a", labels={"snli": nli})
    with pytest.raises(ValueError, match=r"multinli: give .* a test file for MultiNLI-in and MultiNLI-cross"):
        reproduce(folder, tmp_path / "b", labels={"multinli": nli})
    report = reproduce(folder, tmp_path / "c", labels={}, rows=[MAX], seeds=(0,))
    assert "Left out: max pooling, NLI (the corpus nli is missing)." in report.text()


def test_both_tests_of_multinli(folder, tmp_path):
    nli = label_files(folder)["nli"]
    labels = {"multinli": {**nli, "test": [folder / "nli.test.tsv", folder / "nli.valid.tsv"]}}
    row = "mean pooling, MultiNLI"
    report = reproduce(
        folder, tmp_path / "out", labels=labels, rows=[row], seeds=(0,), tables=["2"], epochs=1
    )
    assert {"MultiNLI-in accuracy", "MultiNLI-cross accuracy"} <= set(report.scores(row))
    assert len(report.of(row)[0]["validations"]) == 1


def test_finalists_are_evaluated_on_senteval_too(folder, tmp_path):
    size = replace(TINY, steps=2)
    arguments = {"rows": [MAX, "last pooling, NLI"], "seeds": (0,), "tables": ["senteval"], "size": size}
    report = reproduce(folder, tmp_path / "out", **arguments)
    assert {"SNLI accuracy", "TREC accuracy", "CR accuracy"} <= set(report.scores(MAX))
    assert set(report.scores("last pooling, NLI")) == {"SNLI accuracy"}


def test_the_command(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(pooling.SIZES, "tiny", replace(TINY, steps=1))
    half = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    common = [
        *("reproduce", "pooling", "--data", str(folder / "data"), "--size", "tiny", "--set", "folds=2"),
        *("--vectors", str(folder / "vectors.sentencode"), "--partial", "--quiet", "--device", "cpu"),
        *(
            "--rows",
            "max-pooling-nli",
            "generalized-pooling-nli",
            "--table",
            "1",
            "fig2",
            "--resamples",
            "20",
        ),
        *("--nli", str(folder / "nli.train.tsv"), "--mu-grid", "1", ".1"),
        *(("--autocast", "bfloat16") if half else ()),
    ]
    assert main([*common, "--out", str(tmp_path / "one")]) != 0
    assert "nli: give training files, and a test file for SNLI" in capsys.readouterr().err
    tests = ["--nli-test", str(folder / "nli.test.tsv"), "--nli-valid", str(folder / "nli.valid.tsv")]
    assert main([*common, *tests, "--out", str(tmp_path / "two")]) == 0
    settings = json.loads((tmp_path / "two" / "results.json").read_text())["settings"]
    assert settings["values"] == {"mu": [1.0, 0.1]}
    assert (settings.get("autocast"), settings["margin"]) == ("bfloat16" if half else None, 1.0)
    assert "generalized pooling, ours" in capsys.readouterr().out
