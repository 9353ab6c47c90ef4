"""Checks the arguments of `Encoder.encode`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from ._extras import require
from .quantization import Output

__all__ = [
    *("check_keywords", "check_out", "checked_missing", "length_of", "output_of", "to_tensor"),
    "torch_device",
]

# Keywords of sentence-transformers without a meaning here, and the values that are accepted.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "prompt": (None, ""),
    "prompt_name": (None,),
    "task": (None,),
    "output_value": ("sentence_embedding",),
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
                "normalize_embeddings, convert_to_numpy, convert_to_tensor, precision, truncate_dim, ranges, "
                "device, out, missing"
            )
        if not any(type(value) is type(neutral) and value == neutral for neutral in _NEUTRAL[name]):
            raise ValueError(
                f"encode: {name}={value!r} of sentence-transformers is not supported; "
                f"leave it out or pass {_NEUTRAL[name][0]!r}"
            )


def output_of(dim: int, precision: str | None, out: Any, missing: str, **options: Any) -> Output:
    """How `encode` returns embeddings of `dim` dimensions; `out` of float16 implies that precision."""
    if precision in (None, "float32") and isinstance(out, np.ndarray) and out.dtype == np.float16:
        precision = "float16"
    output = Output("encode", dim, precision, **options)
    if missing == "nan" and output.precision not in ("float32", "float16"):
        raise ValueError(f"encode: precision={output.precision!r} has no NaN; use missing='zero'")
    return output


def check_out(out: Any, count: int | None, output: Output) -> None:
    """Raises an error unless `out` is a writable array [count, width] of the type of the output."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"encode: out must be a NumPy array or memory map, got a {type(out).__name__}")
    if out.dtype != output.dtype:
        types = {"float32": "float32 or float16"}.get(
            output.precision, f"{output.dtype} for precision={output.precision!r}"
        )
        raise ValueError(f"encode: out must be of {types}, got {out.dtype}")
    rows = "number of sentences" if count is None else count
    width = output.width
    if out.ndim != 2 or out.shape[1] != width or (count is not None and out.shape[0] != count):
        raise ValueError(f"encode: out must have the shape [{rows}, {width}], got {list(out.shape)}")
    if not out.flags.writeable:
        raise ValueError("encode: out is read-only; a memory map needs the mode 'r+' or 'w+'")


def to_tensor(rows: npt.NDArray[Any], device: Any) -> Any:
    """A PyTorch tensor of an array, on a device."""
    try:
        torch = require("torch", "nn")
    except ImportError:
        raise ImportError("tensors need PyTorch: pip install 'sentencode[nn]'") from None
    tensor = torch.from_numpy(rows)
    return tensor if device in (None, "auto") else tensor.to(torch_device(device))


def torch_device(device: Any) -> Any:
    """A `torch.device`; ValueError if it cannot be used."""
    import torch

    try:
        found = torch.device(device)
        if found.type == "meta":
            raise RuntimeError("nothing is computed there")
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:  # the latter where torch was built without CUDA
        why = re.split(r"\.\s|\n", str(error))[0]
        raise ValueError(f"device={str(device)!r} cannot be used: {why}") from None
    return found
