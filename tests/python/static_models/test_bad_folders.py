"""Damaged and unsupported folders: errors that name the file and the field."""

from __future__ import annotations

import json
import pickle
import struct

import numpy as np
import pytest

import sentencode as se

from .parts import (
    WORDS,
    rows,
    tokenizer_json,
    write_model2vec,
    write_sentence_transformers,
    write_wordllama,
)

N = len(WORDS)


def refused(folder, *parts, error=se.FormatError):
    with pytest.raises(error) as caught:
        se.load(folder)
    for part in parts:
        assert part in str(caught.value), caught.value


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_missing_files(tmp_path, name):
    folder = write_model2vec(tmp_path / "model")
    (folder / name).unlink()
    refused(folder, name, "missing", error=FileNotFoundError)
    (folder / "config.json").unlink(missing_ok=True)
    if name == "tokenizer.json":
        refused(folder, "expected config.json (model2vec) or modules.json (sentence-transformers)")
    refused(tmp_path, "not a static embedding model")
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    refused(tmp_path, "may contain code")
    (tmp_path / "words_4.safetensors").touch()
    refused(tmp_path, "words_tokenizer_config.json for words_4.safetensors (WordLlama)")


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"other": rows()}, "unknown tensor 'other'"),
        ({"embeddings": rows(N - 1)}, f"has {N - 1} rows for {N} tokens"),
        ({"embeddings": rows()[0]}, "must be a matrix"),
        ({"embeddings": np.full((N, 2), np.nan, np.float32)}, "the vector of '[UNK]' holds NaN"),
        ({"embeddings": np.full((N, 2), np.inf, np.float16)}, "NaN or infinity"),
        ({"embeddings": rows().astype(np.int64)}, "has the type I64"),
        ({"embeddings": rows(), "weights": np.ones(3)}, "tensor 'weights' must have numbers"),
        ({"embeddings": rows(), "weights": np.full(N, np.inf)}, "tensor 'weights' holds NaN or infinity"),
        ({"embeddings": rows(), "weights": np.full(N, 1e300)}, "in float32: weights[0] = 1e+300"),
        ({"embeddings": rows(), "mapping": np.ones(N, np.float32)}, "tensor 'mapping' must have integers"),
        ({"embeddings": rows(), "mapping": np.full(N, N)}, f"row {N} is that of token 0"),
        ({"embeddings": rows(), "mapping": np.full(N, -1)}, "row -1 is that of token 0"),
        ({"embeddings": rows(), "mapping": np.full(N, 2**64 - 1, np.uint64)}, "is that of token 0"),
    ],
)
def test_tensors(tmp_path, tensors, message):
    refused(write_model2vec(tmp_path / "model", tensors), "model.safetensors", message)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"normalize": "yes"}, "normalize must be true or false, got 'yes'"),
        ({"max_length": 0}, "max_length must be a positive integer or null, got 0"),
        ({"max_length": 1.5}, "got 1.5"),
        ({"max_length": 2**70}, f"max_length must be at most 2147483647, got {2**70}"),
        ({"max_length": 2**63 - 1}, "max_length must be at most 2147483647"),
        ({"model_type": "bert"}, "model_type is 'bert'"),
        ([], "expected a JSON object"),
    ],
)
def test_config(tmp_path, config, message):
    refused(write_model2vec(tmp_path / "model", config=config), "config.json", message)


def changed(**changes):
    tokenizer = tokenizer_json()
    tokenizer["model"] |= changes
    return tokenizer


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ([], "must be an object, got []"),
        (tokenizer_json(model=None), "model must be an object, got null"),
        (changed(vocab={"a": 0, "b": 0}), "the id of token 'b' is 0; expected each of 0 to 1 once"),
        (changed(vocab={"a": 0, "b": 7}), "the id of token 'b' is 7"),
        (changed(vocab={"[UNK]": 0, "b": 2}), "no token has the id 1"),
        (changed(vocab={"a": 0, "b": "1"}), "model.vocab['b'] must be a whole number"),
        (changed(vocab=[["a", 0.0], ["a", 1.0]]), "model.vocab must be an object"),
        (tokenizer_json(added_tokens=[{"id": 3}]), "added_tokens[0].content is missing"),
        (tokenizer_json(pre_tokenizer={"type": "Unheard"}), "Unheard"),
    ],
)
def test_tokenizer(tmp_path, tokenizer, message):
    folder = write_model2vec(tmp_path / "model", tokenizer=tokenizer)
    with pytest.raises(ValueError) as caught:
        se.load(folder)
    assert "tokenizer.json" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "modules.json"])
def test_damaged_json(tmp_path, name):
    folder = write_model2vec(tmp_path / "model")
    for content, message in ((b'{"a": ', "JSON"), (b"\xff\xfe", "not UTF-8"), (b"[" * 100_000, "JSON")):
        (folder / name).write_bytes(content)
        with pytest.raises(se.FormatError) as caught:
            se.load(folder)
        assert name in str(caught.value)
        assert message.lower() in str(caught.value).lower()


def test_a_file_that_lies_about_sizes(tmp_path):
    folder = write_model2vec(tmp_path / "model")
    header = {"embeddings": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 8]}}
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    refused(folder, "model.safetensors", "embeddings")
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 2**60) + text)
    refused(folder, "model.safetensors", "not a safetensors file")


