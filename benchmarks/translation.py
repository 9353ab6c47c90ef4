"""Compound-attention translation of paper 003: training, translating and encoding.

Multi30k's English and German, in pieces of a joint BPE. The peer is the same model in eager PyTorch
(benchmarks/eager: packed GRU, keys once a batch, cells in a loop, all logits in one product), with the same
weights and the same batches; losses, gradients, translations and vectors are compared first.

Training: whole steps of ATTN and ATTN-ATTN (forward, backward, clipping, Adam) with dropout, in target words
per second. The peer uses torch's fused Adam. "Bare products" is the fraction of the time that the matrix
products of a step take alone.

Translating: beam search of width 5 with ATTN, after some training so that sentences end, on test 2016, sorted
by length, in batches of 64. The peer has two searches: one continues all sentences of a batch until the last
one is finished; in the other, finished sentences leave the batch, as in ours.

Encoding: ATTN-ATTN, compared with the packed and the padded peer, on batches of 64 in the order of the text
and on our batches. Batching is included.

Each measurement is a process; all take turns.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Iterator
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
    spread,
    verdict,
    write_json,
)
from steps import eager_steps, our_steps

TRAIN, TRANSLATE, PACKED, PADDED = 1.3, 2.0, 1.5, 2.0
FIELDS = ("source", "target")
LONGEST, PENALTY = 60, 0.6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=5)
    contestants = Contestants(__file__, ours, eager, translating, encoding)
    contestants.argument(parser)
    parser.add_argument("--sentences", type=int, default=29_000, help="pairs to train on")
    parser.add_argument("--pieces", type=int, default=4000, help="of the BPE")
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=128, help="of each direction")
    parser.add_argument("--decoder-hidden", type=int, default=256)
    parser.add_argument("--attention", type=int, default=128)
    parser.add_argument("--heads", type=int, default=8, help="of ATTN-ATTN")
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30, help="that are timed")
    parser.add_argument("--trained", type=int, default=800, help="steps before translating")
    parser.add_argument("--translated", type=int, default=1000)
    parser.add_argument("--encoded", type=int, default=5000)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["training", "translating", "encoding"],
        choices=["training", "translating", "encoding"],
    )
    parser.add_argument("--threads", type=int, default=processors())
    args = parser.parse_args()
    if contestants.run_child(args):
        return
    contestants.options = ["--data", args.data]

    path = BUILD / "data" / f"multi30k-{args.sentences}-{args.pieces}"
    prepare(args, path)
    names = ("features", "hidden", "decoder_hidden", "attention", "heads", "dropout", "batch", "steps")
    case: dict[str, Any] = {
        **{name: getattr(args, name) for name in (*names, "threads", "beam")},
        **{"path": str(path), "architecture": "attn"},
    }
    compound = {**case, "architecture": "attn_attn"}
    print(f"{machine()}\n{args.threads} threads, medians of {args.rounds} processes\n")
    if "training" in args.parts:
        for one in (case, compound):
            losses_agree(one)
            random = {**one, "mode": "plain"}
            results = turns(
                contestants,
                args.rounds,
                {
                    "ours": ["ours", one],
                    "eager, our batches": ["eager", one],
                    "eager, random batches": ["eager", random],
                },
            )
            print(f"training {one['architecture']}, words of the target a second:")
            shown(results, "rate", "words/s")
            print(f"  bare products in a step of ours: {median(results['ours'], 'products'):.0%}")
            compared(results, "eager, our batches", TRAIN)
            compared(results, "eager, random batches")
    if "translating" in args.parts:
        trained = {**case, "trained": args.trained, "sentences": args.translated, "who": "ours"}
        train(trained)
        translations_agree(trained)
        results = turns(
            contestants,
            args.rounds,
            {
                "ours": ["translating", trained],
                "eager": ["translating", {**trained, "who": "eager"}],
                "eager, finished ones leave": ["translating", {**trained, "who": "leave"}],
            },
        )
        print(f"translating by {case['architecture']}, a beam of {args.beam}:")
        shown(results, "rate", "sentences/s")
        compared(results, "eager", TRANSLATE)
        compared(results, "eager, finished ones leave", TRANSLATE)
    if "encoding" in args.parts:
        encoded = {**compound, "sentences": args.encoded}
        vectors_agree(encoded)
        ways = ("ours", "packed", "padded", "packed, our batches", "padded, our batches")
        results = turns(
            contestants, args.rounds, {how: ["encoding", {**encoded, "how": how}] for how in ways}
        )
        print(f"encoding by {compound['architecture']}:")
        shown(results, "rate", "sentences/s")
        compared(results, "packed", PACKED)
        compared(results, "padded", PADDED)
        compared(results, "packed, our batches")
        compared(results, "padded, our batches")
    write_json(args.json, results=contestants.everything)


# --- turns ---


def turns(contestants: Contestants, rounds: int, cases: dict[str, Any]) -> dict[str, list[Result]]:
    """Each case once, one after the other, `rounds` times."""
    results: dict[str, list[Result]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, turn in cases.items():
            results[name] += contestants.measure(1, turn)[0]
    return results


def shown(results: dict[str, list[Result]], key: str, unit: str) -> None:
    for name, runs in results.items():
        print(f"  {name:26} {median(runs, key):9.1f} {unit} ({spread(runs, key)})")


def compared(results: dict[str, list[Result]], other: str, target: float | None = None) -> None:
    """Of the turns that followed each other."""
    pairs = zip(results["ours"], results[other], strict=True)
    median_ratio = float(np.median([mine["rate"] / theirs["rate"] for mine, theirs in pairs]))
    print(f"  ours against {other}: {median_ratio:.2f} {verdict(median_ratio, target) if target else ''}")


# --- data ---


def lines_of(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def prepare(args: argparse.Namespace, path: Path) -> None:
    """Pairs to train on, and English sentences to translate, as ids."""
    from sentencode import Tokenizer, Vocabulary
    from sentencode.text.subwords import learn_bpe
    from sentencode.training import Examples

    files = [f"{path}-{name}.examples" for name in ("train", "test")]
    if all(Path(file).exists() for file in files):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = args.data / "multi30k"
    sides = [lines_of(folder / f"train.{language}.gz")[: args.sentences] for language in ("en", "de")]
    tokenizer = Tokenizer(learn_bpe(*sides, size=args.pieces))
    known = {name: Vocabulary.from_corpus(side, tokenizer) for name, side in zip(FIELDS, sides, strict=True)}
    tests = [lines_of(folder / f"test_2016_flickr.{language}.gz") for language in ("en", "de")]
    for file, pairs in zip(files, (sides, tests), strict=True):
        Examples.build(
            list(zip(*pairs, strict=True)),
            known,
            dict.fromkeys(FIELDS, tokenizer),
            path=file,
            fields=FIELDS,
            end={"source": None, "target": "</s>"},
            unknown="<unk>",
            unknown_words="symbol",
            max_length=LONGEST,
        )


def examples_of(case: dict[str, Any], name: str) -> Any:
    from sentencode.training import Examples

    return Examples.open(f"{case['path']}-{name}.examples")


def sources_of(case: dict[str, Any], name: str) -> list[Any]:
    """The ids of the first sentences."""
    import torch

    examples = examples_of(case, name)
    count = min(case["sentences"], len(examples))
    return [torch.from_numpy(examples[i]["source"].astype(np.int64)) for i in range(count)]


def batches_of(case: dict[str, Any]) -> Any:
    from sentencode.training import Batcher

    mode = case.get("mode", "sorted_buffer")
    fields = FIELDS if mode == "sorted_buffer" else None
    return Batcher(
        examples_of(case, "train"), batch_size=case["batch"], mode=mode, length_fields=fields, seed=1
    )


def tensors_of(batch: Any) -> Iterator[Any]:
    import torch

    for name in FIELDS:
        yield torch.from_numpy(batch.ids[name])
        yield torch.from_numpy(batch.lengths[name])


# --- models ---


def sizes_of(case: dict[str, Any]) -> dict[str, Any]:
    examples = examples_of(case, "train")
    words = examples.vocabulary_size("target")
    names = ("features", "hidden", "decoder_hidden", "attention", "heads", "dropout", "architecture")
    return {
        **{name: case[name] for name in names},
        **{"words": words + 1, "begin": words, "end": examples.symbols("target")["</s>"]},
        "source_words": examples.vocabulary_size("source"),
    }


def both(case: dict[str, Any]) -> tuple[Any, Any]:
    """Ours, and the peer with the same weights."""
    import torch
    from eager.translation import Translation

    from sentencode.models import TranslationNetwork

    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    sizes = sizes_of(case)
    network = TranslationNetwork(**sizes)
    if "trained" in case:
        network.load_state_dict(torch.load(file_of(case)))
    if case["architecture"] == "attn_attn":  # a projection that copies would have none
        sizes["heads"] = case["heads"]
    peer = Translation(**sizes)
    with torch.no_grad():
        state = network.state_dict()
        for name, tensor in peer.core_state().items():
            tensor.copy_(state[name])
    return network, peer


def losses_agree(case: dict[str, Any]) -> None:
    """Fails where losses or gradients of the two differ, in double and without dropout."""
    import torch

    network, peer = (model.double() for model in both({**case, "dropout": 0.0}))
    for batch, _ in zip(batches_of(case), range(2), strict=False):
        fields = list(tensors_of(batch))
        losses = network.loss(*fields).sum, peer.loss(*fields)
        torch.testing.assert_close(*losses)
        for model, loss in zip((network, peer), losses, strict=True):
            model.zero_grad()
            loss.backward()
    mine = dict(network.named_parameters())
    gradients = {name: p.grad for name, p in peer.named_parameters()}
    peer.load_state_dict(gradients)  # so that they go by our names
    for name, gradient in peer.core_state().items():
        apart = float((mine[name].grad - gradient).norm() / gradient.norm())
        assert apart < 1e-6, f"gradients of {name} differ by {apart:.2g}"


# --- training ---


def ours(case: dict[str, Any]) -> Result:
    network, _ = both(case)
    warm = 5
    timing = our_steps(
        network,
        batches_of(case),
        warm=warm,
        steps=case["steps"],
        learning_rate=1e-3,
        clip_norm=1.0,
    )
    seconds = timing.seconds
    batches = [batch for batch, _ in zip(batches_of(case), range(warm + case["steps"]), strict=False)][warm:]
    words = sum(int(batch.lengths["target"].sum()) for batch in batches)
    bare = sum(product_seconds(case, batch) for batch in batches[:5]) / min(5, len(batches)) * len(batches)
    return {"rate": words / seconds, "products": bare / seconds}


def eager(case: dict[str, Any]) -> Result:

    _, peer = both(case)

    def loss_of(batch: Any) -> tuple[Any, int]:
        fields = list(tensors_of(batch))
        return peer.loss(*fields), int(fields[3].sum())

    timing = eager_steps(
        peer.parameters(),
        batches_of(case),
        loss_of,
        warm=5,
        steps=case["steps"],
        clip_norm=1.0,
        lr=1e-3,
        fused=True,
    )
    return {"rate": timing.tokens / timing.seconds}


def product_seconds(case: dict[str, Any], batch: Any) -> float:
    """Of the matrix products of one step on words alone: each made forward, and twice backward."""
    examples = examples_of(case, "train")
    lengths = [batch.lengths[name] for name in FIELDS]
    source, target = (int(of.sum()) for of in lengths)
    hidden, features, attention = case["hidden"], case["features"], case["attention"]
    state, width = case["decoder_hidden"], 2 * case["hidden"]
    compound = case["architecture"] == "attn_attn"
    seen = width // case["heads"] if compound else width
    positions = len(batch) * case["heads"] if compound else source
    shapes = [
        *[(source, features, 3 * hidden)] * 2,
        *[(int((lengths[0] > t).sum()), hidden, 3 * hidden) for t in range(lengths[0].max())] * 2,
        (positions, seen, attention),
        (target, features, 3 * state),
        (target, state + features + seen, features),
        (target, features, examples.vocabulary_size("target") + 1),
    ]
    if compound:
        shapes += [(source, width, attention), (source, attention, case["heads"]), (positions, width, seen)]
    for t in range(lengths[1].max()):
        rows = int((lengths[1] > t).sum())
        shapes += [(rows, state, 3 * state), (rows, state, 3 * state + attention), (rows, seen, 3 * state)]
    return 3 * sum(shapes.count(shape) * forward_seconds(*shape) for shape in set(shapes))


# --- translating ---


def file_of(case: dict[str, Any]) -> str:
    sizes = "-".join(str(case[name]) for name in ("features", "hidden", "decoder_hidden", "attention"))
    return f"{case['path']}-{sizes}-{case['trained']}.pt"


def train(case: dict[str, Any]) -> None:
    """Trains what translates, if this was not done before."""
    import torch

    from sentencode.training import Trainer

    if Path(file_of(case)).exists():
        return
    network, _ = both({name: value for name, value in case.items() if name != "trained"})
    options = {"learning_rate": 1e-3, "clip_norm": 1.0, "max_steps": case["trained"]}
    Trainer(network, batches_of(case), **options).run()
    torch.save(network.state_dict(), file_of(case))


def translated(case: dict[str, Any], model: Any, ids: list[Any]) -> Any:
    """Ids [B, L], lengths [B] and scores [B] of some sentences."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    lengths = torch.tensor([len(of) for of in ids])
    source = pad_sequence(ids, batch_first=True)
    if case["who"] != "ours":
        return model.beam_search(source, lengths, case["beam"], LONGEST, PENALTY, case["who"] == "leave")
    states = model.read(model.source.weight[source], lengths)
    translations = model.translate(states, beam=case["beam"], max_length=LONGEST, length_penalty=PENALTY)
    return translations.ids[:, 0], translations.lengths[:, 0], translations.scores[:, 0]


