r"""Training steps of MeanMaxAAE, against an eager PyTorch version of the same model in Python.

Both train on the same sentences; forward, backward, clipping and Adam are timed. Ours has batches of one
length and never stores all logits; the peer (benchmarks/eager) has random batches, padded to the longest, and
all logits. Also: the peer with our batches, ours with a sampled softmax, and larger batches with --batch.
"Bare products" is the fraction of the time that the matrix products of a step, forward and backward, take
alone; "of the peak" compares their multiplications with those of one large product of the same type. The
paper's size on a GPU, compared with the paper's speed:

  python benchmarks/train_step.py --hidden 2048 --words 21583 --batch 64 256 1024 --device cuda \
      --autocast bfloat16

With --rows, only dense and sparse gradients (sparse_rows) of word tables of these sizes are compared, with
a sampled softmax:

  python benchmarks/train_step.py --rows 20000 300000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import (
    BUILD,
    Contestants,
    Result,
    arguments_of,
    data_argument,
    machine,
    median,
    processors,
    sentences_of,
    spread,
    unpacked_vectors,
    verdict,
    write_json,
)
from steps import Timing, eager_steps, our_steps

TARGET = 1.5  # times the eager version's sentences a second
PAPER = 1000 * 64 / (3.3 * 60)  # sentences a second: 3.3 minutes for 1,000 batches of 64, 2,048 units


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    contestants = Contestants(__file__, ours, sparse, eager)
    contestants.argument(parser)
    parser.add_argument("--sentences", type=int, default=200_000, help="of books, before selection")
    parser.add_argument("--words", type=int, default=15_000)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--batch", type=int, nargs="+", default=[64], help="sizes; the first one is compared")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--sampled", type=int, default=2_000, help="words of the sampled softmax")
    parser.add_argument("--rows", type=int, nargs="+", help="words of tables with sparse_rows and without")
    parser.add_argument("--threads", type=int, default=processors())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--autocast", choices=["bfloat16"])
    args = parser.parse_args()
    if contestants.run_child(args):
        return
    contestants.options = ["--data", args.data]

    vectors = unpacked_vectors(args.data / "vectors" / "glove.local.300d.f16.npz")
    text = sentences_of(args.data / "text" / "books.train.txt.xz", args.sentences)
    path = BUILD / "data" / f"{text.stem}-{args.words}.examples"
    case: dict[str, Any] = {
        "path": str(path),
        "vectors": str(vectors),
        "hidden": args.hidden,
        "heads": args.heads,
        "batch": args.batch[0],
        "steps": args.steps,
        "threads": args.threads,
        "device": args.device,
        "autocast": args.autocast,
        "sampled": 0,
        "rows": 0,
        "mode": "equal_length",
    }
    prepare(text, vectors, args.words, path)
    print(f"{machine()}, {args.device}\n{args.threads} threads, medians of {args.rounds} processes\n")
    if args.rows:
        compare_gradients(contestants, args, case)
        write_json(args.json, results=contestants.everything)
        return
    cases = {
        "ours": ["ours", case],
        **{f"ours, batches of {size}": ["ours", {**case, "batch": size}] for size in args.batch[1:]},
        "ours, sampled": ["ours", {**case, "sampled": min(args.sampled, args.words)}],
        "eager, random batches": ["eager", {**case, "mode": "plain"}],
        "eager, our batches": ["eager", case],
    }
    results = {}
    for name, turn in cases.items():
        results[name] = contestants.measure(args.rounds, turn)[0]
        runs = results[name]
        print(
            f"{name:22} {median(runs, 'rate'):8.0f} sentences/s ({spread(runs, 'rate')}), "
            f"bare products {median(runs, 'products'):.0%}, of the peak {median(runs, 'peak'):.0%}, "
            f"{median(runs, 'mebibytes'):.0f} MiB at most, loss {runs[0]['loss']:.3f}"
        )
    ratio = median(results["ours"], "rate") / median(results["eager, random batches"], "rate")
    print(f"\nours against eager: {ratio:.2f} {verdict(ratio, TARGET)}")
    if args.hidden == 2048:
        best = max(
            (name for name in results if "sampled" not in name), key=lambda n: median(results[n], "rate")
        )
        for name in dict.fromkeys(("ours", best)):
            times = median(results[name], "rate") / PAPER
            print(f"{name}: {times:.1f} times the {PAPER:.0f} sentences/s that the paper reports")
    write_json(args.json, results=contestants.everything)


def compare_gradients(contestants: Contestants, args: argparse.Namespace, case: dict[str, Any]) -> None:
    """Of tables of some numbers of words, in the softmax of sampled words: dense and sparse."""
    for rows in args.rows:
        table_case = {**case, "sampled": args.sampled, "rows": rows}
        dense, few = contestants.measure(args.rounds, ["ours", table_case], ["sparse", table_case])
        for name, runs in (("dense", dense), ("sparse", few)):
            print(
                f"{rows} rows, {name:6} {median(runs, 'step'):6.0f} ms a step ({spread(runs, 'step')}), "
                f"{median(runs, 'mebibytes'):.0f} MiB at most, loss {runs[0]['loss']:.3f}"
            )
        print(f"dense / sparse: {median(dense, 'step') / median(few, 'step'):.2f}\n")


def prepare(text: Path, vectors: Path, words: int, path: Path) -> None:
    """The sentences as ids, and the words' vectors."""
    import json

    from sentencode import Tokenizer, Vocabulary
    from sentencode.training import Examples

    table = set(json.loads((vectors / "words.json").read_text(encoding="utf-8")))
    tokenizer = Tokenizer("words", lowercase=True)
    seen = Vocabulary.from_corpus(text, tokenizer)
    known = Vocabulary({w: n for w, n in seen.items() if w in table}, max_size=words)
    Examples.build(
        text,
        known,
        tokenizer,
        path=path,
        end="</s>",
        unknown_words="drop_example",
        min_length=4,
        max_length=32,
    )


