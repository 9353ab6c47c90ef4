from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sentencode as se
from sentencode.vectors import resolve_frequencies

WORDS = ["the", "The", "cat", "zebra", "never"]
COUNTS = {"the": 50, "The": 10, "cat": 30, "zebra": 5, "other": 5}


def table(words=WORDS, counts=None, oov="skip"):
    return se.WordVectors.from_array(words, np.ones((len(words), 2)), counts, oov=oov)


LOWER = ["the", "cat", "zebra", "never"]


def test_cased_vectors_have_counts_of_each_case():
    assert table().cased
    probabilities = se.Frequencies.from_counts(COUNTS).probabilities(table())
    assert probabilities.tolist() == [0.5, 0.1, 0.3, 0.05, 0.0]
    # Lower-case counts apply to other forms of the word too.
    assert se.Frequencies.from_counts({"the": 1, "cat": 1}).probabilities(table())[1] == 0.5


def test_lower_cased_vectors_sum_over_cases():
    frequencies = se.Frequencies.from_counts(COUNTS)
    assert np.allclose(frequencies.probabilities(table(LOWER)), [0.6, 0.3, 0.05, 0.0])
    assert np.allclose(np.sort(frequencies.of(table(LOWER)).counted), [0.05, 0.05, 0.3, 0.6])


def test_all_forms_give_the_same_frequencies(tmp_path):
    path = tmp_path / "counts.txt"
    path.write_text("".join(f"{word} {count}\n" for word, count in COUNTS.items()))
    vectors = table()
    expected = resolve_frequencies(COUNTS, vectors).probability
    for form in (
        path,
        str(path),
        se.Vocabulary(COUNTS),
        pd.Series(COUNTS),
        se.Frequencies.from_counts(COUNTS),
        se.Frequencies.from_counts(pd.Series(COUNTS)),
        se.Frequencies.from_counts(se.Vocabulary(COUNTS)),
        se.Frequencies.read(path),
        se.Frequencies.from_corpus(
            [" ".join([w] * n) for w, n in COUNTS.items()], se.Tokenizer("whitespace")
        ),
    ):
        assert np.array_equal(resolve_frequencies(form, vectors).probability, expected)
    for wrong in (3, ["the"], 0.5):
        with pytest.raises(TypeError, match="frequencies must be None, 'zipf'"):
            resolve_frequencies(wrong, vectors)
    with pytest.raises(
        TypeError, match=r"vocabulary must be a Vocabulary or None, got a dict; .*from_counts"
    ):
        se.Frequencies(COUNTS)
    with pytest.raises(FileNotFoundError):
        resolve_frequencies("absent.txt", vectors)
    with pytest.raises(ValueError, match="no word was counted"):
        resolve_frequencies({}, vectors)


def test_none_means_counts_or_ranks_of_the_vectors():
    frequencies = resolve_frequencies(None, table(counts=[6, 2, 1, 1, 0]))
    assert frequencies.probability.tolist() == [0.6, 0.2, 0.1, 0.1, 0.0]
    ranks = resolve_frequencies(None, table(oov="zero")).probability
    assert np.array_equal(ranks, resolve_frequencies("zipf", table(oov="zero")).probability)
    expected = 1 / (np.arange(1, 6) + 2.7)
    assert np.allclose(ranks, [*expected / expected.sum(), 0.0])


def test_sif_weights():
    frequencies = resolve_frequencies(COUNTS, table(oov="mean"))
    p = np.array([0.5, 0.1, 0.3, 0.05, 0.0, 0.0])
    assert np.allclose(frequencies.sif_weights(1e-3), 1e-3 / (1e-3 + p))
    assert frequencies.sif_weights(1e-3).dtype == np.float32
    with pytest.raises(ValueError, match="a must be a positive number, got 0"):
        frequencies.sif_weights(0.0)


def usif_reference(counts, words, length):
    """The published code's formula."""
    total = sum(counts.values())
    p = {word: count / total for word, count in counts.items()}
    size = len(p)
    threshold = 1 - (1 - 1 / size) ** length
    alpha = len([word for word in p if p[word] > threshold]) / size
    a = (1 - alpha) / (alpha * 0.5 * size)
    smallest = min(p.values())
    return [a / (0.5 * a + p.get(word, smallest)) for word in words]


def test_usif_weights():
    # Zipf's law over words of which the table holds a part.
    counts = {f"w{i}": 100_000 // (i + 1) for i in range(2000)}
    words = [f"w{i}" for i in range(0, 4000, 7)]
    weights = resolve_frequencies(counts, table(words)).usif_weights(11.0)
    assert np.allclose(weights, usif_reference(counts, words, 11.0), rtol=1e-5)
    # No word is frequent enough: the formula divides by zero.
    even = resolve_frequencies(dict.fromkeys(words, 1), table(words)).usif_weights(11.0)
    assert np.all(np.isfinite(even))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        resolve_frequencies(counts, table(words)).usif_weights(0.0)


def test_is_a_value():
    a, b = se.Frequencies.from_counts(COUNTS), se.Frequencies.from_counts(COUNTS)
    assert a == b
    assert hash(a) == hash(b)
    assert a != se.Frequencies.zipf() == se.Frequencies.zipf()
    assert pickle.loads(pickle.dumps(a)) == a
    assert repr(a) == "Frequencies(5 words, 100 tokens)"
    assert repr(se.Frequencies.zipf()) == "Frequencies.zipf()"
    assert a.vocabulary["cat"] == 30


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="needs the real data")
def test_real_counts_of_wikipedia():
    data = Path(os.environ["SENTENCODE_DATA"])
    vectors = se.WordVectors.load(data / "vectors" / "glove.6B.50d.top9163.txt.gz")
    frequencies = se.Frequencies.read(data / "frequencies" / "enwiki_vocab_min200.txt.gz")
    assert len(frequencies.vocabulary) == 188_033
    p = frequencies.probabilities(vectors)
    assert vectors.words[int(p.argmax())] == "the"
    assert (p > 0).mean() > 0.9
    weights = frequencies.of(vectors).sif_weights(1e-3)
    assert weights[vectors.words.index("the")] < 0.03 < 0.9 < weights[vectors.words.index("senators")]
