"""A small benchmark, training text, word vectors, and options for quick reproductions."""

from __future__ import annotations

import numpy as np

import sentencode as se

QUICK = {"options": {"folds": 2}, "resamples": 20, "partial": True, "device": "cpu"}
GOOD, BAD = ["fine", "great", "nice", "warm"], ["awful", "poor", "bad", "cold"]
WORDS = [*GOOD, *BAD, "film", "the", "a", "was"]


def sentence(rng, words=WORDS, low=4, high=7):
    return " ".join(rng.choice(words, size=rng.integers(low, high)))


def word_vectors():
    rows = np.random.default_rng(1).normal(size=(len(WORDS), 6)).astype(np.float32)
    return se.WordVectors.from_array(WORDS, rows, counts=list(range(30, 30 - len(WORDS), -1)))


def fill(root, vectors):
    """Write SentEval's CR, TREC and STSBenchmark, and text."""
    rng = np.random.default_rng(2)
    folders = {name: root / "data" / "downstream" / name for name in ("CR", "TREC", "STS/STSBenchmark")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    for name, words in (("pos", GOOD), ("neg", BAD)):
        lines = [sentence(rng, [*words, "film", "the"]) for _ in range(24)]
        (folders["CR"] / f"custrev.{name}").write_text("\n".join(lines) + "\n")
    for name in ("train_5500", "TREC_10"):
        lines = [f"{'NUM' if i % 2 else 'HUM'}:x {sentence(rng, (GOOD, BAD)[i % 2])}" for i in range(24)]
        (folders["TREC"] / f"{name}.label").write_text("\n".join(lines) + "\n")
    for split in ("train", "dev", "test"):
        lines = [
            f"news\tx\t2014\t{i}\t{rng.uniform(0, 5):.1f}\t{sentence(rng)}\t{sentence(rng)}"
            for i in range(20)
        ]
        (folders["STS/STSBenchmark"] / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    for name, n in (("books", 40), ("reviews", 40), ("valid", 20)):
        (root / f"{name}.txt").write_text("\n".join(sentence(rng) for _ in range(n)) + "\n")
    vectors.save(root / "vectors.sentencode")
