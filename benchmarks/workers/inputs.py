"""What every worker reads, and the line that it prints at its end. Needs NumPy alone, in any environment."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

TRAINING = 20_000  # sentences to which the common direction is fitted
SHOWN = 10_000  # rows that are compared between systems


def parsed_arguments(parser=None):
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


def measure(name, encode, texts, rows_path, calls=1, **more):
    """Times calls for all sentences, and takes their median.

    The first call is not counted. It warms everything up, and makes the machine's memory what it is in any
    process that does more than one thing: on a virtual machine, memory that was never used has to be given
    by its host, which can take longer than all the work of ours.
    """
    timed = []
    rows = encode(texts)
    for _ in range(calls):
        del rows
        begin, work = time.perf_counter(), time.process_time()
        rows = encode(texts)
        timed.append((time.perf_counter() - begin, time.process_time() - work))
    seconds, work = sorted(timed)[len(timed) // 2]
    assert rows.dtype == np.float32, rows.dtype
    assert len(rows) == len(texts), rows.shape
    np.save(rows_path, rows[:SHOWN])
    facts = {"system": name, "seconds": seconds, "rate": len(texts) / seconds, "cores": work / seconds}
    print(json.dumps({**facts, **more}))
