"""An encoder with a network of your own, in PyTorch: trained, saved and loaded like the built-in ones.

    python examples/own_encoder.py [train.tsv dev.tsv]

The files have a label and a sentence on each line. Without files, it learns to distinguish 300 built-in
sentences of some novels from 300 of other novels.
"""

from __future__ import annotations

import sys
from importlib import resources
from typing import Any

import torch

import sentencode as se
from sentencode.evaluation import Labelled, read_labelled
from sentencode.models import Inputs, NeuralEncoder


class Bag(torch.nn.Module):
    """A linear layer of the mean of the word vectors; a second one predicts the label."""

    def __init__(self, words: int, features: int, hidden: int = 64, classes: int = 2) -> None:
        super().__init__()
        self.words, self.features, self.dim = words, features, hidden
        self.table = torch.nn.Embedding(words, features).requires_grad_(False)  # as `encode` reads them
        self.layer = torch.nn.Linear(features, hidden)
        self.scores = torch.nn.Linear(hidden, classes)

    def load_words(self, rows: torch.Tensor) -> None:
        """Initialises the word embeddings with the vectors of the vocabulary."""
        self.table.weight.copy_(rows)

    def encode(self, inputs: Inputs) -> torch.Tensor:
        """Embeddings [batch, dim] of sentences of any words with vectors."""
        mean = inputs.x.sum(1) / inputs.lengths.clamp_min(1)[:, None]  # zero for padding
        return torch.tanh(self.layer(mean))

    def loss(self, batch: Any) -> tuple[torch.Tensor, int, torch.Tensor]:
        """The summed loss of a batch of ids, the number of sentences, and of correct predictions."""
        lengths, mask = batch.lengths["tokens"], batch.mask["tokens"]
        x = self.table(batch.ids["tokens"]) * mask[..., None]
        scores = self.scores(self.encode(Inputs(x, lengths, mask)))
        loss = torch.nn.functional.cross_entropy(scores, batch.labels, reduction="sum")
        return loss, len(batch), (scores.argmax(1) == batch.labels).sum()


class BagEncoder(NeuralEncoder):
    """The encoder, with the parameters `hidden` and `classes` and those of all neural encoders."""

    network_class = Bag


def novels() -> tuple[Labelled, Labelled]:
    """Sentences of two groups of novels; every fifth is held out."""
    sentences = list(se.Corpus(resources.files("sentencode") / "data/demo_sentences.txt"))
    sentences, labels = sentences[:300] + sentences[800:1100], [0] * 300 + [1] * 300
    dev = Labelled(sentences[::5], labels[::5], 0)
    del sentences[::5], labels[::5]
    return Labelled(sentences, labels, 0), dev


def main() -> None:
    """Trains, saves, loads and encodes."""
    train, dev = map(read_labelled, sys.argv[1:3]) if len(sys.argv) > 2 else novels()
    classes = sorted(set(train.labels))
    valid = dev.sentences, [classes.index(label) for label in dev.labels]

    options = {"classes": len(classes), "learning_rate": 3e-3, "max_epochs": 10, "batching": "sorted_buffer"}
    encoder = BagEncoder(se.WordVectors.default(), device="cpu", **options)
    encoder.fit(train.sentences, [classes.index(label) for label in train.labels], valid=valid)
    best = [validation for validation in encoder.history_.validations if validation.best][-1]
    print(f"held out: {100 * best.accuracy:.0f} % right")

    encoder.save("bag.sentencode")
    again = se.load("bag.sentencode")
    print(again.encode("A ship was lost in the storm.").shape)


if __name__ == "__main__":
    main()
