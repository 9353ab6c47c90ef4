"""Train each family for a few steps on the fake GPU and on the CPU, and print the results as JSON."""

from __future__ import annotations

import json
import sys
import traceback

import numpy as np
import torch
from fake_gpu import NAME, FakeGpu

import sentencode as se
from sentencode.models import neural_encoder, supervised
from sentencode.nn import RecurrentStack, softmax_loss

GPU = FakeGpu()
STEPS = 3
WORDS = list("abcdefghijklmnopqrst")
RANDOM = np.random.default_rng(1)
VECTORS = se.WordVectors.from_array(WORDS, RANDOM.normal(size=(len(WORDS), 6)).astype(np.float32))
TEXTS = [" ".join(RANDOM.choice(WORDS, 1 + i % 7)) for i in range(60)]
PAIRS = [(TEXTS[i], TEXTS[-1 - i]) for i in range(30)]
LABELS = [str(i % 3) for i in range(30)]
CLASSIFIER = se.Classifier(hidden=5, dropout=0.1)
ATTENDING = {"hidden": 8, "inner": 10, "heads": 2}
CONTEXT = {"hidden": 4, "following_words": 9, "channels": 7, "inner": 5}
POOLING = {"hidden": 4, "attention_hidden": 5, "character_filters": 4, "head": CLASSIFIER}
NMT = {
    **{"features": 16, "hidden": 8, "decoder_hidden": 24, "attention": 12, "layers": 1, "attention_heads": 2},
    **{"inner": 32, "heads": 2, "dropout": 0.0},  # dropout depends on how states lie in memory
}
ARCHITECTURES = (
    *("attn", "final", "final_ctx", "avgpool", "avgpool_ctx", "maxpool", "maxpool_ctx"),
    *("attn_ctx", "attn_attn", "trf", "trf_attn_attn"),
)
# Padded, so that nothing is known to be full.
PLAIN = {"batching": "plain"}
CONVOLVING = {"hidden": 8, "filters": 5, "windows": (1, 3)}
CASES = {
    "MeanMaxAAE": ("MeanMaxAAE", ATTENDING),
    "MeanMaxAAE, padded": ("MeanMaxAAE", {**ATTENDING, **PLAIN}),
    "MeanMaxAAE, sampled softmax": ("MeanMaxAAE", {**ATTENDING, "sampled_words": 8, "label_smoothing": 0.0}),
    "MeanMaxAAE, sgd": ("MeanMaxAAE", {**ATTENDING, "optimizer": "sgd", "betas": None}),
    "RAE": ("RAE", {**ATTENDING, **PLAIN}),
    "LSTMSDAE": ("LSTMSDAE", {"hidden": 8, **PLAIN}),
    "CNNLSTMAE": ("CNNLSTMAE", {**CONVOLVING, **PLAIN}),
    "SkipThoughts": ("SkipThoughts", {"hidden": 6}),
    "SkipThoughts, layer norm": ("SkipThoughts", {"hidden": 6, "layer_norm": True}),
    "CompositeCNN": ("CompositeCNN", CONVOLVING),
    "HierarchicalCNN": ("HierarchicalCNN", {**CONVOLVING, "paragraph_length": 3}),
    "FastSent": ("FastSent", {"autoencode": True}),
    "FastSent, padded": ("FastSent", {"sampled_words": 8, **PLAIN}),
    **{
        f"RNNCNN, {decoder}": ("RNNCNN", {**CONTEXT, "decoder": decoder})
        for decoder in ("cnn", "rnn", "autoregressive_cnn", "autoregressive_rnn")
    },
    "RNNCNN, sampling": (
        "RNNCNN",
        {**CONTEXT, "decoder": "autoregressive_rnn", "feeding": "always_sampling"},
    ),
    "MeanMaxAAE, labels": ("MeanMaxAAE", {**ATTENDING, "head": CLASSIFIER}),
    **{
        f"GeneralizedPooling, {pooling}": ("GeneralizedPooling", {**POOLING, "pooling": pooling})
        for pooling in ("generalized", "scalar", "mean_max", "last")
    },
    "GeneralizedPooling, no characters": ("GeneralizedPooling", {**POOLING, "characters": False}),
    **{f"CompoundNMT, {name}": ("CompoundNMT", {**NMT, "architecture": name}) for name in ARCHITECTURES},
}


def made_there(module, name):
    """Makes what the function makes on the fake GPU, when a training on it runs."""
    original = getattr(module, name)

    def function(*args, **options):
        if not ON_GPU:
            return original(*args, **options)
        with GPU.makes():
            return original(*args, **options)

    setattr(module, name, function)


ON_GPU = False
made_there(neural_encoder.NeuralEncoder, "_make_network")
made_there(supervised, "made_head")


def fitted(family, options, device, steps):
    global ON_GPU
    ON_GPU = device == NAME
    options = {
        **options,
        "device": device,
        "max_steps": steps,
        "max_epochs": None,
        "batch_size": 4,
        "seed": 3,
    }
    options = {name: value for name, value in options.items() if value is not None}
    # Figures are read when the training ends: what a step waits for is the difference of two trainings.
    options["read_every"] = 100
    if family == "CompoundNMT":
        return se.CompoundNMT(**options).fit(TEXTS[:30], TEXTS[30:])
    encoder = getattr(se, family)(VECTORS, **options)
    return encoder.fit(PAIRS, LABELS) if "head" in options else encoder.fit(TEXTS)


