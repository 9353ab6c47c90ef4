"""Exact search of embeddings in each precision, against faiss and usearch; recall against float32.

Rows are Wikipedia's sentences, encoded by uSIF with the built-in vectors and normalized; queries are other
sentences of it. Recall is that of `Average`, too. All sides search the same number of rows with the same
number of threads, in turns in one process, and return the ten best. faiss: `IndexFlatIP`,
`IndexScalarQuantizer` (fp16, 8 bits), `IndexBinaryFlat`. usearch: `search(..., exact=True)`. Their indices
are built before time is taken; ours reads the array. All quantize queries as part of the search. usearch's
int8 are rounded multiples of 1/127, and its queries are quantized too.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import arguments_of, data_argument, machine, processors, say, verdict, write_json

import sentencode as se

TOP = 10
TARGET = 1.0  # times the speed of the faster peer
CALIBRATION = 10_000  # sentences
MULTIPLIERS = (2, 4, 10, 50)
PRECISIONS = ("float32", "float16", "int8", "binary")

Search = Callable[[np.ndarray], Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments_of(parser, rounds=5)
    data_argument(parser)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--sentences", type=int, default=160_000)
    args = parser.parse_args()
    say(machine())

    lines = [line for line in se.Corpus(args.data / "text" / "wikipedia.txt.xz") if line.strip()]
    lines = list(dict.fromkeys(lines))
    random.Random(1).shuffle(lines)
    lines = lines[: args.queries + args.sentences]
    vectors = se.WordVectors.default()
    encoder = se.USIF(vectors).fit(lines[-CALIBRATION:])
    rows = encoder.encode(lines, normalize_embeddings=True)
    queries, corpus = rows[: args.queries], rows[args.queries :]
    ranges = encoder.calibrate(lines[-CALIBRATION:], normalize_embeddings=True)
    say(f"{len(corpus):,} rows of {corpus.shape[1]}, {len(queries):,} queries, {processors()} threads\n")

    results: dict[str, Any] = {"speed": [], "recall": {}}
    for name in PRECISIONS:
        stored = quantized(corpus, name, ranges)
        sides = {"ours": ours(name, stored, ranges), **peers(name, corpus, stored)}
        check(name, {side: search(queries[:100]) for side, search in sides.items()})
        for count in (len(queries), 1):
            seconds = in_turns(sides, queries[:count], args.rounds)
            results["speed"].append({"precision": name, "queries": count, "seconds": seconds})
            ratio = min(value for side, value in seconds.items() if side != "ours") / seconds["ours"]
            times = ", ".join(f"{side} {1e3 * value:.2f}" for side, value in seconds.items())
            say(f"{name}, {count} queries, ms: {times}; ratio {ratio:.2f} {verdict(ratio, TARGET)}")

    say(f"\nrecall@{TOP} against float32: alone, and rescored with {MULTIPLIERS} candidates per hit")
    for each in (encoder, se.Average(vectors)):
        rows = each.encode(lines, normalize_embeddings=True)
        ranges = each.calibrate(lines[-CALIBRATION:], normalize_embeddings=True)
        recalls = recalls_of(rows[: args.queries], rows[args.queries :], ranges)
        results["recall"][type(each).__name__] = recalls
        for name, values in recalls.items():
            say(f"{type(each).__name__}, {name}: " + ", ".join(f"{value:.3f}" for value in values))
    write_json(args.json, **results)


def quantized(rows: np.ndarray, precision: str, ranges: np.ndarray) -> np.ndarray:
    return se.quantize_embeddings(rows, precision, ranges=ranges if precision == "int8" else None)


def recalls_of(queries: np.ndarray, corpus: np.ndarray, ranges: np.ndarray) -> dict[str, list[float]]:
    """The recall of each precision, alone and rescored."""
    expected = se.semantic_search(queries, corpus, TOP).indices
    recalls = {}
    for name in PRECISIONS[1:]:
        options: dict[str, Any] = {"ranges": ranges} if name == "int8" else {}
        rows = quantized(corpus, name, ranges)
        hits = [se.semantic_search(queries, rows, TOP, **options)]
        for multiplier in MULTIPLIERS:
            options |= {"rescore": corpus, "rescore_multiplier": multiplier}
            hits.append(se.semantic_search(queries, rows, TOP, **options))
        recalls[name] = [recall(hit.indices, expected) for hit in hits]
    return recalls


def ours(precision: str, corpus: np.ndarray, ranges: np.ndarray) -> Search:
    options = {"ranges": ranges} if precision == "int8" else {}
    return lambda queries: se.semantic_search(queries, corpus, TOP, measure="dot", **options).indices


def peers(precision: str, rows: np.ndarray, stored: np.ndarray) -> dict[str, Search]:
    import faiss
    from usearch import index as usearch

    faiss.omp_set_num_threads(processors())
    dim = rows.shape[1]
    if precision == "binary":
        width = 8 * stored.shape[1]
        bits = np.packbits(rows > 0, axis=-1)
        index = faiss.IndexBinaryFlat(width)
        index.add(bits)
        usearch_rows, metric, dtype = bits, usearch.MetricKind.Hamming, usearch.ScalarKind.B1
    else:
        kinds = {"float16": faiss.ScalarQuantizer.QT_fp16, "int8": faiss.ScalarQuantizer.QT_8bit}
        if precision in kinds:
            index = faiss.IndexScalarQuantizer(dim, kinds[precision], faiss.METRIC_INNER_PRODUCT)
            index.train(rows[:CALIBRATION])
        else:
            index = faiss.IndexFlatIP(dim)
        index.add(rows)
        usearch_rows, metric, dtype = as_usearch(precision, rows), usearch.MetricKind.IP, None

    def by_faiss(queries: np.ndarray) -> np.ndarray:
        return index.search(np.packbits(queries > 0, axis=-1) if precision == "binary" else queries, TOP)[1]

    def by_usearch(queries: np.ndarray) -> np.ndarray:
        packed = (
            np.packbits(queries > 0, axis=-1) if precision == "binary" else as_usearch(precision, queries)
        )
        options = {"exact": True, "threads": processors(), **({"dtype": dtype} if dtype else {})}
        return np.atleast_2d(usearch.search(usearch_rows, packed, TOP, metric, **options).keys)

    return {"faiss": by_faiss, "usearch": by_usearch}


def as_usearch(precision: str, rows: np.ndarray) -> np.ndarray:
    return np.rint(rows * 127).astype(np.int8) if precision == "int8" else rows.astype(precision)


def check(precision: str, hits: dict[str, np.ndarray]) -> None:
    """Fails if another side returns other rows; quantized rows and distances of bits have ties."""
    least = {"float32": 0.999, "float16": 0.99, "int8": 0.8, "binary": 0.8}[precision]
    for side, indices in hits.items():
        if (same := recall(indices, hits["ours"])) < least:
            raise SystemExit(f"{precision}: {side} returns only {same:.1%} of our hits")


def recall(indices: np.ndarray, expected: np.ndarray) -> float:
    """The mean fraction of expected rows that were found."""
    pairs = zip(indices.tolist(), expected.tolist(), strict=True)
    return float(np.mean([len({*found} & {*wanted}) / len(wanted) for found, wanted in pairs]))


def in_turns(sides: dict[str, Search], queries: np.ndarray, rounds: int) -> dict[str, float]:
    """The shortest time of each side, whose calls take turns."""
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds if len(queries) > 1 else 10 * rounds):
        for side, search in sides.items():
            begin = time.perf_counter()
            search(queries)
            best[side] = min(best[side], time.perf_counter() - begin)
    return best


if __name__ == "__main__":
    main()
