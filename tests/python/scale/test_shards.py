"""Shards: every row once, wherever files are cut; and what is wrong with them, told with the place."""

from __future__ import annotations

import gzip
import json
import lzma

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se
from sentencode.scale.shards import Columns, inputs_of, read, shards_of

TEXT = Columns("text")


def rows_of(shards, columns, rows=3):
    texts, ids = [], []
    for shard in shards:
        for batch, names in read(shard, columns, rows):
            batch = batch.to_pylist() if hasattr(batch, "to_pylist") else batch
            assert 0 < len(batch) <= rows
            texts += [text.decode() if isinstance(text, bytes) else text for text in batch]
            if names is not None:
                ids += names.to_pylist() if hasattr(names, "to_pylist") else names
    return texts, ids


def all_rows(paths, size=1 << 20, text="text", id=None, rows=3):
    shards, columns = shards_of(inputs_of(paths), Columns(text, id), size)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    return *rows_of(shards, columns, rows), len(shards)


@settings(deadline=None, max_examples=150)
@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=9)),
    ends=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    mark=st.booleans(),
    size=st.integers(1, 40),
)
def test_every_line_once(tmp_path_factory, lines, ends, last, mark, size):
    path = tmp_path_factory.getbasetemp() / "drawn.txt"
    text = ends.join(lines) + (ends if last else "")
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    expected = list(se.Corpus(path, keep_empty=True))
    assert all_rows(path, size)[0] == expected


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.compress])
def test_packed_text(tmp_path, pack):
    path = tmp_path / "lines.packed"
    path.write_bytes(pack(b"\xef\xbb\xbfone\r\n\ntwo\nthree" * 1))
    assert all_rows(path, 2) == (["one", "", "two", "three"], [], 1)


def test_a_line_is_longer_than_shards(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("x" * 1000 + "\n" + "y\n")
    texts, _, count = all_rows(path, 10)
    assert texts == ["x" * 1000, "y"]
    assert count == 101  # most of them without a row


def test_json_lines(tmp_path):
    path = tmp_path / "rows.jsonl"
    given = [{"id": i, "text": None if i % 5 == 3 else f"text {i}\né"} for i in range(50)]
    path.write_text("\n\n".join(json.dumps(row) for row in given))
    for size in (1, 37, 10_000):
        texts, ids, _ = all_rows(path, size, id="id")
        assert texts == [row["text"] for row in given]
        assert ids == list(range(50))


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz"])
def test_csv(tmp_path, name):
    between = "\t" if "tsv" in name else ","
    content = (
        between.join(["id", "text"])
        + "\n"
        + between.join(["a", '"two\nlines"'])
        + "\n"
        + between.join(["b", ""])
    )
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith("gz") else content.encode())
    assert all_rows(path, 3, id="id") == (["two\nlines", ""], ["a", "b"], 1)


