"""From raw text to raw text: Moses, a joint BPE, an encoder that translates, BLEU."""

from __future__ import annotations

import pytest

import sentencode as se
from sentencode.evaluation import bleu
from sentencode.text import Moses, learn_bpe

pytest.importorskip("sacremoses")
pytest.importorskip("tokenizers")

SUBJECTS = {"dog": "ein Hund", "cat": "eine Katze", "child": "ein Kind"}
VERBS = {"runs": "rennt", "sleeps": "schläft", "sings": "singt"}
PAIRS = [
    (start + noun + " " + verb + end, begin + text + stop)
    for noun, other in SUBJECTS.items()
    for verb, word in VERBS.items()
    for start, end, begin, text, stop in (
        ("A ", ".", "", f"{other[0].upper()}{other[1:]} {word}", "."),
        ("In Bonn, a ", "!", "In Bonn ", f"{word} {other}", "!"),
    )
]


def test_translates_raw_text_to_raw_text(tmp_path):
    source, target = map(list, zip(*PAIRS, strict=True))
    english, german = Moses("en").learn(source), Moses("de").learn(target)
    prepared = english.prepare(source), german.prepare(target)
    assert prepared[0][0] == "a dog runs ."
    assert prepared[1][0] == "ein Hund rennt ."
    bpe = learn_bpe(*prepared, size=60)
    nmt = se.CompoundNMT(
        **{"features": 24, "hidden": 24, "decoder_hidden": 48, "heads": 2, "attention": 24, "dropout": 0.0},
        **{"max_epochs": None, "max_steps": 300, "learning_rate": 0.01, "device": "cpu", "tokenizer": bpe},
        **{"schedule": "constant", "clip_norm": 5.0, "validation_fraction": 0.0},
    ).fit(*prepared)
    assert nmt.translate(english.prepare("A cat   sings.")) == "eine Katze singt ."
    assert german.restore(nmt.translate(english.prepare(source))) == target

    # Load everything from files, as another program would.
    nmt.save(tmp_path / "nmt.sentencode")
    for name, moses in (("en", english), ("de", german)):
        moses.save(tmp_path / f"{name}.moses")
    nmt, (english, german) = (
        se.load(tmp_path / "nmt.sentencode"),
        (Moses.load(tmp_path / f"{name}.moses") for name in ("en", "de")),
    )
    translated = german.restore(nmt.translate(english.prepare([*source, ""])))
    assert translated == [*target, ""]
    assert bleu(translated[:-1], target).score == pytest.approx(100)
    assert bleu(nmt.translate(english.prepare(source)), target, resamples=0, tokenize="none").score < 40
