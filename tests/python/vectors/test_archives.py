"""Zip archives and gensim's files: unpacked while they are read, and no code in them is run."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

import sentencode as se

TEXT = "".join(f"w{i} {i} {i / 4} -1\n" for i in range(3000))


def zipped(path, members, **options):
    with zipfile.ZipFile(path, "w", **{"compression": zipfile.ZIP_DEFLATED, **options}) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "glove.txt"
    path.write_text(TEXT)
    return se.WordVectors.load(path).fingerprint


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_one_file(tmp_path, expected, compression):
    members = {"folder/": "", "folder/glove.txt": TEXT, "__MACOSX/folder/._glove.txt": "x"}
    path = zipped(tmp_path / "glove.zip", members, compression=compression)
    before = sorted(os.listdir(tmp_path))
    assert se.WordVectors.load(path).fingerprint == expected
    assert se.WordVectors.load(path, member="folder/glove.txt").fingerprint == expected
    assert sorted(os.listdir(tmp_path)) == before


def test_several_files(tmp_path, expected):
    path = zipped(tmp_path / "glove.6B.zip", {"glove.6B.50d.txt": "the 1 2\n", "glove.6B.300d.txt": TEXT})
    names = "'glove.6B.50d.txt', 'glove.6B.300d.txt'"
    with pytest.raises(
        ValueError, match=f"glove.6B.zip: a zip archive of several files; .*its member: {names}"
    ):
        se.WordVectors.load(path)
    assert se.WordVectors.load(path, member="glove.6B.300d.txt").fingerprint == expected
    with pytest.raises(ValueError, match=f"has no member 'x'; it has {names}"):
        se.WordVectors.load(path, member="x")


def test_each_member_is_cached_for_itself(tmp_path, monkeypatch):
    from sentencode.vectors import load as load_module

    monkeypatch.setattr(load_module, "_CACHED_FROM", 1)
    se.set_cache_dir(tmp_path / "cache")
    try:
        path = zipped(tmp_path / "two.zip", {"a": "x 1\n", "b": "y 2\n"})
        for _ in range(2):
            assert list(se.WordVectors.load(path, member="a")) == ["x"]
            assert list(se.WordVectors.load(path, member="b")) == ["y"]
    finally:
        se.set_cache_dir(None)


def test_progress_and_other_formats(tmp_path):
    seen = []
    path = zipped(tmp_path / "a.zip", {"a.txt": TEXT})
    se.WordVectors.load(path, progress=lambda *progress: seen.append(progress))
    assert seen[-1][0] == seen[-1][1] > 0
    (tmp_path / "plain.txt").write_text(TEXT)
    with pytest.raises(ValueError, match="is no zip archive, and has no member 'a'"):
        se.WordVectors.load(tmp_path / "plain.txt", member="a")
    se.WordVectors.from_dict({"a": [1]}).save(tmp_path / "native")
    with pytest.raises(se.FormatError, match=r"must be mapped, .*: unpack it first"):
        se.WordVectors.load(zipped(tmp_path / "n.zip", {"native": (tmp_path / "native").read_bytes()}))
    with pytest.raises(se.FormatError, match="a zip archive within another"):
        se.WordVectors.load(zipped(tmp_path / "z.zip", {"a.zip": path.read_bytes()}))


def test_more_than_32_bits_of_numbers(tmp_path, expected, monkeypatch):
    """The archive has 64-bit sizes, like that of GloVe's 5 GB."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 0)
    path = zipped(tmp_path / "a.zip", {"first": "x 1\n", "glove.txt": TEXT})
    assert b"PK\x06\x06" in path.read_bytes()
    assert se.WordVectors.load(path, member="glove.txt").fingerprint == expected


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    content = zipped(tmp_path / "a.zip", {"a": TEXT}).read_bytes()
    import threading

    thread = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content[:1000],))
    thread.start()
    with pytest.raises(OSError, match=r"cannot map .*pipe: it is a pipe"):
        se.WordVectors.load(tmp_path / "pipe")
    thread.join()


