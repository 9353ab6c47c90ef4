"""The layers of the mean-max attention autoencoder (Zhang et al. 2018) that its recurrent twin has, too."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Attention(nn.Module):
    """Several heads; `relu` and `bias` are of the projections."""

    def __init__(
        self,
        features: int,
        hidden: int,
        heads: int,
        relu: bool,
        bias: bool,
        output_projection: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(features, hidden, bias) for _ in range(3))
        self.output = nn.Linear(hidden, hidden, bias) if output_projection else nn.Identity()
        self.heads, self.relu, self.dropout = heads, relu, dropout

    def project(self, layer: nn.Module, x: Tensor) -> Tensor:
        x = layer(x)
        if self.relu:
            x = x.relu()
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Mask: [batch, 1, 1 or time, keys]."""
        heads = functional.scaled_dot_product_attention(
            self.project(self.query, x),
            self.project(self.key, memory),
            self.project(self.value, memory),
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
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

    def __init__(
        self,
        hidden: int,
        inner: int,
        heads: int,
        relu: bool,
        bias: bool,
        output_projection: bool,
        weight_dropout: float,
        layer_dropout: float,
        epsilon: float,
    ) -> None:
        super().__init__()
        self.norm_a = nn.LayerNorm(hidden, epsilon)
        self.attention = Attention(hidden, hidden, heads, relu, bias, output_projection, weight_dropout)
        self.norm_z = nn.LayerNorm(hidden, epsilon)
        self.feed_forward = FeedForward(hidden, inner)
        self.norm_h = nn.LayerNorm(hidden, epsilon)
        self.drop = nn.Dropout(layer_dropout)

    def forward(self, a: Tensor, z: Tensor) -> Tensor:
        a = self.norm_a(self.drop(a))
        a = self.norm_z(self.drop(self.attention(a, z)) + a)
        return self.norm_h(self.drop(self.feed_forward(a)) + a)

    def weights(self, a: Tensor, z: Tensor) -> Tensor:
        return self.attention.weights(self.norm_a(self.drop(a)), z)
