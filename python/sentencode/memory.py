"""How much memory there is to take."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["free_memory"]

# What a container may have, what it has, and the files among that, which give way; of both kinds of groups.
_LIMITS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    (
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_inactive_file",
    ),
)


def free_memory(root: str | os.PathLike[str] = "/") -> float:
    """The bytes that can be taken without swapping: of the machine, and of the container that this runs in.

    Args:
        root: Where `proc` and `sys` are.

    Returns:
        The bytes; where the system does not tell, those of the machine; infinity where it tells nothing.

    Example:
        >>> free_memory() > 1e6
        True
    """
    try:
        free = 1024.0 * _numbers(Path(root, "proc/meminfo"))["MemAvailable:"]
    except (OSError, KeyError):
        free = _machine()
    for limit, usage, statistics, files in _LIMITS:
        groups = Path(root, "sys/fs/cgroup")
        try:
            most, taken = (float((groups / name).read_text()) for name in (limit, usage))
            free = min(free, most - taken + _numbers(groups / statistics)[files])
        except (OSError, KeyError, ValueError):  # there is no such group, or no limit: "max"
            continue
    return max(0.0, free)


def _machine() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _numbers(path: Path) -> dict[str, int]:
    """Lines of a name and a number."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}
