"""What users give for sentences, as the compiled core takes it.

The core takes a list or tuple of `str`, of `bytes`, or of token lists, and batches that it read itself.
Everything else that holds text is turned into one of these here, known by what it can do: no library is
imported for it.
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
    "to_batch",
    "unit_of",
]

# Where the size of batches is ours to choose, a batch of a stream ends once it has so many characters (of
# files: bytes), however few its sentences: 65,536 documents of a megabyte would be 64 GB. Sentences of up to
# 256 characters fill batches of 65,536, so those of usual text are as ever.
TEXT_AT_ONCE = 1 << 24
_LOOK = 64  # items of a stream that are taken at most before they are measured

# list[str], list[bytes], list[list[str]], ..., or a batch of the core.
Batch = Any
Progress = Callable[[int, int], None]
_TEXT = frozenset({str, bytes})


def is_single(sentences: object) -> bool:
    """Whether this is one sentence, not several."""
    return isinstance(sentences, (str, bytes))


def to_batch(sentences: Any, name: str = "sentences") -> Batch:
    """Turns whatever holds several sentences into what the core takes.

    Args:
        sentences: A list or tuple, a NumPy array, a pandas Series or Index, a pyarrow Array or ChunkedArray,
            a column of a dataset, a table of one column, a Corpus or any other iterable: of `str`, of `bytes`
            or of token lists.
        name: What the argument is called in errors.

    Returns:
        A list or tuple, or a batch of the core as it is. Whether each sentence fits is checked by the core.
        An array of shape [n, 1] is a column of n sentences; one of shape [n, k] has n sentences of k tokens.

    Raises:
        TypeError: It is one string, a table of several columns or a set, or it holds numbers.

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
    # Token lists may hide in arrays: SentEval hands such batches over, and so do pyarrow's list columns.
    if sentences and hasattr(sentences[0], "tolist") and not is_single(sentences[0]):
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
    """Hands out sentences in batches of at most `size`, in order; of a stream no more is held than one batch.

    Args:
        sentences: What `to_batch` takes, a Corpus, or the path of a text file, a folder or a glob.
        size: The most sentences in one batch.
        name: What the argument is called in errors.
        text: A batch of a stream or of files ends, before it has `size` sentences, once it has about so many
            characters; see `TEXT_AT_ONCE`. None: where the user has chosen the size. A list, whose text is in
            memory anyway, is cut by `size` alone.
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
        for batch, _ in read_files(expanded([sentences]), size, text, on_progress):
            yield batch
        return
    if hasattr(sentences, "batches"):
        yield from sentences.batches(size, text=text, on_progress=on_progress)
        return
    whole, sentences = 0, one_column(sentences, name)
    if _is_core_batch(sentences):
        stream, whole = iter([sentences]), len(sentences)
    elif isinstance(sentences, (list, tuple)) or _has_fast_list(sentences):
        listed = to_batch(sentences, name)
        stream, whole = (_part(listed, i, i + size) for i in range(0, len(listed), size)), len(listed)
    else:
        items = _iterator(sentences, name)
        stream = (to_batch(batch, name) for batch in gathered(items, size, text))
    done = 0
    for batch in stream:
        yield batch
        done += len(batch)
        if on_progress is not None:
            on_progress(done, whole)


def column_names(table: Any) -> list[Any] | None:
    """The names of a table's columns, for tables of pandas, polars, pyarrow and datasets; None for all else.

    Args:
        table: Anything.
    """
    if isinstance(table, (str, bytes, list, tuple)) or not hasattr(table, "__len__"):
        return None
    names = getattr(table, "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    return list(names) if isinstance(names, Iterable) and not isinstance(names, Mapping) else None


def one_column(table: Any, name: str = "sentences") -> Any:
    """The column of a table that has only one; what is no table is returned unchanged.

    Args:
        table: Anything.
        name: What the argument is called in errors.

    Raises:
        TypeError: If it has several columns, or none.

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
    """What `on_progress` of `batches` counts: "B", the bytes of files, or "sentences".

    Args:
        sentences: What `batches` takes.

    Example:
        >>> unit_of(["A man."]), unit_of("books.txt")
        ('sentences', 'B')
    """
    of_files = isinstance(sentences, (str, os.PathLike)) or getattr(sentences, "files", None)
    return "B" if of_files else "sentences"


def gathered(items: Iterable[Any], size: int, text: int | None) -> Iterator[list[Any]]:
    """Lists of items of a stream: of at most `size`, and of about `text` characters.

    Args:
        items: Texts, token lists, or tuples of these; anything else has no characters.
        size: The most items in a list.
        text: How many characters end a list. None: any number.

    Yields:
        Lists, none of them empty.

    Example:
        >>> list(gathered(["a long one", "b", "c", "d"], 2, 8))
        [['a long one'], ['b', 'c'], ['d']]
    """
    items = iter(items)
    if text is None:
        yield from iter(lambda: list(islice(items, size)), [])
        return
    batch: list[Any] = []
    characters, look = 0, 1
    while piece := list(islice(items, min(look, size - len(batch)))):
        found = _characters(piece)
        batch += piece
        characters += found
        if len(batch) == size or characters >= text:
            yield batch
            batch, characters = [], 0
        # As many as fit if they are like the last, so that looking at each is rare, and so is too much text.
        look = max(1, min(_LOOK, (text - characters) * len(piece) // (found + 1)))
    if batch:
        yield batch


def _characters(items: Sequence[Any]) -> int:
    """How much text there is in texts, or in lists of them. What is no text is told of elsewhere."""
    if set(map(type, items)) <= _TEXT:
        return sum(map(len, items))
    found = 0
    for item in items:
        if isinstance(item, (str, bytes)):
            found += len(item)
        elif isinstance(item, (list, tuple)) or (hasattr(item, "shape") and item.shape):
            found += _characters(item)
    return found


def filled(sentences: Any, name: str = "sentences") -> tuple[Batch, list[int]]:
    """The sentences with empty ones where there is none: `None`, or what pandas and NumPy have for it.

    Args:
        sentences: What `to_batch` takes.
        name: What the argument is called in errors.

    Returns:
        A list, and the places where there was none.

    Example:
        >>> filled(["A man.", None, float("nan")])
        (['A man.', '', ''], [1, 2])
    """
    listed = to_batch(sentences, name)
    if _is_core_batch(listed):
        return listed, []
    absent = [i for i, item in enumerate(listed) if _is_absent(item)]
    if absent:
        present = next((item for item in listed if not _is_absent(item)), "")
        empty = present[:0] if isinstance(present, (str, bytes, list, tuple)) else ""
        listed = list(listed)
        for i in absent:
            listed[i] = empty
    return listed, absent


def _is_absent(item: Any) -> bool:
    return (
        item is None
        or type(item).__name__ in ("NAType", "NaTType")
        or (isinstance(item, float) and item != item)
    )


def is_blank(text: Any) -> bool:
    """Whether a sentence has no text."""
    if isinstance(text, (str, bytes)):
        return not text or text.isspace()
    return isinstance(text, (list, tuple)) and not text


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
        try:
            return value.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
        except TypeError:  # a ChunkedArray knows no such argument
            return value.to_numpy().tolist()  # type: ignore[no-any-return]
    if hasattr(value, "tolist"):  # numpy, pandas
        shape: Any = getattr(value, "shape", (0,))
        if shape == ():
            raise TypeError(f"{name} is an array without dimensions; expected several sentences")
        if len(shape) == 2 and shape[1] == 1:  # a column, as scikit-learn has them
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
