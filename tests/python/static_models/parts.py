"""Models of other libraries, made of local parts, and their embeddings by definition."""

from __future__ import annotations

import json

import numpy as np
from safetensors.numpy import load_file, save_file

WORDS = ["[UNK]", "the", "cat", "dog", "play", "##s", "##ing", "guitar", ".", ",", "é", "a"]
TEXTS = [
    "The cat plays guitar.",
    "the dog, the cat",
    "",
    "zebra",
    "zebra cat zebra dogs",
    "Playing guitars",
    " a  é\t",
    "the " * 40,
]


def tokenizer_json(words=WORDS, **changes):
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    model |= {"max_input_chars_per_word": 100, "vocab": {word: i for i, word in enumerate(words)}}
    flags = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": False, "lowercase": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", **flags},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": model,
        **changes,
    }


def rows(count=12, dim=6):
    return np.random.default_rng(5).normal(size=(count, dim)).astype(np.float32)


def write_model2vec(folder, tensors=None, config=None, tokenizer=None):
    folder.mkdir(exist_ok=True, parents=True)
    save_file({"embeddings": rows()} if tensors is None else tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"normalize": False} if config is None else config))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json() if tokenizer is None else tokenizer))
    return folder


def write_sentence_transformers(folder, part="", normalize=False, config=None, tokenizer=None, tensors=None):
    inner = folder / part
    inner.mkdir(exist_ok=True, parents=True)
    save_file(tensors or {"embedding.weight": rows()}, inner / "model.safetensors")
    (inner / "tokenizer.json").write_text(json.dumps(tokenizer_json() if tokenizer is None else tokenizer))
    kind = "sentence_transformers.models."
    modules = [{"idx": 0, "name": "0", "path": part, "type": f"{kind}StaticEmbedding"}]
    if normalize:
        modules.append({"idx": 1, "name": "1", "path": "1_Normalize", "type": f"{kind}Normalize"})
    (folder / "modules.json").write_text(json.dumps(modules))
    if config is not None:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    return folder


def write_wordllama(folder, dims=(6,)):
    (folder / "weights").mkdir(parents=True)
    (folder / "tokenizers").mkdir()
    for dim in dims:
        tensors = {"embedding.weight": rows(dim=dim).astype(np.float16)}
        save_file(tensors, folder / "weights" / f"tiny_{dim}.safetensors")
    (folder / "tokenizers" / "tiny_tokenizer_config.json").write_text(json.dumps(tokenizer_json()))
    return folder


def pieces(text):
    """The ids of WordPiece, for texts of ASCII and é."""
    ids = []
    for word in text.lower().replace(".", " . ").replace(",", " , ").split():
        parts, begin = [], 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = ("##" if begin else "") + word[begin:end]
                if piece in WORDS:
                    parts.append(WORDS.index(piece))
                    begin = end
                    break
            else:
                parts, begin = [0], len(word)
        ids += parts
    return ids


def means(texts, table, *, unknown, normalize=False, max_tokens=None, max_characters=None):
    """The embeddings of a table of float64 rows."""
    out = np.zeros((len(texts), table.shape[1]))
    for i, text in enumerate(texts):
        ids = [piece for piece in pieces(text[:max_characters])[:max_tokens] if unknown or piece]
        if ids:
            out[i] = table[ids].astype(np.float64).mean(0)
        if normalize and ids:
            out[i] /= np.linalg.norm(out[i])
    return out


def tensors_of(folder):
    return load_file(folder / "model.safetensors")
