"""The network of compound-attention translation, with all architectures of its paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..nn.decoding import Decoded, Decoder, beam_search, greedy_search, sample, score
from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["TranslationNetwork"]


class TranslationNetwork(WritingNetwork):
    """Compound-attention translation (Cífka and Bojar 2018), with all architectures that the paper compares.

    The states of an encoder become a sentence embedding, which is the only input of the decoder. With the
    architectures "attn" and "trf" there is no embedding: the decoder attends to the states of all words.

    Args:
        {options}

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

    def learnt_words(self) -> Tensor:
        """The word table of the source language [source_words, features]."""
        table: Tensor = self.source.weight  # type: ignore[assignment, union-attr]
        return table

    def load_source_words(self, rows: Any) -> None:
        """Fill the word table of the source language.

        Args:
            rows: [source_words, features], a tensor or an array.

        Raises:
            ValueError: If the shape is wrong.
        """
        self._cpp.load_source_words(torch.as_tensor(rows))

    @in_core
    def loss(self, source: Tensor, source_lengths: Tensor, target: Tensor, target_lengths: Tensor) -> Loss:
        """Return the loss of translations, computed in C++: no hooks run.

        Args:
            source: [batch, time], int64. Padding must be valid ids.
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
        """Return the memory of the decoder: sentence embeddings; with "attn" and "trf" states and a mask.

        Args:
            x: [batch, time, features], rows of `source`.
            lengths: [batch], int64.

        Returns:
            Tensors of the sentences, for the methods below.
        """
        memory: list[Tensor] = self._cpp.read(x, lengths)
        return memory

    def inner_attention(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return A, the weights of the words in each head.

        Args:
            x: As in `read`.
            lengths: As in `read`.

        Returns:
            [batch, heads, time], zero for padding.

        Raises:
            ValueError: If the architecture has no inner attention.
        """
        weights: Tensor = self._cpp.inner_attention(x, lengths)
        return weights

    def attention(
        self, memory: Sequence[Tensor], target: Tensor, target_lengths: Tensor, layer: int = -1
    ) -> Tensor:
        """Return B, the weights of the heads, or of the source words, for each target word.

        Args:
            memory: That of `read`.
            target: As in `loss`.
            target_lengths: As in `loss`.
            layer: Layer of a Transformer's decoder, whose heads are averaged.

        Returns:
            [batch, target words, heads or source words].

        Raises:
            ValueError: If the decoder has no attention.
        """
        weights: Tensor = self._cpp.attention(list(memory), target, target_lengths, layer)
        return weights

    def translate(
        self,
        memory: Sequence[Tensor],
        *,
        beam: int = 1,
        best: int = 1,
        max_length: int = 100,
        length_penalty: float = 0.0,
        writer: Decoder | None = None,
    ) -> Decoded:
        """Search for the most likely translations.

        Args:
            memory: That of `read`.
            beam: Number of hypotheses; 1 is greedy search.
            best: Number of hypotheses that are returned.
            max_length: Maximal number of words.
            length_penalty: As in `sentencode.nn.beam_search`.
            writer: Another decoder of this memory, such as an `EnsembleDecoder`.

        Returns:
            Ids without ends, lengths, and log p.

        Raises:
            ValueError: If an argument is out of range.
        """
        writer = self._cpp if writer is None else writer
        first, end = self._first(memory), self._config["end"]
        if beam == 1 and best == 1 and length_penalty == 0:
            return greedy_search(writer, memory, first, end=end, max_length=max_length)
        return beam_search(
            writer,
            memory,
            first,
            end=end,
            max_length=max_length,
            beam=beam,
            best=best,
            length_penalty=length_penalty,
        )

    def sampled(
        self,
        memory: Sequence[Tensor],
        *,
        max_length: int = 100,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        indices: Sequence[int] | None = None,
        writer: Decoder | None = None,
    ) -> Decoded:
        """Sample translations; the arguments are those of `sentencode.nn.sample` and `translate`."""
        return sample(
            self._cpp if writer is None else writer,
            memory,
            self._first(memory),
            end=self._config["end"],
            max_length=max_length,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
            indices=indices,
        )

    def score(self, memory: Sequence[Tensor], target: Tensor, target_lengths: Tensor) -> Tensor:
        """Return log p of translations.

        Args:
            memory: That of `read`.
            target: As in `loss`.
            target_lengths: As in `loss`.

        Returns:
            [batch], double.
        """
        return score(self._cpp, memory, self._first(memory), target, target_lengths)

    def _first(self, memory: Sequence[Tensor]) -> Tensor:
        return torch.full((len(memory[0]),), self._config["begin"], device=memory[0].device)
