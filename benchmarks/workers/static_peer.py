"""A static model, encoded by the library that it comes from."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from inputs import measure, sentences


def opened(library, folder):
    """The function of the library from texts to embeddings, in its fastest setting."""
    if library == "model2vec":
        from model2vec import StaticModel

        return StaticModel.from_pretrained(folder).encode
    if library == "sentence-transformers":
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(folder), device="cpu")
        return lambda texts: model.encode(texts, batch_size=1024, show_progress_bar=False)
    from wordllama import WordLlama

    return WordLlama.load(dim=256, cache_dir=folder).embed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    args = parser.parse_args()
    opened(args.library, args.folder)  # imports the library
    begin = time.perf_counter()
    encode = opened(args.library, args.folder)
    opening = time.perf_counter() - begin
    measure(
        args.library,
        lambda texts: np.asarray(encode(texts), dtype=np.float32),
        sentences(args.sentences),
        args.rows,
        opening=opening,
    )


if __name__ == "__main__":
    main()
