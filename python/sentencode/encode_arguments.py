"""Checks the arguments of `Encoder.encode`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._extras import require

__all__ = ["check_keywords", "check_out", "checked_dtype", "checked_missing", "length_of", "to_tensor"]

# Keywords of sentence-transformers without a meaning here, and the values that are accepted.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "prompt": (None, ""),
    "prompt_name": (None,),
    "task": (None,),
    "output_value": ("sentence_embedding",),
    "truncate_dim": (None,),
    "pool": (None,),
    "chunk_size": (None,),
}


def checked_missing(missing: str) -> str:
    """`missing`, if it is valid."""
    if missing not in ("error", "zero", "nan"):
        raise ValueError(f"encode: missing must be 'error', 'zero' or 'nan', got {missing!r}")
    return missing


def length_of(sentences: Any) -> int | None:
    """The number of sentences; None for a stream."""
    if getattr(sentences, "shape", None) == ():  # it has `__len__`, but no length
        raise TypeError("sentences is an array without dimensions; expected one sentence or several")
    return len(sentences) if hasattr(sentences, "__len__") else None


def check_keywords(keywords: dict[str, Any]) -> None:
    """Raises an error unless all keywords are sentence-transformers' and have no effect."""
    for name, value in keywords.items():
        if name not in _NEUTRAL:
            raise TypeError(
                f"encode() has no keyword {name!r}; it knows batch_size, show_progress_bar, "
                "normalize_embeddings, convert_to_numpy, convert_to_tensor, precision, device, out, missing"
            )
        if not any(type(value) is type(neutral) and value == neutral for neutral in _NEUTRAL[name]):
            raise ValueError(
                f"encode: {name}={value!r} of sentence-transformers is not supported; "
                f"leave it out or pass {_NEUTRAL[name][0]!r}"
            )


def checked_dtype(precision: str | None, out: npt.NDArray[Any] | None) -> npt.DTypeLike:
    """The type of the embeddings: that of `out`, or `precision`."""
    if precision not in ("float32", "float16", None):
        raise ValueError(f"encode: precision must be 'float32' or 'float16', got {precision!r}")
    return out.dtype if isinstance(out, np.ndarray) else precision or "float32"


def check_out(out: Any, count: int | None, dim: int) -> None:
    """Raises an error unless `out` is a writable array of shape [count, dim]."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"encode: out must be a NumPy array or memory map, got a {type(out).__name__}")
    if out.dtype not in (np.float32, np.float16):
        raise ValueError(f"encode: out must be of float32 or float16, got {out.dtype}")
    rows = "number of sentences" if count is None else count
    if out.ndim != 2 or out.shape[1] != dim or (count is not None and out.shape[0] != count):
        raise ValueError(f"encode: out must have the shape [{rows}, {dim}], got {list(out.shape)}")
    if not out.flags.writeable:
        raise ValueError("encode: out is read-only; a memory map needs the mode 'r+' or 'w+'")


def to_tensor(rows: npt.NDArray[Any], device: Any) -> Any:
    """A PyTorch tensor of an array, on a device."""
    try:
        torch = require("torch", "nn")
    except ImportError:
        raise ImportError("tensors need PyTorch: pip install 'sentencode[nn]'") from None
    tensor = torch.from_numpy(rows)
    return tensor if device in (None, "auto") else tensor.to(device)
