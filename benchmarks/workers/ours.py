"""Our SIF.encode on raw strings."""

from __future__ import annotations

import argparse

from inputs import TRAINING, arguments, measure, sentences, vectors

import sentencode as se


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizer", choices=["whitespace", "words"], default="whitespace")
    parser.add_argument("--storage", choices=["float32", "float16", "int8"], default="float32")
    parser.add_argument("--threads", type=int)
    given = arguments(parser)
    if given.threads:
        se.set_num_threads(given.threads)
    words, matrix, counts = vectors(given.vectors)
    texts = sentences(given.sentences)
    table = se.WordVectors.from_array(words, matrix, counts=counts, storage=given.storage)
    tokenizer = se.Tokenizer(given.tokenizer, lowercase=True)
    model = se.SIF(table, a=1e-3, components=1, tokenizer=tokenizer).fit(texts[:TRAINING])
    found = model.words_found(texts) if hasattr(model, "words_found") else None
    measure(
        f"sentencode SIF.encode, {given.tokenizer}, {given.storage}, {se.num_threads()} threads",
        model.encode,
        texts,
        given.rows,
        found=found,
    )


if __name__ == "__main__":
    main()
