"""Fitting the linear autoencoder against the ways there were, as ratios from one run.

usage: python benchmarks/laes.py --data DIR [--runs 3] [--only PART ...] [--dense-sentences 1000]

Every measurement is a process of its own. Contestants take turns, and medians are compared. Only the work
itself is timed: words are loaded and sentences read before the clock starts. Parts:

  dense    fit of 150 hidden units, ours / a dense SVD of the paper's matrix, on some of SICK and STSB
  blocks   the same on all of SICK, ours / Pasa and Sperduti's column blocks, which the paper used
  floor    fit on 100,000 sentences of books, max_length 40: ours / the bare matrix products of G in NumPy
  sweep    STSB: every hidden size from 1 to 150 scored on dev, over one fit
  large    2,400 hidden units on SICK and STSB, seconds and memory
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import lzma
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from sentencode import _core

DATA = Path()
TOKENIZER = _core.Tokenizer("words", lowercase=True, invalid="replace")


def read_words() -> tuple[_core.WordVectors, np.ndarray]:
    """The local 300-dimensional vectors and SIF's weights for them."""
    with np.load(DATA / "vectors/glove.local.300d.f16.npz") as file:
        words = bytes(file["words"]).decode().split("\n")
        rows = file["vectors"].astype(np.float32)
    counts = {}
    with gzip.open(DATA / "frequencies/enwiki_vocab_min200.txt.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            word, count = line.split()
            counts[word] = int(count)
    total = sum(counts.values())
    weights = np.array([1e-3 / (1e-3 + counts.get(word, 0) / total) for word in words], np.float32)
    return _core.WordVectors.from_array(words, rows, None, "float16", "skip"), weights


def sick(part: str) -> tuple[list[str], list[str], list[float]]:
    lines = (DATA / f"senteval/downstream/SICK/SICK_{part}.txt").read_text(encoding="utf-8").splitlines()[1:]
    cells = [line.split("\t") for line in lines]
    return [c[1] for c in cells], [c[2] for c in cells], [float(c[3]) for c in cells]


def stsb(part: str) -> tuple[list[str], list[str], list[float]]:
    path = DATA / f"senteval/downstream/STS/STSBenchmark/sts-{part}.csv"
    cells = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line]
    return [c[5] for c in cells], [c[6] for c in cells], [float(c[4]) for c in cells]


def corpus(name: str) -> list[str]:
    if name == "books":
        with lzma.open(DATA / "text/books.train.txt.xz", "rt", encoding="utf-8") as lines:
            return [line for _, line in zip(range(100_000), (s for s in lines if s.strip()), strict=False)]
    first, second, _ = (sick if name == "sick" else stsb)("train")
    return first + second


def ids_of(vectors: _core.WordVectors, sentences: list[str], max_length: int) -> list[np.ndarray]:
    ids, offsets = vectors.lookup(TOKENIZER, sentences, max_length)
    return [ids[a:b] for a, b in itertools.pairwise(offsets) if b > a]


def xi_of(words: np.ndarray, sentences: list[np.ndarray]) -> np.ndarray:
    """The paper's matrix, float32."""
    n, longest = words.shape[1], max(map(len, sentences))
    xi = np.zeros((sum(map(len, sentences)), longest * n), np.float32)
    row = 0
    for ids in sentences:
        for t in range(len(ids)):
            xi[row, : (t + 1) * n] = words[ids[t::-1]].ravel()
            row += 1
    return xi


def shifted(v: np.ndarray, sentences: list[np.ndarray]) -> np.ndarray:
    out, row = np.zeros_like(v), 0
    for ids in sentences:
        out[row + 1 : row + len(ids)] = v[row : row + len(ids) - 1]
        row += len(ids)
    return out


# What is timed. Each returns what it wants to tell beside the seconds.


