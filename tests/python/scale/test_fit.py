"""Merged fits equal one process, for any shards, order and failures of workers."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.scale import count_words, fit, statistics_bytes, train_vectors
from sentencode.scale.engines import attempt
from sentencode.scale.local import LocalEngine

sys.path.insert(0, str(Path(__file__).parent))
from scale_helpers import DyingEngine

FAMILIES = {
    "sif": lambda vectors: se.SIF(vectors, components=2),
    "usif": lambda vectors: se.USIF(vectors, components=3, sentence_length=3),
    "laes": lambda vectors: se.LAES(vectors, hidden=5),
    "laes both": lambda vectors: se.LAES(vectors, hidden=7, direction="both", center=True, max_length=6),
    "laes hidden": lambda vectors: se.LAES(vectors, hidden=10, mode="hidden", state="projection"),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shard_size", [15, 3000, "1MB"])
def test_equal_to_one_process(vectors, sentences, lines, family, shard_size):
    one = FAMILIES[family](vectors).fit(sentences)
    many = FAMILIES[family](vectors)
    assert fit(many, lines, workers=1, shard_size=shard_size) is many
    np.testing.assert_allclose(many.encode(sentences), one.encode(sentences), atol=1e-6)
    assert many.n_sentences_ == one.n_sentences_
    assert many.vectors is vectors


@pytest.mark.parametrize("family", ["sif", "laes both"])
def test_order_and_number_of_workers_do_not_matter(vectors, sentences, tmp_path, family):
    one = FAMILIES[family](vectors).fit(sentences)
    parts = [sentences[:1], [], sentences[1:50], sentences[50:51], sentences[51:]]
    paths = [tmp_path / f"{i}.txt" for i in range(5)]
    for path, part in zip(paths, parts, strict=True):
        path.write_text("".join(f"{line}\n" for line in part))
    for order, workers in ((paths, 2), (paths[::-1], 1), ([paths[i] for i in (2, 4, 1, 0, 3)], 1)):
        many = fit(FAMILIES[family](vectors), order, workers=workers, shard_size=5000)
        np.testing.assert_allclose(many.encode(sentences), one.encode(sentences), atol=1e-6)


class Backwards:
    """An engine with many workers whose tasks end in another order."""

    threads = None
    workers = 40

    def __init__(self):
        self.works = []

    def run(self, work, tasks):
        self.works.append((pickle.dumps(work), len(tasks)))
        for number in reversed(range(len(tasks))):
            yield number, work(pickle.loads(pickle.dumps(tasks[number])))


def test_sums_are_merged_in_a_tree_and_cross_as_files(vectors, sentences, lines, tmp_path):
    engine = Backwards()
    sif = fit(se.SIF(vectors), lines, engine=engine, shard_size=100, scratch=tmp_path / "scratch")
    np.testing.assert_allclose(
        sif.encode(sentences), se.SIF(vectors).fit(sentences).encode(sentences), atol=1e-6
    )
    counts = [count for _, count in engine.works]
    assert counts[0] > 64
    assert counts[1:] == [-(-counts[0] // 8), -(-counts[0] // 64)]
    assert all(len(content) < 2000 for content, _ in engine.works)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_vectors_in_memory(sentences, lines):
    rng = np.random.default_rng(3)
    table = se.WordVectors.from_array(["the", "man", "dog"], rng.normal(size=(3, 4)))
    one, many = se.SIF(table).fit(sentences), fit(se.SIF(table), lines, workers=2, shard_size=3000)
    np.testing.assert_allclose(many.encode(sentences), one.encode(sentences), atol=1e-6)
    with pytest.raises(ValueError, match="the word vectors are in memory alone"):
        fit(se.SIF(table), lines, workers=1, scratch="memory://scratch/fit")


def test_a_scratch_folder_at_a_url(vectors, sentences, lines):
    fsspec = pytest.importorskip("fsspec")
    many = fit(se.SIF(vectors), lines, workers=1, shard_size=900, scratch="memory://scratch/other")
    np.testing.assert_allclose(
        many.encode(sentences), se.SIF(vectors).fit(sentences).encode(sentences), atol=1e-6
    )
    assert fsspec.filesystem("memory").find("/scratch/other") == []


class Interrupted(Backwards):
    """Ctrl-C while sums are made, or when they are removed."""

    def __init__(self, folder, monkeypatch, when):
        super().__init__()
        self.monkeypatch, self.when, self.folder = monkeypatch, when, folder

    def run(self, work, tasks):
        for i, done in enumerate(super().run(work, tasks)):
            if self.when == "sums" and i == 2:
                raise KeyboardInterrupt
            yield done
        assert len(list(self.folder.rglob("*"))) > 2
        remove = os.unlink

        def interrupted(path, *args, **options):
            if "sums-00001" in os.fsdecode(path):
                raise KeyboardInterrupt
            remove(path, *args, **options)

        self.monkeypatch.setattr(os, "unlink", interrupted)


@pytest.mark.parametrize("when", ["sums", "cleanup"])
def test_the_same_call_after_ctrl_c(vectors, sentences, lines, tmp_path, monkeypatch, when):
    scratch = tmp_path / "scratch"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        fit(
            se.SIF(vectors), lines, engine=Interrupted(scratch, patch, when), shard_size=3000, scratch=scratch
        )
    assert bool(list(scratch.iterdir())) == (when == "cleanup")
    many = fit(se.SIF(vectors), lines, workers=1, shard_size=3000, scratch=scratch)
    np.testing.assert_allclose(
        many.encode(sentences), se.SIF(vectors).fit(sentences).encode(sentences), atol=1e-6
    )
    assert list(scratch.iterdir()) == []


def test_sums_of_other_machines_in_a_scratch_folder_stay(vectors, lines, tmp_path):
    """Locks of folders may not reach them."""
    other, stopped = f"sentencode-01234567-{'0' * 32}", f"sentencode-{'1' * 32}"
    for name in (other, stopped):
        (tmp_path / "scratch" / name).mkdir(parents=True)
    fit(se.SIF(vectors), lines, workers=1, scratch=tmp_path / "scratch")
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == [other]


def test_other_files_in_a_scratch_folder_stay(vectors, lines, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / ".keep").touch()
    fit(se.SIF(vectors), lines, workers=1, scratch=scratch)
    assert [path.name for path in scratch.iterdir()] == [".keep"]
    for name in ("sums-00000", "sentencode-notes.txt"):
        (scratch / name).touch()
        with pytest.raises(FileExistsError, match=f"there are files, such as {name}"):
            fit(se.SIF(vectors), lines, workers=1, scratch=scratch)
        (scratch / name).unlink()


def test_workers_have_ended_before_their_folder_is_removed(vectors, lines, tmp_path):
    """After an error in one shard, another worker must not write into the user's folder."""
    (tmp_path / "bad.jsonl").write_text('{"text": 5}\n')
    scratch = tmp_path / "scratch"
    ended = []

    class Watched(Backwards):
        def run(self, work, tasks):
            try:
                yield from ((number, attempt(work, task)) for number, task in enumerate(tasks))
            finally:
                ended.append(len(list(scratch.iterdir())))

    with pytest.raises(se.FormatError) as caught:
        fit(se.SIF(vectors), [tmp_path / "bad.jsonl", lines], engine=Watched(), scratch=scratch)
    assert ended == [1], caught  # and this holds the frames, as a handler does
    assert list(scratch.iterdir()) == []


