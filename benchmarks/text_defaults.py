"""Compares settings of the encoders that learn from text, on validation data.

python benchmarks/text_defaults.py --data SentEval/data --text wikipedia.txt.xz news.txt.xz \\
    --encoder RNNCNN --minutes 3 --out rnncnn.jsonl

Each candidate is trained for some minutes and evaluated: Pearson's correlation x 100 between cosines and the
scores of the dev pairs of STSBenchmark and SICK, before and after whitening, and the accuracy of logistic
regression on SST2's dev sentences and, by cross-validation, on TREC's training sentences. No test is read.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from common import Candidates
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import sentencode as se
from sentencode import models
from sentencode.evaluation import Decontaminator, Split, Task, load_task
from sentencode.text.corpus import Corpus

Options = dict[str, Any]

UNTRAINED: Options = {"max_steps": 1, "max_epochs": None, "learning_rate": 1e-30}
RATES: list[Options] = [{"learning_rate": rate} for rate in (3e-4, 1e-3, 3e-3)]
SINUSOIDAL: Options = {"positions": "sinusoidal"}
CANDIDATES: dict[str, list[Options]] = {
    "MeanMaxAAE": [*RATES, SINUSOIDAL, {**SINUSOIDAL, **UNTRAINED}, {"unit_words": True}],
    **dict.fromkeys(("LSTMSDAE", "RAE", "CNNLSTMAE", "CompositeCNN", "HierarchicalCNN"), RATES),
    "RNNCNN": [*RATES, {"trainable_words": False}, {"anchor": 30.0}],
    "SkipThoughts": [*RATES, {"trainable_words": False}, {"anchor": 30.0}],
    "FastSent": [{"learning_rate": 5e-3}, {"learning_rate": 1e-3}, {"anchor": 30.0}],
}
COSINES = ("STSBenchmarkCosine", "SICKCosine")
WHITENING_SENTENCES = 5000
EXAMPLES = 4000  # of SST2


def main() -> None:
    """Writes a line of JSON for each candidate; those that the file has are not computed again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="SentEval's data folder")
    parser.add_argument("--text", required=True, nargs="+", help="sentences in order")
    parser.add_argument("--encoder", required=True, choices=CANDIDATES)
    parser.add_argument("--vectors", help="word vectors instead of the built-in ones")
    parser.add_argument("--minutes", type=float, default=3.0)
    Candidates.arguments(parser, "other candidates, as JSON")
    args = parser.parse_args()
    se.set_num_threads(args.threads)
    tasks = {name: load_task(name, args.data) for name in (*COSINES, "SST2", "TREC")}
    clean = Decontaminator(list(tasks.values()))
    text = [line for part in Corpus.from_files(args.text).documents() for line in (*clean(part), "")]
    vectors = se.WordVectors.load(args.vectors) if args.vectors else se.WordVectors.default()
    candidates = Candidates(args.out)
    for options in args.options or [UNTRAINED, {}, *CANDIDATES[args.encoder]]:
        row = {"encoder": args.encoder, "options": options, "minutes": args.minutes}
        row["vectors"] = args.vectors and Path(args.vectors).name
        if row in candidates:
            continue
        row |= evaluated(args.encoder, vectors, options, args.minutes, text, tasks)
        candidates.add(row)


def evaluated(
    kind: str,
    vectors: se.WordVectors,
    options: Options,
    minutes: float,
    text: list[str],
    tasks: dict[str, Task],
) -> Options:
    """Trains an encoder, and returns its scores."""
    is_trained = "max_steps" not in options
    limit = {"max_minutes": minutes} if is_trained else {}
    encoder = getattr(models, kind)(vectors, **limit, **options)
    begin = time.perf_counter()
    encoder.fit(text, show_progress_bar=False, valid="auto" if is_trained else None)
    row: Options = {"seconds": round(time.perf_counter() - begin)}
    lines = [line for line in text if line]
    whitened = se.Whitening(encoder).fit(lines[:: max(1, len(lines) // WHITENING_SENTENCES)])
    for name in COSINES:
        row |= {name: pearson(encoder, tasks[name]["dev"])}
        row |= {f"{name}, whitened": pearson(whitened, tasks[name]["dev"])}
    return row | {"SST2": sst2(encoder, tasks["SST2"]), "TREC": trec(encoder, tasks["TREC"])}


def pearson(encoder: se.Encoder, split: Split) -> float:
    """Pearson's correlation x 100 of cosines with the scores."""
    u, v = (encoder.encode(list(side)) for side in split.sentences)
    return round(100 * float(np.corrcoef(se.similarity_pairwise(u, v), split.labels)[0, 1]), 1)


def sst2(encoder: se.Encoder, task: Task) -> float:
    """Accuracy in percent on the dev sentences."""
    train, dev = task["train"], task["dev"]
    some = np.random.default_rng(0).permutation(len(train.labels))[:EXAMPLES]
    x, scale = scaled(encoder.encode([train.sentences[0][i] for i in some]))
    model = LogisticRegression(C=0.25, max_iter=200).fit(x, np.asarray(train.labels)[some])
    return round(100 * model.score(encoder.encode(list(dev.sentences[0])) / scale, dev.labels), 1)


def trec(encoder: se.Encoder, task: Task) -> float:
    """Accuracy in percent of five-fold cross-validation on the training sentences."""
    x, _ = scaled(encoder.encode(list(task["train"].sentences[0])))
    model = LogisticRegression(C=0.25, max_iter=200)
    return round(100 * float(cross_val_score(model, x, task["train"].labels, cv=5).mean()), 1)


def scaled(x: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], float]:
    """Embeddings divided by their root mean square, and that."""
    scale = float(np.sqrt(np.mean(np.square(x))))
    return x / scale, scale


if __name__ == "__main__":
    main()
