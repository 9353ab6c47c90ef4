"""How many threads Sentencode may use."""

from __future__ import annotations

import sys

from . import _core
from .checks import checked_int

__all__ = ["num_threads", "set_num_threads"]

_chosen: int | None = None  # None: nobody has, and torch's count is the user's own


def num_threads() -> int:
    """How many threads every call may use, dense products included.

    At first as many as the process has processors, or as its container's CPU limit allows. Limits that are
    set by `threadpoolctl`, or by the variable `OPENBLAS_NUM_THREADS`, hold for all of Sentencode. A forked
    child (of joblib, of a DataLoader) starts with one.

    Returns:
        The number of threads.

    Example:
        >>> import sentencode as se
        >>> se.num_threads() >= 1
        True
    """
    return _core.num_threads()


def set_num_threads(threads: int) -> None:
    """Sets how many threads every call may use, dense products included.

    Where Sentencode's neural half is in use, it is torch's count, too (`torch.set_num_threads`).

    Args:
        threads: At least 1.

    Raises:
        TypeError: If `threads` is no whole number.
        ValueError: If it is less than 1.

    Example:
        >>> import sentencode as se
        >>> before = se.num_threads()
        >>> se.set_num_threads(1)
        >>> se.num_threads()
        1
        >>> se.set_num_threads(before)
    """
    global _chosen
    _core.set_num_threads(checked_int("threads", threads, 1, 2**31 - 1))
    _chosen = int(threads)
    tell_neural_half()


def tell_neural_half() -> None:
    """The neural half has counts of its own; it may be loaded after they were chosen."""
    neural = sys.modules.get(f"{__package__}._nn")
    if neural is not None and _chosen is not None:
        neural.set_num_threads(_chosen)
