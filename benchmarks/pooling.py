"""Generalized pooling (paper 002), forward and backward: time, and the most memory that a step takes, against
the composition in eager PyTorch on padded batches.

Sentences are SNLI's (dev), in random order, premises and hypotheses in batches of their own; what is pooled
is random vectors of their lengths. The floor is our matrix products alone, by whichever of torch's libraries
is faster here, on the words alone; beside it those of the composition.

Every measurement is a process of its own, and both take turns. Memory is how far the process's peak (VmHWM)
rises in the largest batch above what it held before, with the inputs in place and the kernels warmed up on a
few words; the gradients are within. Results and gradients are compared first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import (
    Contestants,
    Result,
    arguments_of,
    data_argument,
    machine,
    median,
    processors,
    verdict,
    write_json,
)

SPEED, MEMORY = 3.0, 1 / 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=5)
    contestants = Contestants(__file__, eager, ours)
    contestants.argument(parser)
    parser.add_argument("--features", type=int, default=600, help="of the vectors: both directions")
    parser.add_argument("--hidden", type=int, nargs="+", default=[300, 600])
    parser.add_argument("--heads", type=int, default=5)
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 64], help="sentences")
    parser.add_argument("--batches", type=int, default=12, help="that a time is the sum of")
    parser.add_argument("--scores", nargs="+", default=["vector", "scalar"], choices=["vector", "scalar"])
    parser.add_argument("--threads", type=int, default=processors())
    given = parser.parse_args()
    if contestants.run_child(given):
        return
    contestants.options = ["--data", given.data]

    print(f"{machine()}\n{given.threads} threads, medians of {given.rounds} processes\n")
    for scores in given.scores:
        for hidden in given.hidden:
            for batch in given.batch:
                case: dict[str, Any] = {
                    **{name: getattr(given, name) for name in ("features", "heads", "batches", "threads")},
                    **{"scores": scores, "hidden": hidden, "batch": batch},
                    "lengths": str(given.data / "senteval" / "downstream" / "SNLI"),
                }
                filled = agree(case)
                theirs, mine = contestants.measure(given.rounds, ["eager", case], ["ours", case])
                print(
                    f"{scores} scores, hidden {hidden}, {batch} sentences, {filled:.0%} of the places words:"
                )
                for name, runs in (("eager", theirs), ("ours", mine)):
                    share = median(runs, "product_seconds") / median(runs, "seconds")
                    milliseconds = 1e3 * median(runs, "seconds") / given.batches
                    print(
                        f"  {name:5} {milliseconds:7.2f} ms a batch, bare products {share:4.0%} of it; "
                        f"{median(runs, 'mebibytes'):6.1f} MiB "
                        f"(of these gradients {runs[0]['gradients']:.1f})"
                    )
                speed = median(theirs, "seconds") / median(mine, "seconds")
                floor = median(theirs, "seconds") / median(mine, "product_seconds")
                memory = median(mine, "mebibytes") / median(theirs, "mebibytes")
                print(f"  speed {speed:.2f} x {verdict(speed, SPEED)}; with our products alone {floor:.2f} x")
                beside = [median(runs, "mebibytes") - runs[0]["gradients"] for runs in (mine, theirs)]
                print(
                    f"  memory {memory:.2f} of the eager {verdict(memory, MEMORY, at_least=False)}; "
                    f"without gradients {beside[0] / beside[1]:.2f}\n"
                )
    write_json(given.json, results=contestants.everything)


def ours(case: dict[str, Any]) -> Result:
    return measured(case, our_pooling, words_alone=True)


def eager(case: dict[str, Any]) -> Result:
    return measured(case, eager_pooling, words_alone=False)


def our_pooling(pooling: Any, h: Any, lengths: Any) -> Any:
    return pooling(h, lengths)


def eager_pooling(pooling: Any, h: Any, lengths: Any) -> Any:
    """Equations 5 and 6, as one would write them."""
    import torch
    from torch.nn.functional import linear

    batch, time, features = h.shape
    heads, w2 = pooling.heads, pooling.score.weight
    z = torch.relu(linear(h, pooling.hidden.weight, pooling.hidden.bias))  # [B, T, I d_a]
    padding = torch.arange(time) >= lengths[:, None]  # [B, T]
    if pooling.scores == "scalar":
        a = linear(z, w2).masked_fill(padding[:, :, None], -float("inf")).softmax(1)  # [B, T, I]
        return (a.transpose(1, 2) @ h).flatten(1)  # [B, I d]
    of_head = z.view(batch * time, heads, -1).transpose(0, 1)  # [I, B T, d_a]
    s = torch.bmm(of_head, w2.view(heads, features, -1).transpose(1, 2)).view(heads, batch, time, -1)
    a = s.masked_fill(padding[None, :, :, None], -float("inf")).softmax(2)  # [I, B, T, d]
    return (a * h).sum(2).transpose(0, 1).flatten(1)  # [B, I d]


def batches_of(case: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Vectors and lengths of some batches."""
    import torch

    generator = torch.Generator().manual_seed(1)
    found = []
    for name in ("s1.dev", "s2.dev"):
        text = (Path(case["lengths"]) / name).read_text(encoding="utf-8").splitlines()
        sizes = torch.tensor([len(line.split()) for line in text])
        sizes = sizes[torch.randperm(len(sizes), generator=generator)]
        for lengths in sizes.split(case["batch"])[: case["batches"] // 2]:
            shape = (len(lengths), int(lengths.max()), case["features"])
            found.append((torch.randn(shape, generator=generator).requires_grad_(), lengths))
    return found


def pooling_of(case: dict[str, Any]) -> Any:
    import torch

    from sentencode.nn import AttentionPooling

    torch.manual_seed(1)
    pooling = AttentionPooling(case["features"], case["hidden"], case["heads"], scores=case["scores"])
    pooling.heads, pooling.scores = case["heads"], case["scores"]
    return pooling


def step(pool: Callable[..., Any], pooling: Any, h: Any, lengths: Any) -> None:
    h.grad = None
    pooling.zero_grad()
    out = pool(pooling, h, lengths)
    out.backward(out.detach())


def measured(case: dict[str, Any], pool: Callable[..., Any], words_alone: bool) -> Result:
    import torch

    torch.set_num_threads(case["threads"])
    batches, pooling = batches_of(case), pooling_of(case)
    largest = max(batches, key=lambda batch: batch[0].numel())
    # So many words that every library is asked: oneDNN's own programs are then there.
    step(pool, pooling, torch.randn(10, 16, case["features"]).requires_grad_(), torch.full((10,), 16))
    pooling.zero_grad()
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    step(pool, pooling, *largest)
    peak = memory("VmHWM") - before
    gradients = sum(t.grad.numel() * 4 for t in (largest[0], *pooling.parameters())) / 2**20

    def timed(work: Callable[[], None]) -> float:
        times = []
        work()
        for _ in range(5):
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
        return sorted(times)[2]

    def steps() -> None:
        for batch in batches:
            step(pool, pooling, *batch)

    seconds = timed(steps)
    rows = [int(lengths.sum()) if words_alone else h.shape[0] * h.shape[1] for h, lengths in batches]
    libraries = [torch_product, onednn_product] if words_alone else [torch_product]
    floor = min(timed(products(case, rows, product, 2 if words_alone else 1)) for product in libraries)
    return {"seconds": seconds, "mebibytes": peak, "gradients": gradients, "product_seconds": floor}


def torch_product(x: Any, w: Any) -> Any:
    return x @ w.T


def onednn_product(x: Any, w: Any) -> Any:
    import torch

    return torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], "")


