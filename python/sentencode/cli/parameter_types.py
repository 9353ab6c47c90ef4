"""Types of parameters that come from a TOML file or the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["check_type", "types_of"]

# What annotations of parameters are made of, and how errors say it. Anything else is checked by its class.
_NAMES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "True or False"),
    "str": (str, "text"),
    "None": (type(None), "false, for None"),
}


def types_of(classes: Iterable[type], defaults: Mapping[str, Any]) -> dict[str, str]:
    """The annotations of the parameters of a constructor, as text.

    Args:
        classes: Those whose constructors have them, or whose attributes they are; the first one counts.
        defaults: All parameters with their defaults. The type of a default that is a number or text is used
            where there is no annotation.
    """
    found: dict[str, str] = {}
    for one in classes:
        for annotated in (vars(one).get("__init__"), one):
            for name, annotation in getattr(annotated, "__annotations__", {}).items():
                if annotation != "Any":
                    found.setdefault(name, str(annotation))
    for name, default in defaults.items():
        if type(default) in (bool, int, float, str):  # others than bool may be None as well
            found.setdefault(name, type(default).__name__ + ("" if type(default) is bool else " | None"))
    return {name: annotation for name, annotation in found.items() if name in defaults}


def check_type(name: str, value: Any, annotation: str) -> None:
    """Refuses a value that cannot be of an annotation's type; what this cannot read is not refused.

    Args:
        name: What errors call the parameter.
        value: Its value.
        annotation: As in the source, "int | None".

    Raises:
        ValueError: If it is of another type.

    Example:
        >>> check_type("[encoder] hidden", 2.5, "int")
        Traceback (most recent call last):
        ValueError: [encoder] hidden must be a whole number, got 2.5 (float)
    """
    text = re.sub(r"Literal\[[^]]*\]", "str", annotation)
    names = [one.strip() for one in text.split("|")]
    if not set(names) <= set(_NAMES):
        return
    for one in names:
        if isinstance(value, _NAMES[one][0]) and (one == "bool" or not isinstance(value, bool)):
            return
    wanted = " or ".join(_NAMES[one][1] for one in names)
    raise ValueError(f"{name} must be {wanted}, got {value!r:.60} ({type(value).__name__})")
