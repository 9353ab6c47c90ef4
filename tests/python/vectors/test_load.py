from __future__ import annotations

import gzip
import io
import logging
import lzma
import os
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se
from sentencode.vectors import load as load_module

TEXT = "cat 1 0.5\n. . -2 1e-3\nat name@domain.com 0 1\ncat 7 7\ndog 0.25 0.125\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path):
    se.set_cache_dir(tmp_path / "cache")
    yield
    se.set_cache_dir(None)


def example(n=300, dim=8, seed=5):
    rng = np.random.default_rng(seed)
    return [f"w{i}" for i in range(n)], rng.normal(size=(n, dim)).astype(np.float32)


@pytest.mark.parametrize("opener", [open, gzip.open, lzma.open])
@pytest.mark.parametrize("header", ["", "5 2\n"])
def test_reads_compressed_text(tmp_path, opener, header):
    path = tmp_path / "vectors"
    with opener(path, "wb") as file:
        file.write((header + TEXT).encode())
    vectors = se.WordVectors.load(str(path))
    assert list(vectors) == ["cat", ". .", "at name@domain.com", "dog"]
    assert vectors.matrix().tolist() == [[1, 0.5], [-2, np.float32(1e-3)], [0, 1], [0.25, 0.125]]
    assert vectors.path is None


