"""Time to parse GloVe text, compared with gensim, and to open the native file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from common import (
    BUILD,
    WORKERS,
    arguments_of,
    data_argument,
    digest,
    gensim,
    machine,
    median,
    run,
    spread,
    take_turns,
    unpacked_vectors,
    verdict,
    write_json,
)

TARGET = 10  # times gensim's speed
OPEN_MILLISECONDS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    arguments_of(parser, rounds=3)
    parser.add_argument("--vectors", type=Path, help=".npz; default: glove.local.300d.f16.npz of the data")
    parser.add_argument("--text", type=Path, help="GloVe text; default: written from --vectors")
    args = parser.parse_args()

    text = args.text or glove_text(args.vectors or args.data / "vectors" / "glove.local.300d.f16.npz")
    native = BUILD / "data" / f"native-{digest(text)}.sentencode"
    worker = WORKERS / "parse_ours.py"
    run([sys.executable, worker, "convert", text, native])
    results = take_turns(
        {
            "sentencode": [sys.executable, worker, "parse", text],
            "gensim": [gensim(), WORKERS / "parse_gensim.py", text],
            "native file": [sys.executable, worker, "open", native],
        },
        args.rounds,
    )
    ours, theirs = results["sentencode"][0], results["gensim"][0]
    if ours["words"] != theirs["words"] or not np.isclose(ours["sum"], theirs["sum"], rtol=1e-5):
        raise SystemExit(f"the two read different vectors: {ours} and {theirs}")
    seconds = {name: median(runs, "seconds") for name, runs in results.items()}

    print(machine())
    size = text.stat().st_size
    print(f"{ours['words']:,} words, {size / 1e6:.0f} MB of text, median of {args.rounds} rounds\n")
    for name in ("sentencode", "gensim"):
        rate = size / seconds[name] / 1e6
        print(f"{name:12} {seconds[name]:8.3f} s ({spread(results[name], 'seconds')}), {rate:6.0f} MB/s")
    ratio = seconds["gensim"] / seconds["sentencode"]
    print(f"sentencode against gensim: {ratio:.1f} {verdict(ratio, TARGET)}")
    opened = 1000 * seconds["native file"]
    met = verdict(opened, OPEN_MILLISECONDS, at_least=False)
    print(f"opening the native file and reading one row: {opened:.2f} ms {met}")
    write_json(args.json, results=results)


def glove_text(path: Path) -> Path:
    """The vectors in GloVe's format: a word and its values per line, with six digits."""
    source = unpacked_vectors(path)
    out = source / "glove.txt"
    if not out.exists():
        words = json.loads((source / "words.json").read_text(encoding="utf-8"))
        matrix = np.load(source / "vectors.npy")
        part = out.with_suffix(".part")
        with part.open("w", encoding="utf-8", newline="\n") as file:
            for word, row in zip(words, matrix.tolist(), strict=True):
                file.write(f"{word} {' '.join(f'{value:.6g}' for value in row)}\n")
        part.rename(out)
    return out


if __name__ == "__main__":
    main()
