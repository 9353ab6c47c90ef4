"""Duplicates, clusters and search: against scikit-learn, and as tasks of files."""

from __future__ import annotations

import numpy as np
import pytest

from sentencode.evaluation import Kind, Split, Task, average_precision, compare, evaluate, load_tsv_task
from sentencode.evaluation.metrics.untrained import (
    average_precisions,
    cluster,
    few_shot,
    nearest_other,
    search,
    v_measure,
)

metrics = pytest.importorskip("sklearn.metrics")
RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("digits", [1, 6])  # with and without ties
def test_average_precision(digits):
    labels = RANDOM.integers(0, 2, 300)
    scores = np.round(RANDOM.normal(size=300) + labels, digits)
    assert average_precision(scores, labels) == pytest.approx(metrics.average_precision_score(labels, scores))
    resampled = average_precisions(scores, labels, 400, 3)
    drawn = np.random.default_rng(3).multinomial(300, np.full(300, 1 / 300), 400)
    for i in (0, 7, 399):
        repeated = np.repeat(np.arange(300), drawn[i])
        expected = metrics.average_precision_score(labels[repeated], scores[repeated])
        assert resampled[i] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([0.5, 0.5], [0, 0], "labels must have a positive example, got none of 2"),
        ([0.5, 0.5], [1], "scores and labels must be equally long, got 2 and 1"),
        ([np.nan, 0.5], [1, 0], r"scores must be finite, but scores\[0\] is nan"),
        ([], [], "scores is empty"),
    ],
)
def test_average_precision_refuses(scores, labels, message):
    with pytest.raises(ValueError, match=message):
        average_precision(scores, labels)


def test_v_measure():
    classes, clusters = RANDOM.integers(0, 5, 400), RANDOM.integers(0, 6, 400)
    clusters[:200] = classes[:200]
    table = np.zeros((1, 6, 5))
    np.add.at(table[0], (clusters, classes), 1)
    assert v_measure(table)[0] == pytest.approx(metrics.v_measure_score(classes, clusters))
    assert v_measure(np.full((1, 1, 1), 9.0))[0] == 1


def test_clusters_that_are_classes():
    centres = np.eye(4, dtype=np.float32)
    classes = np.repeat(np.arange(4), 30)
    rows = centres[classes] + 0.01 * RANDOM.normal(size=(120, 4)).astype(np.float32)
    found = cluster(rows, classes, resamples=100)
    assert 0.6 < found.value <= 1  # k-means may join two
    assert found.interval.low <= found.value <= found.interval.high + 1e-9
    assert cluster(rows, RANDOM.permutation(classes), resamples=100).value < 0.2


def test_nearest_other():
    rows = RANDOM.normal(size=(60, 5)).astype(np.float32)
    rows[7] = rows[3]  # each is the nearest of the other
    cosines = metrics.pairwise.cosine_similarity(rows)
    np.fill_diagonal(cosines, -2)
    nearest = nearest_other(rows)
    np.testing.assert_array_equal(nearest, cosines.argmax(1))
    assert (nearest[3], nearest[7]) == (7, 3)


def test_few_shot():
    linear = pytest.importorskip("sklearn.linear_model")
    classes = np.repeat([0, 1, 2], [40, 25, 17])
    rows = (np.eye(3)[classes] + RANDOM.normal(size=(82, 3))).astype(np.float32)
    shots = few_shot(rows, classes, resamples=400)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    random, expected = np.random.default_rng(1111), []
    for _ in range(10):
        train = np.concatenate(
            [random.choice(np.flatnonzero(classes == c), 16, replace=False) for c in range(3)]
        )
        test = np.setdiff1d(np.arange(82), train)
        fitted = linear.LogisticRegression(max_iter=1000).fit(unit[train], classes[train])
        expected.append(fitted.score(unit[test], classes[test]))
    assert shots.value == pytest.approx(np.mean(expected))
    assert shots.deviation == pytest.approx(np.std(expected, ddof=1))
    assert shots.interval.low < shots.value < shots.interval.high
    assert shots.interval.high - shots.interval.low < 0.4
    assert shots.correct.sum() / shots.tested.sum() == pytest.approx(shots.value)
    assert shots.tested.sum() == 10 * (82 - 3 * 16)
    assert ((shots.correct >= 0) & (shots.correct <= shots.tested)).all()
    with pytest.raises(ValueError, match="more than 16 examples of each class"):
        few_shot(rows[:81], classes[:81])


