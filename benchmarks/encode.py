"""Sentences a second from raw strings (list[str]) to a float32 array, against fse and model2vec.

All sides lower-case and split at white space, with the same 300-dimensional vectors and weights. Each system
runs in its own process, in turns. The default vectors are float16 numbers, so float16 storage is exact.
Further rows (other settings of ours, model2vec without its threads) are measured in the first round only.
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

OURS = "sentencode"  # the run that is compared with the peers
PLAIN = "sentencode, no direction removed"  # what model2vec computes
BESIDE = {
    "sentencode, float32 rows": ["--storage", "float32"],
    "sentencode, one thread": ["--threads", "1"],
    "sentencode, words": ["--tokenizer", "words"],
    PLAIN: ["--components", "0"],
}
# How many times its rate ours should be, when it computes the same thing: model2vec takes no direction away.
TARGETS = {"fse": (OURS, 12), "model2vec": (PLAIN, 24)}
SKETCH = 560_000  # sentences a second of a plain C++ sketch on two cores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    parser.add_argument("--vectors", type=Path, help=".npz; default: glove.local.300d.f16.npz of the data")
    parser.add_argument(
        "--corpus", type=Path, help=".xz, one sentence a line; default: books.train.txt.xz of the data"
    )
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--ours-only", action="store_true", help="leave the peers out")
    args = parser.parse_args()

    vectors = unpacked_vectors(args.vectors or args.data / "vectors" / "glove.local.300d.f16.npz")
    sentences = sentences_of(args.corpus or args.data / "text" / "books.train.txt.xz", args.sentences)
    worker = [sys.executable, WORKERS / "ours.py"]
    workers = {OURS: worker, **{name: [*worker, *options] for name, options in BESIDE.items()}}
    once = set(BESIDE) - {PLAIN}
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
        ratio = "" if name == OURS else f"{OURS} / it = {rates[OURS] / rates[name]:.2f}"
        print(f"{name:33} {rates[name]:10,.0f} sentences/s ({spread(runs, 'rate')}) {ratio}")
    against_sketch = rates[OURS] / SKETCH
    print(f"\n{OURS} against the sketch: {against_sketch:.2f} {verdict(against_sketch, 1)}")
    for name, (ours, target) in TARGETS.items():
        if name in rates:
            # The peer's best: threads do not help everybody everywhere.
            theirs = max(rate for other, rate in rates.items() if other.split(",")[0] == name)
            ratio = rates[ours] / theirs
            print(f"{ours} against {name}: {ratio:.1f} {verdict(ratio, target)}")
    floor = report_floor(results[OURS][0], rates[OURS], args.sentences, vectors)
    agreement = report_agreement({name: np.load(path) for name, path in rows.items()})
    write_json(args.json, results=results, floor=floor, agreement=agreement)


def report_floor(run: dict, rate: float, sentences: int, vectors: Path) -> dict:
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
    return {"traffic": traffic, "bandwidth": bandwidth, "share": share}


def report_agreement(rows: dict[str, np.ndarray]) -> dict:
    """That the systems compute the same thing, to what float32 and another fit of the direction allow: the
    cosine of the rows and how far they are from each other, relative to their length."""
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
        lengths = np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1)
        known = (lengths[0] > 1e-6) & (lengths[1] > 1e-6)
        one_sided = int(((lengths[0] > 1e-6) != (lengths[1] > 1e-6)).sum())
        x, y = x[known], y[known]
        cosine = (x * y).sum(1) / lengths[0][known] / lengths[1][known]
        distance = np.linalg.norm(x - y, axis=1) / lengths[0][known]
        print(
            f"agreement of {a} and {b}, {len(x):,} rows: cosine at least {cosine.min():.6f}, relative "
            f"distance {np.median(distance):.1e} median, {distance.max():.1e} at most; {one_sided} rows are "
            "zero on one side alone"
        )
        differences[f"{a} / {b}"] = {"least cosine": cosine.min(), "largest distance": distance.max()}
        if cosine.min() < 0.999:
            raise SystemExit(f"{a} and {b} do not compute the same thing")
    return differences


if __name__ == "__main__":
    main()
