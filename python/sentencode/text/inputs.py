"""Converts sentences of any type to those of the compiled core.

The core accepts a list or tuple of `str`, of `bytes`, or of token lists, and its own batches. Other types are
recognised by their methods, without importing their libraries.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ..checks import checked_int
from .text_files import expanded, read_files

__all__ = [
    "TEXT_AT_ONCE",
    "Batch",
    "Progress",
    "batches",
    "column_names",
    "counted_from",
    "filled",
    "gathered",
    "is_blank",
    "is_single",
    "one_column",
    "renamed",
    "to_batch",
    "unit_of",
]

# Unless the user has set a batch size, a batch of a stream ends after so many characters (of a file: bytes),
# as 65,536 documents of a megabyte would be 64 GB. This allows 65,536 sentences of up to 256 characters.
TEXT_AT_ONCE = 1 << 24
_MAX_STEP = 64  # items of a stream that are read before their text is measured

# list[str], list[bytes], list[list[str]], ..., or a batch of the core.
Batch = Any
Progress = Callable[[int, int], None]
_TEXT = frozenset({str, bytes})


def is_single(sentences: object) -> bool:
    """Return whether this is one sentence."""
    return isinstance(sentences, (str, bytes))


def to_batch(sentences: Any, name: str = "sentences") -> Batch:
    """Convert several sentences to a list or tuple, or a batch of the core.

    Args:
        sentences: A list or tuple, a NumPy array, a pandas Series or Index, a pyarrow Array or ChunkedArray,
            a column of a dataset, a table of one column, a `Corpus` or another iterable: of `str`, of `bytes`
            or of token lists. An array of shape [n, 1] is a column of n sentences; one of shape [n, k] has n
            sentences of k tokens. The core checks the sentences.
        name: Name of the argument in errors.

    Raises:
        TypeError: It is a string, a table of several columns or a set.

    Example:
        >>> import numpy as np
        >>> to_batch(np.array(["A man.", "A plan."]))
        ['A man.', 'A plan.']
    """
    if is_single(sentences):
        raise TypeError(f"{name} is one {type(sentences).__name__}; expected several, as in [{name}]")
    if not isinstance(sentences, (list, tuple)):
        sentences = one_column(sentences, name)
        if _is_core_batch(sentences):
            return sentences
        sentences = _to_list(sentences, name)
    # Token lists may be arrays, as in batches of SentEval and list columns of pyarrow.
    first = next((item for item in sentences if not _is_absent(item)), None)
    if hasattr(first, "tolist") and not is_single(first):
        sentences = [item.tolist() if hasattr(item, "tolist") else item for item in sentences]
    return sentences


def batches(
    sentences: Any,
    size: int,
    name: str = "sentences",
    *,
    text: int | None = None,
    on_progress: Progress | None = None,
) -> Iterator[Batch]:
    """Yield batches of sentences for the core. Of a stream, one batch is in memory at a time.

    Args:
        sentences: As for `to_batch`, or a `Corpus`, or the path of a text file, a folder or a glob.
        size: Maximum of sentences in a batch.
        name: Name of the argument in errors.
        text: Number of characters after which a batch of a stream or a file ends, see `TEXT_AT_ONCE`. None:
            no limit. It does not apply to lists.
        on_progress: Called after each batch with the progress and the total (0 if unknown), in bytes of
            files, else in sentences.

    Example:
        >>> list(batches((f"sentence {i}" for i in range(3)), 2))
        [['sentence 0', 'sentence 1'], ['sentence 2']]
    """
    size = checked_int("size", size, 1)
    if isinstance(sentences, (str, os.PathLike)):
        for batch, _ in read_files(expanded([sentences]), size, text, on_progress):
            yield batch
        return
    if hasattr(sentences, "batches"):
        yield from sentences.batches(size, text=text, on_progress=on_progress)
        return
    total, sentences = 0, one_column(sentences, name)
    if _is_core_batch(sentences):
        stream, total = iter([sentences]), len(sentences)
    elif isinstance(sentences, (list, tuple)) or _has_fast_list(sentences):
        sentences = to_batch(sentences, name)
        total = len(sentences)
        stream = (_part(sentences, i, i + size) for i in range(0, total, size))
    else:
        items = _iterator(sentences, name)
        stream = (to_batch(batch, name) for batch in gathered(items, size, text))
    done = 0
    for batch in stream:
        yield batch
        done += len(batch)
        if on_progress is not None:
            on_progress(done, total)


def column_names(table: Any) -> list[Any] | None:
    """Return the column names of a table of pandas, polars, pyarrow or datasets; None for other types.

    Args:
        table: Any object.
    """
    if isinstance(table, (str, bytes, list, tuple)) or not hasattr(table, "__len__"):
        return None
    names = getattr(table, "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    return list(names) if isinstance(names, Iterable) and not isinstance(names, Mapping) else None


def one_column(table: Any, name: str = "sentences") -> Any:
    """Return the only column of a table; other types are returned unchanged.

    Args:
        table: Any object.
        name: Name of the argument in errors.

    Raises:
        TypeError: The table has several columns, or none.

    Example:
        >>> import pandas
        >>> one_column(pandas.DataFrame({"text": ["A man.", "A plan."]})).tolist()
        ['A man.', 'A plan.']
    """
    names = column_names(table)
    if names is None:
        return table
    if len(names) != 1:
        raise TypeError(f"{name} is a {type(table).__name__}; pass one of its columns: {names}")
    return table[names[0]]


def unit_of(sentences: Any) -> str:
    """Return the unit of `on_progress` of `batches`: "B" for the bytes of files, or "sentences".

    Args:
        sentences: As for `batches`.

    Example:
        >>> unit_of(["A man."]), unit_of("books.txt")
        ('sentences', 'B')
    """
    from_files = isinstance(sentences, (str, os.PathLike)) or getattr(sentences, "files", None)
    return "B" if from_files else "sentences"


def gathered(items: Iterable[Any], size: int, text: int | None) -> Iterator[list[Any]]:
    """Yield nonempty lists of items of a stream.

    Args:
        items: Texts, token lists, or tuples of these; other items have no characters.
        size: Maximum of items in a list.
        text: Number of characters after which a list ends. None: no limit.

    Example:
        >>> list(gathered(["a long one", "b", "c", "d"], 2, 8))
        [['a long one'], ['b', 'c'], ['d']]
    """
    items = iter(items)
    if text is None:
        yield from iter(lambda: list(islice(items, size)), [])
        return
    batch: list[Any] = []
    characters, step = 0, 1
    while piece := list(islice(items, min(step, size - len(batch)))):
        added = _characters(piece)
        batch += piece
        characters += added
        if len(batch) == size or characters >= text:
            yield batch
            batch, characters = [], 0
        # As many as fit if they are as long as the last ones.
        step = max(1, min(_MAX_STEP, (text - characters) * len(piece) // (added + 1)))
    if batch:
        yield batch


def _characters(items: Sequence[Any]) -> int:
    """Number of characters of texts, or of lists of them. Other types are errors elsewhere."""
    if set(map(type, items)) <= _TEXT:
        return sum(map(len, items))
    count = 0
    for item in items:
        if isinstance(item, (str, bytes)):
            count += len(item)
        elif isinstance(item, (list, tuple)) or (hasattr(item, "shape") and item.shape):
            count += _characters(item)
    return count


def filled(sentences: Any, name: str = "sentences") -> tuple[Batch, list[int]]:
    """Replace missing sentences (`None`, and those of pandas and NumPy) by empty ones.

    Args:
        sentences: As for `to_batch`.
        name: Name of the argument in errors.

    Returns:
        The batch, and the indices of missing sentences.

    Example:
        >>> filled(["A man.", None, float("nan")])
        (['A man.', '', ''], [1, 2])
    """
    batch = to_batch(sentences, name)
    if _is_core_batch(batch):
        return batch, []
    absent = [i for i, item in enumerate(batch) if _is_absent(item)]
    if absent:
        present = next((item for item in batch if not _is_absent(item)), "")
        empty = present[:0] if isinstance(present, (str, bytes, list, tuple)) else ""
        batch = list(batch)
        for i in absent:
            batch[i] = empty
    return batch, absent


def _is_absent(item: Any) -> bool:
    return (
        item is None
        or type(item).__name__ in ("NAType", "NaTType")
        or (isinstance(item, float) and item != item)
    )


def is_blank(text: Any) -> bool:
    """Return whether a sentence has no text."""
    if isinstance(text, (str, bytes)):
        return not text or text.isspace()
    return isinstance(text, (list, tuple)) and not text


@contextmanager
def counted_from(first: int, name: str = "sentences") -> Iterator[None]:
    """Context of the work on a batch, which adds `first` to the index of errors about `sentences[i]`.

    May be nested.

    Args:
        first: Index of the first sentence of the batch.
        name: Name of the argument in errors.

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
        if isinstance(text, str) and (match := re.match(rf"{re.escape(name)}\[(\d+)\]", text)):
            item = f"{name}[{first + int(match[1])}]"
            error.args = (item + text[match.end() :], *error.args[1:])
        raise


