"""Embeddings in all precisions: the same bytes as in sentence-transformers, by every way that encodes."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se

PRECISIONS = ["float32", "float16", "int8", "uint8", "binary", "ubinary"]
TEXTS = ["a b c", "b", "", "c a", "unknown", "d d a", "b c d", "a"]


def reference(rows, precision, ranges=None):
    """The source of sentence-transformers 6.2."""
    if precision in ("float32", "float16"):
        return rows.astype(precision)
    if precision in ("int8", "uint8"):
        starts = ranges[0]
        steps = (ranges[1] - starts) / 255
        steps = np.where(steps == 0, 1, steps).astype(np.float32)
        steps = np.clip(np.floor((rows - starts) / steps), 0, 255)
        return steps.astype(np.uint8) if precision == "uint8" else (steps - 128).astype(np.int8)
    packed = np.packbits(rows > 0, axis=-1)
    return packed if precision == "ubinary" else (packed - 128).astype(np.int8)


def ranges_of(rows):
    return np.stack([rows.min(axis=0), rows.max(axis=0)])


def options_of(precision, rows):
    return {"ranges": ranges_of(rows)} if precision in ("int8", "uint8") else {}


@pytest.fixture(scope="module")
def encoder():
    vectors = np.random.default_rng(1).normal(size=(4, 11)).astype(np.float32)
    return se.Average(se.WordVectors.from_array(list("abcd"), vectors))


@given(
    st.integers(0, 50),
    st.integers(1, 40),
    st.sampled_from(PRECISIONS),
    st.sampled_from([1e-30, 1e-3, 1.0, 1e4]),
    st.booleans(),
)
@settings(deadline=None)
def test_bytes_equal_those_of_numpy(count, dim, precision, scale, whole):
    rng = np.random.default_rng([count, dim])
    rows = rng.integers(-3, 4, (count, dim)) if whole else rng.normal(size=(count, dim))
    rows = (rows * scale).astype(np.float32)
    sample = (rng.normal(size=(5, dim)) * scale).astype(np.float32)
    sample[:, 0] = scale  # a dimension without a range
    options = options_of(precision, sample)
    actual = se.quantize_embeddings(rows, precision, **options)
    expected = reference(rows, precision, **options)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    if options:
        calibrated = se.quantize_embeddings(rows, precision, calibration_embeddings=sample)
        np.testing.assert_array_equal(calibrated, expected)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_bytes_equal_those_of_sentence_transformers(precision):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        util = pytest.importorskip("sentence_transformers.util")
    if precision == "float16":
        pytest.skip("sentence-transformers has no float16")
    rows = np.random.default_rng(2).normal(size=(20_000, 148)).astype(np.float32)
    options = options_of(precision, rows[:500])
    expected = util.quantize_embeddings(rows, precision, **options)
    actual = se.quantize_embeddings(rows, precision, **options)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


def test_float16_equals_numpys_cast():
    rows = np.ldexp(np.random.default_rng(3).normal(size=(300, 300)), np.arange(300) % 45 - 30)
    rows = np.concatenate([rows, [[np.inf] * 300, [-np.inf] * 300]]).astype(np.float32)
    with np.errstate(over="ignore"):
        expected = rows.astype(np.float16)
    np.testing.assert_array_equal(se.quantize_embeddings(rows, "float16"), expected)
    assert np.isnan(se.quantize_embeddings([np.nan], "float16")).all()


def test_encode_refuses_what_float16_cannot_hold():
    encoder = se.Average({"a": [1e6, 1.0], "b": [1.0, 2.0]})
    with pytest.raises(
        ValueError, match=r"encode: an embedding has 1e\+06, too large for precision='float16'"
    ):
        encoder.encode(["b", "a"], precision="float16")
    rows = encoder.encode(["a", "b"], precision="float16", normalize_embeddings=True)
    assert np.isfinite(rows).all()
    with pytest.raises(TypeError, match="normalize_embeddings must be True or False, got 'no'"):
        encoder.encode(["a"], normalize_embeddings="no")


def test_one_embedding_tensors_and_lists():
    row = [0.5, -1.0, 0.0]
    assert se.quantize_embeddings(row, "ubinary").tolist() == [128]
    assert se.quantize_embeddings([row], "binary").tolist() == [[0]]
    torch = pytest.importorskip("torch")
    assert se.quantize_embeddings(torch.tensor([row, row]), "ubinary").tolist() == [[128], [128]]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("truncate_dim", [None, 8, 5])
@pytest.mark.parametrize("normalize", [False, True])
def test_encode(encoder, monkeypatch, tmp_path, precision, truncate_dim, normalize):
    rows = encoder.encode(TEXTS)[:, :truncate_dim]
    if normalize:
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    options = {"precision": precision, "truncate_dim": truncate_dim, "normalize_embeddings": normalize}
    options |= options_of(precision, rows)
    expected = reference(rows, precision, options.get("ranges"))
    actual = encoder.encode(TEXTS, **options)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if not normalize:
        np.testing.assert_array_equal(actual, expected)
    else:  # rounding of the lengths
        assert np.mean(actual == expected) > 0.9
    monkeypatch.setattr("sentencode.encode_rows._BUFFER_BYTES", 4 * 11 * 3)
    again = encoder.encode(TEXTS, **options)
    np.testing.assert_array_equal(again, actual)
    np.testing.assert_array_equal(encoder.encode(iter(TEXTS), 3, **options), actual)
    np.testing.assert_array_equal(np.concatenate(list(encoder.encode_iter(TEXTS, 3, **options))), actual)
    np.testing.assert_array_equal(encoder.encode(TEXTS[0], **options), actual[0])
    out = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", actual.dtype, actual.shape)
    assert encoder.encode(TEXTS, out=out, **options) is out
    np.testing.assert_array_equal(out, actual)
    wide = np.zeros((len(TEXTS), 2 * actual.shape[1]), actual.dtype)
    encoder.encode(TEXTS, out=wide[::-1, ::2], **options)
    np.testing.assert_array_equal(wide[::-1, ::2], actual)
    torch = pytest.importorskip("torch")
    tensor = encoder.encode(TEXTS, convert_to_tensor=True, **options)
    np.testing.assert_array_equal(tensor.numpy(), actual)
    assert isinstance(encoder.encode_query(TEXTS, convert_to_numpy=False, **options)[0], torch.Tensor)


def test_ranges_of_a_calibration_set(encoder):
    rows = encoder.encode(TEXTS)
    np.testing.assert_array_equal(encoder.calibrate(TEXTS), ranges_of(rows))
    np.testing.assert_array_equal(encoder.calibrate(iter(TEXTS)), ranges_of(rows))
    short = encoder.calibrate(TEXTS, truncate_dim=3, normalize_embeddings=True)
    rows = encoder.encode(TEXTS, truncate_dim=3, normalize_embeddings=True)
    np.testing.assert_array_equal(short, ranges_of(rows))
    with pytest.raises(ValueError, match="calibrate: there are no sentences"):
        encoder.calibrate([])


def test_int8_does_not_depend_on_the_batch(encoder):
    options = {"precision": "int8", "ranges": encoder.calibrate(TEXTS[:3])}
    together = encoder.encode(TEXTS, **options)
    apart = [encoder.encode(text, **options) for text in TEXTS]
    np.testing.assert_array_equal(together, apart)


def test_memory_has_no_float32_copy():
    vectors = np.random.default_rng(5).normal(size=(2, 400)).astype(np.float32)
    encoder = se.Average(se.WordVectors.from_array(["a", "b"], vectors))
    texts = ["a b"] * 200_000  # 320 MB of float32
    tracemalloc.start()
    try:
        rows = encoder.encode(texts, precision="binary")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows.shape == (200_000, 50)
    assert peak < 100e6


def test_zero_rows_warn_also_when_quantized(encoder):
    other = se.Average(encoder.vectors)
    with pytest.warns(se.ZeroRowsWarning, match="30 of 31"):
        other.encode(["x"] * 30 + ["a"], precision="binary")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"precision": "int8"}, ValueError, "precision='int8' requires ranges .* Encoder.calibrate"),
        ({"ranges": np.zeros((2, 11))}, ValueError, "ranges are of 'int8' and 'uint8', not of 'float32'"),
        (
            {"precision": "int8", "truncate_dim": 8, "ranges": np.zeros((2, 11))},
            ValueError,
            r"ranges must have the shape \[2, 8\], got \[2, 11\]",
        ),
        (
            {"precision": "uint8", "ranges": np.array([[1.0] * 11, [0.0] * 11])},
            ValueError,
            "ranges of dimension 0: expected finite values, the least first, and a finite difference",
        ),
        ({"truncate_dim": 12}, ValueError, "truncate_dim must be at most 11, got 12"),
        ({"truncate_dim": 0}, ValueError, "truncate_dim must be at least 1, got 0"),
        ({"truncate_dim": "8"}, TypeError, "truncate_dim must be a whole number"),
        ({"precision": "binary", "missing": "nan"}, ValueError, "precision='binary' has no NaN"),
        (
            {"precision": "binary", "out": np.zeros((8, 2), np.uint8)},
            ValueError,
            "out must be of int8 for precision='binary', got uint8",
        ),
        (
            {"precision": "binary", "out": np.zeros((8, 11), np.int8)},
            ValueError,
            r"out must have the shape \[8, 2\], got \[8, 11\]",
        ),
    ],
)
def test_invalid_options(encoder, options, error, message):
    with pytest.raises(error, match=message):
        encoder.encode(TEXTS, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rows: se.quantize_embeddings(rows, "int8"), "requires ranges"),
        (lambda rows: se.quantize_embeddings(rows, "float64"), "got 'float64'"),
        (lambda rows: se.quantize_embeddings(rows * np.nan, "ubinary"), "embeddings: row 0 holds NaN"),
        (
            lambda rows: se.quantize_embeddings(rows, "int8", calibration_embeddings=rows[:0]),
            "calibration_embeddings has no rows",
        ),
        (
            lambda rows: se.quantize_embeddings(rows, "int8", calibration_embeddings=rows * np.nan),
            "ranges of dimension 0",
        ),
    ],
)
def test_invalid_embeddings(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.ones((3, 2), np.float32))
