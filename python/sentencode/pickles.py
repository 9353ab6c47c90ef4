"""Data out of pickles, without running what a pickle says."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .errors import FormatError

__all__ = ["PickledArray", "PickledObject", "read_pickle"]


def read_pickle(path: Any, file: BinaryIO, *, kinds: str = "f", classes: Collection[str] = ()) -> Any:
    """What a pickle holds: dictionaries, lists, strings, numbers and arrays.

    Unpickling runs whatever the file says. This reader knows nothing but data, which it puts together itself;
    whatever else a file asks for is an error, and is not run.

    Args:
        path: What errors call it.
        file: The pickle.
        kinds: Of the arrays' numbers: NumPy's letters, of "fiu".
        classes: Objects of these become `PickledObject`, their attributes without their methods.

    Returns:
        The content; arrays as `PickledArray`.

    Raises:
        FormatError: If it is damaged, or asks for something else than data.

    Example:
        >>> import io, pickle
        >>> read_pickle("numbers.pkl", io.BytesIO(pickle.dumps({"one": [1, 2.0]})))
        {'one': [1, 2.0]}
        >>> read_pickle("evil.pkl", io.BytesIO(pickle.dumps(print)))
        Traceback (most recent call last):
        sentencode.errors.FormatError: evil.pkl: UnpicklingError: asks for builtins.print, which is not data
    """
    try:
        return _Unpickler(file, kinds, classes).load()
    except Exception as error:  # a damaged pickle may be any error at all
        raise FormatError(f"{path}: {type(error).__name__}: {error}") from error


class PickledArray:
    """Stands for an array in a pickle: NumPy's own unpickling trusts what it is given."""

    def __init__(self, *arguments: Any) -> None:
        self._state: Sequence[Any] = ()

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def array(self) -> NDArray[Any]:
        """The array itself. Whatever is wrong with it is any error at all."""
        _, shape, dtype, fortran, data = self._state
        if isinstance(data, str):  # Python 2's bytes, read as latin-1
            data = data.encode("latin1")
        numbers: NDArray[Any] = np.frombuffer(data, dtype.dtype())
        rows: NDArray[Any] = numbers.reshape(shape, order="F" if fortran else "C")
        return rows


class PickledObject:
    """Stands for an object: its attributes alone."""

    def __init__(self, *arguments: Any) -> None:
        self.attributes: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.attributes = state if isinstance(state, dict) else {}


class _Dtype:
    """Stands for the type of an array's numbers."""

    def __init__(self, kinds: str, code: str, *flags: Any) -> None:
        if code not in [kind + size for kind in kinds for size in "1248"] or code == "f1":
            wanted = "floats" if kinds == "f" else "numbers"
            raise pickle.UnpicklingError(f"an array of {code!r}, expected {wanted}")
        self._code = code
        self._order = "<"

    def __setstate__(self, state: Any) -> None:
        self._order = {">": ">"}.get(state[1], "<")

    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self._order + self._code)


def _encode(text: str, encoding: str) -> bytes:
    """How pickles of protocol 2 hold bytes."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes as {encoding!r}, expected 'latin1'")
    return text.encode("latin1")


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO, kinds: str, classes: Collection[str]) -> None:
        super().__init__(file, encoding="latin1")
        self._known: dict[str, Any] = {
            "numpy.core.multiarray._reconstruct": PickledArray,
            "numpy._core.multiarray._reconstruct": PickledArray,
            "numpy.ndarray": PickledArray,
            "numpy.dtype": partial(_Dtype, kinds),
            "_codecs.encode": _encode,
            "__builtin__.frozenset": frozenset,
            "builtins.frozenset": frozenset,
            **dict.fromkeys(classes, PickledObject),
        }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._known[f"{module}.{name}"]
        except KeyError:
            raise pickle.UnpicklingError(f"asks for {module}.{name}, which is not data") from None
