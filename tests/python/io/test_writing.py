"""Files are there whole or not at all, and nothing is left of writers that were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import sentencode as se
from sentencode import cache as cache_module
from sentencode.files import whole_file
from sentencode.vectors import load as load_module

from .saved_files import WORDS, table

HOLD = """
import sys, time
from sentencode.files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(bytes(1000)); file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def writer(path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    return process


def end(process):
    process.kill()
    process.communicate()


@pytest.mark.parametrize("write", ["whole_file", "save"])
def test_only_temporary_files_of_dead_processes_are_removed(tmp_path, write):
    path = tmp_path / "file"
    killed, alive = writer(path), writer(path)
    other = writer(tmp_path / "other")
    try:
        end(killed)
        end(other)
        assert len(os.listdir(tmp_path)) == 3
        if write == "save":
            table().save(path)
        else:
            with whole_file(path) as file:
                file.write(b"all")
        left = sorted(name.split("-part-")[0] for name in os.listdir(tmp_path))
        assert left == ["file", "file.sentencode", "other.sentencode"], (
            "that of another file is its own writer's"
        )
        assert any(str(alive.pid) in name for name in os.listdir(tmp_path))
    finally:
        end(alive)


def test_other_files_with_similar_names_stay(tmp_path):
    for name in (
        "file.part-1-2",
        "file.sentencode-part-1",
        "file.sentencode-part-1-2-x",
        "file.sentencode-part-a-1",
        "file.part",
        "file2.sentencode-part-1-2",
    ):
        (tmp_path / name).write_text("mine")
    with whole_file(tmp_path / "file") as file:
        file.write(b"all")
    assert len(os.listdir(tmp_path)) == 7


@pytest.mark.parametrize("name", ["x" * 255, "\u00e4" * 127])
def test_names_may_be_as_long_as_the_system_allows(tmp_path, name):
    beginning = name.encode()[:200].decode()
    (tmp_path / f"{beginning}.sentencode-part-1-2").write_text("of a killed writer")
    with whole_file(tmp_path / name) as file:
        file.write(b"all")
    assert os.listdir(tmp_path) == [name]


def test_a_forked_process_leaves_the_file_of_its_parent(tmp_path):
    code = """
import os, sys
from sentencode.files import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"all")
    file.flush()
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "file")], check=True)
    assert (tmp_path / "file").read_bytes() == b"all"


def test_permissions_and_links_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("before")
    real.chmod(0o640)
    link.symlink_to(real)
    with whole_file(link, follow_link=True) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert real.read_text() == "after"
    assert real.stat().st_mode & 0o777 == 0o640
    with whole_file(link) as file:
        file.write(b"its own")
    assert not link.is_symlink()
    assert (link.read_text(), real.read_text()) == ("its own", "after")


def test_failed_writes_leave_no_files(tmp_path):
    def fail():
        with whole_file(tmp_path / "file") as file:
            file.write(b"half")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fail()
    assert os.listdir(tmp_path) == []


# --- the cache of parsed vectors


@pytest.fixture
def cache(tmp_path, monkeypatch):
    se.set_cache_dir(tmp_path / "cache")
    monkeypatch.setattr(load_module, "_CACHED_FROM", 100)
    yield tmp_path / "cache" / "vectors"
    se.set_cache_dir(None)


def text_file(path, seed=0):
    rows = np.random.default_rng(seed).normal(size=(len(WORDS), 4))
    path.write_text("".join(f"{w} {' '.join(map(str, row))}\n" for w, row in zip(WORDS, rows, strict=True)))
    return path


def test_the_cache_is_bounded_and_keeps_files_in_use(cache, tmp_path, monkeypatch):
    used = se.WordVectors.load(text_file(tmp_path / "used"))
    size = os.path.getsize(used.path)
    monkeypatch.setattr(cache_module, "_MOST_BYTES", 3 * size)
    for i in range(3):
        se.WordVectors.load(text_file(tmp_path / f"{i}", i + 1))
        time.sleep(0.01)
    assert len(os.listdir(cache)) == 3
    se.WordVectors.load(tmp_path / "1")  # used once more: it stays longer
    se.WordVectors.load(text_file(tmp_path / "3", 9))
    first = {name.split("-")[0] for name in os.listdir(cache)}
    expected = {
        load_module._cache_file(str(tmp_path / name), []).name.split("-")[0] for name in ("used", "1", "3")
    }
    assert first == expected
    assert os.path.exists(used.path), "the oldest, but it is mapped"


def test_a_damaged_row_of_the_cache_is_read_anew(cache, tmp_path, caplog):
    path = text_file(tmp_path / "text")
    rows = se.WordVectors.load(path).matrix()
    (cached,) = cache.iterdir()
    content = bytearray(cached.read_bytes())
    content[-len(WORDS) - 60] ^= 1
    cached.write_bytes(content)
    np.testing.assert_array_equal(se.WordVectors.load(path).matrix(), rows)
    assert "read again" in caplog.text


def test_the_cache_is_cleaned_of_the_killed(cache, tmp_path):
    cache.mkdir(parents=True)
    end(writer(cache / "gone.vectors"))
    se.WordVectors.load(text_file(tmp_path / "text"))
    assert all(".sentencode-part-" not in name for name in os.listdir(cache))


FULL = """
import resource, sys
from sentencode.files import whole_file
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with whole_file(sys.argv[1]) as file:
        file.write(b"x" * int(sys.argv[2]))
except OSError as error:
    print(error.filename)
"""


@pytest.mark.parametrize("size", [2000, 1 << 20])  # buffered until the file is closed, and not
def test_a_file_that_has_no_room_is_named(tmp_path, size):
    path = tmp_path / "file"
    command = [sys.executable, "-c", FULL, path, str(size)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{path}\n"
    assert os.listdir(tmp_path) == []
