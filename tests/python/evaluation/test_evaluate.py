"""`evaluate` from end to end: errors of one task and of the caller, similarity, real data."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import make_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")
text = pytest.importorskip("sklearn.feature_extraction.text")
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parent))
from toys import (
    TABLE,
    WORDS,
    classification,
    length,
    ours,
    relatedness,
    rows_of,
    run,
    similarity,
    some_sentences,
    write_cr,
)

import sentencode as se
from sentencode.errors import FormatError
from sentencode.evaluation import (
    Kind,
    Report,
    Split,
    Task,
    learning_curve,
    sentences_of,
    task_names,
)
from sentencode.evaluation.data import digest_of
from sentencode.evaluation.embeddings import Embedder


def test_any_error_in_one_task_leaves_the_others():
    def odd(u, v):
        return 1 / 0

    tasks = [similarity(), classification()]
    report = run(rows_of, tasks, options={"similarity": odd})
    assert report["alike"].error == "ZeroDivisionError: division by zero"
    assert report["mine"]["acc"] > 50


def test_failed_tasks_do_not_stop_others():
    """A task without a training class, and one with NaN embeddings."""

    def sometimes(sentences):
        rows = rows_of([sentence.replace(" odd", "") for sentence in sentences])
        rows[["odd" in sentence for sentence in sentences]] = np.nan
        return rows

    task = classification()
    one_class = {name: replace(split, labels=0 * split.labels) for name, split in task.splits.items()}
    odd = similarity("odd")
    sides = tuple([f"{sentence} odd" for sentence in side] for side in odd["one"].sentences)
    tasks = [
        task,
        replace(task, name="alone", splits=one_class),
        replace(odd, splits={"one": replace(odd["one"], sentences=sides)}),
        similarity(),
    ]
    report = run(sometimes, tasks)
    assert list(report) == ["mine", "alone", "odd", "alike"]
    assert report["alone"].error == "fold 0 trains on one class alone: it must have two or more"
    assert "gave NaN or infinity for" in report["odd"].error
    assert all(result.details["data"] for result in report.values())
    assert report["mine"].error is report["alike"].error is None


def test_ctrl_c_keeps_finished_tasks(tmp_path):
    """It is not an error of a task: the run stops, and the file has the results so far."""
    out = tmp_path / "report.json"

    def interrupted(u, v):
        raise KeyboardInterrupt

    tasks = [classification(), similarity(), similarity("more", seed=7)]
    with pytest.raises(KeyboardInterrupt):
        run(rows_of, tasks, options={"similarity": interrupted}, out=out, key="a")
    assert list(Report.load(out)) == ["mine"]
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("module", "task", "protocol"),
    [
        ("sklearn.model_selection", classification(), "fast"),
        ("sklearn.model_selection", classification(), "senteval-sklearn"),
        ("torch", relatedness(), "optimum"),
        ("torch", classification(), "optimum"),
        ("scipy.stats", similarity(), "fast"),
    ],
)
def test_missing_packages_are_named_at_once(monkeypatch, caplog, module, task, protocol):
    def never(sentences):
        raise AssertionError("encoded")

    monkeypatch.setitem(sys.modules, module, None)
    if module.partition(".")[0] != module:
        monkeypatch.setitem(sys.modules, module.partition(".")[0], None)
    extra = "nn" if module == "torch" else "eval"
    what = re.escape(f"this needs {module.partition('.')[0]}: pip install 'sentencode[{extra}]'")
    if (module, task.kind.question) == ("torch", "classification"):
        what += " for the protocol 'optimum'; 'senteval-sklearn' needs no torch"
    with pytest.raises(ImportError, match=what):
        run(never, task, protocol=protocol)
    if task.kind.validation is not None:
        with pytest.raises(ImportError, match=what):
            learning_curve(never, task, sizes=[0.5], protocol=protocol, cache=False)
    assert not caplog.records


def test_there_are_no_jobs():
    with pytest.raises(TypeError, match="unexpected keyword argument 'jobs'"):
        run(rows_of, similarity(), jobs=2)


def test_an_encoder_without_enough_memory_for_one_task(monkeypatch):
    plain = Embedder.__call__

    def call(self, sentences):
        if len(sentences) > 60:
            raise MemoryError("too many rows")
        return plain(self, sentences)

    monkeypatch.setattr(Embedder, "__call__", call)
    many, few = similarity("many", subsets=("one", "two", "three")), similarity("few", subsets=("test",))
    report = run(rows_of, [many, few])
    assert report["many"].error == "too many rows"
    assert report["few"].error is None


def test_similarity_is_scipys():
    task = similarity()
    result = run(rows_of, task)["alike"]
    cosines, golds, correlations = [], [], {"pearson": [], "spearman": []}
    for name, split in task.splits.items():
        a, b = (rows_of(side).astype(float) for side in split.sentences)
        cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        cosines.append(cosine)
        golds.append(split.labels)
        for key, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
            expected = of(cosine, split.labels)
            assert result[name][key] == pytest.approx((expected.statistic, expected.pvalue), rel=1e-5)
            correlations[key].append(expected.statistic)
        assert result[name]["nsamples"] == len(split)
    for key, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        all_pairs = result["all"][key]
        assert all_pairs["mean"] == pytest.approx(np.mean(correlations[key]), rel=1e-6)
        assert all_pairs["wmean"] == pytest.approx(
            (30 * correlations[key][0] + 40 * correlations[key][1]) / 70, rel=1e-6
        )
        pooled = of(np.concatenate(cosines), np.concatenate(golds)).statistic
        assert all_pairs["pooled"] == pytest.approx(pooled, rel=1e-5)
        low, high = result.intervals[f"all.{key}.pooled"]
        assert low < pooled < high
    assert result.headline == "all.pearson.wmean"
    assert result.figure("all.pearson.wmean") == result["all"]["pearson"]["wmean"]
    assert result.figure("one.spearman") == result["one"]["spearman"][0]


def test_another_similarity():
    """SentEval's parameter of that name: a function of two embeddings."""
    task = similarity()

    def near(u, v):
        return -float(np.abs(u - v).sum())

    report = run(rows_of, [task, similarity("other", seed=5)], options={"similarity": near})
    assert report.facts["protocol"] == "fast, similarity=near"
    split = task["one"]
    scores = [near(*rows_of(pair)) for pair in split.pairs]
    assert report["alike"]["one"]["pearson"][0] == pytest.approx(stats.pearsonr(scores, split.labels)[0])
    same = run(rows_of, task, options={"similarity": lambda u, v: 1.0}).results["alike"]
    assert same.error == "all similarities are equal: the correlation is undefined"
    bad = run(rows_of, task, options={"similarity": lambda u, v: np.nan}).results["alike"]
    assert bad.error.startswith("similarity must be finite")
    with pytest.raises(ValueError, match="must be 'cosine' or a function of two embeddings, got 'dot'"):
        run(rows_of, task, options={"similarity": "dot"})


