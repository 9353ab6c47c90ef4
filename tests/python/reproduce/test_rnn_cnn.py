"""Rows of tables 1 and 2 at a tiny size, from ordered text to tables."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import sentencode as se
from sentencode.cli import main
from sentencode.evaluation import published
from sentencode.reproduce import rnn_cnn
from sentencode.reproduce.bench import _few_in_order
from sentencode.reproduce.controls import AverageOfWord2vec
from sentencode.text.corpus import Corpus

sys.path.insert(0, str(Path(__file__).parent))
from small import QUICK, fill, word_vectors  # a module of this folder

TINY = rnn_cnn.Size(
    **{"small": 4, "double": 6, "large": 8, "channels": 6, "inner": 4, "skip": 8, "aae": 8},
    training={"vocabulary_size": 30, "learning_rate": 0.01, "batch_size": 8},
    steps=3,
    word_dim=4,
    valid_sentences=10,
    examples={"": 20},
)
ASKED = [*rnn_cnn._TABLE_1, "small RNN-CNN, reviews", "large RNN-CNN", "skip-thoughts", "FastSent+AE"]
ASKED += ["mean-max AAE", "SIF", "skip-thoughts, combined", "skip-thoughts, layer norm"]
ASKED += [name for name, row in rnn_cnn._CONTROLS.items() if row.kind]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("rnn-cnn")
    fill(root, word_vectors())
    return root


def reproduce(folder, out, **more):
    books, valid = [folder / "books.txt"], [folder / "valid.txt"]
    others = {"reviews": ([folder / "reviews.txt"], valid)}
    arguments = {"size": TINY, "rows": ASKED, "others": others, **QUICK, **more}
    return rnn_cnn.reproduce(folder / "data", word_vectors(), books, valid, out=out, **arguments)


@pytest.fixture(scope="module")
def done(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "rnn-cnn"
    return reproduce(folder, out), out


def test_every_row_is_trained_for_the_same_steps(done):
    report, _ = done
    assert {result["row"] for result in report.results} == set(ASKED)
    for result in report.results:
        if rnn_cnn.ROWS[result["row"]].trained:
            trainings = len(rnn_cnn.ROWS[result["row"]].joined) or 1
            assert result["steps"] == 3 * trainings
            assert 3 <= result["sentences"] <= 24 * trainings
            assert result["scores"]["training hours"]["value"] > 0
    dims = {result["row"]: result["dim"] for result in report.results}
    assert dims["predict-all-words CNN"] == dims["autoregressive RNN, Always Sampling"] == 16
    assert dims["predict-all-words CNN, max only"] == 8
    assert dims["predict-all-words CNN, double-sized encoder"] == 24
    assert (dims["large RNN-CNN"], dims["skip-thoughts"], dims["FastSent+AE"], dims["SIF"]) == (32, 8, 4, 4)
    assert dims["skip-thoughts, combined"] == dims["skip-thoughts, layer norm"] == 8
    settings = {
        result["row"]: (result["config"]["decoder"], result["config"]["feeding"])
        for result in report.results
        if result["row"] in rnn_cnn._TABLE_1
    }
    assert settings["autoregressive CNN, Uniform Sampling"] == ("autoregressive_cnn", "uniform_sampling")
    assert settings["predict-all-words RNN"][0] == "rnn"


def test_combined_skip_thoughts_are_trained_apart(done):
    report, out = done
    one, two = (
        se.load(out / "encoders" / f"skip-thoughts-combined-0-{i}.sentencode").network for i in (1, 2)
    )
    assert (one.dim, two.dim) == (4, 4)
    assert "encoder.weight_hh_l0_reverse" not in one.state_dict()
    assert "encoder.weight_hh_l0_reverse" in two.state_dict()
    (combined,) = report.of("skip-thoughts, combined")
    sizes = [sum(p.numel() for p in network.parameters() if p.requires_grad) for network in (one, two)]
    assert combined["parameters"]["with_softmax"] == sum(sizes)
    assert "| skip-thoughts, combined, ours |" in report.markdown()


def test_controls_have_the_width_and_the_pooling_of_trained_rows(done):
    report, _ = done

    def shape(row):
        options = rnn_cnn.ROWS[row].options
        kept = {key: options[key] for key in ("pooling", "bidirectional") if key in options}
        return rnn_cnn.ROWS[row].kind, report.of(row)[0]["dim"], kept

    shapes = [shape(row) for row in rnn_cnn._CONTROLS if report.of(row) and rnn_cnn.ROWS[row].kind]
    for row in ASKED:
        one = rnn_cnn.ROWS[row]
        if one.trained and not one.joined and one.kind != "FastSent":  # averages of words are its control
            assert shape(row) in shapes


def storing(fit, fitted):
    """`fit`, which stores the sentences that it gets under the name of the class."""

    def fit_and_store(self, sentences, **options):
        fitted[type(self).__name__] = list(sentences)
        return fit(self, sentences, **options)

    return fit_and_store


def test_other_encoders_of_table_2(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "none"))
    se.Average(word_vectors()).save(tmp_path / "infersent.sentencode")
    rows = ["ParagraphVec", "word2vec", "DictRep", "InferSent"]
    options = {"rows": rows, "tables": ["2"], "infersent": tmp_path / "infersent.sentencode"}
    fitted = {}
    for encoder in (se.ParagraphVec, AverageOfWord2vec):
        monkeypatch.setattr(encoder, "fit", storing(encoder.fit, fitted))
    report = reproduce(folder, tmp_path / "out", sampled_words=5, **options)
    everything = list(Corpus.from_files([folder / "books.txt"]))
    assert fitted["AverageOfWord2vec"] == everything
    chosen = fitted["ParagraphVec"]
    assert len(chosen) == 20 < len(everything)
    positions = iter(everything)
    assert all(sentence in positions for sentence in chosen)  # in order
    assert report.settings["size"]["training"]["sampled_words"] == 5
    assert [result["row"] for result in report.results if "missing" in result] == ["DictRep"]
    for name in ("ParagraphVec", "word2vec BOW", "InferSent (SNLI)"):
        assert f"| {name}, paper |" in report.markdown()


def test_each_corpus_has_its_words(done):
    _, out = done
    books, reviews = (se.Vocabulary.read(out / name) for name in ("vocabulary.txt", "vocabulary-reviews.txt"))
    assert dict(books) != dict(reviews)
    encoder = se.load(out / "encoders" / "small-rnn-cnn-reviews-0.sentencode")
    assert encoder.vocabulary_.words == reviews.words


def test_rows_of_a_missing_corpus_are_left_out(folder, tmp_path):
    report = reproduce(folder, tmp_path / "out", rows=["small RNN-CNN, reviews", "SIF"], others=None)
    assert "Left out: small RNN-CNN, reviews (the corpus reviews is missing)." in report.text()
    with pytest.raises(ValueError, match="rnn-cnn has no corpus news"):
        reproduce(folder, tmp_path / "other", others={"news": ([], [])})


def test_rows_have_the_names_of_the_paper(done):
    report, _ = done
    systems = {figure.system for figure in published("001", "1")}
    assert set(rnn_cnn._TABLE_1) == systems
    markdown = report.markdown()
    for name in systems:
        assert f"| {name}, paper |" in markdown
        assert f"| {name}, ours |" in markdown
    assert "| Skip-thoughts, paper |" in markdown  # of table 2
    assert "| Skip-thought+LN, paper |" in markdown


def test_findings_of_computed_rows(done):
    report, out = done
    findings = {(one["row"], one["other"]): one for one in report.findings}
    reviews = (
        "small RNN-CNN, reviews",
        "predict-all-words CNN",
    ) in findings  # where MR, CR or SST2 are there
    assert len(findings) == 4 + 6 + 3 + 1 + reviews  # I, II, poolings and width
    sampling = findings["autoregressive RNN, Always Sampling", "autoregressive RNN, Teacher-Forcing"]
    tasks = sampling["tasks"]
    means = [
        sum(report.scores(row)[f"{task} accuracy"] for task in tasks) / len(tasks)
        for row in (sampling["row"], sampling["other"])
    ]
    assert set(tasks) <= {"MRPC", "SST2", "TREC", "SICKEntailment"}  # accuracies alone, in this test's data
    assert sampling["value"] == pytest.approx(means[0] - means[1], abs=1e-3)
    assert sampling["low"] <= sampling["value"] <= sampling["high"]
    assert (
        "| I: correct words are not needed | autoregressive RNN, Always Sampling / autoregressive RNN, "
        in report.markdown()
    )
    assert json.loads((out / "results.json").read_text())["findings"] == list(report.findings)
    if importlib.util.find_spec("matplotlib") is not None:
        assert (out / "findings.png").read_bytes().startswith(b"\x89PNG")
        svg = (out / "findings.svg").read_text()
        assert "predict-all-words RNN" in svg
        assert "undecided" in svg


def test_all_rows_but_one_have_a_bias_of_words():
    """As the published rows have; the preset has none."""
    biases = {name: row.options["word_bias"] for name, row in rnn_cnn.ROWS.items() if row.kind == "RNNCNN"}
    assert [name for name, bias in biases.items() if not bias] == ["no bias of words"]


def test_rows_of_tables():
    def rows(tables):
        return rnn_cnn.FAMILY.selected(tables, None)[1]

    assert set(rows(["1"])) == set(rnn_cnn._TABLE_1)
    assert set(rows(["hyper"])) > set(rnn_cnn._HYPER)
    assert set(rows(["1", "cost"])) == set(rnn_cnn._TABLE_1)
    assert set(rows(["cost"])) == set(rnn_cnn.ROWS)  # a table of all rows


def test_hyperparameters_are_those_of_the_rows(folder, tmp_path):
    asked = [row for row in rnn_cnn._HYPER if row != "the next sentence"] + ["the next sentence"]
    report = reproduce(folder, tmp_path / "out", rows=asked, tables=["hyper"], size=replace(TINY, steps=1))
    configs = {result["row"]: result["config"] for result in report.results}
    assert [configs[f"{n} words"]["following_words"] for n in (10, 20, 40)] == [10, 20, 40]
    assert [configs[f"{n} layers"]["decoder_layers"] for n in (2, 4)] == [2, 4]
    assert configs["a decoder twice as wide"]["channels"] == 2 * TINY.channels
    assert configs["the next sentence"]["targets"] == "sentence"
    assert not configs["no bias of words"]["word_bias"]
    sizes = {result["row"]: result["parameters"] for result in report.results}
    assert sizes["4 layers"]["without_softmax"] > sizes["2 layers"]["without_softmax"]
    assert sizes["no bias of words"]["with_softmax"] == sizes["no bias of words"]["without_softmax"]


def test_large_encoders_and_controls_are_evaluated_on_inference(folder, tmp_path, monkeypatch):
    lines = [
        f"{('entailment', 'neutral', 'contradiction')[i % 3]}\ta b c\tb {'abc'[i % 3]}" for i in range(30)
    ]
    header = "gold_label\tsentence1\tsentence2"
    files = {"train": [tmp_path / "train.tsv"], "test": [tmp_path / "test.tsv", tmp_path / "revised.tsv"]}
    for of in files.values():
        for file in of:
            rows = (line.replace("a b c", f"{file.stem} {i}") for i, line in enumerate(lines))
            file.write_text("\n".join([header, *rows]))
    monkeypatch.setattr(rnn_cnn, "_HELD_OUT", 9)
    arguments = {"nli": files, "tables": ["3"], "size": replace(TINY, steps=1)}
    rows = ["large RNN-CNN", "average of words", "small RNN-CNN, reviews"]
    report = reproduce(folder, tmp_path / "out", rows=rows, **arguments)
    tests = ("NLI accuracy", "revised NLI accuracy")
    evaluated = {result["row"]: all(t in result["scores"] for t in tests) for result in report.results}
    assert evaluated == {"large RNN-CNN": True, "average of words": True, "small RNN-CNN, reviews": False}
    assert "| large RNN-CNN, ours |" in report.markdown()
    assert "Vendrov" in report.markdown()
    assert "SNLI's test, few pairs | revised pairs, few pairs |" in report.markdown()
    with pytest.raises(ValueError, match="tasks"):
        reproduce(folder, tmp_path / "out", rows=rows, resume=True, **{**arguments, "nli": None})
    with pytest.raises(ValueError, match="nli: give training files, and one or two test files"):
        reproduce(folder, tmp_path / "none", rows=rows, **{**arguments, "nli": {"train": files["train"]}})


def test_losses_without_reading_the_sentence(folder, tmp_path):
    rows = ["unigram model", "bigram model", "predict-all-words CNN"]
    report = reproduce(folder, tmp_path / "out", rows=rows, tables=["losses"])
    losses = {row: report.scores(row)["following loss"] for row in rows}
    vocabulary = se.Vocabulary.read(tmp_path / "out" / "vocabulary.txt")
    texts = {name: (folder / f"{name}.txt").read_text().split("\n") for name in ("books", "valid")}
    train = [word if word in vocabulary else "<unk>" for line in texts["books"] for word in line.split()]
    frequencies, kinds = Counter(train), len(vocabulary) + 1  # with the unknown word
    pairs = Counter(itertools.pairwise(train))
    continuations = Counter(second for _, second in pairs)

    def after(word, previous):
        p = (continuations[word] + 1) / (len(pairs) + kinds)
        others = {second: n for (first, second), n in pairs.items() if first == previous}
        if not others:
            return p
        seen = max(others.get(word, 0) - 0.75, 0) / sum(others.values())
        return seen + 0.75 * len(others) / sum(others.values()) * p

    single, double = [], []
    valid = [line.split() for line in _few_in_order(Corpus(texts["valid"]), 10) if line]
    for i in range(len(valid) - 1):
        following = list(itertools.chain.from_iterable(valid[i + 1 :]))[:30]
        following = [word if word in vocabulary else "<unk>" for word in following]
        single += [-math.log((frequencies[word] + 1) / (len(train) + kinds)) for word in following]
        double += [single[-len(following)]]
        double += [-math.log(after(word, previous)) for previous, word in itertools.pairwise(following)]
    assert losses["unigram model"] == pytest.approx(np.mean(single))
    assert losses["bigram model"] == pytest.approx(np.mean(double))
    (trained,) = report.of("predict-all-words CNN")
    assert losses["predict-all-words CNN"] == trained["dev"]["loss"]
    assert "| unigram model, ours |" in report.markdown()


def test_a_second_call_computes_nothing(done, folder):
    report, out = done
    before = (out / "results.json").read_bytes()
    assert reproduce(folder, out, resume=True).results == report.results
    assert (out / "results.json").read_bytes() == before


def test_validation_keeps_sentences_together():
    corpus = Corpus([*(f"a{i}" for i in range(10)), "", *(f"b{i}" for i in range(4)), ""])
    assert _few_in_order(corpus, 7) == [*(f"a{i}" for i in range(7)), ""]
    assert len(_few_in_order(corpus, 100)) == 16
    long = Corpus([s for d in "abc" for s in (*(f"{d}{i}" for i in range(100)), "")])
    assert _few_in_order(long, 60) == [s for d in "abc" for s in (*(f"{d}{i}" for i in range(20)), "")]


def test_short_documents_stay_whole():
    corpus = Corpus([s for d in range(3000) for s in (*(f"{d} {i}" for i in range(5)), "")])
    chosen = _few_in_order(corpus, 1000)
    assert chosen.count("") == 50
    assert chosen[:6] == [*(f"0 {i}" for i in range(5)), ""]
    assert chosen[-2] == "2940 4"  # from all parts of the files


def test_the_command(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(rnn_cnn.SIZES, "tiny", replace(TINY, steps=1))
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)  # or else it is slow
    common = [
        *("reproduce", "rnn-cnn", "--data", str(folder / "data")),
        *("--vectors", str(folder / "vectors.sentencode"), "--size", "tiny", "--set", "folds=2"),
        *("--train", str(folder / "books.txt"), "--valid", str(folder / "valid.txt")),
        *("--reviews", str(folder / "reviews.txt"), "--partial", "--quiet", "--device", "cpu"),
        *("--rows", "small-rnn-cnn-reviews", "--table", "2", "--resamples", "20"),
    ]
    assert main([*common, "--out", str(tmp_path / "one")]) != 0
    assert "--reviews and --reviews-valid: give both, or neither" in capsys.readouterr().err
    half = ["--autocast", "bfloat16", "--sampled-words", "4", "--curves"]
    arguments = [*common, *half, "--reviews-valid", str(folder / "valid.txt"), "--out", str(tmp_path / "two")]
    assert main(arguments) == 0
    content = json.loads((tmp_path / "two" / "results.json").read_text())
    assert content["settings"]["autocast"] == "bfloat16"
    (row,) = content["rows"]
    assert row["config"]["sampled_words"] == 4
    assert [seen for seen, _ in row["curve"]] == [0, row["sentences"]]
    assert "small RNN-CNN, reviews, ours" in capsys.readouterr().out
