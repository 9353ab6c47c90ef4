"""Every family by its public class: options to compare devices and at its paper's size, data, eager twin."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from common import TOKENIZER, text, word_vectors

ARCHITECTURES = (
    "attn",
    "attn_ctx",
    "attn_attn",
    "final",
    "final_ctx",
    "avgpool",
    "avgpool_ctx",
    "maxpool",
    "maxpool_ctx",
    "trf",
    "trf_attn_attn",
)
# Trained on ordered text.
ORDERED = ("CompositeCNN", "FastSent", "HierarchicalCNN", "RNNCNN", "SkipThoughts")


@dataclass(frozen=True)
class Case:
    """A family, or a variant of it.

    Attributes:
        family: The public class.
        options: Of every size.
        small: For the comparison of devices, without anything random.
        paper: For speed.
        data: "sentences", "pairs" with labels, or "translations".
        twin: Module and class of the eager network, in benchmarks/eager.
        timed: Whether it is among what is measured.
    """

    family: str
    data: str = "sentences"
    options: dict[str, Any] = field(default_factory=dict)
    small: dict[str, Any] = field(default_factory=dict)
    paper: dict[str, Any] = field(default_factory=dict)
    twin: tuple[str, str] | None = None
    timed: bool = True


def cases() -> dict[str, Case]:
    quiet = {"dropout": 0.0}
    attending = {"hidden": 256, "heads": 8, **quiet}
    ordered: dict[str, Any] = {
        "small": {"hidden": 256, "filters": 64, **quiet},
        "paper": {"hidden": 600, "filters": 800, **quiet},
    }
    families = {
        "MeanMaxAAE": Case(
            "MeanMaxAAE", small=attending, paper={"hidden": 2048}, twin=("mean_max", "MeanMax")
        ),
        "RAE": Case(
            "RAE", small=attending, paper={"hidden": 2048}, twin=("recurrent_autoencoder", "Recurrent")
        ),
        "LSTMSDAE": Case(
            "LSTMSDAE",
            small={"hidden": 256, "drop_words": 0.0, "swap_words": 0.0, **quiet},
            paper={"hidden": 2048},
            twin=("denoising", "Denoising"),
        ),
        "CNNLSTMAE": Case(
            "CNNLSTMAE",
            small={"hidden": 256, "filters": 64, **quiet},
            paper={"hidden": 2048, "filters": 800},
            twin=("convolutional", "Convolutional"),
        ),
        "SkipThoughts": Case(
            "SkipThoughts", small={"hidden": 256}, paper={"hidden": 1200}, twin=("context", "SkipThoughts")
        ),
        "SkipThoughts, layer norm": Case(
            "SkipThoughts", options={"layer_norm": True}, small={"hidden": 256}, timed=False
        ),
        "CompositeCNN": Case("CompositeCNN", twin=("convolutional", "Composite"), **ordered),
        "HierarchicalCNN": Case("HierarchicalCNN", twin=("convolutional", "Hierarchical"), **ordered),
        "FastSent": Case("FastSent", small={"autoencode": True}, twin=("context", "FastSent")),
    }
    for decoder in ("cnn", "rnn", "autoregressive_cnn", "autoregressive_rnn"):
        families[f"RNNCNN, {decoder}"] = Case(
            "RNNCNN",
            options={"decoder": decoder},
            small={"hidden": 128, "channels": 64, "inner": 64},
            paper={"hidden": 300},
            twin=("context", "Context"),
        )
    for pooling in ("generalized", "scalar", "mean_max"):
        families[f"GeneralizedPooling, {pooling}"] = Case(
            "GeneralizedPooling",
            data="pairs",
            options={"pooling": pooling},
            small={"hidden": 64, "attention_hidden": 48, "layers": 2, "character_filters": 16, **quiet},
            paper={"hidden": 300, "attention_hidden": 300, "layers": 1, "characters": False, **quiet},
            twin=("generalized_pooling", "GeneralizedPooling"),
            timed=pooling != "mean_max",
        )
    for architecture in ARCHITECTURES:
        sizes = {
            "features": 64,
            "hidden": 64,
            "decoder_hidden": 128,
            "attention": 64,
            "heads": 4,
            "layers": 1,
        }
        families[f"CompoundNMT, {architecture}"] = Case(
            "CompoundNMT",
            data="translations",
            options={"architecture": architecture},
            small={
                **sizes,
                **quiet,
                **({"hidden": 32, "inner": 128, "attention_heads": 4} if "trf" in architecture else {}),
            },
            paper={"heads": 8},
            twin=("translation", "Translation") if architecture in ("attn", "attn_attn") else None,
            timed=architecture in ("attn", "attn_attn"),
        )
    return families


class Data:
    """What families learn from, read once.

    Args:
        args: Options of the part.
        sentences: How many of the books.
        pairs: How many labelled pairs, and translations.
        trained: How many of the sentences to train on; default: all.
    """

    def __init__(
        self, args: argparse.Namespace, sentences: int, pairs: int, trained: int | None = None
    ) -> None:
        import gzip

        import sentencode as se

        self.vectors = word_vectors(args)
        # As many words as in the paper, whichever of them the sample has.
        words = self.vectors.words
        self.vocabulary = se.Vocabulary({word: len(words) - i for i, word in enumerate(words)})
        self.sentences = text(args, sentences)
        self.trained = self.sentences[:trained]
        folder = args.kit / "data" / "senteval" / "downstream" / "SNLI"
        sides = [
            (folder / f"{name}.dev").read_text(encoding="utf-8").splitlines()[:pairs]
            for name in ("s1", "s2", "labels")
        ]
        self.pairs, self.labels = list(zip(*sides[:2], strict=True)), sides[2]
        self.translations = []
        for language in ("en", "de"):
            path = args.kit / "data" / "multi30k" / f"train.{language}.gz"
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                self.translations.append([line.strip() for line in itertools.islice(lines, pairs)])

    def encoded(self, case: Case, count: int) -> list[str]:
        """Sentences to encode."""
        if case.data == "translations":
            return self.translations[0][:count]
        return [line for line in self.sentences if line.strip()][:count]

    def make(self, case: Case, sizes: dict[str, Any], device: str, **training: Any) -> Any:
        """The encoder, not fitted."""
        import sentencode as se

        options = {"preset": "paper", **case.options, **sizes, **training, **TOKENIZER}
        options |= {"device": device, "max_epochs": None}
        if case.data == "pairs":
            options["head"] = se.Classifier(hidden=300, dropout=0.0)
        vectors = [] if case.data == "translations" else [self.vectors]
        return getattr(se, case.family)(*vectors, **options)

    def fit(self, case: Case, encoder: Any, **options: Any) -> Any:
        if case.data == "pairs":
            return encoder.fit(self.pairs, self.labels, **options)
        if case.data == "translations":
            return encoder.fit(*self.translations, **options)
        return encoder.fit(self.trained, **options)


class Recorder:
    """Keeps the model and the batches of each training, so that the eager twin takes the same ones."""

    def __init__(self) -> None:
        from sentencode.models import neural_training

        self.model: Any = None
        self.batches: Any = None
        trainer, recorder = neural_training.Trainer, self

        class Recorded(trainer):  # type: ignore[misc, valid-type]
            def __init__(self, model: Any, train: Any, *rest: Any, **options: Any) -> None:
                recorder.model, recorder.batches = model, train
                super().__init__(model, train, *rest, **options)

        neural_training.Trainer = Recorded  # type: ignore[misc]

    def again(self) -> Iterator[Any]:
        """The batches from the first one on, without an end."""
        self.batches.resume({"epoch": 0, "step": 0})
        while True:
            yield from self.batches


def twin_of(case: Case, encoder: Any, device: str) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
    """The eager network with the weights of ours, and its loss of a batch: the sum, and how many count."""
    import importlib

    import torch

    assert case.twin is not None
    twin_class = getattr(importlib.import_module(f"eager.{case.twin[0]}"), case.twin[1])
    network = encoder.network
    config = {key: value for key, value in network._config.items() if key != "sampled_words"}
    if case.family == "GeneralizedPooling":
        return pooling_twin(twin_class, encoder, device)
    if case.family == "CompoundNMT":
        import inspect

        names = inspect.signature(twin_class.__init__).parameters
        config = {name: value for name, value in config.items() if name in names}
    twin = twin_class(**config)
    state = network.state_dict()
    with torch.no_grad():
        for name, tensor in (twin.core_state() if hasattr(twin, "core_state") else twin.state_dict()).items():
            if name in state:
                tensor.copy_(state[name])
    twin.to(device)
    fields = {
        "RNNCNN": ("tokens", "following"),
        "CompositeCNN": ("tokens", "next"),
        "HierarchicalCNN": ("tokens", *(f"next_{i}" for i in range(1, 5))),
        "FastSent": ("tokens", "previous", "next"),
        "SkipThoughts": ("tokens", "previous", "next"),
        "CompoundNMT": ("source", "target"),
    }.get(case.family, ("tokens",))

    def loss(batch: Any) -> tuple[Any, Any]:
        tensors = []
        for name in fields:
            tensors.append(torch.from_numpy(batch.ids[name]).to(device, non_blocking=True))
            lengths = torch.from_numpy(batch.lengths[name])
            # Packing reads lengths on the processor; masks move them where they are needed.
            tensors.append(lengths)
        outputs = twin.loss(*tensors)
        if isinstance(outputs, tuple):
            return outputs[0], outputs[1]
        return outputs, int(tensors[3].sum())

    return twin, loss


def pooling_twin(twin_class: Any, encoder: Any, device: str) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
    import torch
    from eager.generalized_pooling import Classifier

    config = encoder.network._config
    names = (
        "hidden",
        "layers",
        "shortcuts",
        "pooling",
        "heads",
        "attention_hidden",
        "attention_activation",
        "boundaries",
    )
    network = twin_class(config["features"], **{name: config[name] for name in names})
    head = Classifier(4 * encoder.dim, 3, 300)
    twin = torch.nn.ModuleDict({"network": network, "head": head}).to(device)
    state = encoder.network.state_dict()
    with torch.no_grad():
        for name, tensor in network.core_state().items():
            tensor.copy_(state[name])
    table: dict[str, Any] = {}

    def loss(batch: Any) -> tuple[Any, Any]:
        if not table:
            words = 1 + max(int(ids.max()) for ids in batch.ids.values())
            table["rows"] = torch.randn(max(words, 20_000), config["features"], device=device) * 0.4
        rows = []
        for name in batch.ids:
            ids = torch.from_numpy(batch.ids[name]).to(device, non_blocking=True)
            rows.append(network.encode(table["rows"][ids], torch.from_numpy(batch.lengths[name]).to(device)))
        labels = torch.from_numpy(batch.labels).to(device, non_blocking=True)
        return torch.nn.functional.cross_entropy(head(*rows), labels, reduction="sum"), len(batch)

    return twin, loss


def eager_encoder(case: Case, encoder: Any, twin: Any, device: str) -> Callable[[list[str]], Any]:
    """list[str] to a float32 array, as one would write it first: batches of 64 in the given order, padded."""
    import numpy as np
    import torch

    network = twin["network"] if case.family == "GeneralizedPooling" else twin
    if case.family == "CompoundNMT":
        words, table = encoder.vocabulary_.words, encoder.network.state_dict()["source.weight"].to(device)
        unknown: int | None = len(words)
    else:
        words, unknown = encoder.words_.words, None
        table = torch.from_numpy(np.stack([encoder.words_[word] for word in words])).to(device)
        if case.family in ORDERED:  # they read the rows that they have trained
            learnt = encoder.network.state_dict()["table.weight"].to(device)
            ids = {word: i for i, word in enumerate(words)}
            chosen = torch.tensor([ids[word] for word in encoder.vocabulary_.words], device=device)
            table[chosen] = learnt[: len(chosen)]
    ids_of = {word: i for i, word in enumerate(words)}
    tokenizer = encoder._fitted_tokenizer
    end: int | None = None
    if case.family in ("MeanMaxAAE", "RAE", "LSTMSDAE", "CNNLSTMAE", "CompositeCNN", "HierarchicalCNN"):
        end, row = len(table), network.table.weight[encoder.network._config["end"]].detach()
        table = torch.cat([table, row[None]])

    def encode(lines: list[str]) -> Any:
        out = np.zeros((len(lines), encoder.dim), np.float32)
        with torch.inference_mode():
            for begin in range(0, len(lines), 64):
                tokens = tokenizer(lines[begin : begin + 64])
                ids = [
                    [ids_of.get(w, unknown) for w in line if w in ids_of or unknown is not None]
                    for line in tokens
                ]
                lengths = torch.tensor([max(1, len(row) + (end is not None)) for row in ids])
                padded = np.zeros((len(ids), int(lengths.max())), np.int64)
                for row, known in zip(padded, ids, strict=True):
                    row[: len(known)] = known
                    if end is not None:
                        row[len(known)] = end
                x = table[torch.from_numpy(padded).to(device)]
                z = network.encode(x, lengths.to(device) if case.family == "GeneralizedPooling" else lengths)
                known_rows = np.array([[len(row) > 0] for row in ids])
                out[begin : begin + 64] = z.flatten(1).cpu().numpy() * known_rows
        return out

    return encode
