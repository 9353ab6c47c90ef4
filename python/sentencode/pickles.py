"""Reads data of pickles without executing them."""

from __future__ import annotations

import pickle
import struct
import sys
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from .errors import FormatError

__all__ = ["PickledArray", "PickledObject", "read_pickle"]


def read_pickle(path: Any, file: BinaryIO, *, kinds: str = "f", classes: Collection[str] = ()) -> Any:
    """The content of a pickle: dictionaries, lists, strings, numbers, and arrays as `PickledArray`.

    Unpickling executes code that the file names. This reader constructs data only; everything else is an
    error.

    Args:
        path: Name of the file in errors.
        file: The pickle.
        kinds: Kinds of arrays, as NumPy's letters of "fiu".
        classes: Classes whose objects become a `PickledObject`.

    Raises:
        FormatError: It is damaged, or contains something else than data.

    Example:
        >>> import io, pickle
        >>> read_pickle("numbers.pkl", io.BytesIO(pickle.dumps({"one": [1, 2.0]})))
        {'one': [1, 2.0]}
        >>> read_pickle("evil.pkl", io.BytesIO(pickle.dumps(print)))
        Traceback (most recent call last):
        sentencode.errors.FormatError: evil.pkl: UnpicklingError: contains builtins.print, which is not data
    """
    try:
        return _Unpickler(file, kinds, classes).load()
    except Exception as error:  # a damaged pickle may raise any error
        raise FormatError(f"{path}: {type(error).__name__}: {error}") from error


class PickledArray:
    """An array in a pickle; NumPy's unpickling trusts its input."""

    def __init__(self, *arguments: Any) -> None:
        self._state: Sequence[Any] = ()

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def array(self) -> NDArray[Any]:
        """The array; a damaged one may raise any error."""
        _, shape, dtype, fortran, content = self._state
        if isinstance(content, str):  # bytes of Python 2, read as latin-1
            content = content.encode("latin1")
        flat: NDArray[Any] = np.frombuffer(content, dtype.dtype())
        array: NDArray[Any] = flat.reshape(shape, order="F" if fortran else "C")
        return array


def _of_buffer(content: Any, dtype: Any, shape: Any, order: str, *others: Any) -> PickledArray:
    """The array that `numpy.core.numeric._frombuffer` makes, as NumPy writes it with protocol 5."""
    if order not in ("C", "F"):
        raise pickle.UnpicklingError(f"an array in the order {order!r}, expected 'C' or 'F'")
    array = PickledArray()
    array.__setstate__((1, shape, dtype, order == "F", content))
    return array


class PickledObject:
    """The attributes of an object in a pickle."""

    def __init__(self, *arguments: Any) -> None:
        self.attributes: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.attributes = state if isinstance(state, dict) else {}


class _Dtype:
    """A NumPy dtype in a pickle."""

    def __init__(self, kinds: str, code: str, *flags: Any) -> None:
        if code not in [kind + size for kind in kinds for size in "1248"] or code == "f1":
            expected = "floats" if kinds == "f" else "numbers"
            raise pickle.UnpicklingError(f"an array of {code!r}, expected {expected}")
        self._code = code
        self._order = "<"

    def __setstate__(self, state: Any) -> None:
        self._order = {">": ">"}.get(state[1], "<")

    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._order + self._code)


def _encode(text: str, encoding: str) -> bytes:
    """Decodes bytes of protocol 2."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes as {encoding!r}, expected 'latin1'")
    return text.encode("latin1")


# That of C allocates gigabytes for a memo index in a few bytes.
class _Unpickler(pickle._Unpickler):
    def __init__(self, file: BinaryIO, kinds: str, classes: Collection[str]) -> None:
        super().__init__(file, encoding="latin1")
        self._allowed: dict[str, Any] = {
            "numpy.core.multiarray._reconstruct": PickledArray,
            "numpy._core.multiarray._reconstruct": PickledArray,
            "numpy.core.numeric._frombuffer": _of_buffer,
            "numpy._core.numeric._frombuffer": _of_buffer,
            "numpy.ndarray": PickledArray,
            "numpy.dtype": partial(_Dtype, kinds),
            "_codecs.encode": _encode,
            "__builtin__.frozenset": frozenset,
            "builtins.frozenset": frozenset,
            **dict.fromkeys(classes, PickledObject),
        }

    def _load_bytearray8(self: Any) -> None:
        """Reads bytes: the base class first fills a bytearray of the claimed length, which may be huge."""
        (length,) = struct.unpack("<Q", self.read(8))
        self.append(self.read(min(length, sys.maxsize)))

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.BYTEARRAY8[0]: _load_bytearray8,
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._allowed[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(f"contains {module}.{name}, which is not data") from None
