"""The interface of all encoders, on a family small enough to check by hand."""

from __future__ import annotations

import logging
import pickle
import re
import subprocess
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentencode as se
from sentencode.cli import main
from sentencode.encoder import Encoder

WORDS = ["a", "b", "c", "d"]


class Counts(Encoder):
    """Counts of words, times the number of sentences in fit."""

    def __init__(self, words=tuple(WORDS), weight=1.0, inner=None):
        self.words = words
        self.weight = weight
        self.inner = inner

    @property
    def dim(self):
        return len(self.words)

    @property
    def fitted(self):
        return hasattr(self, "seen_")

    def _forget(self):
        if self.weight < 0:
            raise ValueError(f"weight must be at least 0, got {self.weight}")
        self.seen_ = 0

    def _partial_fit(self, batch):
        self.seen_ += len(batch)

    def _encode_into(self, batch, out):
        assert out.dtype == np.float32
        assert len(batch) == len(out)
        sentences = batch if isinstance(batch, list | tuple) else batch.to_list()
        for row, sentence in zip(out, sentences, strict=True):
            tokens = sentence.split() if isinstance(sentence, str | bytes) else sentence
            tokens = [t.decode() if isinstance(t, bytes) else t for t in tokens]
            row[:] = [self.weight * tokens.count(word) for word in self.words]


TEXTS = ["a b", "", "c c a", "x"]
ROWS = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 2, 0], [0, 0, 0, 0]], dtype=np.float32)


@pytest.fixture
def encoder():
    return Counts().fit(["a"])


def text_file(path):
    path.write_text("a b\nc c a\nx\n")
    return path


@pytest.mark.parametrize(
    "sentences",
    [
        TEXTS,
        tuple(TEXTS),
        [text.encode() for text in TEXTS],
        [text.split() for text in TEXTS],
        [[token.encode() for token in text.split()] for text in TEXTS],
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pd.Series(TEXTS, index=[7, 5, 3, 1]),
        pd.Series(TEXTS, dtype="category"),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
        deque(TEXTS),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("batch_size", [None, 1, 3])
def test_sentences_of_every_kind(encoder, sentences, batch_size):
    rows = encoder.encode(sentences, batch_size)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, ROWS)


@pytest.mark.parametrize("batch_size", [None, 1, 3])
def test_streams_of_unknown_length(encoder, batch_size):
    np.testing.assert_array_equal(encoder.encode((t for t in TEXTS), batch_size), ROWS)
    np.testing.assert_array_equal(encoder.encode(iter(()), batch_size), ROWS[:0])


def test_files_and_corpora(encoder, tmp_path):
    path = text_file(tmp_path / "lines.txt")
    np.testing.assert_array_equal(encoder.encode(path), ROWS[[0, 2, 3]])
    np.testing.assert_array_equal(encoder.encode(se.Corpus(path)), ROWS[[0, 2, 3]])


@pytest.mark.parametrize("sentence", ["c c a", b"c c a"])
def test_one_sentence_is_one_row(encoder, sentence):
    np.testing.assert_array_equal(encoder.encode(sentence), ROWS[2])


def test_no_sentences(encoder):
    assert encoder.encode([]).shape == (0, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("batch_size", [None, 1, 3])
def test_out(encoder, dtype, batch_size):
    out = np.full((4, 4), 7, dtype=dtype)
    assert encoder.encode(TEXTS, batch_size, out=out) is out
    np.testing.assert_array_equal(out, ROWS)
    out[:] = 7
    encoder.encode(iter(TEXTS), batch_size, out=out)
    np.testing.assert_array_equal(out, ROWS)


def test_out_may_be_part_of_something(encoder):
    matrix = np.zeros((9, 10), dtype=np.float32)
    encoder.encode(TEXTS, out=matrix[1::2, 3:7])
    np.testing.assert_array_equal(matrix[1::2, 3:7], ROWS)
    assert matrix.sum() == ROWS.sum()


def test_out_may_be_a_memory_map(encoder, tmp_path):
    path = tmp_path / "rows.npy"
    encoder.encode(TEXTS, out=np.lib.format.open_memmap(path, "w+", np.float16, (4, 4))).flush()
    np.testing.assert_array_equal(np.load(path), ROWS)
    with pytest.raises(ValueError, match="read-only"):
        encoder.encode(TEXTS, out=np.load(path, mmap_mode="r"))


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        ([[0.0]], TypeError, "NumPy array or memory map, got a list"),
        (np.zeros((4, 4)), ValueError, "float32 or float16, got float64"),
        (np.zeros((4, 3), np.float32), ValueError, r"shape \[4, 4\], got \[4, 3\]"),
        (np.zeros((5, 4), np.float32), ValueError, r"shape \[4, 4\], got \[5, 4\]"),
        (np.zeros(16, np.float32), ValueError, r"shape \[4, 4\], got \[16\]"),
    ],
)
def test_out_that_does_not_fit(encoder, out, error, message):
    with pytest.raises(error, match=message):
        encoder.encode(TEXTS, out=out)


