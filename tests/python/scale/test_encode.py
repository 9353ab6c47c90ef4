"""`scale.encode`: the same rows however files are cut, and what is true after whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentencode as se
from sentencode.scale import Embeddings, encode
from sentencode.scale.engines import Failure, engine_of
from sentencode.scale.local import LocalEngine

sys.path.insert(0, str(Path(__file__).parent))
from scale_helpers import Dying, DyingAlways, DyingEngine, check_true, content_of


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shard_size", [200, 5000, "1MB"])
def test_rows_are_those_of_one_process(saved, lines, tmp_path, expected, workers, shard_size):
    if workers == 2 and shard_size == 200:
        shard_size = 1000
    assert encode(saved, lines, tmp_path / "out", workers=workers, shard_size=shard_size) == 700
    found = Embeddings(tmp_path / "out")
    found.verify()
    assert (len(found), found.dim, found.fingerprint) == (700, 6, se.load(saved).fingerprint())
    np.testing.assert_array_equal(found.to_numpy(), expected)
    out = np.empty((700, 6), np.float32)
    assert found.to_numpy(out) is out
    check_true(tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["manifest.json", *(f"part-{i:05d}.parquet" for i in range(len(names) - 1))]


def test_shards_of_one_row_of_none_and_of_many(saved, tmp_path, encoder, sentences):
    long = " ".join(["the"] * 400)
    given = ["man", "", long, "dog", *sentences[:50]]
    (tmp_path / "in.txt").write_text("\n".join(given))
    encode(saved, tmp_path / "in.txt", tmp_path / "out", workers=1, shard_size=5)
    parts = Embeddings(tmp_path / "out").manifest["parts"]
    assert {0, 1} < {part["rows"] for part in parts}
    np.testing.assert_allclose(Embeddings(tmp_path / "out").to_numpy(), encoder.encode(given), atol=1e-6)


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
    found = Embeddings(tmp_path / "out")
    pairs = list(found.batches(100))
    assert max(len(rows) for _, rows in pairs) <= 100
    assert [int(i) for some, _ in pairs for i in some] == ids
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in pairs]), expected)
    schema = pq.read_schema(found.files[0])
    assert schema.names == ["id", "row"]
    assert schema.field("row").type == pa.list_(pa.float32(), 6)


def test_options(saved, tmp_path, encoder):
    table = pa.table({"body": ["the man", None, "", "a dog"]})
    pq.write_table(table, tmp_path / "in.parquet")
    options = {"precision": "float16", "normalize": True, "missing": "null", "column": "body", "workers": 1}
    assert encode(saved, tmp_path / "in.parquet", tmp_path / "out", **options) == 4
    ((places, rows),) = Embeddings(tmp_path / "out").batches()
    assert places.tolist() == [0, 1, 2, 3]
    assert rows.dtype == np.float16
    assert np.isnan(rows[1:3]).all()
    wanted = encoder.encode(["the man", "a dog"], normalize_embeddings=True)
    np.testing.assert_allclose(rows[[0, 3]], wanted, atol=1e-3)


def test_several_inputs_and_a_url(saved, tmp_path, sentences, expected):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://job/in/a.txt", "wt") as file:
        file.write("\n".join(sentences[:300]))
    (tmp_path / "b.txt").write_text("\n".join(sentences[300:]))
    url = "memory://job/out"
    inputs = ["memory://job/in", tmp_path / "b.txt"]
    encode(saved, inputs, url, workers=1, shard_size=4000)
    found = Embeddings(url)
    found.verify()
    np.testing.assert_array_equal(found.to_numpy(), expected)
    fs = fsspec.filesystem("memory")
    fs.rm(f"{url}/part-00001.parquet")
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


def test_a_second_run_does_only_what_is_missing(saved, lines, tmp_path):
    folder = tmp_path / "out"
    encode(saved, lines, folder, workers=1, shard_size=3000)
    before = content_of(folder)
    stamps = {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}
    (folder / "part-00002.parquet").unlink()
    (folder / "part-00004.parquet").write_bytes(b"cut")
    with pytest.raises(FileNotFoundError):
        Embeddings(folder).verify()
    assert encode(saved, lines, folder, workers=1, shard_size=3000) == 700
    assert content_of(folder) == before
    again = {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}
    changed = {name for name in again if again[name] != stamps[name]}
    assert changed == {"part-00002.parquet", "part-00004.parquet"}


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
        assert all(content_of(folder)[name] != before[name] for name in before)


def test_overwriting_leaves_no_part_of_before(saved, lines, tmp_path):
    folder = tmp_path / "out"
    encode(saved, lines, folder, workers=1, shard_size=500)
    encode(saved, lines, folder, workers=1, shard_size="1MB", overwrite=True)
    assert sorted(content_of(folder)) == ["manifest.json", "part-00000.parquet"]


def test_other_folders_are_left_alone(saved, lines, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="there are files, and no manifest"):
            encode(saved, lines, tmp_path / "out", overwrite=overwrite)
    (tmp_path / "out" / "manifest.json").write_text('{"format": "of others"')
    with pytest.raises(se.FormatError, match=r"manifest\.json: is damaged"):
        encode(saved, lines, tmp_path / "out")
    assert sorted(content_of(tmp_path / "out")) == ["manifest.json", "precious.txt"]
    with pytest.raises(ValueError, match="which is read: give another folder"):
        encode(saved, lines, tmp_path)


def test_embeddings_of_unfinished_work_are_refused(saved, lines, tmp_path):
    encode(saved, lines, tmp_path / "out", workers=1, shard_size=3000)
    path = tmp_path / "out" / "manifest.json"
    found = json.loads(path.read_text())
    found["complete"] = False
    for name in ("rows", "bytes", "crc32"):
        del found["parts"][1][name]
    path.write_text(json.dumps(found))
    with pytest.raises(ValueError, match=r"1 of \d parts are missing: give the command that makes it again"):
        Embeddings(tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="there is no manifest"):
        Embeddings(tmp_path)
    found["version"] = 2
    path.write_text(json.dumps(found))
    with pytest.raises(se.FormatError, match="version 2, and 1 is the last"):
        Embeddings(tmp_path / "out")


def test_a_damaged_part_is_named(saved, lines, tmp_path):
    encode(saved, lines, tmp_path / "out", workers=1, shard_size=3000)
    path = tmp_path / "out" / "part-00003.parquet"
    content = bytearray(path.read_bytes())
    content[50] ^= 1
    path.write_bytes(content)
    with pytest.raises(se.FormatError, match=r"part-00003\.parquet: is damaged: its checksum"):
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
    assert "part-00001.parquet" in done.stdout
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
    found = dict(engine.run(Half(), list(range(20))))
    assert sorted(found) == list(range(20))
    for place, result in found.items():
        if place % 2:
            assert isinstance(result, Failure)
            assert isinstance(result.error, se.FormatError)
            assert str(result.error) == f"task {place}"
        else:
            assert result[0] == place
    assert os.getpid() not in {found[i][1] for i in range(0, 20, 2)}
    assert len({found[i][1] for i in range(0, 20, 2)}) <= 3
    assert list(engine.run(Half(), [])) == []


def test_the_local_engine_ends_its_processes_when_it_is_left():
    engine = LocalEngine(2)
    results = engine.run(Half(), list(range(0, 200, 2)))
    _, (_, process) = next(results)
    results.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"engine": "hadoop"}, "engine must be 'local', 'ray', 'spark', 'dask' or an engine, got 'hadoop'"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"engine": LocalEngine(1), "workers": 2}, "workers and threads are the engine's own"),
        ({"shard_size": "many"}, "shard_size must be a number of bytes, or one such as '64MB', got 'many'"),
        ({"id": "embedding"}, "id and embedding are both 'embedding'"),
    ],
)
def test_wrong_options(saved, lines, tmp_path, given, error):
    with pytest.raises(ValueError, match=error):
        encode(saved, lines, tmp_path / "out", **given)
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
    found = {int(child) for child in children}
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        found |= {int(child) for child in (task / "children").read_text().split()}
    process.kill()
    process.wait()
    assert len(found) == 2
    while any(Path(f"/proc/{child}").exists() for child in found) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{child}").exists() for child in found)


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


def test_a_job_that_is_interrupted_goes_on(saved, tmp_path, sentences, lines):
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


def test_engines_by_name():
    assert isinstance(engine_of("local", workers=2), LocalEngine)
    assert threading.active_count() >= 1
    assert Dying(None, Path("x"), 1).task == 1
