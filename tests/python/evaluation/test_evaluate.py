"""`evaluate` from end to end: encoders of every kind and such as cannot be judged, what is kept, reports."""

from __future__ import annotations

import functools
import json
import logging
import os
import re
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")
text = pytest.importorskip("sklearn.feature_extraction.text")
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import sentencode as se
from sentencode.code_digest import code_digest
from sentencode.errors import FormatError
from sentencode.evaluation import (
    PROTOCOLS,
    Curve,
    Kind,
    Report,
    Split,
    Task,
    TaskResult,
    embeddings,
    sentences_of,
    task_names,
)
from sentencode.evaluation.data import digest_of
from sentencode.evaluation.embeddings import Embedder
from sentencode.evaluation.judging.classifiers import Adam, Optimum
from sentencode.evaluation.judging.intervals import Interval
from sentencode.evaluation.judging.results import Judged
from sentencode.evaluation.report.averages import averages_of

WORDS = ["good", "bad", "film", "plot", "cat", "dog", "sun", "moon"]
TABLE = dict(zip(WORDS, np.random.default_rng(5).normal(size=(8, 6)).astype(np.float32), strict=True))
PAIR = ("|u-v|", "u*v")


def rows_of(sentences):
    return np.stack([sum((TABLE[word] for word in s.split()), np.zeros(6, np.float32)) for s in sentences])


def some_sentences(n, seed):
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, 5))) for _ in range(n)]


def labels_of(sentences):
    return np.array([int("good" in s or "sun" in s) for s in sentences])


def classification(name="mine", n=60):
    sentences = some_sentences(n, 0)
    kind = Kind("classification", "nested", features=("u",))
    return Task(name, {"all": Split((sentences,), labels_of(sentences))}, kind, ("no", "yes"))


def similarity(name="alike", subsets=("one", "two"), seed=1):
    splits = {}
    for i, subset in enumerate(subsets):
        first, second = (some_sentences(30 + 10 * i, seed + 2 * i + j) for j in range(2))
        shared = [len(set(a.split()) & set(b.split())) for a, b in zip(first, second, strict=True)]
        splits[subset] = Split((first, second), np.array(shared, dtype=float))
    return Task(name, splits, Kind("similarity", pairs=True, subsets=len(subsets) > 1))


def relatedness(name="mine"):
    splits = {
        split: similarity(subsets=("one",), seed=seed)["one"]
        for seed, split in enumerate(("train", "dev", "test"))
    }
    return Task(name, splits, Kind("relatedness", "dev", pairs=True, features=PAIR))


def run(encoder, tasks=None, **options):
    options = {"protocol": "fast", "resamples": 50, "cache": False, **options}
    return se.evaluate(encoder, tasks or [classification(), similarity()], **options)


def ours():
    return se.Average(se.WordVectors.from_array(list(TABLE), np.stack(list(TABLE.values()))))


class WithEncode:
    def encode(self, sentences, batch_size=32, show_progress_bar=True):
        assert not show_progress_bar, "it would draw a bar for every task"
        return rows_of(sentences)


class Counting:
    """A function from sentences to rows that counts its sentences."""

    def __init__(self, encode=rows_of):
        self.encode_, self.calls = encode, []

    def __call__(self, sentences):
        self.calls.append(list(sentences))
        return self.encode_(sentences)


# --- encoders of every kind ---

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


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS.keys())
def test_encoders_of_every_kind(encoder):
    report, expected = run(encoder), run(rows_of)
    assert report["mine"].error is None
    assert report["mine"]["acc"] == pytest.approx(expected["mine"]["acc"], abs=4)
    assert report["alike"]["all"]["pearson"]["wmean"] == pytest.approx(
        expected["alike"]["all"]["pearson"]["wmean"], abs=0.01
    )


def test_our_own_encoders_get_tokens():
    """Sums and means have the same cosines."""
    found, expected = run(ours(), similarity()), run(rows_of, similarity())
    assert found.encoder == "Average"
    assert found["alike"]["one"]["pearson"][0] == pytest.approx(expected["alike"]["one"]["pearson"][0])
    seen = Counting(lambda given: rows_of([" ".join(tokens) for tokens in given]))
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


@pytest.mark.parametrize("encoder", [None, 5, "Average", np.zeros(3)])
def test_what_is_no_encoder(encoder):
    with pytest.raises(TypeError, match="an encoder has encode or transform"):
        run(encoder)


def test_an_encoder_that_is_not_fitted():
    vectors = se.WordVectors.from_array(["cat"], np.ones((1, 2), np.float32), [1])
    with pytest.raises(se.NotFittedError):
        run(se.SIF(vectors))


# --- encoders that cannot be judged ---


def with_nan(sentences):
    rows = rows_of(sentences)
    rows[3, 1] = np.nan
    return rows


def failing(sentences):
    raise OSError("the model is gone")