def test_unknown_tokens_are_reported():
    assert re.search(r"Tokens without a word vector: alike 0.0 %\.", run(ours(), similarity()).to_markdown())
    few = se.Average(se.WordVectors.from_array(list(TABLE)[:4], np.stack(list(TABLE.values()))[:4]))
    report = run(few, similarity())
    words = " ".join(sentences_of(similarity())).split()
    share = np.mean([word not in WORDS[:4] for word in words])
    assert f"Tokens without a word vector: alike {100 * share:.1f} %." in report.notes()
    assert "Tokens" not in run(rows_of, similarity()).to_markdown()


def test_encoders_with_tokenizers_of_their_own_read_text():
    texts = []

    def split(text):
        texts.append(text)
        return text.split()

    encoder = se.Average(ours().vectors, tokenizer=split)
    report = run(encoder, similarity())
    assert set(sentences_of(similarity())) <= set(texts)
    assert report.facts["tokens"] is False
    assert report["alike"] == run(ours(), similarity())["alike"]


def test_one_set_of_pairs_has_no_average():
    result = run(rows_of, similarity(subsets=("test",)))["alike"]
    assert list(result) == ["test"]
    assert result.headline == "test.pearson"


SAME = Split((["cat", "dog", "sun"], ["dog", "sun", "cat"]), np.ones(3))
ONE_PAIR = Split((["cat"], ["dog"]), np.ones(1))


@pytest.mark.parametrize(
    ("encoder", "task", "message"),
    [
        (rows_of, Task("t", {"test": SAME}, Kind("similarity", pairs=True)), "all gold scores are"),
        (rows_of, Task("t", {"test": ONE_PAIR}, Kind("similarity", pairs=True)), "there is one pair: corr"),
        (length, similarity("t"), "all cosines are equal: the correlation is undefined"),
        (length, similarity("t", ("dev", "test")), "all cosines are equal: the correlation is undefined"),
    ],
)
def test_correlations_that_do_not_exist_are_no_scores(encoder, task, message, caplog):
    report = run(encoder, task)
    assert report.results["t"].error.startswith(message)
    assert (report.results["t"].figures, report.rows(), report.averages) == ({}, [], [])
    (record,) = caplog.records
    assert record.getMessage().startswith(f"t: {message}")
    assert not record.exc_info


