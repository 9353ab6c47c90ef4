"""Folders of model2vec, sentence-transformers and WordLlama."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sentencode as se

from .parts import (
    TEXTS,
    WORDS,
    means,
    rows,
    tokenizer_json,
    write_model2vec,
    write_sentence_transformers,
    write_wordllama,
)

N = len(WORDS)
TABLE = rows()
WEIGHTS = np.linspace(0.2, 3, N)
BYTES = np.arange(N * 6, dtype=np.int8).reshape(N, 6) - 40
MAPPING = np.arange(N)[::-1] % 4


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        ({"embeddings": TABLE}, TABLE),
        ({"embeddings": TABLE.astype(np.float16)}, TABLE.astype(np.float16)),
        ({"embeddings": TABLE.astype(np.float64)}, TABLE),
        ({"embeddings": BYTES}, BYTES),
        ({"embeddings": BYTES, "weights": WEIGHTS}, BYTES * WEIGHTS[:, None]),
        ({"embeddings": TABLE, "weights": WEIGHTS.astype(np.float32)}, TABLE * WEIGHTS[:, None]),
        (
            {"embeddings": TABLE[:4], "weights": WEIGHTS, "mapping": MAPPING},
            TABLE[MAPPING] * WEIGHTS[:, None],
        ),
        ({"embeddings": BYTES[:4], "mapping": MAPPING.astype(np.int32)}, BYTES[MAPPING]),
    ],
)
@pytest.mark.parametrize("normalize", [False, True])
def test_model2vec(tmp_path, tensors, expected, normalize):
    folder = write_model2vec(tmp_path / "model", tensors, {"normalize": normalize})
    encoder = se.load(folder)
    expected = means(TEXTS, expected, unknown=False, normalize=normalize)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6 * np.abs(expected).max())
    assert list(encoder.vectors.words) == WORDS
    assert encoder.vectors.storage == {"f2": "float16", "i1": "int8"}.get(
        tensors["embeddings"].dtype.str[1:], "float32"
    )


@pytest.mark.parametrize("length", [1, 5, None])
def test_model2vec_truncates_characters_and_tokens(tmp_path, length):
    folder = write_model2vec(tmp_path / "model", config={"max_length": length})
    median = int(np.median([len(word) for word in WORDS]))
    characters = None if length is None else length * median
    expected = means(TEXTS, TABLE, unknown=False, max_tokens=length, max_characters=characters)
    np.testing.assert_allclose(se.load(folder).encode(TEXTS), expected, atol=1e-6)


@pytest.mark.parametrize("part", ["", "0_StaticEmbedding"])
@pytest.mark.parametrize("normalize", [False, True])
def test_sentence_transformers(tmp_path, part, normalize):
    folder = write_sentence_transformers(tmp_path / "model", part, normalize)
    expected = means(TEXTS, TABLE, unknown=True, normalize=normalize)
    np.testing.assert_allclose(se.load(folder).encode(TEXTS), expected, atol=1e-6)


@pytest.mark.parametrize("normalize", [False, True])
def test_truncations_of_sentence_transformers(tmp_path, normalize):
    limit = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}
    folder = write_sentence_transformers(
        tmp_path / "model",
        normalize=normalize,
        config={"truncate_dim": 4, "prompts": {"query": ""}, "default_prompt_name": None},
        tokenizer=tokenizer_json(truncation=limit),
    )
    expected = means(TEXTS, TABLE, unknown=True, max_tokens=3, normalize=normalize)[:, :4]
    encoder = se.load(folder)
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)
    encoder.save(tmp_path / "saved")
    encoder.export(tmp_path / "again", format="sentence-transformers")
    for path in ("saved", "again"):
        np.testing.assert_allclose(se.load(tmp_path / path).encode(TEXTS), expected, atol=1e-6)


def test_prompts_that_are_not_applied_warn(tmp_path):
    config = {"prompts": {"query": "query: ", "document": ""}}
    folder = write_sentence_transformers(tmp_path / "model", config=config)
    with pytest.warns(UserWarning, match="do not add 'query'"):
        se.load(folder)


def test_another_measure_warns(tmp_path):
    folder = write_sentence_transformers(tmp_path / "model", config={"similarity_fn_name": "dot"})
    with pytest.warns(UserWarning, match="similarity_fn_name is 'dot', but the default"):
        se.load(folder)


def test_a_byte_order_mark_before_the_tokenizer_is_ignored(tmp_path):
    folder = write_model2vec(tmp_path / "model", {"embeddings": TABLE}, {})
    expected = se.load(folder).encode(TEXTS)
    path = folder / "tokenizer.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    encoder = se.load(folder)
    np.testing.assert_array_equal(encoder.encode(TEXTS), expected)
    assert encoder.tokenizer_.subwords.json == path.read_text(encoding="utf-8-sig")


def test_wordllama(tmp_path):
    folder = write_wordllama(tmp_path / "model")
    expected = means(TEXTS, TABLE.astype(np.float16), unknown=True)
    for path in (folder, str(folder / "weights"), folder / "weights" / "tiny_6.safetensors"):
        np.testing.assert_allclose(se.load(path).encode(TEXTS), expected, atol=1e-6)


def test_the_encoder_is_like_any_other(tmp_path):
    encoder = se.load(write_model2vec(tmp_path / "model", {"embeddings": TABLE, "weights": WEIGHTS}))
    expected = encoder.encode(TEXTS)
    encoder.save(tmp_path / "saved")
    for other in (se.load(tmp_path / "saved"), pickle.loads(pickle.dumps(encoder))):
        np.testing.assert_array_equal(other.encode(TEXTS), expected)
        assert other.fingerprint() == encoder.fingerprint()
    assert encoder.semantic_search("cat", ["a dog", "cat cat"], top_k=1)
    np.testing.assert_array_equal(
        make_pipeline(encoder, FunctionTransformer()).fit_transform(TEXTS), expected
    )
    prepare, batcher = se.senteval.plugin(encoder)
    params = SimpleNamespace()
    prepare(params, [])
    batch = [["the", "cat"], ["a", "dog"]]
    np.testing.assert_array_equal(batcher(params, batch), encoder.encode(["the cat", "a dog"]))


def test_the_table_is_mapped(tmp_path):
    folder = write_model2vec(tmp_path / "model")
    encoder = se.load(folder)
    before = encoder.encode("cat")
    # A change of the file in place is visible: the table is a view of it.
    with open(folder / "model.safetensors", "r+b") as file:
        file.seek(-TABLE.nbytes, 2)
        file.write((2 * TABLE).tobytes())
    np.testing.assert_array_equal(encoder.encode("cat"), 2 * before)


@pytest.mark.parametrize("opened", [False, True])
def test_files_are_encoded_in_shards(tmp_path, opened, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = write_model2vec(tmp_path / "model")
    encoder = se.load(folder)
    (tmp_path / "in.txt").write_text("\n".join(TEXTS) + "\n")
    se.scale.encode(
        encoder if opened else folder, tmp_path / "in.txt", tmp_path / "out", workers=1, shard_size=50
    )
    np.testing.assert_array_equal(se.scale.Embeddings(tmp_path / "out").to_numpy(), encoder.encode(TEXTS))


@pytest.mark.parametrize("write", [write_model2vec, write_sentence_transformers])
def test_tokenizers_outside_the_core(tmp_path, write):
    """Rows are chosen by id: the text of unknown pieces, and of some added tokens, is not in the table."""
    tokenizers = pytest.importorskip("tokenizers")
    added = {"single_word": False, "rstrip": False}
    content = tokenizer_json(
        normalizer={"type": "Lowercase"},
        pre_tokenizer={"type": "UnicodeScripts"},
        added_tokens=[
            {**added, "id": 3, "content": "<mask>", "lstrip": True, "normalized": False, "special": True},
            {**added, "id": 4, "content": "New York", "lstrip": False, "normalized": True, "special": False},
        ],
        model={"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -2.0]]},
    )
    keeps_unknown = write is write_sentence_transformers
    name = "embedding.weight" if keeps_unknown else "embeddings"
    folder = write(tmp_path / "model", tensors={name: np.eye(5, dtype=np.float32)}, tokenizer=content)
    encoder = se.load(folder)
    assert encoder.tokenizer_.split == "external"
    package = tokenizers.Tokenizer.from_str(json.dumps(content))
    texts = ["a", "axb", "xyz a", "a <mask> b", "New York", "", "x", "\ud800 a"]
    expected = np.zeros((len(texts), 5), np.float32)
    for row, text in zip(expected, texts, strict=True):
        ids = package.encode(text.replace("\ud800", "\ufffd"), add_special_tokens=False).ids
        ids = [i for i in ids if i or keeps_unknown]
        row[:] = np.eye(5)[ids].mean(axis=0) if ids else 0
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-6)
    encoder.save(tmp_path / "saved")
    np.testing.assert_array_equal(se.load(tmp_path / "saved").encode(texts), encoder.encode(texts))


@pytest.mark.parametrize("single", [[], ["A", "A"]])
def test_post_processors_that_change_the_text(tmp_path, single):
    pytest.importorskip("tokenizers")
    pieces = [{"Sequence": {"id": name, "type_id": 0}} for name in single]
    template = {"type": "TemplateProcessing", "single": pieces, "pair": [], "special_tokens": {}}
    encoder = se.load(write_model2vec(tmp_path / "model", tokenizer=tokenizer_json(post_processor=template)))
    expected = rows()[[1, 2]].mean(axis=0) if single else np.zeros(6)
    np.testing.assert_allclose(encoder.encode("the cat"), expected, atol=1e-6)
