"""Word vectors from characters."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["CharacterCnn"]


class CharacterCnn(CppModule):
    """Word vectors from characters (Kim, 2014): the maximum of ReLU(W c + b) over windows, for each filter.

    A word that is shorter than a window is padded with zeros.

    Args:
        alphabet: Characters with their own vectors; all others share one.
        features: Dimensions of a character's vector.
        filters: Filters per window.
        windows: Widths of the windows, in characters.

    Raises:
        ValueError: If an argument is out of range, or a character occurs twice.

    Example:
        >>> import torch
        >>> from sentencode import _core, nn
        >>> layer = nn.CharacterCnn("abcdefghijklmnopqrstuvwxyz", features=4, filters=8)
        >>> characters = _core.characters_of(["cat", "dogs"], "abcdefghijklmnopqrstuvwxyz", 10)
        >>> layer(torch.from_numpy(characters)).shape
        torch.Size([2, 24])
    """

    _cpp: _nn.CharacterCnn

    def __init__(
        self, alphabet: str, features: int = 15, filters: int = 100, windows: Sequence[int] = (1, 3, 5)
    ) -> None:
        super().__init__(
            _nn.CharacterCnn, alphabet=alphabet, features=features, filters=filters, windows=list(windows)
        )

    @property
    def dim(self) -> int:
        """Dimensions of a word vector."""
        return self._cpp.dim

    def forward(self, characters: Tensor) -> Tensor:
        """Return the vectors of words, [words, dim].

        Args:
            characters: Character ids, [words, characters], int64: 0 is padding, 1 is a character that is not
                in the alphabet, 2 is the first character of the alphabet.

        Raises:
            ValueError: If its shape or type does not fit.
        """
        return self._cpp.forward(characters)
