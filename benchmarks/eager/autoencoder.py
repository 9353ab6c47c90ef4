"""What the networks share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def mask_of(x: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(x.shape[1], device=x.device) < lengths.to(x.device)[:, None]


def pool(h: Tensor, mask: Tensor, pooling: str) -> Tensor:
    shown = mask[:, :, None]
    mean = (h * shown).sum(1) / shown.sum(1)
    top = h.masked_fill(~shown, -torch.inf).max(1).values
    return {"mean": mean, "max": top, "mean_max": torch.cat([mean, top], 1)}[pooling]


class Autoencoder(nn.Module):
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
        super().__init__()
        self.begin, self.end, self.label_smoothing = begin, end, label_smoothing
        self.table = nn.Embedding(words, features)
        self.table.weight.requires_grad_(trainable_words)
        self.softmax = nn.Linear(states, words)

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        raise NotImplementedError

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        raise NotImplementedError

    def noisy(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        return ids, lengths

    def before(self, ids: Tensor) -> Tensor:
        return torch.cat([torch.full_like(ids[:, :1], self.begin), ids[:, :-1]], 1)

    def loss(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, int, Tensor]:
        """Sum over words, how many there are, how many are right."""
        seen, left = self.noisy(ids, lengths) if self.training else (ids, lengths)
        z = self.encode(self.table(seen), left)
        logits = self.softmax(self.decode(z, self.table(self.before(ids)), lengths))
        targets = ids.masked_fill(~mask_of(ids, lengths), -100)
        smoothing = self.label_smoothing if self.training else 0.0
        total = functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, reduction="sum"
        )
        return total, int(lengths.sum()), (logits.argmax(2) == targets).sum()
