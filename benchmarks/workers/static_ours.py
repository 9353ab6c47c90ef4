"""A static model, encoded by ours."""

from __future__ import annotations

import argparse
import json
import re
import time
from itertools import islice
from pathlib import Path

from inputs import measure, sentences

import sentencode as se


def seconds(function):
    """Seconds of a call."""
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def shortest(function, calls=7):
    """Seconds of the fastest of some calls."""
    return min(seconds(function) for _ in range(calls))


def peak():
    """Largest resident memory so far, in bytes. ru_maxrss would include that of the parent process."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(line) * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sentences", type=Path, required=True)
    parser.add_argument("--rows", type=Path, help="where the first rows are written; None: only reads files")
    args = parser.parse_args()
    files = [path for path in args.folder.rglob("*") if path.is_file()]
    with args.sentences.open(encoding="utf-8") as lines:
        some = [line.rstrip("\n") for line in islice(lines, 10_000)]
    se.Average({"warm": [1.0]}).encode("up")  # loads the modules
    time.sleep(0.2)  # threads of OpenBLAS wait actively after the import of NumPy
    if args.rows is None:
        print(json.dumps({"first_reading": seconds(lambda: [path.read_bytes() for path in files])}))
        return
    before = peak()
    begin = time.perf_counter()
    encoder = se.load(args.folder)
    first_opening = time.perf_counter() - begin
    encoder.encode(some)
    table = sum(path.stat().st_size for path in files if path.suffix == ".safetensors")
    beyond = peak() - before - table  # before all sentences are read, whose memory would be used again
    texts = sentences(args.sentences)
    opening = shortest(lambda: se.load(args.folder))
    reading = shortest(lambda: [path.read_bytes() for path in files])
    tokens = encoder.tokenizer_(texts[:20_000])
    measure(
        f"sentencode, {se.num_threads()} threads",
        encoder.encode,
        texts,
        args.rows,
        calls=5,
        first_opening=first_opening,
        opening=opening,
        reading=reading,
        beyond=beyond / 2**20,
        bytes=sum(len(text.encode()) for text in texts) / len(texts),
        tokens=sum(map(len, tokens)) / len(tokens),
        row_bytes=table // len(encoder.vectors),
    )


if __name__ == "__main__":
    main()
