"""Microseconds per sentence of `Average.encode` in this version and in another one.

Both versions run alternately, each in processes of its own, on text in several scripts, with float32 vectors
of the text's own words. Build the other version first, for example by

    git worktree add /tmp/before 78e58891
    SENTENCODE_NN=OFF pip install --target /tmp/before/package --no-deps /tmp/before
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import sys
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
from common import arguments_of, data_argument, median, say, take_turns, write_json

SENTENCES, CALLS = 100_000, 7
TEXTS = {
    "books": "text/books.train.txt.xz",
    "captions, English": "multi30k/train.en.gz",
    "captions, German": "multi30k/train.de.gz",
    "captions, Czech": "multi30k/train.cs.gz",
    "captions, English in Cyrillic letters": "multi30k/train.en.gz",
}
LATIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
CYRILLIC = "".join(chr(code) for first in (0x430, 0x410) for code in range(first, first + 26))
SETTINGS = [(tokenizer, dim) for tokenizer in ("words", "whitespace") for dim in (300, 64)]


def read(data: Path, name: str) -> list[str]:
    path = data / TEXTS[name]
    opened = lzma.open if path.suffix == ".xz" else gzip.open
    with opened(path, "rt", encoding="utf-8") as lines:
        texts = list(islice((line.strip() for line in lines if line.strip()), SENTENCES))
    cyrillic = str.maketrans(LATIN, CYRILLIC)
    return [text.translate(cyrillic) for text in texts] if "Cyrillic" in name else texts


def child(data: Path, name: str) -> None:
    """Print the fastest of several calls for each setting."""
    import sentencode as se

    se.set_num_threads(2)
    texts = read(data, name)
    results = {"bytes": np.mean([len(text.encode()) for text in texts])}
    for tokenizer, dim in SETTINGS:
        split = se.Tokenizer(tokenizer)
        words = list(Counter(token for text in texts for token in split(text)))
        rows = np.random.default_rng(0).normal(size=(len(words), dim)).astype(np.float32)
        encoder = se.Average(se.WordVectors.from_array(words, rows), tokenizer=split)
        out = np.empty((len(texts), dim), np.float32)
        seconds = []
        for _ in range(CALLS):
            begin = time.perf_counter()
            encoder.encode(texts, out=out)
            seconds.append(time.perf_counter() - begin)
        results[f"{tokenizer}, {dim}"] = 1e6 * min(seconds) / len(texts)
    print(json.dumps(results))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    parser.add_argument("--before", type=Path, required=True, help="folder with the other version's package")
    parser.add_argument("--after", type=Path, help="folder with this version's; default: the installed one")
    parser.add_argument("--child", choices=TEXTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.data, args.child)
    folders = {"before": args.before, "after": args.after}
    workers = {
        f"{name}: {version}": [
            *(["env", f"PYTHONPATH={folder.resolve()}"] if folder else []),
            *(sys.executable, __file__, "--data", args.data, "--before", args.before, "--child", name),
        ]
        for name in TEXTS
        for version, folder in folders.items()
    }
    results = take_turns(workers, args.rounds)
    table = []
    for name in TEXTS:
        before, after = (results[f"{name}: {version}"] for version in folders)
        cells = [name, f"{after[0]['bytes']:.0f}"]
        for setting in [f"{tokenizer}, {dim}" for tokenizer, dim in SETTINGS]:
            old, new = median(before, setting), median(after, setting)
            cells.append(f"{old:.3f} → {new:.3f}: {old / new:.2f}")
        table.append(cells)
        say(" | ".join(cells))
    write_json(args.json, rounds=results, table=table)


if __name__ == "__main__":
    main()
