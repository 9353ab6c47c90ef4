"""Cosines of whitened encoders on STSBenchmark's dev set: what n_components and damping change.

python benchmarks/whitening.py --data SentEval/data --text wikipedia.txt.xz news.txt.xz \\
    choose-results/encoders/*

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
    parser.add_argument(
        "encoders", nargs="*", help="saved encoders, besides the average of the built-in vectors"
    )
    options = parser.parse_args()
    texts = [text for text in se.Corpus.from_files(options.text) if text]
    texts = texts[:: max(1, len(texts) // SENTENCES)]
    dev = load_task("STSBenchmarkCosine", options.data)["dev"]
    encoders = {"average": se.Average(se.WordVectors.default())}
    encoders |= {Path(path).name: se.load(path) for path in options.encoders}

    def correlation(encoder: se.Encoder) -> str:
        cosines = encoder.similarity_pairwise(*dev.sentences)
        return f"{100 * np.corrcoef(cosines, dev.labels)[0, 1]:.1f}"

    print("| encoder | dim | damping | as it is |", *(f"{n or 'all'} |" for n in COMPONENTS))
    for name, encoder in encoders.items():
        for damping in DAMPING:
            cells = [name, str(encoder.dim), f"{damping:g}", correlation(encoder)]
            for n in COMPONENTS:
                fits = n is None or n <= encoder.dim
                whitened = se.Whitening(encoder, n_components=n, damping=damping) if fits else None
                cells.append("" if whitened is None else correlation(whitened.fit(texts)))
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
