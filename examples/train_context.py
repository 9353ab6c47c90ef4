"""Trains RNN-CNN on ordered text: python examples/train_context.py [folder] [sentences.txt].

The text is one sentence a line in its order, a blank line between documents. Without a file of one's own,
the sentences that come with the package are used, which is enough to see it run, and no more. Stop it with
Ctrl-C, start it again: it goes on.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import resources

import sentencode as se
from sentencode.training import CsvLog


def main() -> None:
    """Trains, shows what the best validation was, what follows a sentence, and a word that is new; saves."""
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    demo = resources.files("sentencode") / "data/demo_sentences.txt"
    lines = list(se.Corpus(sys.argv[2] if len(sys.argv) > 2 else str(demo), keep_empty=True))
    held_out = len(lines) // 10
    vectors = se.WordVectors.default()

    encoder = se.RNNCNN(
        vectors,
        hidden=32,  # of each direction; the paper's is 300
        channels=64,
        inner=32,
        decoder="cnn",  # or "rnn", "autoregressive_cnn", "autoregressive_rnn"
        vocabulary_size=1000,  # words that are told
        learning_rate=2e-3,
        max_steps=60,
        validate_every=20,
    )
    encoder.fit(
        lines[held_out:],
        valid=lines[:held_out],
        checkpoints=f"{folder}/checkpoints",
        callbacks=[CsvLog(f"{folder}/log.csv")],
        show_progress_bar=sys.stderr.isatty(),
    )
    for validation in encoder.history_.validations:
        print(f"step {validation.step}: loss {validation.loss:.3f}{' (best)' if validation.best else ''}")
    print(f"{encoder.network_parameters():,} numbers were trained, {encoder.dim} are a sentence's vector")
    for place, told in enumerate(encoder.following("The ship sank.", best=3)[:4], 1):
        print(f"word {place} behind it: {'   '.join(f'{word} {p:.2f}' for word, p in told)}")
    encoder.expand_vocabulary(vectors)
    encoder.save(f"{folder}/context.sentencode")


if __name__ == "__main__":
    main()
