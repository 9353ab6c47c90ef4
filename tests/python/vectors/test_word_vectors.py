from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sentencode as se
from sentencode.vectors.words import UnknownWordError

STORAGES = ["float32", "float16", "int8"]


@pytest.fixture
def vectors():
    rng = np.random.default_rng(1)
    words = ["the", "The", "cat", "café", "", "a b", "日本", "dog"]
    return se.WordVectors.from_array(words, rng.normal(size=(8, 5)), np.arange(8)[::-1] * 10)


def tolerance(storage, matrix):
    if storage == "float32":
        return 0.0
    largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    return largest * (2.0**-11 if storage == "float16" else 0.51 / 127) + 1e-7


def test_looks_like_a_mapping(vectors):
    assert len(vectors) == 8
    assert vectors.dim == 5
    assert "café" in vectors
    assert "absent" not in vectors
    assert 3 not in vectors
    assert list(vectors) == list(vectors.words) == vectors.words[:]
    assert vectors["cat"].shape == (5,)
    assert vectors[["cat", "the"]].shape == (2, 5)
    assert vectors.get("absent") is None
    assert np.array_equal(vectors.get("cat"), vectors["cat"])
    assert np.array_equal(vectors.matrix()[2], vectors["cat"])
    assert vectors.matrix([]).shape == (0, 5)


def test_words_are_a_lazy_sequence(vectors):
    words = vectors.words
    assert words[2] == words[-6] == "cat"
    assert words[1:7:2] == ["The", "café", "a b"]
    assert words[::-1][0] == "dog"
    assert words.index("日本") == 6
    assert words.count("cat") == 1
    assert "absent" not in words
    assert repr(words).startswith("<8 words: 'the', 'The'")
    with pytest.raises(IndexError, match="no word 8"):
        words[8]
    with pytest.raises(ValueError, match="absent"):
        words.index("absent")
    with pytest.raises(ValueError, match="cat"):
        words.index("cat", 3)


def test_unknown_words_raise_helpful_errors(vectors):
    with pytest.raises(KeyError) as caught:
        vectors["CAT"]
    assert str(caught.value) == "'CAT' is not among the words of these vectors; did you mean 'cat'?"
    with pytest.raises(UnknownWordError, match="did you mean 'dog'"):
        vectors.matrix(["cat", "doog"])
    with pytest.raises(KeyError, match=r"'xyz' is not among the words of these vectors$"):
        vectors.most_similar("xyz")
    assert pickle.loads(pickle.dumps(caught.value)).word == "CAT"
    with pytest.raises(TypeError, match="int"):
        vectors[[3]]
    assert "\ud800" not in vectors
    with pytest.raises(KeyError, match="is not among the words"):
        vectors["\ud800"]
    with pytest.raises(ValueError, match="the vector has NaN or infinite elements"):
        vectors.most_similar([float("nan")] * vectors.dim)


def test_is_immutable(vectors):
    with pytest.raises(AttributeError):
        vectors.dim = 3
    with pytest.raises(AttributeError):
        vectors.other = 3
    with pytest.raises(ValueError, match="read-only"):
        vectors.counts[0] = 1
    vectors.matrix()[0, 0] = 99.0
    assert vectors.matrix()[0, 0] != 99.0


def test_counts_outlive_their_table():
    counts = se.WordVectors.from_array(["a", "b"], np.eye(2), [5, 3]).counts
    assert counts.tolist() == [5, 3]
    assert counts.dtype == np.int64
    assert se.WordVectors.from_array(["a"], [[1.0]]).counts is None


@pytest.mark.parametrize("storage", STORAGES)
@given(
    matrix=hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=40),
        elements=st.floats(-1e3, 1e3, width=32),
    )
)
def test_storage_keeps_the_digits_it_promises(storage, matrix):
    words = [f"w{i}" for i in range(len(matrix))]
    vectors = se.WordVectors.from_array(words, matrix, storage=storage)
    back = vectors.matrix()
    assert back.dtype == np.float32
    assert np.all(np.abs(back - matrix) <= tolerance(storage, matrix))
    assert np.array_equal(vectors.with_storage(storage).matrix(), back)
    if storage == "float16":
        assert np.array_equal(back, matrix.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int64])
def test_takes_other_number_types(dtype):
    matrix = np.arange(6).reshape(3, 2).astype(dtype)
    vectors = se.WordVectors.from_array(["a", "b", "c"], matrix)
    assert np.array_equal(vectors.matrix(), matrix)
    assert vectors.storage == ("float16" if dtype == np.float16 else "float32")


