"""Static vectors that learn from labels: accuracy and time, against two other ways from the same table.

The others are logistic regression on the frozen table (scikit-learn, with C by cross-validation), and
model2vec's own trainer, `StaticModelForClassification`, which has no pairs. All get the same sentences, table
and tokenizer. Test examples are used once, by the finished models. MR and CR have no split: every fifth
example is tested. With --examples N, each of --samples random samples of N training examples is tested on
up to 3,000 other training examples.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    BUILD,
    WORKERS,
    arguments_of,
    data_argument,
    environment,
    machine,
    median,
    take_turns,
    verdict,
    write_json,
)
from scipy import stats

import sentencode as se
from sentencode.evaluation import load_task, paired_bootstrap

TASKS = ["MR", "CR", "SST2", "SST5", "TREC", "MRPC", "SICKEntailment"]
FASTER = 10
RESAMPLES = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=1)
    parser.add_argument("--tasks", nargs="*", default=TASKS, choices=TASKS)
    parser.add_argument("--examples", type=int, help="training examples; default: all")
    parser.add_argument("--samples", type=int, default=1, help="samples of --examples")
    parser.add_argument("--systems", nargs="*", default=["frozen", "model2vec"], help="to compare with")
    parser.add_argument("--vectors", type=Path, help="word vectors; default: the built-in ones")
    parser.add_argument("--peer", type=Path, help="a Python with model2vec[train]; default: one is made")
    args = parser.parse_args()
    if args.examples is None and args.samples != 1:
        parser.error("--samples requires --examples")

    vectors = se.WordVectors.default() if args.vectors is None else se.WordVectors.load(args.vectors)
    peer = args.peer
    if peer is None and "model2vec" in args.systems:
        peer = environment("labels", ["model2vec[train]==0.10.0"])
    folder = BUILD / "data" / "labels"
    folder.mkdir(parents=True, exist_ok=True)
    se.Average(vectors).export(folder / "table", overwrite=True)
    print(machine())
    print(f"{vectors}, {args.rounds} rounds\n")
    results = {
        f"{name} {sample}" if args.examples else name: compare(name, sample, args, folder, peer)
        for name in args.tasks
        for sample in range(args.samples)
    }
    report(results, args.samples)
    write_json(args.json, results=results)


def compare(
    name: str, sample: int, args: argparse.Namespace, folder: Path, peer: Path | None
) -> dict[str, Any]:
    """Accuracies and seconds of all systems on a task."""
    task, gold = written(name, args.data, folder / f"{name}.json", args.examples, sample)
    options = [WORKERS / "labels.py", "--task", task, "--table", folder / "table"]
    command: dict[str, list[Any]] = {
        "ours": [sys.executable, *options, "ours"],
        # One thread: those of BLAS, which wait by spinning, slow its small products down.
        "frozen": ["env", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", sys.executable, *options, "frozen"],
        "model2vec": [peer, *options, "model2vec"],
    }
    pairs = name in ("MRPC", "SICKEntailment")
    others = [system for system in args.systems if system != "model2vec" or not pairs]
    workers = {system: command[system] for system in ("ours", *others)}
    runs = take_turns(workers, args.rounds, once=["frozen"])
    right = {system: np.array(run[0]["predictions"]) == gold for system, run in runs.items()}
    for system, hits in right.items():
        line = f"{name:15} {system:10} {100 * hits.mean():6.2f} %  {median(runs[system], 'seconds'):7.2f} s"
        if system != "ours":
            gain = paired_bootstrap(right["ours"], hits, resamples=RESAMPLES)
            line += f"  ours {100 * gain.difference:+.2f} ({span(gain.interval)})"
        print(line, flush=True)
    return {
        system: {"seconds": [r["seconds"] for r in run], "right": right[system].astype(int).tolist()}
        for system, run in runs.items()
    }


def written(name: str, data: Path, path: Path, count: int | None, sample: int) -> tuple[Path, Any]:
    """The file of a task's training and test examples, and the labels of the test.

    With a `count`, that many random training examples, and up to 3,000 others in place of the test.
    """
    task = load_task(name, data / "senteval", splits=["all"] if name in ("MR", "CR") else ["train", "test"])

    def examples(split: Any) -> tuple[list[Any], list[str]]:
        rows = split.pairs if task.kind.pairs else split.sentences[0]
        return list(rows), [str(label) for label in split.labels]

    if name in ("MR", "CR"):
        rows, labels = examples(task["all"])
        train = [i for i in range(len(rows)) if i % 5]
        content = {"train": [rows[i] for i in train], "labels": [labels[i] for i in train], "test": rows[::5]}
        gold = labels[::5]
    else:
        rows, labels = examples(task["train"])
        test, gold = examples(task["test"])
        content = {"train": rows, "labels": labels, "test": test}
    if count is not None:
        order = np.random.default_rng(sample).permutation(len(content["train"]))
        train, test = order[:count], order[count : count + 3000]
        rows, labels = content["train"], content["labels"]
        content = {
            "train": [rows[i] for i in train],
            "labels": [labels[i] for i in train],
            "test": [rows[i] for i in test],
        }
        gold = [labels[i] for i in test]
    path.write_text(json.dumps(content), encoding="utf-8")
    return path, np.array(gold)


def report(results: dict[str, Any], samples: int) -> None:
    """Differences of the macro averages.

    Their intervals resample the test examples of each task; with several samples, they are those of the mean
    over samples, by Student's t.
    """
    for system in ("frozen", "model2vec"):
        tasks = [name for name, of in results.items() if system in of]
        if not tasks:
            continue
        gains, seconds = [], []
        random = np.random.default_rng(1111)
        for name in tasks:
            of = results[name]
            gain = np.subtract(of["ours"]["right"], of[system]["right"], dtype=np.float64)
            draws = [gain[random.integers(0, len(gain), len(gain))].mean() for _ in range(RESAMPLES)]
            gains.append([gain.mean(), *draws])
            seconds.append([np.median(of[s]["seconds"]) for s in (system, "ours")])
        mean = 100 * np.mean(gains, axis=0)
        low, high = np.percentile(mean[1:], [2.5, 97.5])
        if samples > 1:
            of_samples = 100 * np.reshape([gain[0] for gain in gains], (-1, samples)).mean(axis=0)
            low, high = stats.t.interval(0.95, samples - 1, of_samples.mean(), stats.sem(of_samples))
        total, mine = np.sum(seconds, axis=0)
        print(f"\nmacro average of {len(tasks) // samples} tasks:", end=" ")
        print(f"ours {mean[0]:+.2f} points to {system} ({low:.2f} to {high:.2f}) {verdict(low, 0)}")
        ratios = ", ".join(f"{n} {a / b:.1f}" for n, (a, b) in zip(tasks, seconds, strict=True))
        print(f"time of {system} / ours {total / mine:.1f}: {ratios}", end=" ")
        print(verdict(total / mine, FASTER) if system == "model2vec" else "")


def span(interval: Any) -> str:
    return f"{100 * interval.low:.2f} to {100 * interval.high:.2f}"


if __name__ == "__main__":
    main()
