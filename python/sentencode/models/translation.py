"""The network of compound-attention translation, with all architectures of its paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from .. import _nn
from ..nn.decoding import Decoded, Decoder, beam_search, greedy_search, sample, score
from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["Architecture", "TranslationNetwork"]

Architecture = Literal[
    "attn",
    "final",
    "final_ctx",
    "avgpool",
    "avgpool_ctx",
    "maxpool",
    "maxpool_ctx",
    "attn_ctx",
    "attn_attn",
    "trf",
    "trf_attn_attn",
]


class TranslationNetwork(WritingNetwork):
    """Compound-attention translation (Cífka and Bojar 2018), with all architectures that the paper compares.

    An encoder reads a sentence. But for "attn" and "trf", whose decoders attend to the states of all words,
    its states become one vector, and that is all that the decoder gets.

    Args:
        source_words: Words of the source language that have ids.
        architecture: "final" has the last state of both directions, "avgpool" the mean and "maxpool" the
            maximum of all states; the decoder begins with it and, of "_ctx", sees it at each word. "attn_ctx"
            has `heads` weighted sums of states, which are seen at each word; the decoder of "attn_attn" (and
            "trf_attn_attn", where encoder and decoder are a Transformer's) attends to them.
        hidden: Units of each direction of the encoder; of a Transformer half its width, that of words.
        decoder_hidden: Units of a recurrent decoder.
        size: Numbers of a sentence's vector; 0: those of a state, 2 `hidden`. Others are for inner attention
            alone, which projects states to `size` / `heads` numbers.
        heads: Of the inner attention.
        attention: Hidden units of the inner attention, and of a recurrent decoder's.
        begins_with_sentence: Whether the decoder of "attn_attn" begins with the vector, too.
        layers: Of the encoder; of a Transformer's decoder, too.
        attention_heads: Of a Transformer's attentions.
        inner: Width inside its feed-forward layers.
        dropout: On words, states, and what words are told from.
        tied: Whether words are told by their own vectors; else by a matrix of its own.
        trainable_words: As in `WritingNetwork`, as for the target language.
        **words: The other keyword arguments of `WritingNetwork`, for the target language.

    Raises:
        ValueError: If an argument is out of range, or does not fit the architecture.

    Example:
        >>> import torch
        >>> from sentencode.models import TranslationNetwork
        >>> network = TranslationNetwork(words=50, source_words=40, features=16, hidden=8, decoder_hidden=12,
        ...     heads=4, attention=8).eval()
        >>> ids, lengths = torch.tensor([[7, 8, 9], [5, 0, 0]]), torch.tensor([3, 1])
        >>> x = network.source.weight[ids]
        >>> network.encode(x, lengths).shape
        torch.Size([2, 16])
        >>> network.translate(network.read(x, lengths), max_length=5).ids.shape
        torch.Size([2, 1, 5])
    """

    word_tables: ClassVar[Mapping[str, str]] = {
        **WritingNetwork.word_tables,
        "source.weight": "source_words",
    }

    def __init__(
        self,
        *,
        source_words: int,
        architecture: Architecture = "attn_attn",
        hidden: int = 500,
        decoder_hidden: int = 1000,
        size: int = 0,
        heads: int = 8,
        attention: int = 500,
        begins_with_sentence: bool = False,
        layers: int = 1,
        attention_heads: int = 8,
        inner: int = 2048,
        dropout: float = 0.1,
        tied: bool = False,
        trainable_words: bool = True,
        **words: Any,
    ) -> None:
        super().__init__(
            _nn.TranslationNetwork,
            source_words=source_words,
            architecture=architecture,
            hidden=hidden,
            decoder_hidden=decoder_hidden,
            size=size,
            heads=heads,
            attention=attention,
            begins_with_sentence=begins_with_sentence,
            layers=layers,
            attention_heads=attention_heads,
            inner=inner,
            dropout=dropout,
            tied=tied,
            trainable_words=trainable_words,
            **words,
        )

    def learnt_words(self) -> Tensor:
        """The table of the source language's words [source_words, features]."""
        table: Tensor = self.source.weight  # type: ignore[assignment, union-attr]
        return table

    def load_source_words(self, rows: Any) -> None:
        """Fills the table of the source language's words.

        Args:
            rows: [source_words, features], a tensor or an array.

        Raises:
            ValueError: If its shape is another.
        """
        self._cpp.load_source_words(torch.as_tensor(rows))

    @in_core
    def loss(self, source: Tensor, source_lengths: Tensor, target: Tensor, target_lengths: Tensor) -> Loss:
        """How badly translations are written. All of it is computed in C++: no hooks fire.

        Args:
            source: [batch, time], int64. Ids behind a sentence must be words, too.
            source_lengths: [batch], int64.
            target: [batch, time], int64; the last word of each is `end`.
            target_lengths: [batch], int64, with the ends.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._loss(source, source_lengths, target, target_lengths)

    def read(self, x: Tensor, lengths: Tensor) -> list[Tensor]:
        """All that the decoder is given of sentences: their vectors; of "attn" and "trf" states and a mask.

        Args:
            x: [batch, time, features], rows of `source`.
            lengths: [batch], int64.

        Returns:
            Tensors of the sentences, for the methods below.
        """
        given: list[Tensor] = self._cpp.read(x, lengths)
        return given

    def inner_attention(self, x: Tensor, lengths: Tensor) -> Tensor:
        """A: how much of each word each head is made of.

        Args:
            x: As for `read`.
            lengths: As there.

        Returns:
            [batch, heads, time], zero where there is no word.

        Raises:
            ValueError: If the architecture has no inner attention.
        """
        weights: Tensor = self._cpp.inner_attention(x, lengths)
        return weights

    def attention(
        self, given: Sequence[Tensor], target: Tensor, target_lengths: Tensor, layer: int = -1
    ) -> Tensor:
        """B: how much of each head, or of each word of the source, each word of the target is written from.

        Args:
            given: Of `read`.
            target: As for `loss`.
            target_lengths: As there.
            layer: Of a Transformer's decoder; the mean of its heads is what is shown.

        Returns:
            [batch, words of the target, heads or words of the source].

        Raises:
            ValueError: If the decoder has no attention.
        """
        weights: Tensor = self._cpp.attention(list(given), target, target_lengths, layer)
        return weights

    def translate(
        self,
        given: Sequence[Tensor],
        *,
        beam: int = 1,
        best: int = 1,
        max_length: int = 100,
        length_penalty: float = 0.0,
        writer: Decoder | None = None,
    ) -> Decoded:
        """The likeliest translations that a beam search finds; 1 takes the likeliest word each time.

        Args:
            given: Of `read`.
            beam: Hypotheses that are kept.
            best: Hypotheses that are returned.
            max_length: Words at most.
            length_penalty: As in `sentencode.nn.beam_search`.
            writer: What writes in its place from `given`, such as an `EnsembleDecoder`.

        Returns:
            Ids without ends, lengths, and log p.

        Raises:
            ValueError: If an argument is out of range.
        """
        writer = self._cpp if writer is None else writer
        first, end = self._first(given), self._config["end"]
        if beam == 1 and best == 1 and length_penalty == 0:
            return greedy_search(writer, given, first, end=end, max_length=max_length)
        return beam_search(
            writer,
            given,
            first,
            end=end,
            max_length=max_length,
            beam=beam,
            best=best,
            length_penalty=length_penalty,
        )

    def sampled(
        self,
        given: Sequence[Tensor],
        *,
        max_length: int = 100,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        indices: Sequence[int] | None = None,
        writer: Decoder | None = None,
    ) -> Decoded:
        """Sampled translations; the arguments are those of `sentencode.nn.sample` and `translate`."""
        return sample(
            self._cpp if writer is None else writer,
            given,
            self._first(given),
            end=self._config["end"],
            max_length=max_length,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            indices=indices,
        )

    def score(self, given: Sequence[Tensor], target: Tensor, target_lengths: Tensor) -> Tensor:
        """Log p of translations.

        Args:
            given: Of `read`.
            target: As for `loss`.
            target_lengths: As there.

        Returns:
            [batch], double.
        """
        return score(self._cpp, given, self._first(given), target, target_lengths)

    def _first(self, given: Sequence[Tensor]) -> Tensor:
        return torch.full((len(given[0]),), self._config["begin"], device=given[0].device)
