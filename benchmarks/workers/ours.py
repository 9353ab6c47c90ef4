"""Our SIF.encode on raw strings."""

from __future__ import annotations

import argparse

from inputs import TRAINING, measure, parsed_arguments, sentences, vectors

import sentencode as se


def known_words(table, tokenizer, texts):
    """How many rows are summed; the rows' traffic is computed from it."""
    core = tokenizer.core(lowercase=True)
    pieces = (texts[i : i + 65_536] for i in range(0, len(texts), 65_536))
    return sum(len(table._core.lookup(core, piece)[0]) for piece in pieces)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizer", choices=["whitespace", "words"], default="whitespace")
    parser.add_argument("--storage", choices=["float32", "float16", "int8"], default="float16")
    parser.add_argument("--components", type=int, default=1)
    parser.add_argument("--threads", type=int)
    args = parsed_arguments(parser)
    if args.threads:
        se.set_num_threads(args.threads)
    words, matrix, counts = vectors(args.vectors)
    texts = sentences(args.sentences)
    table = se.WordVectors.from_array(words, matrix, counts=counts, storage=args.storage)
    tokenizer = se.Tokenizer(args.tokenizer, lowercase=True)
    model = se.SIF(table, a=1e-3, components=args.components, tokenizer=tokenizer).fit(texts[:TRAINING])
    measure(
        f"sentencode SIF.encode, {args.tokenizer}, {args.storage}, {se.num_threads()} threads",
        model.encode,
        texts,
        args.rows,
        calls=5,
        tokens=known_words(table, tokenizer, texts),
    )


if __name__ == "__main__":
    main()
