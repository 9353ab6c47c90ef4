"""Exported encoders in onnxruntime; `make test-contracts` installs it."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

import sentencode as se

pytest.importorskip("torch")
pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")
from sentencode.models import onnx

LINES = (resources.files("sentencode") / "data/demo_sentences.txt").read_text("utf-8").splitlines()
TRAINED = {"max_steps": 3, "validate_every": None, "device": "cpu", "learning_rate": 0.05}
attention = {"hidden": 24, "heads": 4, "inner": 20}
CASES = {
    "mean-max": ("MeanMaxAAE", attention),
    "mean-max, reference": ("MeanMaxAAE", attention | {"preset": "reference", "pooling": "max"}),
    "mean-max, all options": (
        "MeanMaxAAE",
        attention
        | {"projection": "gelu", "projection_bias": True, "output_projection": True, "positions": "learnt"}
        | {"places": 9, "pooling": "mean", "epsilon": 1e-3},
    ),
    "mean-max, tanh": ("MeanMaxAAE", attention | {"projection": "tanh", "unit_words": True}),
    "rae": ("RAE", attention),
    "rae, split as words": ("RAE", attention | {"tokenizer": "words"}),
    "rae, trained words": ("RAE", attention | {"pooling": "mean", "trainable_words": True}),
    "lstm": ("LSTMSDAE", {"hidden": 13}),
    "cnn-lstm": ("CNNLSTMAE", {"hidden": 6, "filters": 5, "windows": (1, 3, 5)}),
    "rnn-cnn": ("RNNCNN", {"hidden": 7, "channels": 5, "inner": 4}),
    "rnn-cnn, lstm": ("RNNCNN", {"hidden": 7, "cell": "lstm", "pooling": "last", "channels": 5, "inner": 4}),
    "skip-thoughts": ("SkipThoughts", {"hidden": 6}),
    "fastsent": ("FastSent", {}),
    "composite": ("CompositeCNN", {"hidden": 6, "filters": 5, "windows": (1, 3, 5)}),
    "hierarchical": ("HierarchicalCNN", {"hidden": 6, "filters": 5, "paragraph_length": 2}),
}


def exported(encoder, folder):
    """A function of sentences that uses the two files."""
    onnx.export(encoder, folder)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])

    def encode(sentences, at_once=100):
        rows = []
        for begin in range(0, len(sentences), at_once):
            read = tokenizer.encode_batch(sentences[begin : begin + at_once])
            inputs = {
                "input_ids": [one.ids for one in read],
                "attention_mask": [one.attention_mask for one in read],
            }
            rows += session.run(None, {name: np.array(value, np.int64) for name, value in inputs.items()})
        return np.concatenate(rows)

    return encode


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_encode(case, tmp_path):
    kind, options = CASES[case]
    encoder = getattr(se, kind)(se.WordVectors.default(), **options, **TRAINED).fit(LINES[:300])
    sentences = ["", "qqqqq", "cat", *LINES, " ".join(LINES[:60])]
    expected = encoder.encode(sentences)
    encode = exported(encoder, tmp_path)
    rows = encode(sentences)
    assert rows.shape == expected.shape
    assert (np.abs(rows - expected).max(1) <= 1e-5 * np.linalg.norm(expected, axis=1)).all()
    assert not rows[:2].any()
    assert not encode(["", "qqqqq"]).any()
    assert expected.std() > 1e-3


pooling = {"hidden": 7, "layers": 2, "heads": 3, "attention_hidden": 5, "characters": False}
POOLING = {
    "paper": {"layers": 3},
    "reference, all shortcuts": {"preset": "reference", "layers": 3, "shortcuts": "all"},
    "no shortcuts, trained words": {"shortcuts": "none", "trainable_words": True},
    "scalars": {"pooling": "scalar", "attention_activation": "tanh"},
    "maximum": {"pooling": "mean_max", "boundaries": True, "word_sum": True},
    "last": {"pooling": "last", "boundaries": True},
    "sum of words": {"pooling": "generalized", "word_sum": True, "penalty": "embeddings"},
}


def assert_same(encoder, folder):
    """Compares the two files with `encode`."""
    sentences = ["", "qqqqq", "cat", *LINES[:700], " ".join(LINES[:60])]
    expected, encode = encoder.encode(sentences), exported(encoder, folder)
    rows = encode(sentences)
    assert rows.shape == expected.shape
    assert (np.abs(rows - expected).max(1) <= 1e-5 * np.linalg.norm(expected, axis=1)).all()
    assert not rows[0].any()
    assert not encode([""]).any()
    assert expected.std() > 1e-3


@pytest.mark.parametrize("case", POOLING)
@pytest.mark.parametrize("oov", ["skip", "mean"])
def test_generalized_pooling(case, oov, tmp_path):
    words = se.WordVectors.default().with_oov(oov)
    options = {**pooling, **POOLING[case], **TRAINED, "head": se.Classifier(hidden=4)}
    assert_same(se.GeneralizedPooling(words, **options).fit(LINES[:300], ["a", "b", "c"] * 100), tmp_path)


translation = {"features": 12, "hidden": 6, "decoder_hidden": 8, "heads": 3, "attention": 5, "dropout": 0.1}
TRANSLATION = {
    "attn_attn": {"layers": 2},
    "attn_ctx": {"size": 15},
    "final_ctx": {"layers": 2},
    "avgpool": {},
    "maxpool_ctx": {},
    "trf_attn_attn": {"layers": 2, "attention_heads": 2, "inner": 10, "max_words": 50},
}


@pytest.mark.parametrize("architecture", TRANSLATION)
def test_translation(architecture, tmp_path):
    options = {**translation, **TRANSLATION[architecture], **TRAINED, "architecture": architecture}
    encoder = se.CompoundNMT(**options, vocabulary_size=500, max_length=100)
    assert_same(encoder.fit(LINES[:300], LINES[300:600]), tmp_path)


def test_after_loading_and_expansion(tmp_path):
    kind, options = CASES["rnn-cnn"]
    encoder = getattr(se, kind)(se.WordVectors.default(), **options, **TRAINED).fit(LINES[:300])
    encoder.expand_vocabulary(se.WordVectors.default())
    encoder.save(tmp_path / "encoder")
    rows = exported(se.load(tmp_path / "encoder"), tmp_path)(LINES)
    np.testing.assert_allclose(rows, encoder.encode(LINES), atol=1e-5)


def test_what_cannot_be_exported(tmp_path):
    words = se.WordVectors.default()
    options = {**pooling, "characters": True, "character_filters": 2, "head": se.Classifier(hidden=4)}
    labelled = se.GeneralizedPooling(words, **options, **TRAINED)
    with pytest.raises(NotImplementedError, match="reads unknown words by their characters"):
        onnx.export(labelled.fit(LINES[:20], ["a", "b"] * 10), tmp_path)
    nmt = se.CompoundNMT(**translation, **TRAINED, architecture="attn").fit(LINES[:20], LINES[:20])
    with pytest.raises(NotImplementedError, match="'attn' has no sentence embedding"):
        onnx.export(nmt, tmp_path)
    skip = se.SkipThoughts(words, hidden=4, layer_norm=True, **TRAINED).fit(LINES[:20])
    with pytest.raises(NotImplementedError, match="no GRU with layer normalisation"):
        onnx.export(skip, tmp_path)
    with pytest.raises(se.NotFittedError):
        onnx.export(se.RAE(words), tmp_path)
    small = {"hidden": 4, "heads": 2, **TRAINED}
    python = se.RAE(words, tokenizer=str.split, **small).fit(["the cat sat on the mat"] * 50)
    with pytest.raises(NotImplementedError, match="the tokenizer 'external' has no equivalent"):
        onnx.export(python, tmp_path)
    with pytest.raises(NotImplementedError, match="or 'mean', got 'random'"):
        onnx.export(se.RAE(words.with_oov("random"), **small).fit(LINES[:100]), tmp_path)
    assert_same(se.RAE(words.with_oov("zero"), **small).fit(LINES[:100]), tmp_path)
