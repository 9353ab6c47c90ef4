"""Types of word vectors that encoders accept."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import sentencode as se

SENTENCES = ["the cat sat", "a dog", "the dog sat", "cat dog cat"]


@pytest.fixture(scope="module")
def table():
    words = ["the", "a", "cat", "dog", "sat"]
    return se.WordVectors.from_array(words, np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32))


SOURCES = ["table", "path", "str", "native", "dict", "gensim", "model"]


def source_of(kind, table, folder):
    if kind in ("path", "str"):
        table.export(folder / "glove.txt", "glove")
        return folder / "glove.txt" if kind == "path" else str(folder / "glove.txt")
    if kind == "native":
        table.save(folder / "native")
        return folder / "native"
    if kind == "dict":
        return {word: table[word] for word in table}
    if kind in ("gensim", "model"):
        pytest.importorskip("gensim")
        keyed = table.to_keyed_vectors()
        return keyed if kind == "gensim" else type("Word2Vec", (), {"wv": keyed})()
    return table


@pytest.mark.parametrize("kind", SOURCES)
def test_of(kind, table, tmp_path):
    source = source_of(kind, table, tmp_path)
    vectors = se.WordVectors.of(source)
    assert vectors.fingerprint == table.fingerprint
    assert (vectors is source) == (kind == "table")


@pytest.mark.parametrize("wrong", [5, None, [[1.0]], np.eye(2)])
def test_wrong_sources(wrong):
    with pytest.raises(TypeError, match=r"vectors must be WordVectors, the path of a file, a dict .* got a"):
        se.WordVectors.of(wrong)
    with pytest.raises(TypeError, match="SIF: vectors must be WordVectors"):
        se.SIF(wrong).fit(SENTENCES)


@pytest.mark.parametrize("kind", SOURCES[:-1])
@pytest.mark.parametrize(
    "make",
    [
        se.Average,
        se.SIF,
        lambda v: se.USIF(v, components=2),
        lambda v: se.LAES(v, hidden=2),
        lambda v: se.SIF(v, statistics="evaluated"),
    ],
)
def test_every_linear_encoder(kind, make, table, tmp_path):
    pytest.importorskip("sklearn")
    from sklearn.base import clone

    source = source_of(kind, table, tmp_path)
    expected = make(table).fit(SENTENCES).encode(SENTENCES)
    encoder = make(source)
    assert encoder.vectors is source  # the constructor stores its argument
    assert encoder.get_params()["vectors"] is source
    encoder.fit(SENTENCES)
    assert encoder.vectors is source
    np.testing.assert_array_equal(encoder.encode(SENTENCES), expected)
    if kind != "gensim":
        assert repr(encoder)
    for other in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder)), clone(encoder).fit(SENTENCES)):
        np.testing.assert_array_equal(other.encode(SENTENCES), expected)


def test_a_fitted_encoder_needs_the_file_no_more(table, tmp_path):
    path = source_of("path", table, tmp_path)
    encoder = se.SIF(path).fit(SENTENCES)
    expected = encoder.encode(SENTENCES)
    encoder.save(tmp_path / "sif")
    path.unlink()
    for again in (encoder, pickle.loads(pickle.dumps(encoder)), se.load(tmp_path / "sif")):
        np.testing.assert_array_equal(again.encode(SENTENCES), expected)
    best = encoder.select([("the cat", "a dog"), ("the dog", "cat")] * 2, [1, 2, 3, 4], components=[0, 1])
    assert best.encoder.encode(SENTENCES).shape == expected.shape


def test_other_vectors_ask_for_another_fit(table, tmp_path):
    encoder = se.SIF(table).fit(SENTENCES)
    encoder.set_params(vectors=source_of("dict", table, tmp_path))
    with pytest.raises(se.NotFittedError, match=r"have changed since it was fitted \(vectors\)"):
        encoder.encode(SENTENCES)
    encoder.fit(SENTENCES).encode(SENTENCES)


def test_errors_of_a_file_are_its_own(tmp_path):
    with pytest.raises(FileNotFoundError):
        se.SIF(tmp_path / "absent").fit(SENTENCES)
    (tmp_path / "bad").write_text("a 1 2\nb 3\nc 4 5\n")
    with pytest.raises(se.FormatError, match="bad: line 2"):
        se.Average(str(tmp_path / "bad")).encode(SENTENCES)
    with pytest.raises(ValueError, match=r"the vector of 'the' must be numbers \[dim\]"):
        se.Average({"the": 1}).encode(SENTENCES)


def test_a_large_dict_is_not_written_whole():
    many = {f"w{i}": [float(i)] for i in range(1000)}
    assert repr(se.Average(many)) == "Average(vectors=<dict of 1,000>)"


def test_neural_encoders_take_them(table, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sentencode._nn")
    params = {"max_steps": 2, "min_length": 1, "hidden": 4, "device": "cpu", "heads": 2}
    expected = se.MeanMaxAAE(table, **params).fit(SENTENCES).encode(SENTENCES)
    for kind in ("path", "dict", "gensim"):
        source = source_of(kind, table, tmp_path)
        encoder = se.MeanMaxAAE(source, **params).fit(SENTENCES)
        assert encoder.vectors is source
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).encode(SENTENCES), expected)
