from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
import zipfile

import numpy as np
import pytest

import sentencode as se

LINES = ["One.", "Zwei 日本.", "Three."]
TEXT = "\ufeffOne.\r\nZwei 日本.\n\nThree."


def pack(path, data):
    if path.suffix == ".gz":
        half = len(data) // 2
        data = gzip.compress(data[:half]) + gzip.compress(data[half:])
    elif path.suffix == ".xz":
        data = lzma.compress(data)
    elif path.suffix == ".zst":
        data = pytest.importorskip("zstandard").compress(data)
    path.write_bytes(data)


@pytest.mark.parametrize("suffix", [".txt", ".gz", ".xz", ".zst"])
def test_files_of_every_kind(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    pack(path, TEXT.encode())
    corpus = se.Corpus(path)
    for _ in range(2):
        assert list(corpus) == LINES
    assert list(corpus.documents()) == [LINES[:2], LINES[2:]]
    assert corpus.files == [str(path)]
    assert list(pickle.loads(pickle.dumps(corpus))) == LINES


def test_folders_globs_and_lists(tmp_path):
    for name in ("b.txt", "a.txt", "sub/c.txt", "skip.log"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{path.stem}1\n{path.stem}2\n")
    assert list(se.Corpus(str(tmp_path / "*.txt"))) == ["a1", "a2", "b1", "b2"]
    assert list(se.Corpus(tmp_path)) == ["a1", "a2", "b1", "b2", "skip1", "skip2", "c1", "c2"]
    assert list(se.Corpus([tmp_path / "b.txt", tmp_path / "sub"])) == ["b1", "b2", "c1", "c2"]
    two = se.Corpus.from_files([str(tmp_path / "b.txt"), tmp_path / "a.txt"])
    assert list(two) == ["b1", "b2", "a1", "a2"]


def test_names_of_files_are_not_read_as_sentences(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x\n")
    with pytest.raises(ValueError, match=r"a list of file names, such as .*a\.txt'.*Corpus\.from_files"):
        se.Corpus([str(path)])
    assert list(se.Corpus([str(path), "a sentence"])) == [str(path), "a sentence"]


def test_missing_files_are_named(tmp_path):
    for path in (tmp_path / "nothing.txt", tmp_path / "*.gz"):
        with pytest.raises(FileNotFoundError, match=path.name.replace("*", r"\*")):
            se.Corpus(path)
    path = tmp_path / "gone.txt"
    path.write_text("x")
    corpus = se.Corpus(path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"gone\.txt"):
        list(corpus)


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"some text\n" * 1000)[:-20])
    with pytest.raises(se.FormatError, match=r"cut\.gz"):
        list(se.Corpus(path))


def test_other_packing_is_refused(tmp_path):
    packed = bz2.compress(b"One.\nTwo.\n")
    (tmp_path / "a.bz2").write_bytes(packed)
    (tmp_path / "b.txt").write_bytes(packed)
    (tmp_path / "c").write_bytes(bz2.compress(b""))
    (tmp_path / "d.ZIP").write_bytes(b"")
    with zipfile.ZipFile(tmp_path / "e.txt", "w") as archive:
        archive.writestr("one.txt", "One.")
    for name, packing in {
        "a.bz2": "bzip2",
        "b.txt": "bzip2",
        "c": "bzip2",
        "d.ZIP": "zip",
        "e.txt": "zip",
    }.items():
        for source in (tmp_path / name, [tmp_path / name]):
            with pytest.raises(
                se.FormatError, match=f"{name}: is compressed by {packing}, which is not supported; use plain"
            ):
                se.Corpus(source)
    with pytest.raises(se.FormatError, match=r"a\.bz2"):
        se.Corpus(tmp_path)
    with open(tmp_path / "f.txt", "wb") as file:
        np.save(file, np.zeros(2))
    (tmp_path / "g.txt").write_bytes(b"PAR1\x15\x04")
    for name, kind in {"f": "an array of NumPy", "g": "a Parquet file"}.items():
        with pytest.raises(se.FormatError, match=rf"{name}\.txt: is {kind}, not text"):
            se.Corpus(tmp_path / f"{name}.txt")
    (tmp_path / "text").write_text("BZh stands for nothing.\nPK neither.\n")
    assert len(list(se.Corpus(tmp_path / "text"))) == 2


def test_iterables_end_documents_as_files_do():
    sentences = ["a", "b", " ", "", "c"]
    tokens = [[text] if text.strip() else [] for text in sentences]
    for source in (sentences, lambda: iter(sentences), tokens):
        corpus = se.Corpus(source)
        for _ in range(2):
            assert [len(document) for document in corpus.documents()] == [2, 1]
    assert list(se.Corpus(sentences)) == ["a", "b", "c"]
    assert list(se.Corpus(sentences, keep_empty=True)) == sentences
    assert list(se.Corpus([])) == []


def test_iterators_are_read_once():
    corpus = se.Corpus(iter(["a", "b"]))
    assert list(corpus) == ["a", "b"]
    with pytest.raises(ValueError, match="can be read only once"):
        list(corpus)


def test_batches_are_the_cores_own(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"S {i}\n" for i in range(10)))
    progress = []
    batches = list(se.Corpus(path).batches(4, on_progress=lambda done, whole: progress.append((done, whole))))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert progress[-1] == (path.stat().st_size, path.stat().st_size)
    tokenizer = se.Tokenizer("whitespace", lowercase=True)
    assert [tokens for batch in batches for tokens in tokenizer(batch)] == [["s", str(i)] for i in range(10)]
    assert batches[2].to_list() == ["S 8", "S 9"]
    external = se.Tokenizer(str.split)
    assert external(batches[2]) == [["S", "8"], ["S", "9"]]
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        list(se.Corpus(path).batches(0))


def texts_of(batch):
    return batch if isinstance(batch, list) else batch.to_list()


def test_repr(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x")
    assert repr(se.Corpus(path)) == f"Corpus({str(path)!r})"
    assert repr(se.Corpus([path, path], keep_empty=True)) == "Corpus(<2 files>, keep_empty=True)"
    assert repr(se.Corpus(["a"])) == "Corpus(<list>)"


@pytest.mark.parametrize("wrong", [None, 5, float("nan"), {"text": "a"}])
def test_items_that_are_no_sentences_are_named(wrong):
    for read in (list, lambda corpus: list(corpus.documents()), se.Average({"a": [1.0]}).encode):
        with pytest.raises(TypeError, match=rf"sentences\[5000\] is {type(wrong).__name__} "):
            read(se.Corpus(["a"] * 4999 + ["", wrong]))
    assert list(se.Corpus([b"a", ["a", "b"], ("c",)])) == [b"a", ["a", "b"], ("c",)]
