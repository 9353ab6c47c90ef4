"""From nothing to similar sentences: python examples/quickstart.py."""

from __future__ import annotations

from importlib import resources

import sentencode as se

SENTENCES = [
    "The old man sat by the fire and told stories.",
    "A ship was lost in the storm that night.",
    "She wrote him a long letter about her travels.",
    "By the hearth, grandfather was telling tales.",
    "The vessel sank in a terrible gale.",
]


def main() -> None:
    """Fits, encodes, searches, saves."""
    # Built in: a student of a transformer. Or your own: se.WordVectors.load("glove.840B.300d.txt")
    vectors = se.WordVectors.default()
    # An encoder is fitted to many sentences of the kind that it will see; these 1,566 come with the package.
    books = resources.files("sentencode") / "data/demo_sentences.txt"
    encoder = se.SIF(vectors).fit(books)

    rows = encoder.encode(SENTENCES)
    print(f"{rows.shape[0]} sentences, {rows.shape[1]} dimensions, {rows.dtype}\n")

    query = "Sailors drowned when their boat went down."
    print(query)
    for index, score in zip(*encoder.semantic_search(query, SENTENCES, top_k=3), strict=True):
        print(f"{score:6.3f}  {SENTENCES[index]}")

    encoder.save("quickstart.sentencode")  # one file, word vectors included
    assert (se.load("quickstart.sentencode").encode(SENTENCES) == rows).all()


if __name__ == "__main__":
    main()