def options_of(case: dict[str, Any], words: int) -> dict[str, Any]:
    hidden = case["hidden"]
    return {
        "words": max(words + 1, case["rows"]),
        "features": 300,
        "begin": words,
        "end": words - 1,
        "hidden": hidden,
        "inner": 2 * hidden,
        "heads": case["heads"],
        "label_smoothing": 0.0 if case["sampled"] else 0.1,
    }


def rows_of(words: int) -> Any:
    """Vectors of words; which ones they are does not matter to the speed."""
    import torch

    return torch.randn(words, 300, generator=torch.Generator().manual_seed(1)) * 0.4


def ours(case: dict[str, Any]) -> Result:
    import torch

    from sentencode.models import MeanMaxNetwork
    from sentencode.training import Batcher, Examples

    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    examples = Examples.open(case["path"])
    words = examples.vocabulary_size()
    network = MeanMaxNetwork(**options_of(case, words), sampled_words=case["sampled"])
    network.load_words(rows_of(len(network.table.weight)))
    network.to(case["device"])
    timing = our_steps(
        network,
        Batcher(examples, batch_size=case["batch"], mode=case["mode"], seed=1),
        warm=max(2, case["steps"] // 8),
        steps=case["steps"],
        learning_rate=1e-3,
        betas=(0.9, 0.98),
        clip_norm=5.0,
        autocast=case["autocast"],
        sparse_rows=case.get("sparse_rows", False),
    )
    return facts(case, words, timing)


def sparse(case: dict[str, Any]) -> Result:
    return ours({**case, "sparse_rows": True})


def eager(case: dict[str, Any]) -> Result:
    import torch
    from eager.mean_max import MeanMax

    from sentencode.training import Batcher, Examples

    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    examples = Examples.open(case["path"])
    words = examples.vocabulary_size()
    network = MeanMax(**options_of(case, words))
    with torch.no_grad():
        network.table.weight.copy_(rows_of(len(network.table.weight)))
    network.to(case["device"])
    network.train()

    def loss_of(batch: Any) -> tuple[Any, int]:
        ids = torch.from_numpy(batch.ids["tokens"]).to(case["device"])
        lengths = torch.from_numpy(batch.lengths["tokens"]).to(case["device"])
        return network.loss(ids, lengths)[:2]

    timing = eager_steps(
        network.parameters(),
        Batcher(examples, batch_size=case["batch"], mode=case["mode"], seed=1),
        loss_of,
        warm=max(2, case["steps"] // 8),
        steps=case["steps"],
        clip_norm=5.0,
        autocast=lambda: torch.autocast(case["device"], torch.bfloat16, enabled=case["autocast"] is not None),
        lr=1e-3,
        betas=(0.9, 0.98),
    )
    return facts(case, words, timing)


def facts(case: dict[str, Any], words: int, timing: Timing) -> Result:
    import resource

    seconds, tokens = timing.seconds, timing.tokens
    bare = product_seconds(case, words, tokens // case["steps"]) * case["steps"]
    multiplied = sum(inner * outer for inner, outer in shapes_of(case, words))
    return {
        "rate": timing.examples / seconds,
        "step": 1000 * seconds / case["steps"],
        "products": bare / seconds,
        "peak": 3 * 2 * tokens * multiplied / seconds / peak(case),
        "mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "loss": timing.losses[-1],
    }


def shapes_of(case: dict[str, Any], words: int) -> list[tuple[int, int]]:
    """Shapes of the matrices that the state of every word is multiplied by."""
    hidden, outputs = case["hidden"], case["sampled"] or words
    layers = [(300, hidden)] * 6 + [(hidden, 2 * hidden), (2 * hidden, hidden)] * 2 + [(hidden, hidden)]
    return [*layers, (hidden, outputs)]


def peak(case: dict[str, Any]) -> float:
    """Operations a second of one large product."""
    import torch

    size = 2048 if case["device"] == "cpu" else 8192
    dtype = torch.bfloat16 if case["autocast"] else torch.float32
    x = torch.randn(size, size, device=case["device"], dtype=dtype)

    def run() -> None:
        x @ x
        if case["device"] != "cpu":
            torch.cuda.synchronize()

    return 2 * size**3 / best_seconds(run)


def best_seconds(run: Callable[[], None]) -> float:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return float(min(times))


def product_seconds(case: dict[str, Any], words: int, rows: int) -> float:
    """Of the products of one step with so many words: each made forward, and twice backward."""
    import torch

    shapes = shapes_of(case, words)
    device, dtype = case["device"], torch.bfloat16 if case["autocast"] else torch.float32

    def work() -> Callable[[], None]:
        operands = []
        for inner, outer in shapes:
            x = torch.randn(rows, inner, device=device, dtype=dtype)
            w = torch.randn(inner, outer, device=device, dtype=dtype)
            g = torch.randn(rows, outer, device=device, dtype=dtype)
            operands.append((x, w, g))

        def run() -> None:
            for x, w, g in operands:
                x @ w
                g @ w.T
                x.T @ g
            if device != "cpu":
                torch.cuda.synchronize()

        return run

    return best_seconds(work())


if __name__ == "__main__":
    main()
