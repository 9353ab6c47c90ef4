"""The base class of all autoencoders."""

from __future__ import annotations

from torch import Tensor

from ..nn.decoding import Decoded
from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["Autoencoder", "LatentAutoencoder"]


class Autoencoder(WritingNetwork):
    """A network whose sentence embeddings are trained to reconstruct the sentences.

    Use one of its subclasses. The last word of each sentence is `end`.
    """

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        """Return the decoder states of teacher forcing.

        Args:
            z: [batch, dim], of `encode`.
            y: [batch, time, features], the vectors of the previous words, beginning with that of `begin`.
            lengths: [batch], int64.

        Returns:
            [batch, time, states].

        Raises:
            ValueError: If shapes or types do not fit.
        """
        states: Tensor = self._cpp.decode(z, y, lengths)
        return states

    @in_core
    def loss(self, ids: Tensor, lengths: Tensor) -> Loss:
        """Return the loss of reconstructing sentences, computed in C++: no hooks run.

        It does not call the `encode` or `decode` of a subclass. A subclass may define another loss, which
        `sentencode.training.Trainer` calls with a `TensorBatch` as that of any module.

        Args:
            ids: [batch, time], int64; each sentence's last word is `end`. Padding must be valid ids.
            lengths: [batch], int64, of sentences with their ends.

        Returns:
            The loss.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        return self._loss(ids, lengths)

    def reconstruct(
        self,
        z: Tensor,
        max_length: int = 100,
        beam: int = 1,
        best: int = 1,
        length_penalty: float = 0.0,
    ) -> Decoded:
        """Decode sentences. As in any module, `eval()` turns dropout off.

        Args:
            z: [batch, dim], of `encode`.
            max_length: Maximal number of words.
            beam: Number of hypotheses; 1 is greedy search.
            best: Number of hypotheses that are returned.
            length_penalty: As in `sentencode.nn.beam_search`.

        Returns:
            Ids without ends, lengths, and log p.

        Raises:
            ValueError: If an argument is out of range.
        """
        return Decoded(*self._cpp.reconstruct(z, max_length, beam, best, length_penalty))


class LatentAutoencoder(Autoencoder):
    """An autoencoder whose decoder attends to the pooled vectors of the sentence embedding."""

    def attention(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the attention weights of each generated word over the pooled vectors (the paper's Figure 2).

        Args:
            x: As in `encode`.
            lengths: As in `encode`.

        Returns:
            [batch, heads, time, rows]; rows are the mean, then the maximum.

        Raises:
            ValueError: If shapes or types do not fit.
        """
        weights: Tensor = self._cpp.attention(x, lengths)
        return weights
