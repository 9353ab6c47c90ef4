"""The layers that the mean-max attention autoencoder and its recurrent twin share (Zhang et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .autoencoder import Autoencoder, mask_of, pool


@dataclass(frozen=True)
class Options:
    """Options of the attention layers; `relu` and `bias` are those of the projections."""

    heads: int
    relu: bool
    bias: bool
    output_projection: bool
    dropout: float
    weight_dropout: float
    layer_dropout: float
    epsilon: float


class Attention(nn.Module):
    """Multi-head attention."""

    def __init__(self, features: int, hidden: int, options: Options) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(features, hidden, options.bias) for _ in range(3))
        self.output = nn.Linear(hidden, hidden, options.bias) if options.output_projection else nn.Identity()
        self.options = options

    def project(self, layer: nn.Module, x: Tensor) -> Tensor:
        x = layer(x)
        if self.options.relu:
            x = x.relu()
        return x.unflatten(2, (self.options.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mask: [batch, 1, 1 or time, keys]."""
        heads = functional.scaled_dot_product_attention(
            self.project(self.query, x),
            self.project(self.key, memory),
            self.project(self.value, memory),
            attn_mask=mask,
            dropout_p=self.options.weight_dropout if self.training else 0.0,
        )
        return self.output(heads.transpose(1, 2).flatten(2))

    def weights(self, x: Tensor, memory: Tensor) -> Tensor:
        q, k = self.project(self.query, x), self.project(self.key, memory)
        return torch.softmax(q @ k.transpose(2, 3) / q.shape[3] ** 0.5, 3)


class FeedForward(nn.Module):
    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(hidden, inner), nn.Linear(inner, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(x).relu())


class Latent(nn.Module):
    """Equations 16 to 20."""

    def __init__(self, hidden: int, inner: int, options: Options) -> None:
        super().__init__()
        self.norm_a = nn.LayerNorm(hidden, options.epsilon)
        self.attention = Attention(hidden, hidden, options)
        self.norm_z = nn.LayerNorm(hidden, options.epsilon)
        self.feed_forward = FeedForward(hidden, inner)
        self.norm_h = nn.LayerNorm(hidden, options.epsilon)
        self.drop = nn.Dropout(options.layer_dropout)

    def forward(self, a: Tensor, z: Tensor) -> Tensor:
        a = self.norm_a(self.drop(a))
        a = self.norm_z(self.drop(self.attention(a, z)) + a)
        return self.norm_h(self.drop(self.feed_forward(a)) + a)

    def weights(self, a: Tensor, z: Tensor) -> Tensor:
        return self.attention.weights(self.norm_a(self.drop(a)), z)


class LatentAutoencoder(Autoencoder):
    """Pools the encoder states; the decoder states attend to the poolings."""

    latent: Latent

    def __init__(
        self,
        words: int,
        features: int,
        hidden: int,
        heads: int = 8,
        pooling: str = "mean_max",
        dropout: float = 0.5,
        dropout_place: str = "weights",
        projection: str = "none",
        projection_bias: bool = False,
        output_projection: bool = False,
        epsilon: float = 1e-5,
        **rest: Any,
    ) -> None:
        super().__init__(words, features, hidden, **rest)
        self.pooling, self.hidden = pooling, hidden
        on_weights = dropout_place == "weights"
        self.options = Options(
            heads=heads,
            relu=projection == "relu",
            bias=projection_bias,
            output_projection=output_projection,
            dropout=dropout,
            weight_dropout=dropout if on_weights else 0.0,
            layer_dropout=0.0 if on_weights else dropout,
            epsilon=epsilon,
        )

    def encoder_states(self, x: Tensor, lengths: Tensor) -> Tensor:
        raise NotImplementedError

    def decoder_states(self, y: Tensor, lengths: Tensor) -> Tensor:
        raise NotImplementedError

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        return pool(self.encoder_states(x, lengths), mask_of(x, lengths), self.pooling)

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        return self.latent(self.decoder_states(y, lengths), z.unflatten(1, (-1, self.hidden)))

    def attention(self, ids: Tensor, lengths: Tensor) -> Tensor:
        z = self.encode(self.table(ids), lengths).unflatten(1, (-1, self.hidden))
        return self.latent.weights(self.decoder_states(self.table(self.shifted_right(ids)), lengths), z)
