"""Sentences per second of SIF, from list[str] to a float32 array, compared with fse and model2vec.

All systems lower-case and split at white space, and use the same 300-dimensional vectors and weights. Each
runs in its own process, in turns. The default vectors are float16, so float16 storage is exact. Other
settings (our storage, threads and tokenizer, model2vec without threads) are measured in the first round.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from common import (
    BUILD,
    WORKERS,
    arguments_of,
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
    verdict,
    write_json,
)

OURS = "sentencode"  # compared with fse
PLAIN = "sentencode, no direction removed"  # compared with model2vec, which removes none
SETTINGS = {
    "sentencode, float32 rows": ["--storage", "float32"],
    "sentencode, one thread": ["--threads", "1"],
    "sentencode, words": ["--tokenizer", "words"],
    PLAIN: ["--components", "0"],
}
TARGETS = {"fse": (OURS, 12), "model2vec": (PLAIN, 24)}  # our rate, in multiples of the peer's
SKETCH = 560_000  # sentences per second of a simple C++ program on two cores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    parser.add_argument("--vectors", type=Path, help=".npz; default: glove.local.300d.f16.npz of the data")
    parser.add_argument(
        "--corpus", type=Path, help=".xz, one sentence per line; default: books.train.txt.xz of the data"
    )
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--ours-only", action="store_true", help="leave the peers out")
    args = parser.parse_args()

    vectors = unpacked_vectors(args.vectors or args.data / "vectors" / "glove.local.300d.f16.npz")
    sentences = sentences_of(args.corpus or args.data / "text" / "books.train.txt.xz", args.sentences)
    worker = [sys.executable, WORKERS / "ours.py"]
    workers = {OURS: worker, **{name: [*worker, *options] for name, options in SETTINGS.items()}}
    once = set(SETTINGS) - {PLAIN}
    if not args.ours_only:
        static = [model2vec(), WORKERS / "model2vec_static.py"]
        workers |= {
            "fse": [fse(), WORKERS / "fse_sif.py"],
            "model2vec": static,
            "model2vec, sequential": [*static, "--sequential"],
        }
        once.add("model2vec, sequential")
    rows = {name: BUILD / "data" / f"rows-{i}.npy" for i, name in enumerate(workers)}
    commands = {
        name: [*command, "--vectors", vectors, "--sentences", sentences, "--rows", rows[name]]
        for name, command in workers.items()
    }
    results = take_turns(commands, args.rounds, once)
    rates = {name: median(runs, "rate") for name, runs in results.items()}

    print(machine())
    print(f"{args.sentences:,} sentences of {sentences.name}, median of {args.rounds} rounds\n")
    for name, runs in results.items():
        ratio = "" if name == OURS else f"{OURS} is {rates[OURS] / rates[name]:.2f} times as fast"
        print(f"{name:33} {rates[name]:10,.0f} sentences/s ({spread(runs, 'rate')}) {ratio}")
    against_sketch = rates[OURS] / SKETCH
    print(f"\n{OURS} against the sketch: {against_sketch:.2f} {verdict(against_sketch, 1)}")
    for name, (ours, target) in TARGETS.items():
        if name in rates:
            # With or without threads, whichever is faster on this machine.
            theirs = max(rate for other, rate in rates.items() if other.split(",")[0] == name)
            ratio = rates[ours] / theirs
            print(f"{ours} against {name}: {ratio:.1f} {verdict(ratio, target)}")
    bandwidth = report_bandwidth(results[OURS][0], rates[OURS], args.sentences, vectors)
    agreement = report_agreement({name: np.load(path) for name, path in rows.items()})
    write_json(args.json, results=results, bandwidth=bandwidth, agreement=agreement)


def report_bandwidth(run: dict, rate: float, sentences: int, vectors: Path) -> dict:
    """Report the memory traffic as a fraction of the machine's bandwidth when it copies memory.

    Traffic is one row of the table per known word, and the embeddings. Cached rows cause no traffic, so more
    than 1 is possible.
    """
    dim = np.load(vectors / "vectors.npy", mmap_mode="r").shape[1]
    traffic = run["tokens"] * dim * 2 + sentences * dim * 4
    bandwidth = copy_bandwidth(processors())
    fraction = traffic / bandwidth / (sentences / rate)
    print(
        f"bandwidth: {run['tokens'] / sentences:.1f} known words per sentence, "
        f"{traffic / 1e9:.1f} GB of rows and embeddings, copied at {bandwidth / 1e9:.1f} GB/s: at most "
        f"{sentences / (traffic / bandwidth):,.0f} sentences/s; {OURS} reaches {fraction:.2f} of it"
    )
    return {"traffic": traffic, "bandwidth": bandwidth, "fraction": fraction}


def report_agreement(rows: dict[str, np.ndarray]) -> dict:
    """Report cosines and relative distances of the embeddings of two systems.

    They differ by the rounding of float32 and by the fit of the common direction. A cosine below 0.999 is an
    error.
    """
    pairs = [
        (OURS, "sentencode, float32 rows"),
        (OURS, "sentencode, one thread"),
        (OURS, "fse"),
        (PLAIN, "model2vec"),
        (PLAIN, "model2vec, sequential"),
    ]
    differences = {}
    for a, b in pairs:
        if b not in rows:
            continue
        x, y = rows[a].astype(float), rows[b].astype(float)
        x_norm, y_norm = np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1)
        nonzero = (x_norm > 1e-6) & (y_norm > 1e-6)
        zero_in_one = int(((x_norm > 1e-6) != (y_norm > 1e-6)).sum())
        x, y, x_norm, y_norm = x[nonzero], y[nonzero], x_norm[nonzero], y_norm[nonzero]
        cosine = (x * y).sum(1) / x_norm / y_norm
        distance = np.linalg.norm(x - y, axis=1) / x_norm
        print(
            f"agreement of {a} and {b}, {len(x):,} embeddings: cosine at least {cosine.min():.6f}, relative "
            f"distance {np.median(distance):.1e} median, {distance.max():.1e} at most; {zero_in_one} are "
            "zero in one system only"
        )
        differences[f"{a} / {b}"] = {"least cosine": cosine.min(), "largest distance": distance.max()}
        if cosine.min() < 0.999:
            raise SystemExit(f"{a} and {b} do not compute the same thing")
    return differences


if __name__ == "__main__":
    main()
