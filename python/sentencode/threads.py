"""The number of threads."""

from __future__ import annotations

import sys

from . import _core
from .checks import checked_int

__all__ = ["num_threads", "set_num_threads"]

_chosen: int | None = None  # None: torch's number of threads is not changed


def num_threads() -> int:
    """The number of threads of every call, including matrix products.

    The default is the number of processors of the process, or the CPU limit of its container. Limits of
    `threadpoolctl` or `OPENBLAS_NUM_THREADS` apply to all of Sentencode. A forked child (of joblib or a
    DataLoader) starts with one thread.

    Example:
        >>> import sentencode as se
        >>> se.num_threads() >= 1
        True
    """
    return _core.num_threads()


def set_num_threads(threads: int) -> None:
    """Sets the number of threads of every call, including matrix products.

    If Sentencode's neural half is in use, this also sets torch's number (`torch.set_num_threads`).

    Args:
        threads: Number of threads, at least 1.

    Raises:
        TypeError: `threads` is not an integer.
        ValueError: It is less than 1.

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
    apply_to_torch()


def apply_to_torch() -> None:
    """Sets torch's number of threads, if the neural half is loaded and a number was chosen."""
    nn = sys.modules.get(f"{__package__}._nn")
    if nn is not None and _chosen is not None:
        nn.set_num_threads(_chosen)
