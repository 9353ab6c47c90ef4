"""Precomputed embeddings."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

import sentencode as se
from sentencode.errors import FormatError
from sentencode.evaluation import Kind, Precomputed, Report, Split, Task, sentences_of

SENTENCES = [f"word{i % 7} word{i} caf\xe9 \U0001f600" for i in range(40)] + [""]
ROWS = np.random.default_rng(0).normal(size=(41, 5)).astype(np.float32)
SCORES = np.random.default_rng(1).uniform(0, 5, size=20)


def task():
    return Task(
        "alike", {"test": Split((SENTENCES[:20], SENTENCES[20:40]), SCORES)}, Kind("similarity", pairs=True)
    )


def looked_up(sentences):
    return ROWS[[SENTENCES.index(sentence) for sentence in sentences]]


def run(encoder, **options):
    return se.evaluate(encoder, task(), resamples=20, **{"cache": False, **options})


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    (tmp_path / "sentences.txt").write_text("".join(f"{s}\n" for s in SENTENCES), encoding="utf-8")
    with gzip.open(tmp_path / "sentences.txt.gz", "wt", encoding="utf-8") as file:
        file.writelines(f" {s.replace(' ', chr(9))} \n" for s in SENTENCES)
    return tmp_path


def test_precomputed_embeddings_replace_an_encoder():
    report = run(Precomputed(SENTENCES, ROWS, "mine"))
    assert report.encoder == "mine"
    assert report["alike"].figures == run(looked_up)["alike"].figures
    assert run(Precomputed(SENTENCES, ROWS)).encoder == "Precomputed"
    tokens = run(Precomputed([s.split() for s in SENTENCES], ROWS), tokens=True)
    assert tokens["alike"].figures == report["alike"].figures


@pytest.mark.parametrize("name", ["sentences.txt", "sentences.txt.gz"])
def test_files(files, name):
    for kind in (str, lambda path: path):
        encoder = Precomputed(kind(files / name), kind(files / "rows.npy"))
        assert isinstance(encoder.rows, np.memmap)
        np.testing.assert_array_equal(encoder.encode([*SENTENCES[::-1]]), ROWS[::-1])
        assert run(encoder).encoder == "rows"


def test_files_of_sentencode_encode(tmp_path):
    from sentencode.cli import main

    text = tmp_path / "sentences.txt"
    text.write_text("".join(f"{s}\n" for s in sentences_of(task())), encoding="utf-8")
    words = sorted({word for s in SENTENCES for word in s.split()})
    vectors = se.WordVectors.from_array(words, np.random.default_rng(3).normal(size=(len(words), 4)))
    average = se.Average(vectors, tokenizer="whitespace")
    average.save(tmp_path / "average.sentencode")
    arguments = ["--encoder", tmp_path / "average.sentencode", text, tmp_path / "rows.npy", "--quiet"]
    assert main(["encode", *map(str, arguments)]) == 0
    evaluated = run(Precomputed(text, tmp_path / "rows.npy"))
    assert evaluated["alike"].figures == run(average)["alike"].figures


def test_sentences_that_are_missing():
    report = run(Precomputed(SENTENCES[:-3], ROWS[:-3], "short"))
    assert "2 of 40 sentences have no row among the 38 of short" in report.results["alike"].error
    assert f"the first of them: {SENTENCES[38]!r}" in report.results["alike"].error


def test_the_fingerprint_is_of_the_content(files):
    fingerprint = Precomputed(SENTENCES, ROWS).fingerprint()
    assert Precomputed(files / "sentences.txt", files / "rows.npy", "other").fingerprint() == fingerprint
    changed = ROWS.copy()
    changed[40, 4] += 1e-3
    others = [
        Precomputed(SENTENCES, changed),
        Precomputed(SENTENCES, ROWS.astype(np.float64)),
        Precomputed([*SENTENCES[:-1], "."], ROWS),
        Precomputed([*SENTENCES[1::-1], *SENTENCES[2:]], ROWS),
    ]
    assert len({fingerprint, *(other.fingerprint() for other in others)}) == 5


def test_embeddings_are_not_cached_and_reports_resume(tmp_path):
    out = tmp_path / "report.json"
    report = run(Precomputed(SENTENCES, ROWS), cache=tmp_path / "kept", out=out)
    assert not (tmp_path / "kept").exists()
    assert "sentences_per_second" not in report.facts  # a look-up is no encoder
    run(Precomputed(SENTENCES, ROWS), out=out)
    assert Report.load(out)["alike"].figures == report["alike"].figures
    with pytest.raises(ValueError, match="is the report of another encoder"):
        run(Precomputed(SENTENCES, 2 * ROWS), out=out)


def test_sentences_that_are_there_twice():
    noisy = np.vstack([ROWS, ROWS[3] * (1 + 1e-3)])
    np.testing.assert_array_equal(
        Precomputed([*SENTENCES, SENTENCES[3]], noisy).encode([SENTENCES[3]]), ROWS[3:4]
    )
    with pytest.raises(ValueError, match=r"rows 4 and 41 differ, but both are of the sentence 'word4 word4"):
        Precomputed([*SENTENCES, SENTENCES[4]], noisy)


def test_embeddings_in_the_order_of_a_task():
    encoder = Precomputed.of_task(task(), {"test": (ROWS[:20], ROWS[20:40])}, "aligned")
    assert run(encoder)["alike"].figures == run(looked_up)["alike"].figures
    single = Task(
        "one", {"all": Split((SENTENCES[:20],), np.arange(20) % 2)}, Kind("classification", "nested")
    )
    np.testing.assert_array_equal(
        Precomputed.of_task(single, {"all": ROWS[:20]}).encode(SENTENCES[:2]), ROWS[:2]
    )
    for rows, message in (
        ({}, "rows of alike have no 'test'; there are none"),
        ({"test": (ROWS[:20], ROWS[:19])}, "expected two arrays of 20 rows, got 20 and 19"),
        ({"test": ROWS[:20]}, "expected two arrays of 20 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            Precomputed.of_task(task(), rows)
    with pytest.raises(ValueError, match="expected an array of 20 rows, got 19"):
        Precomputed.of_task(single, {"all": ROWS[:19]})


def test_sentences_of_tasks():
    assert sentences_of(task(), task()) == SENTENCES[:40]


def test_wrong_arguments(files):
    with pytest.raises(ValueError, match="rows has 40 rows for 41 sentences of sentences"):
        Precomputed(SENTENCES, ROWS[:-1])
    with pytest.raises(ValueError, match=r"rows.npy has 41 rows for 40 sentences of sentences"):
        Precomputed(SENTENCES[:-1], files / "rows.npy")
    with pytest.raises(ValueError, match=r"rows must be numbers \[sentences, d\], is float32 of shape \[5\]"):
        Precomputed(SENTENCES, ROWS[0])
    with pytest.raises(ValueError, match=r"rows must be numbers \[sentences, d\], is <U1"):
        Precomputed(SENTENCES, np.array([["a"]]))
    with pytest.raises(FileNotFoundError, match=r"nowhere.npy"):
        Precomputed(SENTENCES, files / "nowhere.npy")
    with pytest.raises(FileNotFoundError, match=r"nowhere.txt"):
        Precomputed(files / "nowhere.txt", ROWS)
    for content in (b"", b"no array", (files / "rows.npy").read_bytes()[:-40]):
        (files / "bad.npy").write_bytes(content)
        with pytest.raises(FormatError, match=r"bad.npy: not an array of NumPy"):
            Precomputed(SENTENCES, files / "bad.npy")
