"""Concatenated embeddings of several encoders."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .checks import checked_bool
from .encoder import Encoder
from .errors import FormatError
from .nested import check_inner, read_nested, write_nested
from .text.corpus import repeatable

__all__ = ["Concatenation"]


class Concatenation(Encoder):
    """The embeddings of several encoders, concatenated.

    An example is combine-skip of skip-thoughts (Kiros et al. 2015): two `SkipThoughts`, one of them
    bidirectional, with `normalize=True`.

    Args:
        encoders: Encoders, in the order of their dimensions.
        normalize: Whether each encoder's embedding is divided by its length, so that all have the same weight
            in a cosine.

    Example:
        >>> import sentencode as se
        >>> vectors = se.WordVectors.from_dict({"cat": [3, 4], "dog": [0, 2]})
        >>> encoder = se.Concatenation([se.Average(vectors), se.Average(vectors, normalize=True)])
        >>> encoder.encode("cat").round(1)
        array([3. , 4. , 0.6, 0.8], dtype=float32)
    """

    def __init__(self, encoders: Sequence[Encoder], *, normalize: bool = False) -> None:
        self.encoders = encoders
        self.normalize = normalize

    @property
    def dim(self) -> int:
        """Dimensions of an embedding: the sum of those of the encoders."""
        return sum(encoder.dim for encoder in self._checked())

    @property
    def fitted(self) -> bool:
        """Whether all encoders can encode."""
        return all(getattr(encoder, "fitted", True) for encoder in self.encoders)

    def fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Fit each encoder to the same sentences, one after the other. Fitted encoders do not need it.

        After an error, the encoders before the failed one remain fitted to these sentences.

        Args:
            sentences: Sentences, as each encoder takes them; an iterator is read into a list.
            y: Labels, passed to each encoder.
            show_progress_bar: As for `Encoder.fit`.

        Returns:
            The encoder itself.
        """
        encoders, sentences = self._checked(), repeatable(sentences)
        for encoder in encoders:
            encoder.fit(sentences, y, show_progress_bar=show_progress_bar)
        return self

    def _checked(self) -> Sequence[Encoder]:
        """The encoders, if the parameters are valid."""
        checked_bool("Concatenation: normalize", self.normalize)
        if not isinstance(self.encoders, list | tuple) or not self.encoders:
            raise TypeError(f"Concatenation: encoders must be a list of encoders, got {self.encoders!r:.60}")
        for i, encoder in enumerate(self.encoders):
            check_inner(encoder, f"Concatenation: encoders[{i}]")
        return self.encoders

    def _check_fitted(self) -> None:
        for encoder in self._checked():
            encoder._check_fitted()

    def _encode_into(self, batch: Any, out: npt.NDArray[np.float32]) -> None:
        end = 0
        for encoder in self._checked():
            begin, end = end, end + encoder.dim
            rows = out[:, begin:end]
            encoder._encode_into(batch, rows)
            if self.normalize:
                lengths = np.linalg.norm(rows, axis=1, keepdims=True)
                rows /= np.where(lengths > 0, lengths, 1)

    def _identity(self) -> Any:
        return [encoder.fingerprint() for encoder in self._checked()], bool(self.normalize)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all encoders, with their word vectors, to one file for `sentencode.load`.

        It is a safetensors file with the file of each encoder as a tensor of bytes. It is written
        atomically. Programs in C++ cannot read it.

        Args:
            path: File, which is replaced.

        Raises:
            NotFittedError: An encoder is not fitted.
            OSError: The file cannot be written.

        Warns:
            UserWarning: The tokenizer of an encoder must be passed to `load`.
        """
        self._check_fitted()
        write_nested(path, "Concatenation", self._checked(), {"normalize": bool(self.normalize)})

    @classmethod
    def _read(cls, path: str, load: Callable[[Path], Encoder]) -> Any:
        """The concatenation in a file; `load` reads an encoder."""
        config, encoders, more = read_nested(path, load, lambda i: f"encoders[{i}]")
        if set(config) != {"normalize"} or not isinstance(config["normalize"], bool):
            raise FormatError(f"{path}: config: expected normalize, true or false, got {config!r:.60}")
        if more:
            raise FormatError(f"{path}: unknown tensor {min(more)!r:.60}")
        return cls(encoders, **config)
