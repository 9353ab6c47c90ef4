"""Train each family for a few steps on the fake GPU and on the CPU, and print the results as JSON."""

from __future__ import annotations

import json
import sys
import traceback

import numpy as np
import torch
from fake_gpu import NAME, FakeGpu

import sentencode as se
from sentencode.models import Inputs, NeuralEncoder, neural_encoder, supervised
from sentencode.nn import RecurrentStack, softmax_loss
from sentencode.training import Loss, trainer

GPU = FakeGpu()
STEPS = 2
WORDS = list("abcdefghijklmnopqrst")
RANDOM = np.random.default_rng(1)
VECTORS = se.WordVectors.from_array(WORDS, RANDOM.normal(size=(len(WORDS), 6)).astype(np.float32))
TEXTS = [" ".join(RANDOM.choice(WORDS, 1 + i % 7)) for i in range(60)]
PAIRS = [(TEXTS[i], TEXTS[-1 - i]) for i in range(30)]
LABELS = [str(i % 3) for i in range(30)]
TRIPLES = [(*pair, TEXTS[20 + i]) for i, pair in enumerate(PAIRS)]
SCORES = [i % 6 / 5 for i in range(30)]
ROWS = RANDOM.normal(size=(60, 5)).astype(np.float32)
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
# Examples and labels of each head.
HEADS = {
    "Classifier": (PAIRS, LABELS),
    "CosineRegression": (PAIRS, SCORES),
    "MultipleNegatives": (PAIRS, None),
    "Triplet": (TRIPLES, None),
    "RowRegression": (TEXTS, ROWS),
}
OPTIONS = {
    "sgd": {"optimizer": "sgd", "betas": None, "momentum": 0.9},
    "adamw": {"optimizer": "adamw", "weight_decay": 0.1},
    "rmsprop": {"optimizer": "rmsprop", "betas": None, "momentum": 0.5},
    "adagrad": {"optimizer": "adagrad", "betas": None},
    "accumulate": {"accumulate": 2},
    "anchor": {"anchor": 0.1, "trainable_words": True},
    "sparse rows": {"sparse_rows": True, "trainable_words": True, "sampled_words": 8, "label_smoothing": 0.0},
    "clip each": {"clip_each": 0.1, "clip_norm": 1.0},
    "bad steps": {"bad_steps": 2},
    "validation": {"valid": TEXTS[:20], "metric": "accuracy", "reload_best": True, "decay": 0.5},
    "token budget": {"batching": "token_budget", "max_tokens": 30},
    "sorted buffer": {"batching": "sorted_buffer"},
}
TRANSLATING = (
    {},
    {"beam": 1, "replace_unknown": True},
    {"length_penalty": 0.6, "best": 3},
    {"sample": True, "top_k": 5, "top_p": 0.9, "temperature": 0.8},
)


class BagNetwork(torch.nn.Module):
    """A network in Python: the mean of trained word vectors, through one layer."""

    figures = ("width",)

    def __init__(self, words, features, width=6):
        super().__init__()
        self.words, self.features, self.dim = words, features, width
        self.table = torch.nn.Embedding(words, features)
        self.layer = torch.nn.Linear(features, width)
        self.scores = torch.nn.Linear(width, words)

    def encode(self, inputs):
        mean = (inputs.x * inputs.mask[..., None]).sum(1) / inputs.lengths.clamp_min(1)[:, None]
        return torch.tanh(self.layer(mean))

    def loss(self, batch):
        ids, mask = batch.ids["tokens"], batch.mask["tokens"]
        z = self.encode(Inputs(self.table(ids), batch.lengths["tokens"], mask))
        log_p = self.scores(z).log_softmax(1).gather(1, ids)
        return Loss(-log_p.masked_fill(~mask, 0).sum(), len(batch), None, {"width": (z.sum(), len(batch))})


class Bag(NeuralEncoder):
    network_class = BagNetwork


