from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentencode as se
from sentencode.text.inputs import batches, counted_from, gathered, is_single, to_batch

TEXTS = ["A man plays .", "", "Zwölf Boxkämpfer", "日本 語 \U0001f600"]
TOKENS = [text.split() for text in TEXTS]


@pytest.fixture
def tokenizer():
    return se.Tokenizer("whitespace")


def forms_of_text():
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    return {
        "list": TEXTS,
        "tuple": tuple(TEXTS),
        "generator": (text for text in TEXTS),
        "bytes": [text.encode() for text in TEXTS],
        "numpy U": np.array(TEXTS),
        "numpy S": np.array([text.encode() for text in TEXTS]),
        "numpy object": np.array(TEXTS, dtype=object),
        "list of numpy str": list(np.array(TEXTS)),
        "pandas Series": pd.Series(TEXTS),
        "pandas Series, other index": pd.Series(TEXTS, index=[7, 5, 3, 1]),
        "pandas string": pd.Series(TEXTS, dtype="string"),
        "pandas object": pd.Series(TEXTS, dtype=object),
        "pandas category": pd.Series(TEXTS, dtype="category"),
        "pandas Index": pd.Index(TEXTS),
        "pyarrow Array": pa.array(TEXTS),
        "pyarrow large": pa.array(TEXTS, pa.large_string()),
        "pyarrow view": pa.array(TEXTS, pa.string_view()),
        "pyarrow binary": pa.array([text.encode() for text in TEXTS]),
        "pyarrow dictionary": pa.array(TEXTS).dictionary_encode(),
        "pyarrow ChunkedArray": pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
        "pyarrow column": pa.table({"text": TEXTS})["text"],
        "Corpus": se.Corpus(TEXTS, keep_empty=True),
    }


def forms_of_tokens():
    pa = pytest.importorskip("pyarrow")
    return {
        "lists": TOKENS,
        "tuples": [tuple(tokens) for tokens in TOKENS],
        "bytes": [[token.encode() for token in tokens] for tokens in TOKENS],
        "arrays in a list": [np.array(tokens, dtype=str) for tokens in TOKENS],
        "arrays in an array": np.array([np.array(tokens, dtype=object) for tokens in TOKENS], dtype=object),
        "pyarrow lists": pa.array(TOKENS),
        "pyarrow chunked lists": pa.chunked_array([TOKENS[:2], TOKENS[2:]]),
        "generator": (tokens for tokens in TOKENS),
    }


@pytest.mark.parametrize("form", forms_of_text())
def test_every_form_of_text(tokenizer, form):
    assert tokenizer(forms_of_text()[form]) == TOKENS


@pytest.mark.parametrize("form", forms_of_tokens())
def test_every_form_of_tokens(tokenizer, form):
    assert tokenizer(forms_of_tokens()[form]) == TOKENS


def test_square_arrays_are_token_lists(tokenizer):
    assert tokenizer(np.array([["a", "b"], ["c", "d"]])) == [["a", "b"], ["c", "d"]]


def test_empty_batches(tokenizer):
    for empty in ([], (), np.array([], dtype=str), iter([])):
        assert tokenizer(empty) == []
    assert tokenizer([[], ["a"], []]) == [[], ["a"], []]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["a", "b", "c", float("nan")], r"sentences\[3\] is float \(nan\); expected str"),
        (["a", None], r"sentences\[1\] is NoneType \(None\); expected str"),
        ([None], r"sentences\[0\] is NoneType \(None\); expected str"),
        ([b"a", "b"], r"sentences\[1\] is str \('b'\); expected bytes"),
        (["a", b"b"], r"sentences\[1\] is bytes \(b'b'\); expected str"),
        (["a", ["b"]], r"sentences\[1\] is list \(\['b'\]\); expected str"),
        ([["a"], "b"], r"sentences\[1\] is str \('b'\); expected a list of tokens"),
        ([["a"], ["b", 3]], r"sentences\[1\]\[1\] is int \(3\); expected str"),
        ([["a"], [b"b"]], r"sentences\[1\]\[0\] is bytes \(b'b'\); expected str"),
        (["a", "x" * 999, 10**60], r"sentences\[2\] is int \(10{39}\.\.\.\)"),
        (np.array([1.5, 2.5]), r"sentences\[0\] is float \(1.5\); expected str"),
        (np.array("a"), "array without dimensions"),
        (3, "sentences is int; expected a list"),
        (None, "sentences is NoneType; expected a list"),
        ({"a": 1}, "sentences is a dict, which has no order"),
        ({"a"}, "sentences is a set, which has no order"),
    ],
)
def test_wrong_types_are_named(tokenizer, sentences, message):
    with pytest.raises(TypeError, match=message):
        tokenizer(sentences)


