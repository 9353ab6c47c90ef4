"""Trains RNN-CNN on ordered text: python examples/train_context.py [folder] [sentences.txt].

The text has one sentence per line, in order, and a blank line between documents. Without a file, the
package's sentences are used, which only shows that it runs. After Ctrl-C, the same command resumes.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import resources

import sentencode as se
from sentencode.training import CsvLog

TINY = {
    **{"hidden": 32, "channels": 64, "inner": 32, "vocabulary_size": 1000},
    **{"learning_rate": 2e-3, "max_steps": 60, "validate_every": 20},
}
REAL = {"max_minutes": 30}  # hidden=300 per direction and 8,000 words by default


def main() -> None:
    """Trains, prints validations and predicted words, expands the vocabulary, and saves."""
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    demo = resources.files("sentencode") / "data/demo_sentences.txt"
    lines = list(se.Corpus(sys.argv[2] if len(sys.argv) > 2 else str(demo), keep_empty=True))
    held_out = min(1000, len(lines) // 10)
    vectors = se.WordVectors.default()

    # decoder: "cnn", "rnn", "autoregressive_cnn" or "autoregressive_rnn"
    encoder = se.RNNCNN(vectors, decoder="cnn", **(REAL if len(sys.argv) > 2 else TINY))
    encoder.fit(
        lines[held_out:],
        valid=lines[:held_out],
        checkpoints=f"{folder}/checkpoints",
        callbacks=[CsvLog(f"{folder}/log.csv")],
        show_progress_bar=sys.stderr.isatty(),
    )
    for validation in encoder.history_.validations:
        print(f"step {validation.step}: loss {validation.loss:.3f}{' (best)' if validation.best else ''}")
    print(f"{encoder.network_parameters():,} trained parameters, {encoder.dim} dimensions")
    for position, words in enumerate(encoder.following("The ship sank.", best=3)[:4], 1):
        print(f"next word {position}: {'   '.join(f'{word} {p:.2f}' for word, p in words)}")
    encoder.expand_vocabulary(vectors)
    encoder.save(f"{folder}/context.sentencode")


if __name__ == "__main__":
    main()
