"""gensim's parse of GloVe text, or how long it takes to open its own format again."""

from __future__ import annotations

import json
import sys
import time

from gensim.models import KeyedVectors


def main():
    path = sys.argv[1]
    begin = time.perf_counter()
    table = KeyedVectors.load_word2vec_format(path, binary=False, no_header=True)
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "words": len(table), "sum": float(table.vectors.sum(dtype="f8"))}))


if __name__ == "__main__":
    main()
