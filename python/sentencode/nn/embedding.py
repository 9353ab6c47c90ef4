"""Vectors of words, and of their places."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["Positions", "WordEmbedding"]


class WordEmbedding(CppModule):
    """A vector for each word.

    Frozen, the table takes no gradient; it is a parameter all the same, so that it is saved and moves with
    its model. A tied softmax, `WordSoftmax(..., tied=True)`, is given `table=embedding.weight`.

    Args:
        words: How many there are.
        features: Width of a vector.
        trainable: Whether the table is trained.

    Raises:
        ValueError: If there are no words or features.

    Example:
        >>> import torch
        >>> from sentencode.nn import WordEmbedding
        >>> embedding = WordEmbedding.from_vectors(torch.eye(3))
        >>> embedding(torch.tensor([[2, 0]]))
        tensor([[[0., 0., 1.],
                 [1., 0., 0.]]])
        >>> embedding.expand(torch.ones(1, 3))
        >>> embedding(torch.tensor([3]))
        tensor([[1., 1., 1.]])
    """

    weight: Tensor

    def __init__(self, words: int, features: int, trainable: bool = True) -> None:
        super().__init__(_nn.WordEmbedding, words=words, features=features, trainable=trainable)

    @classmethod
    def from_vectors(cls, vectors: Any, trainable: bool = False) -> WordEmbedding:
        """A table with these rows, copied as float32.

        Args:
            vectors: [words, features], a tensor or an array.
            trainable: Whether the table is trained.

        Returns:
            The embedding.

        Raises:
            ValueError: If `vectors` is no matrix.
        """
        rows = torch.as_tensor(vectors)
        if rows.dim() != 2:
            raise ValueError(f"vectors must be [words, features], got {list(rows.shape)}")
        words, features = rows.shape
        embedding = cls(words, features, trainable=trainable)
        embedding._cpp.load(rows)
        return embedding

    def forward(self, ids: Tensor) -> Tensor:
        """Looks words up.

        Args:
            ids: [...], int64.

        Returns:
            [..., features].

        Raises:
            ValueError: If an id is no word.
        """
        vectors: Tensor = self._cpp.forward(ids)
        return vectors

    def expand(self, vectors: Any) -> None:
        """More words, after those there are.

        The parameter stays the same object; an optimiser that has seen it has to be made anew.

        Args:
            vectors: [more words, features], a tensor or an array.

        Raises:
            ValueError: If their width is another.
        """
        self._cpp.expand(torch.as_tensor(vectors))
        self._config["words"] = len(self.weight)


class Positions(CppModule):
    """A vector for each place in a sentence.

    Args:
        features: Width of a vector.
        kind: "sinusoidal", for sentences of any length: p[t, 2i] = sin(t / 10000^(2i/features)), and the
            cosine at 2i + 1. Or "learnt", a table.
        length: Places in the table.
        beyond: What happens to words beyond the table: "refuse" is an error, "clamp" takes its last row.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import Positions
        >>> Positions(4)(torch.zeros(8, 2, 4))
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """

    def __init__(
        self,
        features: int,
        kind: Literal["sinusoidal", "learnt"] = "sinusoidal",
        length: int = 512,
        beyond: Literal["refuse", "clamp"] = "refuse",
    ) -> None:
        super().__init__(_nn.Positions, features=features, kind=kind, length=length, beyond=beyond)

    def forward(self, x: Tensor, begin: int = 0) -> Tensor:
        """The vectors that are to be added to `x`.

        Args:
            x: [..., time, features], floating point.
            begin: The place of the first word.

        Returns:
            [time, features], of x's type.

        Raises:
            ValueError: If x has another width, or a sentence goes beyond a table that refuses.
        """
        places: Tensor = self._cpp.forward(x, begin)
        return places