def ours(name: str, count: int, hidden: int, max_length: int) -> dict:
    vectors, weights = read_words()
    sentences = corpus(name)[: count or None]
    options = {
        "mode": "residual",
        "direction": "forward",
        "combine": "sum",
        "center": False,
        "state": "recursive",
    }
    encoder = _core.LAES(vectors, TOKENIZER, weights, hidden=hidden, max_length=max_length, **options)
    with Clock() as clock:
        encoder.partial_fit(sentences)
        encoder.solve()
    s = encoder.parameters("forward")["singular_values"]
    return clock.facts(
        energy=float((s.astype(float) ** 2).sum()), longest=encoder.parameters("forward")["longest"]
    )


def dense(name: str, count: int, hidden: int, max_length: int) -> dict:
    vectors, weights = read_words()
    sentences = ids_of(vectors, corpus(name)[: count or None], max_length)
    words = vectors.matrix() * weights[:, None]
    with Clock() as clock:
        xi = xi_of(words, sentences)
        v, s, ut = np.linalg.svd(xi, full_matrices=False)
        v, s = v[:, :hidden], s[:hidden]
        q = (s[:, None] * (shifted(v, sentences).T @ v)) / s[None, :]
        _a, b = ut[:hidden, : words.shape[1]], q.T
    return clock.facts(
        energy=float((s.astype(float) ** 2).sum()), shape=[*xi.shape], norm=float(np.linalg.norm(b, 2))
    )


def blocks(name: str, count: int, hidden: int, max_length: int) -> dict:
    """Pasa and Sperduti: decomposes one column block after the other, the last first."""
    vectors, weights = read_words()
    sentences = ids_of(vectors, corpus(name)[: count or None], max_length)
    words = vectors.matrix() * weights[:, None]
    n, longest = words.shape[1], max(map(len, sentences))
    flat = words[np.concatenate(sentences)]
    place = np.concatenate([np.arange(len(ids)) for ids in sentences])
    with Clock() as clock:
        v = np.zeros((len(flat), 0), np.float32)
        s = np.zeros(0, np.float32)
        for i in range(longest - 1, -1, -1):
            block = np.zeros((len(flat), n), np.float32)
            rows = np.flatnonzero(place >= i)
            block[rows] = flat[rows - i]
            v, s, ut = np.linalg.svd(np.hstack([block, v * s]), full_matrices=False)
            v, s, ut = v[:, :hidden], s[:hidden], ut[:hidden]
        b = ((v / s).T @ shifted(v, sentences)) * s
    return clock.facts(energy=float((s.astype(float) ** 2).sum()), norm=float(np.linalg.norm(b, 2)))


def products(name: str, count: int, hidden: int, max_length: int) -> dict:
    """The products of G alone, batch by batch, on words that are in place already."""
    vectors, _ = read_words()
    lengths = np.array(
        sorted(map(len, ids_of(vectors, corpus(name)[: count or None], max_length)), reverse=True)
    )
    n = vectors.dim
    words = np.random.default_rng(1).standard_normal((2048, lengths[0] * n)).astype(np.float32)
    seconds, flops = 0.0, 0.0
    for first in range(0, len(lengths), 2048):
        batch = lengths[first : first + 2048]
        for j in range(batch[0]):
            rows = int((batch > j).sum())
            a, b = words[:rows, : (j + 1) * n].T, words[:rows, j * n : (j + 1) * n]
            begin = time.perf_counter()
            np.dot(a, b)
            seconds += time.perf_counter() - begin
            flops += 2.0 * rows * (j + 1) * n * n
    return {"seconds": seconds, "gflops": flops / seconds / 1e9, "mebibytes": 0}


