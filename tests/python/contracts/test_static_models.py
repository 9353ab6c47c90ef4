"""Rows of model2vec and sentence-transformers, of models that they and we wrote; `make test-contracts`."""

from __future__ import annotations

import functools
import json
from importlib import resources

import numpy as np
import pytest

import sentencode as se
from sentencode.distill import distill

model2vec = pytest.importorskip("model2vec")
tokenizers = pytest.importorskip("tokenizers")
sentence_transformers = pytest.importorskip("sentence_transformers")

pytestmark = pytest.mark.filterwarnings("ignore")
LINES = (resources.files("sentencode") / "data/demo_sentences.txt").read_text(encoding="utf-8").split("\n")
LINES += ["", " ", "qqqqz", "é ß İ \N{EN DASH} 1,000.5", " ".join(LINES[:25]), "x" * 3000]
LINES += ["Mr. Cat doesn't.... ''It's the U.S.!!'' -----"]
RANDOM = np.random.default_rng(3)


def close(rows, expected, largest=1e-6):
    norms = np.linalg.norm(expected.astype(np.float64), axis=1)
    errors = np.linalg.norm(rows.astype(np.float64) - expected, axis=1)
    assert (errors <= largest * norms).all(), (errors / np.where(norms > 0, norms, 1)).max()


@functools.cache
def wordpiece():
    """A WordPiece tokenizer, trained on the sentences."""
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=1500, special_tokens=["[PAD]", "[UNK]", "[CLS]"]
    )
    made.train_from_iterator(LINES[:1000], trainer)
    return made


@pytest.fixture
def tokenizer():
    return wordpiece()


def of_model2vec(path):
    return model2vec.StaticModel.from_pretrained(path).encode(LINES)


def of_sentence_transformers(path):
    return sentence_transformers.SentenceTransformer(str(path), device="cpu").encode(LINES)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize": True, "max_length": 20},
        {"max_length": None},
        {"weights": RANDOM.uniform(0.1, 3, 1500)},
        {"weights": RANDOM.uniform(0.1, 3, 1500), "token_mapping": RANDOM.integers(0, 200, 1500)},
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_models_of_model2vec(tmp_path, tokenizer, options, dtype):
    count = 200 if "token_mapping" in options else tokenizer.get_vocab_size()
    rows = RANDOM.normal(size=(count, 32)) * (30 if dtype == "int8" else 1)
    options = {**options}
    for name in ("weights", "token_mapping"):
        if name in options:
            options[name] = options[name][: tokenizer.get_vocab_size()]
    model = model2vec.StaticModel(rows.astype(dtype), tokenizer, **options)
    model.save_pretrained(tmp_path / "model")
    # model2vec rounds embeddings to float16.
    limit = 1e-3 if dtype == "float16" else 2e-6
    close(se.load(tmp_path / "model").encode(LINES), of_model2vec(tmp_path / "model"), limit)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("dim", [None, 20])
def test_models_of_sentence_transformers(tmp_path, tokenizer, normalize, dim):
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

    rows = RANDOM.normal(size=(tokenizer.get_vocab_size(), 32)).astype(np.float32)
    modules = [StaticEmbedding(tokenizer, embedding_weights=rows), *[Normalize()] * normalize]
    model = sentence_transformers.SentenceTransformer(modules=modules, device="cpu", truncate_dim=dim)
    model.save(str(tmp_path / "model"))
    encoder, expected = se.load(tmp_path / "model"), of_sentence_transformers(tmp_path / "model")
    close(encoder.encode(LINES), expected, 2e-6)
    encoder.export(tmp_path / "again", format="sentence-transformers")
    close(of_sentence_transformers(tmp_path / "again"), expected, 2e-6)


@functools.cache
def student(words):
    """A student of an average of word pieces."""
    tokenizer = se.Tokenizer(wordpiece())
    tokens = sorted(wordpiece().get_vocab())
    rows = RANDOM.normal(size=(len(tokens), 16)).astype(np.float32)
    teacher = se.Average(se.WordVectors.from_array(tokens, rows), tokenizer=tokenizer, lowercase=False)
    return distill(teacher, [line for line in LINES if line.strip()], words, dim=None, cache=False).encoder


def unit(encoder):
    """The same, with embeddings of length 1."""
    return se.Average(encoder.vectors, tokenizer=encoder.tokenizer, normalize=True)


ENCODERS = {
    "average": lambda v: se.Average(v),
    "unit": lambda v: se.Average(v, a=1e-3, normalize=True),
    "words": lambda v: se.Average(v, tokenizer="words"),
    "whitespace": lambda v: se.Average(v, tokenizer="whitespace"),
    "sif": lambda v: se.SIF(v, components=2).fit(LINES),
    "usif": lambda v: se.USIF(v, normalize="none").fit(LINES),
    "pieces": lambda _: student("wordpieces"),
    "words and pieces": lambda _: student("both"),
    "unit pieces": lambda _: unit(student("wordpieces")),
    "unit words and pieces": lambda _: unit(student("both")),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("form", ["model2vec", "sentence-transformers"])
@pytest.mark.parametrize("kind", ENCODERS)
def test_exported_encoders(tmp_path, kind, form, dtype):
    encoder = ENCODERS[kind](se.WordVectors.default())
    is_unit = kind.startswith("unit")
    refused = "divides zero" if is_unit and dtype == "float16" else None
    if "pieces" in kind and not is_unit:
        refused = "counts 1 tokens"
    if form == "sentence-transformers" and refused:
        with pytest.raises((NotImplementedError, ValueError), match=refused):
            encoder.export(tmp_path / "model", format=form, dtype=dtype)
        return
    encoder.export(tmp_path / "model", format=form, dtype=dtype)
    read = of_model2vec if form == "model2vec" else of_sentence_transformers
    theirs = read(tmp_path / "model")
    exact = {"float32": 2e-6, "float16": 1e-3, "int8": 2e-2}[dtype]
    close(encoder.encode(LINES), theirs, exact)
    close(se.load(tmp_path / "model").encode(LINES), theirs, 1e-3 if dtype == "float16" else 2e-6)


def test_sentence_transformers_reads_folders_of_model2vec(tmp_path):
    se.Average(se.WordVectors.default(), normalize=True).export(tmp_path / "model")
    known = [line for line in LINES if line.strip()]
    rows = sentence_transformers.SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(known)
    expected = se.load(tmp_path / "model").encode(known)
    close(rows, expected, 2e-6)  # the row of unknown words is zero, and lengths are 1


def test_the_tokenizer_of_an_export_is_read_by_its_package(tmp_path):
    encoder = se.Average(se.WordVectors.default())
    encoder.export(tmp_path / "model")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "model" / "tokenizer.json"))
    words = json.loads((tmp_path / "model" / "tokenizer.json").read_text())["model"]["vocab"]
    ours_of = se.Tokenizer("punctuation", lowercase=True)
    for line in LINES:
        ours = [word if word in words else "[UNK]" for word in ours_of(line)]
        assert theirs.encode(line).tokens == ours
