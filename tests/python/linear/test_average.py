"""Average: word weights that are given directly, and embeddings of unit length."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import sentencode as se

from .conftest import WORDS

TEXTS = ["the man plays", "cat unknown", "", "nobody", "dog dog a"]


@pytest.fixture
def weights():
    return np.linspace(0.25, 2, len(WORDS), dtype=np.float32)


def test_weights_multiply_the_vectors(vectors, weights):
    rows = vectors.matrix(WORDS)
    scaled = se.WordVectors.from_array(WORDS, rows * weights[:, None])
    expected = se.Average(scaled).encode(TEXTS)
    np.testing.assert_allclose(se.Average(vectors, weights=weights).encode(TEXTS), expected, rtol=1e-5)
    units = se.Average(vectors, weights=list(weights), normalize=True).encode(TEXTS)
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(units, expected / np.where(norms > 0, norms, 1), atol=1e-6)
    assert not units[2:4].any()


@pytest.mark.parametrize("normalize", [False, True])
def test_the_first_dimensions_remain_after_the_norm(vectors, tmp_path, normalize):
    whole = se.Average(vectors, normalize=normalize).encode(TEXTS)
    encoder = se.Average(vectors, normalize=normalize, truncate_dim=3)
    encoder.save(tmp_path / "file")
    for other in (encoder, se.load(tmp_path / "file"), pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(other.encode(TEXTS), whole[:, :3])
        assert (other.dim, other.truncate_dim) == (3, 3)
        assert other.fingerprint() == encoder.fingerprint()
    assert se.TrainedAverage(encoder)._word_vectors.dim == 3


def test_weights_by_word_have_any_order(vectors, weights):
    by_word = pd.Series(weights, index=WORDS)
    expected = se.Average(vectors, weights=weights).encode(TEXTS)
    shuffled = pd.concat([by_word[::-1], pd.Series({"no such word": 3.0})])
    for given in (by_word, shuffled, shuffled.to_dict(), pd.Series(weights)):
        np.testing.assert_array_equal(se.Average(vectors, weights=given).encode(TEXTS), expected)


def test_unknown_words_have_the_weight_one(vectors, weights):
    mean = vectors.with_oov("mean")
    rows = se.Average(mean, weights=weights).encode(["unknown"])
    np.testing.assert_allclose(rows, se.Average(mean).encode(["unknown"]), rtol=1e-6)


@pytest.mark.parametrize("policy", ["skip", "mean", "random"])
def test_files_and_pickles(vectors, weights, policy, tmp_path):
    encoder = se.Average(vectors.with_oov(policy), weights=weights, normalize=True)
    encoder.save(tmp_path / "file")
    loaded = se.load(tmp_path / "file")
    assert loaded.normalize is True
    np.testing.assert_array_equal(loaded.weights, weights)
    for other in (loaded, pickle.loads(pickle.dumps(encoder)), loaded.fit([])):
        np.testing.assert_array_equal(other.encode(TEXTS), encoder.encode(TEXTS))
        assert other.fingerprint() == encoder.fingerprint()
    assert encoder.fingerprint() != se.Average(vectors.with_oov(policy), weights=weights).fingerprint()


def test_files_without_the_parameter_are_readable(vectors, tmp_path):
    encoder = se.Average(vectors, a=1e-2)
    model = encoder._described_model()
    params = json.loads(model.params)
    assert (params.pop("normalize"), params.pop("truncate_dim")) == (False, None)
    model.params = json.dumps(params)
    model.save(tmp_path / "early")
    loaded = se.load(tmp_path / "early")
    assert loaded.normalize is False
    np.testing.assert_array_equal(loaded.encode(TEXTS), encoder.encode(TEXTS))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 2]}, r"weights must be an array \[14\], one for each word, got shape \[2\]"),
        ({"weights": np.full(14, np.nan)}, r"weights\[0\] is nan"),
        ({"weights": dict.fromkeys(WORDS[1:], 1.0)}, f"lack {WORDS[0]!r}"),
        ({"weights": pd.Series(1.0, index=WORDS[1:])}, f"lack {WORDS[0]!r}"),
        ({"weights": np.ones(14), "a": 1e-3}, "weights exclude a and frequencies"),
        ({"weights": np.ones(14), "frequencies": "zipf"}, "weights exclude a and frequencies"),
        ({"normalize": "yes"}, "normalize must be"),
        ({"truncate_dim": 0}, "truncate_dim must be"),
        ({"truncate_dim": 301}, "truncate_dim must be"),
        ({"truncate_dim": True}, "truncate_dim must be"),
    ],
)
def test_invalid_parameters(vectors, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        se.Average(vectors, **options).encode("cat")
