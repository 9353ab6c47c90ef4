"""model2vec's StaticModel.encode on raw strings, with SIF's weights folded into its vectors."""

from __future__ import annotations

import argparse

import numpy as np
from inputs import measure, parsed_arguments, sentences, vectors
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sequential", action="store_true")
    args = parsed_arguments(parser)
    words, matrix, counts = vectors(args.vectors)
    texts = sentences(args.sentences)
    weights = 1e-3 / (1e-3 + counts / counts.sum())
    # An unknown word has an id of its own, which model2vec leaves out of the mean.
    vocabulary = {word: i for i, word in enumerate([*words, "[UNK]"])}
    rows = np.vstack([matrix * weights[:, None], np.zeros((1, matrix.shape[1]))]).astype(np.float32)
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    model = StaticModel(rows, tokenizer, max_length=None)  # no time goes into cutting long sentences

    def encode(batch):
        return model.encode(batch, use_multiprocessing=not args.sequential)

    name = "model2vec 0.10.0 StaticModel.encode" + (", sequential" if args.sequential else ", default")
    measure(name, encode, texts, args.rows)


if __name__ == "__main__":
    main()
