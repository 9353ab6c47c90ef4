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


@pytest.mark.parametrize("kind", ["list", "fixed", "chunks"])
def test_search_takes_columns_of_tables(kind):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    corpus = RNG.normal(size=(50, 8)).astype(np.float32)
    queries = RNG.normal(size=(5, 8))
    expected = se.semantic_search(queries, corpus, 3)
    types = {"fixed": pa.list_(pa.float32(), 8)}
    column = pa.array(corpus.tolist(), types.get(kind, pa.list_(pa.float32())))
    column = pa.chunked_array([column[:20], column[20:]]) if kind == "chunks" else column
    encoder = se.Average({"a": [1.0] * 8})
    for search in (se.semantic_search, encoder.semantic_search):
        np.testing.assert_array_equal(search(queries, column, 3).indices, expected.indices)
    np.testing.assert_array_equal(encoder.similarity(queries, column), se.similarity(queries, corpus))
    bits = se.quantize_embeddings(corpus, "ubinary")
    hits = se.semantic_search(queries, bits, 3, rescore=pd.DataFrame(corpus))
    np.testing.assert_array_equal(hits.indices, se.semantic_search(queries, bits, 3, rescore=corpus).indices)


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


def stored(rows, precision):
    """Rows in a precision, options of the search, and the rows that it compares with."""
    if precision in ("int8", "uint8"):
        ranges = np.stack([rows.min(axis=0), rows.max(axis=0)]) if len(rows) else np.zeros((2, rows.shape[1]))
        quantized = se.quantize_embeddings(rows, precision, ranges=ranges)
        steps = quantized.astype(np.float64) + (128 if precision == "int8" else 0) + 0.5
        return quantized, {"ranges": ranges}, ranges[0] + steps * ((ranges[1] - ranges[0]) / 255)
    quantized = se.quantize_embeddings(rows, precision)
    if precision in ("binary", "ubinary"):
        return quantized, {}, np.where(rows > 0, 1.0, -1.0)
    return quantized, {}, quantized.astype(np.float64)


@given(
    st.integers(0, 30),
    st.integers(0, 200),
    st.integers(1, 40),
    st.integers(1, 20),
    st.sampled_from(["float32", "float16", "int8", "uint8", "binary", "ubinary"]),
    st.sampled_from(["cosine", "dot"]),
)
@settings(deadline=None)
def test_search_of_stored_rows_equals_sorting(queries, rows, dim, top_k, precision, measure):
    rng = np.random.default_rng([queries, rows, dim])
    q, c = (rng.normal(size=(n, dim)).astype(np.float32) for n in (queries, rows))
    if dim == 1 and precision in ("binary", "ubinary"):  # numbers: one byte is no fewer than one dimension
        return
    corpus, options, values = stored(c, precision)
    if precision in ("binary", "ubinary"):
        scores = np.where(q > 0, 1.0, -1.0) @ values.T / (dim if measure == "cosine" else 1)
    else:
        scores = cosines(q, values) if measure == "cosine" else q @ values.T
    hits = se.semantic_search(q, corpus, top_k, measure=measure, **options)
    assert hits.indices.shape == (queries, min(top_k, rows))
    np.testing.assert_allclose(hits.scores, -np.sort(-scores, axis=1)[:, :top_k], atol=2e-5, rtol=1e-5)
    chosen = np.take_along_axis(scores, hits.indices, axis=1)
    np.testing.assert_allclose(chosen, hits.scores, atol=2e-5, rtol=1e-5)
    # The same in blocks, and for one query alone.
    blocks = (corpus[i : i + 7] for i in range(0, rows, 7))
    again = se.semantic_search(q, blocks, top_k, measure=measure, **options)
    np.testing.assert_array_equal(again.indices, hits.indices)
    np.testing.assert_array_equal(again.scores, hits.scores)
    for i in range(min(queries, 2)):
        one = se.semantic_search(q[i], corpus, top_k, measure=measure, **options)
        np.testing.assert_array_equal(one.indices, hits.indices[i])
        np.testing.assert_array_equal(one.scores, hits.scores[i])


@given(
    st.integers(1, 20),
    st.integers(0, 150),
    st.integers(2, 30),
    st.integers(1, 10),
    st.integers(1, 5),
    st.sampled_from(["float16", "int8", "binary", "ubinary"]),
    st.sampled_from(["cosine", "dot"]),
)
@settings(deadline=None)
def test_rescoring_orders_the_candidates_by_float32(queries, rows, dim, top_k, factor, precision, measure):
    # Whole numbers: exact, with many ties.
    rng = np.random.default_rng([queries, rows, dim])
    q = rng.integers(-3, 4, (queries, dim)).astype(np.float32)
    c = rng.integers(-3, 4, (rows, dim)).astype(np.float32)
    corpus, options, _ = stored(c, precision)
    hits = se.semantic_search(
        q, corpus, top_k, measure=measure, rescore=c, rescore_multiplier=factor, **options
    )
    candidates = se.semantic_search(q, corpus, top_k * factor, measure=measure, **options).indices
    for i in range(queries):
        chosen = np.sort(candidates[i])
        scores = (
            cosines(q[i : i + 1].astype(float), c[chosen])
            if measure == "cosine"
            else q[i : i + 1] @ c[chosen].T
        )[0]
        order = np.argsort(-np.round(scores, 12), kind="stable")[:top_k]
        np.testing.assert_allclose(hits.scores[i], scores[order], atol=1e-6)
        if measure == "dot":
            np.testing.assert_array_equal(hits.indices[i], chosen[order])