@pytest.mark.parametrize(("rows", "message"), [(3, "there are more"), (5, "there are 4 sentences")])
def test_out_of_another_length_than_the_stream(encoder, rows, message):
    with pytest.raises(ValueError, match=message):
        encoder.encode(iter(TEXTS), 2, out=np.zeros((rows, 4), np.float32))


def test_normalize_embeddings(encoder):
    rows = encoder.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(rows[2], ROWS[2] / np.sqrt(5), atol=1e-6)
    assert encoder.encode("", normalize_embeddings=True).sum() == 0


def test_precision(encoder):
    rows = encoder.encode(TEXTS, precision="float16")
    assert rows.dtype == np.float16
    np.testing.assert_array_equal(rows, ROWS)
    with pytest.raises(ValueError, match=r"'binary' or 'ubinary', got 'int4'"):
        encoder.encode(TEXTS, precision="int4")


def test_tensors(encoder):
    torch = pytest.importorskip("torch")
    tensor = encoder.encode(TEXTS, convert_to_tensor=True, device="cpu")
    assert tensor.dtype == torch.float32
    np.testing.assert_array_equal(tensor.numpy(), ROWS)
    assert encoder.encode("a", convert_to_tensor=True).shape == (4,)
    listed = encoder.encode(TEXTS, convert_to_numpy=False)
    assert [type(row) for row in listed] == [torch.Tensor] * 4
    with pytest.raises(ValueError, match="exclude each other"):
        encoder.encode(TEXTS, convert_to_tensor=True, out=np.zeros((4, 4), np.float32))


@pytest.mark.parametrize("device", [None, "cpu", "auto"])
def test_devices_of_the_cpu(encoder, device):
    np.testing.assert_array_equal(encoder.encode(TEXTS, device=device), ROWS)


def test_other_devices(encoder):
    with pytest.raises(ValueError, match="device='cuda' is only the device of a tensor"):
        encoder.encode(TEXTS, device="cuda")


def test_keywords_of_sentence_transformers(encoder):
    rows = encoder.encode(TEXTS, prompt=None, prompt_name=None, output_value="sentence_embedding", pool=None)
    np.testing.assert_array_equal(rows, ROWS)
    with pytest.raises(ValueError, match=r"prompt='query: '.*leave it out or pass None"):
        encoder.encode(TEXTS, prompt="query: ")
    with pytest.raises(TypeError, match=r"no keyword 'batchsize'; it knows batch_size"):
        encoder.encode(TEXTS, batchsize=3)


# More keywords of sentence_transformers.SentenceTransformer.encode, version 6.2, with their defaults.
DEFAULTS = {
    "prompt_name": None,
    "prompt": None,
    "batch_size": 32,
    "show_progress_bar": None,
    "output_value": "sentence_embedding",
    "precision": "float32",
    "convert_to_numpy": True,
    "convert_to_tensor": False,
    "device": None,
    "normalize_embeddings": False,
    "truncate_dim": None,
    "pool": None,
    "chunk_size": None,
}


