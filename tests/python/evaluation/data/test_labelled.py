"""Files of labelled sentences and pairs."""

from __future__ import annotations

import gzip
import json
import lzma

import pytest

from sentencode.errors import FormatError
from sentencode.evaluation import read_labelled

SNLI = (
    "gold_label\tsentence1_binary_parse\tsentence1\tsentence2\tlabel1\n"
    "neutral\t( A dog )\tA dog.\tA cat.\tneutral\n"
    "-\t( A )\tA man.\tA woman.\tneutral\n"
    "entailment\t( B )\tA boy.\tA child.\tentailment\n"
)


def test_snli_text(tmp_path):
    path = tmp_path / "snli_1.0_dev.txt"
    path.write_text(SNLI)
    labelled = read_labelled(path)
    assert labelled == ([("A dog.", "A cat."), ("A boy.", "A child.")], ["neutral", "entailment"], 1)
    assert labelled.left_out == 1
    parse = read_labelled(path, columns=("gold_label", "sentence1_binary_parse"))
    assert parse.sentences == ["( A dog )", "( B )"]


def test_multinli_json(tmp_path):
    path = tmp_path / "multinli_1.0_dev_matched.jsonl"
    rows = [
        {"gold_label": "neutral", "sentence1": "A \t b", "sentence2": "C", "genre": "x"},
        {"gold_label": "-", "sentence1": "A", "sentence2": "C"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    assert read_labelled(path) == ([("A \t b", "C")], ["neutral"], 1)


def test_yelp_and_age(tmp_path):
    text = '5\tvery good\n1\tnever "again\n' + "3\t" + "long " * 5000 + "\n"
    path = tmp_path / "yelp.tsv"
    path.write_text(text)
    labelled = read_labelled(path)
    assert labelled.labels == ["5", "1", "3"]
    assert labelled.sentences[1] == 'never "again'
    assert len(labelled.sentences[2].split()) == 5000
    for name, pack in (("yelp.tsv.xz", lzma.compress), ("yelp.tsv.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(text.encode()))
        assert read_labelled(tmp_path / name) == labelled
    stars = tmp_path / "reviews.jsonl"
    stars.write_text('{"stars": 4, "text": "good"}\n')
    assert read_labelled(stars, columns=("stars", "text")) == (["good"], [4], 0)


def test_pairs_without_names(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("yes\ta b\tc\nno\td\te\n")
    assert read_labelled(path) == ([("a b", "c"), ("d", "e")], ["yes", "no"], 0)


def test_sentevals_files(tmp_path):
    for name, lines in (("s1", "a\nb"), ("s2", "c\nd"), ("labels", "neutral\nentailment")):
        (tmp_path / f"{name}.dev").write_text(lines + "\n")
    assert read_labelled(tmp_path, split="dev") == ([("a", "c"), ("b", "d")], ["neutral", "entailment"], 0)
    (tmp_path / "s2.dev").write_text("c\n")
    with pytest.raises(FormatError, match=r"s2\.dev has 1 lines, but .*labels\.dev has 2"):
        read_labelled(tmp_path, split="dev")
    with pytest.raises(ValueError, match="is a folder, which requires split"):
        read_labelled(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("a.tsv", "1\ta\n2\n", None, r"a\.tsv:2: expected 2 columns, got 1"),
        ("a.tsv", "1\ta\n2\tb\tc\n", None, r"a\.tsv:2: expected 2 columns, got 3"),
        ("a.tsv", "1\ta\n\tb\n", None, r"a\.tsv:2: column 1: the label is empty"),
        ("a.tsv", "a\n", None, r"a\.tsv:1: expected 2 or 3 columns"),
        (
            "a.tsv",
            "x\ty\n1\ta\n",
            ("z", "y"),
            r"a\.tsv:1: expected columns named z, y, got x, y: no z",
        ),
        ("a.txt", SNLI + "neutral\tx\n", None, r"a\.txt:5: expected 5 columns, got 2"),
        ("a.txt", "-\tx\n-\ty\n", None, "holds no example with a label"),
        (
            "a.jsonl",
            '{"gold_label": "x"}\n',
            None,
            r"a\.jsonl:1: expected an object with strings .*, but sentence1 is null",
        ),
        ("a.jsonl", "[1]\n", None, r"a\.jsonl:1: expected an object"),
        ("a.jsonl", "{]\n", None, r"a\.jsonl:1: not JSON: .* at column 2"),
    ],
)
def test_errors_say_where(tmp_path, name, content, columns, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=message):
        read_labelled(tmp_path / name, columns=columns)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_line_of_a_packed_file_is_bounded(tmp_path, pack):
    (tmp_path / "a.tsv").write_bytes(pack(b"1\ta\n0\t" + b"x" * (1 << 24)))
    with pytest.raises(FormatError, match=r"a\.tsv:2: longer than 16,777,216 bytes"):
        read_labelled(tmp_path / "a.tsv")


def test_damaged_compressed_files(tmp_path):
    packed = lzma.compress(b"1\ta\n" * 99)
    (tmp_path / "a.tsv.xz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FormatError, match="damaged packed file"):
        read_labelled(tmp_path / "a.tsv.xz")


@pytest.mark.parametrize("header", ["label\tsentence", "sentence\tLabel"])
def test_a_header_is_no_example(tmp_path, header):
    path = tmp_path / "file.tsv"
    path.write_text(f"{header}\nbad\tno\ngood\tyes\n")
    first, second = header.split("\t")
    with pytest.raises(FormatError, match=f"file.tsv:1: '{first}' and '{second}' look like a header"):
        read_labelled(path)
    assert read_labelled(path, columns=(second, first)).labels == ["no", "yes"]
    path.write_text("text\ta label\nimage\tb\n")
    assert read_labelled(path).labels == ["text", "image"]
