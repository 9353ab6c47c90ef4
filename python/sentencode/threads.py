"""How many threads Sentencode may use."""

from __future__ import annotations

from . import _core
from .checks import checked_int

__all__ = ["num_threads", "set_num_threads"]


def num_threads() -> int:
    """How many threads every call may use, dense products included.

    At first as many as the process has processors. Limits that are set by `threadpoolctl`, or by the
    variable `OPENBLAS_NUM_THREADS`, hold for all of Sentencode. A forked child (of joblib, of a DataLoader)
    starts with one.

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
    _core.set_num_threads(checked_int("threads", threads, 1, 2**31 - 1))
