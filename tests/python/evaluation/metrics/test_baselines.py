"""Baselines: embeddings and scores."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

import sentencode as se
from sentencode.evaluation import Kind, Report, Split, Task, baseline
from sentencode.evaluation.metrics.baselines import BagOfWords, MajorityClass, RandomSentences, RandomWords

SENTENCES = ["a cat sat", "a cat sat on a mat", "", "caf\xe9 \U0001f600", "\ud800", "sat a cat"]
ROWS = [RandomSentences(dim=50), RandomWords(dim=50), BagOfWords(dim=50)]
IDS = [one.__name__ for one in ROWS]


def labelled(n, seed, labels=None):
    random = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(60)])
    sentences = [" ".join(random.choice(words, 6)) for _ in range(n)]
    if labels is None:
        labels = np.array([int(bool({"w1", "w2", "w3"} & set(s.split()))) for s in sentences])
    return Split((sentences,), labels)


def nested(split):
    return Task("mine", {"all": split}, Kind("classification", "nested", features=("u",)))


def run(encoder, task, **options):
    return se.evaluate(encoder, task, protocol="fast", resamples=20, **{"cache": False, **options})


@pytest.mark.parametrize("encoder", ROWS, ids=IDS)
def test_embeddings_depend_only_on_the_sentence(encoder):
    rows = encoder.encode(SENTENCES)
    assert (rows.shape, rows.dtype) == ((6, 50), np.float32)
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal(encoder.encode([s.split() for s in SENTENCES]), rows)
    others = [f"other {i}" for i in range(5000)]  # more than one block
    again = encoder.encode([*others, *SENTENCES[::-1]])[-6:][::-1]
    np.testing.assert_allclose(again, rows, atol=1e-6)
    np.testing.assert_array_equal(encoder.encode(SENTENCES[:1]), rows[:1])
    assert encoder.encode([]).shape == (0, 50)


@pytest.mark.parametrize("kind", [RandomSentences, RandomWords])
def test_random_numbers(kind):
    rows = kind(dim=400).encode([f"w{i}" for i in range(500)])
    assert abs(rows.mean()) < 0.01
    assert rows.std() == pytest.approx(1, abs=0.01)
    assert np.abs(rows).max() < 3**0.5
    cosines = (rows @ rows.T / 400)[~np.eye(500, dtype=bool)]
    assert cosines.std() == pytest.approx(400**-0.5, rel=0.05)
    assert not np.array_equal(kind(dim=400, seed=2).encode(["w0"]), rows[:1])
    # Fixed for ever: figures of different years must compare.
    np.testing.assert_allclose(kind(dim=3).encode(["cat"]), [[-1.247898, 0.32209, 1.528732]], atol=1e-5)


def test_words_are_averaged():
    words = RandomWords(dim=20)
    rows, (a, cat, sat) = words.encode(SENTENCES), words.encode(["a", "cat", "sat"])
    np.testing.assert_allclose(rows[0], (a + cat + sat) / 3, atol=1e-6)
    np.testing.assert_allclose(rows[5], rows[0], atol=1e-6)
    assert not rows[2].any()
    assert not np.allclose(RandomSentences(20).encode(SENTENCES)[5], RandomSentences(20).encode(SENTENCES)[0])


def test_words_are_counted():
    rows = BagOfWords(dim=1 << 16).encode(SENTENCES)
    assert sorted(rows[1][rows[1] > 0]) == [1, 1, 1, 1, 2]
    np.testing.assert_array_equal(rows[0], rows[5])
    assert rows.sum(axis=1).tolist() == [3, 6, 0, 2, 1, 3]
    narrow = BagOfWords(dim=8).encode(SENTENCES)
    np.testing.assert_array_equal(narrow, rows.reshape(6, -1, 8).sum(axis=1))  # remainders of one hash


def test_the_majority_is_that_of_the_training_part():
    split = labelled(90, 0, (np.arange(90) % 9 < 2).astype(np.int64))
    result = run(baseline("majority"), nested(split))["mine"]
    assert result["acc"] == pytest.approx(100 * 7 / 9, abs=0.01)
    assert result["acc"] == result.details["majority"]
    assert set(result.predictions["all"].predicted) == {0}
    # The test split has another majority.
    splits = {
        "train": labelled(30, 1, np.zeros(30, np.int64)),
        "test": labelled(10, 2, np.ones(10, np.int64)),
    }
    splits["train"].labels[:12] = 1
    task = Task("MRPC", splits, Kind("classification", "folds", features=("u",), f1=True))
    result = run(MajorityClass(), task)["MRPC"]
    assert (result["acc"], result["f1"]) == (0, 0)


def test_the_majority_class_is_evaluated(tmp_path):
    task = nested(labelled(120, 3))
    pairs = Task("alike", {"test": Split((["a", "b"], ["b", "c"]), np.array([1.0, 2.0]))}, Kind("similarity"))
    out = tmp_path / "report.json"
    majority, bow = run(baseline("majority"), [task, pairs], out=out), run(baseline("bow", dim=512), task)
    assert (majority.encoder, bow.encoder) == ("majority", "bow")
    assert majority.results["alike"].error == "majority predicts only classes"
    assert Report.load(out)["mine"].figures == majority["mine"].figures
    assert run(baseline("majority"), [task, pairs], out=out)["mine"].figures == majority["mine"].figures
    assert se.compare(bow, majority)[0].p_one_tailed < 0.05
    bow.to_html(tmp_path / "report.html", [majority])
    assert "majority" in (tmp_path / "report.html").read_text()


def test_the_majority_has_no_seeds(tmp_path):
    report = se.evaluate(
        baseline("majority"),
        nested(labelled(60, 3)),
        protocol="senteval-torch",
        options={"seeds": 2, "folds": 3},  # deterministic, although the protocol has seeds
        cache=tmp_path,
        resamples=20,
    )
    assert report["mine"]["acc"] == report["mine"].details["majority"]


def test_bag_of_words_learns_only_what_words_predict():
    task = nested(labelled(400, 4))
    names = ("random", "random-words", "bow", "majority")
    acc = {name: run(baseline(name), task)["mine"]["acc"] for name in names}
    assert acc["bow"] > 90
    assert acc["random-words"] > 90
    assert acc["random"] < acc["majority"] + 5


def test_fingerprints(tmp_path):
    encoders = [
        *ROWS,
        RandomSentences(51),
        RandomWords(51),
        RandomWords(50, 2),
        BagOfWords(51),
        MajorityClass(),
    ]
    assert len({one.fingerprint() for one in encoders}) == len(encoders)
    run(RandomWords(20), nested(labelled(60, 5)), cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    report = run(RandomWords(20), nested(labelled(60, 5)), cache=tmp_path)
    assert "sentences_per_second" not in report.facts  # read from the cache


def test_wrong_arguments():
    with pytest.raises(
        ValueError, match="no baseline is named 'best'; there are random, random-words, bow, maj"
    ):
        baseline("best")
    with pytest.raises(TypeError, match="name must be a str"):
        baseline(None)
    for name in ("random", "random-words", "bow"):
        with pytest.raises(ValueError, match="dim must be at least 1, got 0"):
            baseline(name, dim=0)
    with pytest.raises(TypeError, match="seed"):
        baseline("bow", seed=1)


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_sick():
    data = Path(os.environ["SENTENCODE_DATA"]) / "senteval"
    tasks = ["SICKEntailment", "SICKCosine"]
    encoders = {"bow": baseline("bow", dim=256), "majority": baseline("majority")}
    reports = {name: run(one, tasks, data=data) for name, one in encoders.items()}
    assert reports["majority"]["SICKEntailment"]["acc"] == 56.69
    assert reports["bow"]["SICKEntailment"]["acc"] > 70
    assert reports["bow"]["SICKCosine"]["test"]["pearson"][0] > 0.5


def test_bm25_is_the_sum_over_words(monkeypatch):
    pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(2)
    words = [f"w{i}" for i in range(30)]
    documents = [" ".join(random.choice(words, n)) for n in random.integers(1, 12, 40)]
    queries = [" ".join(random.choice([*words, "unknown"], n)) for n in random.integers(1, 5, 25)]
    mean = np.mean([len(document.split()) for document in documents])

    def slow(query, document, k1, b):
        """The formula, word by word."""
        score, tokens = 0.0, document.split()
        for word in query.split():
            having = sum(word in other.split() for other in documents)
            count = tokens.count(word)
            idf = np.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            score += idf * count * (k1 + 1) / (count + k1 * (1 - b + b * len(tokens) / mean))
        return score

    monkeypatch.setattr("sentencode.evaluation.metrics.baselines._SCORES", 200)  # several blocks
    for k1, b in ((1.2, 0.75), (0.5, 0.2)):
        ranked = baseline("bm25", k1=k1, b=b).rank(queries, documents, 10)
        scores = np.array([[slow(query, document, k1, b) for document in documents] for query in queries])
        top = np.take_along_axis(scores, ranked, axis=1)
        np.testing.assert_allclose(top, -np.sort(-scores, axis=1)[:, :10], atol=1e-9)
        assert all(len(set(row)) == 10 for row in ranked.tolist())
    ranked = baseline("bm25").rank(["A SHIP!"], ["no", "nothing", "the ship, it sails"], 1)
    assert ranked.tolist() == [[2]]
    with pytest.raises(ValueError, match="b must be"):
        baseline("bm25", b=2)


def test_bm25_is_evaluated_on_searches_only():
    pytest.importorskip("scipy.sparse")
    documents = ["a red ship", "two dogs run", "it rains today", "a man sleeps"]
    splits = {
        "documents": Split((documents,), np.arange(4)),
        "queries": Split((["Ships are red.", "dogs", "rains?", "who sleeps"],), np.arange(4)),
    }
    found = Task("found", splits, Kind("search", tokenized=False))
    pairs = Task("pairs", {"test": Split((["a", "b"], ["b", "c"]), np.array([1.0, 2.0]))}, Kind("similarity"))
    report = se.evaluate(baseline("bm25"), [found, pairs], resamples=20)
    assert report["found"]["ndcg10"] == 100
    assert report["pairs"].error == "bm25 ranks only the documents of searches"
