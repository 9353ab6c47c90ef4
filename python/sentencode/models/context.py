"""The network of RNN-CNN: a recurrent encoder, learnt by telling the words that follow."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from .. import _nn
from ..nn.module import in_core
from ..nn.pooling import Pooling
from .writing_network import Loss, WritingNetwork

__all__ = ["ContextNetwork"]


class ContextNetwork(WritingNetwork):
    """RNN-CNN (Tang et al. 2018), with all decoders of its paper.

    A bidirectional recurrent network reads a sentence, its states are pooled, and from that vector alone a
    decoder tells the words that follow the sentence: all at once, or each by those before it.

    Args:
        hidden: Units of each direction.
        cell: "gru" or "lstm", of the encoder.
        pooling: "mean_max" (the paper's), "max", "mean", or "last", the last state of each direction.
        decoder: "cnn" (the paper's): a linear map for each place, then two convolutions. "rnn": the maps,
            then a bidirectional GRU of half the `features` a direction, which has about as many parameters.
            "autoregressive_rnn": a GRU as wide as `features` that begins with tanh(W z + b).
            "autoregressive_cnn": convolutions over what is before, whose first layer adds the word before to
            each place's map.
        feeding: What an autoregressive decoder is told to have written: the true words
            ("teacher_forcing"), those that it draws itself ("always_sampling"), or any words of the table
            ("uniform_sampling").
        predict: Words that are told, at most.
        channels: Numbers that the maps give for each place.
        inner: Numbers that the convolutions give, but for the last one.
        window: Words that a convolution sees.
        decoder_layers: The maps, and convolutions behind them; "rnn" and "autoregressive_rnn" have one
            layer of units.
        tied: Whether words are told by their own vectors, those of the table; else by a matrix of its own.
        word_bias: Whether each word has a bias besides, which eq. 2 of the paper has not.
        trainable_words: As in `WritingNetwork`.
        **words: The other keyword arguments of `WritingNetwork`.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.models import ContextNetwork
        >>> network = ContextNetwork(words=50, features=16, hidden=8, predict=4, channels=8, inner=8)
        >>> ids, lengths = torch.tensor([[7, 8, 9], [5, 0, 0]]), torch.tensor([3, 1])
        >>> network.encode(network.table.weight[ids], lengths).shape
        torch.Size([2, 32])
        >>> following = torch.tensor([[4, 5, 6, 7], [8, 9, 0, 0]])
        >>> network.loss(ids, lengths, following, torch.tensor([4, 2])).tokens
        6.0
    """

    def __init__(
        self,
        *,
        hidden: int = 300,
        cell: Literal["gru", "lstm"] = "gru",
        pooling: Pooling = "mean_max",
        decoder: Literal["cnn", "rnn", "autoregressive_cnn", "autoregressive_rnn"] = "cnn",
        feeding: Literal["teacher_forcing", "always_sampling", "uniform_sampling"] = "teacher_forcing",
        predict: int = 30,
        channels: int = 600,
        inner: int = 300,
        window: int = 3,
        decoder_layers: int = 3,
        tied: bool = True,
        word_bias: bool = True,
        trainable_words: bool = True,
        **words: Any,
    ) -> None:
        super().__init__(
            _nn.ContextNetwork,
            hidden=hidden,
            cell=cell,
            pooling=pooling,
            decoder=decoder,
            feeding=feeding,
            predict=predict,
            channels=channels,
            inner=inner,
            window=window,
            decoder_layers=decoder_layers,
            tied=tied,
            word_bias=word_bias,
            trainable_words=trainable_words,
            **words,
        )

    @in_core
    def loss(self, ids: Tensor, lengths: Tensor, following: Tensor, following_lengths: Tensor) -> Loss:
        """How badly the words that follow are told. All of it is computed in C++: no hooks fire.

        Args:
            ids: [batch, time], int64. Ids behind a sentence must be words, too.
            lengths: [batch], int64.
            following: [batch, words], int64, at most `predict` words.
            following_lengths: [batch], int64.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._loss(ids, lengths, following, following_lengths)

    def following(self, z: Tensor) -> Tensor:
        """Log p of the words that follow sentences, place by place.

        An autoregressive decoder takes the likeliest word of each place for what is before the next one.

        Args:
            z: [batch, dim], of `encode`.

        Returns:
            [batch, predict, words].

        Raises:
            ValueError: If the shape does not fit.
        """
        memory, cache = self._cpp.start([z])
        ids = torch.full((len(z),), self._config["begin"], device=z.device)
        found = []
        for _ in range(self._config["predict"]):
            logits, cache, _ = self._cpp.step(ids, memory, cache)  # [B, V]
            found.append(logits.log_softmax(1))
            ids = logits.argmax(1)
        return torch.stack(found, 1)
