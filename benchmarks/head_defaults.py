"""Compares settings of encoders with the heads that have neither classes nor scores, on held-out examples.

python benchmarks/head_defaults.py --data SentEval/data --head MultipleNegatives \\
    --files Flickr8k.token.txt --examples 4000 --out pairs.jsonl

`MultipleNegatives` learns from pairs of captions of one image, or from triples; `Triplet` from triples (a
premise, a hypothesis that follows, one that contradicts) of NLI; `RowRegression` from sentences and a
teacher's embeddings. Held-out examples, of other images, premises or text, give the fraction of pairs whose
partner is ranked first among 1,000, the fraction of triples in order, or the mean cosine to the teacher's
embeddings; the dev pairs of STSBenchmark give Pearson's correlation x 100 of cosines. No test is read, and no
dev sentence is trained on. "average" is the average of the same vectors, for `RowRegression` mapped to the
teacher's embeddings by ridge regression.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from common import Candidates

import sentencode as se
from sentencode.evaluation import Decontaminator, Split, load_task, read_labelled
from sentencode.text.corpus import Corpus

AVERAGE = "average"
HELD_OUT = 1000
Groups = list[list[Any]]  # examples of an image or a premise, of which none may be on both sides


def main() -> None:
    """Evaluates the candidates, and writes a line of JSON for each that the file does not have yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="SentEval's data folder")
    parser.add_argument("--head", required=True, choices=("MultipleNegatives", "Triplet", "RowRegression"))
    parser.add_argument("--files", required=True, nargs="+", help="captions, NLI (FOLDER:SPLIT), or text")
    parser.add_argument("--teacher", help="for RowRegression: a model of sentence-transformers")
    parser.add_argument("--examples", required=True, type=int)
    parser.add_argument("--samples", type=int, default=1, help="random samples of them")
    Candidates.arguments(
        parser, 'candidates, as JSON; "encoder": class (GeneralizedPooling), "head": options of the head'
    )
    args = parser.parse_args()
    se.set_num_threads(args.threads)
    task = load_task("STSBenchmarkCosine", args.data)
    groups = groups_of(args.files, Decontaminator([task]))
    candidates = Candidates(args.out)
    for sample in range(args.samples):
        order = np.random.default_rng(sample).permutation(len(groups))
        held_out = [groups[i][0] for i in order[:HELD_OUT]]
        train = [example for i in order[HELD_OUT:] for example in groups[i]][: args.examples]
        rows = embeddings_of(args.teacher, train + held_out, args.out) if args.teacher else None
        for options in [AVERAGE, *(args.options or [{}])]:
            row = {"head": args.head, "files": [Path(file).name for file in args.files]}
            row |= {"examples": len(train), "sample": sample, "options": options}
            if row in candidates:
                continue
            begin = time.perf_counter()
            encoder = fitted(options, args.head, sample, train, rows)
            row["seconds"] = round(time.perf_counter() - begin, 1)
            row |= scores(encoder, held_out, None if rows is None else rows[len(train) :], task["dev"])
            candidates.add(row)


def groups_of(files: list[str], clean: Decontaminator) -> Groups:
    """Pairs of captions by image, triples by premise, or sentences of text."""
    groups: dict[str, list[Any]] = defaultdict(list)
    if files[0].endswith("token.txt"):
        captions: dict[str, list[str]] = defaultdict(list)
        for line in Path(files[0]).read_text(encoding="utf-8").splitlines():
            name, _, caption = line.partition("\t")
            captions[name.split("#")[0]] += clean([caption])
        for name, lines in captions.items():
            groups[name] = list(zip(lines[::2], lines[1::2], strict=False))
    elif any(file.endswith((".txt", ".xz")) for file in files):
        for document in Corpus.from_files(files).documents():
            for line in clean(document):
                groups[line] = [line]
    else:
        for name in files:
            file, _, split = name.partition(":")
            sides: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
            labelled = read_labelled(file, split=split or None)
            for (premise, hypothesis), label in zip(labelled.sentences, labelled.labels, strict=True):
                if premise not in clean and hypothesis not in clean:
                    sides[premise][label].append(hypothesis)
            for premise, by_label in sides.items():
                both = zip(by_label["entailment"], by_label["contradiction"], strict=False)
                groups[premise] += [(premise, *hypotheses) for hypotheses in both]
    return [examples for examples in groups.values() if examples]


def embeddings_of(name: str, sentences: list[str], out: Path) -> np.ndarray:
    """The teacher's embeddings, kept next to the results."""
    key = hashlib.sha256("\n".join([name, *sentences]).encode()).hexdigest()
    file = out.with_name(f"{key[:16]}.npy")
    if not file.exists():
        from sentence_transformers import SentenceTransformer

        part = file.with_suffix(f".{os.getpid()}.npy")
        np.save(part, SentenceTransformer(name, device="cpu").encode(sentences, batch_size=64))
        part.replace(file)
    return np.load(file)


def fitted(options: Any, head: str, seed: int, train: list[Any], rows: np.ndarray | None) -> Any:
    """An encoder that learnt from the examples, or the average of the vectors."""
    vectors = se.WordVectors.default()
    labels = None if rows is None else rows[: len(train)]
    if options == AVERAGE:
        average = se.Average(vectors)
        return average if labels is None else Mapped(average, train, labels)
    options = {"encoder": "GeneralizedPooling", "head": {}, **options}
    encoder = getattr(se, options.pop("encoder"))
    head_options = {"kind": head, **options.pop("head")}
    return encoder(vectors, head=head_options, seed=seed, **options).fit(train, labels)


class Mapped:
    """Embeddings that ridge regression maps to rows."""

    def __init__(self, encoder: se.Encoder, sentences: list[str], rows: np.ndarray) -> None:
        from sklearn.linear_model import RidgeCV

        self.encoder = encoder
        self.map = RidgeCV(alphas=10.0 ** np.arange(-4, 3)).fit(encoder.encode(sentences), rows)

    def encode(self, sentences: list[str]) -> np.ndarray:
        return self.encoder.encode(sentences)

    def predict(self, sentences: list[str]) -> np.ndarray:
        return self.map.predict(self.encode(sentences))


def scores(encoder: Any, held_out: list[Any], rows: np.ndarray | None, dev: Split) -> dict[str, float]:
    """The figures of a candidate, in percent."""
    if rows is not None:
        held = se.similarity_pairwise(np.float32(encoder.predict(held_out)), np.float32(rows)).mean()
        represent = encoder.predict  # the teacher's space
    else:
        represent = encoder.encode
        first, partner, *other = (represent(list(side)) for side in zip(*held_out, strict=True))
        if other:
            held = se.similarity_pairwise(first, partner) > se.similarity_pairwise(first, other[0])
        else:
            held = se.similarity(first, partner).argmax(axis=1) == np.arange(len(first))
    u, v = (np.float32(represent(list(side))) for side in dev.sentences)
    correlation = np.corrcoef(se.similarity_pairwise(u, v), dev.labels)[0, 1]
    return {"held_out": round(100 * float(np.mean(held)), 2), "STSB": round(100 * float(correlation), 2)}


if __name__ == "__main__":
    main()
