"""The parts that the networks share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def mask_of(x: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(x.shape[1], device=x.device) < lengths.to(x.device)[:, None]


def pool(h: Tensor, mask: Tensor, pooling: str) -> Tensor:
    mask = mask[:, :, None]
    mean = (h * mask).sum(1) / mask.sum(1)
    top = h.masked_fill(~mask, -torch.inf).max(1).values
    return {"mean": mean, "max": top, "mean_max": torch.cat([mean, top], 1)}[pooling]


class WordDecoder(nn.Module):
    """The table of words, and the softmax."""

    def __init__(
        self,
        words: int,
        features: int,
        states: int,
        begin: int = 0,
        end: int = 1,
        word_bias: bool = True,
    ) -> None:
        super().__init__()
        self.begin, self.end = begin, end
        self.table = nn.Embedding(words, features)
        self.softmax = nn.Linear(states, words, bias=word_bias)

    def shifted_right(self, ids: Tensor) -> Tensor:
        return torch.cat([torch.full_like(ids[:, :1], self.begin), ids[:, :-1]], 1)


class Autoencoder(WordDecoder):
    def __init__(
        self,
        words: int,
        features: int,
        states: int,
        begin: int = 0,
        end: int = 1,
        trainable_words: bool = False,
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(words, features, states, begin, end)
        self.label_smoothing = label_smoothing
        self.table.weight.requires_grad_(trainable_words)

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        raise NotImplementedError

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        raise NotImplementedError

    def noisy(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        return ids, lengths

    def loss(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, int, Tensor]:
        """Return the sum over all words, their number, and how many of them are predicted."""
        inputs, input_lengths = self.noisy(ids, lengths) if self.training else (ids, lengths)
        z = self.encode(self.table(inputs), input_lengths)
        logits = self.softmax(self.decode(z, self.table(self.shifted_right(ids)), lengths))
        targets = ids.masked_fill(~mask_of(ids, lengths), -100)
        smoothing = self.label_smoothing if self.training else 0.0
        total = functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, reduction="sum"
        )
        return total, int(lengths.sum()), (logits.argmax(2) == targets).sum()
