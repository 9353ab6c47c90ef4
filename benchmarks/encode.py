"""Sentences a second from raw strings (list[str]) to a float32 array, against fse and model2vec.

All sides lower-case and split at white space; they get the same 300-d vectors and the same weights; every
system runs in a process of its own, in turns. Ours with the tokenizer `words` is reported beside.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from common import (
    BUILD,
    WORKERS,
    copy_bandwidth,
    data_argument,
    fse,
    machine,
    median,
    model2vec,
    processors,
    sentences_of,
    spread,
    take_turns,
    unpacked_vectors,
)

OURS = "sentencode"  # the run that is compared with the peers
TARGETS = {"fse": 12, "model2vec": 24}  # how many times their rate ours should be
SKETCH = 560_000  # sentences a second of a plain C++ sketch on two cores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    parser.add_argument("--vectors", type=Path, help=".npz; default: glove.local.300d.f16.npz of the data")
    parser.add_argument(
        "--corpus", type=Path, help=".xz, one sentence a line; default: books.train.txt.xz of the data"
    )
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ours-only", action="store_true", help="leave the peers out")
    parser.add_argument("--json", type=Path, help="where all measurements are written")
    given = parser.parse_args()

    vectors = unpacked_vectors(given.vectors or given.data / "vectors" / "glove.local.300d.f16.npz")
    sentences = sentences_of(given.corpus or given.data / "text" / "books.train.txt.xz", given.sentences)
    workers = {
        OURS: [sys.executable, WORKERS / "ours.py", "--storage", "float16"],
        "sentencode, float32 rows": [sys.executable, WORKERS / "ours.py"],
        "sentencode, one thread": [
            sys.executable,
            WORKERS / "ours.py",
            "--storage",
            "float16",
            "--threads",
            "1",
        ],
        "sentencode, words": [
            sys.executable,
            WORKERS / "ours.py",
            "--storage",
            "float16",
            "--tokenizer",
            "words",
        ],
    }
    if not given.ours_only:
        workers["fse"] = [fse(), WORKERS / "fse_sif.py"]
        workers["model2vec"] = [model2vec(), WORKERS / "model2vec_static.py"]
        workers["model2vec, one process"] = [model2vec(), WORKERS / "model2vec_static.py", "--one-process"]
    rows = {name: BUILD / "data" / f"rows-{i}.npy" for i, name in enumerate(workers)}
    commands = {
        name: [*command, "--vectors", vectors, "--sentences", sentences, "--rows", rows[name]]
        for name, command in workers.items()
    }
    results = take_turns(commands, given.rounds)
    rates = {name: median(runs, "rate") for name, runs in results.items()}

    print(machine())
    print(f"{given.sentences:,} sentences of {sentences.name}, median of {given.rounds} rounds\n")
    for name, runs in results.items():
        ratio = "" if name == OURS else f"{rates[OURS] / rates[name]:6.1f} x slower"
        print(f"{name:28} {rates[name]:12,.0f} sentences/s ({spread(runs, 'rate')}) {ratio}")
    print(f"\n{OURS} against the sketch: {rates[OURS] / SKETCH:.2f} (target > 1)")
    for name, target in TARGETS.items():
        if name in rates:
            print(f"{OURS} against {name}: {rates[OURS] / rates[name]:.1f} (target >= {target})")
    report_floor(results[OURS][0], rates[OURS], given.sentences, vectors)
    if not given.ours_only:
        report_agreement({name: np.load(path) for name, path in rows.items()})
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")


def report_floor(run: dict, rate: float, sentences: int, vectors: Path) -> None:
    """What share of the time it would take to move the rows in and the result out at the speed at which the
    machine copies memory. Rows that are still in a cache do not move, so that more than 1 is possible."""
    dim = np.load(vectors / "vectors.npy", mmap_mode="r").shape[1]
    traffic = run["tokens"] * dim * 2 + sentences * dim * 4
    bandwidth = copy_bandwidth(processors())
    share = traffic / bandwidth / (sentences / rate)
    print(
        f"floor: {run['tokens'] / sentences:.1f} known words a sentence, "
        f"{traffic / 1e9:.1f} GB of rows and output, copied at {bandwidth / 1e9:.1f} GB/s: "
        f"{sentences / (traffic / bandwidth):,.0f} sentences/s; share {share:.2f}"
    )


def report_agreement(rows: dict[str, np.ndarray]) -> None:
    """That the systems compute the same thing: ours and fse remove a direction, fitted to the same sentences;
    model2vec removes none, and is compared with itself alone."""
    pairs = [(OURS, "fse"), (OURS, "sentencode, float32 rows"), ("model2vec", "model2vec, one process")]
    for a, b in pairs:
        x, y = rows[a], rows[b]
        known = (np.linalg.norm(x, axis=1) > 1e-6) & (np.linalg.norm(y, axis=1) > 1e-6)
        cosine = (x * y).sum(1)[known] / np.linalg.norm(x[known], axis=1) / np.linalg.norm(y[known], axis=1)
        print(f"agreement of {a} and {b}: cosine {cosine.min():.4f} at least, {np.median(cosine):.6f} median")


if __name__ == "__main__":
    main()
