"""The recurrent twin of the mean-max attention autoencoder (RAE; Zhang et al. 2018, section 4.4)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .autoencoder import Autoencoder, mask_of, pool
from .latent import Latent


def run(lstm: nn.LSTM, x: Tensor, lengths: Tensor, state: Any = None) -> tuple[Tensor, Any]:
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    output, last = lstm(packed, state)
    return pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])[0], last


class Recurrent(Autoencoder):
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
        projection: str = "none",
        projection_bias: bool = False,
        output_projection: bool = False,
        epsilon: float = 1e-5,
        **rest: Any,
    ) -> None:
        super().__init__(words, features, hidden, **rest)
        self.pooling, self.hidden = pooling, hidden
        on_weights = dropout_place == "weights"
        self.encoder = nn.LSTM(features, hidden // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(features, hidden, batch_first=True)
        self.latent = Latent(
            hidden,
            inner,
            heads,
            projection == "relu",
            projection_bias,
            output_projection,
            dropout if on_weights else 0.0,
            0.0 if on_weights else dropout,
            epsilon,
        )
        self.drop_input = nn.Dropout(dropout)

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        h, _ = run(self.encoder, self.drop_input(x), lengths)
        return pool(h, mask_of(x, lengths), self.pooling)

    def recur(self, y: Tensor, lengths: Tensor) -> Tensor:
        return run(self.decoder, self.drop_input(y), lengths)[0]

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        return self.latent(self.recur(y, lengths), z.unflatten(1, (-1, self.hidden)))

    def attention(self, ids: Tensor, lengths: Tensor) -> Tensor:
        z = self.encode(self.table(ids), lengths).unflatten(1, (-1, self.hidden))
        return self.latent.weights(self.recur(self.table(self.before(ids)), lengths), z)
