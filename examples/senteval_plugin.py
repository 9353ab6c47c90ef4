"""Scores an encoder with the original SentEval, unchanged, on today's Python and without CUDA.

git clone https://github.com/facebookresearch/SentEval      # and fetch its data as its README says
pip install 'sentencode[nn,eval]'
python examples/senteval_plugin.py SentEval --tasks STS14 CR TREC
python examples/senteval_plugin.py SentEval --encoder sif --fit sentences.txt --vectors glove.6B.300d.txt
"""

from __future__ import annotations

import argparse
import json
import sys

import torch

import sentencode as se


def main() -> None:
    """Runs the tasks and prints one line of JSON for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("senteval", help="where SentEval was cloned")
    parser.add_argument("--data", help="the folder with downstream/ in it (default: data of the clone)")
    parser.add_argument("--vectors", help="word vectors (default: the built-in ones)")
    parser.add_argument("--encoder", choices=["bow", "average", "sif"], default="average")
    parser.add_argument(
        "--fit", help="a text, one sentence a line, that SIF learns from (default: each task's own sentences)"
    )
    parser.add_argument("--tasks", nargs="+", default=["STS14", "CR"])
    parser.add_argument("--kfold", type=int, default=10)
    options = parser.parse_args()

    vectors = se.WordVectors.load(options.vectors) if options.vectors else se.WordVectors.default()
    encoder = {
        "bow": se.Average(vectors),
        "average": se.Average(vectors, a=1e-3),
        "sif": se.SIF(vectors, a=1e-3),
    }[options.encoder]
    if options.fit:
        encoder.fit(options.fit)

    sys.path.insert(0, options.senteval)
    senteval = se.senteval.patch()
    torch.set_num_threads(1)  # its classifiers are small: more threads only wait for each other
    prepare, batcher = se.senteval.plugin(encoder, fit_on_task=not encoder.fitted)
    params = {
        "task_path": options.data or f"{options.senteval}/data",
        "kfold": options.kfold,
        "classifier": {"nhid": 0, "optim": "adam", "batch_size": 64, "tenacity": 5, "epoch_size": 4},
    }
    for task in options.tasks:
        result = senteval.engine.SE(params, batcher, prepare).eval(task)
        result.pop("yhat", None)  # thousands of numbers
        print(json.dumps({task: result}), flush=True)


if __name__ == "__main__":
    main()
