"""Input files: which are read, in which format, and that changes are detected."""

from __future__ import annotations

import gzip
import os
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentencode as se
from sentencode.scale.inputs import _kind, identity_at, inputs_of
from sentencode.scale.shards import Columns, read, shards_of

fsspec = pytest.importorskip("fsspec")
MemoryFileSystem = fsspec.get_filesystem_class("memory")


class Hosts(MemoryFileSystem):
    """A file system whose names lack the host, as in HDFS."""

    protocol = "hosts"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]

    @classmethod
    def _strip_protocol(cls, path):
        rest = path.partition("://")[2].partition("/")[2] if "://" in path else path
        return "/" + rest.strip("/")


class Containers(MemoryFileSystem):
    """A file system whose names start with a part of the host, as in Azure."""

    protocol = "containers"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]

    @classmethod
    def _strip_protocol(cls, path):
        container, _, rest = path.removeprefix("containers://").partition("/")
        return f"/{container.partition('@')[0]}/{rest}".rstrip("/") if "@" in path else path.rstrip("/")


fsspec.register_implementation("hosts", Hosts, clobber=True)
fsspec.register_implementation("containers", Containers, clobber=True)


@pytest.fixture(params=["local", "memory", "hosts", "containers"])
def root(request, tmp_path):
    """Path or URL of an empty folder."""
    if request.param == "local":
        return str(tmp_path)
    host = {"memory": "", "hosts": "name:8020/", "containers": "box@account.net/"}[request.param]
    return f"{request.param}://{host}{tmp_path.name}"


def put(path, content=b"x\n"):
    if "://" not in path:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with fsspec.open(path, "wb") as file:
        file.write(content)


def names(paths, root):
    return [one.path.removeprefix(f"{root}/") for one in inputs_of(paths)]


def texts_of(shards, columns):
    return [text for shard in shards for texts, _ in read(shard, columns, 2) for text in texts]


# --- which files


def test_hidden_files_are_skipped(root):
    shown = ["_month=5/b.txt", "a.txt", "d/_k=v/c.txt", "part=1/c.txt"]
    hidden = ["_SUCCESS", ".a.txt.crc", "_delta_log/0.json", "d/.x/y.txt", "part=1/_metadata", ".k=v/a.txt"]
    for name in shown + hidden:
        put(f"{root}/{name}")
    assert names(root, root) == shown
    assert names(f"{root}/", root) == shown
    assert names(f"{root}/*.txt", root) == ["a.txt"]
    assert names(f"{root}/part*", root) == ["part=1/c.txt"]
    assert names(f"{root}/_SUCCESS", root) == ["_SUCCESS"]  # named explicitly
    assert names(f"{root}/_delta_log", root) == ["_delta_log/0.json"]
    with pytest.raises(FileNotFoundError, match="all files of it are hidden"):
        inputs_of(f"{root}/part=1/*metadata")


def test_names_of_globs(root):
    for name in ("part_1.txt", "part_2.txt", "_part", "a[1].txt", "a1.txt", "d[1]/b.txt"):
        put(f"{root}/{name}")
    assert names(f"{root}/part*.txt", root) == ["part_1.txt", "part_2.txt"]
    assert names(f"{root}/_p*", root) == ["_part"]
    assert names(f"{root}/a[1].txt", root) == ["a[1].txt"]
    assert names(f"{root}/a[0-9].txt", root) == ["a1.txt"]
    assert names(f"{root}/d[1]", root) == ["d[1]/b.txt"]


def test_urls_keep_their_host(root):
    put(f"{root}/a.txt", b"one\n")
    for path in (root, f"{root}/a.txt", f"{root}/*.txt"):
        (one,) = inputs_of(path)
        assert one.path == f"{root}/a.txt"
        assert texts_of(*shards_of([one], Columns("text"), 9)) == [b"one"]


# --- formats


def test_parquet_is_recognized_by_content(root):
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": ["one", "two"]}), table)
    put(f"{root}/000000_0", table.getvalue().to_pybytes())
    (one,) = inputs_of(root)
    assert one.format == "parquet"
    assert [str(text) for text in texts_of(*shards_of([one], Columns("text"), 9))] == ["one", "two"]
    put(f"{root}/text", b"PAR1 is a receptor.\n")
    assert inputs_of(f"{root}/text")[0].format == "text"


def test_json_is_lines_of_json(root):
    put(f"{root}/part-0.json", b'{"text": "one"}\n')
    put(f"{root}/part-1.json.gz", gzip.compress(b'{"text": "two"}\n'))
    assert texts_of(*shards_of(inputs_of(root), Columns("text"), 9)) == ["one", "two"]
    put(f"{root}/array.json", b'[{"text": "one"}]')
    with pytest.raises(se.FormatError, match=r"array\.json: expected a JSON object in each line, got one"):
        inputs_of(root)


def test_pipes_and_arrays_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null"):
        with pytest.raises(OSError, match="is no file that can be split into shards"):
            inputs_of(path)
    np.save(tmp_path / "rows.npy", np.eye(2))
    with pytest.raises(se.FormatError, match=r"rows\.npy: is a file of NumPy"):
        inputs_of(tmp_path / "rows.npy")


