from __future__ import annotations

import numpy as np
import pytest

import sentencode as se

WORDS = [
    "the",
    "a",
    "man",
    "dog",
    "cat",
    "plays",
    "sleeps",
    "guitar",
    "house",
    "big",
    "small",
    "é",
    "n't",
    ".",
]


# Pairs of sentences and their similarity
PAIRS = (
    ("the man plays", "a man plays a guitar"),
    ("the dog", "a big house"),
    ("small cat", "the cat sleeps"),
)
SCORES = (4.0, 0.5, 3.0)


@pytest.fixture(scope="session")
def vectors():
    rng = np.random.default_rng(7)
    matrix = rng.normal(size=(len(WORDS), 6)) + 0.5
    counts = [1000 // (rank + 1) for rank in range(len(WORDS))]
    return se.WordVectors.from_array(WORDS, matrix.astype(np.float32), counts)


@pytest.fixture(scope="session")
def sentences():
    rng = np.random.default_rng(11)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(200)]


FAMILIES = {
    "average": lambda vectors: se.Average(vectors),
    "weighted average": lambda vectors: se.Average(vectors, a=1e-2),
    "unit average": lambda vectors: se.Average(
        vectors, weights=np.linspace(0.5, 2, len(vectors), dtype=np.float32), normalize=True
    ),
    "sif": lambda vectors: se.SIF(vectors, components=2),
    "usif": lambda vectors: se.USIF(vectors, components=3, sentence_length=3),
    "usif as written": lambda vectors: se.USIF(vectors, normalize="none", sentence_length=3),
    "laes hidden": lambda vectors: se.LAES(vectors, hidden=10, mode="hidden"),
    "laes reconstruction": lambda vectors: se.LAES(vectors, hidden=10, mode="reconstruction", center=True),
    "laes residual": lambda vectors: se.LAES(vectors, hidden=5, mode="residual", direction="backward"),
    "laes both": lambda vectors: se.LAES(vectors, hidden=5, mode="residual", direction="both"),
    "laes concat": lambda vectors: se.LAES(vectors, hidden=4, direction="both", combine="concat", a=None),
    "laes projection": lambda vectors: se.LAES(
        vectors, hidden=7, mode="hidden", state="projection", max_length=5
    ),
}


@pytest.fixture(scope="session", params=FAMILIES)
def encoder(request, vectors, sentences):
    """A fitted encoder of each kind, shared by all tests: do not change it."""
    return FAMILIES[request.param](vectors).fit(sentences)


@pytest.fixture(params=FAMILIES)
def unfitted(request, vectors):
    return FAMILIES[request.param](vectors)
