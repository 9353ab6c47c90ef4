"""Cosines of whitened encoders on STSBenchmark's dev set: what n_components and damping change.

python benchmarks/whitening.py --data SentEval/data --text wikipedia.txt.xz news.txt.xz \\
    --encoders choose-results/encoders/*

`sentencode reproduce choose` saves the encoders.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import sentencode as se
from sentencode.evaluation import load_task

SENTENCES = 5000
DAMPING = (1.0, 0.1, 0.01, 0.001)
COMPONENTS = (None, 256, 128, 64)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="SentEval's data folder")
    parser.add_argument("--text", required=True, nargs="+", help="sentences to whiten with")
    parser.add_argument("--encoders", nargs="*", default=[], help="saved encoders, besides the average")
    options = parser.parse_args()
    texts = [text for text in se.Corpus.from_files(options.text) if text]
    texts = texts[:: max(1, len(texts) // SENTENCES)]
    dev = load_task("STSBenchmarkCosine", options.data)["dev"]
    encoders = {"average": se.Average(se.WordVectors.default())}
    encoders |= {Path(path).name: se.load(path) for path in options.encoders}

    def cells(encoder: se.Encoder) -> list[str]:
        u, v = (encoder.encode(list(side)) for side in dev.sentences)
        kept = [(u[:, :n], v[:, :n]) if n is None or n < encoder.dim else None for n in COMPONENTS]
        cosines = [None if pair is None else se.similarity_pairwise(*pair) for pair in kept]
        return ["" if one is None else f"{100 * np.corrcoef(one, dev.labels)[0, 1]:.1f}" for one in cosines]

    print("| encoder | damping |", *(f"{n or 'all'} |" for n in COMPONENTS))
    for name, encoder in encoders.items():
        print("|", " | ".join([name, "not whitened", cells(encoder)[0]]), "|", flush=True)
        for damping in DAMPING:
            whitened = se.Whitening(encoder, damping=damping).fit(texts)
            print("|", " | ".join([name, f"{damping:g}", *cells(whitened)]), "|", flush=True)


if __name__ == "__main__":
    main()