def test_options(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(TEXT)
    assert list(se.WordVectors.load(path, limit=2)) == ["cat", ". ."]
    assert list(se.WordVectors.load(path, words=["dog", ". .", "absent"])) == [". .", "dog"]
    assert se.WordVectors.load(path, storage="int8", oov="mean").storage == "int8"
    assert se.WordVectors.load(path, oov="mean").oov == "mean"
    assert se.WordVectors.load(path, dim=2).dim == 2
    with pytest.raises(ValueError, match="has none of the 1 words"):
        se.WordVectors.load(path, words=["absent"])
    for bad in ({"limit": 0}, {"dim": 0}, {"storage": "f4"}, {"oov": "x"}, {"format": "x"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            se.WordVectors.load(path, **bad)
    with pytest.raises(FileNotFoundError):
        se.WordVectors.load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError, match=r"sentencode\.load opens a model's folder"):
        se.WordVectors.load(tmp_path)


def test_errors_name_file_and_line(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\nb 3\nc 4 5\n")
    with pytest.raises(
        se.FormatError, match=r"vectors.txt: line 2: expected a word and 2 numbers, found 2 fields: 'b 3'"
    ):
        se.WordVectors.load(path)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of gensim
@pytest.mark.parametrize("binary", [False, True])
def test_exchanges_files_with_gensim(tmp_path, binary):
    gensim = pytest.importorskip("gensim.models")
    words, matrix = example()
    keyed = gensim.KeyedVectors(8)
    keyed.add_vectors(words, matrix)
    path = str(tmp_path / "gensim")
    keyed.save_word2vec_format(path, binary=binary)
    vectors = se.WordVectors.load(path)
    assert list(vectors) == words
    assert np.array_equal(vectors.matrix(), matrix)

    vectors.export(path, "word2vec_binary" if binary else "word2vec")
    back = gensim.KeyedVectors.load_word2vec_format(path, binary=binary)
    assert back.index_to_key == words
    assert np.array_equal(back.vectors, matrix)
    if not binary:
        vectors.export(path, "glove")
        back = gensim.KeyedVectors.load_word2vec_format(path, no_header=True)
        assert np.array_equal(back.vectors, matrix)


def test_export_refuses_words_that_would_not_come_back(tmp_path):
    vectors = se.WordVectors.from_array(["a b"], [[1.0]])
    vectors.export(tmp_path / "glove", "glove")
    assert (tmp_path / "glove").read_text() == "a b 1\n"
    with pytest.raises(ValueError, match="the word 'a b' cannot be written"):
        vectors.export(tmp_path / "word2vec")
    assert not (tmp_path / "word2vec").exists()
    with pytest.raises(ValueError, match="format must be 'glove'"):
        vectors.export(tmp_path / "x", "csv")


word = st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n"), min_size=1, max_size=8)


@settings(max_examples=50)
@given(
    words=st.lists(word, min_size=2, max_size=20, unique=True),
    dim=st.integers(2, 5),
    data=st.data(),
)
def test_any_words_come_back(tmp_path_factory, words, dim, data):
    numbers = st.floats(-(2.0**60), 2.0**60, width=32)
    matrix = [data.draw(st.lists(numbers, min_size=dim, max_size=dim)) for _ in words]
    path = tmp_path_factory.mktemp("text") / "vectors"
    text = "".join(
        f"{w} {' '.join(repr(np.float32(x).item()) for x in row)}\n"
        for w, row in zip(words, matrix, strict=True)
    )
    path.write_bytes(text.encode())
    if text.startswith("\ufeff"):
        words = [words[0][1:], *words[1:]]
    if len(set(words)) < len(words):
        return
    vectors = se.WordVectors.load(path, dim=dim)
    assert list(vectors) == words
    assert np.array_equal(vectors.matrix(), np.array(matrix, dtype=np.float32))


def test_npz(tmp_path):
    words, matrix = example()
    raw = np.frombuffer("\n".join(words).encode(), dtype=np.uint8)
    path = tmp_path / "vectors.npz"
    np.savez(path, words=raw, vectors=matrix.astype(np.float16), counts=np.arange(300)[::-1])
    vectors = se.WordVectors.load(path)
    assert list(vectors) == words
    assert vectors.storage == "float16"
    assert vectors.counts[0] == 299
    assert np.array_equal(vectors.matrix(), matrix.astype(np.float16))
    few = se.WordVectors.load(path, limit=10, words=["w3", "w200"], storage="float32")
    assert list(few) == ["w3"]
    assert few.storage == "float32"

    np.savez(path, words=np.array(words), vectors=matrix)
    assert np.array_equal(se.WordVectors.load(path).matrix(), matrix)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"words": np.array(["a"])}, "has no array 'vectors'"),
        ({"words": np.array(["a"]), "vectors": np.eye(2)}, r"1 words, but 'vectors' has the shape \[2, 2\]"),
        ({"words": np.array([1]), "vectors": np.eye(1)}, "'words' must be bytes"),
        ({"words": np.array(["a"], dtype=object), "vectors": np.eye(1)}, "needs pickle"),
        ({"words": np.array(["a", "a"]), "vectors": np.eye(2)}, "must differ"),
        ({"words": np.array(["a"]), "vectors": np.array([[np.inf]])}, "not a finite number"),
        ({"words": np.array([["a"]]), "vectors": np.eye(1)}, "'words' must be bytes"),
        ({"words": np.array(["a"]), "vectors": np.eye(1), "counts": 3}, r"'counts' has the shape \[\]"),
    ],
)
def test_files_that_are_no_npz(tmp_path, arrays, message):
    path = tmp_path / "vectors.npz"
    np.savez(path, **arrays)
    with pytest.raises(se.FormatError, match=message):
        se.WordVectors.load(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_with_flipped_bits(tmp_path, save):
    buffer = io.BytesIO()
    counts = np.array([3, 2])
    save(buffer, words=np.array(["a", "b"]), vectors=np.eye(2), counts=counts)
    whole = buffer.getvalue()
    path = tmp_path / "vectors.npz"
    messages = []
    for position in range(4, len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            se.WordVectors.load(path)  # unused fields, such as a date, may differ
        except se.FormatError as error:
            messages.append(str(error))
    assert len(messages) > len(whole) // 3
    assert all(text.startswith(f"{path}: ") for text in messages)


def test_native(tmp_path):
    words, matrix = example()
    path = tmp_path / "vectors"
    se.WordVectors.from_array(words, matrix, storage="float16").save(path)
    mapped = se.WordVectors.load(path, oov="zero")
    assert mapped.path == str(path)
    assert mapped.oov == "zero"
    assert mapped.storage == "float16"
    less = se.WordVectors.load(path, limit=20, words=["w3", "w30"], storage="int8")
    assert list(less) == ["w3"]
    assert less.path is None


def test_native_file_is_read_by_the_safetensors_package(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    from safetensors.numpy import load_file

    words, matrix = example()
    path = tmp_path / "vectors"
    se.WordVectors.from_array(words, matrix, np.arange(300)).save(path)
    arrays = load_file(path)
    assert np.array_equal(arrays["rows"], matrix)
    assert arrays["counts"].tolist() == list(range(300))
    text, offsets = arrays["words"].tobytes(), arrays["offsets"]
    assert [text[a:b].decode() for a, b in pairwise(offsets)] == words
    with safetensors.safe_open(path, "numpy") as file:
        assert file.metadata()["format"] == "sentencode.vectors"


# --- the cache


@pytest.fixture
def big(tmp_path, monkeypatch):
    monkeypatch.setattr(load_module, "_CACHED_FROM", 1000)
    words, matrix = example()
    path = tmp_path / "big.txt"
    se.WordVectors.from_array(words, matrix).export(path, "glove")
    return path


def cached_files():
    return sorted(os.listdir(se.cache_dir() / "vectors")) if se.cache_dir().exists() else []


def test_parsed_files_are_cached_and_mapped(big, monkeypatch):
    first = se.WordVectors.load(big, storage="float16")
    assert len(cached_files()) == 1
    assert first.path == str(se.cache_dir() / "vectors" / cached_files()[0])

    def parse(*_):
        raise AssertionError("parsed again")

    monkeypatch.setattr(load_module._core, "read_vectors", parse)
    again = se.WordVectors.load(big, storage="float16", oov="zero")
    assert again.fingerprint == first.fingerprint
    assert again.oov == "zero"


def test_options_and_changes_are_part_of_the_key(big):
    assert len(se.WordVectors.load(big)) == 300
    assert len(se.WordVectors.load(big, limit=100)) == 100
    assert se.WordVectors.load(big, words=["w1", "w2"]).words[:] == ["w1", "w2"]
    assert len(cached_files()) == 3
    with open(big, "a") as file:
        file.write("new 1 2 3 4 5 6 7 8\n")
    assert "new" in se.WordVectors.load(big)
    assert len(cached_files()) == 3, "the outdated one is gone"


def test_small_files_and_cache_false_leave_nothing(big, tmp_path):
    assert se.WordVectors.load(big, cache=False).path is None
    small = tmp_path / "small.txt"
    small.write_text(TEXT)
    se.WordVectors.load(small)
    assert cached_files() == []


def test_a_damaged_cache_is_made_again(big, caplog):
    se.WordVectors.load(big)
    (file,) = cached_files()
    path = se.cache_dir() / "vectors" / file
    path.write_bytes(path.read_bytes()[:1000])
    with caplog.at_level(logging.WARNING, "sentencode"):
        assert len(se.WordVectors.load(big)) == 300
    assert "read again" in caplog.text
    assert len(se.WordVectors.load(big)) == 300


def test_an_unwritable_cache_is_only_logged(big, tmp_path, caplog):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    se.set_cache_dir(blocked)
    with caplog.at_level(logging.WARNING, "sentencode"):
        vectors = se.WordVectors.load(big)
    assert len(vectors) == 300
    assert vectors.path is None
    assert "cannot be cached" in caplog.text


def test_cache_dir_follows_the_environment(monkeypatch, tmp_path):
    se.set_cache_dir(None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert se.cache_dir() == tmp_path / "sentencode"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert se.cache_dir() == tmp_path / ".cache" / "sentencode"
    se.set_cache_dir("~/elsewhere")
    assert se.cache_dir() == tmp_path / "elsewhere"


# --- progress


def test_progress_is_reported_and_may_stop(big):
    seen = []
    se.WordVectors.load(big, progress=lambda done, total: seen.append((done, total)))
    size = os.path.getsize(big)
    assert seen[-1] == (size, size)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        se.WordVectors.load(big, cache=False, progress=stop)


def test_progress_bar(big, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's, without ipywidgets
        se.WordVectors.load(big, progress=True)
    assert "big.txt" in capsys.readouterr().err


def test_encoders_and_word_vectors_are_not_confused(tmp_path):
    vectors = se.WordVectors.from_dict({"a": [1.0, 2.0]})
    vectors.save(tmp_path / "vectors")
    vectors.export(tmp_path / "text")
    se.Average(vectors).save(tmp_path / "encoder")
    for name in ("vectors", "text"):
        with pytest.raises(se.FormatError, match=r"WordVectors\.load reads files of word vectors"):
            se.load(tmp_path / name)
    with pytest.raises(se.FormatError, match=r"sentencode\.load reads encoders"):
        se.WordVectors.load(tmp_path / "encoder")
