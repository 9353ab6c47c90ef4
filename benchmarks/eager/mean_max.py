"""The mean-max attention autoencoder (Zhang et al. 2018)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .autoencoder import mask_of
from .latent import Attention, FeedForward, Latent, LatentAutoencoder, Options


class Positions(nn.Module):
    """Sinusoids, or a learnt table of `size` rows; later positions get its last row."""

    def __init__(self, features: int, kind: str, size: int) -> None:
        super().__init__()
        self.features = features
        self.weight = nn.Parameter(torch.randn(size, features) * 0.1) if kind == "learnt" else None

    def forward(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1], device=x.device)
        if self.weight is not None:
            return self.weight[positions.clamp_max(len(self.weight) - 1)]
        dimension = torch.arange(self.features, device=x.device).double()
        angle = positions[:, None] / 10000.0 ** ((dimension - dimension % 2) / self.features)
        return torch.where(dimension % 2 == 0, angle.sin(), angle.cos()).to(x.dtype)


class Encoder(nn.Module):
    def __init__(
        self, features: int, hidden: int, inner: int, positions: Positions, options: Options
    ) -> None:
        super().__init__()
        self.positions = positions
        self.attention = Attention(features, hidden, options)
        self.norm_a = nn.LayerNorm(hidden, options.epsilon)
        self.feed_forward = FeedForward(hidden, inner)
        self.norm_h = nn.LayerNorm(hidden, options.epsilon)
        self.drop_input = nn.Dropout(options.dropout)
        self.drop = nn.Dropout(options.layer_dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.drop_input(x + self.positions(x))
        a = self.norm_a(self.drop(self.attention(x, x, mask[:, None, None])))
        return self.norm_h(self.drop(self.feed_forward(a)) + a)


class Decoder(nn.Module):
    def __init__(
        self, features: int, hidden: int, inner: int, positions: Positions, options: Options
    ) -> None:
        super().__init__()
        self.positions = positions
        self.attention = Attention(features, hidden, options)
        self.latent = Latent(hidden, inner, options)
        self.drop_input = nn.Dropout(options.dropout)

    def forward(self, y: Tensor) -> Tensor:
        y = self.drop_input(y + self.positions(y))
        time = y.shape[1]
        return self.attention(y, y, torch.ones(time, time, dtype=torch.bool, device=y.device).tril())


class MeanMax(LatentAutoencoder):
    def __init__(
        self,
        words: int,
        features: int,
        hidden: int,
        inner: int,
        positions: str = "sinusoidal",
        places: int = 34,
        **options: Any,
    ) -> None:
        super().__init__(words, features, hidden, **options)
        self.encoder, self.decoder = (
            part(features, hidden, inner, Positions(features, positions, places), self.options)
            for part in (Encoder, Decoder)
        )

    @property
    def latent(self) -> Latent:
        return self.decoder.latent

    def encoder_states(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.encoder(x, mask_of(x, lengths))

    def decoder_states(self, y: Tensor, lengths: Tensor) -> Tensor:
        return self.decoder(y)