def counted(work):
    GPU.reset()
    value = work()
    return value, {name: dict(getattr(GPU, name)) for name in ("waits", "copies", "launches")}


def less(more, fewer):
    return {name: more.get(name, 0) - fewer.get(name, 0) for name in more if more[name] != fewer.get(name, 0)}


def seen(family, options):
    _, few = counted(lambda: fitted(family, options, NAME, STEPS))
    encoder, many = counted(lambda: fitted(family, options, NAME, 2 * STEPS))
    report = {
        "waits": less(many["waits"], few["waits"]),
        "copies": {name: n / STEPS for name, n in less(many["copies"], few["copies"]).items()},
        "launches": sum(less(many["launches"], few["launches"]).values()) / STEPS,
        "operators": less(many["launches"], few["launches"]),
    }
    here = fitted(family, options, "cpu", 2 * STEPS)
    losses = [[step.loss for step in one.history_.steps] for one in (encoder, here)]
    report["apart"] = float(np.abs(np.subtract(*losses)).max())
    if not any(options.get("architecture", "") == name for name in ("attn", "trf")):
        rows, encoding = counted(lambda: encoder.encode(TEXTS * 3))
        report["encoding"] = {"waits": encoding["waits"], "copies": encoding["copies"]}
        report["rows apart"] = float(np.abs(rows - here.encode(TEXTS * 3)).max())
    if family == "CompoundNMT":
        report["translations"] = encoder.translate(TEXTS[:5]) == here.translate(TEXTS[:5])
    elif hasattr(encoder, "reconstruct"):
        report["translations"] = encoder.reconstruct(TEXTS[:5]) == here.reconstruct(TEXTS[:5])
    if "head" in options:
        report["translations"] = list(encoder.predict(PAIRS)) == list(here.predict(PAIRS))
    return report


def on_gpu(x):
    return x.detach().to(NAME).requires_grad_(x.requires_grad)


def softmaxes(dtype, smoothing, biased, chunk_rows):
    """What the loss over all words and its gradients are off, on the device."""
    generator = torch.Generator().manual_seed(1)
    inputs = [torch.randn(shape, generator=generator) for shape in ((11, 6), (9, 6), (9,))]
    targets = torch.randint(9, (11,), generator=generator)
    targets[3] = -100
    weights = torch.rand(11, generator=generator)
    results = []
    for type_, device in ((torch.float32, lambda x: x), (dtype, on_gpu)):
        h, weight, bias = (
            device(x.to(dtype).to(type_).requires_grad_()) for x in inputs
        )  # numbers that both types have
        options = {"label_smoothing": smoothing, "row_weights": device(weights), "chunk_rows": chunk_rows}
        loss = softmax_loss(h, weight, device(targets), bias if biased else None, **options)
        loss.loss.backward()
        grads = [x.grad for x in ((h, weight, bias) if biased else (h, weight))]
        results.append([loss.loss, loss.nll, loss.correct, *grads])
    with torch.no_grad():
        return max(float((a - b.to("cpu").float()).abs().max()) for a, b in zip(*results, strict=True))


def recurrent(cell, bidirectional):
    """The same of packed layers, with sentences without words; lengths are the device's."""
    GPU.reset()
    options = {"layers": 2, "bidirectional": bidirectional}
    torch.manual_seed(1)
    here = RecurrentStack(cell, 5, 4, **options)
    torch.manual_seed(1)
    with GPU.makes():
        there = RecurrentStack(cell, 5, 4, **options)
    x, lengths = torch.randn(6, 7, 5), torch.tensor([3, 0, 7, 1, 0, 5])
    apart = 0.0
    for some in (lengths, torch.zeros_like(lengths), torch.full_like(lengths, 7)):
        here_states, state = here(x, some)
        there_states, there_state = there(on_gpu(x), on_gpu(some))
        for a, b in zip((here_states, *state), (there_states, *there_state), strict=True):
            apart = max(apart, float((a - b.to("cpu")).abs().max().detach()))
    return apart


def layers():
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2)):
        for smoothing, biased, rows in ((0.0, False, 0), (0.1, True, 4), (0.1, False, 3), (0.0, True, 0)):
            name = f"softmax_loss, {dtype}, {smoothing}, {biased}, {rows}"
            yield name, softmaxes(dtype, smoothing, biased, rows) / tolerance * 1e-5
    for cell in ("gru", "lstm"):
        for bidirectional in (False, True):
            yield f"{cell}, {bidirectional}", recurrent(cell, bidirectional)


def report(results):
    sys.stdout.write(json.dumps(results) + "\n")
    sys.stdout.flush()


def main():
    torch.set_num_threads(1)
    chosen = sys.argv[1:] or CASES
    with GPU:
        for name in chosen:
            try:
                results = seen(*CASES[name])
            except Exception:
                results = {"error": traceback.format_exc()[-1500:]}
            report({"case": name, **results})
        if len(sys.argv) == 1:
            for name, apart in layers():
                report({"case": name, "waits": {}, "copies": {}, "apart": apart})


if __name__ == "__main__":
    main()
