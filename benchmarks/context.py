"""RNN-CNN of paper 001, in training and in encoding.

Training steps on ordered text (forward, backward, clipping, Adam): the decoder that predicts 30 words at
once, against skip-thoughts with embeddings of the same width, and against an eager PyTorch version
(benchmarks/eager: packed GRU, all logits at once) on the same batches and on random ones, padded to the
longest. "Bare products" is the fraction of the time that the step's matrix products take alone.

Encoding: the bidirectional encoder over word vectors of real sentences, in the batches of our encoders,
against torch's GRU, packed and padded, on batches of 64 in the text's order and on our batches. Batching is
included.

Skip-thoughts reads sentences of at most 30 words that have both neighbours, unlike RNN-CNN.

All are measured in turns, in one process each.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    BUILD,
    Contestants,
    Result,
    arguments_of,
    best_seconds,
    data_argument,
    forward_seconds,
    machine,
    median,
    processors,
    sentences_of,
    spread,
    verdict,
    write_json,
)
from steps import eager_steps, our_steps

FEATURES, PREDICT, CHANNELS, INNER, WINDOW = 300, 30, 600, 300, 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    contestants = Contestants(__file__, ours, eager, encoding)
    contestants.argument(parser)
    parser.add_argument("--sentences", type=int, default=50_000, help="of books")
    parser.add_argument("--encoded", type=int, default=5_000)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--hidden", type=int, default=300, help="of each direction")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", type=int, default=processors())
    args = parser.parse_args()
    if contestants.run_child(args):
        return
    contestants.options = ["--data", args.data]

    text = sentences_of(args.data / "text" / "books.train.txt.xz", args.sentences)
    paths = {
        kind: str(BUILD / "data" / f"{text.stem}-{args.words}-{kind}.examples") for kind in ("words", "both")
    }
    prepare(text, args.words, paths)
    case: dict[str, Any] = {
        "path": paths["words"],
        "model": "ContextNetwork",
        "decoder": "cnn",
        "mode": "equal_length",
        **{name: getattr(args, name) for name in ("hidden", "batch", "steps", "threads")},
    }
    skip = {**case, "path": paths["both"], "model": "SkipThoughtsNetwork"}
    encoded: dict[str, Any] = {
        **{"path": paths["words"], "hidden": args.hidden, "threads": args.threads},
        "sentences": args.encoded,
    }
    training = {
        "ours": ["ours", case],
        "ours, rnn": ["ours", {**case, "decoder": "rnn"}],
        "ours, autoregressive cnn": ["ours", {**case, "decoder": "autoregressive_cnn"}],
        "ours, autoregressive rnn": ["ours", {**case, "decoder": "autoregressive_rnn"}],
        "skip-thoughts": ["ours", skip],
        "skip-thoughts, tied": ["ours", {**skip, "tied": True}],
        "eager, our batches": ["eager", case],
        "eager, random batches": ["eager", {**case, "mode": "plain"}],
    }
    cases = {
        **training,
        **{
            f"encode: {how}": ["encoding", {**encoded, "how": how}]
            for how in ("ours", "packed", "padded", "packed, our batches", "padded, our batches")
        },
    }
    print(f"{machine()}\n{args.threads} threads, medians of {args.rounds} processes\n")
    results: dict[str, list[Result]] = {name: [] for name in cases}
    for _ in range(args.rounds):
        for name, turn in cases.items():
            results[name] += contestants.measure(1, turn)[0]
    for name, runs in results.items():
        share = f", bare products {median(runs, 'products'):.0%}" if "products" in runs[0] else ""
        print(f"{name:26} {median(runs, 'rate'):8.1f} sentences/s ({spread(runs, 'rate')}){share}")

    def ratio(a: str, b: str) -> float:
        """Median ratio of consecutive turns."""
        turns = zip(results[a], results[b], strict=True)
        return float(np.median([x["rate"] / y["rate"] for x, y in turns]))

    print()
    for one, other, target in [
        ("ours", "skip-thoughts", 3.0),
        ("ours", "eager, our batches", 1.2),
        ("ours", "eager, random batches", None),
        ("encode: ours", "encode: packed", 1.5),
        ("encode: ours", "encode: padded", 2.0),
        ("encode: ours", "encode: packed, our batches", None),
        ("encode: ours", "encode: padded, our batches", None),
    ]:
        median_ratio = ratio(one, other)
        met = verdict(median_ratio, target) if target else ""
        print(f"{one} compared with {other}: {median_ratio:.2f} {met}")
    floor = median(results["ours"], "products")
    print(f"bare products in a step of ours: {floor:.0%} {verdict(floor, 0.85)}")
    write_json(args.json, results=contestants.everything)


def prepare(text: Path, words: int, paths: dict[str, str]) -> None:
    """Build examples of sentences with following words, and with both neighbours."""
    from sentencode import Tokenizer, Vocabulary
    from sentencode.training import Examples

    tokenizer = Tokenizer("words", lowercase=True)
    vocabulary = Vocabulary(dict(Vocabulary.from_corpus(text, tokenizer)), max_size=words - 3)
    Examples.build(text, vocabulary, tokenizer, path=paths["words"], following_words=PREDICT, max_length=64)
    end = {"tokens": None, "previous": "</s>", "next": "</s>"}
    options = {"neighbours": {"previous": -1, "next": 1}, "end": end, "max_length": 30}
    Examples.build(text, vocabulary, tokenizer, path=paths["both"], **options)


def sizes_of(case: dict[str, Any], examples: Any) -> dict[str, Any]:
    words = examples.vocabulary_size()
    sizes = {"words": words + 2, "features": FEATURES, "begin": words, "end": words + 1}
    if case["model"] == "SkipThoughtsNetwork":
        tied = {"tied": bool(case.get("tied"))}
        return {**sizes, **tied, "hidden": 4 * case["hidden"]}  # as wide as [mean; max] of two directions
    return {**sizes, "hidden": case["hidden"], "decoder": case["decoder"]}


def ours(case: dict[str, Any]) -> Result:
    import torch

    from sentencode import models
    from sentencode.training import Batcher, Examples

    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    examples = Examples.open(case["path"])
    network = getattr(models, case["model"])(**sizes_of(case, examples))
    timing = our_steps(
        network,
        Batcher(examples, batch_size=case["batch"], mode=case["mode"], seed=1),
        warm=2,
        steps=case["steps"],
        learning_rate=5e-4,
        clip_norm=5.0,
    )
    result: Result = {"rate": timing.examples / timing.seconds}
    if case["model"] == "ContextNetwork" and case["decoder"] == "cnn":
        length = float(np.diff(examples.core.offsets("tokens")).mean())
        bare = product_seconds(case, examples.vocabulary_size() + 2, round(length))
        result["products"] = bare * case["steps"] / timing.seconds
    return result


def eager(case: dict[str, Any]) -> Result:
    import torch
    from eager.context import Context

    from sentencode.training import Batcher, Examples

    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    examples = Examples.open(case["path"])
    network = Context(**sizes_of(case, examples))

    def loss_of(batch: Any) -> tuple[Any, int]:
        fields = []
        for name in ("tokens", "following"):
            fields += [torch.from_numpy(batch.ids[name]), torch.from_numpy(batch.lengths[name])]
        return network.loss(*fields)

    batches = Batcher(examples, batch_size=case["batch"], mode=case["mode"], seed=1)
    parameters = network.parameters()
    timing = eager_steps(parameters, batches, loss_of, warm=2, steps=case["steps"], clip_norm=5.0, lr=5e-4)
    return {"rate": timing.examples / timing.seconds}


def product_seconds(case: dict[str, Any], words: int, length: int) -> float:
    """Seconds of the matrix products of one step: each once forward, and twice backward."""
    batch, hidden = case["batch"], case["hidden"]
    predicted = batch * PREDICT
    shapes = [
        *[(batch * length, FEATURES, 3 * hidden)] * 2,  # gates from words, both directions
        *[(batch, hidden, 3 * hidden)] * 2 * length,  # gates from states
        (batch, 4 * hidden, PREDICT * CHANNELS),
        (predicted, WINDOW * CHANNELS, INNER),
        (predicted, WINDOW * INNER, FEATURES),
        (predicted, FEATURES, words),
    ]
    return 3 * sum(shapes.count(shape) * forward_seconds(*shape) for shape in set(shapes))


def encoding(case: dict[str, Any]) -> Result:
    """Encode random word vectors, since the speed does not depend on them."""
    import torch
    from eager.context import Context
    from torch.nn.utils.rnn import pad_sequence

    from sentencode.models import ContextNetwork
    from sentencode.training import Examples

    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    examples = Examples.open(case["path"])
    table = torch.randn(examples.vocabulary_size(), FEATURES) * 0.4
    sizes = {"words": 5, "features": FEATURES, "hidden": case["hidden"], "channels": 4, "inner": 4}
    network = ContextNetwork(**sizes).eval()
    peer = Context(**sizes).eval()
    peer.encoder.load_state_dict(network.encoder.state_dict())
    sentences = [torch.from_numpy(examples[i]["tokens"].astype(np.int64)) for i in range(case["sentences"])]

    def encode(part: list[Any]) -> Any:
        lengths = torch.tensor([len(ids) for ids in part])
        x = pad_sequence([table[ids] for ids in part], batch_first=True)
        if case["how"] == "ours":
            return network.encode(x, lengths)
        if case["how"].startswith("packed"):
            return peer.encode(x, lengths)
        h = peer.encoder(x)[0]  # includes padding, like a batch of equal lengths
        return torch.cat([h.mean(1), h.amax(1)], 1)

    batches = in_order if case["how"] in ("packed", "padded") else by_length
    with torch.inference_mode():
        for batch in batches(sentences)[:5]:
            encode(batch)
        seconds = best_seconds(lambda: [encode(batch) for batch in batches(sentences)])
    return {"rate": len(sentences) / seconds}


def in_order(sentences: list[Any]) -> list[list[Any]]:
    return [sentences[i : i + 64] for i in range(0, len(sentences), 64)]


def by_length(sentences: list[Any], tokens: int = 4096) -> list[list[Any]]:
    """Batches of `NeuralEncoder`: longest sentences first, limited by tokens."""
    batches: list[list[Any]] = [[]]
    for ids in sorted(sentences, key=len, reverse=True):
        if batches[-1] and (len(batches[-1]) + 1) * len(batches[-1][0]) > tokens:
            batches.append([])
        batches[-1].append(ids)
    return batches


if __name__ == "__main__":
    main()