def test_takes_any_layout():
    matrix = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    for view in (matrix[:, ::2], matrix.T[:4], np.asfortranarray(matrix), matrix[::-1]):
        words = [str(i) for i in range(len(view))]
        assert np.array_equal(se.WordVectors.from_array(words, view).matrix(), view)


@pytest.mark.parametrize(
    ("words", "matrix", "counts", "message"),
    [
        (["a", "a"], np.eye(2), None, "words must differ, but 'a' is at 0 and 1"),
        (["a"], np.eye(2), None, "2 rows for 1 words"),
        (["a", "b"], np.eye(2), [1], "1 counts for 2 words"),
        (
            ["a", "b"],
            np.eye(2),
            np.array([2**63 + 5, 1], np.uint64),
            "counts must be from 0 to 9007199254740992",
        ),
        (["a", "b"], np.eye(2), [-1, 1], "counts must be from 0 to 9007199254740992, got -1 to 1"),
        (["a", "b"], np.eye(2), [0.5, 1], "integers"),
        (["a"], np.ones(2), None, r"matrix must contain numbers \[words, dim\], got float64 of shape \[2\]"),
        (["a"], [["x"]], None, "matrix must contain numbers"),
        (["a"], [[np.nan]], None, "number 1 of the vector of 'a' is nan, not a finite number"),
        (["a"], [[1.0, 1e300]], None, "number 2 of the vector of 'a' is inf"),
        (["a"], np.empty((1, 0)), None, "dim must be at least 1"),
        (["\ud800"], [[1.0]], None, "valid Unicode"),
    ],
)
def test_wrong_tables(words, matrix, counts, message):
    with pytest.raises(ValueError, match=message):
        se.WordVectors.from_array(words, matrix, counts)


def test_refuses_wrong_types(vectors):
    with pytest.raises(TypeError, match="WordVectors are created by"):
        se.WordVectors(["a"])
    with pytest.raises(TypeError):
        se.WordVectors.from_array([1, 2], np.eye(2))
    with pytest.raises(ValueError, match="too large for float16"):
        se.WordVectors.from_array(["a"], [[1e5]], storage="float16")
    with pytest.raises(ValueError, match="storage must be 'float32', 'float16' or 'int8', got 'f32'"):
        vectors.with_storage("f32")
    with pytest.raises(
        ValueError, match="oov must be 'skip', 'zero', 'mean', 'random' or 'subwords', got 'none'"
    ):
        vectors.with_oov("none")


