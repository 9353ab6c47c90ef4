"""Chooses the defaults of the encoders that learn from text, on validation data.

python benchmarks/text_defaults.py --data SentEval/data --text wikipedia.txt.xz news.txt.xz \\
    --encoder RNNCNN --minutes 3 --out rnncnn.jsonl

Each candidate of options is trained for some minutes and evaluated: Pearson's correlation x 100 between cosines and
the scores of the dev pairs of STSBenchmark and SICK, before and after whitening, and the accuracy of logistic
regression on SST2's dev sentences and, by cross-validation, on TREC's training sentences. No test is read.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import sentencode as se
from sentencode import models
from sentencode.evaluation import Decontaminator, Split, load_task
from sentencode.text.corpus import Corpus

UNTRAINED: dict[str, Any] = {"max_steps": 1, "max_epochs": None, "learning_rate": 1e-30}
RATES: list[dict[str, Any]] = [{"learning_rate": rate} for rate in (3e-4, 3e-3)]
_CONTEXT: list[dict[str, Any]] = [{"trainable_words": False}, {"anchor": 30.0}]
CANDIDATES: dict[str, list[dict[str, Any]]] = {
    "MeanMaxAAE": [*RATES, {"unit_words": True}, {"unit_words": True, "learning_rate": 3e-3}, {"batch_size": 16}],
    "LSTMSDAE": [*RATES, {"unit_words": True}],
    "RNNCNN": [*RATES, *_CONTEXT, {"batch_size": 16}],
    "SkipThoughts": [*RATES, *_CONTEXT, {"batch_size": 16}],
    "FastSent": [{"learning_rate": 5e-4}, {"anchor": 30.0}],
}
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
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--options", type=json.loads, nargs="+", help="candidates instead of the built-in ones")
    parser.add_argument("--out", required=True, type=Path)
    args = parser.parse_args()
    se.set_num_threads(args.threads)
    tasks = {name: load_task(name, args.data) for name in ("STSBenchmarkCosine", "SICKCosine", "SST2", "TREC")}
    clean = Decontaminator(list(tasks.values()))
    documents = Corpus.from_files(args.text).documents()
    text = [line for document in documents for line in (*clean(document), "")]
    done = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    for options in args.options or [UNTRAINED, {}, *CANDIDATES[args.encoder]]:
        if any(row["options"] == options and row["minutes"] == args.minutes for row in done):
            continue
        limit = {} if options == UNTRAINED else {"max_minutes": args.minutes}
        encoder = getattr(models, args.encoder)(se.WordVectors.default(), **limit, **options)
        begin = time.perf_counter()
        encoder.fit(text, show_progress_bar=False, **({"valid": None} if options == UNTRAINED else {}))
        seconds = round(time.perf_counter() - begin)
        lines = [line for line in text if line]
        whitened = se.Whitening(encoder).fit(lines[:: max(1, len(lines) // WHITENING_SENTENCES)])
        row = {"encoder": args.encoder, "options": options, "minutes": args.minutes, "seconds": seconds}
        row |= {"steps": len(encoder.history_.losses) if hasattr(encoder.history_, "losses") else None}
        for name in ("STSBenchmarkCosine", "SICKCosine"):
            row |= {name: pearson(encoder, tasks[name]["dev"])}
            row |= {f"{name}, whitened": pearson(whitened, tasks[name]["dev"])}
        row |= {"SST2": sst2(encoder, tasks["SST2"]), "TREC": trec(encoder, tasks["TREC"])}
        with args.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


def pearson(encoder: se.Encoder, split: Split) -> float:
    """Pearson's correlation x 100 of cosines with the scores."""
    u, v = (encoder.encode(list(side)) for side in split.sentences)
    return round(100 * float(np.corrcoef(se.similarity_pairwise(u, v), split.labels)[0, 1]), 1)


def sst2(encoder: se.Encoder, task: Any) -> float:
    """Accuracy in percent on the dev sentences."""
    some = np.random.default_rng(0).permutation(len(task["train"].labels))[:EXAMPLES]
    texts, labels = task["train"].sentences[0], np.asarray(task["train"].labels)
    x, scale = scaled(encoder.encode([texts[i] for i in some]))
    model = LogisticRegression(C=0.25, max_iter=200).fit(x, labels[some])
    return round(100 * model.score(encoder.encode(list(task["dev"].sentences[0])) / scale, task["dev"].labels), 1)


def trec(encoder: se.Encoder, task: Any) -> float:
    """Accuracy in percent of five-fold cross-validation on the training sentences."""
    x, _ = scaled(encoder.encode(list(task["train"].sentences[0])))
    scores = cross_val_score(LogisticRegression(C=0.25, max_iter=200), x, task["train"].labels, cv=5)
    return round(100 * float(scores.mean()), 1)


def scaled(x: Any) -> tuple[Any, float]:
    """Embeddings by their root mean square, and that."""
    scale = float(np.sqrt(np.mean(np.square(x))))
    return x / scale, scale


if __name__ == "__main__":
    main()
