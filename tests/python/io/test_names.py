"""Files of any name that the system knows, and vectors that lie elsewhere than when they were saved."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.evaluation import Report

from .saved_files import TEXTS, WORDS, table

ODD = b"en\xffc"  # no UTF-8


@pytest.fixture(params=[bytes, str, Path])
def named(request, tmp_path):
    """A path of each kind to a name in a folder whose name is odd as well."""
    folder = os.fsencode(tmp_path) + b"/" + ODD
    os.mkdir(folder)
    as_given = {bytes: bytes, str: os.fsdecode, Path: lambda name: Path(os.fsdecode(name))}[request.param]
    return lambda name: as_given(folder + b"/" + name)


def test_every_reader_and_writer_takes_every_name(named):
    table().save(named(ODD))
    assert list(se.WordVectors.load(named(ODD))) == WORDS
    assert os.fsencode(se.WordVectors.load(named(ODD)).path) == os.fsencode(named(ODD))
    sif = se.SIF(se.WordVectors.load(named(ODD)), components=1).fit(TEXTS)
    sif.save(named(b"sif"))
    np.testing.assert_array_equal(se.load(named(b"sif")).encode(TEXTS), sif.encode(TEXTS))
    table().export(named(b"text\xff"))
    assert list(se.WordVectors.load(named(b"text\xff"))) == WORDS
    se.Vocabulary({"cat": 2, "dog": 1}).write(named(b"words\xff"))
    assert list(se.Vocabulary.read(named(b"words\xff")).words) == ["cat", "dog"]
    Report("one", {}).to_json(named(b"report\xff"))
    assert Report.load(named(b"report\xff")).encoder == "one"


def test_sentences_are_read_from_files_of_every_name(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + ODD))
    path.write_text("".join(f"{text}\n" for text in TEXTS))
    assert list(se.Corpus(path)) == TEXTS
    encoder = se.SIF(table(), components=1).fit(path)
    np.testing.assert_array_equal(encoder.encode(path), encoder.encode(TEXTS))


def test_errors_name_files_of_every_name(named):
    for load in (se.load, se.WordVectors.load, Report.load):
        with pytest.raises(FileNotFoundError) as caught:
            load(named(b"none\xff"))
        assert "none" in str(caught.value)
        with open(named(b"bad\xff"), "wb") as file:
            file.write(b'\x08\0\0\0\0\0\0\0{"a": }}')
        with pytest.raises(se.FormatError) as wrong:
            load(named(b"bad\xff"))
        assert os.fsdecode(b"bad\xff") in str(wrong.value)


def test_the_command_line_takes_every_name(tmp_path):
    folder = os.fsencode(tmp_path) + b"/" + ODD
    os.mkdir(folder)
    with open(folder + b"/in\xff", "w") as file:
        file.write("".join(f"{text}\n" for text in TEXTS))
    se.Average(table()).save(folder + b"/enc\xff")
    command = [sys.executable, "-m", "sentencode", "encode", "--quiet", "--encoder", folder + b"/enc\xff"]
    done = subprocess.run([*command, folder + b"/in\xff", folder + b"/out\xff"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert np.load(os.fsdecode(folder + b"/out\xff")).shape == (len(TEXTS), 4)


# --- vectors that are not part of an encoder's file


@pytest.fixture
def apart(tmp_path):
    """An encoder and its vectors in one folder."""
    folder = tmp_path / "here"
    (folder / "below").mkdir(parents=True)
    table().save(folder / "below" / "vectors")
    encoder = se.SIF(se.WordVectors.load(folder / "below" / "vectors"), components=1).fit(TEXTS)
    encoder.save(folder / "sif", vectors=False)
    return encoder, folder


def test_an_encoder_moves_together_with_its_vectors(apart, tmp_path):
    encoder, folder = apart
    moved = folder.rename(tmp_path / "there")
    np.testing.assert_array_equal(se.load(moved / "sif").encode(TEXTS), encoder.encode(TEXTS))
    assert b"here" not in (moved / "sif").read_bytes()


def test_vectors_are_taken_from_elsewhere(apart, tmp_path):
    encoder, folder = apart
    elsewhere = (folder / "below" / "vectors").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match="vectors"):
        se.load(folder / "sif")
    for vectors in (elsewhere, str(elsewhere), se.WordVectors.load(elsewhere, oov="mean")):
        found = se.load(folder / "sif", vectors=vectors)
        np.testing.assert_array_equal(found.encode(TEXTS), encoder.encode(TEXTS))
    table("float16").save(tmp_path / "others")
    with pytest.raises(se.FormatError, match="other word vectors than those given"):
        se.load(folder / "sif", vectors=tmp_path / "others")
    encoder.save(folder / "whole")
    with pytest.raises(ValueError, match="has its own word vectors"):
        se.load(folder / "whole", vectors=elsewhere)


def test_only_files_below_are_opened_unless_trusted(tmp_path):
    table().save(tmp_path / "vectors")
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "sif"
    encoder = se.SIF(se.WordVectors.load(tmp_path / "vectors"), components=1).fit(TEXTS)
    encoder.save(path, vectors=False)
    with pytest.raises(
        se.FormatError, match=r"not in its folder: give them as vectors=, or .*trust_vectors=True"
    ):
        se.load(path)
    for found in (se.load(path, trust_vectors=True), se.load(path, vectors=tmp_path / "vectors")):
        np.testing.assert_array_equal(found.encode(TEXTS), encoder.encode(TEXTS))


def test_what_is_no_regular_file_is_refused_at_once(apart):
    _, folder = apart
    (folder / "below" / "vectors").unlink()
    os.mkfifo(folder / "below" / "vectors")
    with pytest.raises(OSError, match="only a regular file can be mapped"):
        se.load(folder / "sif")
    (folder / "below" / "vectors").unlink()
    (folder / "below" / "vectors").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="only a regular file can be mapped"):
        se.load(folder / "sif")


# --- folders of data, of rows and of examples


def write_sts(data):
    """SentEval's folder with one small task."""
    folder = os.path.join(data, b"downstream", b"STS", b"STSBenchmark")
    os.makedirs(folder)
    for split in ("train", "dev", "test"):
        with open(os.path.join(folder, f"sts-{split}.csv".encode()), "w") as file:
            for i, (one, other) in enumerate(pairwise(TEXTS)):
                file.write(f"news\tdeft\t2014\t{i:04}\t{i % 5}.5\t{one}\t{other}\n")


