"""Inputs: which files of a folder are read, as what, where they are; and that they stay what they were."""

from __future__ import annotations

import gzip
import os
from types import SimpleNamespace
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentencode as se
from sentencode.scale.inputs import _kind, identity_at, inputs_of
from sentencode.scale.shards import Columns, read, shards_of

fsspec = pytest.importorskip("fsspec")
MemoryFileSystem = fsspec.get_filesystem_class("memory")


class Hosts(MemoryFileSystem):
    """One whose names lack the host, as those of HDFS do."""

    protocol = "hosts"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]

    @classmethod
    def _strip_protocol(cls, path):
        behind = path.partition("://")[2].partition("/")[2] if "://" in path else path
        return "/" + behind.strip("/")


class Containers(MemoryFileSystem):
    """One whose names begin with what stands elsewhere in URLs, as those of Azure do."""

    protocol = "containers"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]

    @classmethod
    def _strip_protocol(cls, path):
        container, _, behind = path.removeprefix("containers://").partition("/")
        return f"/{container.partition('@')[0]}/{behind}".rstrip("/") if "@" in path else path.rstrip("/")


fsspec.register_implementation("hosts", Hosts, clobber=True)
fsspec.register_implementation("containers", Containers, clobber=True)


@pytest.fixture(params=["local", "memory", "hosts", "containers"])
def place(request, tmp_path):
    """The name of an empty folder, here or at a URL."""
    if request.param == "local":
        return str(tmp_path)
    host = {"memory": "", "hosts": "name:8020/", "containers": "box@account.net/"}[request.param]
    return f"{request.param}://{host}{tmp_path.name}"


def put(path, content=b"x\n"):
    if "://" not in path:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with fsspec.open(path, "wb") as file:
        file.write(content)


def names(paths, place):
    return [one.path.removeprefix(f"{place}/") for one in inputs_of(paths)]


def texts_of(shards, columns):
    return [text for shard in shards for texts, _ in read(shard, columns, 2) for text in texts]


# --- which


def test_what_is_hidden_is_not_read(place):
    shown = ["_month=5/b.txt", "a.txt", "d/_k=v/c.txt", "part=1/c.txt"]
    hidden = ["_SUCCESS", ".a.txt.crc", "_delta_log/0.json", "d/.x/y.txt", "part=1/_metadata", ".k=v/a.txt"]
    for name in shown + hidden:
        put(f"{place}/{name}")
    assert names(place, place) == shown
    assert names(f"{place}/", place) == shown
    assert names(f"{place}/*.txt", place) == ["a.txt"]
    assert names(f"{place}/part*", place) == ["part=1/c.txt"]
    assert names(f"{place}/_SUCCESS", place) == ["_SUCCESS"]  # by its own name
    assert names(f"{place}/_delta_log", place) == ["_delta_log/0.json"]
    with pytest.raises(FileNotFoundError, match="all files of it are hidden"):
        inputs_of(f"{place}/part=1/*metadata")


def test_names_of_globs(place):
    for name in ("part_1.txt", "part_2.txt", "_part", "a[1].txt", "a1.txt", "d[1]/b.txt"):
        put(f"{place}/{name}")
    assert names(f"{place}/part*.txt", place) == ["part_1.txt", "part_2.txt"]
    assert names(f"{place}/_p*", place) == ["_part"]
    assert names(f"{place}/a[1].txt", place) == ["a[1].txt"]
    assert names(f"{place}/a[0-9].txt", place) == ["a1.txt"]
    assert names(f"{place}/d[1]", place) == ["d[1]/b.txt"]


def test_urls_keep_their_host(place):
    put(f"{place}/a.txt", b"one\n")
    for given in (place, f"{place}/a.txt", f"{place}/*.txt"):
        (one,) = inputs_of(given)
        assert one.path == f"{place}/a.txt"
        assert texts_of(*shards_of([one], Columns("text"), 9)) == [b"one"]


# --- as what


