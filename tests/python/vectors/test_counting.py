"""PPMI and SVD of the core, compared with NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import svds

from sentencode import _core

WORDS = [f"w{i}" for i in range(60)]
VOCABULARY = _core.Vocabulary(WORDS, np.arange(60, 0, -1))
TOKENIZER = _core.Tokenizer("whitespace", lowercase=False, invalid="replace")
FACTORING = {"length": 1.0, "iterations": 12, "oversampling": 20, "seed": 1}


@pytest.fixture(scope="module")
def sentences() -> list[list[str]]:
    """Zipf frequencies, and words of a topic co-occur."""
    generator = np.random.default_rng(0)
    text = []
    for _ in range(800):
        topic = generator.integers(6)
        ids = np.minimum(generator.geometric(0.08, size=generator.integers(1, 20)) - 1, 65) // 6 * 6 + topic
        text.append([f"w{i}" for i in ids])
    return text


def count(sentences):
    counter = _core.CooccurrenceCounter(VOCABULARY, TOKENIZER, window=3, weight="flat")
    counter.add(sentences)
    return counter.finish()


def as_scipy(counts) -> sparse.csr_matrix:
    return sparse.csr_matrix(counts.arrays(), shape=counts.shape).astype(np.float64)


def positive_pmi(counts: np.ndarray, smoothing: float, shift: float) -> np.ndarray:
    words = counts.sum(axis=1, keepdims=True) / counts.sum()
    contexts = counts.sum(axis=0) ** smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(counts / counts.sum() / words / (contexts / contexts.sum())) - shift
    return np.maximum(np.nan_to_num(pmi, nan=0.0, neginf=0.0), 0.0)


@pytest.mark.parametrize(("smoothing", "shift"), [(0.75, 0.0), (1.0, 0.5)])
def test_vectors_are_left_singular_vectors_of_pmi(sentences, smoothing, shift):
    counts = count(sentences)
    pmi = positive_pmi(as_scipy(counts).toarray(), smoothing, shift)
    u, s, _ = svds(sparse.csr_matrix(pmi), k=8)
    order = np.argsort(-s)
    expected = u[:, order] * s[order] ** 0.5
    expected *= np.sign(expected[np.abs(expected).argmax(axis=0), np.arange(8)])

    options = FACTORING | {"smoothing": smoothing, "shift": shift, "exponent": 0.5}
    vectors = _core.embed(counts, 8, **options)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(vectors, expected, atol=2e-4 * np.abs(expected).max())
    assert counts.nonzeros == 0, "the counts are used up"
