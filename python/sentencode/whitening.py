"""Embeddings whose dimensions are uncorrelated and have the same variance."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .checks import checked_float, checked_int
from .core_encoder import is_still, plain
from .encoder import Encoder, in_blocks
from .errors import FormatError
from .nested import check_inner, read_nested, write_nested
from .text.corpus import repeatable

__all__ = ["Whitening"]

Floats = npt.NDArray[np.float32]
_ROWS = 4096  # that are computed at once

# The encoder, n_components and damping of a fit; the encoder's parameters; its mean [d] and its directions
# [d, dim], divided by their deviations. One object, so that threads that encode during a fit read the values
# of one fit.
Fit = tuple[Encoder, int | None, float, dict[str, Any], Floats, Floats]


class Whitening(Encoder):
    """The embeddings of an encoder, shifted, rotated and scaled to zero mean and equal variances.

    Whitening (Su et al. 2021) undoes that a few directions of large variance decide the cosines of all
    sentences, as those of `MeanMaxAAE`. It needs no labels, and helps where such directions are.

    Args:
        encoder: Encoder.
        n_components: Number of dimensions, those of the largest variances. None: all of the encoder's.
        damping: Added to each variance, as a share of their mean. Directions of a smaller variance, which
            are mostly noise, keep less than the others.

    Example:
        >>> import numpy as np, sentencode as se
        >>> vectors = se.WordVectors.from_dict({"cat": [9, 1], "dog": [9, -1], "a": [8, 0]})
        >>> encoder = se.Whitening(se.Average(vectors)).fit(["cat", "dog", "a", "a cat", "a dog"])
        >>> encoder.encoder.similarity("cat", "dog").round(2), encoder.similarity("cat", "dog").round(2)
        (array([[0.98]], dtype=float32), array([[-0.34]], dtype=float32))
    """

    _fit: Fit | None = None
    _fitted_here: str | None = None  # fingerprint of the encoder, if `fit` has fitted it

    def __init__(self, encoder: Encoder, *, n_components: int | None = None, damping: float = 0.1) -> None:
        self.encoder = encoder
        self.n_components = n_components
        self.damping = damping

    @property
    def dim(self) -> int:
        """Dimensions of an embedding."""
        self._check()
        return self.encoder.dim if self.n_components is None else self.n_components

    @property
    def fitted(self) -> bool:
        """Whether `fit` was called with these parameters, and those of the encoder."""
        fit, encoder = self._fit, self.encoder
        if fit is None or fit[0] is not encoder or fit[1:3] != (self.n_components, self.damping):
            return False
        now = encoder.get_params(deep=False)
        return all(is_still(now[name], value) for name, value in fit[3].items())

    def fit(self, sentences: Any, y: Any = None, *, show_progress_bar: bool | None = None) -> Any:
        """Fit the mean and the directions. Some thousand sentences suffice.

        The encoder is fitted first, unless it was fitted before, other than by this method. After it is
        fitted again, so must this be. Zero embeddings, of sentences without known words, are not counted.

        Args:
            sentences: Sentences, as for `Encoder.fit`.
            y: Labels, passed to the `fit` of the encoder.
            show_progress_bar: As for `Encoder.fit`.

        Returns:
            The encoder itself.

        Raises:
            ValueError: A parameter is invalid, or there are fewer than two different embeddings.
        """
        self._check()
        here = self._fitted_here is not None and self._fitted_here == _fingerprint(self.encoder)
        if here or not getattr(self.encoder, "fitted", True):
            sentences = repeatable(sentences)
            self.encoder.fit(sentences, y, show_progress_bar=show_progress_bar)
            self._fitted_here = _fingerprint(self.encoder)
        d = self.encoder.dim
        if self.n_components is not None and d < self.n_components:
            raise ValueError(
                f"Whitening: n_components is {self.n_components}, but the encoder has {d} dimensions"
            )
        count, total, products = 0, np.zeros(d), np.zeros((d, d))

        def take(batch: Any) -> None:
            nonlocal count, total, products
            x = np.empty((len(batch), d), np.float32)
            self.encoder._encode_into(batch, x)
            rows = x[x.any(axis=1)].astype(np.float64)  # [n, d]
            count += len(rows)
            total += rows.sum(axis=0)
            products += rows.T @ rows

        in_blocks(sentences, take, show_progress_bar, size=_ROWS)
        mean = total / max(count, 1)
        variances, axes = np.linalg.eigh(products / max(count, 1) - np.outer(mean, mean))  # [d], [d, d]
        if count < 2 or variances[-1] <= 1e-12 * (mean @ mean):
            raise ValueError(f"Whitening: {count} embeddings that are all the same have no directions")
        deviations = np.sqrt(np.maximum(variances, 0) + self.damping * variances.mean())
        directions = (axes / deviations)[:, ::-1][:, : self.n_components]
        return self._adopt(mean.astype(np.float32), directions.astype(np.float32))

    def _adopt(self, mean: Floats, directions: Floats) -> Any:
        params = self.encoder.get_params(deep=False)
        self._fit = self.encoder, self.n_components, self.damping, params, mean, directions
        return self

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self.encoder._check_fitted()

    def _fitted(self) -> Fit:
        self._check_fitted()
        assert self._fit is not None
        return self._fit

    def _check(self) -> None:
        check_inner(self.encoder, "Whitening: encoder")
        checked_float("Whitening: damping", self.damping, 0, 1, above=True)
        if self.n_components is not None:
            checked_int("Whitening: n_components", self.n_components, 1)

    def _encode_into(self, batch: Any, out: npt.NDArray[np.float32]) -> None:
        encoder, _, _, _, mean, directions = self._fitted()
        x = np.empty((len(batch), len(mean)), np.float32)
        encoder._encode_into(batch, x)
        for i in range(0, len(x), _ROWS):
            rows = x[i : i + _ROWS]
            white = (rows - mean) @ directions  # [n, dim]
            white[~rows.any(axis=1)] = 0
            out[i : i + _ROWS] = white

    def _identity(self) -> Any:
        return self.encoder.fingerprint(), *self._fitted()[4:]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the encoder, with its word vectors, and the directions to one file for `sentencode.load`.

        It is written atomically. Programs in C++ cannot read it.

        Args:
            path: File, which is replaced.

        Raises:
            NotFittedError: The encoder is not fitted.
            OSError: The file cannot be written.

        Warns:
            UserWarning: The tokenizer of the encoder must be passed to `load`.
        """
        encoder, n_components, damping, _, mean, directions = self._fitted()
        config = {"n_components": plain(n_components), "damping": plain(damping)}
        write_nested(path, "Whitening", [encoder], config, {"mean": mean, "directions": directions})

    @classmethod
    def _read(cls, path: str, load: Callable[[Path], Encoder]) -> Any:
        """The whitening in a file; `load` reads the encoder."""
        config, encoders, tensors = read_nested(path, load, lambda _: "encoder")
        if set(config) != {"n_components", "damping"} or len(encoders) != 1:
            raise FormatError(f"{path}: config: expected n_components and damping, got {config!r:.60}")
        whitening = cls(encoders[0], **config)
        try:
            whitening._check()
        except (TypeError, ValueError) as error:
            raise FormatError(f"{path}: config: {error}") from None
        d = encoders[0].dim
        expected = {"mean": [d], "directions": [d, whitening.dim]}
        if (shapes := {name: list(values.shape) for name, values in tensors.items()}) != expected:
            raise FormatError(f"{path}: expected tensors {expected}, got {shapes!r:.80}")
        return whitening._adopt(tensors["mean"], tensors["directions"])


def _fingerprint(encoder: Encoder) -> str | None:
    return encoder.fingerprint() if getattr(encoder, "fitted", True) else None