def test_a_subset_with_undefined_correlation_is_reported(tmp_path):
    task = similarity("t", ("one", "two"))
    with_same = replace(task, splits={**task.splits, "same": SAME})
    report, without = run(rows_of, with_same), run(rows_of, task)
    result = report["t"]
    assert result["same"]["pearson"] == (0.0, 1.0)
    assert "same.pearson" not in result.intervals
    assert result["all"]["pearson"]["mean"] == pytest.approx(without["t"]["all"]["pearson"]["mean"] * 2 / 3)
    low, high = result.intervals["all.pearson.wmean"]
    assert low < result["all"]["pearson"]["wmean"] < high
    assert "t: all cosines or all scores of same are equal. The undefined correlation" in report.to_markdown()
    report.to_html(tmp_path / "report.html")
    assert "t: all cosines or all scores of same are equal." in (tmp_path / "report.html").read_text()
    assert "undefined" not in without["t"].details


def test_two_pairs_lie_on_a_line():
    pairs = Split((["cat", "dog"], ["dog", "sun"]), np.array([1.0, 2.0]))
    result = run(rows_of, Task("t", {"test": pairs}, Kind("similarity", pairs=True)))["t"]
    r, p = result["test"]["pearson"]
    assert (abs(r), p) == (pytest.approx(1), 1.0)  # as SciPy has it
    assert result.intervals == {}


def test_missing_data_is_named(tmp_path):
    with pytest.raises(ValueError, match="data is missing: the folder that the files of MR are in"):
        se.evaluate(rows_of, "MR")
    with pytest.raises(ValueError, match="NoTask"):
        se.evaluate(rows_of, ["NoTask"], tmp_path)
    with pytest.raises(ValueError, match="no protocol is named 'best'"):
        run(rows_of, protocol="best")
    with pytest.raises(TypeError, match="nhid"):
        run(rows_of, options={"nhid": 5})
    with pytest.raises(ValueError, match="resamples must be at least 1"):
        run(rows_of, resamples=0)
    for level, message in ((1.5, "less than 1, got 1.5"), (0, "more than 0, got 0")):
        with pytest.raises(ValueError, match=f"confidence must be {message}"):
            run(pytest.fail, confidence=level)
    with pytest.raises(ValueError, match="tasks is empty: name some, or 'all'"):
        se.evaluate(rows_of, [])
    for tasks in (None, 5, [None]):
        with pytest.raises(TypeError, match="tasks must be names or tasks, or 'all'; got"):
            se.evaluate(rows_of, tasks)
    for tasks in ([similarity("MR"), "MR"], ["MR", "MR"], [similarity(), similarity()]):
        with pytest.raises(ValueError, match=r"2 tasks are called '(MR|alike)': names must differ"):
            se.evaluate(pytest.fail, tasks, tmp_path)


def test_splits_that_do_not_fit():
    with pytest.raises(ValueError, match="as many sentences as labels, got 3 and 4 sentences and 3 labels"):
        Split((["a"] * 3, ["b"] * 4), np.ones(3))
    nothing = Split(([], []), np.ones(0))
    with pytest.raises(ValueError, match="mine: the split 'test' has no examples"):
        Task("mine", {"test": nothing}, Kind("similarity", pairs=True))
    with pytest.raises(ValueError, match="mine: a task must have at least one split"):
        Task("mine", {}, Kind("similarity", pairs=True))


CLASSES = np.arange(60) % 2
LABELS = {
    "float64": CLASSES.astype(float),
    "float32": CLASSES.astype(np.float32),
    "int32": CLASSES.astype(np.int32),
    "uint8": CLASSES.astype(np.uint8),
    "bool": CLASSES.astype(bool),
    "list": CLASSES.tolist(),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_labels_of_other_types_become_ours(labels):
    sentences = some_sentences(60, 0)
    kind = Kind("classification", "nested", features=("u",))
    task = Task("mine", {"all": Split((sentences,), labels)}, kind, ("no", "yes"))
    assert task["all"].labels.dtype == np.int64
    assert np.array_equal(task["all"].labels, CLASSES)
    pairs = Task("alike", {"test": Split((sentences, sentences), labels)}, Kind("similarity", pairs=True))
    assert pairs["test"].labels.dtype == np.float64
    assert np.array_equal(pairs["test"].labels, CLASSES)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["no", "yes"], TypeError, r"labels must be numbers, got 'no' \(str\); number classes from 0"),
        ([None, 1], TypeError, r"labels must be numbers, got None \(NoneType\)"),
        ([1j, 1], TypeError, "labels must be numbers"),
        ([[0], [1]], ValueError, r"one number for each example, got an array \[2, 1\]"),
        (np.array(1), ValueError, r"one number for each example, got an array \[\]"),
        ([0, np.nan], ValueError, r"labels must be finite, but labels\[1\] is nan"),
        ([0.0, 0.5], ValueError, r"mine, all: labels must be indices of classes, .* labels\[1\] is 0.5"),
        ([0, -1], ValueError, r"mine, all: labels must be indices of classes, .* labels\[1\] is -1"),
        (np.array([0, 2**63], np.uint64), ValueError, r"labels must fit int64, but labels\[1\] is 92"),
    ],
)
def test_wrong_labels(labels, error, message):
    with pytest.raises(error, match=message):
        Task("mine", {"all": Split((["a", "b"],), labels)}, Kind("classification", "nested", features=("u",)))


