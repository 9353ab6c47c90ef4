"""`scale.encode`: embeddings are independent of shards, and manifests stay correct after any failure."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import types
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentencode as se
from sentencode.scale import Embeddings, encode
from sentencode.scale.engines import Failure, attempt, engine_of
from sentencode.scale.folders import Folder
from sentencode.scale.local import LocalEngine

sys.path.insert(0, str(Path(__file__).parent))
from scale_helpers import DyingAlways, DyingEngine, check_true, content_of

engines = sys.modules["sentencode.scale.engines"]


def parts_of(folder):
    """The paths of the parts, by the manifest."""
    return [folder / part["file"] for part in json.loads((folder / "manifest.json").read_text())["parts"]]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shard_size", [200, 5000, "1MB"])
def test_embeddings_equal_one_process(saved, lines, tmp_path, expected, workers, shard_size):
    if workers == 2 and shard_size == 200:
        shard_size = 1000
    assert encode(saved, lines, tmp_path / "out", workers=workers, shard_size=shard_size) == 700
    embeddings = Embeddings(tmp_path / "out")
    embeddings.verify()
    assert (len(embeddings), embeddings.dim, embeddings.fingerprint) == (700, 6, se.load(saved).fingerprint())
    np.testing.assert_array_equal(embeddings.to_numpy(), expected)
    out = np.empty((700, 6), np.float32)
    assert embeddings.to_numpy(out) is out
    check_true(tmp_path / "out")
    names = [path.name for path in parts_of(tmp_path / "out")]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["manifest.json", *names]
    assert [name.rpartition("-")[0] for name in names] == [f"part-{i:05d}" for i in range(len(names))]


def test_a_damaged_file_of_an_encoder_is_written_again(tmp_path, encoder, lines, expected):
    before = se.cache_dir()
    se.set_cache_dir(tmp_path / "cache")
    try:
        encode(encoder, lines, tmp_path / "first", workers=1)
        (file,) = (tmp_path / "cache" / "encoders").iterdir()
        content = bytearray(file.read_bytes())
        content[-40] ^= 0x40
        file.write_bytes(content)
        encode(encoder, lines, tmp_path / "second", workers=1)
        np.testing.assert_array_equal(Embeddings(tmp_path / "second").to_numpy(), expected)
        assert se.load(file).fingerprint() == encoder.fingerprint()
    finally:
        se.set_cache_dir(before)


def test_workers_that_end_at_once(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(RuntimeError, match="3 workers were lost on it, the last one with status 0"):
        list(LocalEngine(2).run(str, [1, 2]))


def test_shards_with_any_number_of_rows(saved, tmp_path, encoder, sentences):
    long = " ".join(["the"] * 400)
    texts = ["man", "", long, "dog", *sentences[:50]]
    (tmp_path / "in.txt").write_text("\n".join(texts))
    encode(saved, tmp_path / "in.txt", tmp_path / "out", workers=1, shard_size=5)
    parts = Embeddings(tmp_path / "out").manifest["parts"]
    assert {0, 1} < {part["rows"] for part in parts}
    np.testing.assert_allclose(Embeddings(tmp_path / "out").to_numpy(), encoder.encode(texts), atol=1e-6)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl", "rows.csv"])
def test_ids_stay_with_their_rows(saved, tmp_path, sentences, expected, name):
    path = tmp_path / name
    ids = list(range(1000, 1700))
    if name == "rows.parquet":
        table = pa.table({"id": ids, "text": sentences, "other": ["x"] * 700})
        pq.write_table(table, path, row_group_size=60)
    elif name == "rows.jsonl":
        path.write_text(
            "\n".join(json.dumps({"id": i, "text": t}) for i, t in zip(ids, sentences, strict=True))
        )
    else:
        path.write_text("id,text\n" + "".join(f"{i},{t}\n" for i, t in zip(ids, sentences, strict=True)))
    encode(saved, path, tmp_path / "out", id="id", embedding="row", workers=1, shard_size=3000)
    embeddings = Embeddings(tmp_path / "out")
    pairs = list(embeddings.batches(100))
    assert max(len(rows) for _, rows in pairs) <= 100
    assert [int(i) for some, _ in pairs for i in some] == ids
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in pairs]), expected)
    schema = pq.read_schema(embeddings.files[0])
    assert schema.names == ["id", "row"]
    assert schema.field("row").type == pa.list_(pa.float32(), 6)


def test_options(saved, tmp_path, encoder):
    table = pa.table({"body": ["the man", None, "", "a dog"]})
    pq.write_table(table, tmp_path / "in.parquet")
    options = {"precision": "float16", "normalize": True, "missing": "null", "column": "body", "workers": 1}
    assert encode(saved, tmp_path / "in.parquet", tmp_path / "out", **options) == 4
    ((ids, rows),) = Embeddings(tmp_path / "out").batches()
    assert ids.tolist() == [0, 1, 2, 3]
    assert rows.dtype == np.float16
    assert np.isnan(rows[1:3]).all()
    expected = encoder.encode(["the man", "a dog"], normalize_embeddings=True)
    np.testing.assert_allclose(rows[[0, 3]], expected, atol=1e-3)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8", "uint8", "binary", "ubinary"])
def test_precisions(saved, lines, tmp_path, encoder, sentences, precision):
    ranges = encoder.calibrate(sentences, truncate_dim=5) if precision in ("int8", "uint8") else None
    options = {"precision": precision, "truncate_dim": 5, "ranges": ranges}
    encode(saved, lines, tmp_path / "out", workers=2, shard_size=3000, **options)
    embeddings = Embeddings(tmp_path / "out")
    expected = encoder.encode(sentences, **options)
    rows = embeddings.to_numpy()
    assert rows.dtype == expected.dtype
    np.testing.assert_array_equal(rows, expected)
    assert (embeddings.dim, embeddings.width) == (5, expected.shape[1])
    query = encoder.encode("the man", truncate_dim=5)
    blocks = (block for _, block in embeddings.batches(100))
    hits = se.semantic_search(query, blocks, ranges=embeddings.ranges)
    best = se.semantic_search(query, expected, ranges=ranges)
    np.testing.assert_array_equal(hits.indices, best.indices)
    np.testing.assert_array_equal(hits.scores, best.scores)


def test_a_number_of_int8_is_a_byte(tmp_path, sentences):
    vectors = se.WordVectors.from_array(["the", "a"], np.random.default_rng(0).normal(size=(2, 256)))
    (tmp_path / "in.txt").write_text("\n".join(sentences * 3))
    options = {"precision": "int8", "calibrate": tmp_path / "in.txt", "workers": 1}
    count = encode(se.Average(vectors), tmp_path / "in.txt", tmp_path / "out", **options)
    assert parts_of(tmp_path / "out")[0].stat().st_size < 1.1 * 256 * count


def test_ranges_of_killed_and_damaged_jobs(saved, lines, tmp_path, sentences):
    folder = tmp_path / "out"
    options = {"precision": "int8", "calibrate": sentences, "workers": 1}
    encode(saved, lines, folder, **options)
    content = content_of(folder)
    (folder / "ranges.npy").unlink()
    assert encode(saved, lines, folder, **options) == 700
    assert content_of(folder) == content
    (folder / "ranges.npy").write_bytes(content["ranges.npy"][:-1])
    with pytest.raises(se.FormatError, match=r"ranges\.npy: is damaged"):
        Embeddings(folder)
    encode(saved, lines, folder, workers=1, overwrite=True)
    assert "ranges.npy" not in content_of(folder)


def test_several_inputs_and_a_url(saved, tmp_path, sentences, expected):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://job/in/a.txt", "wt") as file:
        file.write("\n".join(sentences[:300]))
    (tmp_path / "b.txt").write_text("\n".join(sentences[300:]))
    url = "memory://job/out"
    inputs = ["memory://job/in", tmp_path / "b.txt"]
    encode(saved, inputs, url, workers=1, shard_size=4000)
    embeddings = Embeddings(url)
    embeddings.verify()
    np.testing.assert_array_equal(embeddings.to_numpy(), expected)
    fs = fsspec.filesystem("memory")
    fs.rm(embeddings.files[1])
    stamps = {name: fs.info(name)["created"] for name in fs.ls("/job/out", detail=False)}
    encode(saved, inputs, url, workers=1, shard_size=4000)
    np.testing.assert_array_equal(Embeddings(url).to_numpy(), expected)
    again = {name: fs.info(name)["created"] for name in fs.ls("/job/out", detail=False)}
    assert sum(again[name] == stamps.get(name) for name in again) == len(again) - 2  # it, and the manifest
    with fsspec.open("memory://job/in/a.txt", "wt") as file:
        file.write("\n".join(sentences[:299]))
    with pytest.raises(ValueError, match=r"from another memory:///?job/in/a\.txt"):
        encode(saved, inputs, url, workers=1, shard_size=4000)


# --- again


def test_a_second_run_makes_only_missing_parts(saved, lines, tmp_path):
    folder = tmp_path / "out"
    encode(saved, lines, folder, workers=1, shard_size=3000)
    before = content_of(folder)
    stamps = {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}
    parts = parts_of(folder)
    parts[2].unlink()
    parts[4].write_bytes(b"cut")
    with pytest.raises(FileNotFoundError):
        Embeddings(folder).verify()
    assert encode(saved, lines, folder, workers=1, shard_size=3000) == 700
    assert content_of(folder) == before
    again = {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}
    changed = {name for name in again if again[name] != stamps[name]}
    assert changed == {parts[2].name, parts[4].name}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("input", r"was made from another .*lines\.txt: it had 1[0-9],\d+ bytes, now"),
        ("same size", r"was made from another .*lines\.txt"),
        ("more", r"was made without the input .*more\.txt"),
        ("encoder", "was made by another encoder: a SIF of fingerprint [0-9a-f]{12}, now a SIF of"),
        ("precision", "was made with precision = 'float32', now 'float16'"),
        ("normalize", "was made with normalize = False, now True"),
        ("shard_size", "was made with shards of 3000 bytes, now 4000"),
        ("embedding", "was made with embedding = 'embedding', now 'row'"),
    ],
)
def test_other_work_is_refused_with_the_reason(saved, lines, tmp_path, change, reason, vectors, sentences):
    folder, options = tmp_path / "out", {"workers": 1, "shard_size": 3000}
    encode(saved, lines, folder, **options)
    before = content_of(folder)
    inputs, encoder = [lines], saved
    if change == "input":
        lines.write_text("another line\n" + lines.read_text())
    elif change == "same size":
        content = lines.read_bytes()
        lines.write_bytes(content.replace(b"man", b"dog", 1))
    elif change == "more":
        (tmp_path / "more.txt").write_text("more")
        inputs.append(tmp_path / "more.txt")
    elif change == "encoder":
        encoder = se.SIF(vectors, components=2).fit(sentences)
    else:
        options |= {
            change: {"precision": "float16", "normalize": True, "shard_size": 4000}.get(change, "row")
        }
    with pytest.raises(ValueError, match=reason) as error:
        encode(encoder, inputs, folder, **options)
    assert "overwriting starts over" in str(error.value)
    assert content_of(folder) == before
    encode(encoder, inputs, folder, overwrite=True, **options)
    check_true(folder)
    if change in ("encoder", "precision", "embedding"):
        assert content_of(folder).keys() & before.keys() == {"manifest.json"}


def test_overwriting_removes_earlier_parts(saved, lines, tmp_path):
    folder = tmp_path / "out"
    encode(saved, lines, folder, workers=1, shard_size=500)
    encode(saved, lines, folder, workers=1, shard_size="1MB", overwrite=True)
    assert sorted(content_of(folder)) == ["manifest.json", parts_of(folder)[0].name]
    assert len(parts_of(folder)) == 1


def test_folders_of_other_files_are_refused(saved, lines, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="there are files, and no manifest"):
            encode(saved, lines, tmp_path / "out", overwrite=overwrite)
    (tmp_path / "out" / "part-00000.parquet").write_text("precious")
    for content, reason in [
        ('{"format": "of others"', "is damaged"),
        ('{"format": "of others"}', "is not a manifest of embeddings: its format is 'of others'"),
        ("[]", "is not a manifest of embeddings"),
    ]:
        (tmp_path / "out" / "manifest.json").write_text(content)
        for overwrite in (False, True):
            with pytest.raises(se.FormatError, match=rf"manifest\.json: {reason}.*; give another folder"):
                encode(saved, lines, tmp_path / "out", overwrite=overwrite)
    assert sorted(content_of(tmp_path / "out")) == ["manifest.json", "part-00000.parquet", "precious.txt"]


def test_overwriting_keeps_other_files(saved, lines, tmp_path):
    folder = tmp_path / "out"
    encode(saved, lines, folder, workers=1)
    others = {"part-precious.parquet", "part-00007.parquet", "notes.txt"}
    for name in others:
        (folder / name).write_text("precious")
    encode(saved, lines, folder, workers=1, precision="float16", overwrite=True)
    assert set(content_of(folder)) == others | {"manifest.json", parts_of(folder)[0].name}


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("in", "in/rows"),
        ("in", "in"),
        ("in", "in/a/b"),
        ("in/", "file://{}/in/rows"),
        ("file://{}/in", "in/rows"),
        ("in", "link/rows"),
        ("link", "in/rows"),
        ("in/*", "in/rows"),
        ("in/*/*.parquet", "in/rows"),
        ("memory://job/apart/in", "memory:///job/apart/in/rows"),
        ("memory://job/apart/*", "memory://job/apart/in"),
        ("memory://job/apart/in/*", "memory://job/apart/in/rows"),
    ],
)
def test_output_inside_an_input_is_refused(saved, lines, tmp_path, source, output):
    """Otherwise a second call would read the parts as inputs."""
    fsspec = pytest.importorskip("fsspec")
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "in")
    pq.write_table(pa.table({"text": ["man"]}), tmp_path / "in" / "deep" / "a.parquet")
    with fsspec.open("memory://job/apart/in/a.txt", "wt") as file:
        file.write("man")
    source, output = (
        one.format(tmp_path) if "://" in one else os.path.join(tmp_path, one) for one in (source, output)
    )
    with pytest.raises(ValueError, match=r" is in .*, which is read: give another folder to write to"):
        encode(saved, [lines, source], output, workers=1)
    assert not (tmp_path / "in" / "rows").exists()


@pytest.mark.parametrize(("source", "output"), [("in/a.txt", "in"), ("file://{}/in/a.txt", "link/")])
def test_output_that_contains_an_input_is_refused(saved, tmp_path, source, output):
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "a.txt").write_text("man")
    source = source.format(tmp_path) if "://" in source else tmp_path / source
    with pytest.raises(ValueError, match=r"holds .*a\.txt, which is read: give another folder"):
        encode(saved, source, tmp_path / output, workers=1)


def test_files_next_to_the_output_are_read(saved, tmp_path):
    (tmp_path / "a.txt").write_text("man")
    for _ in range(2):
        assert encode(saved, tmp_path / "*.txt", tmp_path / "rows", workers=1) == 1


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        ("aba", "aab", r"inputs\[1\] was .*b\.txt, now .*a\.txt"),
        ("aa", "a", r"inputs\[1\] was .*a\.txt, now None"),
        ("a", "aa", r"inputs\[1\] was None, now .*a\.txt"),
        ("ab", "ba", r"inputs\[0\] was .*a\.txt, now .*b\.txt"),
    ],
)
def test_inputs_in_another_order_are_refused(saved, tmp_path, before, now, reason):
    (tmp_path / "a.txt").write_text("man")
    (tmp_path / "b.txt").write_text("dog")
    encode(saved, [tmp_path / f"{name}.txt" for name in before], tmp_path / "out", workers=1)
    content = content_of(tmp_path / "out")
    with pytest.raises(ValueError, match=rf"in another order or number: {reason}; overwriting starts over"):
        encode(saved, [tmp_path / f"{name}.txt" for name in now], tmp_path / "out", workers=1)
    assert content_of(tmp_path / "out") == content


def test_other_shards_are_refused(saved, lines, tmp_path):
    folder = tmp_path / "out"
    encode(saved, lines, folder, workers=1, shard_size=3000)
    path = folder / "manifest.json"
    good = json.loads(path.read_text())
    for change, reason in [
        ({"end": 2999}, r"part 1 was part-.*lines\.txt, 3,000 to 2,999, now part-.*3,000 to 6,000"),
        ({"file": "part-1.parquet"}, r"part 1 was part-1\.parquet, made of .*, now part-00001-"),
    ]:
        parts = [part | (change if i == 1 else {}) for i, part in enumerate(good["parts"])]
        path.write_text(json.dumps(good | {"parts": parts}))
        with pytest.raises(
            ValueError, match=rf"was made of other shards: {reason}.*; overwriting starts over"
        ):
            encode(saved, lines, folder, workers=1, shard_size=3000)
    path.write_text(json.dumps(good | {"parts": good["parts"][:-1]}))
    with pytest.raises(ValueError, match=r"was none, now part-"):
        encode(saved, lines, folder, workers=1, shard_size=3000)


def test_folders_of_earlier_versions_are_resumed(saved, lines, tmp_path, expected):
    """Earlier versions wrote part-00000.parquet."""
    folder = tmp_path / "out"
    encode(saved, lines, folder, workers=1, shard_size=3000)
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    del content["job"], content["options"]["truncate_dim"], content["options"]["ranges"]
    for i, part in enumerate(content["parts"]):
        plain = f"part-{i:05d}.parquet"
        (folder / part["file"]).rename(folder / plain)
        part["file"] = plain
    path.write_text(json.dumps(content))
    parts = parts_of(folder)
    stamp = parts[0].stat().st_mtime_ns
    parts[1].unlink()
    assert encode(saved, lines, folder, workers=1, shard_size=3000) == 700
    assert parts_of(folder) == parts
    assert parts[0].stat().st_mtime_ns == stamp
    np.testing.assert_array_equal(Embeddings(folder).to_numpy(), expected)
    encode(saved, lines, folder, workers=1, shard_size="1MB", overwrite=True)
    assert sorted(content_of(folder)) == ["manifest.json", parts_of(folder)[0].name]


class Stopped:
    """An engine that is stopped while a worker continues, like threads of Dask."""

    threads, workers = None, 1

    def run(self, work, tasks):
        self.late = lambda: work(tasks[0])
        raise KeyboardInterrupt
        yield


def test_a_late_worker_does_not_write_into_another_job(saved, lines, tmp_path, vectors, sentences):
    stopped, folder = Stopped(), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        encode(saved, lines, folder, engine=stopped)
    other = se.SIF(vectors, components=2).fit(sentences)
    encode(other, lines, folder, workers=1, overwrite=True)
    stopped.late()
    Embeddings(folder).verify()
    np.testing.assert_array_equal(Embeddings(folder).to_numpy(), other.encode(sentences))
    assert len(content_of(folder)) == 3
    encode(other, lines, folder, workers=1)  # removes what the late one has written
    assert sorted(content_of(folder)) == ["manifest.json", parts_of(folder)[0].name]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda manifest: manifest.pop("complete"), "it has no 'complete'"),
        (lambda manifest: manifest["encoder"].pop("dim"), "encoder has no 'dim'"),
        (lambda manifest: manifest["parts"][2].pop("crc32"), r"parts\[2\] has no 'crc32'"),
        (
            lambda manifest: manifest["parts"][0].pop("rows"),
            r"complete is true, but parts\[0\] has no 'rows'",
        ),
        (lambda manifest: manifest.update(inputs={}), r"inputs: expected list, got \{\}"),
        (lambda manifest: manifest.update(version="1"), "version: expected int, got '1'"),
    ],
)
def test_a_manifest_that_lacks_something_is_named(saved, lines, tmp_path, change, reason):
    encode(saved, lines, tmp_path / "out", workers=1, shard_size=3000)
    path = tmp_path / "out" / "manifest.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    for use in (Embeddings, lambda folder: encode(saved, lines, folder, workers=1, shard_size=3000)):
        with pytest.raises(se.FormatError, match=rf"manifest\.json: is damaged: {reason}"):
            use(tmp_path / "out")


def test_embeddings_of_unfinished_work_are_refused(saved, lines, tmp_path):
    encode(saved, lines, tmp_path / "out", workers=1, shard_size=3000)
    path = tmp_path / "out" / "manifest.json"
    content = json.loads(path.read_text())
    content["complete"] = False
    for name in ("rows", "bytes", "crc32"):
        del content["parts"][1][name]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"1 of \d parts are missing: run the same job again"):
        Embeddings(tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="there is no manifest"):
        Embeddings(tmp_path)
    content["version"] = 2
    path.write_text(json.dumps(content))
    with pytest.raises(se.FormatError, match="is of version 2; this Sentencode reads up to 1"):
        Embeddings(tmp_path / "out")


def test_a_damaged_part_is_named(saved, lines, tmp_path):
    encode(saved, lines, tmp_path / "out", workers=1, shard_size=3000)
    path = parts_of(tmp_path / "out")[3]
    content = bytearray(path.read_bytes())
    content[50] ^= 1
    path.write_bytes(content)
    with pytest.raises(se.FormatError, match=r"part-00003-.*\.parquet: is damaged: its checksum"):
        Embeddings(tmp_path / "out").verify()


# --- what goes wrong


@pytest.mark.parametrize("workers", [1, 2])
def test_an_unreadable_shard_is_named_and_the_manifest_stays_true(saved, tmp_path, sentences, workers):
    for name in ("a", "b", "c"):
        pq.write_table(pa.table({"text": sentences}), tmp_path / f"{name}.parquet")
    path = tmp_path / "b.parquet"
    good = path.read_bytes()
    bad = bytearray(good)
    bad[40:300] = bytes(260)
    path.write_bytes(bad)
    inputs = sorted(tmp_path.glob("*.parquet"))
    with pytest.raises(se.FormatError, match=r"b\.parquet: cannot be read: "):
        encode(saved, inputs, tmp_path / "out", workers=workers)
    finished, count = check_true(tmp_path / "out")
    assert count == 3
    assert finished < 3
    assert not list((tmp_path / "out").glob(".*"))
    path.write_bytes(good)
    with pytest.raises(ValueError, match=r"from another .*b\.parquet"):
        encode(saved, inputs, tmp_path / "out", workers=workers)


def test_a_row_that_is_no_text_is_named(saved, tmp_path):
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "in.parquet")
    with pytest.raises(se.FormatError, match=r"in\.parquet: column 'text': expected text, got int64"):
        encode(saved, tmp_path / "in.parquet", tmp_path / "out", workers=1)


@pytest.mark.parametrize(("id", "shown"), [(1 << 63, "9223372036854775808"), (-(1 << 70), "-118059")])
def test_an_id_that_is_too_large_is_named(saved, tmp_path, id, shown):
    rows = [{"id": i, "text": "man"} for i in (1, 2, id)]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(se.FormatError, match=rf"in\.jsonl.*expected .*{shown}"):
        encode(saved, tmp_path / "in.jsonl", tmp_path / "out", id="id", workers=1)


def test_an_id_that_is_no_text_is_named(saved, tmp_path):
    rows = [{"id": "a", "text": "man"}, {"id": "\ud800", "text": "dog"}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(se.FormatError, match=r"in\.jsonl.*d800"):
        encode(saved, tmp_path / "in.jsonl", tmp_path / "out", id="id", workers=1)


def test_positions_in_errors_are_those_of_the_shard(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["sentencode.scale.encode"], "_ROWS", 10)
    tokens = [["man"]] * 24 + [["man", None]] + [["dog"]] * 5
    pq.write_table(pa.table({"text": tokens}), tmp_path / "in.parquet")
    with pytest.raises(se.FormatError, match=r"in\.parquet.*sentences\[24\]"):
        encode(saved, tmp_path / "in.parquet", tmp_path / "out", workers=1)


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string()),
        (pa.array([1, 2, 3], pa.timestamp("us", "UTC")), pa.timestamp("us", "UTC")),
        (pa.array([b"0" * 16, b"1" * 16, b"2" * 16], pa.binary(16)), pa.binary(16)),
        (pa.array([1, 2, 3], pa.uint64()), pa.uint64()),
    ],
)
def test_types_of_ids(saved, tmp_path, ids, kind):
    pq.write_table(pa.table({"id": ids, "text": ["man", "dog", None]}), tmp_path / "in.parquet")
    for _ in range(2):
        assert encode(saved, tmp_path / "in.parquet", tmp_path / "out", id="id", workers=1) == 3
    id_column = pq.read_table(parts_of(tmp_path / "out")[0])["id"]
    assert id_column.type == kind
    assert id_column.to_pylist() == ids.to_pylist()


def test_ids_that_are_lists_are_refused(saved, tmp_path):
    pq.write_table(pa.table({"id": [[1], [2]], "text": ["man", "dog"]}), tmp_path / "in.parquet")
    with pytest.raises(se.FormatError, match=r"in\.parquet: column 'id': ids may be text, numbers or times"):
        encode(saved, tmp_path / "in.parquet", tmp_path / "out", id="id", workers=1)


class Trying:
    """Work that fails some times, with an error."""

    def __init__(self, times, error):
        self.left, self.error, self.calls = times, error, 0

    def __call__(self, task):
        self.calls += 1
        if self.calls <= self.left:
            raise self.error
        return task


@pytest.mark.parametrize(
    "error", [TimeoutError("slow"), ConnectionResetError(), OSError(errno.EIO, "503"), OSError("slow down")]
)
def test_transient_storage_errors_are_retried(error, monkeypatch):
    monkeypatch.setattr(engines, "_PAUSES", (0.0, 0.0))
    work = Trying(2, error)
    assert attempt(work, "done") == "done"
    work = Trying(3, error)
    assert isinstance(attempt(work, "never").error, OSError)
    assert work.calls == 3


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(),
        PermissionError(),
        IsADirectoryError(),
        *(
            OSError(getattr(errno, name), "no")
            for name in ("ENOSPC", "EFBIG", "EROFS", "ENAMETOOLONG", "ELOOP", "ENODEV")
        ),
        se.FormatError("damaged"),
        ValueError("wrong"),
    ],
)
def test_permanent_errors_are_not_retried(error, monkeypatch):
    monkeypatch.setattr(engines, "_PAUSES", (60.0, 60.0))
    work = Trying(1, error)
    assert attempt(work, "never").error.args == error.args
    assert work.calls == 1


def test_a_job_survives_an_error_of_its_storage(saved, lines, tmp_path, monkeypatch, expected):
    monkeypatch.setattr(engines, "_PAUSES", (0.0,))
    seen = []

    class Flaky(LocalEngine):
        def run(self, work, tasks):
            def once(task):
                seen.append(task.number)
                part = work(task)
                if seen.count(task.number) == 1:
                    raise ConnectionResetError(errno.ECONNRESET, "reset")
                return part

            return super().run(once, tasks)

    assert encode(saved, lines, tmp_path / "out", engine=Flaky(1), shard_size=3000) == 700
    assert len(seen) == 2 * len(set(seen))
    np.testing.assert_array_equal(Embeddings(tmp_path / "out").to_numpy(), expected)


def test_two_tries_of_a_task_write_to_a_url_at_a_time(tmp_path):
    """By processes with the same number, on two machines."""
    pytest.importorskip("fsspec")
    folder = Folder(f"file://{tmp_path}")
    with folder.writing("part") as one:
        with folder.writing("part") as other:
            other.write(b"rows")
        one.write(b"rows")
    assert content_of(tmp_path) == {"part": b"rows"}


def test_file_systems_that_do_not_replace_files(monkeypatch):
    """HDFS refuses to move a file to the name of another; WebHDFS does not even say so."""
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.get_filesystem_class("memory")

    class Refusing(memory):
        protocol = "hdfs"
        fails = False

        def mv(self, source, target, **options):
            if self.fails and ".writing-" in source:
                raise OSError(errno.EIO, "the connection is gone", target)
            if not self.exists(target):
                super().mv(source, target, **options)

    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "hdfs", Refusing)
    folder = Folder("hdfs://job/replaced")
    for content in (b"first", b"second"):
        folder.write("manifest.json", content)
        assert folder.read("manifest.json") == content
    assert folder.names() == ["manifest.json"]
    monkeypatch.setattr(Refusing, "fails", True)
    with pytest.raises(OSError, match="the connection is gone"):
        folder.write("manifest.json", b"third")
    assert folder.names() == ["manifest.json"]
    assert folder.read("manifest.json") == b"second"
    # A writer that was killed between the two moves.
    fs, inner = folder._fs()
    fs.mv(f"{inner}/manifest.json", f"{inner}/.replaced-manifest.json")
    fs.pipe_file(f"{inner}/.writing-0-manifest.json", b"third")
    folder.remove_leftovers()
    assert folder.names() == ["manifest.json"]
    assert folder.read("manifest.json") == b"second"


def test_a_folder_in_which_workers_still_write_is_removed(tmp_path, monkeypatch):
    folder, remove, tries = Folder(tmp_path / "sums"), shutil.rmtree, []
    folder.make()

    def racing(path):
        tries.append(path)
        if len(tries) == 1:
            raise OSError(errno.ENOTEMPTY, "Directory not empty", path)
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", racing)
    folder.remove_all()
    assert len(tries) == 2
    assert not (tmp_path / "sums").exists()


def test_an_error_of_the_clean_up_does_not_hide_the_first(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")

    def broken(self, path):
        raise RuntimeError("the connection is gone")

    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "rm_file", broken)
    with pytest.raises(ValueError, match="the first"), Folder("memory://job/gone").writing("part"):
        raise ValueError("the first")


FULL = """
import resource, signal, sys
import sentencode as se
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
try:
    se.scale.encode(*sys.argv[2:5], workers=int(sys.argv[5]), shard_size=15000)
