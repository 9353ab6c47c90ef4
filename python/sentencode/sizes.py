"""Sizes with units, such as "64MB"."""

from __future__ import annotations

import re

from .checks import checked_int

__all__ = ["bytes_of"]

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_LEAST, _MOST = 1000, 2**60  # bytes


def bytes_of(name: str, size: int | str) -> int:
    """The number of bytes of a size.

    Args:
        name: Name of the argument in errors.
        size: Number of bytes, or text with a unit: "64MB", "1.5 GiB", "2000 B".

    Raises:
        ValueError: It is text without a unit, or of less than 1 KB: "64" would mean 64 bytes.

    Example:
        >>> bytes_of("shard_size", "1.5 KB")
        1500
        >>> bytes_of("shard_size", "64")
        Traceback (most recent call last):
        ValueError: shard_size must be a size with a unit (KB, MB, GB, TB, KiB, ...), as in '64MB', got '64'
    """
    if not isinstance(size, str):
        return checked_int(name, size, 1)
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([KMGT]I?B|B)\s*", size, re.IGNORECASE)
    if parts is None:
        raise ValueError(
            f"{name} must be a size with a unit (KB, MB, GB, TB, KiB, ...), as in '64MB', got {size!r:.60}"
        )
    number = float(parts[1]) * _UNITS[parts[2].upper()]
    if not _LEAST <= number <= _MOST:
        raise ValueError(f"{name} must be from 1 KB to {_MOST >> 40} TiB, got {size!r:.60}")
    return int(number)
