"""The CNN-LSTM autoencoder, composite model and hierarchical model (Gan et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .autoencoder import Autoencoder, mask_of
from .context import TiedWordDecoder
from .denoising import StateDecoder


class Convolutions(nn.Module):
    def add_convolutions(self, features: int, filters: int, windows: Sequence[int], dropout: float) -> int:
        self.windows = tuple(windows)
        for window in windows:
            self.add_module(f"convolution_{window}", nn.Conv1d(features, filters, window))
        self.drop_input = nn.Dropout(dropout)
        return len(windows) * filters

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        x = self.drop_input(x) * mask_of(x, lengths)[:, :, None]
        z = []
        for window in self.windows:
            padded = functional.pad(x.transpose(1, 2), (0, max(0, window - x.shape[1])))
            h = self.get_submodule(f"convolution_{window}")(padded).tanh()
            windows = (lengths.to(x.device) - window + 1).clamp_min(1)
            in_sentence = torch.arange(h.shape[2], device=x.device) < windows[:, None]
            z.append(h.masked_fill(~in_sentence[:, None], -torch.inf).max(2).values)
        return torch.cat(z, 1)


class Convolutional(Convolutions, Autoencoder):
    def __init__(
        self,
        words: int,
        features: int,
        hidden: int,
        filters: int = 800,
        windows: Sequence[int] = (3, 4, 5),
        dropout: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(words, features, hidden, **options)
        dim = self.add_convolutions(features, filters, windows, dropout)
        self.decoder = StateDecoder(features, dim, hidden)

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        return self.decoder(z, self.drop_input(y), lengths)


class OrderedConvolutional(Convolutions, TiedWordDecoder):
    def __init__(
        self,
        words: int,
        features: int,
        hidden: int,
        filters: int = 800,
        windows: Sequence[int] = (3, 4, 5),
        dropout: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(words, features, features, **options)
        self.dim = self.add_convolutions(features, filters, windows, dropout)
        self.narrow = nn.Linear(hidden, features)

    def decoder_loss(self, decoder: StateDecoder, code: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
        h = decoder(code, self.drop_input(self.table(self.shifted_right(ids))), lengths)
        return self.cross_entropy(self.narrow(h), ids, lengths)


class Composite(OrderedConvolutional):
    def __init__(self, words: int, features: int, hidden: int, **options: Any) -> None:
        super().__init__(words, features, hidden, **options)
        self.sentence = StateDecoder(features, self.dim, hidden)
        self.next = StateDecoder(features, self.dim, hidden)

    def loss(self, ids: Tensor, lengths: Tensor, next_ids: Tensor, next_lengths: Tensor) -> Any:
        z = self.encode(self.table(ids), lengths)
        sentence_loss = self.decoder_loss(self.sentence, z, ids, lengths)
        next_loss = self.decoder_loss(self.next, z, next_ids, next_lengths)
        return sentence_loss + next_loss, int(lengths.sum() + next_lengths.sum())


class Hierarchical(OrderedConvolutional):
    def __init__(self, words: int, features: int, hidden: int, **options: Any) -> None:
        super().__init__(words, features, hidden, **options)
        self.paragraph = nn.LSTM(self.dim, hidden, batch_first=True)
        self.next = StateDecoder(features, hidden, hidden)

    def loss(self, *fields: Tensor) -> Any:
        state, total = None, torch.zeros((), dtype=self.table.weight.dtype, device=fields[0].device)
        sentences = list(zip(fields[::2], fields[1::2], strict=True))
        for (ids, lengths), (next_ids, next_lengths) in pairwise(sentences):
            z = self.encode(self.table(ids), lengths)
            u, state = self.paragraph(z[:, None], state)
            total = total + self.decoder_loss(self.next, u[:, 0], next_ids, next_lengths)
        return total, int(sum(lengths.sum() for _, lengths in sentences[1:]))