def sweep(name: str, count: int, hidden: int, max_length: int) -> dict:
    vectors, weights = read_words()
    first, second, gold = sick("trial") if name == "sick" else stsb("dev")
    options = {
        "mode": "residual",
        "direction": "forward",
        "combine": "sum",
        "center": False,
        "state": "recursive",
    }
    encoder = _core.LAES(vectors, TOKENIZER, weights, hidden=hidden, max_length=max_length, **options)
    with Clock() as fit:
        encoder.partial_fit(corpus(name))
        encoder.solve()
    with Clock() as clock:
        curve = encoder.select(first, second, gold, list(range(1, hidden + 1)))[0]
    best = int(np.argmax(curve["pearson"]))
    return clock.facts(
        fit=fit.seconds, best=int(curve["settings"][best]), pearson=float(curve["pearson"][best])
    )


class Clock:
    def __enter__(self) -> Clock:
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._begin

    def facts(self, **more: object) -> dict:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return dict(seconds=self.seconds, mebibytes=round(peak), **more)


CONTESTANTS = {f.__name__: f for f in (ours, dense, blocks, products, sweep)}


def measure(runs: int, *contests: tuple[str, str, int, int, int]) -> list[dict]:
    """Lets contestants take turns; each one's facts with the median of its seconds."""
    results: list[list[dict]] = [[] for _ in contests]
    for _ in range(runs):
        for contest, facts in zip(contests, results, strict=True):
            command = [sys.executable, __file__, "--data", str(DATA), "--child", json.dumps(contest)]
            facts.append(
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            )
    medians = []
    for facts in results:
        middle = statistics.median(f["seconds"] for f in facts)
        medians.append({**facts[-1], "seconds": middle, "all": [round(f["seconds"], 2) for f in facts]})
    return medians


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=["dense", "blocks", "floor", "sweep", "large"])
    parser.add_argument("--dense-sentences", type=int, default=1000)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    global DATA
    DATA = arguments.data
    if arguments.child:
        contestant, *details = json.loads(arguments.child)
        print(json.dumps(CONTESTANTS[contestant](*details)))
        return

    if "dense" in arguments.only:
        for name in ("sick", "stsb"):
            case = (name, arguments.dense_sentences, 150, 64)
            we, they = measure(arguments.runs, ("ours", *case), ("dense", *case))
            tell(f"dense  {name}, matrix {they['shape']}", we, they)
    if "blocks" in arguments.only:
        case = ("sick", 0, 150, 64)
        we, they = measure(arguments.runs, ("ours", *case), ("blocks", *case))
        tell(f"blocks sick, their |B| {they['norm']:.3f}", we, they)
    if "floor" in arguments.only:
        case = ("books", 100_000, 150, 40)
        we, they = measure(arguments.runs, ("ours", *case), ("products", *case))
        ratio = we["seconds"] / they["seconds"]
        say(f"floor  books: bare products {they['seconds']:.1f} s at {they['gflops']:.0f} GFLOP/s,")
        say(f"       whole fit {we['seconds']:.1f} s: x{ratio:.2f}; memory {we['mebibytes']} MiB")
    if "sweep" in arguments.only:
        (we,) = measure(arguments.runs, ("sweep", "stsb", 0, 150, 64))
        say(f"sweep  stsb: fit {we['fit']:.1f} s, 150 sizes scored on dev in {we['seconds']:.1f} s:")
        say(f"       x{we['seconds'] / we['fit']:.2f}; best {we['best']} ({100 * we['pearson']:.2f})")
    if "large" in arguments.only:
        for name in ("sick", "stsb"):
            (we,) = measure(1, ("ours", name, 0, 2400, 64))
            say(f"large  {name}: 2,400 units in {we['seconds']:.0f} s; memory {we['mebibytes']} MiB")


def say(line: str) -> None:
    print(line, flush=True)


def tell(title: str, we: dict, they: dict) -> None:
    say(f"{title}: theirs {they['seconds']:.1f} s, ours {we['seconds']:.2f} s:")
    ratio, energy = they["seconds"] / we["seconds"], we["energy"] / they["energy"]
    say(f"       x{ratio:.0f}; energy ours/theirs {energy:.5f};")
    say(f"       memory {they['mebibytes']} and {we['mebibytes']} MiB")


if __name__ == "__main__":
    main()