def test_defaults_of_sentence_transformers(encoder):
    np.testing.assert_array_equal(encoder.encode(TEXTS, **DEFAULTS), ROWS)
    # Its evaluators pass no precision, and models without a prompt an empty one.
    nothing = {"precision": None, "prompt": "", "normalize_embeddings": None}
    rows = encoder.encode(TEXTS, **{**DEFAULTS, **nothing})
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, ROWS)


def test_a_prompt_as_second_argument_is_refused(encoder):
    # There the second argument is prompt_name.
    with pytest.raises(TypeError, match="batch_size must be a whole number, got 'query'"):
        encoder.encode(TEXTS, "query")


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["a", 3], r"\[1\] is int"),
        (5, "int"),
        ({"a", "b"}, "set"),
        (pd.DataFrame(columns=["t", "u"]), "Frame"),
    ],
)
def test_invalid_sentences(sentences, message):
    vectors = np.eye(2, dtype=np.float32)
    encoder = se.Average(se.WordVectors.from_array(["a", "b"], vectors))
    with pytest.raises(TypeError, match=message):
        encoder.encode(sentences)


def test_batch_size(encoder):
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        encoder.encode(TEXTS, batch_size=0)


def test_encode_iter(encoder):
    seen = []
    blocks = encoder.encode_iter((seen.append(t) or t for t in TEXTS), chunk_size=3, precision="float16")
    first = next(blocks)
    assert (first.shape, first.dtype, seen) == ((3, 4), np.float16, TEXTS[:3])  # no further ahead than needed
    np.testing.assert_array_equal(np.vstack([first, *blocks]), ROWS)
    with pytest.raises(TypeError, match="one str"):
        next(encoder.encode_iter("a"))


def test_long_documents_make_small_batches_by_default(encoder, tmp_path, monkeypatch):
    for module in ("encoder", "encode_rows"):
        monkeypatch.setattr(f"sentencode.{module}.TEXT_AT_ONCE", 1000)
    texts = ["a " * 250] * 9
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(texts))
    sizes, whole = [], Counts._encode_into

    def into(self, batch, out):
        sizes.append(len(batch))
        whole(self, batch, out)

    monkeypatch.setattr(Counts, "_encode_into", into)
    for source in (lambda: iter(texts), lambda: path):
        for encode in (encoder.encode, lambda *args: np.vstack(list(encoder.encode_iter(*args)))):
            sizes.clear()
            rows = encode(source())
            assert max(sizes) <= 2
            assert sum(sizes) == 9
            sizes.clear()
            np.testing.assert_array_equal(encode(source(), 8), rows)
            assert sizes == [8, 1]
        sizes.clear()
        encoder.semantic_search("a", source())
        assert max(sizes) <= 2
        sizes.clear()
        encoder.semantic_search("a", source(), batch_size=9)
        assert max(sizes) == 9
    sizes.clear()
    encoder.encode(texts)  # they are in memory already
    assert sizes == [9]


