"""The recurrent twin of the mean-max attention autoencoder (RAE; Zhang et al. 2018, section 4.4)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .latent import Latent, LatentAutoencoder


def run(rnn: nn.RNNBase, x: Tensor, lengths: Tensor, state: Any = None) -> tuple[Tensor, Any]:
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    output, last = rnn(packed, state)
    return pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])[0], last


class Recurrent(LatentAutoencoder):
    def __init__(self, words: int, features: int, hidden: int, inner: int, **options: Any) -> None:
        super().__init__(words, features, hidden, **options)
        self.encoder = nn.LSTM(features, hidden // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(features, hidden, batch_first=True)
        self.latent = Latent(hidden, inner, self.options)
        self.drop_input = nn.Dropout(self.options.dropout)

    def encoder_states(self, x: Tensor, lengths: Tensor) -> Tensor:
        return run(self.encoder, self.drop_input(x), lengths)[0]

    def decoder_states(self, y: Tensor, lengths: Tensor) -> Tensor:
        return run(self.decoder, self.drop_input(y), lengths)[0]
