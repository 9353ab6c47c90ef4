"""What all autoencoders share."""

from __future__ import annotations

from torch import Tensor

from ..nn.decoding import Decoded
from ..nn.module import in_core
from .writing_network import Loss, WritingNetwork

__all__ = ["Autoencoder"]


class Autoencoder(WritingNetwork):
    """A network whose vector of a sentence is what its decoder needs to write the sentence again.

    Use one of its subclasses. The last word of each sentence is `end`.

    Args:
        cpp_class: The bound C++ class.
        **config: The keyword arguments of `WritingNetwork`, and the network's own.

    Raises:
        ValueError: If an argument is out of range.
    """

    def decode(self, z: Tensor, y: Tensor, lengths: Tensor) -> Tensor:
        """States that tell the next words, where those before them are known: teacher forcing.

        Args:
            z: [batch, dim], of `encode`.
            y: [batch, time, features]: vectors of the words before, beginning with that of `begin`.
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
        """How badly the network writes sentences again. All of it is computed in C++: no hooks fire.

        Nor does it ask what a subclass makes of `encode` or `decode`. A subclass may have another loss:
        `sentencode.training.Trainer` calls it as that of any module, with a `TensorBatch`.

        Args:
            ids: [batch, time], int64; each sentence's last word is `end`. Ids behind it must be words, too.
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
        """Writes sentences. As of any module, `eval()` is what turns dropout off.

        Args:
            z: [batch, dim], of `encode`.
            max_length: Words at most.
            beam: Hypotheses that are kept; 1 takes the most likely word each time.
            best: Hypotheses that are returned.
            length_penalty: As in `sentencode.nn.beam_search`.

        Returns:
            Ids without ends, lengths, and log p.

        Raises:
            ValueError: If an argument is out of range.
        """
        return Decoded(*self._cpp.reconstruct(z, max_length, beam, best, length_penalty))