def test_tasks_of_folders_of_every_name(named, tmp_path):
    data = named(b"data\xff")
    write_sts(os.fsencode(data))
    report = se.evaluate(
        se.Average(table()),
        "STSBenchmarkCosine",
        data,
        options={"similarity": "cosine"},
        partial=True,
        out=named(b"out\xff"),
        cache=named(b"cache\xff"),
        show_progress_bar=False,
    )
    assert report["STSBenchmarkCosine"].error is None
    again = Report.load(named(b"out\xff"))
    assert again["STSBenchmarkCosine"]["test"] == report["STSBenchmarkCosine"]["test"]
    assert os.listdir(named(b"cache\xff"))


def test_what_is_missing_in_folders_of_every_name_is_told(named):
    data = named(b"data\xff")
    write_sts(os.fsencode(data))
    report = se.evaluate(
        se.Average(table()), "all", data, options={"similarity": "cosine"}, partial=True, cache=False
    )
    assert set(report.results) == {"STSBenchmark", "STSBenchmarkCosine"}
    assert os.fsdecode(b"data\xff") in report.skipped["MR"]
    report.to_json(named(b"report\xff"))
    assert Report.load(named(b"report\xff")).skipped == report.skipped
    report.to_html(named(b"page\xff"))
    with open(named(b"page\xff"), encoding="utf-8") as file:
        assert r"data\udcff" in file.read()
    with pytest.raises(FileNotFoundError, match="data"):
        se.evaluate(se.Average(table()), "MR", data, cache=False)
    os.mkdir(named(b"none\xff"))
    with pytest.raises(ValueError, match=r"none of the tasks has its files in .*none"):
        se.evaluate(se.Average(table()), "all", named(b"none\xff"), cache=False)


def test_rows_and_sentences_of_files_of_every_name(named):
    from sentencode.evaluation import Precomputed, load_tsv_task

    rows = np.eye(len(TEXTS), 3, dtype=np.float32)
    with open(named(b"rows\xff.npy"), "wb") as file:
        np.save(file, rows)
    with open(named(b"lines\xff"), "w") as file:
        file.writelines(f"{text}\n" for text in TEXTS)
    given = Precomputed(named(b"lines\xff"), named(b"rows\xff.npy"))
    np.testing.assert_array_equal(given.encode(TEXTS[:2]), rows[:2])
    with open(named(b"task\xff"), "w") as file:
        file.write("sun\ta bright day\nrain\tit pours\n")
    assert len(load_tsv_task("classification", named(b"task\xff"))["all"].labels) == 2


def test_examples_of_files_of_every_name(named, tmp_path):
    from sentencode.training import Examples

    with open(named(b"lines\xff"), "w") as file:
        file.writelines(f"{text}\n" for text in TEXTS)
    words = se.Vocabulary(dict.fromkeys(WORDS, 1))
    path = named(b"examples\xff")
    for source in (Path(os.fsdecode(named(b"lines\xff"))), {"tokens": named(b"lines\xff")}):
        for tokenizer in ("whitespace", se.Tokenizer(str.split)):
            found = Examples.build(source, words, tokenizer, path=path)
            assert os.fsencode(found.path) == os.fsencode(path)
            assert "lines" in found.config["source"]
            assert len(Examples.open(path)) == len(found) > 3
            os.remove(path)