def test_surrogate_in_a_misfit_does_not_hide_it(tokenizer):
    with pytest.raises(TypeError, match=r"sentences\[1\] is list \(\['.ud800'\]\)"):
        tokenizer(["a", ["\ud800"]])


TABLES = {
    "pandas": lambda columns: pytest.importorskip("pandas").DataFrame(columns),
    "pyarrow": lambda columns: pytest.importorskip("pyarrow").table(columns),
    "record batch": lambda columns: pytest.importorskip("pyarrow").RecordBatch.from_pydict(columns),
    "polars": lambda columns: pytest.importorskip("polars").DataFrame(columns),
    "datasets": lambda columns: pytest.importorskip("datasets").Dataset.from_dict(columns),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_table_of_one_column_is_that_column(tokenizer, make):
    table = make({"text": TEXTS})
    assert tokenizer(table) == tokenizer(TEXTS)
    assert list(se.Corpus(table, keep_empty=True)) == TEXTS
    assert se.Vocabulary.from_corpus(table, tokenizer) == se.Vocabulary.from_corpus(TEXTS, tokenizer)
    with pytest.raises(TypeError, match=r"pass one of its columns: \['text', 'label'\]"):
        tokenizer(make({"text": TEXTS, "label": TEXTS}))
    with pytest.raises(TypeError, match=r"pass one of its columns: \[\]"):
        tokenizer(make({}))


def test_missing_values_of_columns_are_named(tokenizer):
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    for column in (pd.Series(["a", None]), pd.Series(["a", pd.NA], dtype="string"), pa.array(["a", None])):
        with pytest.raises(TypeError, match=r"sentences\[1\] is (float|NoneType|NAType) .*; expected str"):
            tokenizer(column)


def test_one_string_is_not_several():
    assert is_single("a")
    assert is_single(b"a")
    assert is_single(np.array(["a"])[0])
    assert not is_single(["a"])
    with pytest.raises(TypeError, match=r"texts is one str; expected several, as in \[texts\]"):
        to_batch("abc", "texts")


def test_core_refuses_one_string_too():
    with pytest.raises(
        TypeError, match=r"sentences is str \('abc'\); expected a list of str, bytes or token"
    ):
        se.Tokenizer("whitespace").core()("abc")


def test_str_subclasses_and_every_width_of_str(tokenizer):
    class Marked(str):
        __slots__ = ()

    texts = [Marked("a b"), "ÿ", "Ā", "\U0001f600", "a\0b"]
    assert tokenizer(texts) == [["a", "b"], ["ÿ"], ["Ā"], ["\U0001f600"], ["a\0b"]]


def test_lone_surrogates_are_repaired_or_refused():
    assert se.Tokenizer("whitespace")(["a\ud800 b"]) == [["a\ufffd\ufffd\ufffd", "b"]]
    with pytest.raises(ValueError, match=r"sentences\[1\]: byte 1 is not UTF-8: 0xed"):
        se.Tokenizer("whitespace", invalid="refuse")(["a", "b\udfff"])


def test_a_list_may_change_while_the_core_works(tokenizer):
    before = [f"word{i} " * 20 for i in range(20000)]
    shared = before.copy()
    stop = threading.Event()

    def change():
        while not stop.is_set():
            shared[:] = [f"other{i}" for i in range(20000)]

    worker = threading.Thread(target=change)
    worker.start()
    try:
        results = [tokenizer(shared) for _ in range(5)]
    finally:
        stop.set()
        worker.join()
    for result in results:
        assert all(tokens in (before[i].split(), [f"other{i}"]) for i, tokens in enumerate(result))


@given(st.lists(st.text(), max_size=20))
def test_whitespace_is_str_split(texts):
    assert se.Tokenizer("whitespace")(texts) == [text.split() for text in texts]


@given(st.lists(st.binary(), max_size=20))
def test_bad_bytes_are_replaced_as_python_does(texts):
    expected = [text.decode("utf-8", "replace").split() for text in texts]
    assert se.Tokenizer("whitespace")(texts) == expected


@given(st.binary())
def test_bad_bytes_are_refused_where_python_does(text):
    strict = se.Tokenizer("whitespace", invalid="refuse")
    try:
        expected = text.decode().split()
    except UnicodeDecodeError as error:
        message = rf"sentences\[0\]: byte {error.start} is not UTF-8: 0x{text[error.start]:x}"
        with pytest.raises(ValueError, match=message):
            strict(text)
    else:
        assert strict(text) == expected


def test_batches_keep_order_and_size():
    texts = [f"s{i}" for i in range(10)]
    for source in (texts, tuple(texts), (text for text in texts), np.array(texts), se.Corpus(texts)):
        seen = list(batches(source, 4))
        assert [len(batch) for batch in seen] == [4, 4, 2]
        assert [text for batch in seen for text in batch] == texts
    assert list(batches([], 4)) == []
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        list(batches(texts, 0))


def test_batches_of_a_stream_hold_one_batch_only():
    consumed = []

    def stream():
        for i in range(100):
            consumed.append(i)
            yield f"s{i}"

    assert len(next(batches(stream(), 10))) == 10
    assert len(consumed) <= 11


@pytest.mark.parametrize("form", ["text", "bytes", "tokens", "corpus", "tuples"])
def test_batches_of_a_stream_end_where_their_text_is_enough(form):
    lengths = [1] * 200 + [1000] * 70 + [5000] * 13 + [10] * 500
    texts = ["x" * length for length in lengths]
    forms = {
        "text": iter(texts),
        "bytes": (text.encode() for text in texts),
        "tokens": ([text[:-1], text[-1]] for text in texts),
        "corpus": se.Corpus(iter(texts)),
        "tuples": iter(zip(texts, texts, strict=True)),
    }
    if form == "tuples":
        groups = list(gathered(forms[form], 300, 8000))
    else:
        groups = list(batches(forms[form], 300, text=4000))
    assert [len(text) for batch in to_text(groups) for text in batch] == lengths
    for batch in to_text(groups):
        assert len(batch) <= 300
    # They are looked at a few at a time: only where the long ones begin, more may be taken than is enough.
    assert sum(sum(map(len, batch)) > 4000 + 5000 for batch in to_text(groups)) <= 2
    assert sum(map(len, to_text(groups)[-1])) <= 300 * 10
    assert 10 < len(groups) < 40


def to_text(sentences):
    def text_of(item):
        if isinstance(item, tuple):
            return item[0]
        return item.decode() if isinstance(item, bytes) else "".join(item)

    return [[text_of(item) for item in batch] for batch in sentences]


def test_wrong_types_have_no_length():
    odd = [None, 1.5, "a", ["b", None], np.array(["c", "d"]), np.float32(1), []]
    assert [len(batch) for batch in gathered(odd, 100, 10)] == [7]
    assert [len(batch) for batch in gathered(iter(odd), 4, None)] == [4, 3]


@pytest.mark.parametrize("kind", [str, object, "S9"])
def test_a_column_is_no_list_of_tokens(kind):
    """An array of shape [n, 1], as scikit-learn has columns, was n sentences of one token each."""
    texts = ["the cat", "a dog"] if kind != "S9" else [b"the cat", b"a dog"]
    column = np.array(texts, kind).reshape(-1, 1)
    assert to_batch(column) == to_batch(texts)
    assert list(batches(column, 1)) == [(text,) for text in texts] or len(list(batches(column, 1))) == 2
    vectors = se.WordVectors.from_dict({"the": [1.0, 0], "cat": [0, 2.0], "dog": [3.0, 1]})
    encoder = se.Average(vectors)
    np.testing.assert_array_equal(encoder.encode(column), encoder.encode(texts))
    assert to_batch(np.array([["a", "b"], ["c", "d"]])) == [["a", "b"], ["c", "d"]]


def test_batches_report_progress():
    progress = []
    list(batches(["a"] * 5, 2, on_progress=lambda done, whole: progress.append((done, whole))))
    assert progress == [(2, 5), (4, 5), (5, 5)]
    progress.clear()
    list(batches(iter(["a"] * 3), 2, on_progress=lambda done, whole: progress.append((done, whole))))
    assert progress == [(2, 0), (3, 0)]


def test_errors_name_the_place_among_all_sentences(tokenizer):
    texts = ["the cat"] * 40000
    for wrong, message in (
        ([*texts, None], r"sentences\[40000\] is NoneType"),
        (([text] for text in [*texts, 3]), r"sentences\[40000\]\[0\] is int"),
        ((text for text in [*texts, b"x"]), r"sentences\[40000\] is bytes \(b'x'\); expected str"),
    ):
        with pytest.raises(TypeError, match=message):
            se.Vocabulary.from_corpus(wrong, tokenizer)
    for split in ("whitespace", str.split):
        strict = se.Tokenizer(split, invalid="refuse")
        wrong = [b"the cat"] * 40000 + [b"\xff"] if split == "whitespace" else [*texts, None]
        with pytest.raises((TypeError, ValueError), match=r"^sentences\[40000\]"):
            se.Vocabulary.from_corpus(wrong, strict)


def test_counting_on_leaves_other_errors_as_they_are():
    for error in (TypeError(), ValueError(3), TypeError("texts[1] is none"), KeyError("sentences[1]")):
        with pytest.raises(type(error)) as raised, counted_from(10):
            raise error
        assert raised.value is error
        assert "11" not in str(error)
    with pytest.raises(ValueError, match=r"^sentences\[13\]\[2\]: bad$"), counted_from(10), counted_from(2):
        raise ValueError("sentences[1][2]: bad")
