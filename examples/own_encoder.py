"""An encoder with a network of your own, in PyTorch: trained, saved and loaded like the built-in ones.

    python examples/own_encoder.py

It learns from labelled sentences: one part of the demo's books against another.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import torch

import sentencode as se
from sentencode.models import Inputs, NeuralEncoder


class Bag(torch.nn.Module):
    """A linear layer of the mean of the word vectors; a second one predicts the label."""

    def __init__(self, words: int, features: int, hidden: int = 64, classes: int = 2) -> None:
        super().__init__()
        self.words, self.features, self.dim = words, features, hidden
        self.table = torch.nn.Embedding(words, features)
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


def main() -> None:
    """Trains, saves, loads and encodes."""
    text = resources.files("sentencode") / "data/demo_sentences.txt"
    sentences = list(se.Corpus(text))
    labels = [int(i >= len(sentences) // 2) for i in range(len(sentences))]
    held_out = sentences[::5], labels[::5]
    rest = [i for i in range(len(sentences)) if i % 5]

    encoder = BagEncoder(se.WordVectors.default(), hidden=32, learning_rate=3e-3, max_epochs=5, device="cpu")
    encoder.fit([sentences[i] for i in rest], [labels[i] for i in rest], valid=held_out)
    print(f"held out: {100 * encoder.history_.validations[-1].accuracy:.0f} % right")

    encoder.save("bag.sentencode")
    again = se.load("bag.sentencode")
    print(again.encode("A ship was lost in the storm.").shape)


if __name__ == "__main__":
    main()
