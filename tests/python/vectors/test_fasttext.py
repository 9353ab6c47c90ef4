"""fastText's models: gensim writes and reads them, and is asked what their vectors are."""

from __future__ import annotations

import gzip
import os
import pickle
import struct
import threading
from contextlib import suppress

import numpy as np
import pytest

import sentencode as se
from sentencode.vectors import load as load_module

gensim = pytest.importorskip("gensim")
from gensim.models.fasttext import FastText, load_facebook_vectors, save_facebook_model

pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # of gensim

TEXT = [
    ["the", "cat", "sat", "on", "the", "mat"],
    ["ein", "schöner", "Hund", "läuft", "über", "die", "Straße"],
    ["日本語", "の", "単語", "и", "русские", "слова", "🙂"],
    ["a", "dog", "and", "the", "cat", "ran"],
] * 10
UNKNOWN = ["cats", "doggy", "Straßen", "日本", "словами", "xyzzy", "🙂🙂", "é", "q"]


@pytest.fixture(scope="module", params=[(3, 6), (1, 3), (2, 2)], ids=str)
def model(request, tmp_path_factory):
    shortest, longest = request.param
    path = tmp_path_factory.mktemp("fasttext") / "model.bin"
    trained = FastText(
        TEXT, vector_size=7, min_count=1, bucket=97, min_n=shortest, max_n=longest, seed=3, workers=1
    )
    save_facebook_model(trained, str(path))
    return path, load_facebook_vectors(str(path))


def test_words_and_counts(model):
    path, keyed = model
    vectors = se.WordVectors.load(path)
    assert list(vectors) == keyed.index_to_key
    np.testing.assert_allclose(vectors.matrix(), keyed.vectors, rtol=1e-5, atol=1e-7)
    assert vectors.counts.tolist() == [keyed.get_vecattr(word, "count") for word in vectors]
    assert vectors.oov == "subwords"
    assert vectors.subwords == (keyed.min_n, keyed.max_n, 97)
    assert vectors.path is None


def test_unknown_words(model):
    path, keyed = model
    vectors = se.WordVectors.load(path)
    for word in UNKNOWN:
        assert word not in vectors
        try:
            expected = keyed.get_vector(word)
        except KeyError:  # too short for a piece
            with pytest.raises(KeyError):
                vectors[word]
            continue
        np.testing.assert_allclose(vectors[word], expected, rtol=1e-4, atol=1e-6, err_msg=word)
    known = [word for word in UNKNOWN if len(word) > 1]
    np.testing.assert_array_equal(
        vectors.matrix([*known, "cat"]), [vectors[word] for word in [*known, "cat"]]
    )
    assert vectors.most_similar("cats", topn=1)[0][0] in vectors