KIND = "sentence_transformers.models."


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([], "expected a list of modules"),
        (
            [{"type": f"{KIND}Transformer", "path": ""}],
            "module 0 is 'sentence_transformers.models.Transformer'",
        ),
        ([{"type": "evil.StaticEmbedding", "path": ""}], "module 0 is 'evil.StaticEmbedding'"),
        ([{"type": f"{KIND}StaticEmbedding"}, {"type": f"{KIND}Dense"}], "module 1 is"),
        ([{"type": f"{KIND}StaticEmbedding"}, *[{"type": f"{KIND}Normalize"}] * 2], "module 2 is"),
        ([{"type": f"{KIND}StaticEmbedding", "path": "../other"}], "must be a folder below"),
        ([{"type": f"{KIND}StaticEmbedding", "path": "/etc"}], "must be a folder below"),
        ([{"type": 3}], "module 0 is 3"),
    ],
)
def test_modules(tmp_path, modules, message):
    folder = write_sentence_transformers(tmp_path / "model")
    (folder / "modules.json").write_text(json.dumps(modules))
    refused(folder, "modules.json", message)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"truncate_dim": 0}, "truncate_dim must be a positive integer"),
        ({"truncate_dim": 2**70}, f"truncate_dim must be at most 2147483647, got {2**70}"),
        ({"default_prompt_name": "query", "prompts": {"query": "query: "}}, "default_prompt_name is 'query'"),
        ({"default_prompt_name": ["query"]}, "default_prompt_name is ['query']"),
        ({"prompts": [1]}, "prompts must be an object of strings, got [1]"),
        ({"prompts": {"query": 1}}, 'prompts must be an object of strings, got {"query": 1}'),
    ],
)
def test_config_of_sentence_transformers(tmp_path, config, message):
    folder = write_sentence_transformers(tmp_path / "model", normalize=True, config=config)
    refused(folder, "config_sentence_transformers.json", message)


def test_more_columns_than_the_table_has(tmp_path):
    message = "truncate_dim must be at most 6, the columns of model.safetensors, got 700"
    folder = write_sentence_transformers(tmp_path / "model", config={"truncate_dim": 700})
    refused(folder, "config_sentence_transformers.json", message)
    folder = write_sentence_transformers(tmp_path / "all", config={"truncate_dim": 6})
    assert se.load(folder).dim == 6


def test_two_models_in_one_folder(tmp_path):
    folder = write_sentence_transformers(tmp_path / "a", "0_StaticEmbedding")
    write_model2vec(folder)
    refused(folder, "two models", "0_StaticEmbedding")
    refused(write_wordllama(tmp_path / "b", (4, 6)), "several models", "tiny_4", "tiny_6")
    both = {"embeddings": rows(), "embedding.weight": rows()}
    refused(write_sentence_transformers(tmp_path / "c", tensors=both), "two models, tensors")
    refused(write_model2vec(write_wordllama(tmp_path / "d")), "several models", "wordllama")


def test_truncations_are_checked(tmp_path):
    for truncation, message in (
        ({"max_length": -1}, "truncation.max_length"),
        ({"max_length": 2**63}, "truncation.max_length must be at most 2147483647"),
        ({"max_length": 3, "direction": "Left"}, "truncation.direction is 'Left'"),
    ):
        tokenizer = tokenizer_json(truncation=truncation)
        folder = write_sentence_transformers(tmp_path / "model", tokenizer=tokenizer)
        refused(folder, "tokenizer.json", message)


def test_tokenizers_of_unbounded_time_require_trust(tmp_path):
    pytest.importorskip("tokenizers")
    split = {"type": "Split", "pattern": {"Regex": "(?:a|aa)+b| "}, "behavior": "Removed", "invert": False}
    folder = write_model2vec(tmp_path / "model", tokenizer=tokenizer_json(pre_tokenizer=split))
    refused(folder, "tokenizer.json", "could hang", "trust_tokenizer=True")
    encoder = se.load(folder, trust_tokenizer=True)
    np.testing.assert_allclose(encoder.encode("the zebra dog"), rows()[[1, 3]].mean(axis=0), atol=1e-6)


PANICS = {"id": 12, "content": "\n", "single_word": False, "lstrip": False, "rstrip": False, "special": False}


def test_tokenizers_that_panic_are_refused(tmp_path):
    """The package panics at a text that is not ASCII, if an added token is empty after normalisation."""
    pytest.importorskip("tokenizers")
    changes = {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": True}}
    changes["added_tokens"] = [{**PANICS, "normalized": True}]
    tokenizer = tokenizer_json(**changes, pre_tokenizer={"type": "Whitespace"})
    folder = write_model2vec(tmp_path / "model", {"embeddings": rows(13)}, tokenizer=tokenizer)
    refused(folder, "tokenizer.json", "is empty after normalisation")
    with pytest.raises(ValueError, match="the tokenizer failed"):
        se.load(folder, trust_tokenizer=True).encode("é")


def test_other_arguments_are_refused(tmp_path):
    folder = write_model2vec(tmp_path / "model")
    with pytest.raises(ValueError, match="has its own tokenizer and vectors"):
        se.load(folder, tokenizer="words")


def test_nothing_is_executed(tmp_path):
    folder = write_sentence_transformers(tmp_path / "model")
    (folder / "modeling.py").write_text("raise SystemExit('executed')")
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    assert se.load(folder).encode("cat").any()
