from __future__ import annotations

import lzma
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sentencode as se

pieces = st.sampled_from([*"abIé。.!?\"'()[] \n,1…”", " The", " U.S.", "Mr. ", "\n\n", "\u00a0"])


@given(st.one_of(st.text(), st.lists(pieces, max_size=40).map("".join)))
def test_only_white_space_is_dropped(text):
    sentences = se.split_sentences(text)
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)
    assert "".join("".join(sentences).split()) == "".join(text.split())


def test_lone_surrogates_do_no_harm():
    assert se.split_sentences("A. \ud800 B.") == ["A. \ufffd\ufffd\ufffd B."]


@pytest.mark.parametrize("wrong", [b"bytes", ["list"], None])
def test_wrong_types_are_refused(wrong):
    with pytest.raises(TypeError):
        se.split_sentences(wrong)


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="needs the real data")
def test_joined_sentences_are_split_again():
    """Sentences of books, joined to paragraphs of ten, are split again."""
    path = Path(os.environ["SENTENCODE_DATA"], "text", "books.valid.txt.xz")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        sentences = [line.strip() for line in file if line.strip()][:10000]
    count = hits = 0
    for i in range(0, len(sentences), 10):
        expected = sentences[i : i + 10]
        split = se.split_sentences(" ".join(expected))
        count += len(split)
        hits += len(set(split) & set(expected))
    precision, recall = hits / count, hits / len(sentences)
    assert precision > 0.85, (precision, recall)
    assert recall > 0.85, (precision, recall)


def test_bytes_are_refused():
    with pytest.raises(TypeError, match=r"text must be a str, got b'One\. Two\.' \(bytes\)"):
        se.split_sentences(b"One. Two.")
