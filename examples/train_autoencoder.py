"""Trains the mean-max attention autoencoder: python examples/train_autoencoder.py [folder] [sentences.txt].

Without a file, the package's sentences are used, which only shows that it runs. After Ctrl-C, the same
command resumes.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import resources

import sentencode as se
from sentencode.training import CsvLog


def main() -> None:
    """Trains, shows what the best validation was, encodes words that were not trained with, saves."""
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    demo = resources.files("sentencode") / "data/demo_sentences.txt"
    corpus = se.Corpus(sys.argv[2] if len(sys.argv) > 2 else str(demo))
    sentences = list(corpus)
    held_out = len(sentences) // 10

    encoder = se.MeanMaxAAE(
        se.WordVectors.default(),
        hidden=64,  # 512 by default, 2048 in the paper
        heads=4,
        unit_words=True,
        warmup=10,
        max_steps=60,
        validate_every=20,
        stop_after=3,
    )
    encoder.fit(
        sentences[held_out:],
        valid=sentences[:held_out],
        checkpoints=f"{folder}/checkpoints",
        callbacks=[CsvLog(f"{folder}/log.csv")],
        show_progress_bar=sys.stderr.isatty(),
    )
    for validation in encoder.history_.validations:
        print(f"step {validation.step}: loss {validation.loss:.3f}{' (best)' if validation.best else ''}")
    print(f"{encoder.network_parameters():,} trained parameters, {encoder.dim} dimensions")
    words, weights = encoder.attention("The ship sank.")
    for word, (mean, most) in zip(words, weights.mean(0), strict=True):
        print(f"{word:>6} is written from the mean by {mean:.2f}, from the maximum by {most:.2f}")
    encoder.save(f"{folder}/autoencoder.sentencode")


if __name__ == "__main__":
    main()
