"""Encoders and tasks of eight words with known scores."""

from __future__ import annotations

import numpy as np

import sentencode as se
from sentencode.evaluation import Kind, Split, Task

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
    """A function from sentences to embeddings that counts its sentences."""

    def __init__(self, encode=rows_of):
        self.encode_, self.calls = encode, []

    def __call__(self, sentences):
        self.calls.append(list(sentences))
        return self.encode_(sentences)


def failing(sentences):
    raise OSError("the model is gone")


def written(report, folder):
    report.to_json(folder / "report.json")
    return folder / "report.json"


def length(sentences):
    """All cosines are 1."""
    return np.array([[1.0 + len(sentence)] for sentence in sentences])


def write_cr(folder):
    """Two small files in SentEval's layout."""
    sentences = some_sentences(40, 0)
    (folder / "downstream" / "CR").mkdir(parents=True)
    for kind, label in (("pos", 1), ("neg", 0)):
        chosen = [s for s in sentences if labels_of([s])[0] == label]
        (folder / "downstream" / "CR" / f"custrev.{kind}").write_text("\n".join(chosen) + "\n")
