"""Distils the vectors that come with the package, python/sentencode/data/default_vectors.sentencode.

usage: python tools/distill_default_vectors.py sentence-transformers/all-MiniLM-L6-v2
           --wikipedia wikipedia.txt.xz --books books.train.txt.xz --captions coco.txt
           --frequencies enwiki_vocab_min200.txt.gz [--data SentEval/data]

Only text that anybody may use is read: public-domain books, Wikipedia (CC BY-SA 4.0) and the captions of COCO
(CC BY 4.0). The same files give the same vectors, but for the teacher's rounding. The recipe and what was
measured: docs/default_vectors.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from sample_sentences import hashed, sample, words_of

import sentencode as se
from sentencode.distill import distill, teacher_named
from sentencode.evaluation import Decontaminator, task_names
from sentencode.reproduce.evaluator import tasks_there

OUT = Path(__file__).parents[1] / "python" / "sentencode" / "data" / "default_vectors.sentencode"
LARGEST = 10_000_000  # bytes

# Copyrighted translations that may be copied, identified by their first lines.
NOT_PUBLIC_DOMAIN = ("A.S. Kline", "M.H. Shakir", "Someone must have been telling lies about Josef K.")


def public_domain(path: str) -> list[str]:
    lines = []
    for book in se.Corpus(path).documents():
        if not any(mark in line for line in book[:3] for mark in NOT_PUBLIC_DOMAIN):
            lines += book
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("teacher")
    parser.add_argument("--wikipedia", required=True)
    parser.add_argument("--books", required=True)
    parser.add_argument("--captions", required=True)
    parser.add_argument("--frequencies", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=148)
    parser.add_argument("--data", help="SentEval's data folder: sentences of its tasks are removed")
    parser.add_argument("--bfloat16", action="store_true", help="the teacher computes in bfloat16")
    options = parser.parse_args()

    began = time.perf_counter()
    sentences = [
        *sample(se.Corpus(options.wikipedia), 120_000, options.wikipedia),
        *sample(public_domain(options.books), 60_000, options.books),
        *sample(se.Corpus(options.captions), 20_000, options.captions),
    ]
    sentences = sorted(dict.fromkeys(sentences), key=hashed)
    if options.data is not None:
        clean = Decontaminator(tasks_there(task_names(), options.data, partial=True))
        sentences = list(clean(sentences))
        print(f"{clean.removed:,} sentences of tasks removed: {dict(clean.by_task)}")
    student = distill(
        teacher_named(options.teacher, bfloat16=options.bfloat16),
        sentences,
        words_of(sentences, options.frequencies, options.words),
        dim=options.dim,
        storage="int8",
        progress=True,
    )
    student.vectors.save(options.out)
    size = options.out.stat().st_size
    print(f"{student.vectors} from {student.sentences:,} sentences in {time.perf_counter() - began:.0f} s")
    print(f"lambda {student.penalty:g}, ridge {student.ridge:g}; {student.unseen:,} words are in no sentence")
    print(f"{options.out}: {size:,} bytes, {student.vectors.fingerprint}")
    if size > LARGEST:
        parser.error(f"the file may have {LARGEST:,} bytes at most: choose fewer words, or a smaller dim")


if __name__ == "__main__":
    main()
