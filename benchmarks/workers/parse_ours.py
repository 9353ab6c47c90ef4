"""Our parse of GloVe text, without a cache; or opening the native file, up to the first row looked up."""

from __future__ import annotations

import importlib
import json
import sys
import time

import numpy as np

import sentencode as se


def main():
    action, path = sys.argv[1:3]
    importlib.import_module("sentencode.vectors.load")  # is not part of what is timed
    begin = time.perf_counter()
    table = se.WordVectors.load(path, cache=False) if action != "open" else se.WordVectors.load(path)
    row = table["the"]
    seconds = time.perf_counter() - begin
    if action == "convert":
        table.save(sys.argv[3])
    total = float(np.asarray(table.matrix()).sum(dtype="f8")) if action == "parse" else float(row.sum())
    print(json.dumps({"seconds": seconds, "words": len(table), "sum": total}))


if __name__ == "__main__":
    main()
