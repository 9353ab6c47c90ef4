"""The CNN-LSTM autoencoder (Gan et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .autoencoder import Autoencoder, mask_of
from .denoising import StateDecoder


class Convolutional(Autoencoder):
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
        self.windows = tuple(windows)
        for window in windows:
            self.add_module(f"convolution_{window}", nn.Conv1d(features, filters, window))
        self.decoder = StateDecoder(features, len(windows) * filters, hidden)
        self.drop_input = nn.Dropout(dropout)

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

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        return self.decoder(z, self.drop_input(y), lengths)
