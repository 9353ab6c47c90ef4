from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se

RNG = np.random.default_rng(0)


def cosines(a, b):
    lengths = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    return np.divide(a @ b.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)


@given(
    st.integers(1, 40),
    st.integers(0, 300),
    st.integers(1, 12),
    st.integers(1, 20),
    st.sampled_from(["cosine", "dot"]),
)
@settings(deadline=None)
def test_search_equals_sorting(queries, rows, dim, top_k, measure):
    # Small whole numbers: exact, with many ties.
    rng = np.random.default_rng([queries, rows, dim])
    q = rng.integers(-2, 3, (queries, dim)).astype(np.float64)
    c = rng.integers(-2, 3, (rows, dim)).astype(np.float64)
    scores = np.round((cosines(q, c) if measure == "cosine" else q @ c.T), 5)
    hits = se.semantic_search(q, c, top_k, measure=measure)
    assert hits.indices.shape == hits.scores.shape == (queries, min(top_k, rows))
    np.testing.assert_allclose(hits.scores, -np.sort(-scores, axis=1)[:, :top_k], atol=2e-5)
    np.testing.assert_allclose(np.take_along_axis(scores, hits.indices, axis=1), hits.scores, atol=2e-5)
    assert all(len(set(row)) == len(row) for row in hits.indices.tolist())
    if measure == "dot":
        np.testing.assert_array_equal(hits.indices, np.argsort(-scores, axis=1, kind="stable")[:, :top_k])


def test_search_takes_blocks_maps_and_tensors(tmp_path):
    corpus = RNG.normal(size=(1000, 8)).astype(np.float32)
    queries = RNG.normal(size=(5, 8))
    expected = se.semantic_search(queries, corpus, 3)
    path = tmp_path / "corpus.npy"
    np.save(path, corpus.astype(np.float16))
    forms = [
        corpus.tolist(),
        corpus[::-1][::-1],
        np.load(path, mmap_mode="r"),
        (corpus[i : i + 7] for i in range(0, 1000, 7)),
    ]
    for form in forms:
        np.testing.assert_array_equal(se.semantic_search(queries, form, 3).indices, expected.indices)
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(corpus).requires_grad_()
    np.testing.assert_array_equal(se.semantic_search(queries, tensor, 3).indices, expected.indices)


def test_search_in_several_blocks(monkeypatch):
    monkeypatch.setattr("sentencode.search._BLOCK_BYTES", 4 * 8 * 3)
    corpus = RNG.normal(size=(100, 8))
    hits = se.semantic_search(corpus[:4], corpus, 1)
    assert hits.indices.ravel().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e18])
def test_cosines_of_rows_of_any_length(scale):
    a, b = np.random.default_rng(5).normal(size=(2, 20, 30)).astype(np.float32)
    tiny = (a * scale).astype(np.float32)
    for other in (b, (b * scale).astype(np.float32)):
        np.testing.assert_allclose(se.similarity(tiny, other), se.similarity(a, b), atol=1e-6)
        np.testing.assert_allclose(
            se.similarity_pairwise(tiny, other), se.similarity_pairwise(a, b), atol=1e-6
        )
        hits, expected = se.semantic_search(tiny, other, 5), se.semantic_search(a, b, 5)
        np.testing.assert_array_equal(hits.indices, expected.indices)
        np.testing.assert_allclose(hits.scores, expected.scores, atol=1e-6)


def test_one_query_has_one_row():
    indices, scores = se.semantic_search(np.array([1.0, 0.0]), np.eye(2), 5)
    assert indices.tolist() == [0, 1]
    assert scores.tolist() == [1, 0]


def test_similarity():
    a, b = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3))
    a[1] = 0
    np.testing.assert_allclose(se.similarity(a, b), cosines(a, b), atol=1e-6)
    np.testing.assert_allclose(se.similarity(a, b, "dot"), a @ b.T, atol=1e-5)
    np.testing.assert_allclose(se.similarity_pairwise(a, b[:4]), np.diag(cosines(a, b[:4])), atol=1e-6)
    np.testing.assert_allclose(se.similarity_pairwise(a, b[:4], "dot"), (a * b[:4]).sum(1), atol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: se.semantic_search(np.eye(2), np.eye(3)),
            ValueError,
            "queries of 2 .* and corpus rows of 3",
        ),
        (lambda: se.semantic_search(np.eye(2), np.eye(2), 0), ValueError, "top_k must be at least 1, got 0"),
        (
            lambda: se.semantic_search(np.eye(2), np.eye(2), measure="l2"),
            ValueError,
            "'cosine' or 'dot', got 'l2'",
        ),
        (lambda: se.semantic_search(np.eye(2), ["a"]), TypeError, "corpus must hold numbers"),
        (lambda: se.semantic_search(np.zeros((1, 1, 1)), np.eye(2)), ValueError, r"shape \[1, 1, 1\]"),
        (lambda: se.semantic_search(np.eye(2), 3), TypeError, "embeddings or blocks of them, got a int"),
        (lambda: se.similarity(np.eye(2), np.eye(3)), ValueError, "rows of 2 and of 3"),
        (lambda: se.similarity_pairwise(np.eye(2), np.eye(3)), ValueError, r"a is \[2, 2\] and b \[3, 3\]"),
        (lambda: se.similarity(["a"], np.eye(3)), TypeError, "a must hold numbers"),
    ],
)
def test_invalid_shapes(call, error, message):
    with pytest.raises(error, match=message):
        call()