def test_classes_need_a_validation():
    with pytest.raises(ValueError, match="classification requires a validation: 'nested', 'folds' or 'dev'"):
        Kind("classification", features=("u",))


def test_the_digest_of_a_task_ignores_absent_fields():
    """New attributes of kinds do not change digests in old reports."""
    task = similarity()
    longer = make_dataclass("Kind", [("more", bool, False)], bases=(Kind,), frozen=True)
    assert digest_of(task) == digest_of(replace(task, kind=longer("similarity", pairs=True, subsets=True)))
    assert digest_of(task) != digest_of(replace(task, kind=Kind("similarity", pairs=True)))


def test_files_that_are_missing(tmp_path):
    write_cr(tmp_path)
    with pytest.raises(FileNotFoundError, match="rt-polarity"):
        run(rows_of, ["CR", "MR"], data=tmp_path, partial=True)
    report = run(rows_of, "all", data=tmp_path, partial=True)
    assert list(report) == ["CR"]
    assert set(report.skipped) == set(task_names()) - {"CR"}
    assert "rt-polarity" in report.skipped["MR"]
    with pytest.raises(KeyError, match="MR was not run: files are missing"):
        report["MR"]
    assert "CR: the number of examples is not the published one." in report.to_markdown()
    with pytest.raises(FormatError, match="3775"):
        run(rows_of, "all", data=tmp_path)


def test_no_files_at_all(tmp_path):
    with pytest.raises(ValueError, match=r"none of the tasks has its files in .*nowhere"):
        run(rows_of, "all", data=tmp_path / "nowhere")


def test_progress_bars(capsys):
    run(rows_of, show_progress_bar=True)
    assert "2/2" in capsys.readouterr().err
    run(rows_of, show_progress_bar=False)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_trec_is_that_of_scikit_learn():
    """TREC by five folds, with random vectors of words."""
    data = Path(os.environ["SENTENCODE_DATA"]) / "senteval"
    table = {}
    random = np.random.default_rng(0)

    def encode(sentences):
        rows = np.zeros((len(sentences), 30), np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            for word in sentence.split():
                row += table.setdefault(word, random.normal(size=30).astype(np.float32)) / 5
        return rows

    result = se.evaluate(encode, "TREC", data, protocol="fast", cache=False)["TREC"]
    assert (result["ndev"], result["ntest"]) == (5452, 500)
    assert result.details["gradient"] <= 1e-5
    task = se.evaluation.load_task("TREC", data)
    train, test = task["train"].by_length(), task["test"].by_length()
    model = LogisticRegression(C=result.details["penalties"][0], tol=1e-6, max_iter=2000)
    model.fit(encode(train.sentences[0]), train.labels)
    accuracy = 100 * model.score(encode(test.sentences[0]), test.labels)
    assert result["acc"] == pytest.approx(accuracy, abs=0.21)


def test_learnt_similarity_comes_after_the_cosine_of_the_same_pairs(tmp_path):
    folder = tmp_path / "downstream" / "STS" / "STSBenchmark"
    folder.mkdir(parents=True)
    lines = [f"g\tf\t2014\t1\t{i % 6}\ta {'b ' * (i % 5)}\ta {'c ' * (i % 4)}\n" for i in range(40)]
    for split in ("train", "dev", "test"):
        (folder / f"sts-{split}.csv").write_text("".join(lines))
    encoder = se.evaluation.baseline("bow", dim=16)
    options = {"partial": True, "cache": False, "resamples": 20, "protocol": "fast"}
    report = se.evaluate(encoder, "STSBenchmark", tmp_path, **options)
    assert list(report) == ["STSBenchmarkCosine", "STSBenchmark"]
    labels = [label for label, *_ in report.shown()]
    assert labels == 2 * ["STSBenchmarkCosine"] + 2 * ["STSBenchmark, learnt"]
    assert "Cosine: pairs are scored by the cosine of their embeddings" in report.to_markdown()
    assert repr(report).index("STSBenchmarkCosine") < repr(report).index("STSBenchmark, learnt")
    both = se.evaluate(encoder, ["STSBenchmark", "STSBenchmarkCosine"], tmp_path, **options)
    assert list(both) == ["STSBenchmark", "STSBenchmarkCosine"]
    assert both["STSBenchmark"]["pearson"] == report["STSBenchmark"]["pearson"]
    assert list(
        se.evaluate(encoder, se.evaluation.load_task("STSBenchmark", tmp_path, partial=True), **options)
    ) == ["STSBenchmark"]