def test_all_candidates_give_the_ranks_of_float32(tmp_path, monkeypatch):
    monkeypatch.setattr("sentencode.search._BLOCK_BYTES", 4 * 148 * 50)
    corpus, queries = RNG.normal(size=(500, 148)).astype(np.float32), RNG.normal(size=(9, 148))
    corpus[7] = corpus[300] = corpus[3]  # ties
    expected = se.semantic_search(queries, corpus, 500)
    np.save(tmp_path / "rows.npy", corpus)
    bits = se.quantize_embeddings(corpus, "binary")
    assert bits.shape == (500, 19)
    for rows in (corpus, np.load(tmp_path / "rows.npy", mmap_mode="r")):
        hits = se.semantic_search(queries, bits, 500, rescore=rows, rescore_multiplier=1)
        np.testing.assert_array_equal(hits.indices, expected.indices)
        np.testing.assert_allclose(hits.scores, expected.scores, atol=1e-6)
    torch = pytest.importorskip("torch")
    halves = torch.from_numpy(corpus).half()
    hits = se.semantic_search(queries, torch.from_numpy(bits), 5, rescore=halves, rescore_multiplier=100)
    np.testing.assert_array_equal(hits.indices, se.semantic_search(queries, halves, 5).indices)


def test_int8_without_ranges_is_numbers():
    corpus = RNG.integers(-128, 128, (50, 12)).astype(np.int8)
    queries = RNG.normal(size=(3, 12))
    expected = se.semantic_search(queries, corpus.astype(np.float32), 4)
    np.testing.assert_array_equal(se.semantic_search(queries, corpus, 4).indices, expected.indices)


def test_encoders_search_stored_rows():
    words = list("abcdefghij")
    vectors = np.random.default_rng(4).normal(size=(10, 20)).astype(np.float32)
    encoder = se.Average(se.WordVectors.from_array(words, vectors))
    texts = [f"{a} {b}" for a in words for b in words]
    ranges = encoder.calibrate(texts)
    corpus = encoder.encode(texts, precision="int8", ranges=ranges)
    options = {"ranges": ranges, "rescore": encoder.encode(texts)}
    hits = encoder.semantic_search(["a b", "j"], corpus, 3, **options)
    expected = encoder.semantic_search(["a b", "j"], texts, 3)
    np.testing.assert_array_equal(hits.indices[:, 0], expected.indices[:, 0])


EYE = np.eye(9, dtype=np.float32)
BITS = np.packbits(EYE > 0, axis=-1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: se.semantic_search(EYE, EYE, ranges=np.zeros((2, 9))), ValueError, "got one of float32"),
        (
            lambda: se.semantic_search(EYE, BITS, ranges=np.zeros((2, 9))),
            ValueError,
            "got one of packed bits",
        ),
        (
            lambda: se.semantic_search(EYE, BITS.astype(np.int8), ranges=np.zeros((2, 2))),
            ValueError,
            r"ranges must have the shape \[2, 9\], got \[2, 2\]",
        ),
        (
            lambda: se.semantic_search(EYE, BITS | 1),
            ValueError,
            "bits beyond the 9 dimensions of the queries",
        ),
        (lambda: se.semantic_search(EYE * np.nan, BITS), ValueError, "queries: row 0 holds NaN"),
        (lambda: se.semantic_search(EYE, np.zeros((2, 5), np.int8)), ValueError, "of 9 .* corpus rows of 5"),
        (
            lambda: se.semantic_search(EYE, BITS, rescore=EYE[:8]),
            ValueError,
            r"rescore must be an array of the corpus, \[9, 9\], got \[8, 9\]",
        ),
        (lambda: se.semantic_search(EYE, BITS, rescore=[EYE]), ValueError, "got list"),
        (
            lambda: se.semantic_search(EYE, BITS, rescore=EYE, rescore_multiplier=0),
            ValueError,
            "rescore_multiplier must be at least 1, got 0",
        ),
    ],
)
def test_invalid_stored_rows(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_quantized_queries_are_refused():
    corpus = np.eye(8, dtype=np.float32)
    bits = se.quantize_embeddings(corpus, "ubinary")
    with pytest.raises(ValueError, match="queries must not be quantized"):
        se.semantic_search(bits, bits)


def test_lists_of_tensors():
    torch = pytest.importorskip("torch")
    for options in ({"requires_grad": True}, {"dtype": torch.bfloat16}):
        one = torch.ones(4, **options)
        assert se.semantic_search([one, one], np.eye(4), top_k=1).indices.shape == (2, 1)
        assert se.quantize_embeddings([one, one], "ubinary").shape == (2, 1)
        assert se.semantic_search(one, np.eye(4), top_k=1).indices.shape == (1,)
