"""Encoders that learn from definitions."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import sentencode as se

RNG = np.random.default_rng(5)
WORDS = [f"w{i}" for i in range(40)]
DEFINED = [f"d{i}" for i in range(8)]
TABLE = se.WordVectors.from_array(
    [*WORDS, *DEFINED], RNG.normal(size=(48, 12)).astype(np.float32), range(148, 100, -1)
)


def dictionary(count, seed=0):
    """Definitions of five words, one of which decides the defined word."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, len(DEFINED), count)
    fillers = [" ".join(rng.choice(WORDS[8:], 4)) for _ in ids]
    return [f"{text} w{i}" for text, i in zip(fillers, ids, strict=True)], [DEFINED[i] for i in ids]


@pytest.fixture(scope="module")
def encoder():
    return se.DictRep(TABLE, learning_rate=0.03).fit(*dictionary(1500))


def accuracy(encoder):
    definitions, words = dictionary(200, seed=1)
    targets = TABLE.matrix(DEFINED)
    return np.mean(
        [
            DEFINED[i] == word
            for i, word in zip(encoder.similarity(definitions, targets).argmax(1), words, strict=True)
        ]
    )


def test_predicts_the_defined_word(encoder):
    assert accuracy(encoder) > 0.9 > accuracy(se.Average(TABLE)) + 0.5
    definitions, words = dictionary(1)
    assert TABLE.most_similar(encoder.encode(definitions[0]), topn=1)[0][0] == words[0]


def test_is_the_prediction_of_a_trained_average(encoder):
    definitions, words = dictionary(1500)
    targets = TABLE.matrix(words)
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    trained = se.TrainedAverage(TABLE, head="RowRegression", learning_rate=0.03).fit(definitions, targets)
    texts = [*definitions[:50], "w1", "d3 unknown"]
    np.testing.assert_allclose(encoder.encode(texts), trained.predict(texts), atol=1e-5)
    assert not encoder.encode(["unknown", ""]).any()


def test_pairs_and_words_without_a_vector(encoder):
    definitions, words = dictionary(1500)
    pairs = [*zip(definitions, words, strict=True), ("w1 w2", "two words"), ("w3", "unknown")]
    again = se.DictRep(TABLE, learning_rate=0.03).fit(iter(pairs))
    np.testing.assert_array_equal(again.encode(definitions[:9]), encoder.encode(definitions[:9]))


@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy", "file"])
def test_copies(encoder, how, tmp_path):
    if how == "file":
        encoder.save(tmp_path / "dictionary.sentencode")
        again = se.load(tmp_path / "dictionary.sentencode")
        assert again.get_params()["learning_rate"] == 0.03
    else:
        again = pickle.loads(pickle.dumps(encoder)) if how == "pickle" else getattr(copy, how)(encoder)
    assert type(again) is se.DictRep
    assert again.fingerprint() == encoder.fingerprint()
    texts = dictionary(20)[0]
    np.testing.assert_array_equal(again.encode(texts), encoder.encode(texts))


def test_exported_as_an_average(encoder, tmp_path):
    encoder.export(tmp_path / "model")
    exported = se.load(tmp_path / "model")
    assert type(exported) is se.Average
    texts = dictionary(20)[0]
    np.testing.assert_allclose(exported.encode(texts), encoder.encode(texts), atol=1e-5)


def test_begins_with_an_encoder():
    weighted = se.Average(TABLE, a=1e-2)
    encoder = se.DictRep(weighted, max_epochs=1, word_dropout=0).fit(*dictionary(100))
    assert encoder.tokenizer_ == weighted.tokenizer_
    assert encoder.encode("w1").shape == (12,)


def test_the_map_is_that_of_the_training():
    normalised = se.Average(TABLE, normalize=True)  # the mean of an Average is not, in DictRep
    definitions, words = dictionary(300)
    options = {"max_epochs": 2, "word_dropout": 0}
    encoder = se.DictRep(normalised, **options).fit(definitions, words)
    same = se.DictRep(TABLE, **options).fit(definitions, words)
    np.testing.assert_array_equal(encoder.encode(definitions), same.encode(definitions))
    with pytest.raises(ValueError, match=r"DictRep: vectors with oov='zero' .*with_oov\('skip'\)$"):
        se.DictRep(TABLE.with_oov("zero")).fit(definitions, words)


def test_is_an_estimator(encoder):
    base = pytest.importorskip("sklearn.base")
    assert repr(base.clone(encoder)) == repr(encoder)
    assert not base.clone(encoder).fitted
    assert encoder.get_feature_names_out()[1] == "dictrep1"


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        ((["w1", "w2"], ["d1"]), ValueError, "2 definitions, but 1 words"),
        ((["w1", "w2"],), ValueError, "y, the defined words, is missing"),
        ((["w1", "w2"], "d1"), TypeError, "y is one str"),
        ((["w1", "w2"], ["d1", 3]), TypeError, r"y\[1\] is int"),
        ((["w1", "w2"], ["x", "y"]), ValueError, "none of the 2 defined words has a vector, such as"),
        ((["x", "y"], ["d1", "d2"]), ValueError, "DictRep: none of the words of the sentences has a vector"),
    ],
)
def test_invalid_dictionaries(fit, error, message):
    with pytest.raises(error, match=message):
        se.DictRep(TABLE).fit(*fit)


def test_what_is_not_there(encoder, tmp_path):
    with pytest.raises(ValueError, match="DictRep: max_epochs must be at least 1"):
        se.DictRep(TABLE, max_epochs=0).fit(["w1", "w2"], ["d1", "d2"])
    with pytest.raises(NotImplementedError, match="no partial_fit"):
        se.DictRep(TABLE).partial_fit(["w1"])
    with pytest.raises(NotImplementedError, match="cannot be merged"):
        encoder.merge(encoder)
    with pytest.raises(se.NotFittedError, match="this DictRep has not been fitted"):
        se.DictRep(TABLE).save(tmp_path / "x")