DEGENERATE = {
    "constant": (lambda s: np.ones((len(s), 3)), "gave the same row for all"),
    "zero": (lambda s: np.zeros((len(s), 3)), "gave the same row for all"),
    "NaN": (with_nan, "gave NaN or infinity for 1 of .* sentences, the first of them number 3"),
    "infinite": (lambda s: rows_of(s) / np.float32(0), "gave NaN or infinity"),
    "too large": (lambda s: rows_of(s).astype(float) * 1e300, "gave NaN or infinity"),
    "one number": (lambda s: 0.5, r"gave an array of the shape \[\]"),
    "one row": (lambda s: rows_of(s)[0], r"gave an array of the shape \[6\]"),
    "cubes": (lambda s: rows_of(s)[:, :, None], r"the shape \[\d+, 6, 1\] for \d+ sentences"),
    "no column": (lambda s: rows_of(s)[:, :0], r"the shape \[\d+, 0\]"),
    "fewer rows": (lambda s: rows_of(s)[:-1], r"the shape \[\d+, 6\] for \d+ sentences; expected \[\d+, d\]"),
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


def written(report, folder):
    report.to_json(folder / "report.json")
    return folder / "report.json"


def test_a_width_that_changes():
    wide = Counting(lambda s: np.repeat(rows_of(s), len(wide.calls), axis=1))
    report = run(wide)
    assert report["mine"]["acc"] > 50
    assert "gave rows of 12 numbers, and of 6 before" in report.results["alike"].error


def test_an_encoder_that_fails_once_is_judged_by_the_rest():
    flaky = Counting(lambda s: rows_of(s) if len(flaky.calls) > 1 else failing(s))
    report = run(flaky)
    assert "the model is gone" in report.results["mine"].error
    assert report["alike"].error is None
    assert report.results["mine"].details["data"]


def test_the_traceback_of_what_failed_is_logged(caplog):
    with caplog.at_level(logging.WARNING, "sentencode"):
        run(failing, classification())
    assert "in failing" in caplog.text


def test_ctrl_c_is_not_an_encoders_fault():
    def stopped(sentences):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(stopped)


# --- what is encoded, and what is kept ---


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


def test_few_rows_that_are_alike_are_no_fault():
    """Of a second task, all that is left to be encoded may have the same row."""
    first = similarity("a")
    sides = tuple([*side, "moon cat", "cat moon"] for side in first["one"].sentences)
    labels = np.append(first["one"].labels, [1.0, 2.0])
    report = run(rows_of, [first, Task("b", {"test": Split(sides, labels)}, Kind("similarity", pairs=True))])
    assert report["b"].error is None


def test_what_does_not_fit_is_encoded_again(monkeypatch):
    monkeypatch.setattr(embeddings, "_REMEMBERED", 6 * 4 * 10)  # ten rows
    monkeypatch.setattr(embeddings, "_AT_ONCE", 7)
    seen = Counting()
    report = run(seen, [similarity("a"), similarity("b")])
    assert report["b"].figures == report["a"].figures
    again = [sentence for call in seen.calls[1:] for sentence in call]
    assert again == seen.calls[0][10:]
    assert {len(call) for call in seen.calls[1:-1]} == {7}


def test_rows_are_kept_on_disk(tmp_path):
    first, second, other = Counting(), Counting(), Counting()
    expected = run(first, cache=tmp_path, key="a")
    found = run(second, cache=tmp_path, key="a")
    assert (len(first.calls), len(second.calls)) == (2, 0)
    assert found["mine"].figures == expected["mine"].figures
    assert found["alike"]["all"] == expected["alike"]["all"]
    assert found.facts["dim"] == 6
    assert "sentences_per_second" not in found.facts
    run(other, cache=tmp_path, key="b")
    assert len(other.calls) == 2
    assert {path.suffix for path in tmp_path.iterdir()} == {".npy"}
    assert len(list(tmp_path.iterdir())) == 4


def test_without_a_key_nothing_is_kept(tmp_path):
    run(rows_of, cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_our_encoders_have_a_key_of_their_own(tmp_path):
    run(ours(), cache=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(kept) == 2
    report = run(ours(), cache=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept
    assert "sentences_per_second" not in report.facts


def test_the_cache_is_in_its_place(tmp_path):
    before = se.cache_dir()
    se.set_cache_dir(tmp_path)
    try:
        run(rows_of, cache=True, key="a")
    finally:
        se.set_cache_dir(before)
    assert len(list((tmp_path / "embeddings").glob("*.npy"))) == 2


def truncated(path):
    path.write_bytes(path.read_bytes()[:-20])


def array(rows):
    return lambda path: np.save(path, rows(np.load(path)))


def flipped(place):
    def flip(path):
        content = bytearray(path.read_bytes())
        content[int(place * (len(content) - 1))] ^= 4
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
    **{f"a bit at {place}": flipped(place) for place in (0, 0.05, 0.3, 0.6, 0.9, 1)},
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
    found = run(again, cache=tmp_path, key="a")
    assert len(again.calls) == 2
    assert caplog.text.count("is damaged, its sentences are encoded again") == 2
    assert found["mine"].figures == expected["mine"].figures
    run(after, cache=tmp_path, key="a")
    assert after.calls == []


def test_checksums_of_long_files(tmp_path):
    """Every bit counts, and so do the places of pages; the rows are mapped and not read."""
    rows = np.random.default_rng(3).normal(size=(3000, 50)).astype(np.float32)
    sentences = [str(i) for i in range(len(rows))]
    embedder = Embedder(lambda s: rows, "mine", tmp_path, "a")
    embedder(sentences)
    kept = Embedder(Counting(), "mine", tmp_path, "a")
    again = kept(sentences)
    assert kept.encoder.calls == []
    assert np.array_equal(again, rows)
    assert isinstance(again.base, np.memmap)
    del again
    (path,) = tmp_path.iterdir()
    assert np.array_equal(np.load(path), rows)  # NumPy reads it too
    good = path.read_bytes()
    page = [good[i : i + 4096] for i in range(0, len(good), 4096)]
    bad = [b"".join([*page[:5], page[9], *page[6:9], page[5], *page[10:]])]
    for place in np.random.default_rng(4).integers(0, len(good), 40):
        bad.append(good[:place] + bytes([good[place] ^ (1 << (place % 8))]) + good[place + 1 :])
    for content in bad:
        path.write_bytes(content)
        anew = Embedder(Counting(lambda s: rows), "mine", tmp_path, "a")
        assert np.array_equal(anew(sentences), rows)
        assert len(anew.encoder.calls) == 1
        assert path.read_bytes() == good


# --- resuming ---


def test_resumes_what_was_done(tmp_path):
    out = tmp_path / "report.json"
    tasks = [classification(), similarity()]
    first = run(Counting(), tasks[:1], out=out, key="a")
    seen = Counting()
    report = run(seen, tasks, out=out, key="a")
    assert len(seen.calls) == 1  # of the second task
    assert report["mine"].figures == first["mine"].figures
    assert list(Report.load(out)) == ["mine", "alike"]
    again = Counting()
    run(again, tasks, out=out, key="a")
    assert again.calls == []


def test_a_run_with_fewer_tasks_drops_nothing(tmp_path):
    out = tmp_path / "report.json"
    tasks = [classification(), similarity(), similarity("more", seed=7)]
    run(rows_of, tasks[:2], out=out, key="a")
    before = Report.load(out)
    found = run(rows_of, tasks[2:], out=out, key="a")
    assert list(found) == ["more"]
    after = Report.load(out)
    assert list(after) == ["mine", "alike", "more"]
    for name in before:
        assert after[name].to_dict() == before[name].to_dict()
    assert list(run(rows_of, tasks[1], out=out, key="a")) == ["alike"]  # nothing is computed
    assert out.read_text() == after.to_json()


def test_what_was_skipped_stays_known(tmp_path):
    write_cr(tmp_path)
    out = tmp_path / "report.json"
    first = run(rows_of, "all", data=tmp_path, partial=True, out=out, key="a")
    assert "MR" in first.skipped
    task = Task("MR", similarity("MR").splits, similarity("MR").kind)
    assert run(rows_of, task, out=out, key="a").skipped == {}
    after = Report.load(out)
    assert list(after) == ["CR", "MR"]
    assert set(after.skipped) == set(first.skipped) - {"MR"}


def test_a_task_that_had_an_error_is_run_again(tmp_path):
    out = tmp_path / "report.json"
    run(failing, classification(), out=out, key="a")
    assert Report.load(out).results["mine"].error
    assert run(rows_of, classification(), out=out, key="a")["mine"]["acc"] > 50


def test_other_examples_are_run_again(tmp_path):
    out = tmp_path / "report.json"
    run(rows_of, classification(n=60), out=out, key="a")
    seen = Counting()
    assert run(seen, classification(n=61), out=out, key="a")["mine"]["ntest"] == 61
    assert len(seen.calls) == 1


@pytest.mark.parametrize(
    "other", [{"protocol": "optimum"}, {"key": "b"}, {"resamples": 20}, {"confidence": 0.9}, {"tokens": True}]
)
def test_a_report_of_something_else_is_not_resumed(other, tmp_path):
    out = tmp_path / "report.json"
    run(rows_of, similarity(), out=out, key="a")
    before = out.read_bytes()
    with pytest.raises(ValueError, match=r"report.json is the report of another encoder or protocol"):
        run(rows_of, similarity(), out=out, **{"key": "a", **other})
    assert out.read_bytes() == before


def test_out_is_written_after_each_task(tmp_path):
    out = tmp_path / "report.json"

    def stopped(sentences):
        if out.exists():
            raise KeyboardInterrupt
        return rows_of(sentences)

    with pytest.raises(KeyboardInterrupt):
        run(stopped, out=out, key="a")
    assert list(Report.load(out)) == ["mine"]


def test_without_a_key_a_report_that_is_there_is_not_touched(tmp_path, caplog):
    out = tmp_path / "report.json"
    run(rows_of, similarity(), out=out)
    assert "report.json cannot be resumed: the encoder has no fingerprint: give key=" in caplog.text
    before = out.read_bytes()
    for task in (similarity(), classification()):
        with pytest.raises(
            ValueError, match=r"report.json is there already, .* give key=.* or remove the file"
        ):
            run(length, task, out=out)
    assert out.read_bytes() == before


def test_what_was_resumed_knows_its_sentences(tmp_path):
    out = tmp_path / "report.json"
    tasks = [classification(), similarity()]
    first = run(rows_of, tasks, out=out, key="a")
    again = run(failing, tasks, out=out, key="a")
    for task in ("mine", "alike"):
        assert again[task].wrong() == first[task].wrong() != []
    other = run(length, tasks[0], name="other")
    loaded = Report.load(out)
    assert se.compare(again, other).differing("mine") == se.compare(first, other).differing("mine") != []
    assert se.compare(loaded, again).differing("mine") == []


def test_versions_are_kept(tmp_path, caplog):
    out = tmp_path / "report.json"
    report = run(rows_of, similarity(), out=out, key="a")
    assert report.facts["versions"]["torch"] == torch.__version__
    assert report.facts["versions"]["numpy"] == np.__version__
    run(failing, similarity(), out=out, key="a")
    assert caplog.text == ""
    out.write_text(out.read_text().replace(f'"{np.__version__}"', '"1.0"'))
    run(failing, similarity(), out=out, key="a")
    assert "report.json was begun with" in caplog.text
    assert "'numpy': '1.0'" in caplog.text


def power(p):
    return lambda u, v: -float((np.abs(u - v) ** p).sum())


def near(u, v):
    return -float(np.abs(u - v).sum())


def edited(p):
    """A function of one name, as it stands before and after an edit in a notebook."""
    made = {"np": np}
    exec(f"def near(u, v): return -float((np.abs(u - v) ** {p}).sum())", made)
    return made["near"]


@dataclass(frozen=True)
class Distance:
    p: float = 1.0

    def __call__(self, u, v):
        return power(self.p)(u, v)


OTHER_PROTOCOLS = {
    "closure": (power(1), power(9)),
    "default": (lambda u, v, p=1: power(p)(u, v), lambda u, v, p=2: power(p)(u, v)),
    "edited": (edited(1), edited(9)),
    "object": (Distance(), Distance(9.0)),
    "partial": (functools.partial(lambda p, u, v: power(p)(u, v), 1), functools.partial(power(9))),
    "not at all": ("cosine", near),
}


@pytest.mark.parametrize(("one", "other"), OTHER_PROTOCOLS.values(), ids=OTHER_PROTOCOLS.keys())
def test_a_protocol_of_the_same_name_is_not_the_same(one, other, tmp_path):
    out = tmp_path / "report.json"
    protocols = [replace(PROTOCOLS["fast"], similarity=similarity) for similarity in (one, other)]
    assert protocols[0].name == protocols[1].name
    run(rows_of, similarity(), out=out, key="a", protocol=protocols[0])
    run(failing, similarity(), out=out, key="a", protocol=replace(protocols[0]))  # nothing is computed
    with pytest.raises(ValueError, match="is the report of another encoder or protocol"):
        run(rows_of, similarity(), out=out, key="a", protocol=protocols[1])


def test_protocols_are_told_apart_by_all_that_they_have():
    fast = PROTOCOLS["fast"]
    others = [
        replace(fast, folds=4),
        replace(fast, seeds=2),
        replace(fast, classifier=Optimum(tolerance=1e-4)),
        replace(fast, classifier=Adam()),
        replace(fast, ranking=replace(fast.ranking, margin=0.1)),
        replace(fast, similarity=near),
    ]
    assert len({code_digest(one) for one in (fast, *others)}) == 1 + len(others)
    assert code_digest(replace(fast)) == code_digest(fast)
    within = [lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x]]
    assert code_digest(within[0]) != code_digest(within[1])


def test_a_protocol_that_cannot_be_compared_is_not_gone_on_with(tmp_path, caplog):
    out = tmp_path / "report.json"
    random = np.random.default_rng(0)
    options = {"similarity": lambda u, v: near(u, v) + random.normal()}
    run(rows_of, similarity(), out=out, key="a", options=options)
    assert "depends on what cannot be compared" in caplog.text
    with pytest.raises(ValueError, match=r"is there already, .* depends on what cannot be compared"):
        run(rows_of, similarity(), out=out, key="a", options=options)


@pytest.mark.parametrize("begun", [False, True])
def test_two_runs_with_one_file_keep_each_others_tasks(tmp_path, begun):
    out = tmp_path / "report.json"
    if begun:
        run(rows_of, similarity("old", seed=9), out=out, key="a")
    inner = []

    def encode(sentences):
        if not inner:
            inner.append(run(rows_of, similarity("other", seed=4), out=out, key="a"))
            inner[0].curves["TREC"] = Curve((1, 2), (3, 4))
            embedded = Report.load(out)
            embedded.curves |= inner[0].curves
            embedded.to_json(out)
        return rows_of(sentences)

    report = run(encode, [similarity("mine"), similarity("more", seed=8)], out=out, key="a")
    assert list(report) == ["mine", "more"]
    kept = Report.load(out)
    assert set(kept) == {"mine", "more", "other"} | ({"old"} if begun else set())
    assert kept["other"].to_dict() == inner[0]["other"].to_dict()
    assert kept.curves["TREC"].y == (3, 4)
    assert list(tmp_path.iterdir()) == [out]


def test_a_file_that_becomes_anothers_is_left_alone(tmp_path):
    out = tmp_path / "report.json"
    inner = []

    def encode(sentences):
        if not inner:
            inner.append(run(rows_of, similarity("other", seed=4), out=out, key="b"))
        return rows_of(sentences)

    with pytest.raises(ValueError, match="is the report of another encoder or protocol"):
        run(encode, similarity(), out=out, key="a")
    assert list(Report.load(out)) == ["other"]


def test_an_error_takes_no_figure_away(tmp_path):
    """That another run found in the meantime for the same examples."""
    out = tmp_path / "report.json"

    def encode(sentences):
        run(rows_of, similarity(), out=out, key="a")
        raise MemoryError

    assert run(encode, similarity(), out=out, key="a").results["alike"].error
    assert Report.load(out)["alike"]["all"]["pearson"]


def test_a_curve_of_other_examples_is_dropped(tmp_path):
    out = tmp_path / "report.json"
    report = run(rows_of, [classification(), similarity()], out=out, key="a")
    good = Curve((1, 2), (3, 4), data=digest_of(classification()))
    report.curves = {"mine": good, "alike": replace(good, data="other"), "steps": Curve((1,), (2,))}
    report.to_json(out)
    again = run(rows_of, [classification(), similarity()], out=out, key="a")
    assert set(again.curves) == set(Report.load(out).curves) == {"mine", "steps"}


# --- what cannot be written ---


def test_a_report_that_cannot_be_written_is_noticed_first(tmp_path):
    (tmp_path / "file").touch()
    for out in (tmp_path / "nowhere" / "r.json", tmp_path / "file" / "r.json"):
        seen = Counting()
        with pytest.raises(OSError, match=r"the report cannot be written: .*r\.json"):
            run(seen, similarity(), out=out, key="a")
        assert seen.calls == []


def test_a_cache_that_cannot_be_written_is_noticed_first(tmp_path, caplog):
    (tmp_path / "file").touch()
    warned = []

    def encode(sentences):
        warned.append("rows are not kept: " in caplog.text)
        return rows_of(sentences)

    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        report = run(encode, similarity(), cache=folder, key="a")
        assert report["alike"].error is None
    assert warned == [True] * len(warned)
    caplog.clear()
    run(rows_of, similarity(), cache=tmp_path / "file")  # without a key nothing would be kept
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
        monkeypatch.setattr(embeddings, "sentencode_version", version)
        run(ours(), similarity(), cache=tmp_path)
        assert len(list(tmp_path.iterdir())) == files
    for version in ("1.0", "1.1"):
        monkeypatch.setattr(embeddings, "sentencode_version", version)
        run(rows_of, similarity(), cache=tmp_path, key="theirs")
    assert len(list(tmp_path.iterdir())) == 3


# --- errors of one task ---


def test_whatever_fails_in_one_task_leaves_the_others():
    def odd(u, v):
        return 1 / 0

    tasks = [similarity(), classification()]
    report = run(rows_of, tasks, options={"similarity": odd})
    assert report["alike"].error == "ZeroDivisionError: division by zero"
    assert report["mine"]["acc"] > 50


def test_tasks_that_cannot_be_judged_leave_the_others():
    """One lacks a class to train on, of another the encoder gives no numbers."""

    def sometimes(sentences):
        rows = rows_of([sentence.replace(" odd", "") for sentence in sentences])
        rows[["odd" in sentence for sentence in sentences]] = np.nan
        return rows

    task = classification()
    one_class = {name: replace(split, labels=0 * split.labels) for name, split in task.splits.items()}
    odd = similarity("odd")
    sides = tuple([f"{sentence} odd" for sentence in side] for side in odd["one"].sentences)
    tasks = [
        task,
        replace(task, name="alone", splits=one_class),
        replace(odd, splits={"one": replace(odd["one"], sentences=sides)}),
        similarity(),
    ]
    report = run(sometimes, tasks)
    assert list(report) == ["mine", "alone", "odd", "alike"]
    assert report["alone"].error == "fold 0 trains on one class alone: there is nothing to tell apart"
    assert "gave NaN or infinity for" in report["odd"].error
    assert all(result.details["data"] for result in report.values())
    assert report["mine"].error is report["alike"].error is None


def test_ctrl_c_leaves_what_was_done(tmp_path):
    """It is no error of a task: the run ends, and the file has what was found until then."""
    out = tmp_path / "report.json"

    def interrupted(u, v):
        raise KeyboardInterrupt

    tasks = [classification(), similarity(), similarity("more", seed=7)]
    with pytest.raises(KeyboardInterrupt):
        run(rows_of, tasks, options={"similarity": interrupted}, out=out, key="a")
    assert list(Report.load(out)) == ["mine"]
    assert list(tmp_path.iterdir()) == [out]


def test_there_are_no_jobs():
    with pytest.raises(TypeError, match="unexpected keyword argument 'jobs'"):
        run(rows_of, similarity(), jobs=2)


def test_an_encoder_without_enough_memory_for_one_task(monkeypatch):
    plain = Embedder.__call__

    def call(self, sentences):
        if len(sentences) > 60:
            raise MemoryError("too many rows")
        return plain(self, sentences)

    monkeypatch.setattr(Embedder, "__call__", call)
    many, few = similarity("many", subsets=("one", "two", "three")), similarity("few", subsets=("test",))
    report = run(rows_of, [many, few])
    assert report["many"].error == "too many rows"
    assert report["few"].error is None


def test_what_others_call_fitted_and_fingerprint():
    class Theirs(WithEncode):
        fitted = False
        fingerprint = "abc"

    assert run(Theirs(), similarity())["alike"].error is None


# --- reports ---


def test_report_goes_to_json_and_back(tmp_path):
    pairs = Split((some_sentences(40, 3), some_sentences(40, 4)), np.arange(40.0) % 5)
    related = Task(
        "related",
        {"train": pairs, "dev": pairs, "test": pairs},
        Kind("relatedness", "dev", pairs=True, features=PAIR),
    )
    report = run(rows_of, [classification(), similarity(), related])
    report.results["broken"] = TaskResult("broken", error="why")
    report.skipped["SNLI"] = "files are missing"
    again = Report.load(written(report, tmp_path))
    assert again.to_json() == report.to_json()
    assert json.loads(report.to_json())["results"]["mine"]["figures"]["acc"] == report["mine"]["acc"]
    assert again["mine"].figures == report["mine"].figures
    assert again["alike"]["one"]["pearson"] == report["alike"]["one"]["pearson"]
    assert isinstance(again["alike"]["one"]["pearson"], tuple)
    assert np.array_equal(again["related"]["yhat"], report["related"]["yhat"])
    assert again["mine"].intervals == report["mine"].intervals
    assert isinstance(again["mine"].intervals["acc"], Interval)
    assert np.array_equal(again["mine"].judged["all"].predicted, report["mine"].judged["all"].predicted)
    assert again.averages == report.averages
    assert again.to_markdown() == report.to_markdown()
    with pytest.raises(ValueError, match="the sentences are not part of a saved report"):
        again["mine"].wrong()
    with pytest.raises(KeyError, match="SNLI was not run: files are missing"):
        again["SNLI"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "5",
        '{"format": "other"}',
        '{"format": "sentencode.report"}',
        '{"format": "sentencode.report", "version": 1, "results": 5}',
        '{"format": "sentencode.report", "version": 1, "results": {"MR": {}}}',
        '{"format": "sentencode.report", "version": 2}',
    ],
)
def test_what_is_no_report(content, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(
        FormatError, match=r"report.json(: a damaged report| is (not a report|of version (2|None)))"
    ):
        Report.load(path)
    with pytest.raises(FormatError):
        run(rows_of, similarity(), out=path, key="a")


def test_keys_are_the_originals():
    single, pair = classification("MR"), similarity("STS12")
    assert list(run(rows_of, single)["MR"]) == ["devacc", "acc", "ndev", "ntest"]
    sentences = some_sentences(60, 0)
    halves = {
        "train": Split((sentences[:40], sentences[:40]), labels_of(sentences[:40])),
        "test": Split((sentences[40:], sentences[40:]), labels_of(sentences[40:])),
    }
    kind = Kind("classification", "folds", pairs=True, features=PAIR, f1=True)
    result = run(rows_of, Task("MRPC", halves, kind, ("0", "1")))["MRPC"]
    assert sorted(result) == ["acc", "devacc", "f1", "ndev", "ntest"]
    assert (result["ndev"], result["ntest"]) == (40, 20)
    result = run(rows_of, pair)["STS12"]
    assert list(result) == ["one", "two", "all"]
    assert list(result["one"]) == ["pearson", "spearman", "nsamples"]
    assert len(result["one"]["pearson"]) == len(result["one"]["spearman"]) == 2
    assert {"mean", "wmean"} < set(result["all"]["pearson"])
    assert {"mean", "wmean"} < set(result["all"]["spearman"])


def test_accuracy_and_f1_are_those_of_the_predictions():
    task = classification()
    result = run(rows_of, task)["mine"]
    judged = result.judged["all"]
    sentences = task["all"].by_length().sentences[0]
    assert np.array_equal(judged.gold, labels_of([sentences[i] for i in judged.places]))
    assert result["acc"] == pytest.approx(100 * np.mean(judged.predicted == judged.gold), abs=0.5)
    assert result.intervals["acc"].low < result["acc"] < result.intervals["acc"].high
    wrong = result.wrong()
    assert len(wrong) == np.sum(judged.predicted != judged.gold)
    assert all(labels_of(one.sentences)[0] == one.gold != one.predicted for one in wrong)


@pytest.mark.parametrize("make", [classification, relatedness])
def test_classifiers_that_end_short_are_told_of(make, tmp_path):
    task = make()
    solved = run(rows_of, task, protocol="optimum")
    details = solved["mine"].details
    assert details["gradient"] <= details["tolerance"] == 1e-5
    assert details["gap"] <= 1e-7
    assert 1 <= details["iterations"] < 500
    # Each of ten outer folds: six penalties in ten folds, then the best one; or one for each penalty.
    assert (details["fits"], details["short"]) == (10 * (10 * 6 + 1) if make is classification else 6, 0)
    assert "ended short" not in " ".join(solved.notes())
    short = run(rows_of, task, protocol="optimum", options={"tolerance": 1e-13})
    fits = details["fits"]
    short.to_json(tmp_path / "short.json")
    for report in (short, Report.load(tmp_path / "short.json")):
        assert report["mine"].details["short"] > 0
        for shown in (report.to_markdown(), " ".join(report.notes())):
            assert "Classifiers that ended short of their optimum: mine " in shown
            assert f" of {fits} (gradient up to " in shown
            assert "where 1e-13 was asked for, gap up to" in shown
        report.to_html(tmp_path / "short.html")
        assert "Classifiers that ended short of their optimum: mine " in (tmp_path / "short.html").read_text()
    old = json.loads(short.to_json())  # as they were saved before fits were counted
    for key in ("gap", "iterations", "fits", "short"):
        del old["results"]["mine"]["details"][key]
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert "short of their optimum: mine (gradient" in Report.load(tmp_path / "old.json").to_markdown()
    others = run(rows_of, task, protocol="senteval-sklearn")
    assert "tolerance" not in others["mine"].details
    others.to_json(tmp_path / "others.json")
    for report in (others, Report.load(tmp_path / "others.json")):
        assert "ended short" not in " ".join(report.notes())


# --- similarity ---


def test_similarity_is_scipys():
    task = similarity()
    result = run(rows_of, task)["alike"]
    cosines, golds, found = [], [], {"pearson": [], "spearman": []}
    for name, split in task.splits.items():
        a, b = (rows_of(side).astype(float) for side in split.sentences)
        cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        cosines.append(cosine)
        golds.append(split.labels)
        for key, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
            expected = of(cosine, split.labels)
            assert result[name][key] == pytest.approx((expected.statistic, expected.pvalue), rel=1e-5)
            found[key].append(expected.statistic)
        assert result[name]["nsamples"] == len(split)
    for key, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        of_all = result["all"][key]
        assert of_all["mean"] == pytest.approx(np.mean(found[key]), rel=1e-6)
        assert of_all["wmean"] == pytest.approx((30 * found[key][0] + 40 * found[key][1]) / 70, rel=1e-6)
        pooled = of(np.concatenate(cosines), np.concatenate(golds)).statistic
        assert of_all["pooled"] == pytest.approx(pooled, rel=1e-5)
        low, high = result.intervals[f"all.{key}.pooled"]
        assert low < pooled < high
    assert result.headline == "all.pearson.wmean"
    assert result.figure("all.pearson.wmean") == result["all"]["pearson"]["wmean"]
    assert result.figure("one.spearman") == result["one"]["spearman"][0]


def test_another_similarity():
    """SentEval's parameter of that name: a function of two rows."""
    task = similarity()

    def near(u, v):
        return -float(np.abs(u - v).sum())

    report = run(rows_of, [task, similarity("other", seed=5)], options={"similarity": near})
    assert report.facts["protocol"] == "fast, similarity=near"
    split = task["one"]
    scores = [near(*rows_of(pair)) for pair in split.pairs]
    assert report["alike"]["one"]["pearson"][0] == pytest.approx(stats.pearsonr(scores, split.labels)[0])
    same = run(rows_of, task, options={"similarity": lambda u, v: 1.0}).results["alike"]
    assert same.error == "all similarities are equal: there is no correlation"
    bad = run(rows_of, task, options={"similarity": lambda u, v: np.nan}).results["alike"]
    assert bad.error.startswith("similarity must be finite")
    with pytest.raises(ValueError, match="similarity must be 'cosine' or a function of two rows, got 'dot'"):
        run(rows_of, task, options={"similarity": "dot"})


def test_unknown_tokens_are_told_of():
    assert re.search(r"Tokens without a word vector: alike 0.0 %\.", run(ours(), similarity()).to_markdown())
    few = se.Average(se.WordVectors.from_array(list(TABLE)[:4], np.stack(list(TABLE.values()))[:4]))
    report = run(few, similarity())
    words = " ".join(sentences_of(similarity())).split()
    share = np.mean([word not in WORDS[:4] for word in words])
    assert f"Tokens without a word vector: alike {100 * share:.1f} %." in report.notes()
    assert "Tokens" not in run(rows_of, similarity()).to_markdown()


def test_one_set_of_pairs_has_no_average():
    result = run(rows_of, similarity(subsets=("test",)))["alike"]
    assert list(result) == ["test"]
    assert result.headline == "test.pearson"


SAME = Split((["cat", "dog", "sun"], ["dog", "sun", "cat"]), np.ones(3))
ONE_PAIR = Split((["cat"], ["dog"]), np.ones(1))


def length(sentences):
    """All cosines are 1."""
    return np.array([[1.0 + len(sentence)] for sentence in sentences])


@pytest.mark.parametrize(
    ("encoder", "task", "message"),
    [
        (rows_of, Task("t", {"test": SAME}, Kind("similarity", pairs=True)), "all scores that are right are"),
        (rows_of, Task("t", {"test": ONE_PAIR}, Kind("similarity", pairs=True)), "there is one pair: corr"),
        (length, similarity("t"), "all cosines are equal: there is no correlation"),
        (length, similarity("t", ("dev", "test")), "all cosines are equal: there is no correlation"),
    ],
)
def test_correlations_that_do_not_exist_are_no_scores(encoder, task, message, caplog):
    report = run(encoder, task)
    assert report.results["t"].error.startswith(message)
    assert (report.results["t"].figures, report.rows(), report.averages) == ({}, [], [])
    (record,) = caplog.records
    assert record.getMessage().startswith(f"t: {message}")
    assert not record.exc_info


def test_a_subset_without_a_correlation_is_told_of(tmp_path):
    task = similarity("t", ("one", "two"))
    with_same = replace(task, splits={**task.splits, "same": SAME})
    report, without = run(rows_of, with_same), run(rows_of, task)
    result = report["t"]
    assert result["same"]["pearson"] == (0.0, 1.0)
    assert "same.pearson" not in result.intervals
    assert result["all"]["pearson"]["mean"] == pytest.approx(without["t"]["all"]["pearson"]["mean"] * 2 / 3)
    low, high = result.intervals["all.pearson.wmean"]
    assert low < result["all"]["pearson"]["wmean"] < high
    assert "t: all cosines or all scores of same are equal. The correlation, which" in report.to_markdown()
    report.to_html(tmp_path / "report.html")
    assert "t: correlations of same do not exist and count as 0." in (tmp_path / "report.html").read_text()
    assert "undefined" not in without["t"].details


def test_two_pairs_lie_on_a_line():
    pairs = Split((["cat", "dog"], ["dog", "sun"]), np.array([1.0, 2.0]))
    result = run(rows_of, Task("t", {"test": pairs}, Kind("similarity", pairs=True)))["t"]
    r, p = result["test"]["pearson"]
    assert (abs(r), p) == (pytest.approx(1), 1.0)  # as SciPy has it
    assert result.intervals == {}


# --- averages ---


def with_accuracy(**accuracies):
    return {name: TaskResult(name, {"acc": value}) for name, value in accuracies.items()}


def with_correlation(name, r, rho):
    if name.startswith("STS1"):
        figures = {"all": {"pearson": {"mean": 0.0, "wmean": r}, "spearman": {"mean": 0.0, "wmean": rho}}}
        return TaskResult(name, {sub: {"pearson": (0.1, 0.5)} for sub in ("one", "two")} | figures)
    return TaskResult(name, {"pearson": r, "spearman": rho})


EIGHT = {"MR": 70, "CR": 80, "SUBJ": 90, "MPQA": 85, "SST2": 75, "TREC": 60, "MRPC": 72, "SICKEntailment": 78}
SIZES = {
    "MR": 10662,
    "CR": 3775,
    "SUBJ": 10000,
    "MPQA": 10606,
    "SST2": 1821,
    "TREC": 500,
    "MRPC": 1725,
    "SICKEntailment": 4927,
}


def test_averages_of_the_papers():
    found = {average.name: average for average in averages_of(with_accuracy(**EIGHT, SST5=40, SNLI=65))}
    six = [name for name in EIGHT if name not in ("SST2", "SICKEntailment")]
    seven = [name for name in EIGHT if name != "MRPC"]
    for tasks in (six, seven, list(EIGHT)):
        macro = sum(EIGHT[name] for name in tasks) / len(tasks)
        micro = sum(SIZES[name] * EIGHT[name] for name in tasks) / sum(SIZES[name] for name in tasks)
        assert found[f"macro of {len(tasks)}"].value == pytest.approx(macro)
        assert found[f"micro of {len(tasks)}"].value == pytest.approx(micro)
        assert sorted(found[f"macro of {len(tasks)}"].tasks) == sorted(tasks)
    assert found["macro of 6"].value == pytest.approx((70 + 80 + 90 + 85 + 60 + 72) / 6)
    assert found["AvgAcc"].value == pytest.approx((70 + 80 + 90 + 85 + 75 + 40 + 60 + 72 + 78 + 65) / 10)
    assert set(found) == {f"{kind} of {n}" for kind in ("macro", "micro") for n in (6, 7, 8)} | {"AvgAcc"}


def test_average_of_similarity():
    names = ["SICKRelatedness", "STSBenchmark", "STS12", "STS13", "STS14", "STS15", "STS16"]
    results = {name: with_correlation(name, 0.1 * i, 0.1 * i + 0.02) for i, name in enumerate(names)}
    found = {average.name: average for average in averages_of(results)}
    assert list(found) == [
        "AvgSim",
        "learnt mean of SICKRelatedness, STSBenchmark",
        "cosine mean of STS12, STS13, STS14, STS15, STS16",
    ]
    assert found["AvgSim"].value == pytest.approx(100 * (0.3 + 0.01))
    assert found["AvgSim"].label == "AvgSim, learnt and cosine"
    assert [average.value for average in found.values()][1:] == pytest.approx([6, 41])


def test_no_mean_is_over_learnt_scores_and_cosines():
    names = ["STSBenchmark", "SICKRelatedness", "STS12", "STS14"]
    results = {name: with_correlation(name, 0.5, 0.5) for name in names}
    results["mine"] = TaskResult("mine", {"test": {"pearson": (0.3, 0.0), "spearman": (0.3, 0.0)}})
    found = averages_of(results)
    assert [average.tasks for average in found] == [
        ("STSBenchmark", "SICKRelatedness"),
        ("STS12", "STS14", "mine"),
    ]
    assert [average.scored for average in found] == ["learnt", "cosine"]


def test_own_tasks_may_have_sentevals_names():
    """Two of them had no figure where averages looked for one."""
    tasks = [similarity(name, ("test",), seed=i) for i, name in enumerate(("STS12", "STSBenchmark"))]
    report = run(rows_of, tasks)
    (average,) = report.averages
    halves = [report[name].figure(f"test.{key}") for name in report for key in ("pearson", "spearman")]
    assert average.value == pytest.approx(100 * np.mean(halves))
    assert average.interval.low < average.value < average.interval.high
    assert "cosine mean of STS12, STSBenchmark | pearson and spearman |" in report.to_markdown()


@pytest.mark.parametrize("missing", ["MR", "SICKEntailment", "MRPC"])
def test_no_average_bears_the_papers_name_with_a_task_missing(missing):
    results = with_accuracy(**{name: value for name, value in EIGHT.items() if name != missing})
    names = [average.name for average in averages_of(results)]
    complete = {"MR": [], "SICKEntailment": ["6"], "MRPC": ["7"]}[missing]
    assert [name for name in names if name.startswith("m") and "of " in name and name[-1].isdigit()] == [
        f"{kind} of {n}" for n in complete for kind in ("macro", "micro")
    ]
    if missing != "MRPC":  # whose seven are the paper's seven
        assert names[-1] == "mean of " + ", ".join(results)
    assert "AvgAcc" not in names


def test_a_task_with_an_error_counts_as_missing():
    results = with_accuracy(**EIGHT) | {"MR": TaskResult("MR", error="constant")}
    assert [a.name for a in averages_of(results)] == ["mean of " + ", ".join(n for n in EIGHT if n != "MR")]


def test_averages_stand_in_the_table():
    report = Report("mine", with_accuracy(MR=70.0, CR=80.0))
    assert "| mean of MR, CR | acc | 75.00 |  |" in report.to_markdown()
    assert r"mean of MR, CR & acc & 75.00 &  \\" in report.to_latex()


def test_averages_have_intervals():
    """Against the bootstrap of the average itself, each task's examples drawn apart from the others'."""
    random = np.random.default_rng(8)
    right = {name: random.random(400) < EIGHT[name] / 100 for name in EIGHT}
    results = {}
    for i, (name, row) in enumerate(right.items()):
        said = Judged(
            "test", np.arange(400), row.astype(int), np.ones(400, int), keys=400 * i + np.arange(400)
        )
        results[name] = TaskResult(name, {"acc": 100 * float(row.mean())}, judged={"test": said})
    drawn = {name: 100 * random.choice(row, (5000, 400)).mean(1) for name, row in right.items()}
    for average in averages_of(results, resamples=5000):
        weights = [SIZES[name] if average.name.startswith("micro") else 1 for name in average.tasks]
        means = np.average([drawn[name] for name in average.tasks], axis=0, weights=weights)
        assert average.interval == pytest.approx(np.quantile(means, (0.025, 0.975)), abs=0.15)
        assert average.interval.low < average.value < average.interval.high
    shown = f"{average.interval.low:.2f} to {average.interval.high:.2f}"
    report = Report("mine", results, facts={"resamples": 5000})
    assert f"{average.value:.2f} | {shown} |" in report.to_markdown()
    results["MR"].judged.clear()
    assert {a.interval for a in averages_of(results) if "MR" in a.tasks} == {None}


def test_the_average_of_similarities_has_an_interval():
    report = run(rows_of, [similarity(name, seed=i) for i, name in enumerate(("STS12", "STS13"))])
    (average,) = report.averages
    halves = []
    for name in average.tasks:
        low, high = report[name].intervals["all.pearson.wmean"]
        halves.append(100 * (high - low) / 2)
    assert average.interval.low < average.value < average.interval.high
    width = average.interval.high - average.interval.low
    assert width / 2 == pytest.approx(np.hypot(*halves) / 2, rel=0.35)  # Spearman's are a little wider


def test_no_average_of_partial_files_bears_the_papers_name():
    results = with_accuracy(**EIGHT)
    results["MR"].details["partial"] = True
    (average,) = averages_of(results)
    assert average.name == f"mean of {', '.join(EIGHT)}"


def test_deviations_are_in_the_unit_of_their_figures():
    recalls = {"r1": 31.0, "r5": 60.0, "r10": 70.0, "medr": 3.0}
    found = {
        "ImageCaptionRetrieval": ({"i2t": recalls, "t2i": recalls}, "t2i.r1", "31.00 ± 0.50"),
        "MR": ({"acc": 70.0}, "acc", "70.00 ± 0.50"),
        "groups": ({"nn_cosine": 70.0}, "nn_cosine", "70.00 ± 0.50"),
        "SICKRelatedness": ({"pearson": 0.7, "spearman": 0.6}, "pearson", "70.00 ± 50.00"),
    }
    for task, (figures, key, shown) in found.items():
        report = Report("x", {task: TaskResult(task, figures, details={"deviations": {key: 0.5}})})
        assert f"| {key} | {shown} |" in report.to_markdown()
        assert shown.replace("±", r"$\pm$") in report.to_latex()
        assert report.rows()[0][2] == float(shown.split()[0])


def test_tables_show_more_than_one_figure_of_a_task():
    kinds = {"wmean": 0.5, "mean": 0.4, "pooled": 0.3}
    subset = {"pearson": (0.1, 0.0), "spearman": (0.2, 0.0), "nsamples": 7}
    year = {
        "deft.forum": subset,
        "images": subset,
        "all": {"pearson": kinds, "spearman": {key: r / 10 for key, r in kinds.items()}},
    }
    groups = {"cl_one": 11.0, "cl_half": 12.0, "nn_cosine": 13.0, "nn_l2": 14.0, "idb": 0.12345, "ngroups": 5}
    learnt = {"devpearson": 0.9, "pearson": 0.7, "spearman": 0.6, "mse": 0.3, "yhat": np.zeros(3), "ntest": 3}
    found = {
        "STS14": (
            year,
            {
                **{f"all.pearson.{key}": f"{100 * r:.2f}" for key, r in kinds.items()},
                **{f"all.spearman.{key}": f"{10 * r:.2f}" for key, r in kinds.items()},
            },
        ),
        "mine": (
            groups,
            {"nn_cosine": "13.00", "nn_l2": "14.00", "cl_one": "11.00", "cl_half": "12.00", "idb": "0.1235"},
        ),
        "MRPC": (
            {"devacc": 71.0, "acc": 72.0, "ndev": 3, "ntest": 9, "f1": 81.0},
            {"acc": "72.00", "f1": "81.00"},
        ),
        "STSBenchmarkCosine": (
            {"dev": subset, "test": subset},
            {"test.pearson": "10.00", "test.spearman": "20.00"},
        ),
        "own": (
            {"mine": subset, "all": {"pearson": kinds, "spearman": kinds}},
            {"mine.pearson": "10.00", "mine.spearman": "20.00"},
        ),
        "SICKRelatedness": (learnt, {"pearson": "70.00", "spearman": "60.00"}),
    }
    labels = {"STS14": "STS14, cosine", "own": "own, cosine", "SICKRelatedness": "SICKRelatedness, learnt"}
    # Cosines come before what was learnt, in whatever order tasks were judged.
    judged = ["SICKRelatedness", *(task for task in found if task != "SICKRelatedness")]
    report = Report("x", {task: TaskResult(task, found[task][0]) for task in judged})
    shown = [(task, key, value) for task, (_, rows) in found.items() for key, value in rows.items()]
    table = "\n".join(f"| {labels.get(task, task)} | {key} | {value} |  |" for task, key, value in shown)
    assert table in report.to_markdown()
    lines = (rf"{labels.get(task, task)} & {key} & {value} &  \\" for task, key, value in shown)
    table = "\n".join(lines).replace("_", r"\_")
    assert table in report.to_latex()
    headlines = ["all.pearson.wmean", "nn_cosine", "acc", "test.pearson", "mine.pearson", "pearson"]
    assert [row[1] for row in report.rows()] == headlines
    assert [row[:2] for row in report.rows(several=True)] == [row[:2] for row in shown]
    assert report["STS14"].shown == list(found["STS14"][1])


def test_names_are_no_markup():
    result = TaskResult("my_task & 50%", {"acc": 77.5}, {"acc": Interval(70, 80)})
    odd = TaskResult("pipe|task", error="<lambda> gave {$x^$}~")
    facts = {"protocol": "senteval-torch, optim=sgd_#", "folds": 10, "confidence": 0.5}
    report = Report(r"a\b|#1 <b> _c_", {one.task: one for one in (result, odd)}, facts=facts)
    text = report.to_markdown()
    assert text.splitlines()[0] == r"| a\\b\|#1 \<b> \_c\_ | figure | value | 50 % interval |"
    assert "| my_task & 50% | acc | 77.50 | 70.00 to 80.00 |" in text
    assert r"pipe\|task: no figure, \<lambda> gave {\$x^\$}\~." in text
    text = report.to_latex()
    name = r"a\textbackslash{}b\textbar{}\#1 \textless{}b\textgreater{} \_c\_"
    assert rf"{name} & figure & value & 50 \% interval \\" in text.splitlines()
    assert r"my\_task \& 50\% & acc & 77.50 & 70.00 to 80.00 \\" in text
    assert r"\multicolumn{4}{l}{Protocol senteval-torch, optim=sgd\_\#, 10 folds} \\" in text


def test_figures_that_there_are_not():
    result = TaskResult("x", {"acc": 77.5, "all": {"pearson": {"mean": 0.5}}})
    for key in ("nope", "acc.mean", "all", "all.pearson", "all.pearson.nope"):
        with pytest.raises(KeyError, match=f"x has no figure '{key}': there are acc, all"):
            result.figure(key)
    with pytest.raises(KeyError, match="x has no figure: it failed"):
        _ = TaskResult("x", error="it failed").headline


# --- errors ---


def test_says_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match="data is missing: the folder that the files of MR are in"):
        se.evaluate(rows_of, "MR")
    with pytest.raises(ValueError, match="NoTask"):
        se.evaluate(rows_of, ["NoTask"], tmp_path)
    with pytest.raises(ValueError, match="no protocol is named 'best'"):
        run(rows_of, protocol="best")
    with pytest.raises(TypeError, match="nhid"):
        run(rows_of, options={"nhid": 5})
    with pytest.raises(ValueError, match="resamples must be at least 1"):
        run(rows_of, resamples=0)
    for level, message in ((1.5, "less than 1, got 1.5"), (0, "more than 0, got 0")):
        with pytest.raises(ValueError, match=f"confidence must be {message}"):
            run(pytest.fail, confidence=level)
    with pytest.raises(ValueError, match="tasks is empty: name some, or 'all'"):
        se.evaluate(rows_of, [])
    for tasks in (None, 5, [None]):
        with pytest.raises(TypeError, match="tasks must be names or tasks, or 'all'; got"):
            se.evaluate(rows_of, tasks)
    for tasks in ([similarity("MR"), "MR"], ["MR", "MR"], [similarity(), similarity()]):
        with pytest.raises(ValueError, match=r"2 tasks are called '(MR|alike)': give each a name of its own"):
            se.evaluate(pytest.fail, tasks, tmp_path)


def test_splits_that_do_not_fit():
    with pytest.raises(ValueError, match="as many sentences as labels, got 3 and 4 sentences and 3 labels"):
        Split((["a"] * 3, ["b"] * 4), np.ones(3))
    nothing = Split(([], []), np.ones(0))
    with pytest.raises(ValueError, match="mine: the split 'test' has no examples"):
        Task("mine", {"test": nothing}, Kind("similarity", pairs=True))
    with pytest.raises(ValueError, match="mine: a task needs at least one split"):
        Task("mine", {}, Kind("similarity", pairs=True))


CLASSES = np.arange(60) % 2
LABELS = {
    "float64": CLASSES.astype(float),
    "float32": CLASSES.astype(np.float32),
    "int32": CLASSES.astype(np.int32),
    "uint8": CLASSES.astype(np.uint8),
    "bool": CLASSES.astype(bool),
    "list": CLASSES.tolist(),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_labels_of_other_types_become_ours(labels):
    sentences = some_sentences(60, 0)
    kind = Kind("classification", "nested", features=("u",))
    task = Task("mine", {"all": Split((sentences,), labels)}, kind, ("no", "yes"))
    assert task["all"].labels.dtype == np.int64
    assert np.array_equal(task["all"].labels, CLASSES)
    pairs = Task("alike", {"test": Split((sentences, sentences), labels)}, Kind("similarity", pairs=True))
    assert pairs["test"].labels.dtype == np.float64
    assert np.array_equal(pairs["test"].labels, CLASSES)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["no", "yes"], TypeError, r"labels must be numbers, got 'no' \(str\); of classes, number them"),
        ([None, 1], TypeError, r"labels must be numbers, got None \(NoneType\)"),
        ([1j, 1], TypeError, "labels must be numbers"),
        ([[0], [1]], ValueError, r"one number for each example, got an array \[2, 1\]"),
        (np.array(1), ValueError, r"one number for each example, got an array \[\]"),
        ([0, np.nan], ValueError, r"labels must be finite, but labels\[1\] is nan"),
        ([0.0, 0.5], ValueError, r"mine, all: labels must be whole numbers from 0, .* labels\[1\] is 0.5"),
        ([0, -1], ValueError, r"mine, all: labels must be whole numbers from 0, .* labels\[1\] is -1"),
        (np.array([0, 2**63], np.uint64), ValueError, r"labels must fit int64, but labels\[1\] is 92"),
    ],
)
def test_labels_that_are_none(labels, error, message):
    with pytest.raises(error, match=message):
        Task("mine", {"all": Split((["a", "b"],), labels)}, Kind("classification", "nested", features=("u",)))