except OSError as error:
    print(error)
else:
    print("done")
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_is_named_and_the_manifest_stays_true(saved, tmp_path, sentences, expected, workers):
    # The second file's rows take more room than there is.
    (tmp_path / "a.txt").write_text("\n".join(sentences[:100]))
    (tmp_path / "b.txt").write_text("\n".join(sentences[100:]))
    folder = tmp_path / "out"
    command = [sys.executable, "-c", FULL, "9000", str(saved), str(tmp_path / "*.txt"), str(folder), workers]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert "part-00001-" in done.stdout
    check_true(folder)
    assert not list(folder.glob(".*"))
    command[3] = "1000000"
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "done\n"
    np.testing.assert_array_equal(Embeddings(folder).to_numpy(), expected)


def test_a_worker_that_is_killed_is_replaced(saved, lines, tmp_path):
    encode(saved, lines, tmp_path / "one", workers=1, shard_size=2000)
    engine = DyingEngine(LocalEngine(2), tmp_path / "mark", task=3)
    assert encode(saved, lines, tmp_path / "out", engine=engine, shard_size=2000) == 700
    assert (tmp_path / "mark").exists()
    assert content_of(tmp_path / "out") == content_of(tmp_path / "one")


def test_a_task_that_kills_its_workers_is_an_error(saved, lines, tmp_path):
    engine = LocalEngine(2)
    results = engine.run(DyingAlways(None), ["one task", "another"])
    with pytest.raises(RuntimeError, match="3 workers were lost on it, the last one with signal 9"):
        list(results)


