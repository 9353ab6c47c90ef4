"""Our dense product against NumPy's, float32, in the same process and in turns.

`_core.similarities(a, b, "dot")` is one product, a b^T, through dense.h; NumPy computes `a @ b.T`. Both make
a new array for the result. Shapes are those of the work: similarities of many rows, words onto hidden units,
a block column of LAES's Gram matrix, an eigen-solver's step.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from common import arguments_of, machine, processors, verdict, write_json

import sentencode as se
from sentencode import _core

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

TARGET = 0.9  # of NumPy's speed: within 10 %

# name: rows of a, rows of b, the length that is summed over
SHAPES = {
    "square": (2048, 2048, 2048),
    "search": (512, 16384, 300),
    "words to hidden units": (32768, 150, 300),
    "block column": (6000, 300, 2048),
    "eigen-solver's step": (36, 8192, 8192),
}
PAUSE = 0.1  # seconds: after a product, either library's threads spin for a while and hold the processors


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments_of(parser, rounds=7)
    parser.add_argument("--threads", type=int, help="of both sides; default: as many as processors")
    args = parser.parse_args()
    threads = args.threads or processors()
    se.set_num_threads(threads)
    set_numpy_threads(threads)

    print(machine())
    print(f"{_core.build_info()}\n{threads} threads, median of {args.rounds} rounds\n")
    random = np.random.default_rng(1)
    results = {}
    for name, (m, n, k) in SHAPES.items():
        a, b = (random.standard_normal((rows, k), np.float32) for rows in (m, n))
        apart = np.abs(ours(a, b) - numpys(a, b)).max() / np.abs(numpys(a, b)).max()
        if not apart < 1e-5:
            raise SystemExit(f"{name}: the two products differ by {apart:.1e} of the largest number")
        repeats = max(1, round(2e10 / (2 * m * n * k)))  # a few tenths of a second
        times: dict[str, list[float]] = {"ours": [], "numpy": []}
        for i in range(args.rounds):
            for product in (ours, numpys) if i % 2 == 0 else (numpys, ours):
                time.sleep(PAUSE)
                side = "ours" if product is ours else "numpy"
                times[side].append(seconds(product, a, b, repeats))
        gflops = {
            side: 2e-9 * m * n * k * repeats / statistics.median(values) for side, values in times.items()
        }
        # Of each round, so that what disturbs both sides alike does not count.
        ratio = statistics.median(
            theirs / mine for mine, theirs in zip(times["ours"], times["numpy"], strict=True)
        )
        print(
            f"{name:22} [{m} x {k}] [{k} x {n}]: ours {gflops['ours']:6.1f} GFLOP/s, "
            f"NumPy {gflops['numpy']:6.1f}: {ratio:.3f} {verdict(ratio, TARGET)}"
        )
        results[name] = {"shape": [m, n, k], "repeats": repeats, "seconds": times, "ratio": ratio}
    write_json(args.json, threads=threads, results=results)


def ours(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _core.similarities(a, b, "dot")


def numpys(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b.T


def seconds(product: Product, a: np.ndarray, b: np.ndarray, repeats: int) -> float:
    product(a, b)  # wakes the threads
    begin = time.perf_counter()
    for _ in range(repeats):
        product(a, b)
    return time.perf_counter() - begin


def set_numpy_threads(threads: int) -> None:
    """The same number for NumPy's own BLAS."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads, user_api="blas")


if __name__ == "__main__":
    main()
