"""The mean-max attention autoencoder (Zhang et al. 2018)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .autoencoder import Autoencoder, mask_of, pool
from .latent import Attention, FeedForward, Latent


class Positions(nn.Module):
    """Sinusoids, or a table of `places`, the last of which is that of all words beyond it."""

    def __init__(self, features: int, kind: str, places: int) -> None:
        super().__init__()
        self.features = features
        self.weight = nn.Parameter(torch.randn(places, features) * 0.1) if kind == "learnt" else None

    def forward(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1], device=x.device)
        if self.weight is not None:
            return self.weight[places.clamp_max(len(self.weight) - 1)]
        dimension = torch.arange(self.features, device=x.device)
        angle = places[:, None].double() / 10000.0 ** ((dimension - dimension % 2) / self.features)
        return torch.where(dimension % 2 == 0, angle.sin(), angle.cos()).to(x.dtype)


class Encoder(nn.Module):
    def __init__(self, features: int, hidden: int, inner: int, positions: Positions, **options: Any) -> None:
        super().__init__()
        self.positions = positions
        self.attention = Attention(
            features,
            hidden,
            options["heads"],
            options["relu"],
            options["bias"],
            options["output_projection"],
            options["weight_dropout"],
        )
        self.norm_a = nn.LayerNorm(hidden, options["epsilon"])
        self.feed_forward = FeedForward(hidden, inner)
        self.norm_h = nn.LayerNorm(hidden, options["epsilon"])
        self.drop_input = nn.Dropout(options["dropout"])
        self.drop = nn.Dropout(options["layer_dropout"])

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.drop_input(x + self.positions(x))
        a = self.norm_a(self.drop(self.attention(x, x, mask[:, None, None])))
        return self.norm_h(self.drop(self.feed_forward(a)) + a)


class Decoder(nn.Module):
    def __init__(self, features: int, hidden: int, inner: int, positions: Positions, **options: Any) -> None:
        super().__init__()
        heads, relu, bias = options["heads"], options["relu"], options["bias"]
        output = options["output_projection"]
        self.positions = positions
        self.attention = Attention(features, hidden, heads, relu, bias, output, options["weight_dropout"])
        self.latent = Latent(
            hidden,
            inner,
            heads,
            relu,
            bias,
            output,
            options["weight_dropout"],
            options["layer_dropout"],
            options["epsilon"],
        )
        self.drop_input = nn.Dropout(options["dropout"])

    def attend(self, y: Tensor) -> Tensor:
        y = self.drop_input(y + self.positions(y))
        time = y.shape[1]
        return self.attention(y, y, torch.ones(time, time, dtype=torch.bool, device=y.device).tril())

    def forward(self, y: Tensor, z: Tensor) -> Tensor:
        return self.latent(self.attend(y), z)


class MeanMax(Autoencoder):
    def __init__(
        self,
        words: int,
        features: int,
        hidden: int,
        inner: int,
        heads: int = 8,
        pooling: str = "mean_max",
        dropout: float = 0.5,
        dropout_place: str = "weights",
        positions: str = "sinusoidal",
        places: int = 34,
        projection: str = "none",
        projection_bias: bool = False,
        output_projection: bool = False,
        epsilon: float = 1e-5,
        **rest: Any,
    ) -> None:
        super().__init__(words, features, hidden, **rest)
        self.pooling, self.hidden = pooling, hidden
        on_weights = dropout_place == "weights"
        options = {
            "heads": heads,
            "relu": projection == "relu",
            "bias": projection_bias,
            "output_projection": output_projection,
            "dropout": dropout,
            "weight_dropout": dropout if on_weights else 0.0,
            "layer_dropout": 0.0 if on_weights else dropout,
            "epsilon": epsilon,
        }
        self.encoder = Encoder(features, hidden, inner, Positions(features, positions, places), **options)
        self.decoder = Decoder(features, hidden, inner, Positions(features, positions, places), **options)

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        mask = mask_of(x, lengths)
        return pool(self.encoder(x, mask), mask, self.pooling)

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        return self.decoder(y, z.unflatten(1, (-1, self.hidden)))

    def attention(self, ids: Tensor, lengths: Tensor) -> Tensor:
        z = self.encode(self.table(ids), lengths).unflatten(1, (-1, self.hidden))
        return self.decoder.latent.weights(self.decoder.attend(self.table(self.before(ids))), z)
