"""Words by their characters."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["CharacterCnn"]


class CharacterCnn(CppModule):
    """Words by their characters (Kim 2014): of each filter the maximum of ReLU(W c + b) over windows.

    A word that is shorter than a window has one, filled up with zeros.

    Args:
        alphabet: The characters that it tells apart; all others are one.
        features: Numbers of a character's vector.
        filters: Of each window.
        windows: Characters that a filter sees at a time.

    Raises:
        ValueError: If an argument is out of range, or a character comes twice.

    Example:
        >>> import torch
        >>> from sentencode import _core, nn
        >>> layer = nn.CharacterCnn("abcdefghijklmnopqrstuvwxyz", features=4, filters=8)
        >>> characters = _core.characters_of(["cat", "dogs"], "abcdefghijklmnopqrstuvwxyz", 10)
        >>> layer(torch.from_numpy(characters)).shape
        torch.Size([2, 24])
    """

    def __init__(
        self, alphabet: str, features: int = 15, filters: int = 100, windows: Sequence[int] = (1, 3, 5)
    ) -> None:
        super().__init__(
            _nn.CharacterCnn, alphabet=alphabet, features=features, filters=filters, windows=list(windows)
        )

    @property
    def dim(self) -> int:
        """Numbers of a word."""
        dim: int = self._cpp.dim
        return dim

    def forward(self, characters: Tensor) -> Tensor:
        """The rows of words.

        Args:
            characters: [words, characters], int64: 2 is the first of the alphabet, 1 stands for all others, 0
                is behind the last character.

        Returns:
            [words, dim].

        Raises:
            ValueError: If its shape or type does not fit.
        """
        rows: Tensor = self._cpp.forward(characters)
        return rows