@contextmanager
def renamed(name: str) -> Iterator[None]:
    """Context of the work on another argument than `sentences`, which errors then have the name of.

    Args:
        name: Name of the argument in errors.

    Example:
        >>> with renamed("queries"):
        ...     to_batch(None)
        Traceback (most recent call last):
        TypeError: queries is NoneType; expected a list, array, column or iterable of str
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        text = error.args[0] if error.args else None
        if isinstance(text, str) and re.match(r"sentences\b", text):
            error.args = (name + text.removeprefix("sentences"), *error.args[1:])
        raise


def _part(sentences: Batch, begin: int, end: int) -> Batch:
    """A slice; of a list as a tuple, which the core does not copy."""
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
    if hasattr(value, "to_pylist"):  # pyarrow, which is much faster by way of NumPy
        try:
            return value.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
        except TypeError:  # ChunkedArray does not have this argument
            return value.to_numpy().tolist()  # type: ignore[no-any-return]
    if hasattr(value, "tolist"):  # numpy, pandas
        shape: Any = getattr(value, "shape", (0,))
        if shape == ():
            raise TypeError(f"{name} is an array without dimensions; expected several sentences")
        if len(shape) == 2 and shape[1] == 1:  # a column, as in scikit-learn
            value = value[:, 0]
        return value.tolist()  # type: ignore[no-any-return]
    if hasattr(value, "to_list"):  # polars
        return value.to_list()  # type: ignore[no-any-return]
    return list(_iterator(value, name))


def _iterator(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, (Mapping, AbstractSet)):
        raise TypeError(f"{name} is a {type(value).__name__}, which has no order of sentences; pass a list")
    try:
        return iter(value)
    except TypeError:
        raise TypeError(
            f"{name} is {type(value).__name__}; expected a list, array, column or iterable of str"
        ) from None