def test_sentences_have_their_rows(model):
    path, keyed = model
    vectors = se.WordVectors.load(path)
    sentences = ["the cats sat", "doggy doggy", "die Straßen über xyzzy cat", "", "mat"] * 700
    average = se.Average(vectors, tokenizer="whitespace", lowercase=False)
    expected = np.zeros((5, 7), np.float32)
    for row, sentence in zip(expected, sentences, strict=False):
        if sentence:
            row[:] = np.mean([keyed.get_vector(word) for word in sentence.split()], axis=0)
    rows = average.encode(sentences)
    np.testing.assert_allclose(rows[:5], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(rows, np.tile(rows[:5], (700, 1)))
    skipping = se.Average(vectors.with_oov("skip"), tokenizer="whitespace", lowercase=False)
    assert not skipping.encode("doggy doggy").any()
    np.testing.assert_array_equal(skipping.encode("the cats sat"), skipping.encode("the sat"))


@pytest.mark.parametrize(
    "make", [se.SIF, se.USIF, lambda v: se.LAES(v, hidden=3), lambda v: se.LAES(v, hidden=3, mode="residual")]
)
def test_every_linear_encoder(model, make, tmp_path):
    """Unknown words are as those that the table has with the same vector, counted never."""
    path, _ = model
    vectors = se.WordVectors.load(path)
    unknown = [word for word in UNKNOWN if len(word) > 1]
    counts = np.append(vectors.counts, np.zeros(len(unknown), np.int64))
    rows = np.concatenate([vectors.matrix(), vectors.matrix(unknown)])
    all_listed = se.WordVectors.from_array([*vectors, *unknown], rows, counts)
    learnt = [" ".join(words) for words in TEXT[:4]]
    params = {"tokenizer": "whitespace", "lowercase": False}
    asked = ["the cats sat", "xyzzy", "日本 cat 🙂🙂", "русские словами", "the cat"]
    frequencies = dict(zip(vectors, vectors.counts.tolist(), strict=True))
    a, b = (
        make(table).set_params(**params, frequencies=frequencies).fit(learnt)
        for table in (vectors, all_listed)
    )
    np.testing.assert_allclose(a.encode(asked), b.encode(asked), rtol=1e-3, atol=1e-6)
    assert a.encode("xyzzy").any()
    a.save(tmp_path / "encoder")
    for again in (se.load(tmp_path / "encoder"), pickle.loads(pickle.dumps(a))):
        np.testing.assert_array_equal(again.encode(asked), a.encode(asked))


def test_learning_from_unknown_words(model):
    path, _ = model
    vectors = se.WordVectors.load(path)
    sentences = ["the cats sat", "doggy ran", "xyzzy and the cat"]
    assert se.SIF(vectors).fit(["xyzzy", *sentences]).n_sentences_ == 4
    listed = se.LAES(vectors, hidden=2).fit(sentences)  # learns from the words that the table has
    same = se.LAES(vectors.with_oov("skip"), hidden=2).fit(sentences)
    assert listed.n_tokens_ == same.n_tokens_


def test_laes_reads_subwords_of_unknown_words(model):
    path, _ = model
    vectors = se.WordVectors.load(path)
    unknown = [word for word in UNKNOWN if len(word) > 1]
    rows = np.concatenate([vectors.matrix(), vectors.matrix(unknown)])
    all_listed = se.WordVectors.from_array([*vectors, *unknown], rows)
    params = {"hidden": 3, "tokenizer": "whitespace", "lowercase": False, "mode": "hidden", "a": None}
    learnt = [" ".join(words) for words in TEXT[:4]]
    a, b = (se.LAES(table, **params).fit(learnt) for table in (vectors, all_listed))
    pairs = [("the cats", "xyzzy cat"), ("doggy", "dog"), ("cat", "日本 cats"), ("mat", "Straßen")] * 300
    scores = list(range(4)) * 300
    x, y = (one.select(pairs, scores, [1, 2, 3]) for one in (a, b))
    assert abs(x.score - y.score) < 1e-3
    sentences = [" ".join(pair) for pair in pairs]
    wrong = [one.reconstruction_error(sentences, [1, 3]) for one in (a, b)]
    np.testing.assert_allclose(*wrong, rtol=1e-3)


@pytest.mark.parametrize("storage", ["float16", "int8"])
def test_storage_and_the_native_file(model, storage, tmp_path):
    path, _ = model
    vectors = se.WordVectors.load(path)
    exact = vectors[["cats", "xyzzy", "cat"]]
    small = se.WordVectors.load(path, storage=storage)
    close = 2e-3 if storage == "float16" else 2e-2
    np.testing.assert_allclose(small[["cats", "xyzzy", "cat"]], exact, atol=close * abs(exact).max())
    for table in (vectors, small, vectors.only(["cat", "dog"]), se.WordVectors.load(path, limit=3)):
        table.save(tmp_path / "native")
        for again in (se.WordVectors.load(tmp_path / "native"), pickle.loads(pickle.dumps(table))):
            assert again.oov == "subwords"
            assert again.subwords == vectors.subwords
            assert again.fingerprint == table.fingerprint
            np.testing.assert_array_equal(again["cats"], table["cats"])
        assert se.WordVectors.load(tmp_path / "native", oov="skip").oov == "skip"
        assert se.WordVectors.load(tmp_path / "native", limit=2)["cats"].tolist() == table["cats"].tolist()
    assert (
        vectors.fingerprint
        != se.WordVectors.from_array(list(vectors), vectors.matrix(), vectors.counts).fingerprint
    )


def test_files_with_subwords_are_of_another_version(model):
    path, _ = model
    for table, version in ((se.WordVectors.load(path), b"2"), (se.WordVectors.from_dict({"a": [1]}), b"1")):
        assert b'"version":"' + version + b'"' in pickle.dumps(table)


def test_packed_piped_and_cached(model, tmp_path, monkeypatch):
    path, _ = model
    expected = se.WordVectors.load(path)
    (tmp_path / "model.bin.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert se.WordVectors.load(tmp_path / "model.bin.gz").fingerprint == expected.fingerprint
    os.mkfifo(tmp_path / "pipe")

    def write():
        with suppress(BrokenPipeError), open(tmp_path / "pipe", "wb") as file:
            file.write(path.read_bytes())  # the output layer after the vectors is not read

    thread = threading.Thread(target=write)
    thread.start()
    assert se.WordVectors.load(tmp_path / "pipe").fingerprint == expected.fingerprint
    thread.join()
    monkeypatch.setattr(load_module, "_CACHED_FROM", 1)
    se.set_cache_dir(tmp_path / "cache")
    try:
        first, second = se.WordVectors.load(path), se.WordVectors.load(path)
    finally:
        se.set_cache_dir(None)
    assert first.path == second.path is not None
    assert second.oov == "subwords"
    np.testing.assert_array_equal(second["cats"], expected["cats"])


def test_only_some_words(model):
    path, _ = model
    vectors = se.WordVectors.load(path)
    few = se.WordVectors.load(path, words=["cat", "mat", "absent"])
    assert set(few) == {"cat", "mat"}
    np.testing.assert_array_equal(few[["cat", "mat", "cats"]], vectors[["cat", "mat", "cats"]])
    assert list(se.WordVectors.load(path, limit=4)) == list(vectors)[:4]


def test_vectors_of_gensim_have_subwords(model):
    path, keyed = model
    vectors = se.WordVectors.of(keyed)
    loaded = se.WordVectors.load(path)
    assert vectors.oov == "subwords"
    np.testing.assert_allclose(vectors[["cats", "cat"]], loaded[["cats", "cat"]], rtol=1e-4, atol=1e-6)
    assert se.WordVectors.from_keyed_vectors(keyed, oov="skip").oov == "skip"


def test_there_must_be_subwords():
    with pytest.raises(ValueError, match="these word vectors have no subwords"):
        se.WordVectors.from_dict({"a": [1]}, oov="subwords")
    with pytest.raises(ValueError, match="these word vectors have no subwords"):
        se.WordVectors.from_dict({"a": [1]}).with_oov("subwords")


# --- files that gensim cannot write


def binary(
    *, version=12, dim=2, bucket=3, lengths=(2, 3), words=("</s>", "ab", "ba"), labels=(), pruned=-1,
    quantised=False, rows=None, ends=True,
):  # fmt: skip
    out = struct.pack("<ii12id", 793712314, version, dim, 5, 5, 1, 5, 1, 2, 1, bucket, *lengths, 100, 1e-4)
    out += struct.pack("<iiiqq", len(words) + len(labels), len(words), len(labels), 100, pruned)
    for kind, names in enumerate((words, labels)):
        for i, name in enumerate(names):
            out += (name if isinstance(name, bytes) else name.encode()) + struct.pack("<bqb", 0, 9 - i, kind)
    matrix = np.arange((len(words) + bucket) * dim, dtype="<f4").reshape(-1, dim) if rows is None else rows
    out += struct.pack("<bqq", quantised, *matrix.shape) + matrix.astype("<f4").tobytes()
    return out + (struct.pack("<bqq", 0, len(words), dim) + bytes(len(words) * dim * 4) if ends else b"")


def write(path, content):
    path.write_bytes(content)
    return path


def test_the_end_of_a_sentence_has_no_subwords(tmp_path):
    vectors = se.WordVectors.load(write(tmp_path / "a.bin", binary()))
    assert vectors["</s>"].tolist() == [0, 1]
    assert not np.array_equal(vectors["ab"], [2, 3])
    assert vectors.counts.tolist() == [9, 8, 7]


def test_labels_are_no_words_and_maxn_0_means_no_subwords(tmp_path):
    content = binary(bucket=0, lengths=(0, 0), labels=("__label__a", "__label__b"))
    vectors = se.WordVectors.load(write(tmp_path / "supervised.bin", content))
    assert list(vectors) == ["</s>", "ab", "ba"]
    assert vectors["ab"].tolist() == [2, 3]
    assert (vectors.oov, vectors.subwords) == ("skip", None)
    with_bigrams = binary(bucket=4, lengths=(0, 0))  # wordNgrams has buckets, too
    assert se.WordVectors.load(write(tmp_path / "bigrams.bin", with_bigrams))["ba"].tolist() == [4, 5]


def test_words_that_are_not_utf8_keep_their_subwords(tmp_path):
    rows = np.arange(12, dtype="<f4").reshape(6, 2)
    a, b = (
        se.WordVectors.load(write(tmp_path / "a.bin", binary(words=("</s>", word, "ba"), rows=rows)))
        for word in (b"a\xff", "a\ufffd")
    )
    assert list(a) == list(b)
    assert a.words[1] == "a\ufffd"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 11}, "version 11 of fastText's format; version 12 is read"),
        ({"quantised": True}, r"a quantised model \(.ftz\).*use the .bin"),
        ({"pruned": 3}, r"a quantised model \(.ftz\)"),
        ({"dim": 0, "rows": np.zeros((6, 0))}, "dim is 0, expected 1 to"),
        ({"rows": np.zeros((5, 2))}, r"a matrix \[5, 2\], expected \[6, 2\]"),
        ({"rows": np.full((6, 2), np.nan)}, "is nan, not a finite number"),
        ({"rows": np.full((6, 2), 3e38)}, "squares of such numbers are more than float32 holds"),
        ({"words": ()}, "a dictionary of 0 entries"),
        ({"lengths": (2, -1)}, "maxn is -1"),
    ],
)
def test_wrong_files(tmp_path, change, message):
    with pytest.raises(se.FormatError, match=f"a.bin: .*{message}"):
        se.WordVectors.load(write(tmp_path / "a.bin", binary(**change)))


def test_truncated_files(tmp_path):
    whole = binary(ends=False)
    for length in range(9, len(whole), 3):
        with pytest.raises(se.FormatError, match=r"a.bin: byte \d+: the file ends within"):
            se.WordVectors.load(write(tmp_path / "a.bin", whole[:length]))


def test_large_sizes_in_a_header_allocate_nothing(tmp_path):
    import resource

    content = bytearray(binary(ends=False))
    struct.pack_into("<i", content, 8 + 4 * 8, 2_000_000_000)  # bucket
    at = len(content) - 6 * 2 * 4 - 16
    struct.pack_into("<q", content, at, 2_000_000_003)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(se.FormatError, match="the file ends within the matrix of subwords"):
        se.WordVectors.load(write(tmp_path / "a.bin", bytes(content)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
