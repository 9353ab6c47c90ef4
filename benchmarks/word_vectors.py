"""Word vectors trained in closed form (PPMI and an SVD), compared with gensim's skip-gram on the same text.

Both see the same tokens and keep the same words. What counts is what sentence vectors made of them are worth:
Pearson's correlation with people's scores, of SIF's cosines, on SICK and STSBenchmark, SIF fitted to their
training sentences.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from common import data_argument, machine, sentences_of

import sentencode as se
from sentencode.evaluation import (
    bootstrap_difference,
    bootstrap_interval,
    cosine_of_pairs,
    load_task,
    pearson,
)

TASKS = ("SICKRelatedness", "STSBenchmark")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    parser.add_argument("--corpus", type=Path, help=".xz; default: books.train.txt.xz of the data")
    parser.add_argument("--sentences", type=int, default=500_000)
    parser.add_argument("--dim", type=int, default=175)
    parser.add_argument("--epochs", type=int, default=5, help="of skip-gram")
    parser.add_argument("--json", type=Path, help="where all measurements are written")
    args = parser.parse_args()
    text = sentences_of(args.corpus or args.data / "text" / "books.train.txt.xz", args.sentences)
    tasks = {name: load_task(name, args.data / "senteval") for name in TASKS}

    print(machine())
    print(f"{args.sentences:,} sentences of {text.name}, {args.dim} numbers a word\n")
    results = {}
    for method in ("ppmi", "word2vec"):
        begin = time.perf_counter()
        vectors = se.WordVectors.train(text, dim=args.dim, method=method, epochs=args.epochs)
        seconds = time.perf_counter() - begin
        results[method] = {"seconds": seconds, "words": len(vectors), "tasks": {}}
        print(f"{method}: {len(vectors):,} words in {seconds:.0f} s")
        for name, task in tasks.items():
            first, second = task["train"].sentences
            encoder = se.SIF(vectors).fit(first + second)
            cosines = cosine_of_pairs(*(encoder.encode(side) for side in task["test"].sentences))
            gold = task["test"].labels
            low, high = bootstrap_interval(cosines, gold, resamples=2000, seed=1111)
            score = pearson(cosines, gold)
            results[method]["tasks"][name] = {"pearson": score, "low": low, "high": high}
            results[method][f"cosines {name}"] = cosines.tolist()
            print(f"  {name:16} {100 * score:5.1f} ({100 * low:.1f} to {100 * high:.1f})")
    for name, task in tasks.items():
        ours, theirs = (results[method][f"cosines {name}"] for method in ("ppmi", "word2vec"))
        low, high = bootstrap_difference(ours, theirs, task["test"].labels, resamples=2000, seed=1111)
        print(f"ppmi less word2vec, {name}: {100 * low:+.1f} to {100 * high:+.1f}")
        results[f"difference {name}"] = [low, high]
    if args.json:
        args.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
