"""Kinds of encoders, refused embeddings, and the cache."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")
text = pytest.importorskip("sklearn.feature_extraction.text")
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

sys.path.insert(0, str(Path(__file__).parent))
from toys import (
    Counting,
    WithEncode,
    classification,
    failing,
    ours,
    rows_of,
    run,
    similarity,
    some_sentences,
    written,
)

import sentencode as se
from sentencode.evaluation import (
    Kind,
    Report,
    Split,
    Task,
    embeddings,
    sentences_of,
)
from sentencode.evaluation.embeddings import Embedder

ENCODERS = {
    "function": rows_of,
    "encode": WithEncode(),
    "lists": lambda sentences: rows_of(sentences).tolist(),
    "float64": lambda sentences: rows_of(sentences).astype(float),
    "float16": lambda sentences: rows_of(sentences).astype(np.float16),
    "columns": lambda sentences: np.asfortranarray(rows_of(sentences)),
    "torch": lambda sentences: torch.from_numpy(rows_of(sentences)),
    "torch with a gradient": lambda sentences: torch.from_numpy(rows_of(sentences)).requires_grad_() * 1,
    "torch bfloat16": lambda sentences: torch.from_numpy(rows_of(sentences)).bfloat16(),
    "list of tensors": lambda sentences: list(torch.from_numpy(rows_of(sentences)).requires_grad_()),
    "list of bfloat16": lambda sentences: list(torch.from_numpy(rows_of(sentences)).bfloat16()),
    "list of arrays": lambda sentences: list(rows_of(sentences)),
}


def test_embeddings_that_depend_on_the_call_are_not_shared():
    vectors = ours().vectors
    tasks = [similarity("alike"), similarity("again", ("one",), seed=3)]
    both = run(se.SIF(vectors, statistics="evaluated"), tasks)
    for task in tasks:
        assert (
            run(se.SIF(vectors, statistics="evaluated"), [task])[task.name].figures == both[task.name].figures
        )


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS.keys())
def test_encoders_of_every_kind(encoder):
    report, expected = run(encoder), run(rows_of)
    assert report["mine"].error is None
    assert report["mine"]["acc"] == pytest.approx(expected["mine"]["acc"], abs=4)
    assert report["alike"]["all"]["pearson"]["wmean"] == pytest.approx(
        expected["alike"]["all"]["pearson"]["wmean"], abs=0.01
    )


def test_encoders_of_the_package_get_tokens():
    """Sums and means have the same cosines."""
    evaluated, expected = run(ours(), similarity()), run(rows_of, similarity())
    assert evaluated.encoder == "Average"
    assert evaluated["alike"]["one"]["pearson"][0] == pytest.approx(expected["alike"]["one"]["pearson"][0])
    seen = Counting(lambda sentences: rows_of([" ".join(tokens) for tokens in sentences]))
    run(seen, similarity(), tokens=True)
    assert all(isinstance(tokens, list) for call in seen.calls for tokens in call)


def test_scikit_learn_transformers():
    corpus = some_sentences(50, 9)
    sparse = text.TfidfVectorizer().fit(corpus)
    pipeline = make_pipeline(text.TfidfVectorizer(), TruncatedSVD(5)).fit(corpus)
    for encoder, name, dim in ((sparse, "TfidfVectorizer", 8), (pipeline, "Pipeline", 5)):
        report = run(encoder)
        assert (report.encoder, report.facts["dim"]) == (name, dim)
        assert report["mine"]["acc"] > 70


def test_names():
    assert run(rows_of, similarity()).encoder == "rows_of"
    assert run(rows_of, similarity(), name="mine").encoder == "mine"


def test_a_class_is_no_encoder():
    with pytest.raises(TypeError, match="the encoder is a class, SIF; expected an object of it"):
        run(se.SIF)


@pytest.mark.parametrize("encoder", [None, 5, "Average", np.zeros(3)])
def test_wrong_encoders(encoder):
    with pytest.raises(TypeError, match="an encoder has encode or transform"):
        run(encoder)


def test_an_encoder_that_is_not_fitted():
    vectors = se.WordVectors.from_array(["cat"], np.ones((1, 2), np.float32), [1])
    with pytest.raises(se.NotFittedError):
        run(se.SIF(vectors))


def test_fitted_and_fingerprint_of_other_libraries():
    class Theirs(WithEncode):
        fitted = False
        fingerprint = "abc"

    assert run(Theirs(), similarity())["alike"].error is None


def with_nan(sentences):
    rows = rows_of(sentences)
    rows[3, 1] = np.nan
    return rows


DEGENERATE = {
    "constant": (lambda s: np.ones((len(s), 3)), "gave the same embedding for all"),
    "zero": (lambda s: np.zeros((len(s), 3)), "gave the same embedding for all"),
    "NaN": (with_nan, "gave NaN or infinity for 1 of .* sentences, first for sentence 3"),
    "infinite": (lambda s: rows_of(s) / np.float32(0), "gave NaN or infinity"),
    "too large": (lambda s: rows_of(s).astype(float) * 1e300, "gave NaN or infinity"),
    "one number": (lambda s: 0.5, r"gave an array of shape \[\]"),
    "one row": (lambda s: rows_of(s)[0], r"gave an array of shape \[6\]"),
    "cubes": (lambda s: rows_of(s)[:, :, None], r"of shape \[\d+, 6, 1\] for \d+ sentences"),
    "no column": (lambda s: rows_of(s)[:, :0], r"of shape \[\d+, 0\]"),
    "fewer rows": (lambda s: rows_of(s)[:-1], r"of shape \[\d+, 6\] for \d+ sentences; expected \[\d+, d\]"),
    "more rows": (lambda s: rows_of([*s, "cat"]), r"expected \[\d+, d\]"),
    "nothing": (lambda s: None, "gave no array of numbers: it is NoneType"),
    "words": (lambda s: list(s), "gave no array of numbers"),
    "numbers in words": (lambda s: [["1", "2"]] * len(s), "gave no array of numbers: its type is str"),
    "complex": (lambda s: rows_of(s) * 1j, "gave no array of numbers: its type is complex"),
    "ragged": (lambda s: [[1.0] * (1 + i % 2) for i in range(len(s))], "gave no array of numbers"),
    "dictionary": (lambda s: {"rows": 1}, "gave no array of numbers: it is dict"),
    "failing": (failing, "raised OSError: the model is gone"),
}


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize(("encoder", "message"), DEGENERATE.values(), ids=DEGENERATE.keys())
def test_degenerate_encoders_have_no_score(encoder, message, tmp_path, caplog):
    report = run(encoder, cache=tmp_path, key="bad")
    for name in ("mine", "alike"):
        result = report.results[name]
        assert result.figures == {}
        assert re.search(message, result.error), result.error
        with pytest.raises(KeyError, match=message):
            report[name]["acc"]
    assert report.rows() == []
    assert report.averages == []
    assert "mine: no figure" in report.to_markdown()
    assert "no figures" in repr(report)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert list(tmp_path.iterdir()) == []
    assert Report.load(written(report, tmp_path)).results["mine"].error == report.results["mine"].error


def test_a_width_that_changes():
    encoder = Counting(lambda s: np.repeat(rows_of(s), len(encoder.calls), axis=1))
    report = run(encoder)
    assert report["mine"]["acc"] > 50
    assert "gave 12 dimensions, and 6 before" in report.results["alike"].error


def test_an_encoder_that_fails_once_is_evaluated_on_other_tasks():
    flaky = Counting(lambda s: rows_of(s) if len(flaky.calls) > 1 else failing(s))
    report = run(flaky)
    assert "the model is gone" in report.results["mine"].error
    assert report["alike"].error is None
    assert report.results["mine"].details["data"]


def test_the_traceback_of_a_failure_is_logged(caplog):
    with caplog.at_level(logging.WARNING, "sentencode"):
        run(failing, classification())
    assert "in failing" in caplog.text


def test_ctrl_c_is_not_an_encoders_fault():
    def stopped(sentences):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(stopped)


def test_every_distinct_sentence_is_encoded_once():
    seen = Counting()
    task = similarity()
    run(seen, task)
    (call,) = seen.calls
    assert len(call) == len(set(call))
    assert set(call) == {s for split in task.splits.values() for side in split.sentences for s in side}


def test_a_sentence_of_several_tasks_is_encoded_once():
    tasks = [similarity("a"), similarity("b"), similarity("c", seed=2), classification()]
    seen = Counting()
    report = run(seen, tasks)
    encoded = [sentence for call in seen.calls for sentence in call]
    assert len(encoded) == len(set(encoded))
    assert set(encoded) == set(sentences_of(*tasks))
    for task in tasks:
        assert report[task.name].figures == run(rows_of, task)[task.name].figures


def test_few_equal_embeddings_are_no_error():
    """The remaining sentences of a second task may have equal embeddings."""
    first = similarity("a")
    sides = tuple([*side, "moon cat", "cat moon"] for side in first["one"].sentences)
    labels = np.append(first["one"].labels, [1.0, 2.0])
    report = run(rows_of, [first, Task("b", {"test": Split(sides, labels)}, Kind("similarity", pairs=True))])
    assert report["b"].error is None


def test_embeddings_that_do_not_fit_in_memory_are_encoded_again(monkeypatch):
    monkeypatch.setattr(embeddings, "_MEMORY", 6 * 4 * 10)  # ten rows
    monkeypatch.setattr(embeddings, "_BLOCK", 7)
    seen = Counting()
    report = run(seen, [similarity("a"), similarity("b")])
    assert report["b"].figures == report["a"].figures
    again = [sentence for call in seen.calls[1:] for sentence in call]
    assert again == seen.calls[0][10:]
    assert {len(call) for call in seen.calls[1:-1]} == {7}


def test_embeddings_are_cached_on_disk(tmp_path):
    first, second, other = Counting(), Counting(), Counting()
    expected = run(first, cache=tmp_path, key="a")
    evaluated = run(second, cache=tmp_path, key="a")
    assert (len(first.calls), len(second.calls)) == (2, 0)
    assert evaluated["mine"].figures == expected["mine"].figures
    assert evaluated["alike"]["all"] == expected["alike"]["all"]
    assert evaluated.facts["dim"] == 6
    assert "sentences_per_second" not in evaluated.facts
    run(other, cache=tmp_path, key="b")
    assert len(other.calls) == 2
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy"}
    assert len(list(tmp_path.iterdir())) == 4


def test_without_a_key_nothing_is_cached(tmp_path):
    run(rows_of, cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_our_encoders_are_cached_by_fingerprint(tmp_path):
    run(ours(), cache=tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(times) == 2
    report = run(ours(), cache=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times
    assert "sentences_per_second" not in report.facts


def test_the_cache_is_in_its_place(tmp_path):
    before = se.cache_dir()
    se.set_cache_dir(tmp_path)
    try:
        run(rows_of, cache=True, key="a")
    finally:
        se.set_cache_dir(before)
    assert len(list((tmp_path / "embeddings").glob("*.npy"))) == 2


def test_directions_of_the_evaluated_sentences(tmp_path):
    sif = se.SIF(ours().vectors, statistics="evaluated")
    report = run(sif, similarity(), cache=tmp_path)
    assert [result.error for result in report.values()] == [None]
    assert not list(tmp_path.glob("*.npy"))  # they are of these sentences alone
    with pytest.raises(se.NotFittedError):
        run(se.SIF(ours().vectors), similarity())


def test_the_cache_depends_on_the_precision(tmp_path):
    for _ in range(2):
        run(rows_of, cache=tmp_path, key="a")
        with torch.autocast("cpu", torch.bfloat16):
            run(rows_of, cache=tmp_path, key="a")
    assert len(list(tmp_path.glob("*.npy"))) == 4


def truncated(path):
    path.write_bytes(path.read_bytes()[:-20])


def array(rows):
    return lambda path: np.save(path, rows(np.load(path)))


def flipped(position):
    def flip(path):
        content = bytearray(path.read_bytes())
        content[int(position * (len(content) - 1))] ^= 4
        path.write_bytes(content)

    return flip


def pages_swapped(path):
    content = path.read_bytes()
    assert len(content) > 1024
    path.write_bytes(content[:512] + content[768:1024] + content[512:768] + content[1024:])


def rows_alone(path):
    np.save(path, np.load(path))


DAMAGES = {
    "truncated": truncated,
    "without its checksum": rows_alone,
    **{f"a bit at {position}": flipped(position) for position in (0, 0.05, 0.3, 0.6, 0.9, 1)},
    "the last byte is gone": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "a byte too many": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "zeroed": lambda path: path.write_bytes(path.read_bytes()[:300] + bytes(path.stat().st_size - 300)),
    "swapped": pages_swapped,
    "empty": lambda path: path.write_bytes(b""),
    "header alone": lambda path: path.write_bytes(path.read_bytes()[:64]),
    "something else": lambda path: path.write_bytes(b"PK\x03\x04 no array"),
    "objects": lambda path: np.save(path, np.array([{}, None], dtype=object), allow_pickle=True),
    "fewer rows": array(lambda rows: rows[:-1]),
    "one dimension": array(lambda rows: rows[:, 0]),
    "NaN": array(lambda rows: rows * np.nan),
    "zeros": array(lambda rows: rows * 0),
    "words": array(lambda rows: rows.astype(str)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_not_trusted(damage, tmp_path, caplog):
    expected = run(rows_of, cache=tmp_path, key="a")
    for path in tmp_path.iterdir():
        damage(path)
    again, after = Counting(), Counting()
    evaluated = run(again, cache=tmp_path, key="a")
    assert len(again.calls) == 2
    assert caplog.text.count("is damaged, its sentences are encoded again") == 2
    assert evaluated["mine"].figures == expected["mine"].figures
    run(after, cache=tmp_path, key="a")
    assert after.calls == []


def test_checksums_of_long_files(tmp_path):
    """Cached embeddings are memory-mapped, bit-equal."""
    rows = np.random.default_rng(3).normal(size=(3000, 50)).astype(np.float32)
    sentences = [str(i) for i in range(len(rows))]
    embedder = Embedder(lambda s: rows, "mine", tmp_path, "a")
    embedder(sentences)
    cache = Embedder(Counting(), "mine", tmp_path, "a")
    again = cache(sentences)
    assert cache.encoder.calls == []
    assert np.array_equal(again, rows)
    assert isinstance(again.base, np.memmap)
    del again
    (path,) = tmp_path.iterdir()
    assert np.array_equal(np.load(path), rows)  # NumPy reads it too
    good = path.read_bytes()
    page = [good[i : i + 4096] for i in range(0, len(good), 4096)]
    bad = [b"".join([*page[:5], page[9], *page[6:9], page[5], *page[10:]])]
    for position in np.random.default_rng(4).integers(0, len(good), 40):
        bad.append(good[:position] + bytes([good[position] ^ (1 << (position % 8))]) + good[position + 1 :])
    for content in bad:
        path.write_bytes(content)
        anew = Embedder(Counting(lambda s: rows), "mine", tmp_path, "a")
        assert np.array_equal(anew(sentences), rows)
        assert len(anew.encoder.calls) == 1
        assert path.read_bytes() == good


def test_a_cache_that_cannot_be_written_is_noticed_first(tmp_path, caplog):
    (tmp_path / "file").touch()
    warned = []

    def encode(sentences):
        warned.append("embeddings are not cached: " in caplog.text)
        return rows_of(sentences)

    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        report = run(encode, similarity(), cache=folder, key="a")
        assert report["alike"].error is None
    assert warned == [True] * len(warned)
    caplog.clear()
    run(rows_of, similarity(), cache=tmp_path / "file")  # without a key nothing would be cached
    assert caplog.text == ""


def test_a_disk_that_is_full_loses_no_rows(tmp_path, caplog, monkeypatch):
    def full(file, rows):
        file.write(b"some of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    assert run(rows_of, similarity(), cache=tmp_path, key="a")["alike"].error is None
    assert "No space left on device" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_rows_of_another_version_of_ours_are_not_used(tmp_path, monkeypatch):
    for version, files in (("1.0", 1), ("1.1", 2)):
        monkeypatch.setattr("sentencode.encoder_rows.sentencode_version", version)
        run(ours(), similarity(), cache=tmp_path)
        assert len(list(tmp_path.iterdir())) == files
    for version in ("1.0", "1.1"):
        monkeypatch.setattr("sentencode.encoder_rows.sentencode_version", version)
        run(rows_of, similarity(), cache=tmp_path, key="theirs")
    assert len(list(tmp_path.iterdir())) == 3


def test_embeddings_of_another_function_are_not_reused(tmp_path):
    """Functions of a notebook often have the same name, or none."""
    vectors = ours().vectors

    def scores(tokenizer, cache=tmp_path):
        encoder = se.Average(vectors, tokenizer=tokenizer)
        return run(encoder, similarity(), cache=cache)["alike"].figures

    def first(count):
        return lambda text: text.split()[:count]

    assert scores(first(1)) != scores(first(5)) == scores(first(5), cache=False)
    assert len(list(tmp_path.rglob("*.npy"))) == 2
    assert (
        se.Average(vectors, tokenizer=first(1)).fingerprint()
        == se.Average(vectors, tokenizer=first(1)).fingerprint()
    )
    nested = [se.Concatenation([se.Average(vectors, tokenizer=first(n))]).fingerprint() for n in (1, 2)]
    assert nested[0] != nested[1]
    # Code that cannot be hashed: nothing is cached.
    unknown = iter("abc")
    assert scores(lambda text: text.split()[: 1 if unknown else 2]) == scores(first(1))
    assert len(list(tmp_path.rglob("*.npy"))) == 2