def test_classes_need_a_validation():
    with pytest.raises(ValueError, match="classification needs a validation: 'nested', 'folds' or 'dev'"):
        Kind("classification", features=("u",))


def test_the_digest_of_a_task_does_not_tell_what_it_has_not():
    """A kind that will have more attributes one day leaves today's reports as they are."""
    task = similarity()
    longer = make_dataclass("Kind", [("more", bool, False)], bases=(Kind,), frozen=True)
    assert digest_of(task) == digest_of(replace(task, kind=longer("similarity", pairs=True, subsets=True)))
    assert digest_of(task) != digest_of(replace(task, kind=Kind("similarity", pairs=True)))


def write_cr(folder):
    """Two small files in SentEval's layout."""
    sentences = some_sentences(40, 0)
    (folder / "downstream" / "CR").mkdir(parents=True)
    for kind, wanted in (("pos", 1), ("neg", 0)):
        chosen = [s for s in sentences if labels_of([s])[0] == wanted]
        (folder / "downstream" / "CR" / f"custrev.{kind}").write_text("\n".join(chosen) + "\n")


def test_files_that_are_missing(tmp_path):
    write_cr(tmp_path)
    with pytest.raises(FileNotFoundError, match="rt-polarity"):
        run(rows_of, ["CR", "MR"], data=tmp_path, partial=True)
    report = run(rows_of, "all", data=tmp_path, partial=True)
    assert list(report) == ["CR"]
    assert set(report.skipped) == set(task_names()) - {"CR"}
    assert "rt-polarity" in report.skipped["MR"]
    with pytest.raises(KeyError, match="MR was not run: files are missing"):
        report["MR"]
    assert "CR: files of another size than published were accepted." in report.to_markdown()
    with pytest.raises(FormatError, match="3775"):
        run(rows_of, "all", data=tmp_path)


