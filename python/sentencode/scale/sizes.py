"""Sizes as people write them."""

from __future__ import annotations

import re

from ..checks import checked_int

__all__ = ["bytes_of"]

_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def bytes_of(name: str, size: int | str) -> int:
    """How many bytes a size is.

    Args:
        name: What the argument is called.
        size: A number of bytes, or one with a unit: "64MB", "1.5 GiB".

    Returns:
        At least 1.

    Raises:
        ValueError: If it is no size.

    Example:
        >>> bytes_of("shard_size", "1.5 KB")
        1500
    """
    if not isinstance(size, str):
        return checked_int(name, size, 1)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?B|B?)\s*", size, re.IGNORECASE)
    number = 0 if found is None else int(float(found[1]) * _UNITS[found[2].upper().removeprefix("B")])
    if number < 1:
        raise ValueError(f"{name} must be a number of bytes, or one such as '64MB', got {size!r}")
    return number
