"""Trains compound attention: python examples/train_translation.py [folder] [train.en train.de].

The files have a sentence and its translation on the same line, as tokens separated by spaces. Without files,
sentences are generated, which only shows that it runs. After Ctrl-C, the same command resumes.
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
from pathlib import Path

import sentencode as se
from sentencode.models import average_checkpoints
from sentencode.training import CsvLog

NOUNS = {"dog": "Hund", "bird": "Vogel", "man": "Mann", "boy": "Junge", "baker": "Bäcker"}
# Of the network and its training: for sentences that are made up, and for real ones.
TINY = {
    **{"features": 24, "hidden": 24, "decoder_hidden": 48, "attention": 24, "size": 48, "dropout": 0.0},
    **{"batch_size": 16, "learning_rate": 1e-2, "max_epochs": None, "max_steps": 240, "validate_every": 60},
    "save_every": 20,
}
REAL = {"max_epochs": 8}  # the other defaults fit tens of thousands of pairs
VERBS = {"runs": "rennt", "sleeps": "schläft", "sings": "singt", "waits": "wartet"}
TIMES = {"today": "heute", "now": "jetzt", "often": "oft"}
PLACES = {"at home": "daheim", "here": "hier", "in the park": "im Park", "": ""}


def made_up() -> list[tuple[str, str]]:
    """Sentences and their translations, with the verb before the noun where a time comes first."""
    pairs = []
    for noun, verb, time, place in itertools.product(NOUNS, VERBS, TIMES, PLACES):
        german = f"{TIMES[time]} {VERBS[verb]} der {NOUNS[noun]} {PLACES[place]}"
        pairs.append((f"{time} the {noun} {verb} {place}".strip(), german.strip()))
    random.Random(0).shuffle(pairs)
    return pairs


def main() -> None:
    """Trains, shows what the best validation was, translations, and what they look at; saves."""
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    if len(sys.argv) > 3:
        files = [Path(name).read_text(encoding="utf-8").splitlines() for name in sys.argv[2:4]]
        pairs, sizes = list(zip(*files, strict=True)), REAL
    else:
        pairs, sizes = made_up(), TINY
    held_out = min(1000, len(pairs) // 10)
    parts = (pairs[:held_out], pairs[held_out : 2 * held_out], pairs[2 * held_out :])
    test, valid, train = ([list(side) for side in zip(*part, strict=True)] for part in parts)

    nmt = se.CompoundNMT(
        architecture="attn_attn",  # or "attn", "final", "maxpool_ctx", "trf", ...
        heads=4,  # of the sentence embedding
        device="cpu",
        **sizes,
    )
    nmt.fit(
        *train,
        valid=tuple(valid),
        checkpoints=f"{folder}/checkpoints",
        keep_last=3,
        callbacks=[CsvLog(f"{folder}/log.csv")],
        show_progress_bar=sys.stderr.isatty(),
    )
    for validation in nmt.history_.validations:
        print(f"step {validation.step}: loss {validation.loss:.3f}{' (best)' if validation.best else ''}")
    mean = average_checkpoints(nmt, f"{folder}/checkpoints", last=3)
    for name, one in (("the best validation", nmt), ("the mean of the last points", mean)):
        right = sum(a == b for a, b in zip(one.translate(test[0]), test[1], strict=True))
        print(f"{name}: {right} of {held_out} new sentences are translated as they are in the file")
    words, written, weights = nmt.alignment(test[0][0])
    for word, row in zip(written, weights, strict=True):
        print(f"  {word} attends to {words[row.argmax()]} with {row.max():.2f}")
    print(f"{nmt.encode(test[0]).shape[1]} dimensions")
    nmt.save(f"{folder}/translation.sentencode")


if __name__ == "__main__":
    main()
