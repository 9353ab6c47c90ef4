"""fse's SIF.infer on raw strings."""

from __future__ import annotations

import gensim
import numpy as np
from fse import SIF
from fse.models.average import FAST_VERSION
from gensim.models import KeyedVectors
from inputs import TRAINING, measure, parsed_arguments, sentences, vectors


def main():
    args = parsed_arguments()
    words, matrix, counts = vectors(args.vectors)
    texts = sentences(args.sentences)
    table = KeyedVectors(matrix.shape[1], count=len(words), dtype=np.float32)
    table.add_vectors(words, matrix)
    for word, count in zip(words, counts.tolist(), strict=True):
        table.set_vecattr(word, "count", count)
    assert FAST_VERSION == 1, "this is not its fast path"
    model = SIF(table, alpha=1e-3, components=1)
    model.train([(text.lower().split(), i) for i, text in enumerate(texts[:TRAINING])])

    def encode(batch):
        return model.infer([(text.lower().split(), i) for i, text in enumerate(batch)])

    measure("fse 1.0.0 SIF.infer", encode, texts, args.rows, gensim=gensim.__version__)


if __name__ == "__main__":
    main()
