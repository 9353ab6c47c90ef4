"""Word and position embeddings."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from .. import _nn
from .module import CppModule

__all__ = ["Positions", "WordEmbedding"]


class WordEmbedding(CppModule):
    """A table with a vector for each word.

    A frozen table is a parameter without gradient, so that it is saved and moved with its model. For a tied
    softmax, pass `table=embedding.weight` to `WordSoftmax(..., tied=True)`.

    Args:
        words: Number of words.
        features: Dimensions of the vectors.
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
    _cpp: _nn.WordEmbedding

    def __init__(self, words: int, features: int, trainable: bool = True) -> None:
        super().__init__(_nn.WordEmbedding, words=words, features=features, trainable=trainable)

    @classmethod
    def from_vectors(cls, vectors: Any, trainable: bool = False) -> WordEmbedding:
        """Return an embedding with these vectors, copied as float32.

        Args:
            vectors: Tensor or array, [words, features].
            trainable: Whether the table is trained.

        Raises:
            ValueError: If `vectors` is not a matrix.
        """
        table = torch.as_tensor(vectors)
        if table.dim() != 2:
            raise ValueError(f"vectors must be [words, features], got {list(table.shape)}")
        words, features = table.shape
        embedding = cls(words, features, trainable=trainable)
        embedding._cpp.load(table)
        return embedding

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors of words, [..., features].

        Args:
            ids: Word ids, [...], int64.

        Raises:
            ValueError: If an id is out of range.
        """
        return self._cpp.forward(ids)

    def expand(self, vectors: Any) -> None:
        """Append words to the table.

        The parameter remains the same object, but optimisers must be created anew.

        Args:
            vectors: Tensor or array, [new words, features].

        Raises:
            ValueError: If their dimensions differ from the table's.
        """
        self._cpp.expand(torch.as_tensor(vectors))
        self._config["words"] = len(self.weight)


class Positions(CppModule):
    """Position embeddings.

    Args:
        features: Dimensions of the embeddings.
        kind: "sinusoidal", for sentences of any length: p[t, 2i] = sin(t / 10000^(2i/features)), and the
            cosine at 2i + 1; or "learnt", a table.
        length: Rows of the table.
        beyond: Positions beyond the table: "refuse" is an error, "clamp" takes the last row.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> import torch
        >>> from sentencode.nn import Positions
        >>> Positions(4)(torch.zeros(8, 2, 4))
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])
    """

    _cpp: _nn.Positions

    def __init__(
        self,
        features: int,
        kind: Literal["sinusoidal", "learnt"] = "sinusoidal",
        length: int = 512,
        beyond: Literal["refuse", "clamp"] = "refuse",
    ) -> None:
        super().__init__(_nn.Positions, features=features, kind=kind, length=length, beyond=beyond)

    def forward(self, x: Tensor, begin: int = 0) -> Tensor:
        """Return the embeddings to add to `x`, [time, features], of its type.

        Args:
            x: Word vectors, [..., time, features], floating point.
            begin: Position of the first word.

        Raises:
            ValueError: If x has other dimensions, or a sentence is longer than a table that refuses it.
        """
        return self._cpp.forward(x, begin)