def test_unreadable_archives(tmp_path):
    with pytest.raises(se.FormatError, match="is packed by method 12 of zip"):
        se.WordVectors.load(zipped(tmp_path / "a.zip", {"a": TEXT}, compression=zipfile.ZIP_BZIP2))
    content = bytearray(zipped(tmp_path / "b.zip", {"a": TEXT}).read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "b.zip").write_bytes(content)
    with pytest.raises(se.FormatError, match="is encrypted"):
        se.WordVectors.load(tmp_path / "b.zip")
    with pytest.raises(se.FormatError, match="a zip archive without files"):
        se.WordVectors.load(zipped(tmp_path / "c.zip", {}))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damage(tmp_path, compression):
    whole = zipped(
        tmp_path / "a.zip", {"a": "".join(TEXT.splitlines(True)[:150])}, compression=compression
    ).read_bytes()
    expected = se.WordVectors.load(tmp_path / "a.zip").fingerprint
    for length in range(4, len(whole), 37):
        (tmp_path / "a.zip").write_bytes(whole[:length])
        with pytest.raises(se.FormatError, match=r"a.zip"):
            se.WordVectors.load(tmp_path / "a.zip")
    messages = []
    for position in range(4, len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        (tmp_path / "a.zip").write_bytes(damaged)
        try:
            assert se.WordVectors.load(tmp_path / "a.zip").fingerprint == expected  # a date may differ
        except (ValueError, OSError) as error:
            messages.append(str(error))
    assert len(messages) > len(whole) // 3
    assert all("a.zip" in text for text in messages)


def test_a_bomb_ends_where_its_size_does(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a": "x 1\n" + " " * 50_000_000})
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    struct.pack_into("<I", content, entry + 24, 4)  # it claims to be small
    path.write_bytes(content)
    with pytest.raises(se.FormatError, match="more data than it says"):
        se.WordVectors.load(path)


# --- gensim's KeyedVectors.save


@pytest.fixture
def keyed():
    gensim = pytest.importorskip("gensim.models")
    keyed_vectors = gensim.KeyedVectors(4)
    words = ["the", "cat", "schön"]
    keyed_vectors.add_vectors(words, np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
    for word, count in zip(words, (50, 3, 2), strict=True):
        keyed_vectors.set_vecattr(word, "count", count)
    return keyed_vectors


@pytest.mark.parametrize("separate_file", [False, True])
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_gensim_files(tmp_path, keyed, separate_file, protocol):
    path = tmp_path / "vectors.kv"
    keyed.save(str(path), pickle_protocol=protocol, **({"sep_limit": 0} if separate_file else {}))
    assert (tmp_path / "vectors.kv.vectors.npy").exists() == separate_file
    vectors = se.WordVectors.load(path, storage="float32")
    assert list(vectors) == keyed.index_to_key
    assert np.array_equal(vectors.matrix(), keyed.vectors)
    assert vectors.counts.tolist() == [50, 3, 2]
    assert list(se.WordVectors.load(path, words=["cat"], format="kv")) == ["cat"]
    assert list(se.WordVectors.load(path, limit=2)) == ["the", "cat"]
    if separate_file:
        (tmp_path / "vectors.kv.vectors.npy").unlink()
        with pytest.raises(FileNotFoundError, match=r"vectors.kv.vectors.npy"):
            se.WordVectors.load(path)


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/never-run-by-sentencode",)


@pytest.mark.parametrize("wrap", [lambda evil: evil, lambda evil: {"index_to_key": [evil]}])
def test_pickles_run_no_code(tmp_path, wrap):
    path = tmp_path / "evil.kv"
    path.write_bytes(pickle.dumps(wrap(Evil())))
    with pytest.raises(
        se.FormatError, match=r"evil.kv: UnpicklingError: contains posix.system, which is not data"
    ):
        se.WordVectors.load(path)
    assert not os.path.exists("/tmp/never-run-by-sentencode")


@pytest.mark.parametrize("content", [{}, [1], {"index_to_key": ["a"], "vectors": 1}])
def test_pickles_of_something_else(tmp_path, content):
    path = tmp_path / "other.kv"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(se.FormatError, match=r"other.kv: a pickle, but not of gensim's KeyedVectors"):
        se.WordVectors.load(path)


def test_whole_models_are_refused_with_the_way_out(tmp_path):
    models = pytest.importorskip("gensim.models")
    models.Word2Vec([["a", "b"]] * 5, vector_size=2, min_count=1).save(str(tmp_path / "w2v.model"))
    with pytest.raises(se.FormatError, match=r"which is not data; gensim's files .* \(save model.wv\)"):
        se.WordVectors.load(tmp_path / "w2v.model")


def test_damaged_pickles(tmp_path, keyed):
    path = tmp_path / "vectors.kv"
    keyed.save(str(path))
    whole = path.read_bytes()
    for length in range(2, len(whole), 11):
        path.write_bytes(whole[:length])
        with pytest.raises(se.FormatError, match=str(path)):
            se.WordVectors.load(path, format="kv")
    messages = []
    for position in range(2, len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            se.WordVectors.load(path, format="kv")
        except (se.FormatError, FileNotFoundError) as error:  # or the name of an array next to it
            messages.append(str(error))
    assert all(str(path) in text for text in messages)


def test_too_large_numbers(tmp_path):
    (tmp_path / "a.txt").write_text("a 1 2\nhuge 3e19 1\n")
    with pytest.raises(
        se.FormatError, match="line 2: number 1 of the vector of 'huge' is 3e\\+19, too large: squares"
    ):
        se.WordVectors.load(tmp_path / "a.txt")
    with pytest.raises(ValueError, match="number 2 of the vector of 'b' is -3e\\+38, too large: squares"):
        se.WordVectors.from_dict({"a": [1, 1], "b": [1, -3e38]})
    se.WordVectors.from_dict({"a": [1e19, 1e18], "b": [0, -1e-30]})
    with pytest.raises(ValueError, match="too large for float16"):
        se.WordVectors.from_dict({"a": [1, 70_000.0]}, storage="float16")


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04}r" + (2**29).to_bytes(4, "little") + b".",  # 16 bytes for each index up to this one, in C
        b"\x80\x05\x96" + (2**33).to_bytes(8, "little") + b".",  # a bytearray
    ],
)
def test_a_large_number_allocates_nothing(tmp_path, content):
    resource = pytest.importorskip("resource")
    path = tmp_path / "huge.kv"
    path.write_bytes(content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(se.FormatError, match=r"huge\.kv"):
        se.WordVectors.load(path, cache=False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**20  # KiB
