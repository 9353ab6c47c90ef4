"""Differences between protocols for the same embeddings, by task, compared with the original SentEval.

Optimum: our default, 10 folds. Liblinear: what SentEval had in 2017 and 2018 without PyTorch, 10 folds.
Senteval-torch: its own classifier by Adam with its own default of 5 folds. The original's figures are those
of docs/results, measured once with the same rows: that harness is not part of this repository. Reports go to
--out, task by task: the same command resumes.

Figures are percent; relatedness is Pearson's correlation x 100 of scores that were learnt.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import data_argument, machine

import sentencode as se

SHOWN = (
    *("MR", "CR", "SST2", "SST5", "TREC", "MRPC"),
    *("SICKEntailment", "SICKRelatedness", "STSBenchmark"),
)
LONGEST = ("SST5", "CR", "SST2", "MR")  # come last
TASKS = (*(task for task in SHOWN if task not in LONGEST), *LONGEST)
PROTOCOLS: dict[str, dict[str, Any]] = {"optimum": {}, "liblinear": {}, "senteval-torch": {"folds": 5}}
COLUMNS = ("optimum", "liblinear", "original, liblinear", "senteval-torch", "original, PyTorch")
# What the original printed, by encoder, protocol and task.
ORIGINAL = {
    ("bow", "liblinear"): {
        **{"CR": 77.27, "TREC": 84.40, "MRPC": 70.78, "SST5": 40.09, "SICKEntailment": 77.17},
    },
    ("bow", "PyTorch"): {
        **{"STSBenchmark": 52.7, "SICKRelatedness": 72.2, "SICKEntailment": 76.0, "MRPC": 71.1},
        **{"TREC": 80.0, "CR": 74.3},
    },
    ("average", "PyTorch"): {
        **{"STSBenchmark": 56.6, "SICKRelatedness": 75.9, "SICKEntailment": 74.1, "MRPC": 69.2},
        **{"TREC": 75.4, "CR": 75.5, "SST5": 41.0},
    },
}


def table(name: str, reports: dict[str, se.evaluation.Report]) -> Iterator[str]:
    header = ["task", *COLUMNS[:4], COLUMNS[4]]
    yield f"| {' | '.join(header)} |"
    yield f"| --- |{' ---: |' * len(COLUMNS)}"
    for task in (task for task in SHOWN if task in reports["optimum"]):
        cells = []
        for column in COLUMNS:
            protocol = column.removeprefix("original, ")
            if protocol != column:
                value = ORIGINAL.get((name, protocol), {}).get(task)
                cells.append("" if value is None else f"{value:.{2 if protocol == 'liblinear' else 1}f}")
            elif task in reports[protocol]:
                (of,) = (row for row in reports[protocol].rows() if row[0] == task)
                half = (
                    "" if of[3] is None or column != "optimum" else f" ± {(of[3].high - of[3].low) / 2:.1f}"
                )
                cells.append(f"{of[2]:.2f}{half}")
            else:
                cells.append("")
        yield f"| {reports['optimum'][task].label} | {' | '.join(cells)} |"


def apart(reports: dict[str, se.evaluation.Report], other: str) -> str:
    ours, theirs = ({row[0]: row[2] for row in reports[name].rows()} for name in ("optimum", other))
    of = {task: ours[task] - theirs[task] for task in ours if task in theirs}
    return f"optimum less {other}: " + ", ".join(f"{task} {value:+.2f}" for task, value in of.items())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    parser.add_argument("--encoder", choices=("bow", "average"), default="bow", help="unweighted, or a=1e-3")
    parser.add_argument("--tasks", nargs="+", default=TASKS, metavar="NAME")
    parser.add_argument("--protocols", nargs="+", default=list(PROTOCOLS), metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("protocols"), help="a folder of reports")
    options = parser.parse_args()
    vectors = se.WordVectors.load(options.data / "vectors/glove.local.300d.f16.npz")
    encoder = se.Average(vectors, a=1e-3) if options.encoder == "average" else se.Average(vectors)
    options.out.mkdir(parents=True, exist_ok=True)
    reports = {}
    for protocol in options.protocols:
        reports[protocol] = se.evaluate(
            encoder,
            options.tasks,
            options.data / "senteval",
            protocol=protocol,
            options=PROTOCOLS[protocol],
            name=options.encoder,
            out=options.out / f"{options.encoder}-{protocol}.json",
            show_progress_bar=True,
        )
    print(machine())
    if "optimum" in reports:
        print("\n".join(table(options.encoder, {name: reports.get(name, {}) for name in PROTOCOLS})))
        print("\n".join(apart(reports, other) for other in reports if other != "optimum"))


if __name__ == "__main__":
    main()
