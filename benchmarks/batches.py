"""From a corpus to ids on disk and to batches, compared with plain Python and torch's DataLoader."""

from __future__ import annotations

import argparse
import itertools
import lzma
import tempfile
import time
from pathlib import Path

import numpy as np
from common import (
    Clock,
    Contestants,
    arguments_of,
    data_argument,
    machine,
    median,
    sentences_of,
    spread,
    write_json,
)

WORDS = 20_000


def parts(corpus: str) -> tuple:
    import sentencode as se

    tokenizer = se.Tokenizer("words", lowercase=True)
    return (
        se,
        tokenizer,
        se.Vocabulary.from_corpus(itertools.islice(se.Corpus(corpus), 200_000), tokenizer, max_size=WORDS),
    )


def build(corpus: str) -> dict:
    """Ours, from file to file."""
    _, tokenizer, vocabulary = parts(corpus)
    from sentencode.training import Examples

    with tempfile.TemporaryDirectory() as folder:
        with Clock() as clock:
            examples = Examples.build(corpus, vocabulary, tokenizer, path=Path(folder, "ids"))
        rows, total = len(examples), int(examples.ids().sum(dtype=np.int64))
    return clock.facts(sentences=rows, sum=total)


def build_in_python(corpus: str) -> dict:
    """The same tokenizer, and a dictionary look-up for each token; ids stay in memory."""
    _, tokenizer, vocabulary = parts(corpus)
    table = {word: i for i, word in enumerate(vocabulary)}
    unknown = len(table)
    opened = lzma.open if corpus.endswith(".xz") else open
    ids, rows = [], 0
    with Clock() as clock, opened(corpus, "rt", encoding="utf-8", newline="\n") as lines:
        full = (line.rstrip("\n") for line in lines if not line.isspace())
        while batch := list(itertools.islice(full, 10_000)):
            sentences = [tokens for tokens in tokenizer(batch) if tokens]  # a line may have no word
            encoded = [np.array([table.get(t, unknown) for t in tokens], np.int32) for tokens in sentences]
            rows += len(encoded)
            ids.extend(encoded)
    return clock.facts(sentences=rows, sum=int(np.concatenate(ids).sum(dtype=np.int64)))


def batches(corpus: str, mode: str) -> dict:
    """Ours, from memory-mapped ids to padded arrays, on a background thread."""
    _, tokenizer, vocabulary = parts(corpus)
    from sentencode.training import Batcher, Examples

    options = {
        "token_budget": {"max_tokens": 1280, "batch_size": None},
        "buckets": {"bounds": [8, 16, 24, 32]},
    }
    with tempfile.TemporaryDirectory() as folder:
        examples = Examples.build(corpus, vocabulary, tokenizer, path=Path(folder, "ids"))
        batcher = Batcher(examples, mode=mode, **options.get(mode, {}))
        with Clock() as clock:
            sizes = [(len(batch), batch.ids["tokens"].size, batch.tokens["tokens"]) for batch in batcher]
        batcher.close()
    sentences, padded, tokens = (sum(column) for column in zip(*sizes, strict=True))
    return clock.facts(sentences=sentences, padding=1 - tokens / padded)


def torch_loader(corpus: str, seconds: float) -> dict:
    """torch's DataLoader over tensors in memory, shuffled and padded, in this process."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    se, tokenizer, vocabulary = parts(corpus)
    table = {word: i for i, word in enumerate(vocabulary)}
    first = list(itertools.islice(se.Corpus(corpus), 200_000))
    data = [torch.tensor([table.get(t, len(table)) for t in tokens]) for tokens in tokenizer(first)]
    loader = torch.utils.data.DataLoader(
        data, batch_size=64, shuffle=True, collate_fn=lambda rows: pad_sequence(rows, batch_first=True)
    )
    sentences, padded = 0, 0
    begin = time.perf_counter()
    with Clock() as clock:
        for ids in loader:
            sentences += len(ids)
            padded += ids.numel()
            if time.perf_counter() - begin > seconds:
                break
    return clock.facts(sentences=sentences)


def main() -> None:
    contestants = Contestants(__file__, build, build_in_python, batches, torch_loader)
    parser = argparse.ArgumentParser(description=__doc__)
    contestants.argument(parser)
    data_argument(parser)
    arguments_of(parser, rounds=3)
    parser.add_argument("--sentences", type=int, help="of books.train.txt.xz; default: all")
    args = parser.parse_args()
    contestants.options = ["--data", args.data]
    if contestants.run_child(args):
        return

    corpus = args.data / "text" / "books.train.txt.xz"
    corpus = str(sentences_of(corpus, args.sentences) if args.sentences else corpus)
    print(machine())
    ours, theirs = contestants.measure(args.rounds, ("build", corpus), ("build_in_python", corpus))
    if (ours[0]["sentences"], ours[0]["sum"]) != (theirs[0]["sentences"], theirs[0]["sum"]):
        raise SystemExit(f"the two sides have different ids: {ours[0]} and {theirs[0]}")
    rate = {}
    for name, runs in (("ours", ours), ("plain Python", theirs)):
        rate[name] = runs[0]["sentences"] / median(runs, "seconds")
        shown = f"{median(runs, 'seconds'):6.1f} s ({spread(runs, 'seconds')})"
        print(f"text to ids, {name:12} {shown}, {rate[name]:10,.0f} sentences/s")
    ratio = rate["ours"] / rate["plain Python"]
    print(f"ours compared with plain Python: {ratio:.1f}\n")

    everything = []
    (peer,) = contestants.measure(args.rounds, ("torch_loader", corpus, 5.0))
    theirs_rate = peer[0]["sentences"] / peer[0]["seconds"]
    print(f"batches, torch DataLoader  {theirs_rate:12,.0f} sentences/s")
    for mode in ("plain", "equal_length", "buckets", "sorted_buffer", "token_budget"):
        (runs,) = contestants.measure(args.rounds, ("batches", corpus, mode))
        everything.append(runs)
        speed = runs[0]["sentences"] / median(runs, "seconds")
        padding = 100 * runs[0]["padding"]
        print(
            f"batches, {mode:17} {speed:12,.0f} sentences/s, {padding:4.1f} % padding, "
            f"{speed / theirs_rate:.0f} times torch"
        )
    write_json(args.json, results=contestants.everything)


if __name__ == "__main__":
    main()
