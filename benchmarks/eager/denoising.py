"""The sequential denoising autoencoder (LSTM-SDAE; Hill et al. 2016)."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import Tensor, nn

from .autoencoder import Autoencoder
from .recurrent_autoencoder import run


class StateDecoder(nn.Module):
    """An LSTM whose initial state is computed from z."""

    def __init__(self, features: int, code: int, hidden: int) -> None:
        super().__init__()
        self.begin = nn.Linear(code, 2 * hidden)
        self.lstm = nn.LSTM(features, hidden, batch_first=True)

    def forward(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        h, c = self.begin(z).tanh().chunk(2, 1)
        return run(self.lstm, y, lengths, (h[None].contiguous(), c[None].contiguous()))[0]


def noisy(sentence: list[int], drop_words: float, swap_words: float) -> list[int]:
    """Drop words, and swap neighbours, at random; the sentence has no end symbol."""
    words = [word for word in sentence if random.random() >= drop_words]
    for i in range(0, len(words) - 1, 2):
        if random.random() < swap_words:
            words[i], words[i + 1] = words[i + 1], words[i]
    return words


class Denoising(Autoencoder):
    def __init__(
        self,
        words: int,
        features: int,
        hidden: int,
        dropout: float = 0.5,
        drop_words: float = 0.1,
        swap_words: float = 0.1,
        **options: Any,
    ) -> None:
        super().__init__(words, features, hidden, **options)
        self.drop_words, self.swap_words = drop_words, swap_words
        self.encoder = nn.LSTM(features, hidden, batch_first=True)
        self.decoder = StateDecoder(features, hidden, hidden)
        self.drop_input = nn.Dropout(dropout)

    def noisy(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        sentences = [
            [*noisy(row[: n - 1], self.drop_words, self.swap_words), self.end]
            for row, n in zip(ids.tolist(), lengths.tolist(), strict=True)
        ]
        rows = [torch.tensor(sentence) for sentence in sentences]
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.end)
        return padded.to(ids.device), torch.tensor([len(row) for row in rows])

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        _, (h, _) = run(self.encoder, self.drop_input(x), lengths)
        return h[0]

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        return self.decoder(z, self.drop_input(y), lengths)
