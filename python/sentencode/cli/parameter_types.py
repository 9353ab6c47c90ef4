"""Types of parameters that come from a TOML file or the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["check_type", "types_of"]

# Parts of annotations, and their names in errors. Other annotations are not checked here.
_NAMES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "True or False"),
    "str": (str, "text"),
    "None": (type(None), "false, for None"),
}


def types_of(classes: Iterable[type], defaults: Mapping[str, Any]) -> dict[str, str]:
    """The annotations of constructor parameters, as text.

    Args:
        classes: Classes whose constructors or attributes are annotated; the first annotation counts.
        defaults: All parameters and their defaults. Without an annotation, the type of the default is used.
    """
    types: dict[str, str] = {}
    for cls in classes:
        for annotated in (vars(cls).get("__init__"), cls):
            for name, annotation in getattr(annotated, "__annotations__", {}).items():
                if annotation != "Any":
                    types.setdefault(name, str(annotation))
    for name, default in defaults.items():
        if type(default) in (bool, int, float, str):  # all but bool may be None
            types.setdefault(name, type(default).__name__ + ("" if type(default) is bool else " | None"))
    return {
        name: f"{types[name]} | None" if default is None and "None" not in types[name] else types[name]
        for name, default in defaults.items()
        if name in types
    }


def check_type(name: str, value: Any, annotation: str) -> None:
    """Raises ValueError unless a value is of an annotation's type; unknown annotations accept all values.

    Args:
        name: Name of the parameter in errors.
        value: Its value.
        annotation: Source text, such as "int | None".

    Example:
        >>> check_type("[encoder] hidden", 2.5, "int")
        Traceback (most recent call last):
        ValueError: [encoder] hidden must be a whole number, got 2.5 (float)
    """
    text = re.sub(r"Literal\[[^]]*\]", "str", annotation)
    types = [part.strip() for part in text.split("|")]
    if not set(types) <= set(_NAMES):
        return
    for kind in types:
        if isinstance(value, _NAMES[kind][0]) and (kind == "bool" or not isinstance(value, bool)):
            return
    expected = " or ".join(_NAMES[kind][1] for kind in types)
    raise ValueError(f"{name} must be {expected}, got {value!r:.60} ({type(value).__name__})")
