from __future__ import annotations

import numpy as np
import pytest

import sentencode as se

WORDS = {"a": 0, "the": 1, "cat": 2, "dog": 3, "sat": 4, ".": 5}


class Counts:
    """An encoder small enough to check by hand: how often each word occurs."""

    dim = len(WORDS)

    def __init__(self, scale=1.0):
        self.scale = scale
        self.encoded = []
        self.fitted_on = None

    def get_params(self, deep=True):
        return {"scale": self.scale}

    def fit(self, sentences):
        self.fitted_on = list(sentences)
        return self

    def encode(self, sentences):
        self.encoded.extend(tuple(s) for s in sentences)
        rows = np.zeros((len(sentences), self.dim))  # float64, as a careless encoder gives
        for row, sentence in zip(rows, sentences, strict=True):
            for word in sentence:
                assert type(word) is str
                row[WORDS[word]] += self.scale
        return rows


def counts(*sentences):
    return Counts().encode([s.split() for s in sentences])


def assert_rows(got, expected):
    assert got.dtype == np.float32
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, expected)


def ragged(sentences):
    array = np.empty(len(sentences), dtype=object)
    array[:] = sentences
    return array


@pytest.mark.parametrize(
    "batch",
    [
        [["a", "cat"], [], ["the", "the"]],
        [("a", "cat"), (), ("the", "the")],
        [[b"a", b"cat"], [], [b"the", b"the"]],
        [["a", b"cat"], [], np.array(["the", "the"])],
        ragged([["a", "cat"], [], ["the", "the"]]),
    ],
    ids=["lists", "tuples", "bytes", "mixed", "array"],
)
def test_batches_of_every_kind(batch):
    _, batcher = se.senteval.plugin(Counts())
    assert_rows(batcher({}, batch), counts("a cat", "", "the the"))


def test_a_table_of_words_is_a_batch():
    # What NumPy makes of sentences that happen to be equally long.
    _, batcher = se.senteval.plugin(Counts())
    assert_rows(batcher({}, np.array([["a", "cat"], ["the", "dog"]])), counts("a cat", "the dog"))


def test_further_arguments_are_accepted():
    prepare, batcher = se.senteval.plugin(Counts())
    assert prepare({}, [["a"]], "key", split="train") is None
    assert_rows(batcher({}, [["a"]], "key", split="train"), counts("a"))


def test_an_empty_batch_has_no_rows():
    _, batcher = se.senteval.plugin(Counts())
    assert_rows(batcher({}, []), np.zeros((0, len(WORDS))))


def test_empty_sentences_may_have_a_token():
    _, batcher = se.senteval.plugin(Counts(), empty=".")
    assert_rows(batcher({}, [[], ["a"]]), counts(".", "a"))


def test_every_sentence_is_encoded_once():
    encoder = Counts()
    _, batcher = se.senteval.plugin(encoder)
    batcher({}, [["a"], ["a"], ["cat"]])
    assert_rows(batcher({}, [["dog"], ["a"], [b"cat"]]), counts("dog", "a", "cat"))
    assert encoder.encoded == [("a",), ("cat",), ("dog",)]


def test_rows_handed_out_can_be_written_to():
    _, batcher = se.senteval.plugin(Counts())
    batcher({}, [["a"]])[:] = 7
    assert_rows(batcher({}, [["a"]]), counts("a"))


def test_the_cache_evicts_the_least_recently_used():
    encoder = Counts()
    row = 4 * encoder.dim
    _, batcher = se.senteval.plugin(encoder, cache_mb=2 * row / 2**20)
    for sentence in ("a", "the", "a", "cat", "a", "the"):  # "the" is forgotten when "cat" comes
        assert_rows(batcher({}, [[sentence]]), counts(sentence))
    assert encoder.encoded == [("a",), ("the",), ("cat",), ("the",)]


def test_without_cache_a_batch_still_encodes_once():
    encoder = Counts()
    _, batcher = se.senteval.plugin(encoder, cache_mb=0)
    assert_rows(batcher({}, [["a"], ["a"]]), counts("a", "a"))
    batcher({}, [["a"]])
    assert encoder.encoded == [("a",), ("a",)]


def test_encoders_are_not_fitted_by_default():
    encoder = Counts()
    prepare, _ = se.senteval.plugin(encoder)
    prepare({}, [["a"]])
    assert encoder.fitted_on is None


def test_fit_on_task_fits_a_copy(monkeypatch):
    fits = []
    monkeypatch.setattr(Counts, "fit", lambda self, sentences: fits.append((self, sentences)) or self)
    encoder = Counts(scale=2.0)
    prepare, batcher = se.senteval.plugin(encoder, fit_on_task=True)
    prepare({}, [["a"], [b"the"], []])
    batcher({}, [["a"]])
    prepare({}, [["dog"]])
    assert_rows(batcher({}, [["a"]]), 2 * counts("a"))
    assert [sentences for _, sentences in fits] == [[["a"], ["the"], []], [["dog"]]]
    first, second = (copy for copy, _ in fits)
    assert encoder not in (first, second)
    # A new task has new statistics: rows of the last one must not come back.
    assert first.encoded == second.encoded == [("a",)]


def test_an_unfitted_encoder_is_refused():
    encoder = Counts()
    encoder.fitted = False
    with pytest.raises(se.NotFittedError, match=r"this Counts has not been fitted.*fit_on_task=True"):
        se.senteval.plugin(encoder)
    se.senteval.plugin(encoder, fit_on_task=True)


def test_wrong_encoders_are_refused():
    with pytest.raises(TypeError, match="expected an encoder, but this int has no encode and no dim"):
        se.senteval.plugin(3)
    with pytest.raises(TypeError, match="this object has no encode and no fit"):
        se.senteval.plugin(object(), fit_on_task=True)


def test_an_encoder_that_learns_from_what_it_encodes_is_refused():
    encoder = Counts()
    encoder.statistics = "evaluated"
    with pytest.raises(ValueError, match="fit_on_task=True"):
        se.senteval.plugin(encoder)


def test_negative_cache():
    with pytest.raises(ValueError, match="cache_mb must be at least 0, got -1"):
        se.senteval.plugin(Counts(), cache_mb=-1)


def test_fitting_an_encoder_again_clears_the_cache():
    vectors = se.WordVectors.from_array(list(WORDS), np.eye(len(WORDS), dtype=np.float32))
    sif = se.SIF(vectors, a=None).fit(["a cat", "the dog", "the cat sat"])
    prepare, batcher = se.senteval.plugin(sif)
    batch = [["the", "cat"], ["a", "dog"]]
    before = batcher({}, batch)
    sif.fit(["the the the a", "the a"])
    np.testing.assert_array_equal(batcher({}, batch), sif.encode(batch))
    assert np.abs(before - batcher({}, batch)).max() > 0.01
    prepare({}, batch)
    np.testing.assert_array_equal(batcher({}, batch), sif.encode(batch))