def test_search():
    queries, documents = (RANDOM.normal(size=(n, 6)).astype(np.float32) for n in (40, 70))
    labels = RANDOM.integers(0, 15, 70)
    wanted = RANDOM.choice(labels, 40)
    hits = search(queries, documents, wanted, labels)
    cosines = metrics.pairwise.cosine_similarity(queries, documents)
    relevant = labels == wanted[:, None]
    expected = [
        metrics.ndcg_score([row], [cosine], k=10) for row, cosine in zip(relevant, cosines, strict=True)
    ]
    np.testing.assert_allclose(hits.ndcg10, expected, rtol=1e-6)
    top = np.take_along_axis(relevant, np.argsort(-cosines)[:, :10], 1)
    np.testing.assert_allclose(hits.recall10, top.sum(1) / relevant.sum(1))
    ranks = [np.flatnonzero(row) for row in top]
    np.testing.assert_allclose(hits.mrr10, [1 / (r[0] + 1) if len(r) else 0 for r in ranks])
    few = search(queries[:2], documents[:3], labels[:2], labels[:3])
    assert few.recall10.tolist() == [1, 1]


def encoder(sentences):
    """Counts of letters."""
    return np.array([[s.count(letter) + 0.01 for letter in "abcdefgh"] for s in sentences], dtype=np.float32)


def lengths(sentences):
    return np.array([[len(s) % 7 + 0.1, len(s) % 5, 1] for s in sentences], dtype=np.float32)


@pytest.fixture
def tasks(tmp_path):
    letters = "abcdef"
    texts = [letter * n + "gh"[n % 2] for letter in letters for n in range(3, 9)]
    (tmp_path / "topics.tsv").write_text("".join(f"{text[0]}\t{text}\n" for text in texts))
    pairs = [(int(a[0] == b[0]), a, b) for a in texts[::2] for b in texts[1::3]]
    (tmp_path / "pairs.tsv").write_text("".join(f"{same}\t{a}\t{b}\n" for same, a, b in pairs))
    for name, part in (("queries", texts[::5]), ("documents", texts)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{text[0]}\t{text}\n" for text in part))
    files = {name: tmp_path / f"{name}.tsv" for name in ("queries", "documents")}
    return [
        load_tsv_task("clustering", tmp_path / "topics.tsv"),
        load_tsv_task("duplicates", tmp_path / "pairs.tsv"),
        load_tsv_task("search", files, name="letters"),
    ]


def test_tasks_of_files(tasks, tmp_path):
    reports = [evaluate(e, tasks, name=e.__name__, tokens=False) for e in (encoder, lengths)]
    for task, key in (("topics", "v_measure"), ("pairs", "ap"), ("letters", "ndcg10")):
        good, bad = (report[task] for report in reports)
        assert good.headline == key
        assert good[key] > 75 > bad[key] + 10
        assert good.intervals[key].low <= good[key] <= good.intervals[key].high + 1e-9
    assert reports[0]["letters"].shown == ["ndcg10", "recall10", "mrr10"]
    assert "ap" in reports[0].to_markdown()
    assert [one.sentences for one in reports[1]["pairs"].wrong(1)]
    rows = {(row.task, row.figure): row for row in compare(*reports).rows}
    assert set(rows) == {("pairs", "ap"), ("letters", "ndcg10")}
    for row in rows.values():
        assert row.difference > 0
        assert row.p_two_tailed < 0.05


def test_classes_that_do_not_occur_have_no_cluster():
    rows = encoder([letter * n for letter in "abc" for n in range(3, 9)])
    classes = np.repeat([0, 1, 2], 6)
    assert cluster(rows, classes * 3) == cluster(rows, classes)


def test_wrong_files(tasks, tmp_path):
    topics = tmp_path / "topics.tsv"
    with pytest.raises(ValueError, match="files of clustering must be one, got train, test"):
        load_tsv_task("clustering", {"train": topics, "test": topics})
    with pytest.raises(ValueError, match="files of search must be queries and documents, got all"):
        load_tsv_task("search", topics)
    with pytest.raises(ValueError, match=r"question must be .*'search', got 'x'"):
        load_tsv_task("x", topics)
    (tmp_path / "one.tsv").write_text("a\tb\na\tc\n")
    with pytest.raises(ValueError, match="has one class"):
        load_tsv_task("clustering", tmp_path / "one.tsv")
    (tmp_path / "same.tsv").write_text("1\ta\tb\n1\ta\tc\n")
    report = evaluate(encoder, load_tsv_task("duplicates", tmp_path / "same.tsv"), tokens=False)
    assert "pairs of class 1 and others of class 0" in report["same"].error
    (tmp_path / "queries.tsv").write_text("z\taaa\n")
    files = {name: tmp_path / f"{name}.tsv" for name in ("queries", "documents")}
    with pytest.raises(ValueError, match=r"queries.tsv:1: expected one of a, b, .* got 'z'"):
        load_tsv_task("search", files)
    splits = {"queries": Split((["aa"],), [1]), "documents": Split((["aa", "bb"],), [0, 0])}
    report = evaluate(encoder, Task("s", splits, Kind("search"), ("x", "y")), tokens=False)
    assert "no document is relevant to the queries of 'y'" in report["s"].error
    report = evaluate(encoder, Task("s", splits, Kind("search")), tokens=False)
    assert "no document is relevant to the queries of label 1" in report["s"].error
