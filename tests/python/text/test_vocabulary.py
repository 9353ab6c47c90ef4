from __future__ import annotations

import copy
import gzip
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentencode as se

WHITESPACE = se.Tokenizer("whitespace")


def order(counts):
    return sorted(counts.items(), key=lambda item: (-item[1], item[0].encode()))


@given(st.lists(st.text(alphabet="ab ä😀", max_size=12)))
def test_counts_as_a_counter_does(sentences):
    expected = Counter(word for sentence in sentences for word in sentence.split())
    vocabulary = se.Vocabulary.from_corpus(sentences, WHITESPACE)
    assert vocabulary.most_common() == order(expected)
    assert vocabulary.total == sum(expected.values())
    assert vocabulary == se.Vocabulary(expected)


def test_is_a_frozen_mapping():
    vocabulary = se.Vocabulary({"b": 1, "the": 9, "ä": 2, "a": 2})
    assert dict(vocabulary) == {"the": 9, "a": 2, "ä": 2, "b": 1}
    assert list(vocabulary) == vocabulary.words == ["the", "a", "ä", "b"]
    assert vocabulary.counts.tolist() == [9, 2, 2, 1]
    assert vocabulary["ä"] == 2
    assert vocabulary.id("ä") == 2
    assert vocabulary.get("x", 0) == 0
    assert "b" in vocabulary
    assert "c" not in vocabulary
    assert 3 not in vocabulary
    assert len(vocabulary) == 4
    assert vocabulary.most_common(2) == [("the", 9), ("a", 2)]
    assert repr(vocabulary) == "Vocabulary({'the': 9, 'a': 2, 'ä': 2, ...}, words=4, total=14)"
    for missing in (lambda: vocabulary["c"], lambda: vocabulary.id("c")):
        with pytest.raises(KeyError, match="c"):
            missing()
    with pytest.raises(AttributeError, match="cannot be changed"):
        vocabulary.core = None
    with pytest.raises(ValueError, match="read-only"):
        vocabulary.counts[0] = 1
    assert len({vocabulary, copy.deepcopy(vocabulary)}) == 1
    assert vocabulary != dict(vocabulary)


def test_counts_outlive_their_vocabulary():
    counts = se.Vocabulary({"a": 3}).counts
    assert counts.tolist() == [3]


def test_wrong_counts_are_named():
    with pytest.raises(ValueError, match=r"counts\['a'\] must be at least 0, got -1"):
        se.Vocabulary({"a": -1})
    with pytest.raises(TypeError, match=r"counts\['a'\] must be a whole number, got 1.5"):
        se.Vocabulary({"a": 1.5})
    with pytest.raises(TypeError, match=r"words\[1\] is int \(3\); expected str"):
        se.Vocabulary({"a": 1, 3: 1})


def test_survives_its_file(tmp_path):
    path = tmp_path / "words.txt"
    vocabulary = se.Vocabulary({"the": 9, "New York": 2, "ä": 1})
    vocabulary.write(path)
    assert path.read_text(encoding="utf-8") == "the 9\nNew York 2\nä 1\n"
    assert se.Vocabulary.read(path) == vocabulary
    packed = tmp_path / "words.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert dict(se.Vocabulary.read(packed, min_count=2, max_size=1)) == {"the": 9}
    path.write_text("the nine\n")
    with pytest.raises(se.FormatError, match=r"words\.txt:1: expected 'word count', got 'the nine'"):
        se.Vocabulary.read(path)
    with pytest.raises(FileNotFoundError, match="gone"):
        se.Vocabulary.read(tmp_path / "gone")


def test_corpora_of_every_form(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("B a\n\na c\n")
    expected = {"a": 2, "b": 1, "c": 1}
    lower = se.Tokenizer("whitespace", lowercase=True)
    progress = []
    for corpus in (path, se.Corpus(path), ["B a", "a c"], iter(["B a", "a c"]), [["B", "a"], ["a", "c"]]):
        vocabulary = se.Vocabulary.from_corpus(
            corpus, lower, on_progress=lambda done, _: progress.append(done)
        )
        assert dict(vocabulary) == expected
    assert progress == [9, 9, 2, 2, 2]
    assert dict(se.Vocabulary.from_corpus(["B a"], str.split)) == {"B": 1, "a": 1}


def test_words_that_are_no_utf8(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(b"caf\xe9 3\ncaf\xea 2\n")
    assert dict(se.Vocabulary.read(path)) == {"caf\ufffd": 5}


def test_bounds_are_whole_numbers():
    for name in ("min_count", "max_size"):
        with pytest.raises(TypeError, match=rf"{name} must be a whole number, got 1.5 \(float\)"):
            se.Vocabulary({"a": 1}, **{name: 1.5})
        with pytest.raises(TypeError, match=name):
            se.Vocabulary.from_corpus(["a"], **{name: "1"})
    assert len(se.Vocabulary({"a": 2, "b": 1}, min_count=np.int32(1), max_size=np.int64(1))) == 1
    with pytest.raises(KeyError):
        se.Vocabulary({"a": 1}).id(3)
    assert "\ud800" not in se.Vocabulary({"a": 1})
