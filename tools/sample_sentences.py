"""Samples sentences for distillation, and writes the vocabulary.

usage: python tools/sample_sentences.py --out sentences.txt wikipedia.txt.xz=96000 books.train.txt.xz=60000
           [--words words.txt --max-words 110000 --frequencies enwiki_vocab_min200.txt.gz]

It samples COUNT distinct sentences of 6 to 40 words from each file of one sentence per line (the last
tab-separated column), in the order of their hashes, so that the same files give the same sample. Words are
ordered by the mean of their relative frequencies in the sample and in the file of frequencies.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import sentencode as se

LENGTHS = range(6, 41)


def hashed(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def sample(lines: Iterable[str], count: int, name: str) -> list[str]:
    texts = {line.rpartition("\t")[2] for line in lines}
    suitable = sorted((text for text in texts if len(text.split()) in LENGTHS), key=hashed)
    if len(suitable) < count:
        raise SystemExit(
            f"{name} has {len(suitable):,} sentences of {LENGTHS[0]} to {LENGTHS[-1]} words, not {count:,}"
        )
    return suitable[:count]


def words_of(sentences: list[str], frequencies: Path | None, count: int) -> list[str]:
    counts = Counter(
        se.Vocabulary.from_corpus(sentences, se.Tokenizer("punctuation", lowercase=True), max_size=None)
    )
    totals = {word: n / counts.total() for word, n in counts.items()}
    if frequencies is not None:
        read = {word: int(n) for word, n in (line.split() for line in se.Corpus(frequencies))}
        total = sum(read.values())
        for word, n in read.items():
            totals[word] = totals.get(word, 0.0) + n / total
    return sorted(totals, key=lambda word: (-totals[word], word))[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE=COUNT")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--words", type=Path)
    parser.add_argument("--max-words", type=int, default=110_000)
    parser.add_argument("--frequencies", type=Path)
    options = parser.parse_args()

    chosen: dict[str, None] = {}
    for file in options.files:
        path, _, count = file.rpartition("=")
        chosen.update(dict.fromkeys(sample(se.Corpus(path), int(count), path)))
    sentences = sorted(chosen, key=hashed)
    options.out.write_text("".join(f"{text}\n" for text in sentences), encoding="utf-8")
    print(f"{options.out}: {len(sentences):,} sentences")
    if options.words is not None:
        words = words_of(sentences, options.frequencies, options.max_words)
        options.words.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        print(f"{options.words}: {len(words):,} words")


if __name__ == "__main__":
    main()
