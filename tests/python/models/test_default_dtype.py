"""Networks are float32 for every default dtype of torch: results are equal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

FAMILIES = """
def families():
    small = {"preset": "paper", "max_steps": 4, "max_epochs": None, "batch_size": 3, "device": "cpu"}
    attending = {"hidden": 8, "inner": 10, "heads": 2, **small}
    context = {"hidden": 4, "following_words": 3, "channels": 7, "inner": 5, **small}
    yield "MeanMaxAAE", se.MeanMaxAAE(VECTORS, **attending), (TRAIN,)
    yield "RAE", se.RAE(VECTORS, **attending), (TRAIN,)
    yield "LSTMSDAE", se.LSTMSDAE(VECTORS, hidden=8, **small), (TRAIN,)
    yield "CNNLSTMAE", se.CNNLSTMAE(VECTORS, hidden=8, filters=5, windows=(1, 3), **small), (TRAIN,)
    for decoder in ("cnn", "rnn", "autoregressive_cnn", "autoregressive_rnn"):
        yield f"RNNCNN-{decoder}", se.RNNCNN(VECTORS, decoder=decoder, **context), (TRAIN,)
    yield "SkipThoughts", se.SkipThoughts(VECTORS, hidden=6, **small), (TRAIN,)
    yield "FastSent", se.FastSent(VECTORS, **small), (TRAIN,)
    convolving = {"hidden": 8, "filters": 5, "windows": (1, 3), **small}
    yield "CompositeCNN", se.CompositeCNN(VECTORS, **convolving), (TRAIN,)
    yield "HierarchicalCNN", se.HierarchicalCNN(VECTORS, paragraph_length=2, **convolving), (TRAIN,)
    sizes = {"features": 6, "hidden": 4, "decoder_hidden": 6, "heads": 2, "attention": 5, "layers": 1}
    for architecture in ("attn", "final", "attn_ctx", "trf", "trf_attn_attn"):
        more = {"hidden": 3, "inner": 6, "attention_heads": 2} if architecture.startswith("trf") else {}
        nmt = se.CompoundNMT(architecture=architecture, **{**sizes, **small, **more})
        yield f"CompoundNMT-{architecture}", nmt, (TRAIN, [text[::-1] for text in TRAIN])
    pooling = {"hidden": 3, "layers": 1, "heads": 2, "attention_hidden": 3, "character_filters": 2, **small}
    for name, head, examples, labels in heads():
        arguments = examples, labels
        yield f"GeneralizedPooling-{name}", se.GeneralizedPooling(VECTORS, head=head, **pooling), arguments
        yield f"own-{name}", OwnEncoder(VECTORS, head=head, **small), arguments


def heads():
    pairs = list(zip(TRAIN, TRAIN[1:] + TRAIN[:1]))
    triples = [(*pair, TRAIN[0]) for pair in pairs]
    scores = [float(i) for i in range(len(TRAIN))]
    rows = np.random.default_rng(1).normal(size=(len(TRAIN), 5)).astype(np.float32)
    yield "classes", se.Classifier(hidden=5, class_weight="balanced"), pairs, [0, 1, 1, 0, 1, 0, 0]
    yield "cosine", se.CosineRegression(high=7.0), pairs, scores
    yield "ranking", se.MultipleNegatives(), pairs, None
    yield "triplet", se.Triplet(distance="cosine"), triples, None
    yield "rows", se.RowRegression(), TRAIN, rows


class Own(torch.nn.Module):
    def __init__(self, words, features, width=4):
        super().__init__()
        self.words, self.features, self.dim = words, features, width
        self.layer = torch.nn.Linear(features, width)

    def encode(self, inputs):
        return torch.tanh(self.layer(inputs.x.sum(1) / inputs.lengths.clamp_min(1)[:, None]))


class OwnEncoder(NeuralEncoder):
    network_class = Own
"""

SCRIPT = f"""
import pathlib, sys
import numpy as np
import torch

torch.set_default_dtype(getattr(torch, sys.argv[1]))
import sentencode as se
from sentencode.models import NeuralEncoder

WORDS = ["the", "cat", "dog", "sat", "on", "a", "mat", "ran", "."]
VECTORS = se.WordVectors.from_array(WORDS, np.random.default_rng(0).normal(size=(9, 6)).astype(np.float32))
TRAIN = [
    *("the cat sat on a mat .", "a dog ran on the mat .", "the dog sat .", "a cat ran on ."),
    *("the cat ran on a dog .", "the mat sat on the dog .", "a dog sat on a cat ."),
]
{FAMILIES}
folder, outputs = pathlib.Path(sys.argv[2]), {{}}
for name, encoder, arguments in families():
    encoder.fit(*arguments, checkpoints=folder / f"{{name}}.checkpoints")
    for tensor in [*encoder.network.parameters(), *encoder.network.buffers()]:
        assert not tensor.is_floating_point() or tensor.dtype == torch.float32, (name, tensor.dtype)
    encoder.save(folder / name)
    again = se.load(folder / name)
    for what, one in (("fitted", encoder), ("loaded", again)):
        if name not in ("CompoundNMT-attn", "CompoundNMT-trf"):  # they have no sentence embedding
            outputs[f"{{name}} {{what}}"] = one.encode([*TRAIN, "", "zork"])
        if name.startswith("CompoundNMT"):
            texts = [one.translate(TRAIN, beam=beam) for beam in (1, 3)]
            outputs[f"{{name}} {{what}} texts"] = np.array(texts)
        if getattr(one, "head", None) is not None:
            outputs[f"{{name}} {{what}} predictions"] = one.predict(arguments[0])
    outputs[f"{{name}} losses"] = np.array([step.loss for step in encoder.history_.steps])
np.savez(folder / "outputs.npz", **outputs)
"""


@pytest.mark.slow
def test_results_do_not_depend_on_the_default_dtype(tmp_path):
    results = {}
    for dtype in ("float32", "float64"):
        (tmp_path / dtype).mkdir()
        command = [sys.executable, "-c", SCRIPT, dtype, str(tmp_path / dtype)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent)
        assert done.returncode == 0, done.stderr
        with np.load(tmp_path / dtype / "outputs.npz") as file:
            results[dtype] = dict(file)
    assert len(results["float32"]) > 90
    for name, expected in results["float32"].items():
        np.testing.assert_array_equal(results["float64"][name], expected, err_msg=name)
