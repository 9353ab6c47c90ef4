"""Generalized pooling (Chen et al. 2018): its encoder and its classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .autoencoder import mask_of


class Characters(nn.Module):
    """Maxima over time of convolutions over the characters of each word."""

    def __init__(self, characters: int, features: int, filters: int, windows: Sequence[int]) -> None:
        super().__init__()
        self.windows = windows
        self.table = nn.Parameter(torch.randn(characters, features))
        for window in windows:
            self.add_module(f"convolution_{window}", nn.Conv1d(features, filters, window))

    def forward(self, ids: Tensor) -> Tensor:
        rows = []
        for word in ids:
            x = self.table[word[word > 0]].T[None]  # [1, features, characters]
            maxima = []
            for window in self.windows:
                filled = nn.functional.pad(x, (0, max(0, window - x.shape[2])))
                convolution = self.get_submodule(f"convolution_{window}")
                maxima.append(torch.relu(convolution(filled)).amax(2)[0])
            rows.append(torch.cat(maxima))
        return torch.stack(rows)


class GeneralizedPooling(nn.Module):
    """The stacked LSTMs and the pooling. Reads word vectors [B, T, e]."""

    def __init__(
        self,
        features: int,
        hidden: int,
        layers: int = 3,
        shortcuts: str = "input",
        pooling: str = "generalized",
        heads: int = 5,
        attention_hidden: int = 600,
        attention_activation: str = "relu",
        boundaries: bool = False,
        word_sum: bool = False,
        **_: Any,
    ) -> None:
        super().__init__()
        self.boundaries = nn.Parameter(torch.empty(2, features)) if boundaries else None
        self.shortcuts, self.pooling, self.heads = shortcuts, pooling, heads
        self.word_sum = word_sum
        self.f = {"relu": torch.relu, "tanh": torch.tanh}[attention_activation]
        width, lstms = features, []
        for _layer in range(layers):
            lstms.append(nn.LSTM(width, hidden, batch_first=True, bidirectional=True))
            width = {"none": 0, "input": features, "all": width}[shortcuts] + 2 * hidden
        self.encoder = nn.ModuleList(lstms)
        if pooling in ("generalized", "scalar"):
            groups, scores = (heads, 2 * hidden) if pooling == "generalized" else (1, 1)
            self.w1 = nn.Linear(2 * hidden, groups * attention_hidden)
            self.w2 = nn.Linear(attention_hidden, heads * scores, bias=False)

    def core_state(self) -> dict[str, Tensor]:
        """Return the weights by their names in GeneralizedPoolingNetwork."""
        weights = {}
        for layer, lstm in enumerate(self.encoder):
            for name, tensor in lstm.state_dict().items():
                weights[f"encoder.{name.replace('_l0', f'_l{layer}')}"] = tensor
        if hasattr(self, "w1"):
            weights |= {"pooling.hidden.weight": self.w1.weight, "pooling.hidden.bias": self.w1.bias}
            weights["pooling.score.weight"] = self.w2.weight
        return weights if self.boundaries is None else {**weights, "boundaries": self.boundaries}

    def bounded(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Put each sentence between the boundary symbols, if there are any."""
        if self.boundaries is None:
            return x, lengths
        begin, end = self.boundaries.split(1)
        each = [torch.cat([begin, row[:n], end]) for row, n in zip(x, lengths.tolist(), strict=True)]
        return nn.utils.rnn.pad_sequence(each, batch_first=True), lengths + 2

    def states(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        inputs = x
        outputs: list[Tensor] = []
        for lstm in self.encoder:
            packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
            output, (last, _) = lstm(packed)
            h, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
            outputs.append(h)
            below = {"none": [h], "input": [x, h], "all": [x, *outputs]}[self.shortcuts]
            inputs = torch.cat(below, 2)
        return h, last.transpose(0, 1).flatten(1)

    def weights(self, h: Tensor, lengths: Tensor) -> Tensor:
        batch, time, width = h.shape
        mask = mask_of(h, lengths)[:, None, :, None]
        u = self.f(self.w1(h))
        if self.pooling == "generalized":
            u = u.view(batch, time, self.heads, -1)
            w2 = self.w2.weight.view(self.heads, width, -1)
            scores = torch.einsum("btia,ida->bitd", u, w2)
        else:
            scores = self.w2(u).permute(0, 2, 1)[..., None]
        return scores.masked_fill(~mask, -1e30).softmax(2).masked_fill(~mask, 0)

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        v = self.pooled(*self.bounded(x, lengths))
        if not self.word_sum:
            return v
        words = [row[:n].sum(0) / n**0.5 for row, n in zip(x, lengths.tolist(), strict=True)]
        return torch.cat([v, torch.stack(words)], 1)

    def pooled(self, x: Tensor, lengths: Tensor) -> Tensor:
        h, last = self.states(x, lengths)
        mask = mask_of(h, lengths)[..., None]
        mean = h.masked_fill(~mask, 0).sum(1) / lengths[:, None]
        largest = h.masked_fill(~mask, -torch.inf).amax(1)
        plain = {"mean": mean, "max": largest, "mean_max": torch.cat([mean, largest], 1), "last": last}
        if self.pooling in plain:
            return plain[self.pooling]
        return (self.weights(h, lengths) * h[:, None]).sum(2).flatten(1)

    def penalty(self, kind: str, x: Tensor, lengths: Tensor, margin: float, batch_distance: bool) -> Tensor:
        """Equations 7 to 9 without mu, as a mean over sentences."""
        if kind == "parameters":
            w = self.w1.weight if self.pooling == "generalized" else self.w2.weight
            heads = w.view(1, self.heads, -1)
        elif kind == "attention":
            x, lengths = self.bounded(x, lengths)
            heads = self.weights(self.states(x, lengths)[0], lengths).flatten(2)
        else:
            heads = self.pooled(*self.bounded(x, lengths)).view(len(x), self.heads, -1)
        total = torch.zeros((), dtype=x.dtype)
        for i in range(self.heads):
            for j in range(i + 1, self.heads):
                distance = (heads[:, i] - heads[:, j]).square().sum(1)
                if batch_distance:
                    distance = distance.mean(0, keepdim=True)
                total = total + (margin - distance).clamp_min(0).mean()
        return total


class Classifier(nn.Module):
    """A perceptron with shortcuts over [s a; s b; |a - b|; s a * b], or over one embedding."""

    def __init__(
        self,
        width: int,
        classes: int,
        hidden: int,
        layers: int = 2,
        shortcuts: bool = True,
        f: str = "relu",
        pair_scale: float = 1,
    ) -> None:
        super().__init__()
        self.shortcuts, self.pair_scale = shortcuts, pair_scale
        self.f = {"relu": torch.relu, "tanh": torch.tanh, "none": lambda x: x}[f]
        below, linears = width, []
        for layer in range(layers):
            linears.append(nn.Linear(width + below if layer and shortcuts else below, hidden))
            below = hidden
        self.hidden = nn.ModuleList(linears)
        self.output = nn.Linear(below, classes)

    def core_state(self) -> dict[str, Tensor]:
        """Return the weights by their names in the head of the core."""
        weights = {f"output.{name}": tensor for name, tensor in self.output.state_dict().items()}
        for i, layer in enumerate(self.hidden):
            weights |= {f"hidden_{i + 1}.{name}": tensor for name, tensor in layer.state_dict().items()}
        return weights

    def forward(self, *rows: Tensor) -> Tensor:
        v = rows[0]
        if len(rows) == 2:
            (a, b), s = rows, self.pair_scale
            v = torch.cat([s * a, s * b, (a - b).abs(), s * a * b], 1)
        h = v
        for i, layer in enumerate(self.hidden):
            h = self.f(layer(torch.cat([v, h], 1) if i and self.shortcuts else h))
        return self.output(h)
