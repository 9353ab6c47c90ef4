"""Small tasks and encoders for fast reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import sentencode as se
from sentencode.evaluation import Kind, Split, Task

WORDS = [f"w{i}" for i in range(60)]


def classes(name="kind", n=60, f1=False):
    """Classes: whether the number of the word is even."""
    rng = np.random.default_rng(5)
    splits = {}
    for split, size in (("train", n), ("test", n)):
        words = rng.choice(WORDS, size=size).tolist()
        labels = np.array([int(word[1:]) % 2 for word in words])
        splits[split] = Split(([f"{word} x" for word in words],), labels)
    return Task(
        name, splits, Kind("classification", "folds", features=("u",), f1=f1, tokenized=True), ("odd", "even")
    )


def nested():
    """The same in folds of unequal sizes."""
    return Task("nested", {"all": classes(n=55)["test"]}, Kind("classification", "nested"), ("odd", "even"))


def scores(name="similar", subsets=("one", "two.three"), n=24, seed=2):
    """Scores: how close the numbers of two words are."""
    rng = np.random.default_rng(seed)
    splits = {}
    for part in subsets:
        a, b = rng.integers(0, 60, size=(2, n))
        gold = 5 - np.abs(a - b) / 12
        splits[part] = Split(([WORDS[i] for i in a], [WORDS[i] for i in b]), gold)
    return Task(name, splits, Kind("similarity", pairs=True, subsets=len(subsets) > 1, tokenized=True))


class Noisy:
    """Encodes the number of the word and whether it is even, with noise."""

    def __init__(self, noise, seed=0):
        self.noise, self.seed = noise, seed

    def encode(self, sentences):
        numbers = np.array([int(sentence.split()[0][1:]) for sentence in sentences])
        angle = numbers / 30
        rows = np.stack([np.cos(angle), np.sin(angle), numbers % 2, np.ones(len(numbers))], axis=1)
        noise = np.random.default_rng(self.seed).normal(size=(60, 4))[numbers]
        return (rows + self.noise * noise).astype(np.float32)


def eight(reports):
    """Eight reports, as correlations need: the given ones, and copies with other scores."""
    extended = list(reports)
    for i in range(8 - len(extended)):
        one = reports[i % len(reports)]
        moved = {
            task: replace(result, figures=_moved(result.figures, i)) for task, result in one.results.items()
        }
        extended.append(replace(one, encoder=f"copy {i}", results=moved))
    return extended


def _moved(value, i):
    if isinstance(value, dict):
        return {key: _moved(one, i) for key, one in value.items()}
    return value * (1 - 0.01 * (i * i % 7)) if isinstance(value, float) else value


def report(name, noise, tasks=None, **options):
    tasks = [classes(), scores()] if tasks is None else tasks
    return se.evaluate(Noisy(noise, len(name)), tasks, name=name, protocol="fast", resamples=200, **options)
