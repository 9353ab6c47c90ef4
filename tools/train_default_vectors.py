"""Trains the vectors that come with the package, python/sentencode/data/default_vectors.sentencode.

usage: python tools/train_default_vectors.py books.train.txt.xz

The files hold public-domain books, one sentence a line and an empty line between books. The same files give
the same vectors, but for the last digits. The recipe and what was measured: docs/default_vectors.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import sentencode as se

OUT = Path(__file__).parents[1] / "python" / "sentencode" / "data" / "default_vectors.sentencode"
LARGEST = 10_000_000  # bytes

# Translations whose authors allow copies, but keep their rights; by what stands in their first lines.
NOT_PUBLIC_DOMAIN = ("A.S. Kline", "M.H. Shakir", "Someone must have been telling lies about Josef K.")


def public_domain(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        for book in se.Corpus(path).documents():
            if not any(mark in line for line in book[:3] for mark in NOT_PUBLIC_DOMAIN):
                yield from book


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--words", type=int, default=44_000, help="that are kept")
    parser.add_argument("--dim", type=int, default=175)
    parser.add_argument("--pool", type=int, default=65_000, help="words that are trained")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    began = time.perf_counter()
    corpus = se.Corpus(lambda: public_domain(options.files))
    vectors = se.WordVectors.train(
        corpus, options.dim, max_words=options.pool, min_count=5, seed=options.seed, progress=True
    )
    vectors = vectors.only(vectors.words[: options.words]).with_storage("int8")
    vectors.save(options.out)
    size = options.out.stat().st_size
    print(f"{vectors} from {vectors.counts.sum():,} tokens in {time.perf_counter() - began:.0f} s")
    print(f"{options.out}: {size:,} bytes, {vectors.fingerprint}")
    if size > LARGEST:
        parser.error(f"the file may have {LARGEST:,} bytes at most: choose fewer words, or a smaller dim")


if __name__ == "__main__":
    main()