def test_from_dict():
    vectors = se.WordVectors.from_dict({"a": [1, 2], "b": np.array([3.5, 4])})
    assert vectors.matrix().tolist() == [[1, 2], [3.5, 4]]
    with pytest.raises(ValueError, match=r"the vector of 'b' has shape \[3\], that of 'a' \[2\]"):
        se.WordVectors.from_dict({"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(ValueError, match="empty"):
        se.WordVectors.from_dict({})


def lookup(vectors, *tokens):
    ids, offsets = vectors._core.lookup(se.Tokenizer("whitespace").core(), [list(tokens)])
    assert offsets.tolist() == [0, len(ids)]
    return ids


def test_unknown_words_follow_the_policy(vectors):
    matrix = vectors.matrix()
    assert vectors.oov == "skip"
    assert lookup(vectors, "cat", "absent", "dog").tolist() == [2, 7]
    assert lookup(vectors.with_oov("zero"), "absent", "cat").tolist() == [8, 2]
    assert np.array_equal(vectors.with_oov("zero")._core.rows([8])[0], np.zeros(5))
    assert np.allclose(vectors.with_oov("mean")._core.rows([8])[0], matrix.mean(axis=0), atol=1e-6)
    random = vectors.with_oov("random")
    (one,), (again,), (other,) = (lookup(random, word) for word in ("absent", "absent", "missing"))
    assert one == again != other
    norm = np.linalg.norm(random._core.rows([one])[0])
    assert norm == pytest.approx(np.linalg.norm(matrix, axis=1).mean(), rel=1e-5)
    assert "absent" not in random
    assert len(random) == len(vectors)


def test_copies_are_itself(vectors):
    assert copy.copy(vectors) is vectors
    assert copy.deepcopy(vectors) is vectors
    assert copy.deepcopy({"a": vectors})["a"] is vectors
    assert vectors.with_storage("float32") is vectors


@pytest.mark.parametrize("storage", STORAGES)
def test_is_pickled_by_content(vectors, storage):
    stored = vectors.with_storage(storage).with_oov("mean")
    data = pickle.dumps(stored)
    assert b"numpy" not in data
    back = pickle.loads(data)
    assert back.fingerprint == stored.fingerprint
    assert (back.oov, back.storage) == ("mean", storage)
    assert back.words[:] == stored.words[:]
    assert np.array_equal(back.matrix(), stored.matrix())
    assert np.array_equal(back.counts, stored.counts)


def test_relative_paths_are_those_of_the_folder_then(vectors, tmp_path, monkeypatch):
    vectors.save(tmp_path / "vectors")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    mapped = se.WordVectors.load("vectors")
    monkeypatch.chdir("other")
    assert mapped.path == str(tmp_path / "vectors")
    assert pickle.loads(pickle.dumps(mapped)).fingerprint == vectors.fingerprint
    se.Average(mapped).save("average", vectors=False)
    assert se.load("average", trust_vectors=True).encode("cat").shape == (vectors.dim,)


def test_is_pickled_by_reference_when_mapped(vectors, tmp_path):
    path = tmp_path / "vectors"
    vectors.save(path)
    mapped = se.WordVectors.load(path, oov="zero")
    assert mapped.path == str(path)
    data = pickle.dumps(mapped)
    assert len(data) < 500
    back = pickle.loads(data)
    assert back.path == str(path)
    assert back.oov == "zero"
    assert back.fingerprint == vectors.fingerprint

    vectors.only(["cat"]).save(path)
    with pytest.raises(ValueError, match="which has changed since: fingerprint"):
        pickle.loads(data)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"pickled as a reference to .* which cannot be read"):
        pickle.loads(data)


def test_keeps_the_mapped_file_that_was_replaced(vectors, tmp_path):
    path = tmp_path / "vectors"
    vectors.save(path)
    mapped = se.WordVectors.load(path)
    vectors.only(["cat"]).save(path)
    assert np.array_equal(mapped.matrix(), vectors.matrix())
    assert len(se.WordVectors.load(path)) == 1


def test_only(vectors):
    few = vectors.only(["dog", "absent", "the"])
    assert list(few) == ["the", "dog"]
    assert few.counts.tolist() == [70, 0]
    assert np.array_equal(few["dog"], vectors["dog"])
    assert len(vectors.only([])) == 0


def test_most_similar_matches_numpy():
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(500, 20)).astype(np.float32)
    words = [f"w{i}" for i in range(500)]
    vectors = se.WordVectors.from_array(words, matrix)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    def expected(query, exclude, topn):
        scores = unit @ (query / np.linalg.norm(query))
        order = [i for i in np.argsort(-scores) if i not in exclude][:topn]
        return [words[i] for i in order], scores[order]

    cases = [
        (vectors.most_similar("w7", 9), expected(matrix[7], [7], 9)),
        (vectors.most_similar(matrix[7]), expected(matrix[7], [], 10)),
        (vectors.most_similar(matrix[7].tolist(), 3), expected(matrix[7], [], 3)),
        (vectors.most_similar(["w1", "w2"]), expected(unit[1] + unit[2], [1, 2], 10)),
        (vectors.most_similar(["w1", "w1", "w2"]), expected(2 * unit[1] + unit[2], [1, 2], 10)),
        (vectors.analogy("w1", "w2", "w3", 4), expected(unit[2] - unit[1] + unit[3], [1, 2, 3], 4)),
        (vectors.analogy("w2", "w1", "w2", 4), expected(unit[1], [1, 2], 4)),
    ]
    for neighbours, (names, scores) in cases:
        assert [word for word, _ in neighbours] == names
        assert np.allclose([score for _, score in neighbours], scores, atol=1e-6)
    assert vectors.similarity("w1", "w2") == pytest.approx(float(unit[1] @ unit[2]), abs=1e-6)
    with pytest.raises(ValueError, match=r"a vector of 20 .*, got 3"):
        vectors.most_similar([1.0, 2.0, 3.0])


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e18])
def test_cosines_of_rows_of_any_length(scale):
    matrix = np.random.default_rng(4).normal(size=(300, 20)).astype(np.float32)
    words = [f"w{i}" for i in range(300)]
    usual = se.WordVectors.from_array(words, matrix)
    for factors in (np.full(300, scale), np.where(np.arange(300) % 3 == 0, scale, 1)):
        vectors = se.WordVectors.from_array(words, (matrix * factors[:, None]).astype(np.float32))
        for call in (
            lambda v: v.most_similar("w7", 9),
            lambda v: v.most_similar(matrix[7] * scale, 9),
            lambda v: v.analogy("w1", "w2", "w3", 4),
        ):
            actual, expected = call(vectors), call(usual)
            assert [word for word, _ in actual] == [word for word, _ in expected]
            assert np.allclose([s for _, s in actual], [s for _, s in expected], atol=1e-6)
        assert vectors.similarity("w1", "w3") == pytest.approx(usual.similarity("w1", "w3"), abs=1e-6)