def products(case: dict[str, Any], rows: list[int], product: Any, scored: int) -> Callable[[], None]:
    """What a step multiplies: the scores `scored` times."""
    import torch

    scalar = case["scores"] == "scalar"
    heads, hidden, d = case["heads"], case["hidden"], case["features"]
    groups, scores = (1, heads) if scalar else (heads, d)
    w1, w2 = torch.randn(groups * hidden, d), torch.randn(scores, hidden)
    h, z = torch.randn(max(rows), d), torch.randn(max(rows), groups * hidden)
    s, of_head = torch.randn(max(rows), scores), torch.randn(max(rows), hidden)

    def work() -> None:
        with torch.no_grad():
            for n in rows:
                product(h[:n], w1)  # z
                for _ in range(groups):
                    for _ in range(scored):
                        product(of_head[:n], w2)  # s
                    product(s[:n], w2.T)  # gradient of z
                    product(s[:n].T.contiguous(), of_head[:n].T)  # of W2
                product(z[:n], w1.T)  # of h
                product(z[:n].T.contiguous(), h[:n].T)  # of W1

    return work


def memory(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def agree(case: dict[str, Any]) -> float:
    """Fails where the two sides differ. The share of a batch's places that are words."""
    batches, pooling = batches_of({**case, "batches": 2}), pooling_of(case)
    for h, lengths in batches:
        results = []
        for pool in (our_pooling, eager_pooling):
            step(pool, pooling, h, lengths)
            results.append(
                [pool(pooling, h, lengths).detach(), h.grad, *(p.grad for p in pooling.parameters())]
            )
        for mine, theirs in zip(*results, strict=True):
            # As a whole: a ReLU that is all but zero may be zero for one side.
            apart = float((mine - theirs).norm() / theirs.norm())
            assert apart < 1e-3, f"they differ by {apart:.2g}"
    everything = batches_of(case)
    return sum(int(n.sum()) for _, n in everything) / sum(h.shape[0] * h.shape[1] for h, _ in everything)


if __name__ == "__main__":
    main()