CASES = {
    "MeanMaxAAE": ("MeanMaxAAE", ATTENDING),
    "MeanMaxAAE, padded": ("MeanMaxAAE", {**ATTENDING, **PLAIN}),
    "MeanMaxAAE, sampled softmax": ("MeanMaxAAE", {**ATTENDING, "sampled_words": 8, "label_smoothing": 0.0}),
    **{f"MeanMaxAAE, {name}": ("MeanMaxAAE", {**ATTENDING, **options}) for name, options in OPTIONS.items()},
    "network in Python": ("Bag", PLAIN),
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
    "MeanMaxAAE, labels": ("MeanMaxAAE", {**ATTENDING, "head": CLASSIFIER, "word_dropout": 0.3}),
    **{
        f"RAE, {head}": ("RAE", {**ATTENDING, "head": getattr(se, head)()})
        for head in HEADS
        if head != "Classifier"
    },
    "network in Python, labels": ("Bag", {"head": CLASSIFIER}),
    **{
        f"GeneralizedPooling, {pooling}": ("GeneralizedPooling", {**POOLING, "pooling": pooling})
        for pooling in ("generalized", "scalar", "mean_max", "last")
    },
    **{
        f"GeneralizedPooling, penalty of {penalty}": (
            "GeneralizedPooling",
            {**POOLING, "penalty": penalty, "mu": 0.1},
        )
        for penalty in ("parameters", "attention", "embeddings")
    },
    "GeneralizedPooling, no characters": ("GeneralizedPooling", {**POOLING, "characters": False}),
    **{f"CompoundNMT, {name}": ("CompoundNMT", {**NMT, "architecture": name}) for name in ARCHITECTURES},
}
for name in (
    "MeanMaxAAE",
    "RAE",
    "RNNCNN, cnn",
    "GeneralizedPooling, generalized",
    "CompoundNMT, trf_attn_attn",
):
    CASES[f"{name}, autocast"] = (CASES[name][0], {**CASES[name][1], "autocast": "bfloat16"})


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
trainer._check_autocast = lambda *_: None  # it does not know this device
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
    valid = options.pop("valid", None)
    if valid is not None:
        options["validate_every"] = steps  # one validation in each training
    if options.get("batching") == "token_budget":
        options["batch_size"] = 64
    # Figures are read when the training ends: what a step waits for is the difference of two trainings.
    options["read_every"] = 100
    if family == "CompoundNMT":
        return se.CompoundNMT(**options).fit(TEXTS[:30], TEXTS[30:])
    encoder = (Bag if family == "Bag" else getattr(se, family))(VECTORS, **options)
    if "head" in options:
        return encoder.fit(*HEADS[type(options["head"]).__name__])
    return encoder.fit(TEXTS, **({} if valid is None else {"valid": valid}))


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
    autocast = options.get("autocast") is not None
    here = fitted(family, {**options, "autocast": None}, "cpu", 2 * STEPS)
    losses = [[step.loss for step in one.history_.steps] for one in (encoder, here)]
    report["apart"] = float(np.abs(np.subtract(*losses)).max())
    if not any(options.get("architecture", "") == name for name in ("attn", "trf")):
        rows, encoding = counted(lambda: encoder.encode(TEXTS * 3))
        report["encoding"] = {"waits": encoding["waits"], "copies": encoding["copies"]}
        report["rows apart"] = float(np.abs(rows - here.encode(TEXTS * 3)).max())
    if autocast:  # compared with float32
        assert report["operators"]["autocast"] > 0
        for name in {"apart", "rows apart"} & report.keys():
            report[name] /= 1000
    elif family == "CompoundNMT":
        ways = TRANSLATING if options["architecture"].endswith("attn_attn") else TRANSLATING[:1]
        report["translations"] = all(
            encoder.translate(TEXTS[:5], **way, **({"ensemble": [encoder]} if together else {}))
            == here.translate(TEXTS[:5], **way, **({"ensemble": [here]} if together else {}))
            for way in ways
            for together in (False, True)[: len(ways)]
        )
        there, expected = (one.score(TEXTS[:5], TEXTS[5:10]) for one in (encoder, here))
        report["rows apart"] = max(report.get("rows apart", 0.0), float(np.abs(there - expected).max()))
    elif hasattr(encoder, "reconstruct"):
        report["translations"] = encoder.reconstruct(TEXTS[:5]) == here.reconstruct(TEXTS[:5])
    if "head" in options:
        examples, labels = HEADS[type(options["head"]).__name__]
        if labels is not None:
            there, expected = (np.asarray(one.predict(examples)) for one in (encoder, here))
            close = there == expected if there.dtype.kind == "U" else np.isclose(there, expected, atol=1e-4)
            report["translations"] = bool(close.all())
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
