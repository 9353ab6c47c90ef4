"""How much memory there is to take."""

from __future__ import annotations

import math
import os
from pathlib import Path

from . import _core

__all__ = ["free_memory"]

# What a control group may have, what it has, and the files among that, which give way; of both versions.
_LIMITS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def free_memory(root: str | os.PathLike[str] = "/") -> float:
    """The bytes that can be taken without swapping: of the machine, and of what this runs in.

    That is a container, a service or a batch job: a control group, which may lie in others.

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
    for group in map(Path, _core.control_groups("memory", root)):
        for limit, usage, files in _LIMITS:
            try:
                most, taken = (float((group / name).read_text()) for name in (limit, usage))
                free = min(free, most - taken + _numbers(group / "memory.stat")[files])
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
