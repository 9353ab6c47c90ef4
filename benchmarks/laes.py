"""Fitting the linear autoencoder compared with earlier algorithms, as ratios from one run.

Each measurement is a process. Contestants take turns, and medians are compared. Only fitting is timed: words
are loaded and sentences read before; peers also look words up and build their matrix before. Parts:

  dense    fit of 150 hidden units, ours / a dense SVD of the paper's matrix, on some of SICK and STSB
  blocks   the same on all of SICK, ours / Pasa and Sperduti's column blocks, which the paper used
  floor    fit on 100,000 sentences of books, max_length 40: ours / the bare matrix products of G in NumPy
  sweep    every hidden size from 1 to 150 scored on dev, over one fit
  large    2,400 hidden units on SICK and STSB, seconds and memory
  demo     what `sentencode demo` fits, 150 hidden units to 1,566 sentences: processor time
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import lzma
import time
from importlib import resources
from pathlib import Path

import numpy as np
from common import (
    Clock,
    Contestants,
    arguments_of,
    data_argument,
    machine,
    median,
    say,
    spread,
    verdict,
    write_json,
)

from sentencode import _core

PARTS = ("dense", "blocks", "floor", "sweep", "large", "demo")
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
    """The paper's matrix, float32, as Fortran lays it out: LAPACK then makes no copy."""
    n, longest = words.shape[1], max(map(len, sentences))
    xi = np.zeros((sum(map(len, sentences)), longest * n), np.float32, order="F")
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


