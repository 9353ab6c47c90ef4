"""Generalized pooling (paper 002) and training steps with it: time and memory, compared with eager PyTorch.

Pooling, forward and backward: `AttentionPooling` on random vectors, with the sentence lengths of SNLI (dev)
in random order, compared with equations 5 and 6 in PyTorch's operators on padded batches. Memory is the
increase of the process's peak (VmHWM) in the largest batch, including gradients, after a warm-up.

Whole steps: lookup of word vectors, bidirectional LSTM, pooling, the classifier of pairs, clipping and Adam,
compared with the same in eager PyTorch (benchmarks/eager: packed LSTM, the composition above), on the same
batches of SNLI's pairs (dev), which are sorted by length inside buffers, and on random ones. Without dropout,
penalty and characters; word vectors are frozen.

Each measurement is a separate process, and both sides take turns. Outputs, gradients and losses are compared
first.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import steps
from common import (
    BUILD,
    Contestants,
    Result,
    arguments_of,
    data_argument,
    machine,
    median,
    memory,
    processors,
    spread,
    verdict,
    write_json,
)

STEP = 1.3  # target: pairs per second, relative to eager
MEMORY = 1 / 3  # target: peak memory of pooling, relative to eager
FEATURES = 300  # of the word vectors


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=5)
    contestants = Contestants(__file__, eager, ours, our_steps, eager_steps)
    contestants.argument(parser)
    parser.add_argument("--features", type=int, default=600, help="dimensions of the states, both directions")
    parser.add_argument("--hidden", type=int, nargs="+", default=[300])
    parser.add_argument("--heads", type=int, default=5)
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 64], help="sentences")
    parser.add_argument("--batches", type=int, default=12, help="measured together")
    parser.add_argument("--scores", nargs="+", default=["vector", "scalar"], choices=["vector", "scalar"])
    parser.add_argument("--layers", type=int, default=1, help="of the LSTM, in whole steps")
    parser.add_argument("--parts", nargs="+", default=["pooling", "steps"], choices=["pooling", "steps"])
    parser.add_argument("--threads", type=int, default=processors())
    args = parser.parse_args()
    if contestants.run_child(args):
        return
    contestants.options = ["--data", args.data]

    print(f"{machine()}\n{args.threads} threads, medians of {args.rounds} processes\n")
    if "pooling" in args.parts:
        for scores, hidden, batch in itertools.product(args.scores, args.hidden, args.batch):
            compare_pooling(contestants, args, scores, hidden, batch)
    if "steps" in args.parts:
        compare_steps(contestants, args)
    write_json(args.json, results=contestants.everything)


# --- pooling ---


def compare_pooling(
    contestants: Contestants, args: argparse.Namespace, scores: str, hidden: int, batch: int
) -> None:
    case: dict[str, Any] = {
        **{name: getattr(args, name) for name in ("features", "heads", "batches", "threads")},
        **{"scores": scores, "hidden": hidden, "batch": batch},
        "lengths": str(args.data / "senteval" / "downstream" / "SNLI"),
    }
    words = check_equal(case)
    theirs, mine = contestants.measure(args.rounds, ["eager", case], ["ours", case])
    print(f"{scores} scores, {hidden} hidden units, {batch} sentences, {words:.0%} of positions are words:")
    for name, runs in (("eager", theirs), ("ours", mine)):
        print(
            f"  {name:5} {1e3 * median(runs, 'seconds') / args.batches:7.2f} ms per batch, "
            f"{median(runs, 'mebibytes'):6.1f} MiB (gradients {runs[0]['gradients']:.1f})"
        )
    share = median(mine, "mebibytes") / median(theirs, "mebibytes")
    print(
        f"  speed {median(theirs, 'seconds') / median(mine, 'seconds'):.2f} x, "
        f"memory {share:.2f} of eager {verdict(share, MEMORY, at_least=False)}\n"
    )


def ours(case: dict[str, Any]) -> Result:
    return measured(case, our_pooling)


def eager(case: dict[str, Any]) -> Result:
    return measured(case, eager_pooling)


def our_pooling(pooling: Any, h: Any, lengths: Any) -> Any:
    return pooling(h, lengths)


def eager_pooling(pooling: Any, h: Any, lengths: Any) -> Any:
    """Equations 5 and 6."""
    import torch
    from torch.nn.functional import linear

    batch, time, features = h.shape
    heads, w2 = pooling.heads, pooling.score.weight
    z = torch.relu(linear(h, pooling.hidden.weight, pooling.hidden.bias))  # [B, T, I d_a]
    padding = torch.arange(time) >= lengths[:, None]  # [B, T]
    if pooling.scores == "scalar":
        a = linear(z, w2).masked_fill(padding[:, :, None], -float("inf")).softmax(1)  # [B, T, I]
        return (a.transpose(1, 2) @ h).flatten(1)  # [B, I d]
    z_heads = z.view(batch * time, heads, -1).transpose(0, 1)  # [I, B T, d_a]
    s = torch.bmm(z_heads, w2.view(heads, features, -1).transpose(1, 2)).view(heads, batch, time, -1)
    a = s.masked_fill(padding[None, :, :, None], -float("inf")).softmax(2)  # [I, B, T, d]
    return (a * h).sum(2).transpose(0, 1).flatten(1)  # [B, I d]


def batches_of(case: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Vectors and lengths of batches."""
    import torch

    generator = torch.Generator().manual_seed(1)
    batches = []
    for name in ("s1.dev", "s2.dev"):
        text = (Path(case["lengths"]) / name).read_text(encoding="utf-8").splitlines()
        sizes = torch.tensor([len(line.split()) for line in text])
        sizes = sizes[torch.randperm(len(sizes), generator=generator)]
        for lengths in sizes.split(case["batch"])[: case["batches"] // 2]:
            shape = (len(lengths), int(lengths.max()), case["features"])
            batches.append((torch.randn(shape, generator=generator).requires_grad_(), lengths))
    return batches


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


def measured(case: dict[str, Any], pool: Callable[..., Any]) -> Result:
    import torch

    torch.set_num_threads(case["threads"])
    batches, pooling = batches_of(case), pooling_of(case)
    largest = max(batches, key=lambda batch: batch[0].numel())
    step(pool, pooling, torch.randn(10, 16, case["features"]).requires_grad_(), torch.full((10,), 16))
    pooling.zero_grad()
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    step(pool, pooling, *largest)
    peak = memory("VmHWM") - before
    gradients = sum(t.grad.numel() * 4 for t in (largest[0], *pooling.parameters())) / 2**20
    times = []
    for _ in range(6):
        begin = time.perf_counter()
        for batch in batches:
            step(pool, pooling, *batch)
        times.append(time.perf_counter() - begin)
    return {"seconds": sorted(times[1:])[2], "mebibytes": peak, "gradients": gradients}


def check_equal(case: dict[str, Any]) -> float:
    """Compares outputs and gradients; returns the fraction of a batch's positions that are words."""
    batches, pooling = batches_of({**case, "batches": 2}), pooling_of(case)
    for h, lengths in batches:
        results = []
        for pool in (our_pooling, eager_pooling):
            step(pool, pooling, h, lengths)
            results.append(
                [pool(pooling, h, lengths).detach(), h.grad, *(p.grad for p in pooling.parameters())]
            )
        for mine, theirs in zip(*results, strict=True):
            error = float((mine - theirs).norm() / theirs.norm())
            assert error < 1e-3, f"the relative error is {error:.2g}"
    everything = batches_of(case)
    return sum(int(n.sum()) for _, n in everything) / sum(h.shape[0] * h.shape[1] for h, _ in everything)


# --- whole steps ---


def compare_steps(contestants: Contestants, args: argparse.Namespace) -> None:
    path = BUILD / "data" / "snli-dev-pairs.examples"
    prepare_pairs(args.data / "senteval" / "downstream" / "SNLI", path)
    for scores in args.scores:
        case: dict[str, Any] = {
            **{name: getattr(args, name) for name in ("features", "heads", "layers", "batches", "threads")},
            **{
                "scores": scores,
                "hidden": args.hidden[0],
                "batch": args.batch[0],
                "path": str(path),
            },
            "mode": "sorted_buffer",
        }
        cases = {
            "ours": ["our_steps", case],
            "eager, our batches": ["eager_steps", case],
            "eager, random batches": ["eager_steps", {**case, "mode": "plain"}],
        }
        results: dict[str, list[Result]] = {name: [] for name in cases}
        for _ in range(args.rounds):
            for name, turn in cases.items():
                results[name] += contestants.measure(1, turn)[0]
        losses = [results[name][0]["losses"] for name in ("ours", "eager, our batches")]
        np.testing.assert_allclose(*losses, rtol=1e-4)
        print(
            f"whole steps, {scores} scores, {args.layers} layers of {args.features // 2} units per direction:"
        )
        for name, runs in results.items():
            print(f"  {name:21} {median(runs, 'rate'):8.1f} pairs/s ({spread(runs, 'rate')})")
        for name in list(cases)[1:]:
            turns = zip(results["ours"], results[name], strict=True)
            ratio = float(np.median([mine["rate"] / theirs["rate"] for mine, theirs in turns]))
            print(f"  ours / {name}: {ratio:.2f} {verdict(ratio, STEP)}")
        print()


def prepare_pairs(folder: Path, path: Path) -> None:
    """Writes SNLI's pairs as ids and classes."""
    from sentencode import Tokenizer, Vocabulary
    from sentencode.training import Examples

    sides = [
        (folder / name).read_text(encoding="utf-8").splitlines()
        for name in ("s1.dev", "s2.dev", "labels.dev")
    ]
    classes = sorted(set(sides[2]))
    tokenizer = Tokenizer("whitespace")
    vocabulary = Vocabulary.from_corpus([*sides[0], *sides[1]], tokenizer)
    pairs = [(one, other, classes.index(label)) for one, other, label in zip(*sides, strict=True)]
    Examples.build(pairs, vocabulary, tokenizer, path=path, fields=("first", "second"), labels="int64")


def batches_of_pairs(case: dict[str, Any]) -> tuple[Any, Any]:
    """Batches and word vectors."""
    import torch

    from sentencode.training import Batcher, Examples

    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    examples = Examples.open(case["path"])
    vectors = 0.4 * torch.randn(examples.vocabulary_size(), FEATURES)
    fields = ("first", "second") if case["mode"] == "sorted_buffer" else None
    batches = Batcher(examples, batch_size=case["batch"], mode=case["mode"], length_fields=fields, seed=1)
    return batches, vectors


def sizes_of(case: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the encoder and of the classifier."""
    network = {
        **{name: case[name] for name in ("heads", "layers")},
        **{"hidden": case["features"] // 2, "attention_hidden": case["hidden"]},
        "pooling": "generalized" if case["scores"] == "vector" else "scalar",
    }
    return network, {"classes": 3, "hidden": case["hidden"]}


def our_modules(case: dict[str, Any]) -> tuple[Any, Any]:
    """The encoder and the classifier."""
    import torch

    from sentencode import models

    torch.manual_seed(2)
    options, sizes = sizes_of(case)
    shared = {"words": 1, "features": FEATURES, "characters": False, "dropout": 0.0, "penalty": "none"}
    network = models.GeneralizedPoolingNetwork(**shared, **options)
    options = {"layers": 2, "shortcuts": True, "activation": "relu", "dropout": 0.0}
    head = {"head": "Classifier", "features": network.dim, "sentences": 2, **sizes, **options}
    return network, models.HeadModule(head)


def our_steps(case: dict[str, Any]) -> Result:
    import torch

    from sentencode.models.supervised import SupervisedModel

    batches, vectors = batches_of_pairs(case)
    network, head = our_modules(case)
    known, ids = torch.ones(len(vectors), dtype=torch.bool), torch.zeros(len(vectors), dtype=torch.int64)
    timing = steps.our_steps(
        SupervisedModel(network, network._cpp, head, (vectors, known, ids, None)),
        batches,
        warm=2,
        steps=case["batches"],
        learning_rate=4e-4,
        clip_norm=10.0,
    )
    return {"rate": timing.examples / timing.seconds, "losses": timing.losses[:2]}


def eager_steps(case: dict[str, Any]) -> Result:
    import torch
    from eager.generalized_pooling import Classifier, GeneralizedPooling

    batches, vectors = batches_of_pairs(case)
    options, sizes = sizes_of(case)
    encoder = GeneralizedPooling(FEATURES, **options)
    classifier = Classifier(4 * case["heads"] * case["features"], **sizes)
    with torch.no_grad():
        for mine, theirs in zip(our_modules(case), (encoder, classifier), strict=True):
            state = mine.state_dict()
            for name, tensor in theirs.core_state().items():
                tensor.copy_(state[name])
    pooling = SimpleNamespace(hidden=encoder.w1, score=encoder.w2, heads=case["heads"], scores=case["scores"])

    def loss_of(batch: Any) -> tuple[Any, int]:
        embeddings = []
        for name in ("first", "second"):
            lengths = torch.from_numpy(batch.lengths[name])
            h, _ = encoder.states(vectors[torch.from_numpy(batch.ids[name])], lengths)
            embeddings.append(eager_pooling(pooling, h, lengths))
        labels = torch.from_numpy(batch.labels)
        return torch.nn.functional.cross_entropy(classifier(*embeddings), labels), 1  # already a mean

    parameters = [*encoder.parameters(), *classifier.parameters()]
    timing = steps.eager_steps(
        parameters, batches, loss_of, warm=2, steps=case["batches"], clip_norm=10.0, lr=4e-4
    )
    return {"rate": timing.examples / timing.seconds, "losses": timing.losses[:2]}


if __name__ == "__main__":
    main()
