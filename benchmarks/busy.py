"""Processor time on a busy machine, compared with the same work on an idle machine.

Waiting threads that spin take processor time from the threads they wait for. Each piece of work runs in its
own process, alone and together with one endless loop per processor. It runs again with torch imported before
Sentencode, so that waiting threads spin, as torch's default is. The cost of our way of waiting on an idle
machine is reported too, in seconds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from common import arguments_of, data_argument, machine, processors, verdict, write_json

BUSY = 1.3  # times the processor time alone, at most
IDLE = 1.05  # times the seconds with torch's own way of waiting, at most
WAYS: dict[str, list[str]] = {"ours": [], "torch first": ["--torch-first"]}
WORDS = [f"w{i}" for i in range(4000)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    parser.add_argument("--only", nargs="*", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--steps", type=int, default=100, help="of training")
    parser.add_argument("--child", choices=list(WORKS), help=argparse.SUPPRESS)
    parser.add_argument("--torch-first", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.torch_first:
        importlib.import_module("torch")
    if args.child:
        print(json.dumps(measured(WORKS[args.child](args))))
        return

    runs: list[dict[str, Any]] = []
    for i in range(args.rounds):
        for work in args.only:
            for way, more in WAYS.items():
                for loops in (0, processors()):
                    print(
                        f"round {i + 1} of {args.rounds}: {work}, {way}, {loops} endless loops",
                        file=sys.stderr,
                    )
                    options = ["--data", args.data, "--steps", args.steps, "--child", work]
                    command = [sys.executable, __file__, *map(str, options), *more]
                    with endless_loops(loops):
                        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                    measurement = json.loads(done.stdout.splitlines()[-1])
                    runs.append({"work": work, "way": way, "loops": loops, **measurement})

    def median(figure: str, *which: object) -> float:
        names = ("work", "way", "loops")
        return statistics.median(r[figure] for r in runs if tuple(r[name] for name in names) == which)

    print(machine())
    print(f"medians of {args.rounds} rounds; busy: {processors()} endless loops\n")
    print(f"{'processor time in seconds':28} {'alone':>7} {'busy':>7} {'ratio':>6}")
    for work in args.only:
        for way in WAYS:
            alone, busy = (median("processor", work, way, n) for n in (0, processors()))
            aim = verdict(busy / alone, BUSY, at_least=False) if way == "ours" else ""
            print(f"{work + ', ' + way:28} {alone:7.2f} {busy:7.2f} {busy / alone:6.2f} {aim}".rstrip())
    print(f"\n{'seconds alone':28} {'ours':>7} {'torch':>7} {'ratio':>6}")
    for work in args.only:
        ours, theirs = (median("seconds", work, way, 0) for way in WAYS)
        aim = verdict(ours / theirs, IDLE, at_least=False)
        print(f"{work:28} {ours:7.2f} {theirs:7.2f} {ours / theirs:6.2f} {aim}")
    write_json(args.json, runs=runs)


@contextmanager
def endless_loops(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measured(work: Callable[[], object]) -> dict[str, float]:
    begin, processor_begin = time.perf_counter(), time.process_time()
    work()
    return {"seconds": time.perf_counter() - begin, "processor": time.process_time() - processor_begin}


# Each prepares its data and returns the function to measure.


def random_sentences(count: int, longest: int = 16) -> list[str]:
    random = np.random.default_rng(1)
    return [" ".join(random.choice(WORDS, random.integers(4, longest))) for _ in range(count)]


def random_vectors(dim: int) -> Any:
    import sentencode as se

    rows = np.random.default_rng(0).standard_normal((len(WORDS), dim), dtype=np.float32)
    return se.WordVectors.from_array(WORDS, rows)


def training(args: argparse.Namespace) -> Callable[[], object]:
    """Steps of a small network."""
    from sentencode.models import MeanMaxNetwork
    from sentencode.training import Batcher, Examples, Trainer

    sentences = random_sentences(5000)
    from sentencode import Vocabulary

    examples = Examples.build(sentences, Vocabulary(dict.fromkeys(WORDS, 1)), end="</s>")
    network = MeanMaxNetwork(
        words=examples.vocabulary_size() + 1,
        features=100,
        begin=examples.vocabulary_size(),
        end=examples.symbols()["</s>"],
        hidden=128,
        heads=4,
    )

    def steps(count: int) -> object:
        return Trainer(network, Batcher(examples), max_steps=count).run(show_progress_bar=False)

    steps(3)
    return lambda: steps(args.steps)


def evaluation(args: argparse.Namespace) -> Callable[[], object]:
    """TREC's classifiers, by the default protocol."""
    import sentencode as se
    from sentencode._extras import require_nn

    require_nn()  # torch is loaded before the measurement
    encoder = se.Average(se.WordVectors.default())
    return lambda: se.evaluate(encoder, "TREC", args.data / "senteval", cache=False)


def encoding(args: argparse.Namespace) -> Callable[[], object]:
    """Embeddings of a network."""
    import sentencode as se

    encoder = se.MeanMaxAAE(
        random_vectors(100), hidden=128, heads=4, max_steps=2, validate_every=None, device="cpu"
    ).fit(random_sentences(200))
    sentences = random_sentences(10_000)
    return lambda: encoder.encode(sentences)


def linear(args: argparse.Namespace) -> Callable[[], object]:
    """SIF, fitted and used."""
    import sentencode as se

    vectors, sentences = random_vectors(300), random_sentences(50_000)
    return lambda: [se.SIF(vectors).fit(sentences).encode(sentences) for _ in range(5)]


def laes(args: argparse.Namespace) -> Callable[[], object]:
    """LAES, fitted and used."""
    import sentencode as se

    vectors, sentences = random_vectors(100), random_sentences(2000)
    return lambda: se.LAES(vectors, hidden=100).fit(sentences).encode(sentences)


WORKS = {work.__name__: work for work in (training, evaluation, encoding, linear, laes)}

if __name__ == "__main__":
    main()
