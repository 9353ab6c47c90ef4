"""Embeddings in fewer bytes: float16, int8, or one bit for each dimension."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from . import _core
from .checks import checked_bool, checked_int, checked_rows, is_one_row

__all__ = ["DTYPES", "Output", "Precision", "checked_ranges", "quantize_embeddings"]

Precision = Literal["float32", "float16", "int8", "uint8", "binary", "ubinary"]
_TYPES = (np.float32, np.float16, np.int8, np.uint8, np.int8, np.uint8)
DTYPES: dict[str, npt.DTypeLike] = dict(zip(get_args(Precision), _TYPES, strict=True))


def quantize_embeddings(
    embeddings: Any,
    precision: Precision,
    ranges: npt.ArrayLike | None = None,
    calibration_embeddings: Any = None,
) -> npt.NDArray[Any]:
    """Return embeddings in another precision, byte for byte as in sentence-transformers 6.2.

    "int8" and "uint8" divide the range of each dimension into 256 steps. "binary" and "ubinary" store one bit
    for each dimension, whether it is positive, packed into int8 or uint8.

    Releases before July 2026 truncate int8 towards zero and wrap values outside the ranges. Without ranges,
    sentence-transformers uses those of the embeddings themselves. Rows of two calls then have different
    scales and must not be compared, so this function requires ranges.

    Args:
        embeddings: [n, dim], or one [dim]: an array or a tensor.
        precision: "float32", "float16", "int8", "uint8", "binary" or "ubinary".
        ranges: For int8 and uint8: least and largest value of each dimension, [2, dim]. Values outside get
            the nearest step.
        calibration_embeddings: Embeddings whose ranges are used if `ranges` is None.

    Returns:
        [n, dim], or [n, ceil(dim / 8)] for "binary" and "ubinary"; without n for one embedding.

    Raises:
        ValueError: Ranges are missing or invalid, or embeddings hold NaN (except for floats).

    Example:
        >>> import numpy as np, sentencode as se
        >>> embeddings = np.array([[0.5, -0.1], [-0.5, 0.2]])
        >>> se.quantize_embeddings(embeddings, "int8", ranges=[[-1, -1], [1, 1]])
        array([[ 63, -14],
               [-65,  25]], dtype=int8)
        >>> se.quantize_embeddings(embeddings, "ubinary")
        array([[128],
               [ 64]], dtype=uint8)
    """
    rows = checked_rows("embeddings", embeddings)
    if ranges is None and calibration_embeddings is not None and precision in ("int8", "uint8"):
        sample = checked_rows("calibration_embeddings", calibration_embeddings)
        if len(sample) == 0:
            raise ValueError("calibration_embeddings has no rows")
        ranges = np.stack([sample.min(axis=0), sample.max(axis=0)])
    output = Output("quantize_embeddings", rows.shape[1], precision, ranges=ranges)
    stored = np.empty((len(rows), output.width), output.dtype)
    _core.quantize(rows, stored, output.precision, output._ranges)
    return stored[0] if is_one_row(embeddings) else stored


class Output:
    """How embeddings of `dim` dimensions are returned: the first ones, normalized, in a precision."""

    def __init__(
        self,
        caller: str,
        dim: int,
        precision: str | None = None,
        *,
        truncate_dim: int | None = None,
        normalize: bool = False,
        ranges: npt.ArrayLike | None = None,
    ) -> None:
        self.caller = caller
        self.precision = "float32" if precision is None else precision
        if self.precision not in DTYPES:
            *names, last = map(repr, DTYPES)
            raise ValueError(f"{caller}: precision must be {', '.join(names)} or {last}, got {precision!r}")
        self.full_dim = dim
        self.dim = (
            dim if truncate_dim is None else checked_int(f"{caller}: truncate_dim", truncate_dim, 1, dim)
        )
        self.normalize = normalize is not None and checked_bool(f"{caller}: normalize_embeddings", normalize)
        self.dtype = np.dtype(DTYPES[self.precision])
        self.width = -(-self.dim // 8) if self.precision in ("binary", "ubinary") else self.dim
        quantized = self.precision in ("int8", "uint8")
        if quantized and ranges is None:
            raise ValueError(
                f"{caller}: precision={precision!r} requires ranges of the dimensions, which "
                "Encoder.calibrate returns"
            )
        if not quantized and ranges is not None:
            raise ValueError(f"{caller}: ranges are of 'int8' and 'uint8', not of {self.precision!r}")
        self._ranges = None if ranges is None else checked_ranges(f"{caller}: ranges", ranges, self.dim)

    def is_direct(self, block: npt.NDArray[Any]) -> bool:
        """Whether embeddings can be computed in a block of the result itself."""
        return self.precision == "float32" and self.dim == self.full_dim and block.flags.c_contiguous

    def store(self, rows: npt.NDArray[np.float32], block: npt.NDArray[Any]) -> None:
        """Writes rows [n, full_dim] to a block [n, width] of the result, and may change `rows`."""
        first = rows[:, : self.dim]
        if self.normalize:
            _core.normalize_rows(first)
        if block is rows:
            return
        plain = block[:1].flags.c_contiguous and block.strides[0] > 0
        stored = block if plain else np.empty(block.shape, block.dtype)
        _core.quantize(first, stored, self.precision, self._ranges)
        if self.precision == "float16" and np.isinf(stored).any():
            raise ValueError(
                f"{self.caller}: an embedding has {np.nanmax(np.abs(first)):g}, too large for "
                "precision='float16': normalize embeddings, or use 'float32'"
            )
        if not plain:
            block[:] = stored


def checked_ranges(name: str, ranges: npt.ArrayLike, dim: int) -> _core.Ranges:
    """The ranges [2, dim] of int8 and uint8.

    Raises:
        ValueError: They have another shape, or are not finite and in order.
    """
    values = np.ascontiguousarray(ranges, dtype=np.float32)
    if values.shape != (2, dim):
        raise ValueError(f"{name} must have the shape [2, {dim}], got {list(values.shape)}")
    return _core.Ranges(values)