def translations_agree(case: dict[str, Any]) -> None:
    """Fails where the searches find other translations, but for those that are equally likely."""
    import torch

    network, peer = (model.eval() for model in both(case))
    with torch.inference_mode():
        for ids in by_length(sources_of(case, "test"), case["batch"])[::5]:
            translations = [
                translated({**case, "who": who}, network if who == "ours" else peer, ids)
                for who in ("ours", "eager", "leave")
            ]
            for words, lengths, scores in translations[1:]:
                torch.testing.assert_close(scores.double(), translations[0][2], rtol=1e-3, atol=1e-3)
                same = [
                    one[:n].tolist() == other[:m].tolist()
                    for one, n, other, m in zip(words, lengths, *translations[0][:2], strict=True)
                ]
                assert sum(same) >= 0.95 * len(same), (
                    f"only {sum(same)} of {len(same)} translations are the same"
                )


def translating(case: dict[str, Any]) -> Result:
    import torch

    network, peer = (model.eval() for model in both(case))
    model = network if case["who"] == "ours" else peer
    batches = by_length(sources_of(case, "test"), case["batch"])
    with torch.inference_mode():
        translated(case, model, batches[len(batches) // 2])
        begin = time.perf_counter()
        words = sum(int(translated(case, model, batch)[1].sum()) for batch in batches)
        seconds = time.perf_counter() - begin
    return {"rate": sum(map(len, batches)) / seconds, "words": words}


def by_length(sentences: list[Any], size: int) -> list[list[Any]]:
    ordered = sorted(sentences, key=len, reverse=True)
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


# --- encoding ---


def encode(case: dict[str, Any], model: Any, part: list[Any]) -> Any:
    import torch
    from eager.autoencoder import mask_of
    from torch.nn.utils.rnn import pad_sequence

    lengths = torch.tensor([len(ids) for ids in part])
    x = model.source.weight[pad_sequence(part, batch_first=True)]
    if case["how"] == "ours" or case["how"].startswith("packed"):
        return model.encode(x, lengths).flatten(1)
    h = model.encoder(x)[0]  # the backward direction starts in the padding
    return model.heads_of(h, mask_of(x, lengths)).flatten(1)


def vectors_agree(case: dict[str, Any]) -> None:
    import torch

    network, peer = (model.eval() for model in both(case))
    part = sources_of(case, "train")[:64]
    with torch.inference_mode():
        embeddings = [
            encode({"how": how}, model, part) for how, model in (("ours", network), ("packed", peer))
        ]
    torch.testing.assert_close(*embeddings, rtol=1e-4, atol=1e-5)


def encoding(case: dict[str, Any]) -> Result:
    import torch

    network, peer = (model.eval() for model in both(case))
    model = network if case["how"] == "ours" else peer
    sentences = sources_of(case, "train")

    def batches() -> list[list[Any]]:
        if case["how"] in ("packed", "padded"):
            return [sentences[i : i + 64] for i in range(0, len(sentences), 64)]
        grouped: list[list[Any]] = [[]]  # like `NeuralEncoder`: longest first, limited by tokens
        for ids in sorted(sentences, key=len, reverse=True):
            if grouped[-1] and (len(grouped[-1]) + 1) * len(grouped[-1][0]) > 4096:
                grouped.append([])
            grouped[-1].append(ids)
        return grouped

    with torch.inference_mode():
        for part in batches()[:5]:
            encode(case, model, part)
        seconds = best_seconds(lambda: [encode(case, model, part) for part in batches()])
    return {"rate": len(sentences) / seconds}


if __name__ == "__main__":
    main()
