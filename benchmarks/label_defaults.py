"""Compares settings of encoders with a head by the number of labelled examples, on validation data.

python benchmarks/label_defaults.py --data SentEval/data --task SST2 --examples 20000 --out sst2.jsonl

Each candidate learns from random samples of a task's training examples, and is evaluated on its dev examples,
or on other training examples if those are fewer than 800. The test is not read. With classes: accuracy in
percent; logistic regression on the average of the same vectors has its C, and its features of pairs, by
cross-validation. With scores: Pearson's correlation x 100 of cosines; the average is not trained.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import Candidates

import sentencode as se
from sentencode.evaluation import Split, load_task
from sentencode.reproduce.choose_rows import Learner

FROZEN = "average"
SCORES = {"STSBenchmark": (0, 5), "SICKRelatedness": (1, 5)}  # least and largest
CANDIDATES: list[dict[str, Any]] = [
    {},
    *({"learning_rate": rate} for rate in (3e-4, 3e-3)),
    {"dropout": 0.3},
    {"hidden": 256},
    {"max_epochs": 10},
]
HELD_OUT = 3000  # training examples at most that are evaluated on
DEV = 800  # dev examples at least


def main() -> None:
    """Evaluates the candidates, and writes a line of JSON for each that the file does not have yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="SentEval's data folder")
    parser.add_argument("--task", required=True, help="such as TREC, SST2, MR or SICKEntailment")
    parser.add_argument("--examples", required=True, type=int, help="training examples")
    parser.add_argument("--samples", type=int, default=1, help="random samples of them")
    Candidates.arguments(
        parser, 'other candidates, as JSON; "encoder": its class (default: GeneralizedPooling)'
    )
    args = parser.parse_args()
    se.set_num_threads(args.threads)
    task = load_task(args.task, args.data)
    examples, labels = examples_of(task["train"] if "train" in task.splits else task["all"])
    dev = task["dev"] if "dev" in task.splits and len(task["dev"].labels) >= DEV else None
    candidates = Candidates(args.out)
    for sample in range(args.samples):
        order = np.random.default_rng(sample).permutation(len(examples))
        train, rest = np.split(order, [args.examples])
        held_out = examples_of(dev) if dev else (examples[rest[:HELD_OUT]], labels[rest[:HELD_OUT]])
        for options in [FROZEN, *(args.options or CANDIDATES)]:
            row = {"task": args.task, "examples": len(train), "sample": sample, "options": options}
            if row in candidates:
                continue
            learner = learner_of(options, sample, SCORES.get(args.task))
            begin = time.perf_counter()
            learner.fit(examples[train], labels[train])
            row["seconds"] = round(time.perf_counter() - begin, 1)
            predictions = learner.predict(held_out[0])
            if args.task in SCORES:
                row["correlation"] = round(100 * float(np.corrcoef(predictions, held_out[1])[0, 1]), 2)
            else:
                row["accuracy"] = round(100 * float(np.mean(predictions == held_out[1])), 2)
            candidates.add(row)


def examples_of(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """The sentences or pairs of a split, and their labels."""
    sides = split.sentences
    examples = np.empty(len(split.labels), object)
    examples[:] = list(sides[0] if len(sides) == 1 else zip(*sides, strict=True))
    return examples, np.asarray(split.labels)


class Cosines:
    """Cosines of the frozen average, in place of predictions."""

    def fit(self, examples: np.ndarray, labels: np.ndarray) -> None: ...

    def predict(self, pairs: np.ndarray) -> np.ndarray:
        return se.Average(se.WordVectors.default()).similarity_pairwise(*map(list, zip(*pairs, strict=True)))


def learner_of(options: Any, seed: int, scores: tuple[float, float] | None) -> Any:
    """The frozen average, or an encoder with options and, for pairs with scores, a head of cosines."""
    vectors = se.WordVectors.default()
    if options == FROZEN:
        return Cosines() if scores else Learner(se.Average(vectors), frozen=True)
    if scores:
        options = {**options, "head": se.CosineRegression(low=scores[0], high=scores[1])}
    encoder = getattr(se, options.get("encoder", "GeneralizedPooling"))
    return Learner(encoder(vectors, seed=seed, **{k: v for k, v in options.items() if k != "encoder"}))


if __name__ == "__main__":
    main()
