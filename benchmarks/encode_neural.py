"""Encoding with MeanMaxAAE, from list[str] to an array, against an eager PyTorch version in Python.

Real text in its original order. Both lower-case, split at white space, look words up, append the end symbol
and run networks with the same weights; embeddings are compared. The peer (benchmarks/eager) has batches of 64
in the order of the text, padded to the longest sentence, and another run with sentences sorted by length.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import (
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

TARGET = 2.0  # times the eager version's sentences a second


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    arguments_of(parser, rounds=3)
    contestants = Contestants(__file__, ours, eager)
    contestants.argument(parser)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--threads", type=int, default=processors())
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    if contestants.run_child(args):
        return
    contestants.options = ["--data", args.data]

    case: dict[str, Any] = {
        "vectors": str(unpacked_vectors(args.data / "vectors" / "glove.local.300d.f16.npz")),
        "text": str(sentences_of(args.data / "text" / "books.train.txt.xz", args.sentences)),
        "hidden": args.hidden,
        "heads": args.heads,
        "threads": args.threads,
        "device": args.device,
        "sorted": False,
    }
    print(f"{machine()}, {args.device}\n{args.threads} threads, medians of {args.rounds} processes\n")
    cases = {
        "ours": ["ours", case],
        "eager": ["eager", case],
        "ours, sorted": ["ours", {**case, "sorted": True}],
        "eager, sorted": ["eager", {**case, "sorted": True}],
    }
    results = {}
    for name, turn in cases.items():
        results[name] = runs = contestants.measure(args.rounds, turn)[0]
        print(
            f"{name:14} {median(runs, 'rate'):8.0f} sentences/s ({spread(runs, 'rate')}), "
            f"{median(runs, 'tokens_rate'):8.0f} words/s, bare products {median(runs, 'products'):.0%}"
        )
    for order in ("", ", sorted"):
        mine, theirs = results[f"ours{order}"], results[f"eager{order}"]
        apart = np.abs(np.array(mine[0]["sample"]) - np.array(theirs[0]["sample"])).max()
        if apart > (1e-4 if args.device == "cpu" else 1e-2):
            raise SystemExit(f"the two do not compute the same thing: rows differ by {apart:.1e}")
        ratio = median(mine, "rate") / median(theirs, "rate")
        aim = verdict(ratio, TARGET) if order == "" else ""
        print(f"ours{order} against eager{order}: {ratio:.2f} {aim}")
    write_json(args.json, results=contestants.everything)


def read(case: dict[str, Any]) -> list[str]:
    lines = Path(case["text"]).read_text(encoding="utf-8").splitlines()
    if case["sorted"]:
        lines.sort(key=lambda line: len(line.split()))
    return lines


def network_of(case: dict[str, Any]) -> Any:
    import torch

    from sentencode.models import MeanMaxNetwork

    torch.set_num_threads(case["threads"])
    torch.manual_seed(1)
    hidden = case["hidden"]
    network = MeanMaxNetwork(words=100, features=300, hidden=hidden, inner=2 * hidden, heads=case["heads"])
    return network.to(case["device"]).eval()


def ours(case: dict[str, Any]) -> Result:
    import sentencode as se
    from sentencode import _nn

    words = json.loads(Path(case["vectors"], "words.json").read_text(encoding="utf-8"))
    rows = np.load(Path(case["vectors"], "vectors.npy"))
    vectors = se.WordVectors.from_array(words, rows, storage="float16")
    tokenizer = se.Tokenizer("whitespace", lowercase=True).core()
    network = network_of(case)
    se.set_num_threads(case["threads"])
    encoder = _nn.NeuralEncoder("MeanMaxAAE", vectors._core, tokenizer, None, network._cpp, 512, 4096)
    lines = read(case)
    out = np.empty((len(lines), encoder.dim), np.float32)
    encoder.encode_into(lines[:2000], out[:2000])
    begin = time.perf_counter()
    encoder.encode_into(lines, out)
    seconds = time.perf_counter() - begin
    tokens = sum(len(ids) for ids in [vectors._core.lookup(tokenizer, lines)[0]])
    return facts(case, lines, tokens, seconds, out)


def eager(case: dict[str, Any]) -> Result:
    import torch
    from eager.mean_max import MeanMax

    words = json.loads(Path(case["vectors"], "words.json").read_text(encoding="utf-8"))
    ids_of = {word: i for i, word in enumerate(words)}
    device = torch.device(case["device"])
    table = torch.from_numpy(np.load(Path(case["vectors"], "vectors.npy"))).to(device)
    network = network_of(case)
    hidden = case["hidden"]
    peer = MeanMax(words=100, features=300, hidden=hidden, inner=2 * hidden, heads=case["heads"])
    peer.load_state_dict(network.state_dict())
    peer.to(device).eval()
    end = peer.table.weight[1]
    lines = read(case)
    out = np.zeros((len(lines), 2 * hidden), np.float32)
    tokens = 0

    def encode(part: list[str], rows: Any) -> int:
        ids = [[ids_of[w] for w in line.lower().split() if w in ids_of] for line in part]
        longest = max(map(len, ids)) + 1
        if device.type == "cpu":
            x = torch.zeros(len(part), longest, 300)
            for row, word_ids in enumerate(ids):
                x[row, : len(word_ids)] = table[word_ids]
                x[row, len(word_ids)] = end
        else:  # a copy of each sentence would take most of the time
            padded = torch.zeros(len(part), longest, dtype=torch.int64)
            for row, word_ids in enumerate(ids):
                padded[row, : len(word_ids)] = torch.tensor(word_ids)
            x = table[padded.to(device)].float()
            x[torch.arange(len(ids)), [len(word_ids) for word_ids in ids]] = end
        z = peer.encode(x, torch.tensor([len(word_ids) + 1 for word_ids in ids], device=device))
        rows[:] = z.cpu().numpy() * np.array([[len(word_ids) > 0] for word_ids in ids])
        return sum(map(len, ids))

    with torch.inference_mode():
        for begin in range(0, 2000, 64):
            encode(lines[begin : begin + 64], out[begin : begin + 64])
        start = time.perf_counter()
        for begin in range(0, len(lines), 64):
            tokens += encode(lines[begin : begin + 64], out[begin : begin + 64])
        seconds = time.perf_counter() - start
    return facts(case, lines, tokens, seconds, out)


def facts(case: dict[str, Any], lines: list[str], tokens: int, seconds: float, out: Any) -> Result:
    import torch

    hidden, rows = case["hidden"], 4096
    shapes = [(300, hidden)] * 3 + [(hidden, 2 * hidden), (2 * hidden, hidden)]
    device = case["device"]
    operands = [(torch.randn(rows, a, device=device), torch.randn(a, b, device=device)) for a, b in shapes]
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        for x, w in operands:
            x @ w
        if device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    bare = float(np.median(times)) * (tokens + len(lines)) / rows
    return {
        "rate": len(lines) / seconds,
        "tokens_rate": tokens / seconds,
        "products": bare / seconds,
        "sample": out[:: max(1, len(lines) // 50)].astype(float).tolist(),
    }


if __name__ == "__main__":
    main()
