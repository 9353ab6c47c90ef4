"""Distils a student: a fast encoder that imitates a slow one.

    python examples/distill.py                                              # built-in data, no download
    python examples/distill.py all-MiniLM-L6-v2 wiki.txt.xz student.sentencode

The teacher of the first command is LAES, that of the second a model of sentence-transformers, whose
embeddings are cached, so that it resumes after Ctrl-C.
"""

from __future__ import annotations

import sys
import time
from importlib import resources

import numpy as np

import sentencode as se
from sentencode.distill import distill, teacher_named


def main(arguments: list[str]) -> None:
    """Distils, saves, and compares the student with its teacher."""
    if arguments:
        name, text, *out = arguments
        teacher, sentences, words = teacher_named(name), list(se.Corpus(text)), None
    else:
        sentences, out = list(se.Corpus(resources.files("sentencode") / "data/demo_sentences.txt")), []
        vectors = se.WordVectors.default()
        teacher = se.LAES(vectors, mode="reconstruction", hidden=100).fit(sentences)
        words = list(vectors.words[:20_000])  # more words than the few sentences have
    held_out = max(1, min(500, len(sentences) // 10))
    test, train = sentences[:held_out], sentences[held_out:]

    student = distill(teacher, train, words, cache=bool(arguments), progress=bool(arguments))
    print(f"{student.vectors}, lambda {student.penalty:g}")

    encoder = se.Average(student.vectors)
    cosines = []
    for name, one in (("teacher", teacher), ("student", encoder)):
        begin = time.perf_counter()
        rows = np.asarray(one.encode(test), np.float64)
        print(f"{name}: {len(test) / (time.perf_counter() - begin):,.0f} sentences a second")
        rows -= rows.mean(axis=0)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        cosines.append((rows @ rows.T)[np.triu_indices(len(rows), 1)])
    print(f"cosines of pairs of held-out sentences correlate at {np.corrcoef(*cosines)[0, 1]:.2f}")
    if out:
        encoder.save(out[0])


if __name__ == "__main__":
    main(sys.argv[1:])