@pytest.mark.parametrize("groups", [1, 7, 100])
@pytest.mark.parametrize("size", [1, 300, 1 << 20])
def test_parquet(tmp_path, groups, size):
    table = pa.table(
        {"other": range(100), "text": [None if i == 9 else f"t{i}" for i in range(100)], "id": range(100)}
    )
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=groups)
    texts, ids, count = all_rows(tmp_path / "rows.parquet", size, id="id", rows=9)
    assert texts == table["text"].to_pylist()
    assert ids == list(range(100))
    assert count == {1: -(-100 // groups), 1 << 20: 1}.get(size, count)


def test_nothing(tmp_path):
    for name in ("none.txt", "none.jsonl"):
        (tmp_path / name).write_text("")
        assert all_rows(tmp_path / name) == ([], [], 0)
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "none.parquet")
    assert all_rows(tmp_path / "none.parquet")[:2] == ([], [])
    (tmp_path / "none.csv").write_text("text\n")
    assert all_rows(tmp_path / "none.csv")[:2] == ([], [])
    with pytest.raises(ValueError, match="there is no input"):
        inputs_of([])


def test_folders_globs_and_order(tmp_path):
    for name in ("b.txt", "a.txt", "c.log"):
        (tmp_path / name).write_text(name + "\n")
    assert all_rows(tmp_path)[0] == ["a.txt", "b.txt", "c.log"]
    assert all_rows(tmp_path / "*.txt")[0] == ["a.txt", "b.txt"]
    assert all_rows([tmp_path / "c.log", tmp_path / "a.txt"])[0] == ["c.log", "a.txt"]


def test_urls(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://in/a.txt", "wb") as file:
        file.write(b"one\ntwo\nthree\n")
    with fsspec.open("memory://in/b.txt.gz", "wb") as file:
        file.write(gzip.compress(b"four\n"))
    with fsspec.open("memory://in/_SUCCESS", "wb") as file:
        file.write(b"of Spark")
    for url in ("memory://in", "memory://in/*.txt*", ["memory://in/a.txt", "memory://in/b.txt.gz"]):
        assert all_rows(url, 5)[0] == ["one", "two", "three", "four"]
    (tmp_path / "here.txt").write_text("here\n")
    assert all_rows([f"file://{tmp_path}/here.txt", "memory://in/b.txt.gz"])[0] == ["here", "four"]
    with pytest.raises(FileNotFoundError, match="memory://nowhere"):
        inputs_of("memory://nowhere")


def test_a_change_changes_the_identity(tmp_path):
    path = tmp_path / "in.txt"
    path.write_bytes(b"x" * 10_000_000)
    (before,) = inputs_of(path)
    assert inputs_of(path) == [before]
    with open(path, "r+b") as file:
        file.seek(123_456)
        file.write(b"y")
    (after,) = inputs_of(path)
    assert after.bytes == before.bytes
    assert after.identity != before.identity


def broken(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("a.jsonl", b'{"text": "x", "id": 1}\n{"text"', r"a\.jsonl: line 2: "),
        ("a.jsonl", b"[1]", r"a\.jsonl: line 1: expected a JSON object, got \[1\]"),
        ("a.jsonl", b'{"body": 1}', r"a\.jsonl: line 1: has no 'text'; it has body"),
        ("a.jsonl", b'{"text": 1, "id": 1}', r"a\.jsonl: line 1: 'text': expected text, got 1"),
        (
            "a.jsonl",
            b'{"text": "", "id": 1}\n{"text": "", "id": "x"}',
            r"line 2: 'id': expected a whole number",
        ),
        ("a.csv", b"body\nx\n", r"a\.csv: has no column 'text'; it has body"),
        ("a.csv", b"text,id\nx,1\n\xff,2\n", r"a\.csv: behind line \d: not UTF-8"),
        ("a.csv.gz", gzip.compress(b"text,id\nx,1\n" * 99, mtime=0)[:-30], r"a\.csv\.gz: cannot be read: "),
        ("a.parquet", b"PAR1 and more", r"a\.parquet: cannot be read: "),
        ("a.txt", b"PK\x03\x04", r"a\.txt: is packed by zip or bzip2"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, name, content, error):
    path = broken(tmp_path, name, content)
    id = None if name == "a.txt" else "id"
    with pytest.raises(se.FormatError, match=error):
        all_rows(path, id=id)


def test_wrong_columns(tmp_path):
    pq.write_table(pa.table({"text": ["x"], "id": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"text": ["x"], "id": ["one"]}), tmp_path / "b.parquet")
    with pytest.raises(se.FormatError, match=r"a\.parquet: has no column 'body'; it has text, id"):
        all_rows(tmp_path / "a.parquet", text="body")
    with pytest.raises(
        se.FormatError, match=r"column 'id' is int64 in .*a\.parquet and string in .*b\.parquet"
    ):
        all_rows(tmp_path, id="id")
    (tmp_path / "c.txt").write_text("x\n")
    with pytest.raises(ValueError, match=r"c\.txt: lines of text have no column 'id' for ids"):
        all_rows(tmp_path, id="id")


def test_a_damaged_page_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"text {i}" * 20 for i in range(1000)]}), path)
    content = bytearray(path.read_bytes())
    content[100:400] = bytes(300)
    path.write_bytes(bytes(content))
    shards, columns = shards_of(inputs_of(path), TEXT, 1 << 20)
    with pytest.raises(se.FormatError, match=r"a\.parquet: cannot be read: "):
        rows_of(shards, columns)