def test_the_suffix_of_a_web_address_is_before_its_query():
    assert _kind("https://host/a.csv.gz?key=b/c.d", 0, lambda begin, end: b"") == ("csv", "")


def test_text_has_no_columns(tmp_path):
    (tmp_path / "part-0").write_text("x\n")
    (tmp_path / "a.txt").write_text("y\n")
    shards_of(inputs_of(tmp_path), Columns("text"), 9)
    shards_of(inputs_of(tmp_path / "a.txt"), Columns("body"), 9)
    with pytest.raises(ValueError, match=r"part-0: lines of text have no column 'body'; tables are Parquet"):
        shards_of(inputs_of(tmp_path), Columns("body"), 9)


def test_formats_are_recognized_from_few_bytes(monkeypatch):
    put("memory://little/a.txt", b"x" * 100)
    put("memory://little/none.txt", b"")
    monkeypatch.setattr(MemoryFileSystem, "open", None)
    requested = []
    whole = MemoryFileSystem.cat_file
    monkeypatch.setattr(
        MemoryFileSystem,
        "cat_file",
        lambda fs, path, start, end: (requested.append(end - start), whole(fs, path, start, end))[1],
    )
    assert [one.bytes for one in inputs_of("memory://little")] == [100, 0]
    assert requested == [10]


# --- changes


def contents(name):
    if name.endswith("parquet"):
        for text in ("one", "two"):
            table = pa.BufferOutputStream()
            pq.write_table(pa.table({"text": [text] * 90}), table, row_group_size=10)
            yield table.getvalue().to_pybytes()
        return
    pack = gzip.compress if name.endswith("gz") else bytes
    yield from (pack(b"text\n" + text * 90) for text in (b"one\n", b"two\n"))


@pytest.mark.parametrize("name", ["a.txt", "a.parquet", "a.csv.gz", "a.csv"])
def test_a_changed_file_raises_an_error(root, name):
    first, second = contents(name)
    path = f"{root}/{name}"
    put(path, first)
    shards, columns = shards_of(inputs_of(path), Columns("text"), 40)
    assert len(texts_of(shards, columns)) >= 90
    reading = read(shards[0], columns, 2)
    next(reading)
    put(path, second)
    touch(path)
    with pytest.raises(se.FormatError, match=f"{name}: changed while it was read"):
        list(reading)
    with pytest.raises(se.FormatError, match=f"{name}: changed while it was read"):
        next(read(shards[-1], columns, 2))
    assert inputs_of(path) != [shards[0].input]


def touch(path):
    """Makes modification times differ, also on file systems with a resolution of seconds."""
    if "://" not in path:
        os.utime(path, (1, 1))


def test_a_changed_file_is_not_called_damaged(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "one"}\n' * 300_000)  # more than one block
    shards, columns = shards_of(inputs_of(path), Columns("text"), 1 << 30)
    reading = read(shards[0], columns, 2)
    next(reading)
    path.write_bytes(b"x\n" * 3_000_000)
    with pytest.raises(se.FormatError, match="changed while it was read"):
        list(reading)


def test_listings_may_have_fewer_properties(monkeypatch):
    put("memory://listed/a.txt")
    plain = MemoryFileSystem.info
    more = {"ETag": '"1"', "LastModified": "12:00:00.5"}
    monkeypatch.setattr(MemoryFileSystem, "info", lambda fs, path, **_: plain(fs, path) | more)
    shards, columns = shards_of(inputs_of("memory://listed/a.txt"), Columns("text"), 9)
    more |= {"ETag": "1", "LastModified": "12:00:00"}
    assert texts_of(shards, columns) == [b"x"]
    more["ETag"] = "2"
    with pytest.raises(se.FormatError, match="changed while it was read"):
        texts_of(shards, columns)


def test_identity_at_http():
    def identity(**properties):
        info = {"name": "u", "type": "file", "url": "u", **properties}
        return identity_at(SimpleNamespace(protocol=("http", "https"), info=lambda url: info), "u")

    both = {"ETag": '"abc"', "Last-Modified": "Mon"}
    assert identity(size=5, **both) == "size 5, ETag abc, Last-Modified Mon"
    assert identity(size=5, **both | {"ETag": '"abd"'}) != identity(size=5, **both)
    assert identity(size=5) == "size 5, and no more is known"
    put("memory://listed/b.txt")
    fs = fsspec.filesystem("memory")
    assert identity_at(fs, "/listed/b.txt") == fs.ukey("/listed/b.txt")


@pytest.mark.parametrize("inputs", [{"text": ["a"]}, pa.table({"text": ["a"]}), 5])
def test_a_data_frame_is_no_file(inputs, tmp_path):
    encoder = se.SIF({"a": [1.0, 2.0], "b": [2.0, 1.0]}, a=None).fit(["a", "b a"])
    encoder.save(tmp_path / "sif")
    message = f"inputs must be files, got a {type(inputs).__name__}; for a data frame use BatchEncoder"
    with pytest.raises(TypeError, match=message):
        se.scale.encode(tmp_path / "sif", inputs, tmp_path / "out")
    with pytest.raises(TypeError, match=message):
        se.scale.fit(encoder, inputs)
    assert se.scale.BatchEncoder
