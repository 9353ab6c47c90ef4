"""Evaluates, on a processor, the encoder that training on a GPU brought back."""

from __future__ import annotations

import argparse
import tarfile
from types import SimpleNamespace
from typing import Any

import numpy as np
from common import read_json, text, write_json
from training import encoder_of

TASKS = ("STSBenchmark", "SICKRelatedness", "SICKEntailment", "STS14", "MR", "CR", "SST2", "TREC", "MRPC")


def evaluate(args: argparse.Namespace) -> None:
    """Adds "evaluation" to the results.json of the folder: of the trained encoder, and of controls."""
    import sentencode as se

    if args.data is None:
        raise SystemExit("--evaluate needs --data, or SENTENCODE_DATA")
    folder = args.evaluate
    results = read_json(folder / "results.json")
    if results is None or "encoder" not in results["parts"].get("training", {}):
        raise SystemExit(f"{folder / 'results.json'} has no trained encoder")
    kit = args.work / "kit"
    if not (kit / "done").exists():
        with tarfile.open(args.kit / "kit.tar.xz") as packed:
            packed.extractall(kit, filter="data")
        (kit / "done").touch()
    context = SimpleNamespace(kit=kit)
    rehearsal = results["rehearsal"]
    lines = [line for line in text(context, 3_000 if rehearsal else 60_000) if line.strip()]
    with np.load(
        args.data / "vectors" / "glove.local.300d.f16.npz"
    ) as arrays:  # all words, as tasks have them
        words = bytes(arrays["words"]).decode("utf-8").split("\n")
        vectors = se.WordVectors.from_array(words, arrays["vectors"].astype(np.float32), storage="float16")
    encoder = encoder_of(vectors, rehearsal, "cpu", max_steps=1, validate_every=None)
    encoder.fit(lines)
    contenders: dict[str, Any] = {"average of word vectors": se.Average(vectors)}
    load(encoder, folder, results["parts"]["training"]["encoder"])
    contenders["mean-max AAE"] = encoder
    contenders["mean-max AAE, halves normalised"] = lambda texts: encoder.encode(texts, normalize="halves")
    downstream = args.data / "senteval"
    evaluation = results.setdefault("evaluation", {})
    tasks = TASKS[:2] if rehearsal else TASKS
    for name, contender in contenders.items():
        for task in tasks:
            if task in evaluation.get(name, {}):
                continue
            report = se.evaluate(contender, [task], downstream, name=name, cache=False)
            evaluation.setdefault(name, {})[task] = figure_of(task, report[task].figures)
            write_json(folder / "results.json", results)
            print(report, flush=True)


def figure_of(task: str, figures: dict[str, Any]) -> dict[str, Any]:
    """The figure that the page shows, in addition to all of them."""
    if "pearson" in figures:
        label, value = f"{task} r", f"{figures['pearson']:.3f}"
    elif "acc" in figures:
        label, value = task, f"{figures['acc']:.1f}"
    else:
        label, value = f"{task} r", f"{figures['all']['pearson']['wmean']:.3f}"
    numbers = {key: float(of) for key, of in figures.items() if isinstance(of, int | float | np.number)}
    return {"label": label, "value": value, "figures": numbers}


def load(encoder: Any, folder: Any, saved: dict[str, Any]) -> None:
    """Gives the encoder's network the weights that were brought back."""
    import torch

    content = b"".join((folder / name).read_bytes() for name in saved["files"])
    flat, begin = np.frombuffer(content, np.float16).astype(np.float32), 0
    state = encoder.network.state_dict()
    with torch.no_grad():
        for name, shape in saved["shapes"].items():
            size = int(np.prod(shape))
            part = torch.from_numpy(flat[begin : begin + size].reshape(shape).copy())
            begin += size
            target = state["table.weight"][encoder.network._config["end"]] if name == "end" else state[name]
            target.copy_(part)
    if begin != len(flat):
        raise SystemExit(f"{folder}: the pieces hold {len(flat)} weights, expected {begin}")


__all__ = ["evaluate"]