def test_repr(vectors):
    assert repr(vectors) == "WordVectors(8 words, dim=5, storage='float32', oov='skip')"
    html = vectors._repr_html_()
    assert "280 tokens" in html
    assert "<table>" in html


def test_cased(vectors):
    assert vectors.cased
    assert not se.WordVectors.from_array(["a", "b"], np.eye(2)).cased


def test_gensim_round_trip(vectors):
    gensim = pytest.importorskip("gensim.models")
    keyed = vectors.to_keyed_vectors()
    assert isinstance(keyed, gensim.KeyedVectors)
    assert keyed.index_to_key == list(vectors)
    assert np.array_equal(keyed["cat"], vectors["cat"])
    assert keyed.get_vecattr("the", "count") == 70
    back = se.WordVectors.from_keyed_vectors(keyed)
    assert back.fingerprint == vectors.fingerprint
    with pytest.raises(TypeError, match="KeyedVectors of version 4, got int"):
        se.WordVectors.from_keyed_vectors(3)


def test_says_what_to_install_without_gensim(vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match="pip install gensim"):
        vectors.to_keyed_vectors()


def test_wrong_arguments_are_named(tmp_path):
    vectors = se.WordVectors.from_array(["at", "a", "t"], np.eye(3))
    vectors.export(tmp_path / "at.txt")
    for some in (
        lambda words: se.WordVectors.load(tmp_path / "at.txt", words=words),
        vectors.only,
        vectors.matrix,
    ):
        assert len(some(["at"])) == 1
        with pytest.raises(TypeError, match=r"words is one str; expected several, as in \['at'\]"):
            some("at")
        with pytest.raises(TypeError, match=r"words\[1\] is int \(3\); expected str"):
            some(["at", 3])
        with pytest.raises(TypeError, match=r"words must be a str or several, got 0 \(int\)"):
            some(0)
    wrong = {
        "limit must be a whole number, got 1.5": lambda: se.WordVectors.load(tmp_path / "at.txt", limit=1.5),
        "dim must be at least 1, got 0": lambda: se.WordVectors.load(tmp_path / "at.txt", dim=0),
        "format must be a str, got None": lambda: se.WordVectors.load(tmp_path / "at.txt", format=None),
        "storage must be a str, got 3": lambda: se.WordVectors.load(tmp_path / "at.txt", storage=3),
        "oov must be a str, got None": lambda: vectors.with_oov(None),
        "topn must be a whole number, got 1.5": lambda: vectors.most_similar("at", topn=1.5),
        "topn must be at least 0, got -1": lambda: vectors.analogy("at", "a", "t", topn=-1),
        "dim must be a whole number, got 2.5": lambda: se.WordVectors.train(["a"], dim=2.5),
        "seed must be at least 0, got -5": lambda: se.WordVectors.train(["a"], dim=2, seed=-5),
        "window must be at most": lambda: se.WordVectors.train(["a"], dim=2, window=2**40),
        "smoothing must be a number, got 'x'": lambda: se.WordVectors.train(["a"], dim=2, smoothing="x"),
    }
    for message, call in wrong.items():
        with pytest.raises((TypeError, ValueError), match=message):
            call()
    assert len(se.WordVectors.load(tmp_path / "at.txt", limit=np.int64(2))) == 2
    with pytest.raises(ValueError, match="3 is not among these words"):
        vectors.words.index(3)


def test_reduced_is_the_nearest_table_of_its_width():
    x = np.random.default_rng(0).normal(size=(40, 9)).astype(np.float32) + 1
    words = [f"w{i}" for i in range(40)]
    vectors = se.WordVectors.from_array(words, x, counts=list(range(40, 0, -1)), oov="mean")
    reduced = vectors.reduced(4)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    np.testing.assert_allclose(
        reduced.matrix() @ reduced.matrix().T, (u[:, :4] * s[:4] ** 2) @ u[:, :4].T, atol=1e-3
    )
    assert (list(reduced.words), list(reduced.counts), reduced.oov) == (words, list(range(40, 0, -1)), "mean")
    np.testing.assert_allclose(
        vectors.reduced(9).matrix() @ vectors.reduced(9).matrix().T, x @ x.T, atol=1e-3
    )
    with pytest.raises(ValueError, match="dim must be at most 9, got 10"):
        vectors.reduced(10)
