"""What users give for sentences, as the compiled core takes it.

The core takes a list or tuple of `str`, of `bytes`, or of token lists, and batches that it read itself.
Everything else that holds text is turned into one of these here, known by what it can do: no library is
imported for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ..checks import checked_int

__all__ = ["Batch", "Progress", "batches", "counted_from", "is_single", "to_batch"]

# list[str], list[bytes], list[list[str]], ..., or a batch of the core.
Batch = Any
Progress = Callable[[int, int], None]


def is_single(sentences: object) -> bool:
    """Whether this is one sentence, not several."""
    return isinstance(sentences, (str, bytes))


def to_batch(sentences: Any, name: str = "sentences") -> Batch:
    """Turns whatever holds several sentences into what the core takes.

    Args:
        sentences: A list or tuple, a NumPy array, a pandas Series or Index, a pyarrow Array or ChunkedArray,
            a column of a dataset, a Corpus or any other iterable: of `str`, of `bytes` or of token lists.
        name: What the argument is called in errors.

    Returns:
        A list or tuple, or a batch of the core as it is. Whether each sentence fits is checked by the core.

    Raises:
        TypeError: It is one string, a table or a set, or it holds numbers.

    Example:
        >>> import numpy as np
        >>> to_batch(np.array(["A man.", "A plan."]))
        ['A man.', 'A plan.']
    """
    if is_single(sentences):
        raise TypeError(f"{name} is one {type(sentences).__name__}; expected several, as in [{name}]")
    if not isinstance(sentences, (list, tuple)):
        if _is_core_batch(sentences):
            return sentences
        sentences = _to_list(sentences, name)
    # Token lists may hide in arrays: SentEval hands such batches over, and so do pyarrow's list columns.
    if sentences and hasattr(sentences[0], "tolist") and not is_single(sentences[0]):
        sentences = [item.tolist() if hasattr(item, "tolist") else item for item in sentences]
    return sentences


def batches(
    sentences: Any, size: int, name: str = "sentences", *, on_progress: Progress | None = None
) -> Iterator[Batch]:
    """Hands out sentences in batches of at most `size`, in order; of a stream no more is held than one batch.

    Args:
        sentences: What `to_batch` takes, a Corpus, or the path of a text file, a folder or a glob.
        size: The most sentences in one batch.
        name: What the argument is called in errors.
        on_progress: Called after each batch with what was read and the whole: bytes of files, else sentences.
            The whole is 0 where it is not known.

    Yields:
        Batches for the core.

    Example:
        >>> list(batches((f"sentence {i}" for i in range(3)), 2))
        [['sentence 0', 'sentence 1'], ['sentence 2']]
    """
    size = checked_int("size", size, 1)
    if isinstance(sentences, (str, os.PathLike)):
        from .corpus import Corpus

        sentences = Corpus(sentences)
    if hasattr(sentences, "batches"):
        yield from sentences.batches(size, on_progress=on_progress)
        return
    whole = 0
    if _is_core_batch(sentences):
        stream, whole = iter([sentences]), len(sentences)
    elif isinstance(sentences, (list, tuple)) or _has_fast_list(sentences):
        listed = to_batch(sentences, name)
        stream, whole = (_part(listed, i, i + size) for i in range(0, len(listed), size)), len(listed)
    else:
        items = _iterator(sentences, name)
        stream = (to_batch(batch, name) for batch in iter(lambda: list(islice(items, size)), []))
    done = 0
    for batch in stream:
        yield batch
        done += len(batch)
        if on_progress is not None:
            on_progress(done, whole)


@contextmanager
def counted_from(first: int, name: str = "sentences") -> Iterator[None]:
    """Around the work on one of several batches: an error about `sentences[i]` of it tells the place in all.

    The core, and external tokenizers, see a batch alone. These may stand within each other.

    Args:
        first: How many sentences were handed out before this batch.
        name: What the argument is called in errors.

    Example:
        >>> with counted_from(70000):
        ...     raise TypeError("sentences[3] is float (nan); expected str")
        Traceback (most recent call last):
        TypeError: sentences[70003] is float (nan); expected str
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        text = error.args[0] if error.args else None
        if isinstance(text, str) and (found := re.match(rf"{re.escape(name)}\[(\d+)\]", text)):
            place = f"{name}[{first + int(found[1])}]"
            error.args = (place + text[found.end() :], *error.args[1:])
        raise


def _part(sentences: Batch, begin: int, end: int) -> Batch:
    """A slice; of a list as a tuple, of which the core needs no copy."""
    if begin == 0 and end >= len(sentences):
        return sentences
    if isinstance(sentences, list):
        from sentencode._core import tuple_of

        return tuple_of(sentences, begin, end)
    return sentences[begin:end]


def _is_core_batch(value: object) -> bool:
    from sentencode._core import SentenceBatch

    return isinstance(value, SentenceBatch)


def _has_fast_list(value: object) -> bool:
    return any(hasattr(value, method) for method in ("tolist", "to_pylist", "to_list"))


def _to_list(value: Any, name: str) -> Sequence[Any]:
    if hasattr(value, "to_pylist"):  # pyarrow, whose way through NumPy is many times faster
        if hasattr(value, "column_names"):
            raise TypeError(_asks_for_column(value, value.column_names, name))
        try:
            return value.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
        except TypeError:  # a ChunkedArray knows no such argument
            return value.to_numpy().tolist()  # type: ignore[no-any-return]
    if hasattr(value, "tolist"):  # numpy, pandas
        if getattr(value, "shape", None) == ():
            raise TypeError(f"{name} is an array without dimensions; expected several sentences")
        return value.tolist()  # type: ignore[no-any-return]
    if hasattr(value, "to_list"):  # polars
        return value.to_list()  # type: ignore[no-any-return]
    return list(_iterator(value, name))


def _asks_for_column(table: Any, columns: list[Any], name: str) -> str:
    return f"{name} is a {type(table).__name__}; pass one of its columns: {columns}"


def _iterator(value: Any, name: str) -> Iterator[Any]:
    if hasattr(value, "columns"):
        raise TypeError(_asks_for_column(value, list(value.columns), name))
    if isinstance(value, (Mapping, AbstractSet)):
        raise TypeError(f"{name} is a {type(value).__name__}, which has no order of sentences; pass a list")
    try:
        return iter(value)
    except TypeError:
        raise TypeError(
            f"{name} is {type(value).__name__}; expected a list, array, column or iterable of str"
        ) from None