@pytest.mark.parametrize("source", ["stream()", "pathlib.Path(name)"])
def test_memory_does_not_grow_with_long_documents(source, tmp_path):
    script = f"""
import pathlib, numpy as np, sentencode as se

def peak():  # in MiB
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) / 2**10

def stream(count=48):
    for i in range(count):
        yield "cat dog " * (1 << 19) + str(i)  # 4 MiB

se.set_num_threads(1)
name = {str(tmp_path / "lines.txt")!r}
with open(name, "w") as file:
    for text in stream():
        print(text, file=file)
average = se.Average(se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32)))
average.encode(stream(4))
before = peak()
rows = average.encode({source})
assert rows.shape == (48, 2), rows.shape
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 100  # of 192 MiB of text


def test_bars_have_units(encoder, tmp_path, capsys):
    (tmp_path / "many.txt").write_text("cat\n" * 70_000)
    encoder.encode(["cat"] * 70_000, show_progress_bar=True)
    assert re.search(r"encode: 100%.* 70\.0k/70\.0k \[.* sentences/s\]", capsys.readouterr().err)
    encoder.encode(tmp_path / "many.txt", show_progress_bar=True)
    assert re.search(r"encode: 100%.* 280k/280k \[.*B/s, .* sentences/s\]", capsys.readouterr().err)
    encoder.encode(iter(["cat"] * 9), show_progress_bar=True)
    assert re.search(r"encode: 9\.00 sentences \[.* sentences/s\]", capsys.readouterr().err)
    encoder.fit(tmp_path / "many.txt", show_progress_bar=True)
    assert re.search(r"fit: 100%.* 280k/280k \[.*B/s\]", capsys.readouterr().err)
    assert main(["encode", str(tmp_path / "many.txt"), str(tmp_path / "rows.npy"), "--kind", "average"]) == 0
    error = capsys.readouterr().err
    assert re.search(r"many\.txt: 100%.* 280k/280k \[.*B/s, .* sentences/s\]", error)
    assert "it/s" not in error


def test_progress_bar(encoder, capsys, caplog):
    encoder.encode(TEXTS)
    assert capsys.readouterr().err == ""
    encoder.encode(TEXTS, 1, show_progress_bar=True)
    assert "encode: 100%" in capsys.readouterr().err
    with caplog.at_level(logging.INFO, "sentencode"):
        encoder.fit(iter(TEXTS))
        assert "fit: 4" in capsys.readouterr().err
        encoder.encode(TEXTS, show_progress_bar=False)
        assert capsys.readouterr().err == ""


def test_before_fit():
    encoder = Counts()
    for call in (encoder.encode, encoder.transform, lambda s: next(encoder.encode_iter(s))):
        with pytest.raises(se.NotFittedError, match="this Counts has not been fitted: call fit"):
            call(TEXTS)


def test_fit_discards_and_partial_fit_continues(tmp_path):
    encoder = Counts()
    assert encoder.fit(TEXTS) is encoder
    assert encoder.partial_fit(iter(TEXTS), None).seen_ == 8
    assert encoder.fit(str(text_file(tmp_path / "lines.txt"))).seen_ == 3
    with pytest.raises(ValueError, match="weight must be at least 0, got -1"):
        encoder.set_params(weight=-1).fit(TEXTS)


def test_a_fit_that_fails_changes_nothing(encoder):
    def interrupted():
        yield "a"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encoder.fit(interrupted())
    assert encoder.seen_ == 1
    new = Counts()
    with pytest.raises(TypeError, match="sentences is int"):
        new.fit(3)
    assert not new.fitted


def test_an_array_without_dimensions_is_refused(encoder):
    for wrong in (np.array("a b"), np.array(1.0), np.array(None)):
        with pytest.raises(TypeError, match="sentences is an array without dimensions"):
            encoder.encode(wrong)


def test_similarity_takes_sentences_and_rows(encoder):
    both = encoder.similarity(["a b", "c"], ["a", "x"])
    np.testing.assert_allclose(both, [[0.5**0.5, 0], [0, 0]], atol=1e-6)
    np.testing.assert_array_equal(encoder.similarity(encoder.encode(["a b", "c"]), ["a", "x"]), both)
    assert encoder.similarity("a", "a b").shape == (1, 1)
    np.testing.assert_allclose(encoder.similarity_pairwise(["a b", "c"], ["a", "c c"]), [0.5**0.5, 1])
    np.testing.assert_array_equal(encoder.similarity(["a b"], ["c a a"], "dot"), [[2]])


def test_semantic_search_takes_sentences_and_rows(encoder):
    corpus = ["a", "b b", "c", "a b", "d"]
    hits = encoder.semantic_search(["a", "c d"], corpus, top_k=2)
    np.testing.assert_array_equal(hits.indices, [[0, 3], [2, 4]])
    for other in (iter(corpus), encoder.encode(corpus), encoder.encode(corpus, precision="float16")):
        np.testing.assert_array_equal(encoder.semantic_search(["a", "c d"], other, 2).indices, hits.indices)
    indices, scores = encoder.semantic_search("a", corpus, 2, batch_size=1)
    assert indices.tolist() == [0, 3]
    np.testing.assert_allclose(scores, [1, 0.5**0.5], atol=1e-6)
    assert hits.to_dicts()[1][0] == {"corpus_id": 2, "score": pytest.approx(0.5**0.5)}


def test_method_names_of_other_libraries(encoder):
    assert encoder.get_embedding_dimension() == encoder.get_sentence_embedding_dimension() == 4
    np.testing.assert_array_equal(encoder.encode_query(TEXTS, 2), ROWS)
    np.testing.assert_array_equal(encoder.encode_document(TEXTS, normalize_embeddings=False), ROWS)
    assert encoder.get_feature_names_out().tolist() == ["counts0", "counts1", "counts2", "counts3"]
    np.testing.assert_array_equal(encoder.fit_transform(iter(TEXTS), y=[0, 1, 0, 1]), ROWS)
    with pytest.raises(ValueError, match="expected several sentences, got one str"):
        encoder.transform("a b")


def test_set_output(encoder):
    frame = encoder.set_output(transform="pandas").transform(pd.Series(TEXTS, index=list("wxyz")))
    assert frame.columns.tolist() == ["counts0", "counts1", "counts2", "counts3"]
    assert frame.index.tolist() == list("wxyz")
    np.testing.assert_array_equal(frame, ROWS)
    assert type(encoder.set_output().transform(TEXTS)) is pd.DataFrame
    assert type(encoder.set_output(transform="default").transform(TEXTS)) is np.ndarray
    with pytest.raises(ValueError, match="'default', 'pandas', 'polars' or None, got 'csv'"):
        encoder.set_output(transform="csv")


def test_parameters():
    encoder = Counts(weight=2.0, inner=Counts(weight=3.0))
    assert encoder.get_params(deep=False) == {"words": tuple(WORDS), "weight": 2.0, "inner": encoder.inner}
    assert encoder.get_params()["inner__weight"] == 3.0
    assert encoder.set_params(weight=4.0, inner__weight=5.0) is encoder
    assert (encoder.weight, encoder.inner.weight) == (4.0, 5.0)
    with pytest.raises(ValueError, match=r"Counts has no parameter 'wieght'; .*'weight'"):
        encoder.set_params(wieght=1, weight=9.0)
    assert encoder.weight == 4.0  # all or nothing
    encoder.set_params(inner__inner__weight=7.0, inner__weight=6.0, inner=Counts(inner=Counts()))
    assert (encoder.inner.weight, encoder.inner.inner.weight) == (6.0, 7.0)
    with pytest.raises(ValueError, match=r"Counts has no parameter 'weight__x': weight is 4.0 \(float\)"):
        encoder.set_params(weight__x=1)


def test_representations(encoder):
    assert repr(Counts()) == "Counts()"
    assert repr(Counts(weight=2.0, words=("a",))) == "Counts(words=('a',), weight=2.0)"
    html = Counts(words=("<b>",))._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>words</b>" in html
    assert "not" not in encoder._repr_html_()


SENTENCES = st.lists(st.lists(st.sampled_from([*WORDS, "é", "x"]), max_size=6), max_size=12)


@given(SENTENCES, st.integers(1, 13))
def test_embeddings_do_not_depend_on_the_batch(sentences, batch_size):
    encoder = Counts().fit([])
    rows = encoder.encode(sentences, batch_size)
    assert rows.shape == (len(sentences), 4)
    for row, sentence in zip(rows, sentences, strict=True):
        np.testing.assert_array_equal(row, encoder.encode([sentence])[0])
        np.testing.assert_array_equal(row, encoder.encode(" ".join(sentence)))


def test_pickle(encoder):
    # The default of Python and scikit-learn: all attributes.
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).encode(TEXTS), ROWS)


def test_a_path_in_a_list_is_no_sentence(encoder):
    with pytest.raises((TypeError, AttributeError)):
        encoder.encode([Path("x")])


def test_errors_count_from_the_first_sentence_given():
    average = se.Average(se.WordVectors.from_array(["cat"], np.ones((1, 2), dtype=np.float32)))
    wrong = ["cat"] * 5 + [None]
    for call in (
        lambda: average.encode(wrong, batch_size=2),
        lambda: average.encode(iter(wrong), batch_size=2),
        lambda: list(average.encode_iter(iter(wrong), chunk_size=2)),
    ):
        with pytest.raises(TypeError, match=r"sentences\[5\] is NoneType"):
            call()
    with pytest.raises(TypeError, match=r"sentences\[70000\] is NoneType"):
        se.SIF(average.vectors).fit(["cat"] * 70_000 + [None])


# --- rows of nothing


def test_a_path_has_a_row_for_each_line(encoder, tmp_path):
    path = tmp_path / "text"
    path.write_text("a b\n\n \nc\n\n")
    expected = [[1, 1, 0, 0], [0] * 4, [0] * 4, [0, 0, 1, 0], [0] * 4]
    assert encoder.encode(path).tolist() == expected
    assert np.concatenate(list(encoder.encode_iter(path, chunk_size=2))).tolist() == expected
    assert encoder.transform(path).tolist() == expected
    assert encoder.semantic_search("c", path, top_k=1)[0].tolist() == [3]
    assert encoder.encode(se.Corpus(path)).tolist() == [expected[0], expected[3]]
    assert encoder.fit(path).seen_ == 2


COLUMNS = {
    "list": lambda items: items,
    "tuple": tuple,
    "generator": lambda items: (item for item in items),
    "array": lambda items: np.array(items, dtype=object),
    "pandas": lambda items: pd.Series(items, dtype=object),
    "strings": lambda items: pd.Series(items, dtype="string"),
    "categories": lambda items: pd.Series(items, dtype="category"),
    "arrow": lambda items: pa.array(items, type=pa.string()),
    "chunks": lambda items: pa.chunked_array([items[:1], items[1:]], type=pa.string()),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("texts", [[None, "a b", None, "c"], ["a", None], [None, None]])
def test_none_in_columns(encoder, kind, texts):
    full = encoder.encode(["" if text is None else text for text in texts])
    assert encoder.encode(COLUMNS[kind](texts), missing="zero").tolist() == full.tolist()
    full[[text is None for text in texts]] = np.nan
    np.testing.assert_array_equal(encoder.encode(COLUMNS[kind](texts), missing="nan"), full)
    with pytest.raises(TypeError, match=r"sentences\[\d\] is "):
        se.Average(se.WordVectors.from_dict({"a": [1]})).encode(COLUMNS[kind](texts))


def test_none_among_tokens_and_bytes(encoder):
    assert encoder.encode([["a"], None], missing="zero").tolist() == [[1, 0, 0, 0], [0] * 4]
    assert encoder.encode([None, np.array(["a"])], missing="zero").tolist() == [[0] * 4, [1, 0, 0, 0]]
    assert encoder.encode([None, b"a"], missing="zero").tolist() == [[0] * 4, [1, 0, 0, 0]]
    assert se.Average(se.WordVectors.from_dict({"a": [1]})).encode(
        [None, ("a",)], missing="zero"
    ).tolist() == [[0], [1]]
    with pytest.raises(ValueError, match="missing must be 'error', 'zero' or 'nan', got 'null'"):
        encoder.encode(["a"], missing="null")
    out = np.ones((2, 4), np.float32)
    assert encoder.encode([None, "a"], missing="nan", out=out) is out
    assert np.isnan(out[0]).all()


def test_many_zero_rows_warn_once():
    encoder = Counts().fit(["a"])
    texts = ["a b"] * 60 + ["ничего не известно"] * 40
    with pytest.warns(
        se.ZeroRowsWarning, match=r"Counts.encode: 40 of 100 rows \(40%\) are zero.*another language"
    ) as caught:
        [encoder.encode(texts) for _ in range(3)]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(se.ZeroRowsWarning):  # another encoder
        Counts().fit(["a"]).encode(texts)


@pytest.mark.filterwarnings("error::sentencode.errors.ZeroRowsWarning")
@pytest.mark.parametrize(
    "texts",
    [["a"] * 90 + ["x"] * 10, ["x"] * 19, [""] * 50 + ["a"], [" \t"] * 50, [[]] * 50, [b""] * 50, []],
    ids=["few", "not many", "blank", "white", "no tokens", "no bytes", "nothing"],
)
def test_few_zero_embeddings_or_empty_sentences_do_not_warn(texts):
    Counts().fit(["a"]).encode(texts)


def test_lines_without_known_words_warn(tmp_path):
    path = tmp_path / "text"
    path.write_text("x\n" * 30 + "\n" * 30)
    with pytest.warns(se.ZeroRowsWarning, match="30 of 60 rows"):
        se.Average(se.WordVectors.from_dict({"a": [1]})).encode(path)


def test_embeddings_in_data_frames(encoder):
    frame = encoder.set_output(transform="pandas").transform(TEXTS)
    column = pd.Series(list(ROWS), index=[9, 8, 7, 6])
    for rows in (frame, column, column.map(list), column.to_numpy()):
        np.testing.assert_array_equal(encoder.similarity("a", rows), encoder.similarity("a", ROWS))
        np.testing.assert_array_equal(se.similarity(rows, rows), se.similarity(ROWS, ROWS))
        hits = encoder.semantic_search(rows, rows, top_k=1)
        np.testing.assert_array_equal(hits.indices, encoder.semantic_search(ROWS, ROWS, top_k=1).indices)
    for texts in (pd.DataFrame({"text": TEXTS}), pd.Series([text.split() for text in TEXTS])):
        np.testing.assert_array_equal(encoder.similarity("a", texts), encoder.similarity("a", TEXTS))
    with pytest.raises(ValueError, match="b must hold embeddings of one length"):
        encoder.similarity("a", pd.Series([np.ones(4), np.ones(3)]))
    with pytest.raises(TypeError, match=r"b is a DataFrame; pass one of its columns: \['x', 'text'\]"):
        encoder.similarity("a", pd.DataFrame({"x": [1.0], "text": ["a"]}))


def test_semantic_search_takes_streams_of_embeddings(encoder):
    expected = encoder.semantic_search("a b", TEXTS, top_k=4)
    for stream in (encoder.encode_iter(TEXTS, 3), (row[None] for row in ROWS), iter(TEXTS)):
        np.testing.assert_array_equal(
            encoder.semantic_search("a b", stream, top_k=4).indices, expected.indices
        )
    assert encoder.semantic_search("a", iter([])).indices.shape == (0,)
    with pytest.raises(TypeError, match=r"corpus\[0\] is float \(nan\)"):
        Words().semantic_search("a", iter([float("nan"), "a"]))


class Words(Counts):
    """Refuses what is no sentence, as the core does."""

    fitted = True

    def _encode_into(self, batch, out):
        super()._encode_into(se.Tokenizer("whitespace")(batch), out)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.semantic_search(TEXTS, "a b"), "semantic_search: corpus is one str; expected several"),
        (lambda e: e.semantic_search(TEXTS, None), "corpus is NoneType"),
        (lambda e: e.semantic_search(None, TEXTS), "queries is NoneType"),
        (lambda e: e.semantic_search("a", ["a", 5]), r"corpus\[1\] is int \(5\)"),
        (lambda e: e.semantic_search("a", TEXTS, batch_size=0), "batch_size must be at least 1, got 0"),
        (lambda e: e.calibrate("a"), "calibrate: sentences is one str; expected several"),
        (lambda e: e.similarity(None, TEXTS), "^a is NoneType"),
        (lambda e: e.similarity(TEXTS, ["a", 5]), r"^b\[1\] is int"),
        (lambda e: e.similarity_pairwise(ROWS, None), "^b is NoneType"),
        (lambda e: e.encode_iter("a"), "encode_iter: sentences is one str; expected several"),
        (lambda e: e.encode_iter(TEXTS, chunk_size=0), "encode_iter: chunk_size must be at least 1, got 0"),
        (lambda e: e.encode_iter(TEXTS, chunksize=10), "no keyword 'chunksize'"),
        (lambda e: e.encode_iter(TEXTS, precision="int9"), "int9"),
    ],
)  # fmt: skip
def test_errors_name_the_function_and_the_argument(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(Words())


@pytest.mark.parametrize("device", ["gpu", "no device"])
def test_tensors_on_a_device_that_does_not_exist(encoder, device):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=f"device='{device}' cannot be used: "):
        encoder.encode(TEXTS, convert_to_tensor=True, device=device)
