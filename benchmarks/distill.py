"""The solve of a student: many sentences, words and numbers. With --teacher and --text: the teacher's speed.

The floor is what the solve is made of: products A P and A^T Q, one of each an iteration, by scipy. The peer
of the reading is sentence-transformers' own `encode` of the same sentences, sorted by their length.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

import numpy as np
from common import arguments_of, machine, verdict, write_json

from sentencode import Corpus, Vocabulary, _core
from sentencode.distill import teacher_named
from sentencode.encoder_rows import EncoderRows
from sentencode.text.tokenizer import Tokenizer
from sentencode.vectors.distillation import PENALTIES, RIDGES, _encode, _sample

SECONDS = 180.0
GIBIBYTES = 4.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments_of(parser, rounds=1)
    parser.add_argument("--sentences", type=int, default=400_000)
    parser.add_argument("--words", type=int, default=60_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--teacher", help="a model of sentence-transformers")
    parser.add_argument("--text", help="a file of sentences, for the teacher")
    args = parser.parse_args()
    reading(args.teacher, args.text, max(3, args.rounds)) if args.teacher else solve(args)


def reading(name: str, text: str, rounds: int) -> None:
    """What distillation makes of a teacher's speed, and the teacher by itself; they take turns."""
    teacher = teacher_named(name)
    sentences = _sample(list(Corpus(text)), 4096)
    in_order = sorted(sentences, key=len)
    teacher.encode(in_order[-64:])
    ours, theirs = [], []
    for _ in range(rounds):
        embedder = EncoderRows(teacher, tokens=False)
        begin = time.perf_counter()
        for _ in _encode(embedder, sentences, None):
            pass
        ours.append(len(sentences) / (time.perf_counter() - begin))
        begin = time.perf_counter()
        teacher.encode(in_order)
        theirs.append(len(sentences) / (time.perf_counter() - begin))
    both = [statistics.median(speeds) for speeds in (ours, theirs)]
    print(machine())
    print(f"distill reads {both[0]:.0f} sentences a second ({min(ours):.0f} to {max(ours):.0f})")
    print(f"encode, sorted {both[1]:.0f} ({min(theirs):.0f} to {max(theirs):.0f})")
    print(f"ratio {both[0] / both[1]:.3f} {verdict(both[0] / both[1], 1.0)}")


def solve(args: argparse.Namespace) -> None:
    """All that follows once the teacher's embeddings are there."""

    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(args.words)]
    shares = 1 / np.arange(10, args.words + 10)  # as Zipf's law has them
    shares /= shares.sum()
    weights = (1e-3 / (1e-3 + shares)).astype(np.float32)
    vocabulary = Vocabulary(dict(zip(words, np.maximum(1, 1e9 * shares).astype(int).tolist(), strict=True)))
    tokenizer = Tokenizer("whitespace")
    truth = random.standard_normal((args.words, args.dim), dtype=np.float32)
    sums = _core.Distillation(vocabulary.core, tokenizer.core(), weights, args.dim)
    held = _core.Distillation(vocabulary.core, tokenizer.core(), weights, args.dim)

    ids, lengths, adding = [], [], 0.0
    for first in range(0, args.sentences, 8192):
        count = min(8192, args.sentences - first)
        some = random.integers(6, 26, count)
        sentences = np.split(random.choice(args.words, some.sum(), p=shares), np.cumsum(some)[:-1])
        rows = np.stack([(truth[one] * weights[one, None]).mean(0) for one in sentences])
        rows += 0.05 * random.standard_normal(rows.shape, dtype=np.float32)
        texts = [" ".join([words[i] for i in one]) for one in sentences]
        begin = time.perf_counter()
        (held if first == 0 else sums).add(tokenizer.prepare(texts), rows)
        adding += time.perf_counter() - begin
        if first > 0:
            ids += sentences
            lengths += some.tolist()
    prior = truth + 0.5 * random.standard_normal(truth.shape, dtype=np.float32)

    begin = time.perf_counter()
    moments, whole_mean = sums.moments(prior), sums.mean()
    for ridge in RIDGES:
        held.error(_core.mapped(prior, moments.map(ridge)), whole_mean)
    mapping = time.perf_counter() - begin
    begin = time.perf_counter()
    which = np.unique(np.linspace(0, args.dim - 1, 32).astype(int)).tolist()
    few, few_held, mean = sums.columns(which), held.columns(which), sums.columns(which).mean()
    start = np.ascontiguousarray(prior[:, which])
    for penalty in PENALTIES:
        few_held.error(few.solve(start, penalty=penalty, tolerance=1e-3)[0], mean)
    choosing = time.perf_counter() - begin
    begin = time.perf_counter()
    _, residual, iterations = sums.solve(prior, penalty=0.01)
    solving = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

    import scipy.sparse

    offsets = np.concatenate([[0], np.cumsum(lengths)])
    columns = np.concatenate(ids)
    data = weights[columns] / np.repeat(np.asarray(lengths, np.float32), lengths)
    a = scipy.sparse.csr_matrix((data, columns, offsets), shape=(len(lengths), args.words))
    transposed = a.T.tocsr()
    begin = time.perf_counter()
    transposed @ (a @ truth)
    floor = (time.perf_counter() - begin) * (iterations + 1)

    print(machine())
    print(f"{a.shape[0]:,} sentences of {a.nnz / a.shape[0]:.1f} words, {args.words:,} words, {args.dim}-d")
    print(f"adding rows      {adding:7.1f} s")
    print(f"choosing the map {mapping:7.1f} s, {len(RIDGES)} of them")
    print(f"choosing lambda  {choosing:7.1f} s, {len(PENALTIES)} of them")
    print(f"solving          {solving:7.1f} s, {iterations} iterations, residual {residual:.1e}")
    whole = adding + mapping + choosing + solving
    print(f"all              {whole:7.1f} s {verdict(whole, SECONDS, at_least=False)}")
    print(f"scipy's products {floor:7.1f} s, on one thread: ours takes {solving / floor:.2f} times as long")
    print(f"memory           {memory:7.2f} GiB {verdict(memory, GIBIBYTES, at_least=False)}")
    write_json(
        args.json,
        runs=[
            {"adding": adding, "mapping": mapping, "choosing": choosing, "solving": solving, "floor": floor}
        ],
    )


if __name__ == "__main__":
    main()
