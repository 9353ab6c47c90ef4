"""Paragraph vectors: gensim's, reproducibly."""

from __future__ import annotations

import copy
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

import sentencode as se

gensim = pytest.importorskip("gensim")

SUBJECTS = ("the cat", "a dog", "the horse"), ("the ship", "a boat", "the ferry")
VERBS = ("eats", "runs", "sleeps"), ("sails", "sinks", "docks")
OBJECTS = ("grass in a field", "by the barn", "near a stable"), ("at sea", "in port", "off the coast")
OPTIONS = {"vector_size": 12, "sample": 0.0, "epochs": 20, "learning_rate": 0.05}


def sentences(count, seed=0):
    """Sentences about two topics, and their topics."""
    rng = random.Random(seed)
    topics = [rng.randrange(2) for _ in range(count)]
    return [
        " ".join(rng.choice(part[topic]) for part in (SUBJECTS, VERBS, OBJECTS)) for topic in topics
    ], topics


TEXTS = [*sentences(12, seed=1)[0], "unknown words", "", "Sails!", "the"]
MODELS = {
    "dbow": {"mode": "dbow"},
    "dbow without words": {"mode": "dbow", "dbow_words": False, "negative": 3},
    "dbow, hierarchical": {"mode": "dbow", "negative": 0},
    "dm": {"mode": "dm"},
    "dm, hierarchical, sampling": {"mode": "dm", "negative": 0, "sample": 0.01},
}


@pytest.fixture(scope="module", params=MODELS)
def encoder(request):
    threads = se.num_threads()
    se.set_num_threads(1)  # gensim is reproducible with one
    yield se.ParagraphVec(**{**OPTIONS, **MODELS[request.param]}).fit(sentences(400)[0])
    se.set_num_threads(threads)


def test_topics_are_apart(encoder):
    texts, topics = sentences(60, seed=2)
    same = np.equal.outer(topics, topics)
    similarities = encoder.similarity(texts, texts)
    assert similarities[same].mean() > similarities[~same].mean() + 0.05


def test_is_what_gensim_infers(encoder, monkeypatch):
    """With the same initial vector and random numbers."""
    doc2vec = copy.copy(encoder._doc2vec())
    for text in TEXTS[:6]:
        state = np.random.RandomState()
        monkeypatch.setattr(np.random, "RandomState", lambda seed, state=state: state)
        state.seed(3)
        ours = encoder.encode(text)
        monkeypatch.undo()
        state.seed(3)
        initial = ((state.random_sample(12) - 0.5) / 12).astype(np.float32)
        weak = lambda size, seed_string, initial=initial: initial.copy()  # noqa: E731
        monkeypatch.setattr("gensim.models.doc2vec.pseudorandom_weak_vector", weak)
        doc2vec.random = state
        expected = doc2vec.infer_vector(text.split(), epochs=encoder._options()["inference_epochs"])
        monkeypatch.undo()
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)


def test_an_embedding_depends_on_nothing_else(encoder, tmp_path):
    rows = encoder.encode(TEXTS)
    assert rows[:12].any(axis=1).all()
    assert not rows[12:14].any()  # without a known word
    for one in (encoder.encode(TEXTS, batch_size=1), encoder.encode(TEXTS[::-1])[::-1]):
        np.testing.assert_array_equal(one, rows)
    for text, row in zip(TEXTS, rows, strict=True):
        np.testing.assert_array_equal(encoder.encode(text), row)
    np.testing.assert_array_equal(encoder.encode([text.split() for text in TEXTS[:9]]), rows[:9])
    encoder.save(tmp_path / "x")
    code = (
        "import sys, sentencode as se, numpy as np\n"
        "np.save(sys.argv[2], se.load(sys.argv[1]).encode(sys.argv[3:]))"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "x"), str(tmp_path / "rows.npy"), *TEXTS]
    subprocess.run(
        run, check=True, env={**os.environ, "PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    )
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), rows)