def svd(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """LAPACK's divide and conquer in float32, over `matrix`. (numpy.linalg.svd computes in float64 whatever
    it is given, and takes twice the time and memory.)"""
    from scipy.linalg import svd

    return svd(matrix, full_matrices=False, overwrite_a=True, check_finite=False)


def invariants(a: np.ndarray, b: np.ndarray, s: np.ndarray) -> dict:
    """What does not depend on the signs of the units, nor on turns among units of equal weight."""
    a, b, s = (np.asarray(x, float) for x in (a, b, s))
    return {
        "s": s.tolist(),
        "energy": float(s @ s),
        "a": float(np.linalg.norm(a)),
        "b": float(np.linalg.norm(b)),
    }


def new_laes(vectors: _core.WordVectors, weights: np.ndarray, hidden: int, max_length: int) -> _core.LAES:
    return _core.LAES(
        vectors,
        TOKENIZER,
        weights,
        hidden=hidden,
        mode="residual",
        direction="forward",
        combine="sum",
        center=False,
        state="recursive",
        max_length=max_length,
    )


# The timed functions. Each returns further facts to report.


def ours(name: str, count: int, hidden: int, max_length: int) -> dict:
    vectors, weights = read_words()
    sentences = corpus(name)[: count or None]
    encoder = new_laes(vectors, weights, hidden, max_length)
    with Clock() as clock:
        encoder.partial_fit(sentences)
        encoder.solve()
    parameters = encoder.parameters("forward")
    return clock.facts(
        longest=parameters["longest"],
        **invariants(parameters["A"], parameters["B"], parameters["singular_values"]),
    )


def dense(name: str, count: int, hidden: int, max_length: int) -> dict:
    vectors, weights = read_words()
    sentences = ids_of(vectors, corpus(name)[: count or None], max_length)
    words = vectors.matrix() * weights[:, None]
    xi = xi_of(words, sentences)
    shape = [*xi.shape]
    with Clock() as clock:
        v, s, ut = svd(xi)
        v, s = v[:, :hidden], s[:hidden]
        q = (s[:, None] * (shifted(v, sentences).T @ v)) / s[None, :]
        a, b = ut[:hidden, : words.shape[1]], q.T
    return clock.facts(shape=shape, **invariants(a, b, s))


def blocks(name: str, count: int, hidden: int, max_length: int) -> dict:
    """Pasa and Sperduti: decomposes one column block after the other, the last first."""
    vectors, weights = read_words()
    sentences = ids_of(vectors, corpus(name)[: count or None], max_length)
    words = vectors.matrix() * weights[:, None]
    n, longest = words.shape[1], max(map(len, sentences))
    flat = words[np.concatenate(sentences)]
    position = np.concatenate([np.arange(len(ids)) for ids in sentences])
    with Clock() as clock:
        v = np.zeros((len(flat), 0), np.float32)
        s = np.zeros(0, np.float32)
        for i in range(longest - 1, -1, -1):
            rows = np.flatnonzero(position >= i)
            joined = np.zeros((len(flat), n + len(s)), np.float32, order="F")
            joined[rows, :n] = flat[rows - i]
            joined[:, n:] = v * s
            v, s, ut = svd(joined)
            v, s, ut = v[:, :hidden], s[:hidden], ut[:hidden]
        a, b = ut[:, :n], ((v / s).T @ shifted(v, sentences)) * s
    return clock.facts(shape=[len(flat), longest * n], **invariants(a, b, s))


def products(name: str, count: int, hidden: int, max_length: int) -> dict:
    """The products of G alone, batch by batch, on words that are in place already."""
    vectors, _ = read_words()
    lengths = np.array(
        sorted(map(len, ids_of(vectors, corpus(name)[: count or None], max_length)), reverse=True)
    )
    n = vectors.dim
    words = np.random.default_rng(1).standard_normal((2048, lengths[0] * n), np.float32)
    out = np.empty((lengths[0] * n, n), np.float32)  # made once: no time goes into new memory
    seconds, flops = 0.0, 0.0
    for first in range(0, len(lengths), 2048):
        batch = lengths[first : first + 2048]
        for j in range(batch[0]):
            rows = int((batch > j).sum())
            a, b = words[:rows, : (j + 1) * n].T, words[:rows, j * n : (j + 1) * n]
            begin = time.perf_counter()
            np.dot(a, b, out=out[: (j + 1) * n])
            seconds += time.perf_counter() - begin
            flops += 2.0 * rows * (j + 1) * n * n
    return {"seconds": seconds, "gflops": flops / seconds / 1e9}


def sweep(name: str, count: int, hidden: int, max_length: int) -> dict:
    vectors, weights = read_words()
    first, second, gold = sick("trial") if name == "sick" else stsb("dev")
    sentences = corpus(name)[: count or None]
    encoder = new_laes(vectors, weights, hidden, max_length)
    with Clock() as fit:
        encoder.partial_fit(sentences)
        encoder.solve()
    with Clock() as clock:
        curve = encoder.select(first, second, gold, list(range(1, hidden + 1)))[0]
    best = int(np.argmax(curve["pearson"]))
    return clock.facts(
        fit=fit.seconds,
        ratio=clock.seconds / fit.seconds,
        best=int(curve["settings"][best]),
        pearson=float(curve["pearson"][best]),
    )


def demo(name: str, count: int, hidden: int, max_length: int) -> dict:
    """The built-in sentences and vectors. What threads burn while they wait counts."""
    import sentencode as se

    text = resources.files("sentencode").joinpath("data/demo_sentences.txt").read_text(encoding="utf-8")
    sentences = [line for line in text.splitlines() if line][: count or None]
    encoder = se.LAES(se.WordVectors.default(), hidden=hidden, max_length=max_length)
    with Clock() as clock:
        encoder.fit(sentences)
    return clock.facts(work=clock.seconds * clock.cores)


CONTESTANTS = Contestants(__file__, ours, dense, blocks, products, sweep, demo)

# One measurement: the contestant, the sentences, how many of them (0: all), hidden units, max_length.
Case = tuple[str, str, int, int, int]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--dense-rounds", type=int, default=1, help="of the peers in `dense` and `blocks`")
    parser.add_argument("--dense-sentences", type=int, default=2000, help="of SICK in `dense`; 0: all")
    parser.add_argument("--stsb-sentences", type=int, default=1000, help="of STSB in `dense`; 0: all")
    parser.add_argument("--sentences", type=int, default=0, help="of all other parts; 0: all")
    parser.add_argument("--hidden", type=int, default=150, help="of all parts but `large`")
    parser.add_argument("--large", type=int, default=2400, help="hidden units of the part `large`")
    CONTESTANTS.argument(parser)
    args = parser.parse_args()
    global DATA
    DATA = args.data
    CONTESTANTS.options = ["--data", DATA]
    if CONTESTANTS.run_child(args):
        return
    measure = CONTESTANTS.measure

    say(machine())
    some, hidden = args.sentences, args.hidden
    once = args.dense_rounds < args.rounds
    if "dense" in args.only:
        for name, count in (("sick", args.dense_sentences), ("stsb", args.stsb_sentences)):
            case = (name, count, hidden, 64)
            runs = measure(args.rounds, ("ours", *case), ("dense", *case), once=("dense",) if once else ())
            show(f"dense  {name}", *runs, 100)
    if "blocks" in args.only:
        case = ("sick", some, hidden, 64)
        runs = measure(args.rounds, ("ours", *case), ("blocks", *case), once=("blocks",) if once else ())
        show("blocks sick", *runs, 1)
    if "floor" in args.only:
        case = ("books", some, hidden, 40)
        we, they = measure(args.rounds, ("ours", *case), ("products", *case))
        ratio = median(we, "seconds") / median(they, "seconds")
        say(f"floor  books: bare products {seconds(they)} at {median(they, 'gflops'):.0f} GFLOP/s,")
        say(f"       whole fit {seconds(we)}: x{ratio:.2f} {verdict(ratio, 2, at_least=False)};")
        say(f"       memory {we[0]['mebibytes']} MiB")
    if "sweep" in args.only:
        for name in ("sick", "stsb"):
            (we,) = measure(args.rounds, ("sweep", name, some, hidden, 64))
            ratio = median(we, "ratio")
            say(f"sweep  {name}: fit {median(we, 'fit'):.2f} s,")
            say(f"       {hidden} sizes scored on dev in {seconds(we)}:")
            say(f"       x{ratio:.2f} {verdict(ratio, 3, at_least=False)};")
            say(f"       best {we[0]['best']}: Pearson {100 * we[0]['pearson']:.2f}")
    if "large" in args.only:
        for name in ("sick", "stsb"):
            (we,) = measure(1, ("ours", name, some, args.large, 64))
            aim = verdict(we[0]["seconds"], 180, at_least=False) if name == "sick" else ""
            say(f"large  {name}: {args.large} units in {seconds(we)} {aim};")
            say(f"       memory {we[0]['mebibytes']} MiB")
    if "demo" in args.only:
        (we,) = measure(args.rounds, ("demo", "demo", some, hidden, 64))
        work = median(we, "work")
        say(f"demo   {hidden} units: {work:.2f} s of processors {verdict(work, 1.5, at_least=False)},")
        say(f"       {seconds(we)} by the clock, memory {we[0]['mebibytes']} MiB")
    write_json(args.json, results=CONTESTANTS.everything)


def seconds(runs: list[dict]) -> str:
    return f"{median(runs, 'seconds'):.2f} s ({spread(runs, 'seconds')})"


def show(title: str, ours: list[dict], peers: list[dict], target: float) -> None:
    we, they = ours[0], peers[0]
    say(f"{title}, matrix {they['shape']}: theirs {seconds(peers)}, ours {seconds(ours)}:")
    ratio = median(peers, "seconds") / median(ours, "seconds")
    say(f"       x{ratio:.0f} {verdict(ratio, target)};")
    apart = np.abs(np.subtract(we["s"], they["s"])).max() / they["s"][0]
    say(f"       energy ours / theirs {we['energy'] / they['energy']:.6f},")
    say(f"       singular values at most {apart:.1e} of the largest apart;")
    say(f"       |A| {we['a']:.5f} ours, {they['a']:.5f} theirs, |B| {we['b']:.5f} and {they['b']:.5f};")
    say(f"       memory ours {we['mebibytes']} MiB, theirs {they['mebibytes']} MiB")


if __name__ == "__main__":
    main()
