"""Pipes and devices are read once, from their first byte to their last; what cannot be is refused at once."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import sentencode as se

WORDS = [f"w{i}" for i in range(5000)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
    vectors = se.WordVectors.from_array(WORDS, rows, np.arange(len(WORDS), 0, -1))
    vectors.export(folder / "glove", "glove")
    vectors.export(folder / "word2vec", "word2vec")
    vectors.export(folder / "binary", "word2vec_binary")
    (folder / "packed").write_bytes(gzip.compress((folder / "glove").read_bytes()))
    vectors.save(folder / "native")
    (folder / "counts").write_text("".join(f"{word} {i + 1}\n" for i, word in enumerate(WORDS)))
    (folder / "text").write_text("".join(f"w{i % 50} w{i % 7}\n" for i in range(20_000)))
    se.SIF(vectors).fit([" ".join(WORDS[:9]), "w1 w2"]).save(folder / "sif")
    return folder


@pytest.fixture
def pipe(tmp_path):
    """The path of a pipe into which a thread writes a file, once."""
    threads = []

    def make(file):
        path = tmp_path / f"pipe{len(threads)}"
        os.mkfifo(path)

        def write():
            try:
                with open(path, "wb") as opened:
                    opened.write(file.read_bytes())
            except BrokenPipeError:
                pass

        threads.append((path, threading.Thread(target=write, daemon=True)))
        threads[-1][1].start()
        return path

    yield make
    for path, thread in threads:
        while thread.is_alive():  # it was not read
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            thread.join(0.05)


@pytest.mark.parametrize("name", ["glove", "word2vec", "binary", "packed"])
@pytest.mark.parametrize("format", ["auto", None])
def test_vectors(files, pipe, name, format):
    format = format or {"binary": "word2vec_binary"}.get(name, "text")
    vectors = se.WordVectors.load(pipe(files / name), format=format)
    assert vectors.fingerprint == se.WordVectors.load(files / name, cache=False).fingerprint
    assert list(vectors) == WORDS


def test_progress(files, pipe):
    seen = []
    se.WordVectors.load(pipe(files / "glove"), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == ((files / "glove").stat().st_size, 0)


@pytest.mark.parametrize("format", ["auto", "native"])
def test_native_files_cannot_be_read_from_pipes(files, pipe, format):
    with pytest.raises(
        OSError, match=r"cannot map .*pipe0: it is a pipe or a device.*copy it into one first"
    ):
        se.WordVectors.load(pipe(files / "native"), format=format)
    for format in ("npz", "kv"):
        with pytest.raises(OSError, match="copy the pipe into a file"):
            se.WordVectors.load(pipe(files / "native"), format=format)


def test_a_mapped_file_waits_for_no_writer(tmp_path):
    os.mkfifo(tmp_path / "nobody")
    for load in (se.load, lambda path: se.WordVectors.load(path, format="native")):
        with pytest.raises(OSError, match="it is a pipe or a device"):
            load(tmp_path / "nobody")


def test_devices():
    with pytest.raises(se.FormatError, match="/dev/null: holds no vectors"):
        se.WordVectors.load("/dev/null")
    with pytest.raises(OSError, match="cannot map /dev/null: it is a pipe or a device"):
        se.load("/dev/null")
    assert list(se.Corpus("/dev/null")) == []
    with pytest.raises(ValueError, match="no word was counted"):
        se.SIF({"a": [1]}, frequencies="/dev/null").fit(["a"])


def test_counts(files, pipe):
    from_file, from_pipe = (se.Frequencies.read(path) for path in (files / "counts", pipe(files / "counts")))
    assert from_pipe == from_file
    assert from_pipe.vocabulary.total == 5000 * 5001 // 2


def test_corpora(files, pipe):
    corpus = se.Corpus(pipe(files / "text"))
    assert sum(1 for _ in corpus) == 20_000
    with pytest.raises(ValueError, match="pipe0, a pipe or a device, which can be read only once"):
        list(corpus)


def test_a_corpus_that_is_read_twice_is_buffered(files, pipe):
    def trained(path):
        return se.WordVectors.train(path, dim=3, window=2).fingerprint

    assert trained(pipe(files / "text")) == trained(files / "text")
    assert trained(se.Corpus(pipe(files / "text"))) == trained(files / "text")


def test_encoders_learn_from_them(files, pipe):
    vectors = se.WordVectors.load(files / "native")
    expected = se.SIF(vectors).fit(files / "text")
    fitted = se.SIF(vectors).fit(pipe(files / "text"))
    assert fitted.fingerprint() == expected.fingerprint()
    rows = se.SIF(vectors).fit_transform(pipe(files / "text"))
    np.testing.assert_array_equal(rows, expected.encode(files / "text"))


CODE = "import sys, sentencode as se; print(se.WordVectors.load(sys.argv[1]).fingerprint)"


def test_standard_input_and_process_substitution(files):
    expected = se.WordVectors.load(files / "glove").fingerprint
    load = [sys.executable, "-c", CODE]
    content = (files / "glove").read_bytes()
    piped = subprocess.run([*load, "/dev/stdin"], input=content, capture_output=True, check=True)
    assert piped.stdout.decode().strip() == expected
    with open(files / "glove", "rb") as file:
        redirected = subprocess.run([*load, "/dev/stdin"], stdin=file, capture_output=True, check=True)
    assert redirected.stdout.decode().strip() == expected
    shell = ["bash", "-c", '"$0" -c "$1" <(gzip -dc "$2")', sys.executable, CODE, str(files / "packed")]
    substituted = subprocess.run(shell, capture_output=True, check=True)
    assert substituted.stdout.decode().strip() == expected


@pytest.mark.parametrize("written", [None, b"w1 0.5 1\n" * 10])
def test_ctrl_c_ends_the_wait_for_a_writer(tmp_path, written):
    os.mkfifo(tmp_path / "pipe")
    code = f"import sentencode as se, sentencode._core; print('on', flush=True); {CODE.partition(';')[2]}"
    command = [sys.executable, "-c", f"import sys; {code}", str(tmp_path / "pipe")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"on\n"
    opened = None
    if written is not None:
        opened = os.open(tmp_path / "pipe", os.O_WRONLY)
        os.write(opened, written)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in error
    if opened is not None:
        os.close(opened)