@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy", "file"])
def test_copies(encoder, how, tmp_path):
    if how == "file":
        encoder.save(tmp_path / "x.sentencode")
        again = se.load(tmp_path / "x.sentencode")
    else:
        again = pickle.loads(pickle.dumps(encoder)) if how == "pickle" else getattr(copy, how)(encoder)
    assert type(again) is se.ParagraphVec
    assert again.fingerprint() == encoder.fingerprint()
    assert again.dim == 12
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


def test_training_is_reproducible_and_reads_any_source(encoder, tmp_path):
    texts = sentences(400)[0]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts))
    for source in (iter(texts), str(path)):
        again = se.ParagraphVec(**encoder.get_params()).fit(source)
        assert again.fingerprint() == encoder.fingerprint()
    other = se.ParagraphVec(**encoder.get_params() | {"seed": 1}).fit(texts)
    assert not np.array_equal(other.encode(TEXTS), encoder.encode(TEXTS))


@pytest.mark.parametrize("mode", ["dbow", "dm"])
def test_buffers_live_as_long_as_they_are_used(mode):
    """Those that gensim allocates itself are freed too early; large ones would crash at once."""
    encoder = se.ParagraphVec(mode, vector_size=100_000, epochs=1, sample=0.0).fit(TEXTS[:4])
    assert np.isfinite(encoder.encode(TEXTS[:2])).all()


def test_presets():
    paper = se.ParagraphVec("dm", preset="paper")._options()
    assert (paper["vector_size"], paper["window"], paper["negative"]) == (400, 10, 0)
    changed = se.ParagraphVec(preset="paper", vector_size=7, inference_epochs=3)._options()
    assert (changed["vector_size"], changed["inference_epochs"], changed["window"]) == (7, 3, 10)


def test_is_an_estimator(encoder):
    base = pytest.importorskip("sklearn.base")
    clone = base.clone(encoder)
    assert repr(clone) == repr(encoder)
    assert not clone.fitted
    assert encoder.get_feature_names_out()[1] == "paragraphvec1"
    changed = copy.copy(encoder).set_params(seed=9)
    with pytest.raises(se.NotFittedError, match=r"parameters of this ParagraphVec have changed .*seed"):
        changed.encode("the cat")


def test_progress(capsys):
    se.ParagraphVec(**OPTIONS).fit(sentences(50)[0], show_progress_bar=True)
    shown = capsys.readouterr().err
    assert "counting words" in shown
    assert "epoch 20 of 20" in shown


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mode": "bow"}, ValueError, "mode must be 'dbow' or 'dm', got 'bow'"),
        ({"preset": "large"}, ValueError, "preset must be 'small' or 'paper'"),
        ({"vector_size": 0}, ValueError, "ParagraphVec: vector_size must be at least 1"),
        ({"epochs": 1.5}, TypeError, "ParagraphVec: epochs must be a whole number"),
        ({"sample": -1}, ValueError, "ParagraphVec: sample must be at least 0"),
        ({"dbow_words": "no"}, TypeError, "ParagraphVec: dbow_words must be True or False"),
        ({"min_count": 9}, ValueError, "no word of the 4 sentences occurs 9 times or more"),
    ],
)
def test_invalid_parameters(options, error, message):
    with pytest.raises(error, match=message):
        se.ParagraphVec(**options).fit(["a cat", "a dog", "a cat", "a dog"])


def test_what_is_not_there(encoder, tmp_path, monkeypatch):
    unfitted = se.ParagraphVec()
    for call in (lambda: unfitted.encode("a"), lambda: unfitted.save(tmp_path / "x"), unfitted.fingerprint):
        with pytest.raises(se.NotFittedError, match="this ParagraphVec has not been fitted"):
            call()
    with pytest.raises(NotImplementedError, match="ParagraphVec has no partial_fit"):
        unfitted.partial_fit(["a"])
    encoder.save(tmp_path / "x")
    with pytest.raises(se.FormatError, match="has its own word vectors"):
        se.load(tmp_path / "x", vectors=se.WordVectors.from_dict({"a": [1.0]}))
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(ImportError, match=r"gensim: pip install 'sentencode\[train\]'"):
        unfitted.fit(["a"])
