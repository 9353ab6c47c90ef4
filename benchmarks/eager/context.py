"""RNN-CNN (Tang et al. 2018), skip-thoughts (Kiros et al. 2015) and FastSent (Hill et al. 2016)."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .autoencoder import WordDecoder, mask_of, pool
from .recurrent_autoencoder import run


class TiedWordDecoder(WordDecoder):
    def __init__(
        self, *sizes: int, begin: int = 0, end: int = 1, tied: bool = True, word_bias: bool = True, **_: Any
    ) -> None:
        super().__init__(*sizes, begin, end, word_bias)
        if tied:
            self.softmax.weight = self.table.weight

    def cross_entropy(self, u: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
        mask = mask_of(u, lengths)
        return nn.functional.cross_entropy(self.softmax(u[mask]), ids[mask], reduction="sum")


class Context(TiedWordDecoder):
    def __init__(
        self,
        words: int,
        features: int,
        hidden: int = 300,
        cell: str = "gru",
        pooling: str = "mean_max",
        decoder: str = "cnn",
        predict: int = 30,
        channels: int = 600,
        inner: int = 300,
        window: int = 3,
        decoder_layers: int = 3,
        **options: Any,
    ) -> None:
        super().__init__(words, features, features, **options)
        kinds = {"gru": nn.GRU, "lstm": nn.LSTM}
        self.encoder = kinds[cell](features, hidden, batch_first=True, bidirectional=True)
        self.pooling = pooling
        code = 2 * hidden * (2 if pooling == "mean_max" else 1)
        sizes = predict, channels, inner, window, decoder_layers
        self.decoder = DECODERS[decoder](code, features, *sizes)

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        h, last = run(self.encoder, x, lengths)
        if self.pooling == "last":
            last = last[0] if isinstance(last, tuple) else last
            return torch.cat([last[0], last[1]], 1)
        return pool(h, mask_of(x, lengths), self.pooling)

    def loss(self, ids: Tensor, lengths: Tensor, following: Tensor, following_lengths: Tensor) -> Any:
        z = self.encode(self.table(ids), lengths)
        y = self.table(self.shifted_right(following))
        u = self.decoder(z, y)[:, : following.shape[1]]
        return self.cross_entropy(u, following, following_lengths), int(following_lengths.sum())


class Positions(nn.Module):
    def __init__(self, code: int, positions: int, channels: int) -> None:
        super().__init__()
        self.positions = positions
        self.maps = nn.Linear(code, positions * channels)

    def forward(self, z: Tensor) -> Tensor:
        return self.maps(z).view(len(z), self.positions, -1)


class CNN(nn.Module):
    def __init__(
        self, code: int, features: int, predict: int, channels: int, inner: int, window: int, layers: int
    ) -> None:
        super().__init__()
        self.places = Positions(code, predict, channels)
        self.window = window
        widths = [channels, *[inner] * (layers - 2), features]
        self.convolutions = nn.ModuleDict(
            {str(i + 2): nn.Conv1d(*widths[i : i + 2], window) for i in range(layers - 1)}
        )

    def around(self) -> tuple[int, int]:
        left = (self.window - 1) // 2
        return left, self.window - 1 - left

    def convolved(self, x: Tensor) -> Tensor:
        y = x.transpose(1, 2)
        for layer in self.convolutions.values():
            y = layer(nn.functional.pad(y.relu(), self.around()))
        return y.transpose(1, 2)

    def forward(self, z: Tensor, y: Tensor) -> Tensor:
        return self.convolved(self.places(z))


class AutoregressiveCNN(CNN):
    def __init__(self, code: int, features: int, predict: int, channels: int, *rest: int) -> None:
        super().__init__(code, features, predict, channels, *rest)
        self.word = nn.Linear(features, channels, bias=False)

    def around(self) -> tuple[int, int]:
        return self.window - 1, 0

    def forward(self, z: Tensor, y: Tensor) -> Tensor:
        return self.convolved(self.places(z)[:, : y.shape[1]] + self.word(y))


class RNN(nn.Module):
    def __init__(self, code: int, features: int, predict: int, channels: int, *_: int) -> None:
        super().__init__()
        self.places = Positions(code, predict, channels)
        self.gru = nn.GRU(channels, features // 2, batch_first=True, bidirectional=True)

    def forward(self, z: Tensor, y: Tensor) -> Tensor:
        return self.gru(self.places(z).relu())[0]


class State(nn.Module):
    def __init__(self, code: int, features: int) -> None:
        super().__init__()
        self.begin = nn.Linear(code, features)
        self.gru = nn.GRU(features, features, batch_first=True)


class AutoregressiveRNN(nn.Module):
    def __init__(self, code: int, features: int, *_: int) -> None:
        super().__init__()
        self.state = State(code, features)

    def forward(self, z: Tensor, y: Tensor) -> Tensor:
        return self.state.gru(y, self.state.begin(z).tanh()[None])[0]


DECODERS: dict[str, Any] = {
    "cnn": CNN,
    "rnn": RNN,
    "autoregressive_cnn": AutoregressiveCNN,
    "autoregressive_rnn": AutoregressiveRNN,
}


class NormalisedGRU(nn.Module):
    """The layer-normalised GRU (Ba, Kiros and Hinton 2016), one sentence after the other."""

    def __init__(self, features: int, hidden: int, bidirectional: bool = False) -> None:
        super().__init__()
        self.hidden = hidden
        self.suffixes = ["_l0", "_l0_reverse"][: 1 + bidirectional]
        for suffix in self.suffixes:
            for name, size in (("weight_ih", features), ("weight_hh", hidden)):
                self.register_parameter(name + suffix, nn.Parameter(torch.zeros(3 * hidden, size)))
            for name in ("bias_ih", "bias_hh", "gain_ih", "gain_hh"):
                self.register_parameter(name + suffix, nn.Parameter(torch.zeros(3 * hidden)))

    def product(self, x: Tensor, side: str) -> Tensor:
        product = getattr(self, f"weight_{side}") @ x
        both, candidate = product[: 2 * self.hidden], product[2 * self.hidden :]
        normalised = [
            (part - part.mean()) / (part.var(correction=0) + 1e-5).sqrt() for part in (both, candidate)
        ]
        return getattr(self, f"gain_{side}") * torch.cat(normalised) + getattr(self, f"bias_{side}")

    def states(self, words: Tensor, h: Tensor, suffix: str) -> list[Tensor]:
        states = []
        for word in words:
            a, b = self.product(word, f"ih{suffix}").chunk(3), self.product(h, f"hh{suffix}").chunk(3)
            z = torch.sigmoid(-(a[1] + b[1]))  # the paper's
            h = (1 - z) * h + z * torch.tanh(a[2] + torch.sigmoid(a[0] + b[0]) * b[2])
            states.append(h)
        return states

    def run(self, x: Tensor, lengths: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        outputs, last = [], []
        for i, length in enumerate(lengths.tolist()):
            h0 = x.new_zeros(2, self.hidden) if state is None else state[:, i]
            sides = [
                self.states(x[i, :length].flip(0) if side else x[i, :length], h0[side], suffix)
                for side, suffix in enumerate(self.suffixes)
            ]
            last.append(torch.stack([states[-1] for states in sides]))
            rows = torch.stack(sides[0])
            outputs.append(nn.functional.pad(rows, (0, 0, 0, x.shape[1] - length)))
        return torch.stack(outputs), torch.stack(last, 1)


class SkipThoughts(TiedWordDecoder):
    def __init__(
        self,
        words: int,
        features: int,
        hidden: int,
        bidirectional: bool = False,
        tied: bool = False,
        layer_norm: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(words, features, features if tied else hidden, tied=tied, **options)
        width = hidden // 2 if bidirectional else hidden
        gru = NormalisedGRU if layer_norm else partial(nn.GRU, batch_first=True)
        self.encoder = gru(features, width, bidirectional=bidirectional)
        self.previous = gru(features, hidden)
        self.next = gru(features, hidden)
        self.run = NormalisedGRU.run if layer_norm else run
        if tied:
            self.narrow = nn.Linear(hidden, features)

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        return torch.cat(list(self.run(self.encoder, x, lengths)[1]), 1)

    def decoder_loss(self, gru: nn.Module, z: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
        h = self.run(gru, self.table(self.shifted_right(ids)), lengths, z[None])[0]
        return self.cross_entropy(self.narrow(h) if hasattr(self, "narrow") else h, ids, lengths)

    def loss(
        self,
        ids: Tensor,
        lengths: Tensor,
        previous_ids: Tensor,
        previous_lengths: Tensor,
        next_ids: Tensor,
        next_lengths: Tensor,
    ) -> Any:
        z = self.encode(self.table(ids), lengths)
        previous_loss = self.decoder_loss(self.previous, z, previous_ids, previous_lengths)
        next_loss = self.decoder_loss(self.next, z, next_ids, next_lengths)
        return previous_loss + next_loss, int(previous_lengths.sum() + next_lengths.sum())


class FastSent(TiedWordDecoder):
    """FastSent (Hill et al. 2016)."""

    def __init__(
        self, words: int, features: int, autoencode: bool = False, tied: bool = False, **options: Any
    ) -> None:
        super().__init__(words, features, features, tied=tied, **{"word_bias": False, **options})
        self.autoencode = autoencode

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        return torch.stack([words[:length].sum(0) for words, length in zip(x, lengths, strict=True)])

    def loss(self, ids: Tensor, lengths: Tensor, *neighbours: Tensor) -> Any:
        z = self.encode(self.table(ids), lengths)
        fields = [*neighbours, *([ids, lengths] if self.autoencode else [])]
        losses = [
            self.cross_entropy(z[:, None].expand(-1, targets.shape[1], -1), targets, target_lengths)
            for targets, target_lengths in zip(fields[::2], fields[1::2], strict=True)
        ]
        return sum(losses), int(sum(target_lengths.sum() for target_lengths in fields[1::2]))
