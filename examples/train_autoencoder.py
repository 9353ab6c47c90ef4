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

TINY = {"hidden": 64, "heads": 4, "unit_words": True, "warmup": 10, "max_steps": 60, "validate_every": 20}
REAL = {"max_minutes": 30, "stop_after": 3}  # the paper has hidden=2048; see preset="paper"


def main() -> None:
    """Trains, prints the validations and the attention of the decoder, and saves."""
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    demo = resources.files("sentencode") / "data/demo_sentences.txt"
    sentences = list(se.Corpus(sys.argv[2] if len(sys.argv) > 2 else str(demo)))
    held_out = min(1000, len(sentences) // 10)

    encoder = se.MeanMaxAAE(se.WordVectors.default(), **(REAL if len(sys.argv) > 2 else TINY))
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
