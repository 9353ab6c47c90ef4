"""Shards: each row is in one shard, and errors name the position in the file."""

from __future__ import annotations

import gzip
import json
import lzma
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se
from sentencode.scale import shards as shards_module
from sentencode.scale.inputs import inputs_of
from sentencode.scale.shards import Columns, read, shards_of
from sentencode.text.text_files import LINE_BYTES

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
    block=st.sampled_from([1, 3, 8, 1 << 22]),
)
def test_every_line_is_in_one_shard(tmp_path_factory, lines, ends, last, mark, size, block):
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    text = ends.join(lines) + (ends if last else "")
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    expected = list(se.Corpus(path, keep_empty=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards_module, "_BLOCK", block)
        patch.setattr(shards_module, "_REST", max(1, block // 2))
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


_BOUND = 1000
LONGEST, LONGER = "x" * _BOUND, "x" * (_BOUND + 1)
# Contents of a file whose third line is longer than the bound.
BOUNDED = {
    "rows.txt": lambda x: f"a\n\n{x}\nb\n",
    "crlf.txt": lambda x: f"a\r\n\r\n{x}\r\nb",
    "last.txt": lambda x: f"a\n\n{x}",
    "rows.jsonl": lambda x: f'{{"text": "a"}}\n\n{{"text": "{x[12:]}"}}\n',
    "rows.csv": lambda x: f"text\na\n{x}\nb\n",
    "rows.tsv": lambda x: f"text\tid\na\t1\n{x[2:]}\t2",
}


@pytest.mark.parametrize("packed", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("block", [7, 700])
@pytest.mark.parametrize("name", BOUNDED)
def test_a_line_is_bounded(tmp_path, monkeypatch, name, block, packed):
    monkeypatch.setattr(shards_module, "LINE_BYTES", _BOUND)
    monkeypatch.setattr(shards_module, "_BLOCK", block)
    pack = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}.get(packed, bytes)
    path = tmp_path / f"{name}{packed}"
    for text, fits in ((LONGEST, True), (LONGER, False), (LONGER * 50, False)):
        path.write_bytes(pack(BOUNDED[name](text).encode()))
        if fits:
            assert max(map(len, all_rows(path)[0])) >= _BOUND - 12
        else:
            with pytest.raises(se.FormatError, match=rf"{re.escape(str(path))}: line 3: .*longer than 1,000"):
                all_rows(path)


def test_a_shard_within_a_long_line(tmp_path, monkeypatch):
    monkeypatch.setattr(shards_module, "LINE_BYTES", _BOUND)
    (tmp_path / "rows.txt").write_text(f"a\n{LONGER * 9}\n")
    shards, columns = shards_of(inputs_of(tmp_path / "rows.txt"), TEXT, 4000)
    with pytest.raises(se.FormatError, match=r"rows\.txt: the line before byte 4,000: longer than"):
        rows_of(shards[1:], columns)


def test_a_quote_that_is_not_closed(tmp_path, monkeypatch):
    """All that follows is one cell; and a row of many cells, each of several lines."""
    monkeypatch.setattr(shards_module, "LINE_BYTES", _BOUND)
    path = tmp_path / "rows.csv"
    for content in ('text\na\n"' + "x\n" * 600, "text,b\n" + '"x\n",' * 300):
        path.write_text(content)
        with pytest.raises(se.FormatError, match=r"rows\.csv: line \d+: the row is longer than 1,000"):
            all_rows(path)


def test_a_cell_of_parquet_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(shards_module, "LINE_BYTES", _BOUND)
    monkeypatch.setattr(shards_module, "TEXT_AT_ONCE", _BOUND)
    pq.write_table(pa.table({"text": ["a", LONGEST, "b", LONGER * 2, "c"]}), tmp_path / "rows.parquet")
    with pytest.raises(se.FormatError, match=r"rows\.parquet.*: row 3: 'text': longer than 1,000 bytes"):
        all_rows(tmp_path / "rows.parquet")


def test_the_bound_is_that_of_a_corpus(tmp_path):
    path = tmp_path / "rows.txt"
    for more in (0, 1):
        path.write_bytes(b"a\n" + b"x" * (LINE_BYTES + more) + b"\n")
        if not more:
            assert len(list(se.Corpus(path))) == len(all_rows(path)[0]) == 2
            continue
        with pytest.raises(se.FormatError, match=r"rows\.txt:2: a line of more than 16777216 bytes"):
            list(se.Corpus(path))
        with pytest.raises(se.FormatError, match=r"rows\.txt: line 2: longer than 16,777,216 bytes"):
            all_rows(path)


def test_lists_in_lists(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"text": "a"}\n' + "[" * 200_000)
    with pytest.raises(se.FormatError, match=r"rows\.jsonl: line 2: expected a JSON object"):
        all_rows(tmp_path / "rows.jsonl")


def test_json_lines(tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [{"id": i, "text": None if i % 5 == 3 else f"text {i}\né"} for i in range(50)]
    path.write_text("\n\n".join(json.dumps(row) for row in rows))
    for size in (1, 37, 10_000):
        texts, ids, _ = all_rows(path, size, id="id")
        assert texts == [row["text"] for row in rows]
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


def test_cells_of_csv(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text\nx\n\n" + "y" * 200_000 + "\n")
    assert all_rows(path)[0] == ["x", "", "y" * 200_000]
    path.write_text("id,text\n1,x\n\n2\n")
    assert all_rows(path, id="id")[:2] == (["x", None], ["1", "2"])
    path.write_text("id,text\n1,x,,\n")  # more cells, all of them empty
    assert all_rows(path, id="id")[:2] == (["x"], ["1"])
    path.write_text("id,text\n1,x\n2,hello, world\n")
    with pytest.raises(se.FormatError, match=r"rows\.csv: line 3: 3 cells, but the header has 2"):
        all_rows(path, id="id")


def test_damage_of_gzip_names_the_file(tmp_path):
    content = bytearray(gzip.compress(b"one two three four\n" * 1000))
    content[20] ^= 0xFF
    (tmp_path / "text.gz").write_bytes(content)
    with pytest.raises(se.FormatError, match=r"text\.gz: cannot be read"):
        all_rows(tmp_path / "text.gz")


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


KINDS = [
    *(pa.string(), pa.binary(), pa.string_view(), pa.binary_view(), pa.dictionary(pa.int32(), pa.string())),
    *(pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.string_view())),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_types_of_text_in_parquet(tmp_path, kind):
    texts = [None, "one", "two"]
    if pa.types.is_nested(kind):
        texts = [text and [text] for text in texts]
    pq.write_table(pa.table({"text": pa.array(texts, kind)}), tmp_path / "a.parquet")
    assert all_rows(tmp_path / "a.parquet")[0] == texts


def test_columns_of_nulls(tmp_path):
    pq.write_table(pa.table({"text": pa.nulls(2)}), tmp_path / "a.parquet")
    ((texts, _),) = read(shards_of(inputs_of(tmp_path / "a.parquet"), TEXT, 9)[0][0], TEXT, 9)
    assert texts.type == pa.large_string()
    assert texts.to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (pa.array(["a", "b"]).dictionary_encode(), pa.string()),
        (pa.array(["a", "b"], pa.string_view()), pa.large_string()),
        (pa.array([1, 2], pa.timestamp("us", "UTC")), None),
        (pa.array([1, 2], pa.date32()), None),
        (pa.array([b"a" * 16, b"b" * 16], pa.binary(16)), None),
        (pa.array([b"a" * 16, b"b" * 16], pa.uuid()), pa.binary(16)),
    ],
    ids=lambda one: str(getattr(one, "type", "")),
)
def test_types_of_ids(tmp_path, ids, kind):
    pq.write_table(pa.table({"text": ["x", "y"], "id": ids}), tmp_path / "a.parquet")
    shards, columns = shards_of(inputs_of(tmp_path / "a.parquet"), Columns("text", "id"), 1 << 20)
    ((_, shard_ids),) = read(shards[0], columns, 9)
    assert columns.id_type == shard_ids.type == (kind or ids.type)
    assert shard_ids.equals(ids.cast(shard_ids.type))


@pytest.mark.parametrize("equal", [False, True])
def test_batches_of_parquet_hold_so_many_bytes(tmp_path, monkeypatch, equal):
    monkeypatch.setattr(shards_module, "TEXT_AT_ONCE", 1 << 16)
    texts = [("" if equal else f"{i:04}") + "x" * 1000 for i in range(1000)]
    pq.write_table(pa.table({"text": texts, "id": range(1000)}), tmp_path / "a.parquet")
    shards, columns = shards_of(inputs_of(tmp_path / "a.parquet"), Columns("text", "id"), 1 << 30)
    batches = list(read(shards[0], columns, 1000))
    assert all(batch.nbytes <= 1 << 16 for batch, _ in batches)
    assert 16 <= len(batches) <= 64
    assert [text for batch, _ in batches for text in batch.to_pylist()] == texts
    assert [id for _, ids in batches for id in ids.to_pylist()] == list(range(1000))


def test_large_batches_are_split_while_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(shards_module, "TEXT_AT_ONCE", 1 << 16)
    monkeypatch.setattr(shards_module, "_halved", lambda *batch: iter([batch]))
    pq.write_table(pa.table({"text": [f"{i:04}" * 250 for i in range(1000)]}), tmp_path / "a.parquet")
    shards, columns = shards_of(inputs_of(tmp_path / "a.parquet"), TEXT, 1 << 30)
    assert all(batch.nbytes < 1 << 17 for batch, _ in read(shards[0], columns, 1000))


def test_names_of_columns_with_dots(tmp_path):
    texts = [f"text {i}" for i in range(100)]
    table = pa.table({"a": range(100), "a.b": texts})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=10)
    shards, columns = shards_of(inputs_of(tmp_path / "a.parquet"), Columns("a.b"), 1)
    assert len(shards) == 10
    assert all(shard.size > 0 for shard in shards)
    assert rows_of(shards, columns)[0] == texts


def test_empty_inputs(tmp_path):
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
        ("a.jsonl", b"[1]", r"a\.jsonl: expected a JSON object in each line, got one array"),
        ("a.jsonl", b'{"body": 1}', r"a\.jsonl: line 1: has no 'text'; it has body"),
        ("a.jsonl", b'{"text": 1, "id": 1}', r"a\.jsonl: line 1: 'text': expected text, got 1"),
        (
            "a.jsonl",
            b'{"text": "", "id": 1}\n{"text": "", "id": "x"}',
            r"line 2: 'id': expected a whole number",
        ),
        ("a.json", b" [\n{}", r"a\.json: expected a JSON object in each line, got one array"),
        ("a.json", b'{\n"text": "x"}', r"a\.json: line 1: expected a JSON object: "),
        ("a.csv", b"body\nx\n", r"a\.csv: has no column 'text'; it has body"),
        ("a.csv", b"text,id,text\nx,1,y\n", r"a\.csv: has 2 columns 'text'; expected one"),
        ("a.csv", b"text,id\nx,1\n\xff,2\n", r"a\.csv: after line \d: not UTF-8"),
        ("a.csv.gz", gzip.compress(b"text,id\nx,1\n" * 99, mtime=0)[:-30], r"a\.csv\.gz: cannot be read: "),
        ("a.parquet", b"PAR1 and more", r"a\.parquet: cannot be read: "),
        ("a.txt", b"PK\x03\x04", r"a\.txt: is compressed by zip or bzip2"),
        (
            "a.avro",
            b"Obj\x01",
            r"a\.avro: is a file of Avro; text, csv, JSON lines and Parquet are supported",
        ),
    ],
)
def test_errors_of_inputs(tmp_path, name, content, error):
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
    both = pa.table([["x"], ["y"]], names=["text", "text"])
    pq.write_table(both, tmp_path / "twice.parquet")
    with pytest.raises(se.FormatError, match=r"twice\.parquet: has 2 columns 'text'; expected one"):
        all_rows(tmp_path / "twice.parquet")
    (tmp_path / "twice.parquet").unlink()
    pq.write_table(pa.table({"text": ["x"], "id": [[1]]}), tmp_path / "a.parquet")
    with pytest.raises(se.FormatError, match=r"a\.parquet: column 'id': ids may be text, numbers or times"):
        all_rows(tmp_path / "a.parquet", id="id")
    pq.write_table(pa.table({"text": ["x"], "id": [1]}), tmp_path / "a.parquet")
    (tmp_path / "c.txt").write_text("x\n")
    with pytest.raises(ValueError, match=r"c\.txt: lines of text have no column 'id'; tables are Parquet"):
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


def test_a_size_that_would_make_too_many_shards_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "in.txt"
    path.write_text("one\ntwo\n" * 50)  # 400 bytes
    monkeypatch.setattr(shards_module, "_MAX_SHARDS", 40)
    assert len(shards_of(inputs_of([path]), TEXT, 10)[0]) == 40
    with pytest.raises(ValueError, match=r"shard_size: 9 bytes make more than 40 shards .*at least 10 bytes"):
        shards_of(inputs_of([path]), TEXT, 9)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
@pytest.mark.parametrize("quoted", ['"cat', '"cat" and'])
def test_a_quote_hides_no_rows(tmp_path, name, quoted):
    path = tmp_path / name
    path.write_text(f"text\n{quoted}\ndog\nthe\n")
    with pytest.raises(se.FormatError, match=rf"{name}: line \d: .* begins with a quote must end with one"):
        all_rows(path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_refused(tmp_path, encoding):
    path = tmp_path / "rows.txt"
    path.write_bytes("\ufeffcat\ndog\n".encode(encoding))
    with pytest.raises(se.FormatError, match=r"rows\.txt is UTF-16 text; expected UTF-8"):
        all_rows(path)
