"""Hashes of Python code, so that results of a changed function are not reused."""

from __future__ import annotations

import dis
import functools
import hashlib
import site
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from inspect import getattr_static
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

__all__ = ["code_digest"]

# Folders of installed libraries.
_LIBRARIES = (
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    *(*site.getsitepackages(), site.getusersitepackages()),
)
_OURS = frozenset({__name__.partition(".")[0], "numpy", "torch"})  # wherever they are installed
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_BUILT_IN = (BuiltinFunctionType, np.ufunc, type(str.lower), type(str.__add__), type(int.from_bytes))


def code_digest(value: Any) -> str | None:
    """A hash of a value and all code that it uses; None if it has parts that cannot be hashed.

    It covers fields of dataclasses; code, defaults, closures and globals of functions; attributes and methods
    of objects. Functions and classes of installed libraries count by their names.

    Example:
        >>> def power(p):
        ...     return lambda u, v: abs(u - v) ** p
        >>> code_digest(power(2)) == code_digest(power(2)) != code_digest(power(3))
        True
    """
    digest = hashlib.sha256()
    try:
        for part in _parts(value, {}):
            digest.update(f"{len(part)} {part}\n".encode("utf-8", "surrogatepass"))
    except (_UnknownError, RecursionError, ValueError):  # ValueError: an empty closure cell
        return None
    return digest.hexdigest()


_Seen = dict[int, tuple[int, Any]]


class _UnknownError(Exception):
    """A value that cannot be hashed."""


def _parts(value: Any, seen: _Seen) -> Iterator[str]:
    if isinstance(value, (*_PLAIN, np.generic)) and type(value).__module__ in ("builtins", "numpy"):
        yield f"{type(value).__name__} {value!r}"
        return
    if not isinstance(value, (tuple, frozenset, CodeType)):  # Python may share equal ones
        if id(value) in seen:  # such as a recursive function
            yield f"again {seen[id(value)][0]}"
            return
        seen[id(value)] = len(seen), value  # kept alive, so that its id stays unique
    if isinstance(value, ModuleType):
        yield f"module {value.__name__}"
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        yield f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    elif isinstance(value, CodeType):
        yield from _code_parts(value, seen)
    elif isinstance(value, FunctionType):
        yield from _function_parts(value, seen)
    elif isinstance(value, MethodType):
        yield from _all_parts("method", (value.__func__, value.__self__), seen)
    elif isinstance(value, functools.partial):
        yield from _all_parts("partial", (value.func, value.args, value.keywords), seen)
    elif isinstance(value, type):
        yield from _class_parts(value, seen)
    elif isinstance(value, _BUILT_IN):
        yield f"built-in {getattr(value, '__module__', '')} {getattr(value, '__qualname__', value.__name__)}"
        yield from _parts(getattr(value, "__self__", None), seen)  # its object or its module
    elif (
        callable(value) and hasattr(value, "__qualname__") and _installed(value)
    ):  # such as functions of NumPy
        yield f"built-in {_module_of(value)} {value.__qualname__}"
    elif isinstance(value, list | tuple):
        yield from _all_parts(f"{type(value).__name__} {len(value)}", value, seen)
    elif isinstance(value, Mapping):
        yield from _all_parts(f"mapping {len(value)}", (x for item in value.items() for x in item), seen)
    elif isinstance(value, set | frozenset):
        yield from sorted("".join(_parts(item, dict(seen))) for item in value)
    elif is_dataclass(value):
        yield from _class_parts(type(value), seen)
        for field in fields(value):
            yield field.name
            yield from _parts(getattr(value, field.name), seen)
    elif hasattr(value, "__dict__") and not _installed(type(value)):
        yield from _class_parts(type(value), seen)
        yield from _parts(vars(value), seen)
    else:
        raise _UnknownError(type(value).__name__)


def _all_parts(what: str, values: Any, seen: _Seen) -> Iterator[str]:
    yield what
    for value in values:
        yield from _parts(value, seen)


def _function_parts(function: FunctionType, seen: _Seen) -> Iterator[str]:
    yield f"function {_module_of(function)} {function.__qualname__}"
    yield from _all_parts("around", (cell.cell_contents for cell in function.__closure__ or ()), seen)
    if _installed(function):
        return
    yield from _all_parts("defaults", (function.__defaults__, function.__kwdefaults__), seen)
    yield from _parts(function.__code__, seen)
    for name in sorted(_globals_of(function.__code__)):
        if name in function.__globals__:
            yield name
            yield from _parts(function.__globals__[name], seen)


def _code_parts(code: CodeType, seen: _Seen) -> Iterator[str]:
    # Without file name and line numbers.
    flags = (code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    exceptions = getattr(code, "co_exceptiontable", b"")
    yield from _all_parts("code", (code.co_code, exceptions, *flags, *names), seen)
    yield from _all_parts("constants", code.co_consts, seen)


def _globals_of(code: CodeType) -> set[str]:
    """Global names that a function, or a function within it, reads."""
    reads = (step for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    names = {read.argval for read in reads}
    return names.union(*(_globals_of(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _class_parts(kind: type, seen: _Seen) -> Iterator[str]:
    """Name, methods and class attributes."""
    yield f"class {_module_of(kind)} {kind.__qualname__}"
    for base in kind.__mro__:
        if _installed(base):
            continue
        for name in sorted(vars(base)):
            if name == "__call__" or not name.startswith(("__", "_abc_")):
                value = getattr_static(base, name)
                value = getattr(value, "__func__", getattr(value, "fget", value))
                if type(value).__name__ not in ("member_descriptor", "getset_descriptor"):
                    yield name
                    yield from _parts(value, seen)


def _module_of(what: Any) -> str:
    # Saved reports have hashes with the old names of these modules; processes that are spawned name that of a
    # script otherwise.
    name = (
        str(what.__module__)
        .replace("__mp_main__", "__main__")
        .replace("sentencode.evaluation.metrics.scores", "sentencode.evaluation.metrics")
    )
    return name.replace("sentencode.evaluation.metrics.", "sentencode.evaluation.")


def _installed(what: Any) -> bool:
    """Whether a function or class belongs to an installed library or this package."""
    module = getattr(what, "__module__", None) or ""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top in _OURS:
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return top != "__main__" and file.startswith(_LIBRARIES)