def test_jobs_in_one_scratch_folder_do_not_know_each_other(vectors, sentences, lines, tmp_path):
    """This process has read the encoder of the first job when the second begins, from the same folder."""
    others = se.WordVectors.from_array(vectors.words, vectors.matrix()[:, ::-1] + 1)
    for table in (vectors, others):
        many = fit(se.SIF(table), lines, workers=1, scratch=tmp_path / "scratch")
        np.testing.assert_allclose(
            many.encode(sentences), se.SIF(table).fit(sentences).encode(sentences), atol=1e-6
        )


def test_many_columns_in_any_order(tmp_path):
    """A large C, which is decomposed in float for what still waits: of sums, and of that."""
    rng = np.random.default_rng(5)
    words = [f"w{i}" for i in range(3000)]
    table = se.WordVectors.from_array(words, rng.normal(size=(3000, 140)).astype(np.float32))
    ranks = rng.zipf(1.3, size=(30_000, 24)) % 3000  # as words of a language: few of them often
    text = [" ".join(words[i] for i in row[: 5 + n % 20]) for n, row in enumerate(ranks)]
    paths = [tmp_path / f"{i}.txt" for i in range(4)]
    for size in (len(text), 4000):
        ends = [0, size // 5, size // 2, size // 2, size]
        for path, begin, end in zip(paths, ends, ends[1:], strict=False):
            path.write_text("".join(f"{line}\n" for line in text[begin:end]))
        one = se.LAES(table, hidden=40, a=None).fit(text[:size])
        many = fit(se.LAES(table, hidden=40, a=None), paths[::-1], workers=1, shard_size=100_000)
        expected = one.encode(text[:500])
        longest = np.linalg.norm(expected, axis=1).max()
        assert np.linalg.norm(many.encode(text[:500]) - expected, axis=1).max() <= 1e-6 * longest


def test_a_table_with_nulls(vectors, sentences, tmp_path):
    rows = [{"text": text or None} for text in sentences]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    many = fit(se.SIF(vectors), tmp_path / "in.jsonl", workers=1, shard_size=3000)
    np.testing.assert_allclose(
        many.encode(sentences), se.SIF(vectors).fit(sentences).encode(sentences), atol=1e-6
    )


def test_fit_discards_earlier_fits_unless_it_fails(vectors, sentences, lines, tmp_path):
    sif = se.SIF(vectors).fit(sentences[:10])
    before = sif.encode(sentences)
    (tmp_path / "bad.jsonl").write_text('{"text": "the man"}\n{"text": 5}')
    with pytest.raises(se.FormatError, match=r"bad\.jsonl: line 2: 'text': expected text, got 5"):
        fit(sif, tmp_path / "bad.jsonl", workers=1, scratch=tmp_path / "scratch")
    assert list((tmp_path / "scratch").iterdir()) == []
    np.testing.assert_array_equal(sif.encode(sentences), before)
    fit(sif, lines, workers=1)
    np.testing.assert_allclose(
        sif.encode(sentences), se.SIF(vectors).fit(sentences).encode(sentences), atol=1e-6
    )


def test_inputs_without_words(vectors, tmp_path):
    (tmp_path / "none.txt").write_text("")
    with pytest.raises(ValueError, match="there is nothing to fit to"):
        fit(se.SIF(vectors), tmp_path / "none.txt", workers=1)
    (tmp_path / "none.txt").write_text("unknown\n\n")
    with pytest.raises(ValueError, match="there is nothing to fit to"):
        fit(se.SIF(vectors), tmp_path / "none.txt", workers=1)
    for wrong in (se.Average(vectors), se.SIF(vectors, statistics="evaluated"), "sif"):
        with pytest.raises(TypeError, match="expected a SIF, USIF or LAES that learns"):
            fit(wrong, tmp_path / "none.txt")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("precious")
    with pytest.raises(FileExistsError, match="give an empty folder"):
        fit(se.SIF(vectors), tmp_path / "none.txt", workers=1, scratch=tmp_path / "full")


@pytest.mark.parametrize("family", ["sif", "laes both"])
def test_a_worker_that_is_killed_is_not_counted_twice(vectors, sentences, lines, tmp_path, family):
    one = FAMILIES[family](vectors).fit(sentences)
    engine = DyingEngine(LocalEngine(2), tmp_path / "mark")
    many = fit(FAMILIES[family](vectors), lines, engine=engine, shard_size=2000)
    assert (tmp_path / "mark").exists()
    assert many.n_sentences_ == one.n_sentences_
    np.testing.assert_allclose(many.encode(sentences), one.encode(sentences), atol=1e-6)


# --- memory


@pytest.mark.parametrize("direction", ["forward", "both"])
def test_statistics_bytes(vectors, direction):
    """Statistics of sentences of the maximum length, without pending words."""
    laes = se.LAES(vectors, hidden=2, direction=direction, max_length=40)
    laes._forget()
    for _ in range(9):
        laes.partial_fit([" ".join(["the"] * 40)] * 900)
    laes._model.solve()
    size = statistics_bytes(laes)
    sizes = {
        name: sum(
            array.nbytes for key, array in one.items() if hasattr(array, "nbytes") and "waiting" not in key
        )
        for name, one in laes._model.statistics().items()
    }
    assert size <= sum(sizes.values()) <= 1.2 * size + 10_000
    assert statistics_bytes(se.SIF(vectors)) == 8 * 36


def test_a_budget_refuses_or_chooses(vectors, lines, sentences):
    laes = se.LAES(vectors, hidden=2, max_length=5000)
    with pytest.raises(ValueError, match=r"max_length=5000 a worker needs .* bytes .*; max_length=\d+ fits"):
        fit(laes, lines, workers=1, memory="1GB")
    assert laes.max_length == 5000
    with pytest.warns(UserWarning, match=r"max_length was 5000; with this memory it is \d+"):
        fit(laes, lines, workers=1, memory="1GB", shorten=True)
    assert 100 < laes.max_length < 5000
    assert 2**28 + 3 * statistics_bytes(laes) <= 10**9
    laes.max_length += 1
    assert 2**28 + 3 * statistics_bytes(laes) > 10**9
    with pytest.raises(ValueError, match="even for sentences of one word"):
        fit(se.LAES(vectors), lines, workers=1, memory="1MB")
    with pytest.raises(ValueError, match=r"a worker needs .* bytes for the sums, and may use"):
        fit(se.SIF(vectors), lines, workers=1, memory="1MB")
    fit(se.SIF(vectors), lines, workers=1, memory="1GB")


# --- words


@pytest.mark.parametrize("shard_size", [15, 4000])
def test_words_are_counted_exactly(sentences, lines, shard_size):
    for options in ({}, {"min_count": 300}, {"max_size": 4}):
        one = se.Vocabulary.from_corpus(sentences, "whitespace", **options)
        many = count_words(lines, "whitespace", workers=1, shard_size=shard_size, **options)
        assert many == one
        assert many.total == one.total
    assert se.Frequencies(many) == se.Frequencies(one)


def test_words_of_workers(sentences, lines, tmp_path):
    engine = DyingEngine(LocalEngine(2), tmp_path / "mark")
    many = count_words(lines, "whitespace", engine=engine, shard_size=2000)
    assert (tmp_path / "mark").exists()
    assert many == se.Vocabulary.from_corpus(sentences, "whitespace")
    backwards = Backwards()
    assert count_words(lines, "whitespace", engine=backwards, shard_size=300) == many
    assert len(backwards.works) > 1


def test_no_words(tmp_path):
    (tmp_path / "none.txt").write_text("")
    assert len(count_words(tmp_path / "none.txt", workers=1)) == 0


def test_vectors_equal_one_process(sentences, lines):
    options = {"dim": 5, "min_count": 1, "tokenizer": "whitespace"}
    one = se.WordVectors.train(sentences, **options)
    for engine, size in ((LocalEngine(1), "1MB"), (LocalEngine(1), 1500), (Backwards(), 400)):
        many = train_vectors(lines, engine=engine, shard_size=size, **options)
        assert list(many.words) == list(one.words)
        np.testing.assert_array_equal(many.counts, one.counts)
        # Only inner products mean something, and these are of counts rounded to float32.
        rows, expected = many[list(many.words)], one[list(one.words)]
        np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=1e-5)


def test_vectors_of_too_few_words(lines):
    with pytest.raises(ValueError, match="the corpus has 16 words that occur 1 times or more"):
        train_vectors(lines, dim=100, min_count=1, workers=1)
