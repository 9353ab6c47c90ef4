"""`BatchEncoder`: types of batches, missing text, and pickling for other processes."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentencode as se
from sentencode.scale import BatchEncoder, Embeddings, encode
from sentencode.scale.arrow import embedding_rows


def rows_of(batch, name="embedding"):
    return embedding_rows(batch[name])


@pytest.mark.parametrize(
    "make",
    [
        lambda texts: pa.table({"id": list(range(len(texts))), "text": texts}),
        lambda texts: pa.record_batch({"id": list(range(len(texts))), "text": texts}),
        lambda texts: pa.table({"text": pa.chunked_array([texts[:100], texts[100:101], texts[101:]])}),
        lambda texts: pa.table({"text": ["other", *texts]}).slice(1),
        lambda texts: pa.table({"text": pa.array(texts, pa.large_string())}),
        lambda texts: pa.table({"text": pa.array(texts).dictionary_encode()}),
        lambda texts: pa.table({"text": pa.array([text.encode() for text in texts])}),
        lambda texts: pa.table({"text": [text.split() for text in texts]}),
        lambda texts: pa.table({"text": pa.array(texts, pa.string_view())}),
        lambda texts: pa.table(
            {"text": pa.array([text.split() for text in texts], pa.large_list(pa.string_view()))}
        ),
    ],
    ids=["table", "batch", "chunks", "slice", "large", "dictionary", "bytes", "tokens", "view", "views"],
)
@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_arrow(saved, sentences, expected, make, precision):
    batch = make(sentences)
    encoded = BatchEncoder(saved, precision=precision)(batch)
    assert type(encoded) is type(batch)
    assert encoded.schema.names == [*batch.schema.names, "embedding"]
    assert encoded.schema.field("embedding").type == pa.list_(pa.from_numpy_dtype(precision), 6)
    assert encoded.drop_columns(["embedding"]).equals(batch)
    rows = rows_of(encoded)
    assert rows.dtype == precision
    np.testing.assert_array_equal(rows, expected.astype(precision))


@pytest.mark.parametrize("precision", ["int8", "ubinary"])
def test_quantized(saved, sentences, encoder, precision):
    ranges = encoder.calibrate(sentences, truncate_dim=4) if precision == "int8" else None
    options = {"precision": precision, "truncate_dim": 4, "ranges": ranges}
    batch_encoder = pickle.loads(pickle.dumps(BatchEncoder(saved, **options)))
    expected = encoder.encode(sentences, **options)
    np.testing.assert_array_equal(batch_encoder({"text": sentences})["embedding"], expected)
    np.testing.assert_array_equal(rows_of(batch_encoder(pa.table({"text": sentences}))), expected)
    frame = batch_encoder(pd.DataFrame({"text": sentences}))
    np.testing.assert_array_equal(np.stack(frame["embedding"]), expected)


def test_pandas(saved, sentences, expected):
    frame = pd.DataFrame({"text": sentences, "id": range(700)}, index=range(5, 705))
    encoded = BatchEncoder(saved)(frame)
    assert list(frame.columns) == ["text", "id"]  # the input is unchanged
    assert list(encoded.columns) == ["text", "id", "embedding"]
    assert list(encoded.index) == list(frame.index)
    assert encoded["embedding"].dtype == pd.ArrowDtype(pa.list_(pa.float32(), 6))
    np.testing.assert_array_equal(np.stack(encoded["embedding"]), expected)
    table = pa.Table.from_pandas(encoded)
    assert table.schema.field("embedding").type == pa.list_(pa.float32(), 6)


@pytest.mark.parametrize("kind", [list, np.array, lambda texts: np.array(texts, dtype=object)])
def test_arrays(saved, sentences, expected, kind):
    batch = {"text": kind(sentences), "id": np.arange(700)}
    encoded = BatchEncoder(saved)(batch)
    assert list(batch) == ["text", "id"]
    np.testing.assert_array_equal(encoded["embedding"], expected)
    assert encoded["embedding"].dtype == np.float32
    assert encoded["embedding"].flags.c_contiguous


@pytest.mark.parametrize("missing", ["zero", "null"])
@pytest.mark.parametrize("text", ["string", "large_string", "binary", "string_view", "binary_view"])
def test_missing_text_in_arrow(saved, missing, text):
    texts = ["the man", None, "", "  ", "unknown", None]
    encoded = [t if t is None or "binary" not in text else t.encode() for t in texts]
    batch = pa.table({"text": pa.array(encoded, getattr(pa, text)())})
    column = BatchEncoder(saved, missing=missing)(batch)["embedding"]
    assert len(column) == 6
    nulls = [False, True, True, True, False, True] if missing == "null" else [False] * 6
    assert [not valid for valid in column.is_valid().to_pylist()] == nulls
    assert column[0].as_py() == pytest.approx(se.load(saved).encode("the man").tolist())
    assert all(column[i].as_py() in (None, [0.0] * 6) for i in range(1, 6))


@pytest.mark.parametrize("missing", ["zero", "null"])
def test_missing_text_elsewhere(saved, missing):
    batch_encoder = BatchEncoder(saved, missing=missing)
    texts = ["the man", None, float("nan"), "", "unknown"]
    rows = batch_encoder({"text": texts})["embedding"]
    assert rows[0].any()
    assert not rows[4].any()
    assert np.isnan(rows[1:4]).all() if missing == "null" else not rows[1:].any()
    frame = batch_encoder(pd.DataFrame({"text": pd.array(["the man", None], dtype="string")}))
    assert frame["embedding"].isna().tolist() == [False, missing == "null"]
    tokens = pa.table({"text": pa.array([["the", "man"], None, []])})
    assert batch_encoder(tokens)["embedding"].null_count == (2 if missing == "null" else 0)
    for kind in (pa.list_(pa.string()), pa.large_list(pa.string_view())):
        embeddings = batch_encoder(pa.table({"text": pa.array([None, ["the", "man"]], kind)}))["embedding"]
        assert embeddings.null_count == (missing == "null")
        assert embeddings[1].as_py() == pytest.approx(rows[0].tolist())
    nothing = batch_encoder(pa.table({"text": pa.nulls(3)}))["embedding"]
    assert nothing.null_count == (3 if missing == "null" else 0)


def test_no_rows(saved):
    batch_encoder = BatchEncoder(saved)
    table = batch_encoder(pa.table({"text": pa.array([], pa.string())}))
    assert table.num_rows == 0
    assert table.schema.field("embedding").type == batch_encoder.arrow_type
    assert batch_encoder({"text": []})["embedding"].shape == (0, 6)
    assert len(batch_encoder(pd.DataFrame({"text": pd.Series([], dtype="string")}))) == 0


def test_other_columns(saved, expected, sentences):
    batch_encoder = BatchEncoder(saved, column="body", output="text", normalize=True)
    table = batch_encoder(pa.table({"text": ["x"] * 700, "body": sentences}))
    assert table.schema.names == ["text", "body"]
    lengths = np.linalg.norm(rows_of(table, "text"), axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1, atol=1e-6)


def test_wrong_batches(saved):
    batch_encoder = BatchEncoder(saved)
    with pytest.raises(KeyError, match="there is no column 'text'; there are id, body"):
        batch_encoder({"id": [1], "body": ["x"]})
    with pytest.raises(TypeError, match="batch must be an Arrow table, a pandas data frame or a dict"):
        batch_encoder(["text"])
    with pytest.raises(TypeError, match="expected str"):
        batch_encoder(pa.table({"text": [1, 2]}))
    with pytest.raises(TypeError, match="expected str"):
        batch_encoder(pa.table({"text": [1, None]}))


def test_the_device_of_a_neural_encoder(tmp_path, vectors, sentences):
    pytest.importorskip("torch")
    encoder = se.MeanMaxAAE(vectors, hidden=8, heads=2, max_epochs=None, max_steps=2).fit(sentences)
    encoder.save(tmp_path / "aae")
    there = BatchEncoder(tmp_path / "aae", device="cpu")({"text": sentences})["embedding"]
    np.testing.assert_allclose(there, encoder.encode(sentences), atol=1e-6)
    with pytest.raises(ValueError, match="device='cuda' cannot be used"):
        BatchEncoder(tmp_path / "aae", device="cuda")({"text": sentences})


def test_a_laes_encodes_only_on_the_cpu(vectors, sentences):
    with pytest.raises(ValueError, match="device='cuda' is for a neural encoder, got a LAES"):
        BatchEncoder(se.LAES(vectors, hidden=4).fit(sentences), device="cuda")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"precision": "float64"}, "precision must be 'float32', .* or 'ubinary', got 'float64'"),
        ({"precision": "int8"}, "precision='int8' requires ranges"),
        ({"precision": "binary", "missing": "null"}, "precision='binary' has no NaN; use missing='zero'"),
        ({"truncate_dim": 7}, "truncate_dim must be at most 6, got 7"),
        ({"missing": "nan"}, "missing must be 'zero' or 'null', got 'nan'"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"device": "cuda"}, "device='cuda' is for a neural encoder, got a SIF"),
    ],
)
def test_wrong_options(saved, options, error):
    with pytest.raises(ValueError, match=error):
        BatchEncoder(saved, **options)


def test_wrong_encoders(tmp_path, vectors):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        BatchEncoder(tmp_path / "nowhere.sentencode")
    (tmp_path / "text.sentencode").write_text("text")
    with pytest.raises(se.FormatError, match=r"text\.sentencode"):
        BatchEncoder(tmp_path / "text.sentencode")
    with pytest.raises(TypeError, match="one of Sentencode's encoders, got a int"):
        BatchEncoder(5)
    with pytest.raises(se.NotFittedError):
        BatchEncoder(se.SIF(vectors))


def test_an_encoder_is_saved_once(encoder, sentences, expected):
    batch_encoder = BatchEncoder(encoder)
    assert batch_encoder.fingerprint == encoder.fingerprint()
    np.testing.assert_array_equal(batch_encoder({"text": sentences})["embedding"], expected)
    assert se.cache_dir() in Path(batch_encoder.saved.path).parents


def test_an_encoder_that_is_fitted_anew_does_not_change_it(vectors, sentences):
    other = se.SIF(vectors).fit(sentences)
    batch_encoder = BatchEncoder(other)
    before = batch_encoder({"text": sentences})["embedding"]
    other.fit(sentences[:20])
    np.testing.assert_array_equal(batch_encoder({"text": sentences})["embedding"], before)


# --- other processes


def test_a_pickle_is_small_and_has_no_encoder(saved, encoder):
    for source in (saved, encoder):
        batch_encoder = BatchEncoder(source)
        batch_encoder({"text": ["the man"]})
        assert len(pickle.dumps(batch_encoder)) < 1000


def test_the_number_of_threads_is_restored(saved, monkeypatch):
    before = se.num_threads()
    batch_encoder, seen = BatchEncoder(saved, threads=before + 1), []
    whole = se.SIF.encode
    monkeypatch.setattr(se.SIF, "encode", lambda *a, **k: (seen.append(se.num_threads()), whole(*a, **k))[1])
    batch_encoder({"text": ["the"]})
    assert seen == [before + 1]
    assert se.num_threads() == before


def call(batch_encoder, texts):
    from sentencode.scale.opened import use_threads

    use_threads(batch_encoder.threads)
    return batch_encoder({"text": texts})["embedding"], se.num_threads()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_pickle_crosses_spawn(saved, sentences, expected):
    batch_encoder = BatchEncoder(saved, threads=1)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(call, [(batch_encoder, sentences[i : i + 100]) for i in range(0, 700, 100)])
    assert {threads for _, threads in parts} == {1}
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in parts]), expected)


def test_a_worker_maps_the_encoder_once(saved, sentences, monkeypatch):
    from sentencode.scale import opened

    batch_encoder = pickle.loads(pickle.dumps(BatchEncoder(saved)))
    opened._open.clear()
    calls = []
    load = opened.load
    monkeypatch.setattr(
        opened, "load", lambda *arguments, **options: (calls.append(1), load(*arguments, **options))[1]
    )
    for i in range(5):
        batch_encoder({"text": sentences[i : i + 5]})
    pickle.loads(pickle.dumps(batch_encoder))({"text": ["the"]})
    assert len(calls) == 1
    assert str(saved) in Path("/proc/self/maps").read_text()


def test_another_encoder_in_the_file_is_refused(encoder, vectors, sentences, tmp_path):
    path = tmp_path / "encoder.sentencode"
    encoder.save(path)
    batch_encoder = BatchEncoder(path)
    content = pickle.dumps(batch_encoder)
    se.SIF(vectors, components=2).fit(sentences).save(path)
    program = "import sys, pickle; pickle.load(sys.stdin.buffer)({'text': ['the']})"
    done = subprocess.run([sys.executable, "-c", program], input=content, capture_output=True)
    assert b"holds another encoder than when the job was started" in done.stderr
    path.unlink()
    done = subprocess.run([sys.executable, "-c", program], input=content, capture_output=True)
    assert b"a worker does not find the encoder" in done.stderr


def shout(text):
    return text.upper().split()


def test_a_user_tokenizer_is_pickled(vectors):
    table = se.WordVectors.from_dict({"THE": [1, 0], "MAN": [0, 1]})
    batch_encoder = BatchEncoder(se.Average(table, tokenizer=str.split, lowercase=False))
    assert batch_encoder({"text": ["THE MAN"]})["embedding"].tolist() == [[0.5, 0.5]]
    again = pickle.loads(pickle.dumps(batch_encoder))
    assert again({"text": ["THE MAN"]})["embedding"].tolist() == [[0.5, 0.5]]


def test_encoders_of_different_tokenizers_are_distinguished(tmp_path):
    """Fingerprints contain only the name of a user-defined tokenizer."""
    path = tmp_path / "encoder.sentencode"
    table = se.WordVectors.from_dict({"THE": [1, 0], "MAN": [0, 1]})
    with pytest.warns(UserWarning, match="tokenizer"):
        se.Average(table, tokenizer=lambda text: shout(text), lowercase=False).save(path)
    one = BatchEncoder(path, tokenizer=lambda text: shout(text))
    assert one({"text": ["the"]})["embedding"].tolist() == [[1, 0]]
    two = BatchEncoder(path, tokenizer=lambda text: ["MAN"])
    assert two({"text": ["the"]})["embedding"].tolist() == [[0, 1]]
    assert one({"text": ["the"]})["embedding"].tolist() == [[1, 0]]


def test_options_of_load(tmp_path):
    path = tmp_path / "encoder.sentencode"
    table = se.WordVectors.from_dict({"THE": [1, 0], "MAN": [0, 1]})
    with pytest.warns(UserWarning, match="tokenizer"):
        se.Average(table, tokenizer=lambda text: shout(text), lowercase=False).save(path)
    with pytest.raises(ValueError, match="tokenizer"):
        BatchEncoder(path)
    batch_encoder = BatchEncoder(path, tokenizer=shout)
    assert batch_encoder({"text": ["the man"]})["embedding"].tolist() == [[0.5, 0.5]]


def test_a_url(saved, sentences, expected):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://encoders/sif.sentencode", "wb") as file:
        file.write(saved.read_bytes())
    batch_encoder = BatchEncoder("memory://encoders/sif.sentencode")
    np.testing.assert_array_equal(batch_encoder({"text": sentences})["embedding"], expected)


def test_integer_ids_with_nulls(saved, tmp_path):
    ids = [2**60 + 1, None, 7]
    pq.write_table(pa.table({"text": ["man"] * 3, "id": ids}), tmp_path / "in.parquet")
    encode(saved, tmp_path / "in.parquet", tmp_path / "out", id="id", workers=1)
    ((encoded_ids, _),) = Embeddings(tmp_path / "out").batches()
    assert encoded_ids.tolist() == ids
