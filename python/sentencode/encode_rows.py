"""Encodes sentences block by block into one array."""

from __future__ import annotations

import warnings
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from .checks import checked_int
from .encode_arguments import check_out, length_of
from .errors import ZeroRowsWarning
from .progress import progress
from .quantization import Output
from .text.inputs import TEXT_AT_ONCE, batches, counted_from, is_blank, unit_of

__all__ = ["encode_rows"]

Rows = npt.NDArray[Any]
_CHUNK = 1 << 16  # sentences between two updates of the progress bar
_BUFFER_BYTES = 1 << 26  # of float32 embeddings that are converted at a time
_MANY, _MANY_FRACTION = 20, 0.25  # number and fraction of zero embeddings that cause a warning
_WARNED: WeakSet[Any] = WeakSet()  # encoders whose zero embeddings caused a warning


def encode_rows(
    encoder: Any,
    sentences: Any,
    batch_size: int | None,
    show_progress_bar: bool | None,
    output: Output,
    out: Rows | None,
) -> Rows:
    """The embeddings of sentences, in `out` if it is an array."""
    count = length_of(sentences)
    if out is not None:
        check_out(out, count, output)
    elif count is not None:
        out = np.empty((count, output.width), output.dtype)
    direct = output.is_direct(np.empty((1, output.width), output.dtype) if out is None else out)
    size = _CHUNK if direct else max(1, min(_CHUNK, _BUFFER_BYTES // (4 * max(1, output.full_dim))))
    if batch_size is not None:
        size = checked_int("encode: batch_size", batch_size, 1)
    buffer = np.empty((0, output.full_dim), np.float32)
    blocks = []  # of a stream
    done = unknown = 0
    progress_bar = progress(show_progress_bar, "encode", unit_of(sentences))
    with progress_bar as bar:
        if batch_size is None and bar is None and count is not None and direct and encoder._takes_lists:
            size = max(count, 1)
        text = TEXT_AT_ONCE if batch_size is None else None
        for batch in batches(sentences, size, text=text, on_progress=bar):
            end = done + len(batch)
            if out is None:
                block = np.empty((len(batch), output.width), output.dtype)
                blocks.append(block)
            elif end > len(out):
                raise ValueError(f"encode: out has {len(out)} rows, and there are more sentences")
            else:
                block = out[done:end]
            if not direct and len(buffer) < len(batch):
                buffer = np.empty((len(batch), output.full_dim), np.float32)
            rows = block if direct else buffer[: len(batch)]
            with counted_from(done):
                encoder._encode_into(batch, rows)
            unknown += _count_unknown(batch, rows)
            output.store(rows, block)
            done = end
            progress_bar.encoded(done)
    _warn_of_unknown(encoder, unknown, done)
    if out is None:
        return np.concatenate(blocks) if blocks else np.empty((0, output.width), output.dtype)
    if done < len(out):
        raise ValueError(f"encode: out has {len(out)} rows, and there are {done} sentences")
    return out


def _count_unknown(batch: Any, rows: Rows) -> int:
    """Number of zero embeddings of sentences that have text; 0 if they are few."""
    zero = np.flatnonzero(rows[:, 0] == 0) if rows.shape[1] else np.empty(0, int)
    if len(zero) < _MANY_FRACTION * len(rows):
        return 0
    zero = zero[~rows[zero].any(axis=1)]
    texts = batch.to_list() if hasattr(batch, "to_list") else batch
    return sum(not is_blank(texts[i]) for i in zero)


def _warn_of_unknown(encoder: Any, unknown: int, rows: int) -> None:
    if unknown < _MANY or unknown < _MANY_FRACTION * rows or encoder in _WARNED:
        return
    _WARNED.add(encoder)
    warnings.warn(
        f"{type(encoder).__name__}.encode: {unknown:,} of {rows:,} rows ({unknown / rows:.0%}) are zero, "
        "most likely because no word of their sentences is known. Perhaps the text has another language or "
        "case (lowercase=) than the word vectors, or was tokenized in another way (tokenizer=)",
        ZeroRowsWarning,
        stacklevel=4,
    )
