"""Communicators of `torch.distributed` process groups."""

from __future__ import annotations

import torch.distributed

from .._nn import Communicator, group_communicator, local_communicator

__all__ = ["Communicator", "communicator"]


def communicator(group: torch.distributed.ProcessGroup | None = None) -> Communicator:
    """Return the communicator of a process group, through which the C++ trainer communicates.

    Args:
        group: Process group. None: all processes, or only this one if `torch.distributed` is not
            initialised.

    Example:
        >>> import torch
        >>> from sentencode.distributed import communicator
        >>> alone = communicator()
        >>> alone.rank, alone.size
        (0, 1)
        >>> gradient = torch.tensor([1.0, 2.0])
        >>> alone.all_reduce_mean([gradient])
        >>> gradient
        tensor([1., 2.])
    """
    if group is None and torch.distributed.is_available() and torch.distributed.is_initialized():
        group = torch.distributed.group.WORLD
    if group is None:
        return local_communicator()
    if not isinstance(group, torch.distributed.ProcessGroup):
        raise TypeError(f"group must be a ProcessGroup, got {type(group).__name__}")
    return group_communicator(group.group_name)