def test_no_files_at_all(tmp_path):
    with pytest.raises(ValueError, match=r"none of the tasks has its files in .*nowhere"):
        run(rows_of, "all", data=tmp_path / "nowhere")


def test_progress_bars(capsys):
    run(rows_of, show_progress_bar=True)
    assert "2/2" in capsys.readouterr().err
    run(rows_of, show_progress_bar=False)
    assert capsys.readouterr().err == ""


# --- real data ---


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_trec_is_that_of_scikit_learn():
    """TREC by five folds, with random vectors of words."""
    data = Path(os.environ["SENTENCODE_DATA"]) / "senteval"
    table = {}
    random = np.random.default_rng(0)

    def encode(sentences):
        rows = np.zeros((len(sentences), 30), np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            for word in sentence.split():
                row += table.setdefault(word, random.normal(size=30).astype(np.float32)) / 5
        return rows

    result = se.evaluate(encode, "TREC", data, protocol="fast", cache=False)["TREC"]
    assert (result["ndev"], result["ntest"]) == (5452, 500)
    assert result.details["gradient"] <= 1e-5
    task = se.evaluation.load_task("TREC", data)
    train, test = task["train"].by_length(), task["test"].by_length()
    model = LogisticRegression(C=result.details["penalties"][0], tol=1e-6, max_iter=2000)
    model.fit(encode(train.sentences[0]), train.labels)
    accuracy = 100 * model.score(encode(test.sentences[0]), test.labels)
    assert result["acc"] == pytest.approx(accuracy, abs=0.21)
