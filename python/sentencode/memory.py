"""Free memory."""

from __future__ import annotations

import math
import os
from pathlib import Path

from . import _core

__all__ = ["free_memory"]

# Files of a control group, versions 2 and 1: limit, usage, and the usage by file caches, which can be freed.
_LIMITS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory(root: str | os.PathLike[str] = "/") -> float:
    """The bytes that this process can allocate without swapping; infinity if unknown.

    It is the minimum for the machine and for all control groups (containers, services, batch jobs) around
    this process.

    Args:
        root: Folder of `proc` and `sys`.

    Example:
        >>> free_memory() > 1e6
        True
    """
    try:
        free = 1024.0 * _integers(Path(root, "proc/meminfo"))["MemAvailable:"]
    except (OSError, KeyError):
        free = _machine_memory()
    for group in map(Path, _core.control_groups("memory", root)):
        for limit, usage, files in _LIMITS:
            try:
                most, used = (float((group / name).read_text()) for name in (limit, usage))
                free = min(free, most - used + _integers(group / "memory.stat")[files])
            except (OSError, KeyError, ValueError):  # no such group, or no limit ("max")
                continue
    return max(0.0, free)


def _machine_memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _integers(path: Path) -> dict[str, int]:
    """A file with a name and an integer on each line."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}
