"""Time and memory of the loss over all words, forward and backward, compared with the naive composition.

The composition is `cross_entropy(linear(h, W, b), targets)`. Each measurement is a process. Memory is the
increase of the process's peak (VmHWM), including gradients, with the inputs allocated and after a warm-up on
a few rows. Losses and gradients are compared first.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from common import Contestants, Result, arguments_of, machine, median, memory, processors, verdict, write_json

MEMORY = 0.25  # maximum, as a fraction of the naive composition


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments_of(parser, rounds=5)
    contestants = Contestants(__file__, naive, ours)
    contestants.argument(parser)
    parser.add_argument("--rows", type=int, default=64 * 20)
    parser.add_argument("--features", type=int, nargs="+", default=[300, 512])
    parser.add_argument("--words", type=int, default=20000)
    parser.add_argument("--smoothing", type=float, default=0.1)
    parser.add_argument("--autocast", action="store_true", help="products in bfloat16")
    parser.add_argument("--threads", type=int, default=processors())
    parser.add_argument("--chunk-rows", type=int, default=0, help="of ours; 0: as it chooses")
    args = parser.parse_args()
    if contestants.run_child(args):
        return

    print(f"{machine()}\n{args.threads} threads, medians of {args.rounds} processes\n")
    for features in args.features:
        case: list[Any] = [
            args.rows,
            features,
            args.words,
            args.smoothing,
            args.autocast,
            args.threads,
            args.chunk_rows,
        ]
        agree(case)
        theirs, mine = contestants.measure(args.rounds, ["naive", case], ["ours", case])
        print(f"{args.rows} rows of {features}, {args.words} words:")
        for name, results in (("naive", theirs), ("ours", mine)):
            print(
                f"  {name:6} {median(results, 'seconds'):7.3f} s {median(results, 'mebibytes'):7.0f} MiB "
                f"(of these gradients {results[0]['gradients']:.0f})"
            )
        speed = median(theirs, "seconds") / median(mine, "seconds")
        memory = median(mine, "mebibytes") / median(theirs, "mebibytes")
        share = median(mine, "product_seconds") / median(mine, "seconds")
        print(f"  speed {speed:.2f} x, bare products {share:.0%} of our time")
        print(f"  memory {memory:.3f} of the naive {verdict(memory, MEMORY, at_least=False)}\n")
    write_json(args.json, results=contestants.everything)


def ours(case: list[Any]) -> Result:
    return measured(case, our_loss)


def naive(case: list[Any]) -> Result:
    return measured(case, naive_loss)


def our_loss(h: Any, weight: Any, bias: Any, targets: Any, smoothing: float, chunk_rows: int) -> Any:
    from sentencode.nn import softmax_loss

    return softmax_loss(h, weight, targets, bias, label_smoothing=smoothing, chunk_rows=chunk_rows).loss


def naive_loss(h: Any, weight: Any, bias: Any, targets: Any, smoothing: float, _: int) -> Any:
    from torch.nn.functional import cross_entropy, linear

    return cross_entropy(linear(h, weight, bias), targets, label_smoothing=smoothing)


def inputs(rows: int, features: int, words: int) -> list[Any]:
    import torch

    generator = torch.Generator().manual_seed(1)
    h = torch.randn(rows, features, generator=generator)
    weight = torch.randn(words, features, generator=generator) * features**-0.5
    bias = torch.randn(words, generator=generator)
    targets = torch.randint(words, (rows,), generator=generator)
    return [t.requires_grad_() for t in (h, weight, bias)] + [targets]


def step(loss: Any, tensors: list[Any], smoothing: float, autocast: bool, chunk_rows: int) -> Any:
    import torch

    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        value = loss(*tensors, smoothing, chunk_rows)
    value.backward()
    return value.detach()


def measured(case: list[Any], loss: Any) -> Result:
    import torch

    rows, features, words, smoothing, autocast, threads, chunk_rows = case
    torch.set_num_threads(threads)
    step(loss, inputs(8, features, 100), smoothing, autocast, 0)
    tensors = inputs(rows, features, words)
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    step(loss, tensors, smoothing, autocast, chunk_rows)
    peak = memory("VmHWM") - before
    gradients = sum(t.numel() * 4 for t in tensors[:3]) / 2**20

    def timed(work: Any) -> float:
        times = []
        for _ in range(5):
            for tensor in tensors[:3]:
                tensor.grad = None
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
        return sorted(times)[2]

    seconds = timed(lambda: step(loss, tensors, smoothing, autocast, chunk_rows))
    dtype = torch.bfloat16 if autocast else torch.float32
    h, weight = (t.detach().to(dtype) for t in tensors[:2])
    logits = torch.empty(rows, words, dtype=dtype)

    def products() -> None:
        torch.mm(h, weight.T, out=logits)
        logits @ weight
        logits.T @ h

    return {
        "seconds": seconds,
        "mebibytes": peak,
        "gradients": gradients,
        "product_seconds": timed(products),
    }


def agree(case: list[Any]) -> None:
    """Fails where the two sides differ."""
    import torch

    rows, features, words, smoothing, autocast, threads, chunk_rows = case
    torch.set_num_threads(threads)
    results = []
    for loss in (naive_loss, our_loss):
        tensors = inputs(min(rows, 256), features, words)
        value = step(loss, tensors, smoothing, autocast, min(chunk_rows, 100))
        results.append([value, *(t.grad for t in tensors[:3])])
    most = 0.02 if autocast else 1e-4
    for a, b in zip(*results, strict=True):
        apart = ((a - b).norm() / a.norm()).item()
        if not apart < most:
            raise SystemExit(f"the two losses or their gradients differ by {apart:.1e}")


if __name__ == "__main__":
    main()