def test_parquet_is_known_by_its_content(place):
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": ["one", "two"]}), table)
    put(f"{place}/000000_0", table.getvalue().to_pybytes())
    (one,) = inputs_of(place)
    assert one.format == "parquet"
    assert [str(text) for text in texts_of(*shards_of([one], Columns("text"), 9))] == ["one", "two"]
    put(f"{place}/text", b"PAR1 is a receptor.\n")
    assert inputs_of(f"{place}/text")[0].format == "text"


def test_json_is_lines_of_json(place):
    put(f"{place}/part-0.json", b'{"text": "one"}\n')
    put(f"{place}/part-1.json.gz", gzip.compress(b'{"text": "two"}\n'))
    assert texts_of(*shards_of(inputs_of(place), Columns("text"), 9)) == ["one", "two"]
    put(f"{place}/array.json", b'[{"text": "one"}]')
    with pytest.raises(se.FormatError, match=r"array\.json: expected a JSON object in each line, got one"):
        inputs_of(place)


def test_addresses_of_the_web_end_before_their_query():
    assert _kind("https://host/a.csv.gz?key=b/c.d", 0, lambda begin, end: b"") == ("csv", "")


def test_a_column_is_not_read_of_lines(tmp_path):
    (tmp_path / "part-0").write_text("x\n")
    (tmp_path / "a.txt").write_text("y\n")
    shards_of(inputs_of(tmp_path), Columns("text"), 9)
    shards_of(inputs_of(tmp_path / "a.txt"), Columns("body"), 9)
    with pytest.raises(ValueError, match=r"part-0: lines of text have no column 'body'; tables are Parquet"):
        shards_of(inputs_of(tmp_path), Columns("body"), 9)


def test_little_is_read_to_know_a_file(monkeypatch):
    put("memory://little/a.txt", b"x" * 100)
    put("memory://little/none.txt", b"")
    monkeypatch.setattr(MemoryFileSystem, "open", None)
    asked = []
    whole = MemoryFileSystem.cat_file
    monkeypatch.setattr(
        MemoryFileSystem,
        "cat_file",
        lambda fs, path, start, end: (asked.append(end - start), whole(fs, path, start, end))[1],
    )
    assert [one.bytes for one in inputs_of("memory://little")] == [100, 0]
    assert asked == [10]


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
def test_a_file_that_changes_is_told(place, name):
    first, second = contents(name)
    path = f"{place}/{name}"
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
    """So that times differ on a file system that counts in seconds, too."""
    if "://" not in path:
        os.utime(path, (1, 1))


def test_what_is_called_damaged_has_changed(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "one"}\n' * 300_000)  # more than is read at a time
    shards, columns = shards_of(inputs_of(path), Columns("text"), 1 << 30)
    reading = read(shards[0], columns, 2)
    next(reading)
    path.write_bytes(b"x\n" * 3_000_000)
    with pytest.raises(se.FormatError, match="changed while it was read"):
        list(reading)


def test_listings_may_tell_less_than_files(monkeypatch):
    put("memory://told/a.txt")
    plain = MemoryFileSystem.info
    more = {"ETag": '"1"', "LastModified": "12:00:00.5"}
    monkeypatch.setattr(MemoryFileSystem, "info", lambda fs, path, **_: plain(fs, path) | more)
    shards, columns = shards_of(inputs_of("memory://told/a.txt"), Columns("text"), 9)
    more |= {"ETag": "1", "LastModified": "12:00:00"}
    assert texts_of(shards, columns) == [b"x"]
    more["ETag"] = "2"
    with pytest.raises(se.FormatError, match="changed while it was read"):
        texts_of(shards, columns)


def test_what_servers_tell():
    def identity(**told):
        info = {"name": "u", "type": "file", "url": "u", **told}
        return identity_at(SimpleNamespace(protocol=("http", "https"), info=lambda url: info), "u")

    both = {"ETag": '"abc"', "Last-Modified": "Mon"}
    assert identity(size=5, **both) == "size 5, ETag abc, Last-Modified Mon"
    assert identity(size=5, **both | {"ETag": '"abd"'}) != identity(size=5, **both)
    assert identity(size=5) == "size 5, and no more is known"
    put("memory://told/b.txt")
    fs = fsspec.filesystem("memory")
    assert identity_at(fs, "/told/b.txt") == fs.ukey("/told/b.txt")
