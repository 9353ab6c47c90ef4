"""All benchmarks, one after the other: what they print and measure lands in build/bench/results.

On a machine that does nothing else: a busy one slows threads that wait for each other far more than those
that do not, so that ratios are wrong too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from common import BUILD, HERE, data_argument, fse, gensim, model2vec, processors

# name: options of a trial run, where small sizes show that everything works, and no figure means anything
ORDER = {
    "import_time": "--rounds 2",
    "gemm": "--rounds 1",
    "parse": "--rounds 1",
    "encode": "--rounds 1 --sentences 50000",
    "laes": "--rounds 1 --dense-sentences 100 --stsb-sentences 100 --sentences 300 --large 200",
    "static_models": "--rounds 1 --sentences 20000",
    "evaluate": "--rounds 1 --quick",
    "batches": "--rounds 1 --sentences 20000",
    "softmax_loss": "--rounds 1 --rows 128 --features 64 --words 1000",
    "pooling": "--rounds 1 --features 32 --hidden 16 --batch 8 --batches 2",
    "train_step": "--rounds 1 --steps 3 --hidden 64 --words 1000 --sentences 20000",
    "busy": "--rounds 1 --steps 3 --only training linear",
    "serve": "--rounds 1 --seconds 0.5 --requests 1000",
    "encode_neural": "--rounds 1 --sentences 500 --hidden 64",
    "context": "--rounds 1 --steps 2 --hidden 16 --words 1000 --sentences 5000 --encoded 200",
    "translation": "--rounds 1 --steps 2 --hidden 16 --decoder-hidden 16 --sentences 2000 --pieces 500 "
    "--trained 20 --translated 20 --encoded 200",
}
WITHOUT_DATA = {"import_time", "gemm", "softmax_loss"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    parser.add_argument("--only", nargs="*", default=list(ORDER), choices=list(ORDER))
    parser.add_argument("--trial", action="store_true", help="small sizes: does everything work?")
    parser.add_argument("--prepare", action="store_true", help="only make the peers' environments")
    parser.add_argument("--out", type=Path, default=BUILD / "results", help="folder of .txt and .json")
    args = parser.parse_args()

    for peer in (gensim, model2vec, fse):
        peer()
    if args.prepare:
        return
    load = os.getloadavg()[0]
    if load > 0.5 * processors() and not args.trial:
        print(f"warning: the load is {load:.1f}; the machine should be idle", file=sys.stderr)
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.only:
        options = ORDER[name].split() if args.trial else []
        if name not in WITHOUT_DATA:
            options += ["--data", str(args.data)]
        print(f"\n== benchmarks/{name}.py\n", flush=True)
        begin = time.perf_counter()
        command = [sys.executable, HERE / f"{name}.py", *options, "--json", args.out / f"{name}.json"]
        text = []
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                text.append(line)
        (args.out / f"{name}.txt").write_text("".join(text), encoding="utf-8")
        if process.returncode != 0:
            raise SystemExit(f"benchmarks/{name}.py failed")
        print(f"\n({time.perf_counter() - begin:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