class Half:
    """Work that fails on some tasks."""

    def __call__(self, task):
        if task % 2:
            raise se.FormatError(f"task {task}")
        os.write(1, b"to standard output, which is no answer\n")
        return task, os.getpid()


def test_the_local_engine_gives_each_result_once():
    engine = LocalEngine(3)
    assert engine.workers == 3
    assert engine.threads == 1
    results = dict(engine.run(Half(), list(range(20))))
    assert sorted(results) == list(range(20))
    for number, result in results.items():
        if number % 2:
            assert isinstance(result, Failure)
            assert isinstance(result.error, se.FormatError)
            assert str(result.error) == f"task {number}"
        else:
            assert result[0] == number
    assert os.getpid() not in {results[i][1] for i in range(0, 20, 2)}
    assert len({results[i][1] for i in range(0, 20, 2)}) <= 3
    assert list(engine.run(Half(), [])) == []


def test_the_local_engine_ends_its_processes_when_closed():
    engine = LocalEngine(2)
    results = engine.run(Half(), list(range(0, 200, 2)))
    _, (_, process) = next(results)
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"engine": "hadoop"}, "engine must be 'local', 'ray', 'spark', 'dask' or an engine, got 'hadoop'"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"engine": LocalEngine(1), "workers": 2}, "workers and threads are set by the engine"),
        ({"shard_size": "many"}, r"shard_size must be a size with a unit \(KB, .*\), .* got 'many'"),
        *(({"shard_size": size}, "must be a size with a unit") for size in ("1.5", "64", "5 EB", "-1KB")),
        *(({"shard_size": size}, "must be from 1 KB") for size in ("1.5B", "0KB", ".5 kB", "9" * 30 + "TB")),
        ({"id": "embedding"}, "id and embedding are both 'embedding'"),
    ],
)
def test_wrong_options(saved, lines, tmp_path, options, error):
    with pytest.raises(ValueError, match=error):
        encode(saved, lines, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_two_jobs_do_not_write_to_one_folder(saved, lines, tmp_path):
    class Meanwhile:
        threads, workers = None, 1

        def run(self, work, tasks):
            with pytest.raises(BlockingIOError, match="another job is writing to"):
                encode(saved, lines, tmp_path / "out", workers=1, shard_size=3000)
            yield from LocalEngine(1).run(work, tasks)

    assert encode(saved, lines, tmp_path / "out", engine=Meanwhile(), shard_size=3000) == 700


def test_progress_is_of_all_shards(saved, lines, tmp_path, capsys):
    encode(saved, lines, tmp_path / "out", workers=1, shard_size=3000, show_progress_bar=True)
    shown = capsys.readouterr().err
    assert "encode" in shown
    assert "100%" in shown


def test_workers_do_not_outlive_a_killed_job(saved, tmp_path, sentences):
    (tmp_path / "in.txt").write_text("\n".join(sentences * 200))
    program = (
        "import sys, sentencode as se\n"
        "se.scale.encode(sys.argv[1], sys.argv[2], sys.argv[3], workers=2, shard_size=20000)\n"
    )
    command = [sys.executable, "-c", program, str(saved), str(tmp_path / "in.txt"), str(tmp_path / "out")]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 400
    while not list(tmp_path.glob("out/part-*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    names = {int(child) for child in children}
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        names |= {int(child) for child in (task / "children").read_text().split()}
    process.kill()
    process.wait()
    assert len(names) == 2
    while any(Path(f"/proc/{child}").exists() for child in names) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{child}").exists() for child in names)


# Jobs are forks of one process, which import nothing anew; their manifest is written after each part.
KILLED = """
import json, os, random, signal, sys, time, traceback
from contextlib import suppress
from pathlib import Path
import sentencode as se
sys.path.insert(0, sys.argv[4])
from scale_helpers import check_true, content_of
se.scale.encode
module = sys.modules["sentencode.scale.encode"]
module._SAVE_EVERY, module._ROWS = 0.0, 20
encoder, lines, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])

def start(folder):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = int(se.scale.encode(encoder, lines, folder, workers=1, shard_size=600) != 700)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child

def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

assert ended(start(work / "first")) == 0  # everything has been read once
assert ended(start(work / "whole")) == 0
expected = content_of(work / "whole")
assert expected == content_of(work / "first")
count = check_true(work / "whole")[1]

def progress(folder):
    with suppress(OSError):
        return sum("rows" in part for part in json.loads((folder / "manifest.json").read_bytes())["parts"])
    return 0

def running(child):
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

chance = random.Random(5)
kills = folders = amid = 0
while kills < 50:
    folder = work / f"out-{folders}"
    folders += 1
    for _ in range(chance.randrange(1, 6)):  # then it may end
        child, goal = start(folder), chance.randrange(count)
        while progress(folder) < goal and running(child):  # not by time alone, which a busy machine stretches
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        if ended(child) == -signal.SIGKILL:
            kills += 1
            if (folder / "manifest.json").exists():
                finished, count = check_true(folder)
                amid += 0 < finished < count
    assert ended(start(folder)) == 0
    assert content_of(folder) == expected, folder
print(kills, folders, amid)
"""


@pytest.mark.slow
def test_a_job_that_is_stopped_at_random_moments_ends_with_the_same_bytes(saved, lines, tmp_path):
    """50 kills at random moments, of jobs that go on where the one before was killed, or start over."""
    command = [
        sys.executable,
        "-c",
        KILLED,
        str(saved),
        str(lines),
        str(tmp_path),
        str(Path(__file__).parent),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kills, folders, amid = map(int, done.stdout.split())
    assert kills >= 50
    assert folders > 5
    assert amid > 10  # many were killed while they wrote


def test_an_interrupted_job_resumes(saved, tmp_path, sentences, lines):
    """Ctrl-C, with processes."""
    (tmp_path / "in.txt").write_text("\n".join(sentences * 300))
    program = (
        "import sys, sentencode as se\n"
        "try:\n"
        "    se.scale.encode(*sys.argv[1:4], workers=2, shard_size=20000)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    folder = tmp_path / "out"
    command = [sys.executable, "-c", program, str(saved), str(tmp_path / "in.txt"), str(folder)]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 400
    finished = False
    while not finished and time.monotonic() < deadline:  # by the manifest, which follows the parts
        time.sleep(0.01)
        with suppress(OSError):
            parts = json.loads((folder / "manifest.json").read_bytes())["parts"]
            finished = any("rows" in part for part in parts)
    process.send_signal(signal.SIGINT)
    assert process.wait(400) == 130
    done, count = check_true(folder)
    assert 0 < done < count
    assert encode(saved, tmp_path / "in.txt", folder, workers=2, shard_size=20000) == 210_000
    Embeddings(folder).verify()


def test_engines_by_name(monkeypatch):
    monkeypatch.setattr(sys.modules["sentencode.scale.local"], "num_threads", lambda: 4)
    assert engine_of("local").workers == 4
    assert engine_of("local", device="cuda:0").workers == 1
    assert engine_of("local", workers=2, device="cuda").workers == 2
    engine = engine_of("local", workers=2, threads=3)
    assert isinstance(engine, LocalEngine)
    assert (engine.workers, engine.threads) == (2, 3)
    assert engine_of(engine) is engine


def test_settings_that_a_running_engine_ignores_are_warned_of(monkeypatch):
    client = types.SimpleNamespace(nthreads=lambda: {"one": 1, "other": 1})
    monkeypatch.setitem(sys.modules, "distributed", types.SimpleNamespace(get_client=lambda: client))
    with pytest.warns(UserWarning, match="workers=5 is ignored: Dask's cluster has 2") as warned:
        assert engine_of("dask", workers=5, threads=1).workers == 2
    assert len(warned) == 1
    with pytest.warns(UserWarning, match="threads=4 is ignored: Dask's cluster has 1"):
        engine_of("dask", workers=2, threads=4)
    session = types.SimpleNamespace(sparkContext=types.SimpleNamespace(defaultParallelism=2))
    sessions = types.SimpleNamespace(getActiveSession=lambda: session)
    monkeypatch.setitem(sys.modules, "pyspark", types.ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.sql", types.SimpleNamespace(SparkSession=sessions))
    with pytest.warns(UserWarning, match="workers=3 is ignored: Spark's session has 2"):
        assert engine_of("spark", workers=3).workers == 2
    engine_of("spark", workers=2)  # nothing to be warned of


def test_overwriting_removes_nothing_before_all_is_checked(saved, encoder, lines, tmp_path):
    encode(saved, lines, tmp_path / "out", workers=1)
    before = content_of(tmp_path / "out")
    for one in (saved, encoder):
        with pytest.raises(TypeError, match="'normalise'"):
            encode(one, lines, tmp_path / "out", workers=1, overwrite=True, normalise=True)
    with pytest.raises(ValueError, match="calibrate is for precision='int8'"):
        encode(saved, lines, tmp_path / "out", workers=1, overwrite=True, calibrate="nothing")
    assert content_of(tmp_path / "out") == before


def test_options_are_stored_as_they_are_used(saved, lines, tmp_path, expected):
    for _ in range(2):
        assert (
            encode(saved, lines, tmp_path / "out", workers=1, precision=None, truncate_dim=np.int64(2)) == 700
        )
    np.testing.assert_array_equal(Embeddings(tmp_path / "out").to_numpy(), expected[:, :2])
    encode(saved, lines, tmp_path / "int8", workers=1, precision="int8", calibrate=lines)
    with pytest.raises(ValueError, match="was made with truncate_dim = None, now 2"):
        encode(saved, lines, tmp_path / "int8", workers=1, precision="int8", calibrate=lines, truncate_dim=2)


def test_a_part_with_other_rows(saved, lines, tmp_path):
    encode(saved, lines, tmp_path / "out", workers=1)
    embeddings, (part,) = Embeddings(tmp_path / "out"), parts_of(tmp_path / "out")
    with pytest.raises(ValueError, match="out must have the type of float32, got int8"):
        embeddings.to_numpy(np.empty((700, 6), np.int8))
    pq.write_table(pq.read_table(part).slice(0, 10), part)
    with pytest.raises(se.FormatError, match="has 10 rows, in the manifest 700"):
        embeddings.to_numpy()
