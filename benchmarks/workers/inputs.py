"""What every worker reads, and the line that it prints at its end. Needs NumPy alone, in any environment."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

TRAINING = 20_000  # sentences to which the common direction is fitted
SHOWN = 1_000  # rows that are compared between systems


def arguments(parser=None):
    parser = parser or argparse.ArgumentParser()
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True, help="where the first rows are written")
    return parser.parse_args()


def vectors(folder):
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    return words, np.load(folder / "vectors.npy"), np.load(folder / "counts.npy")


def sentences(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def measure(name, encode, texts, rows_path, **more):
    """Times one call for all sentences, after a short one that warms up."""
    encode(texts[:2000])
    begin = time.perf_counter()
    rows = encode(texts)
    seconds = time.perf_counter() - begin
    assert rows.dtype == np.float32, rows.dtype
    assert len(rows) == len(texts), rows.shape
    np.save(rows_path, rows[:SHOWN])
    print(json.dumps({"system": name, "seconds": seconds, "rate": len(texts) / seconds, **more}))
